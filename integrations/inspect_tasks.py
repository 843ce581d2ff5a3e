"""Environments as tasks of the evaluation framework Inspect (inspect_ai), with its models, limits, logs and viewer.

    inspect eval palaestra/Arithmetic-v0 --model openai/gpt-5 -T n=200 -T difficulty=0.5
    inspect eval palaestra/Wordle-v0 --model ollama/qwen3 --message-limit 20

    from inspect_ai import eval
    from palaestra.integrations.inspect_tasks import task
    eval(task("palaestra/Wordle-v0", n=50, split="test"), model="ollama/qwen3")

Every id played in text is a task of that name, which Inspect finds if palaestra is installed. The parameters of a task
(``-T``) are the parameters of `task`. A sample is an episode: the first observation is its input, and the conversation
continues until the episode is over. The scores are success, reward and progress; an episode that the machinery could
not judge has no score and is left out of the means. The scorer plays the answer to a question, so that any solver or
agent of Inspect can answer it; a game (several turns) needs the solver `play`.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from concurrent.futures import Future
from typing import Any

from .. import __version__
from ..checks import check_count
from ..envs import ids
from ..errors import InputError, needs_extra
from .core import EpisodeRow, has_one_answer, make_samples, make_text_env
from .episode_thread import ThreadedEpisode

with needs_extra("palaestra.integrations.inspect_tasks", "inspect"):
    from anyio import to_thread
    from inspect_ai import Task  # pyright: ignore[reportMissingImports]
    from inspect_ai import task as register_task  # pyright: ignore[reportMissingImports]
    from inspect_ai.dataset import MemoryDataset, Sample  # pyright: ignore[reportMissingImports]
    from inspect_ai.model import ChatMessageUser  # pyright: ignore[reportMissingImports]
    from inspect_ai.scorer import Score, mean, scorer, stderr  # pyright: ignore[reportMissingImports]
    from inspect_ai.solver import generate, solver  # pyright: ignore[reportMissingImports]

RESULT = "palaestra_result"
"""Key of the outcome so far in a sample's store, an `EpisodeResult` as a mapping."""
_HOME = "palaestra/"
_tasks: dict[str, Callable[..., Any]] = {}


def task(env_id: str, *, n: int = 100, split: str = "test", seed: int = 0, **kwargs: Any) -> Any:
    """Make the ``inspect_ai.Task`` of an environment.

    Args:
        env_id: an id with text observations and actions.
        n: number of samples.
        split: "train", "test" or "all".
        seed: seed of the first sample; later samples count up from it.
        **kwargs: arguments of the environment, such as ``difficulty=0.5``.

    Raises:
        InputError: an unknown id, an argument that does not fit, or an environment that is not played in text.
    """
    if env_id not in _tasks:
        make_text_env(env_id).close()
        _register(env_id)
    return _tasks[env_id](n=n, split=split, seed=seed, **kwargs)


@solver
def play() -> Any:
    """Return a solver that plays a sample's episode: replies are actions, observations are user messages."""

    async def solve(state: Any, generate: Any) -> Any:
        episode = ThreadedEpisode()
        try:
            await _wait(episode.begin(EpisodeRow.read(state.metadata)))
            while True:
                # Store the result after every turn: if a limit of Inspect ends the solver, the last result is scored.
                state.store.set(RESULT, episode.result().plain())
                if episode.over:
                    return state
                state = await generate(state)
                text = await _wait(episode.act(state.output.completion))
                state.messages.append(ChatMessageUser(content=text))
        finally:
            episode.close()

    return solve


@scorer(
    metrics={"success": [mean(), stderr()], "reward": [mean(), stderr()], "progress": [mean(), stderr()]},
    name="outcome",
)
def judge() -> Any:
    """Return a scorer of the played episode's success, reward and progress; a question is played here first."""

    async def score(state: Any, target: Any) -> Any:
        found, told = state.store.get(RESULT), None
        if found is None:
            found, told = await _answer(state)
        task = {name: found[name] for name in ("task_id", "params", "difficulty")}
        if not found["reward_valid"]:
            why = "the episode could not be judged, for a reason that is not the player's"
            return Score.unscored(reason="scoring_failed", explanation=why, metadata=task)
        success = found["is_success"]
        names = ("turns", "refused", "action_error", "terminated", "truncated", "reward_terms")
        return Score(
            value={
                "success": math.nan if success is None else float(success),
                "reward": float(found["reward"]),
                "progress": float(found["progress"]),
            },
            answer=state.output.completion,
            explanation=told,
            metadata=task | {name: found[name] for name in names},
        )

    return score


async def _answer(state: Any) -> tuple[dict[str, Any], str]:
    """Play the last reply as the answer to a question; return the outcome and the environment's feedback."""
    episode = ThreadedEpisode()
    try:
        row = EpisodeRow.read(state.metadata)
        await _wait(episode.begin(row))
        if not episode.has_one_answer:
            raise InputError(f"an episode of {row.env} has several turns and was not played; take the solver 'play'.")
        told = await _wait(episode.act(state.output.completion))
        return episode.result().plain(), told
    finally:
        episode.close()


async def _wait(future: Future[Any]) -> Any:
    """Await a call of an episode, on any event loop that Inspect may use."""
    return await to_thread.run_sync(future.result, abandon_on_cancel=True)


def _register(env_id: str) -> None:
    """Register the environment with Inspect as palaestra/NAME, with NAME the id without the prefix "palaestra/"."""

    def make(n: int = 100, split: str = "test", seed: int = 0, **kwargs: Any) -> Task:
        check_count("n", n, low=1)
        with make_text_env(env_id, {**kwargs, "split": split}) as env:
            single = has_one_answer(env)
        samples = [
            Sample(
                id=each["seed"],
                input=each["prompt"],
                target=each["answer"],
                metadata={name: value for name, value in each.items() if name not in ("prompt", "answer", "params")}
                | {"params": json.loads(each["params"])},
            )
            for each in make_samples(env_id, n, split, seed, kwargs)
        ]
        return Task(
            dataset=MemoryDataset(samples, name=env_id),
            solver=generate() if single else play(),
            scorer=judge(),
            version=__version__,
            metadata={"env": env_id, "split": split, **kwargs},
        )

    _tasks[env_id] = register_task(name=env_id.removeprefix(_HOME))(make)


for _id in ids():
    _register(_id)
