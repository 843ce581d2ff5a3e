"""Few-shot prompts: worked examples before the question that is asked.

`ShotsWrapper` wraps an environment of one question per episode. Its observation is a `FewShotPrompt`: a text that
begins with other questions and their answers, which renderers of chat templates write as turns of a conversation. The
examples are training tasks with the same parameters as the episode's task, chosen by the episode's seed.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import gymnasium as gym
import numpy as np

from ..checks import check_count
from ..envs.unicode import Unicode
from ..errors import InputError

_STREAM = 0x5407
"""Constant in the seed of the random numbers that examples are drawn with."""
_TRIES = 10
"""Most draws per example with the episode's parameters; then as many with any parameters."""

Example = tuple[str, str]
"""A question and its answer."""


class FewShotPrompt(str):
    """Text of a question after worked examples, ``question\\nanswer\\n\\n...question``, that remembers its parts."""

    examples: tuple[Example, ...]
    question: str

    def __new__(cls, examples: tuple[Example, ...], question: str) -> FewShotPrompt:
        prompt = super().__new__(cls, "".join(f"{asked}\n{answer}\n\n" for asked, answer in examples) + question)
        prompt.examples, prompt.question = examples, question
        return prompt

    def __getnewargs__(self) -> tuple[Any, ...]:  # type: ignore[override]
        return self.examples, self.question


class ShotsWrapper(gym.Wrapper[Any, Any, Any, Any]):
    """Wrapper that shows worked examples before the question of each episode.

    Args:
        env: a text environment whose episodes have one turn and which has a solver (``oracle``).
        shots: number of examples, at least 1.
        make_source: makes the environment that examples are drawn from; it must be the same, with the training split.

    Raises:
        InputError: observations or actions are not text, or there is no solver. At a reset: episodes have several
            turns, or there are too few other training tasks.
    """

    def __init__(self, env: gym.Env[Any, Any], shots: int, make_source: Callable[[], gym.Env[Any, Any]]):
        super().__init__(env)
        self.shows_examples = check_count("shots", shots, 1, "examples")
        self._make_source = make_source
        self._source: gym.Env[Any, Any] | None = None
        asked, answered = env.observation_space, env.action_space
        if not isinstance(asked, Unicode) or not isinstance(answered, Unicode) or not env.has_wrapper_attr("oracle"):
            raise InputError(
                f"worked examples need questions and answers in text and a solver, and {type(env.unwrapped).__name__} "
                "lacks one of them; leave --shots out."
            )
        longest = shots * (asked.max_length + answered.max_length + 3) + asked.max_length
        self.observation_space = Unicode(longest)

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[str, dict[str, Any]]:
        question, info = self.env.reset(seed=seed, options=options)
        if seed is None:
            seed = int(self.env.unwrapped.np_random.integers(2**31))
        return FewShotPrompt(self._draw(seed, question, info), question), info

    def close(self) -> None:
        if self._source is not None:
            self._source.close()
        super().close()

    def _draw(self, seed: int, question: str, info: Mapping[str, Any]) -> tuple[Example, ...]:
        """Draw distinct examples that differ from the episode's task."""
        if self._source is None:
            self._source = self._make_source()
        rng = np.random.default_rng([_STREAM, seed])
        known, examples = {question, info.get("task_id")}, []
        same: dict[str, Any] | None = {"params": dict(info["params"])} if "params" in info else None
        for attempt in range(2 * _TRIES * self.shows_examples):
            options = same if attempt < _TRIES * self.shows_examples else None
            drawn = int(rng.integers(2**31))
            try:
                asked, about = self._source.reset(seed=drawn, options=options)
            except InputError:  # no training task has these parameters
                if options is None:
                    raise
                same = None
                continue
            if asked in known or about.get("task_id") in known:
                continue
            known |= {asked, about.get("task_id")}
            examples.append((asked, self._answer(self._source, about, drawn, options)))
            if len(examples) == self.shows_examples:
                return tuple(examples)
        raise InputError(
            f"{self.shows_examples} examples were asked for, but only {len(examples)} training tasks other than the "
            "episode's own were found; lower --shots."
        )

    @staticmethod
    def _answer(source: gym.Env[Any, Any], info: Mapping[str, Any], seed: int, options: dict[str, Any] | None) -> str:
        """Return the worked solution of the task in ``source`` as one line, or the bare answer if the environment does
        not count that line as a success."""
        steps = [" ".join(str(step).split()) for step in info.get("extras", {}).get("solution_steps") or ()]
        tried = ["; ".join(steps)] if len(steps) > 1 else []
        bare = source.get_wrapper_attr("oracle")()
        for answer in (*tried, bare):
            _, _, terminated, truncated, after = source.step(answer)
            if not (terminated or truncated):
                raise InputError(
                    f"an episode of {type(source.unwrapped).__name__} takes several turns, and worked examples are for "
                    "single questions; leave --shots out."
                )
            if after.get("is_success"):
                return answer
            source.reset(seed=seed, options=options)
        return bare
