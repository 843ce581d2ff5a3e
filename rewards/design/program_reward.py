"""Reward that a program computes, bounded so that success decides the sign."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from ...checks import option
from ...errors import InputError
from ..episode import Episode
from ..reward import PooledReward, register
from ..terms.model_scores import sign_scaled
from ..verdict import Verdict
from .program import read_program
from .program_values import ProgramValue, run_program

_log = logging.getLogger(__name__)


@register("program")
class ProgramReward(PooledReward):
    """Reward of a whole episode by a Python program: its sparse reward, plus ``scale`` times the sign of its dense
    reward.

    The program is a file that defines ``reward(episode)``, which returns ``(sparse, dense)``: sparse -1, 0 or 1, dense
    a number or a dictionary of named numbers. `describe_episode` lists its inputs; ``palaestra design`` lets a model
    write one. It runs in the sandbox, all episodes of a step in one call.

    A success has the sparse reward 1 and a failure at most 0, whatever the program returns (the paper trusts the
    program). A program that fails adds 0; the log and the row of ``trajectories.jsonl`` give the reason. A resumed run
    keeps the program of its start.

    Raises:
        InputError: the file cannot be read or holds no reward program; when called, an episode lacks an input.
    """

    paper = "Auto MC-Reward, arXiv 2312.09238"
    complete = True
    ranks_success = True
    file: str | Path = option(says="the file of the program.")
    scale: float = option(default=0.1, low=0, high=0.5, says="factor of the sign of the dense reward.")
    runner: str = option(default="sandbox", says="a name in `palaestra.rewards.design.RUNNERS`.")

    def setup(self) -> None:
        self.file = Path(self.file)
        try:
            text = self.file.read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError) as error:
            raise InputError(f"the reward program {str(self.file)!r} cannot be read: {error}.") from None
        try:
            self.program = read_program(text)
        except InputError as error:
            raise InputError(f"{str(self.file)!r} holds no reward program: {error}") from None
        self.needs = self.program.needs
        self._logged: set[str] = set()

    @property
    def bounds(self) -> tuple[float, float]:
        return -1.0 - self.scale, 1.0 + self.scale

    def __call__(self, episode: Episode) -> Verdict:
        return self.batch([[episode]])[0][0]

    def values(self, episodes: Sequence[Episode]) -> list[float | None]:
        verdicts = self.batch([episodes])[0]
        return [verdict.reward if verdict.valid else None for verdict in verdicts]

    def batch(self, groups: Sequence[Sequence[Episode]]) -> list[list[Verdict]]:
        valid = [episode for group in groups for episode in group if episode.valid]
        found = run_program(self.program, valid, self.runner)
        errors = [value.error for value in found or () if value.error]
        for error in dict.fromkeys(errors):
            if error not in self._logged and len(self._logged) < 20:
                self._logged.add(error)
                count = f"{errors.count(error)} of {len(valid)}"
                _log.warning("the reward program %s adds 0 to %s episodes: %s", self.file, count, error)
        values = iter(found if found is not None else [None] * len(valid))
        return [
            [self._judge(episode, next(values) if episode.valid else None) for episode in group] for group in groups
        ]

    def _judge(self, episode: Episode, value: ProgramValue | None) -> Verdict:
        if value is None:
            return self.verdict(episode, None)
        sparse = 1 if episode.success else min(value.sparse, 0)
        terms = {"sparse": float(sparse), "dense": sign_scaled(0.0, value.total, self.scale)}
        report = {"sparse": value.sparse, "dense": dict(value.dense), "error": value.error}
        return replace(self.verdict(episode, sum(terms.values())), terms=terms, extras={"program_value": report})

    def report(self, verdict: Verdict) -> Mapping[str, Any]:
        """Return the program's output and error as the measure "program_value"."""
        return verdict.extras

    def describe(self) -> str:
        return f"{self.name} {self.file}"

    def state_dict(self) -> dict[str, Any]:
        return {"program": self.program.text}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Continue with the saved program, even if the file has changed since."""
        super().load_state_dict({name: value for name, value in state.items() if name != "program"})
        if state["program"] != self.program.text:
            _log.warning(
                "the reward program %s has changed; the run goes on with the one that it began with", self.file
            )
            self.program = read_program(state["program"])
