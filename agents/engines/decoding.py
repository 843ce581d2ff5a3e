"""Decoding in blocks of tokens, with the whole state of a step on the device.

For every decoding row the device holds the last token, the length, the end of the token budget, the temperature, the
key of the sampling noise, and an alive flag. A step feeds the last token of each row, draws the next one and records
it. After a block the records are copied into the answers, also on the device; the host reads the state of the rows and
the complete answers. A row whose answer is complete is dead: it is computed with the others to the end of the block,
but its token and its length stay fixed.

There are two modes. On a CPU, where reading a tensor costs nothing, a block ends when the first row dies, and a step
attends as far back as the longest row. Otherwise shapes are static: steps run over a bucket of rows and a bucket of
positions (see `buckets`), and `StepGraphs` can replay them. Rows of a bucket that do not decode are written one
position past their contents, where their next token will be written anyway.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor

from ..language.soft_tokens import SoftInputs
from .buckets import bucket_of, span_of
from .drawing import draw_tokens, entropy_of
from .graphs import Capture, StepGraphs
from .noise import uniforms
from .prompts import Reach
from .runner import ModelRunner
from .sequence import TokenSequence
from .truncation import Truncation, truncate

BLOCK = 8
"""Most tokens per row that are decoded before the host reads the state of the rows."""

TOKEN, LENGTH, ALIVE, FIRST, LANE, END, KEY, ENTROPIES, TOP, BASE = 0, 1, 2, 3, 4, 5, 6, 8, 9, 10
"""Lines of the state table, which has one column per row: the last token; the number of tokens before it; the alive
flag, 1 or 0; the index of the answer's next token; the row of the answer buffer; the value of ``LENGTH`` at the end of
the token budget; the noise key (two lines); 1 if entropies are recorded; the number of likeliest ids to record; the
number of tokens in the shared prompt."""
_CHANGING = slice(0, 4)
"""Lines of the state table that a step changes."""


@dataclass(frozen=True)
class Recorded:
    """Computations of a step beyond sampling at temperature 1: scaling by temperature, greedy rows, entropies, the
    number ``top`` of likeliest ids, and the number ``further`` of values that a subclass of the decoder records. Part
    of the key of a captured graph."""

    scaled: bool
    greedy: bool
    entropies: bool
    top: int
    further: int = 0

    @property
    def lines(self) -> int:
        """Number of values recorded per token: its id, its log-probability, the entropy, then pairs of an id and its
        log-probability, the likeliest first, then further ones."""
        return (3 + 2 * self.top if self.top else 2 + self.entropies) + self.further


class DecodingRows:
    """Decoder of the first rows of a key-value cache; holds the rows' state on the device.

    Args:
        runner: computes logits.
        cache: the key-value cache; `swap` exchanges its rows together with their state.
        stop_ids: ids that end an answer.
        max_length: longest conversation in tokens.
        capture: argument of `graphs.StepGraphs`. If given, shapes are static; None: the host reads every token.
    """

    _further = 0

    def __init__(
        self,
        runner: ModelRunner,
        cache: Any,
        stop_ids: Collection[int],
        max_length: int,
        capture: Callable[[], Capture] | None = None,
    ):
        self._runner, self._cache, self._max_length = runner, cache, max_length
        device, slots = runner.device, cache.rows
        self._table = torch.zeros((BASE + 1, slots), dtype=torch.int64, device=device)
        self._scale = torch.ones(slots, dtype=torch.float64, device=device)
        # On a CPU the host's copies are the same memory.
        self._shared = device.type == "cpu"
        self._host_table, self._host_scale = self._table, self._scale
        if not self._shared:
            self._host_table, self._host_scale = (x.cpu().pin_memory() for x in (self._table, self._scale))
        self._rows, self._scales = self._host_table.numpy(), self._host_scale.numpy()
        self._rows[LANE] = np.arange(slots)
        self._moved = True
        self._reach: Reach | None = None
        self._arranged: Sequence[TokenSequence] = ()
        goes_on = torch.ones(runner.vocabulary, dtype=torch.int64)
        goes_on[[each for each in stop_ids if 0 <= each < runner.vocabulary] or slice(0)] = 0
        self._goes_on = goes_on.to(device)
        self._noise = torch.zeros((BLOCK, slots), dtype=torch.float64, device=device)
        self._tick = torch.zeros(1, dtype=torch.int64, device=device)
        self._steps = torch.arange(BLOCK, device=device)[:, None]
        # Double precision holds ids as well.
        self._notes = self._noise.new_zeros((2, BLOCK, slots))
        self._answers = self._noise.new_zeros((2, slots, 0))
        self._uniform = self._noise.new_zeros((slots, 0))  # noise of each answer, where the answer is
        self._recorded = Recorded(scaled=False, greedy=False, entropies=False, top=0)
        self._patience = 1
        self.truncation: Truncation | None = None
        self._graphs = None if capture is None else StepGraphs(capture)

    def release(self) -> None:
        """Free the memory of captured graphs."""
        if self._graphs is not None:
            self._graphs.clear()

    def swap(self, a: int, filled_a: int, b: int, filled_b: int) -> None:
        """Exchange rows ``a`` and ``b``; ``filled_a`` and ``filled_b``: cached tokens of rows that do not decode."""
        rows = self._rows
        filled_a = int(rows[LENGTH, a] - rows[BASE, a]) if rows[ALIVE, a] else filled_a
        filled_b = int(rows[LENGTH, b] - rows[BASE, b]) if rows[ALIVE, b] else filled_b
        self._cache.swap(a, filled_a, b, filled_b)
        rows[:, [a, b]] = rows[:, [b, a]]
        self._scales[[a, b]] = self._scales[[b, a]]
        self._moved = True

    def leave(self, row: int) -> None:
        """Take a row out of decoding."""
        self._rows[ALIVE, row] = 0
        self._moved = True

    def begin(self, sequences: Sequence[TokenSequence], logits: Tensor) -> list[TokenSequence]:
        """Draw the first tokens of encoded sequences. Return the sequences whose answer ends with this token.

        Args:
            sequences: sequences in adjacent rows, which must be the last of the decoding rows.
            logits: [sequences, vocabulary].
        """
        low, high = sequences[0].row, sequences[-1].row + 1
        self._arranged = ()
        started = []
        for sequence in sequences:
            request, known = sequence.request, len(sequence.tokens)
            assert request is not None
            # The last token has been fed already, so this row is at the end of the step that draws the first token.
            line = (sequence.tokens[-1], known - 1, 1, len(sequence.ids), 0, sequence.end - 1, *sequence.key)
            started.append((*line, request.entropies, min(request.top, self._runner.vocabulary), sequence.base))
            self._scales[sequence.row] = request.temperature
        lanes = self._rows[LANE, low:high].copy()
        self._rows[:, low:high] = np.array(started, dtype=np.int64).T
        self._rows[LANE, low:high] = lanes
        self._moved = True
        self._load(low, high)
        self._make_room(max(len(sequence.ids) + sequence.end - len(sequence.tokens) for sequence in sequences))
        rows = slice(low, high)
        self._draw_noise(rows, max(sequence.end - len(sequence.tokens) for sequence in sequences))
        self._record(rows, logits)
        return self._note(sequences, rows, 1)

    def decode(
        self, sequences: Sequence[TokenSequence], others: Sequence[TokenSequence], interrupt: Callable[[], bool]
    ) -> tuple[list[TokenSequence], bool]:
        """Decode a block of at most `BLOCK` tokens per sequence.

        Args:
            sequences: decoding sequences, in the first rows.
            others: sequences in the rows after them, which do not decode.
            interrupt: returns True to end the block; called after each token that completes no answer, except the
                block's last. Not called with static shapes.

        Returns:
            The complete sequences, and True if the block was interrupted.
        """
        rows = len(sequences)
        if self._moved and self._graphs is not None:
            self._rows[ALIVE, rows:] = 0
            self._rows[LENGTH, rows:] = 0
            self._rows[LENGTH, rows : rows + len(others)] = [each.own for each in others]
            self._rows[BASE, rows:] = 0
        self._load(0, rows)
        if sequences != self._arranged:
            self._arranged, self._reach = sequences, self._runner.prompts.arrange(sequences)
        lengths = self._rows[LENGTH, :rows] - self._rows[BASE, :rows]
        longest, left = int(lengths.max()), self._rows[END, :rows] - self._rows[LENGTH, :rows]
        interrupted = False
        if self._graphs is not None:
            steps = min(BLOCK, int(left.max()))
            shape = bucket_of(rows, self._cache.rows), span_of(longest + steps, self._max_length)
            self._cache.reserve(shape[1])
            self._take_noise(slice(rows), BLOCK)
            me = weakref.proxy(self)  # graphs must not keep this object alive
            what = *shape, self._recorded, self._reach
            addresses = (*self._runner.addresses(), self._notes.data_ptr())
            run = self._graphs.prepare(what, addresses, lambda: me._step(*shape), self._idle)
            for _ in range(steps):
                run()
        else:
            # No budget ends within the block, so only stop tokens can end an answer.
            steps = most = min(BLOCK, int(left.min()), self._patience)
            level = longest == int(lengths.min())
            self._take_noise(slice(rows), most)
            drawn = []
            for step in range(1, most + 1):
                self._cache.reserve(longest + step)
                drawn.append(self._step_and_look(rows, step, longest + step, longest + step - 1 if level else None))
                if step < most and (not self._goes_on[drawn[-1][0]].all() or (interrupted := interrupt())):
                    steps = step
                    break
            self._patience = 2 * steps
            for line, numbers in enumerate(zip(*drawn, strict=True)):
                self._notes[line, :steps, :rows] = torch.stack(numbers)
            self._table[ALIVE, :rows] = self._goes_on[drawn[-1][0]] * (
                self._table[LENGTH, :rows] < self._table[END, :rows]
            )
        return self._note(sequences, slice(rows), steps), interrupted

    # On the device --------------------------------------------------------------------------------------------------

    @contextmanager
    def _idle(self) -> Iterator[None]:
        """Mark all rows as dead within the context, so that a step has no lasting effect: it only writes keys, values
        and records that the next step overwrites."""
        alive, tick = self._table[ALIVE].clone(), self._tick.clone()
        self._table[ALIVE].zero_()
        try:
            yield
        finally:
            self._table[ALIVE].copy_(alive)
            self._tick.copy_(tick)

    def _step(self, rows: int, span: int) -> None:
        """Take a step of static shape."""
        logits = self._feed(rows, span)
        self._record(slice(rows), logits)

    def _step_and_look(self, rows: int, step: int, span: int, level: int | None) -> list[Tensor]:
        """Take a step of dynamic shape; every row must be alive. Return the tensors to record."""
        token, length = self._table[:2, :rows]
        logits = self._feed(rows, span, level)
        drawn = self._draw(slice(rows), logits, self._noise[step - 1, :rows])
        token.copy_(drawn[0])
        length.add_(1)
        return drawn

    def _feed(self, rows: int, span: int, level: int | None = None) -> Tensor:
        """Feed the last token of each row; return the logits of the next one."""
        token, length = self._table[:2, :rows]
        base = None if self._reach is None else self._table[BASE, :rows]
        return self._runner.step(token, length, span, level, base, self._reach, self._mixtures(rows))

    def _mixtures(self, rows: int) -> SoftInputs | None:
        """Return the mixtures that are fed in place of the last tokens of the first rows; None without any."""
        return None

    def _draw_noise(self, rows: slice, most: int) -> None:
        """Draw the noise of whole answers of at most ``most`` tokens; copy the first token's noise to its buffer."""
        at = torch.arange(most, device=self._table.device)[:, None] + self._table[FIRST, rows]
        noise = uniforms(self._table[KEY : KEY + 2, rows], at)
        self._uniform[self._table[LANE, rows], at] = noise
        self._noise[0, rows] = noise[0]
        self._tick.zero_()

    def _take_noise(self, rows: slice, steps: int) -> None:
        """Copy the noise of a block's steps from the answers' noise to the buffer that steps read."""
        at = self._steps[:steps] + self._table[FIRST, rows]
        self._noise[:steps, rows] = self._uniform[self._table[LANE, rows], at]
        self._tick.zero_()

    def _draw(self, rows: slice, logits: Tensor, noise: Tensor) -> list[Tensor]:
        """Draw tokens and compute the values to record with them: `Recorded.lines` tensors [rows]."""
        recorded, greedy = self._recorded, None
        if recorded.scaled:
            scale = self._scale[rows].to(logits.dtype)
            if recorded.greedy:
                greedy = scale == 0
                scale = scale.masked_fill(greedy, 1.0)
            logits = logits / scale[:, None]
        if self.truncation is not None:
            logits = truncate(logits, self.truncation)
        drawn = list(draw_tokens(logits, noise, greedy))
        if recorded.entropies or recorded.top:
            logps = logits.log_softmax(-1)
            drawn.append(entropy_of(logps) if recorded.entropies else drawn[1])
            if recorded.top:
                values, ids = logps.topk(recorded.top, dim=-1)
                drawn += torch.stack((ids.to(values.dtype), values), -1).flatten(1).unbind(1)
        return drawn

    def _record(self, rows: slice, logits: Tensor) -> None:
        """Draw tokens from logits and record them; advance the rows that are alive."""
        noise = self._noise[:, rows].index_select(0, self._tick)[0]
        drawn = self._draw(rows, logits, noise)
        noted = torch.stack([each.double() for each in drawn])
        self._notes[: len(drawn), :, rows].index_copy_(1, self._tick, noted[:, None])
        self._tick.add_(1)
        token, length, alive = self._table[:3, rows]
        tokens = drawn[0]
        token.copy_(torch.where(alive > 0, tokens, token))
        length.add_(alive)
        alive.mul_(self._goes_on[tokens]).mul_(length < self._table[END, rows])

    # Between blocks -------------------------------------------------------------------------------------------------

    def _load(self, low: int, high: int) -> None:
        """Copy the host's state table to the device; set `Recorded` from the requests of rows ``low`` to ``high``."""
        if not self._moved:
            return
        # Rows outside [low, high) are not covered: load again before they decode, or if static shapes include them.
        self._moved = low > 0 or (self._graphs is not None and self._rows.shape[1] > high)
        scales, rows = self._scales[low:high], self._rows[:, low:high]
        self._recorded = Recorded(
            scaled=bool((scales != 1.0).any()),
            greedy=bool((scales == 0.0).any()),
            entropies=bool(rows[ENTROPIES].any()),
            top=int(rows[TOP].max()),
            further=self._further,
        )
        if (lines := self._recorded.lines) > len(self._notes):
            self._notes = self._notes.new_zeros((lines, *self._notes.shape[1:]))
        if not self._shared:
            # Pinned memory; the host changes it only after it has waited for the block's end.
            self._table.copy_(self._host_table, non_blocking=True)
            self._scale.copy_(self._host_scale, non_blocking=True)

    def _make_room(self, most: int) -> None:
        """Grow the buffers of answers and noise, if necessary, to answers of ``most`` tokens."""
        lines, slots, width = self._answers.shape
        # A dead row is written to until the end of its block.
        if most + BLOCK > width or self._recorded.lines > lines:
            width = max(most + BLOCK, width if most + BLOCK <= width else 2 * width)
            grown = self._answers.new_zeros((max(lines, self._recorded.lines), slots, width))
            grown[:lines, :, : self._answers.shape[2]] = self._answers
            self._answers = grown
            uniform = self._uniform.new_zeros((slots, width))
            uniform[:, : self._uniform.shape[1]] = self._uniform
            self._uniform = uniform

    def _note(self, sequences: Sequence[TokenSequence], rows: slice, steps: int) -> list[TokenSequence]:
        """Copy the records of ``steps`` steps into the answers. Return the sequences whose answers are complete."""
        lines = self._recorded.lines
        first, lanes = self._table[FIRST, rows], self._table[LANE, rows]
        self._answers[:lines, lanes, self._steps[:steps] + first] = self._notes[:lines, :steps, rows]
        first.add_(steps)
        if not self._shared:
            self._host_table[_CHANGING].copy_(self._table[_CHANGING])
        changed = self._rows[:, rows]
        ended = np.flatnonzero(changed[ALIVE] == 0).tolist()
        if not ended:
            return []
        complete = [sequences[each] for each in ended]
        lengths = changed[LENGTH, ended].tolist()
        most = max(len(s.ids) + length + 1 - len(s.tokens) for s, length in zip(complete, lengths, strict=True))
        lanes = torch.from_numpy(changed[LANE, ended]).to(self._table.device)
        answers = self._answers[:lines, lanes, :most].cpu().numpy()
        for number, (sequence, length) in enumerate(zip(complete, lengths, strict=True)):
            self._hand_out(sequence, length, answers[:, number])
        return complete

    def _hand_out(self, sequence: TokenSequence, length: int, answer: np.ndarray) -> None:
        """Append an answer [lines, tokens] to its sequence; ``length`` is the sequence's number of cached tokens."""
        request = sequence.request
        assert request is not None
        low = len(sequence.ids)
        answer = answer[:, low : low + length + 1 - len(sequence.tokens)]
        tokens = answer[0].astype(int).tolist()
        sequence.tokens += tokens
        sequence.ids += tokens
        sequence.logps += answer[1].tolist()
        sequence.cached = length
        if request.entropies:
            sequence.entropies += answer[2].tolist()
        if request.top:
            ids, values = answer[3::2].T.astype(int).tolist(), answer[4::2].T.tolist()
            sequence.top += [tuple(zip(*each, strict=True))[: request.top] for each in zip(ids, values, strict=True)]
