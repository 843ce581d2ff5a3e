"""Episodes as token ids, for reward models that read log-probabilities."""

from __future__ import annotations

from dataclasses import dataclass

from ...errors import InputError


@dataclass(frozen=True, slots=True)
class TokenEpisode:
    """Tokens of one episode, with the ranges that the agent wrote and the outcome.

    Args:
        ids: all tokens in order, observations and actions.
        turns: (start, end) of each action's tokens in ``ids``, in order and without overlap; start is at least 1, as no
            model predicts the first token.
        outcome: in [0, 1]; 1 for a success.
        group: name of the task; episodes of one group are compared.

    Raises:
        InputError: turns that are missing, empty, overlap or leave ``ids``, or an outcome out of range.
    """

    ids: tuple[int, ...]
    turns: tuple[tuple[int, int], ...]
    outcome: float
    group: str = ""

    def __post_init__(self) -> None:
        last = 1
        for start, end in self.turns:
            if not last <= start < end <= len(self.ids):
                raise InputError(
                    f"turns must be ranges in order within 1 to {len(self.ids)}, none empty, not {self.turns!r}."
                )
            last = end
        if not self.turns:
            raise InputError("a token episode needs at least one turn, such as turns=((1, 5),).")
        if not 0.0 <= self.outcome <= 1.0:
            raise InputError(f"an outcome must lie in [0, 1], not {self.outcome!r}.")

    @property
    def action_tokens(self) -> int:
        """Number of tokens that the agent wrote."""
        return sum(end - start for start, end in self.turns)
