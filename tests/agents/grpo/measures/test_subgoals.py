"""Subgoals that a model names and judges: one training step where the environment knows none."""

from __future__ import annotations

import json
from collections import Counter
from typing import Any

import pytest
from palaestra.agents import AGENTS, CallableAgent
from palaestra.agents.grpo.learner import Learner
from palaestra.agents.grpo.measures.subgoals import judge_subgoals, name_subgoals
from palaestra.errors import InputError
from palaestra.rewards.judges import JUDGES, Judge, Judgement
from palaestra.rewards.judges.subgoals import describe_step
from palaestra.scripts import train

from ..conftest import group  # isort: skip

CALLS: Counter[tuple[str, str, str]] = Counter()


class Reader(Judge):
    """Finds a subgoal achieved where a reply has its last word; counts what it is asked."""

    def score(self, principle, prompt, responses, reference=None):
        (after,) = responses
        CALLS[principle, prompt, after] += 1
        return Judgement((float(principle.rstrip("?").split()[-1] in after),))


class Silent(Judge):
    """Never answers."""

    def score(self, principle, prompt, responses, reference=None):
        return Judgement.failed("silent")


@pytest.fixture(autouse=True)
def judges(monkeypatch):
    CALLS.clear()
    monkeypatch.setitem(JUDGES._entries, "reader", Reader)
    monkeypatch.setitem(JUDGES._entries, "silent", Silent)
    names = CallableAgent(lambda question: "1. hear an\n2. see 7")
    monkeypatch.setitem(AGENTS._entries, "planner", lambda: names)


@pytest.fixture
def start(small, tmp_path):
    small.save(tmp_path / "model")

    def make(*words: str, env: str = "palaestra/GuessNumber-v0", axes: tuple[str, ...] = ("bits=4", "slack=0")) -> Any:
        line = f"--model {tmp_path / 'model'} --steps 1 --warmup.steps 0 --teacher random --final-episodes 1 "
        line += "--eval-every 0 --threads 1 --prompts 2 --samples 2 --max-new-tokens 4 --patience.no-signal 0 "
        line += "--track"
        config = train.read_config([env, "--axis", *axes, *line.split(), "--shaping", *words])
        return Learner.start(tmp_path / "run", config)

    return make


def shaping(learner: Learner) -> float:
    """The mean reward for subgoals in a training step."""
    learner.run()
    (row,) = (learner.folder.path / "metrics.jsonl").read_text().splitlines()
    return json.loads(row)["shaping/subgoals"]


def test_the_policy_names_subgoals_and_judges_its_own_steps(start):
    paid = shaping(start("subgoals", "--measures", "achieved(threshold=0.0,most=2)"))
    # At this threshold each named subgoal counts as achieved at the first step, and gives its bonus of 0.1 once.
    assert 0.0 < paid <= 0.2 + 1e-9


def test_a_judge_is_asked_once_for_each_step_and_subgoal_not_achieved(start):
    words = (
        "subgoals(subgoals=('hear an',))",
        "--measures",
        "achieved(subgoals=('hear an','see zebra'),judge='reader')",
    )
    learner = start(*words)
    learner._prepare()
    CALLS.clear()
    episodes = [t for group in learner.parts.collector.collect(1).groups for t in group.trajectories]
    steps = sum(len(episode.turns) for episode in episodes)
    assert len(episodes) == 4 < steps
    # The rules, which follow a guess that cannot be read, have an "an".
    heard = [["an" in after(episode.episode, t) for t in range(len(episode.turns))] for episode in episodes]
    firsts = [row.index(True) + 1 if True in row else len(row) for row in heard]
    asked = Counter(principle.rstrip("?").split()[-1] for principle, _, _ in CALLS.elements())
    assert asked == {"zebra": steps, "an": sum(firsts)}
    assert [episode.shaping["subgoals"] for episode in episodes] == [0.1 * any(row) for row in heard]
    assert any(map(any, heard))


def after(episode: Any, t: int) -> str:
    return describe_step(episode, t)[1]


def test_the_list_of_the_reward_is_what_the_policy_looks_for(start):
    learner = start("subgoals(subgoals=('guess well','win'))")
    (producer,) = learner.parts.objective.producers
    assert producer.fixed["subgoals"] == ("guess well", "win")
    assert shaping(learner) >= 0.0


def test_an_agent_names_the_subgoals(instruments, two_turns):
    ((row,),) = judge_subgoals([group(two_turns)], instruments, author="planner", judge="reader")
    assert len(row["achieved"]) == 2
    assert {principle.rstrip("?") for principle, _, _ in CALLS} == {
        "Did this step achieve the subgoal: hear an",
        "Did this step achieve the subgoal: see 7",
    }


def test_a_judge_may_replace_what_the_environment_knows(start):
    words = ("subgoals", "--measures", "achieved(subgoals=('see without',),judge='reader')")
    assert shaping(start(*words, env="palaestra/DoorKeyText-v0", axes=("size=5",))) == pytest.approx(0.1)


def test_a_judge_that_fails_gives_no_value(instruments, two_turns):
    ((row,),) = judge_subgoals([group(two_turns)], instruments, subgoals=["a"], judge="silent")
    assert row["achieved"] == [None, None]


def test_equal_tasks_are_decomposed_once(instruments):
    asked: list[str] = []
    author = CallableAgent(lambda question: asked.append(question) or "a\nb")
    assert name_subgoals(["x", "y", "x"], author, 1, instruments) == [["a"]] * 3
    assert len(asked) == 2


@pytest.mark.parametrize(
    ("wrong", "word"),
    [({"subgoals": "key"}, "sequence"), ({"author": 3}, "author"), ({"author": {"judge": "rules"}}, "endpoint")],
)
def test_wrong_words_are_refused(instruments, two_turns, wrong, word):
    with pytest.raises(InputError, match=word):
        judge_subgoals([group(two_turns)], instruments, **wrong)
