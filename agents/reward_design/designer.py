"""Designer and critic: an author writes reward programs until the critic accepts one."""

from __future__ import annotations

import inspect
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import gymnasium as gym

from ...errors import InputError
from ...rewards import Episode
from ...rewards.answers.blocks import fenced
from ...rewards.design import Critique, RewardProgram, criticise, describe_episode
from ...rewards.design.program import MODULES
from ..agent import Agent
from .asking import Attempt, ask, ask_until_accepted, shorten


@dataclass(frozen=True)
class DesignTask:
    """Description of an environment for the author of a reward.

    Attributes:
        env_id: id of the environment.
        description: documentation of the environment.
        supplies: measures that a program may read.
        example: an episode whose first observation and measures are shown to the author.
    """

    env_id: str
    description: str
    supplies: frozenset[str]
    example: Episode

    @classmethod
    def of(cls, env: gym.Env[Any, Any], env_id: str, example: Episode) -> DesignTask:
        """Make the description of an environment from its docstring and an episode."""
        inner = env.unwrapped
        supplies = frozenset(getattr(inner, "supplies", ()))
        return cls(env_id, inspect.cleandoc(type(inner).__doc__ or ""), supplies, example)


class ScriptedAuthor(Agent):
    """Author whose replies are the texts of files, one after another.

    Raises:
        InputError: a file cannot be read; from `act`, if all files have been used.
    """

    name = "scripted"

    def __init__(self, files: Sequence[str | Path]):
        try:
            self._replies: Iterator[str] = iter([Path(file).read_text(encoding="utf-8") for file in files])
        except (OSError, UnicodeDecodeError) as error:
            raise InputError(f"a reply of the scripted author cannot be read: {error}.") from None

    def act(self, observations: Sequence[Any], infos: Sequence[Mapping[str, Any]]) -> list[str]:
        reply = next(self._replies, None)
        if reply is None:
            raise InputError("the scripted author has no reply left; give more files, or fewer rounds and attempts.")
        return [reply] * len(observations)


def design_program(
    author: Agent,
    task: DesignTask,
    episodes: Sequence[Episode],
    *,
    attempts: int = 3,
    previous: str = "",
    analysis: str = "",
    critic: Agent | None = None,
) -> list[Attempt]:
    """Let an author write reward programs until one is accepted.

    Args:
        episodes: recorded episodes, both successes and failures, on which programs are tested.
        attempts: most attempts.
        previous: text of the program that the new one is to improve on; "" for none.
        analysis: report on training with the previous program, by `analyse`; "" for none.
        critic: an agent that reviews programs that have passed the automatic checks; None for no review.

    Returns:
        The attempts; only the last one can be accepted (``critique.program`` is not None).
    """
    opening = _describe(task)
    if previous:
        opening += f"\n\nThe program of the last round:\n{fenced(previous)}"
    if analysis:
        opening += f"\n\nHow the agent fared:\n{analysis}\n\nWrite a better program."

    def judge(reply: str) -> Critique:
        critique = criticise(reply, episodes, task.supplies)
        if critic is not None and critique.program is not None:
            critique = _review(critic, task, critique.program, critique)
        return critique

    return ask_until_accepted(author, opening, attempts, judge)


def _review(critic: Agent, task: DesignTask, program: RewardProgram, critique: Critique) -> Critique:
    """Ask a critic for a review. A reply that begins with REJECT rejects the program, any other reply accepts it."""
    reply = ask(critic, _CRITICISE.format(task=_describe(task), program=fenced(program.text))).strip()
    # A reasoning model's thoughts come first.
    verdict = reply.rpartition("</think>")[2].strip()
    if not verdict.upper().startswith("REJECT"):
        return critique
    reason = verdict[len("REJECT") :].lstrip(" :\n") or "no reason was given"
    return replace(critique, program=None, text=f"a reviewer says: {shorten(reason, 1500)}", values=())


def _describe(task: DesignTask) -> str:
    return _DESIGN.format(
        env=task.env_id,
        description=task.description,
        example=shorten(task.example.prompt, 2000),
        keys=describe_episode(task.supplies, task.example),
        modules=", ".join(MODULES),
    )


_DESIGN = """You design the reward function of an agent that learns by reinforcement.

The environment is {env}:
{description}

The first observation of a task looks like this:
{example}

Write a Python function reward(episode) that judges one finished episode. It reads a dictionary:
{keys}

It returns a pair (sparse, dense):
- sparse is 1 for a success, 0 for a failure, and -1 for a failure that must be avoided above all;
- dense is a dictionary of named numbers, whose sum says how good the episode was apart from success.
The agent receives sign(sparse) + 0.1 * sign(sum of dense): what counts is that better failures have a positive sum and
worse ones a negative sum. Episodes can end at any turn.

The program may import {modules}, and defines functions only; it has no files, network, randomness or classes.
Think first about what an agent that fails does wrong, then give the program in one ```python block."""

_CRITICISE = """You review a reward function that somebody else wrote for this assignment:

{task}

The function:
{program}

It runs without errors. Check that it is consistent with the description: that it reads the quantities in their
documented shapes and units, that its signs reward what helps and punish what harms, and that an agent cannot collect
the dense reward without coming closer to success. Answer with one line: ACCEPT, or REJECT: and the reason."""
