"""INSPO (arXiv 2512.01945): a population of instructions, renewed by a reflector that reads failures.

An instruction is drawn for each task by its score, the mean return of the groups that had it. Now and then the worst
one is replaced: the reflector writes candidates from recent failures, each candidate is tried on a few replayed tasks,
which are evaluated and not trained, and the best one joins. The released code is not stored anywhere that we know, and
the paper states no temperature and no schedule; the defaults are ours.
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from ...checks import check_texts, option
from ...errors import InputError
from ..pools import task_key
from ..protocol import Draw, Evidence
from ..registration import register
from ..sampling import softmax
from ..saved_state import Kept
from .generation import Seed, TaskSource, Writer
from .system_texts import SystemTexts

INSTRUCTIONS = (
    "Answer the question.",
    "Think step by step before you answer.",
    "Check your answer before you give it.",
    "Answer briefly, in exactly the form that is asked for.",
)
REQUEST = (
    "A model that answers questions got this instruction:\n{instruction}\nWith it, it failed on these tasks:\n"
    "{failures}\nOther instructions, with the share of answers that were right:\n{others}\nWrite one better "
    "instruction of at most three sentences. Answer with the instruction alone."
)
MOST_CHARACTERS = 1_000
_SENTENCE = re.compile(r"(?<=[.!?])\s+")

Reflect = Callable[[str, Sequence[Any], Mapping[str, float], np.random.Generator], str]
"""(instruction, failed tasks, instruction -> score, generator) -> candidate."""


def recombine(instruction: str, failures: Sequence[Any], scores: Mapping[str, float], rng: np.random.Generator) -> str:
    """Return an instruction with a sentence of another one added, or one of its own left out: a reflector without a
    model, which does not read the failures."""
    own = _SENTENCE.split(instruction)
    others = [sentence for text in scores for sentence in _SENTENCE.split(text) if sentence not in own]
    if others and (len(own) == 1 or rng.random() < 0.5):
        own.insert(int(rng.integers(len(own) + 1)), others[int(rng.integers(len(others)))])
    elif len(own) > 1:
        del own[int(rng.integers(len(own)))]
    return " ".join(own)


def as_reflector(generator: Reflect | Writer | None) -> Reflect:
    """Turn a generator into a reflector: a callable is returned unchanged, None is `recombine`, and an agent gets
    `REQUEST`."""
    if generator is None:
        return recombine
    if not isinstance(generator, Writer):
        if callable(generator):
            return generator
        raise InputError(f"generator={generator!r} must be a callable, as `recombine` is, or an agent.")
    writer = generator

    def reflect(
        instruction: str, failures: Sequence[Any], scores: Mapping[str, float], rng: np.random.Generator
    ) -> str:
        others = "\n".join(f"{score:.0%}: {text}" for text, score in scores.items())
        request = REQUEST.replace("{instruction}", instruction).replace("{others}", others)
        request = request.replace("{failures}", "\n".join(map(task_key, failures)))
        writer.reset([0])  # each request starts a new conversation
        answer = writer.act([request], [{"episode_seed": int(rng.integers(2**31))}])[0]
        return answer.strip() if isinstance(answer, str) else ""

    return reflect


@register("instruction-population")
class InstructionPopulation(SystemTexts):
    """Draws a system text for each task from a population, with probabilities softmax(score / temperature), and
    replaces the worst text by the best of some candidates after every `every` groups.

    An instruction without outcomes has the score 1, so that each is tried. The size of the population is constant, and
    a population of one is never renewed.

    Attributes:
        population: the instructions.
        totals, counts: sum of the mean returns in [0, 1], and number of groups, of each instruction.
    """

    paper = "2512.01945"
    when = "A model that follows system prompts, for which the best instruction is not known and may change."
    kept = (
        *(Kept("population", list[str]), Kept("totals", list[float]), Kept("counts", list[int])),
        *("_groups", "replaced", Kept("_candidates", list[str]), Kept("_results", list[list[float]])),
    )
    instructions: Sequence[str] = option(
        default=INSTRUCTIONS, check=check_texts, says="initial population; its size does not change."
    )
    generator: Reflect | Writer | None = option(
        default=None,
        saved=False,
        says="reflector that writes candidates, see `as_reflector`: on the command line an agent; None recombines "
        "sentences. It is not part of a saved state.",
    )
    temperature: float = option(default=0.1, above=0, says="temperature of the softmax over scores.")
    every: int = option(default=16, low=1, says="groups between two replacements.")
    candidates: int = option(default=2, low=1, says="candidates of a replacement.")
    held: int = option(default=2, low=1, says="replayed tasks on which each candidate is tried.")
    failed_below: float = option(default=0.5, above=0, high=1, says="mean return below which a group has failed.")
    memory: int = option(default=32, low=1, says="latest failed tasks from which the reflector and the trials draw.")

    def setup(self) -> None:
        super().setup()
        self.source, self._reflect = TaskSource(self.space), as_reflector(self.generator)
        self.population = list(self.instructions)
        self.totals, self.counts = [0.0] * len(self.population), [0] * len(self.population)
        self._failures: deque[tuple[Seed, int]] = deque(maxlen=self.memory)
        self._groups = self.replaced = 0
        self._candidates: list[str] = []
        self._trials: list[list[Any]] = []  # [candidate, seed of the task], not proposed yet
        self._results: list[list[float]] = []  # returns of each candidate's trials

    def probabilities(self) -> np.ndarray:
        """Return float64[m], the probability of each instruction."""
        return softmax(np.array(self._means()), self.temperature)

    def _means(self) -> list[float]:
        return [total / count if count else 1.0 for total, count in zip(self.totals, self.counts)]

    def _choose(self, k: int) -> list[Any]:
        return self._rng.choice(self.population, size=k, p=self.probabilities()).tolist()

    def text_of(self, key: Any) -> str:
        return str(key)

    def _draw(self, k: int) -> list[Draw]:
        # At most half of a batch is not trained.
        trials, self._trials = self._trials[: k // 2], self._trials[k // 2 :]
        draws = super()._draw(k - len(trials))
        for candidate, seed in trials:
            task, asked = self.source.task(seed, self._rng), {"system": self._candidates[candidate]}
            draws.append(Draw([None, candidate], task, origin="replay", train=False, meta=asked))
        return draws

    def _learn(self, evidence: list[Evidence]) -> None:
        for item in evidence:
            if item.record[0] is None and item.record[1] < len(self._results):
                self._results[item.record[1]].append(item.mean)
        super()._learn([item for item in evidence if item.record[0] is not None])
        waiting = self._trials or any(record[0] is None for record in self._in_flight.values())
        if self._candidates and not waiting:
            self._replace_worst()
        elif not self._candidates and self._groups >= self.every and self._failures and len(self.population) > 1:
            self._write_candidates()

    def _credit(self, key: Any, evidence: Sequence[Evidence]) -> None:
        for item in evidence:
            self._groups += 1
            if key not in self.population:
                continue  # replaced since
            place = self.population.index(key)
            self.totals[place] += item.mean
            self.counts[place] += 1
            if item.mean < self.failed_below and not isinstance(item.record[0], list):
                self._failures.append((self.source.seed(item.outcome.task), place))

    def _write_candidates(self) -> None:
        """Let the reflector write candidates from failures with one instruction, and plan their trials."""
        means, rng = self._means(), self._rng
        scores = dict(zip(self.population, means))
        for _ in range(self.candidates):
            _, place = self._failures[int(rng.integers(len(self._failures)))]
            failed = [self.source.task(seed, rng) for seed, other in self._failures if other == place]
            text = self._reflect(self.population[place], failed[-4:], scores, rng)[:MOST_CHARACTERS]
            if text and text not in (*self.population, *self._candidates):
                self._candidates.append(text)
        self._groups = 0
        self._results = [[] for _ in self._candidates]
        seeds = [self._failures[int(i)][0] for i in rng.integers(len(self._failures), size=self.held)]
        self._trials = [[number, seed] for number in range(len(self._candidates)) for seed in seeds]

    def _replace_worst(self) -> None:
        """Put the best candidate in the place of the instruction with the lowest score, unless all trials were lost."""
        means = [float(np.mean(returns)) if returns else -1.0 for returns in self._results]
        best, worst = int(np.argmax(means)), int(np.argmin(self._means()))
        if self._results[best]:
            self.population[worst] = self._candidates[best]
            self.totals[worst], self.counts[worst] = float(sum(self._results[best])), len(self._results[best])
            self._failures = deque((pair for pair in self._failures if pair[1] != worst), maxlen=self.memory)
            self.replaced += 1
        self._candidates, self._results, self._groups = [], [], 0

    def _metrics(self) -> dict[str, float]:
        own = {"best_score": max(self._means()), "replaced": float(self.replaced)}
        return {**super()._metrics(), **own, "failures": float(len(self._failures))}

    def _save(self) -> dict[str, Any]:
        failures = [list(pair) for pair in self._failures]
        return {**super()._save(), "failures": failures, "trials": [list(trial) for trial in self._trials]}

    def _restore(self, own: Mapping[str, Any]) -> None:
        super()._restore(own)
        check = self.source.check_seed
        self._failures = deque(((check(seed), int(place)) for seed, place in own["failures"]), maxlen=self.memory)
        self._trials = [[int(candidate), check(seed)] for candidate, seed in own["trials"]]
