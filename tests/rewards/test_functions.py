"""Functions as rewards: of an episode, with the parameters of other projects, from a file."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from palaestra.errors import InputError
from palaestra.rewards import Episode, Step, build, make
from palaestra.rewards.functions import take_function
from palaestra.scripts.cli import main

SOURCE = """
def brief(episode):
    return -0.25 * len(episode.response)

def length(completions, **kwargs):
    return [0.5 * len(text) for text in completions]

def exact(prompts, completions, answer, **kwargs):
    assert kwargs["task_id"] == ["t"]
    return [float(right == text) for right, text in zip(answer, completions)]

def matches(prompt, completion, answer, state=None):
    return 1.0 if completion == answer else 0.0

def with_default(episode, weight=0.5):
    return weight

def of_unknown(foo, bar):
    return 1.0

def torn(completions, **kwargs):
    return [float("nan")]
"""


def episode(reply: str) -> Episode:
    step = Step("2 + 2?", reply, 1.0, {"answer": 1.0}, 1)
    return Episode("t", {"digits": 1}, (step,), True, 1.0, True, False, None, {"reference": "4"})


@pytest.fixture
def mine(tmp_path: Path, request: pytest.FixtureRequest) -> str:
    name = f"rewards_{abs(hash(request.node.nodeid))}"
    (tmp_path / f"{name}.py").write_text(SOURCE)
    return str(tmp_path / f"{name}.py")


@pytest.mark.parametrize(
    ("name", "value", "needs"),
    [
        ("brief", -0.25, set()),
        ("length", 0.5, set()),
        ("exact", 1.0, {"reference"}),
        ("matches", 1.0, {"reference"}),
        ("with_default", 0.5, set()),
    ],
)
def test_functions_are_called_as_they_are_written(mine: str, name: str, value: float, needs: set[str]):
    reward = make(f"{mine}:{name}")
    assert reward(episode("4")).terms == {name: value}
    assert reward.needs == needs


def test_a_wrong_reply_earns_nothing_and_no_number_is_invalid(mine: str):
    assert make(f"{mine}:exact")(episode("5")).terms == {"exact": 0.0}
    verdict = make(f"{mine}:torn")(episode("5"))
    assert not verdict.valid
    assert "no finite number" in verdict.feedback


def test_what_cannot_be_called_or_found_is_said_in_one_sentence(mine: str):
    with pytest.raises(InputError, match=r"takes foo, bar, of which foo is unknown: a reward takes an episode, or any"):
        make(f"{mine}:of_unknown")
    with pytest.raises(InputError, match=r"there is no file .*missing\.py"):
        make("missing.py:brief")
    with pytest.raises(InputError, match="did you mean 'brief'"):
        make(f"{mine}:breif")


def test_a_builtin_without_a_signature_is_a_function_of_an_episode():
    call, needs = take_function(len)
    assert (call, needs) == (len, frozenset())


def test_a_reward_of_a_file_takes_the_place_of_the_environments(mine: str, tmp_path: Path):
    pytest.importorskip("torch")
    from palaestra.agents.grpo.recipes.recipe import RECIPES

    words = ["train", "palaestra/Arithmetic-v0", "--axis", "digits=1", "terms=2", "--steps", "1", "--warmup.steps", "0"]
    words += ["--prompts", "2", "--samples", "2", "--max-new-tokens", "4", "--final-episodes", "2", "--eval-every", "0"]
    assert main([*words, "--reward", f"{mine}:brief", "--out", str(tmp_path / "run")]) in (0, 1)
    rows = [json.loads(line) for line in (tmp_path / "run" / "trajectories.jsonl").read_text().splitlines()]
    for row in rows:
        assert row["shaping"]["brief"] == pytest.approx(-0.25 * len(row["turns"][0]["action"]))
    recipe = RECIPES["grpo"].with_(reward=f"{mine}:brief", shaping="overlong")
    first, second = (build(part.data()) for part in recipe.shaping)
    assert (first.complete, second.complete) == (True, False)
    judged = first(episode("4"))
    assert judged.terms == {"brief": -0.25}
