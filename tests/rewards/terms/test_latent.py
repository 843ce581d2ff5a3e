"""The reward "lare": returns that a learned function of factors spreads over turns."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from palaestra import rewards
from palaestra.rewards import Episode, Step
from palaestra.rewards.design import FACTOR_RUNNERS

LIKES = "def factors(step):\n    return {'good': float(step['action'] == 'good'), 'step': 1.0}\n"


def episode(actions: str, total: float | None = None, valid: bool = True) -> Episode:
    """An episode whose return is by default 1 for each good action, paid at the end."""
    words = ["good" if letter == "g" else "bad" for letter in actions]
    total = float(words.count("good")) if total is None else total
    paid = [0.0] * (len(words) - 1) + [total]
    steps = tuple(Step("o", word, reward, {"env": reward}, 1) for word, reward in zip(words, paid, strict=True))
    return Episode("t", {}, steps, total > 0, 0.0, valid, False, None)


@pytest.fixture
def file(tmp_path: Path) -> Path:
    (tmp_path / "factors.py").write_text(LIKES)
    return tmp_path / "factors.py"


GROUP = [episode("gb"), episode("bbg"), episode("bgg"), episode("bb")]


def test_the_reward_comes_with_the_turns_that_earn_it(file):
    reward = rewards.make("lare", factors=file, hidden=0)
    verdicts = reward.group(GROUP)
    assert [verdict.steps["lare"] for verdict in verdicts] == [
        pytest.approx(steps, abs=1e-6) for steps in ([1, 0], [0, 0, 1], [0, 1, 1], [0, 0])
    ]


def test_before_enough_episodes_each_keeps_its_return_at_the_end(file):
    reward = rewards.make("lare", factors=file, settle=5)
    assert reward.group(GROUP)[0].steps["lare"] == (0.0, 1.0)
    assert rewards.make("lare", factors=file, settle=5, exact=False)(GROUP[0]).steps["lare"] == (0.0, 0.0)


@pytest.mark.parametrize("hidden", [0, 8])
def test_the_sum_is_the_return_whatever_has_been_learned(file, hidden):
    exact = rewards.make("lare", factors=file, hidden=hidden)
    loose = rewards.make("lare", factors=file, hidden=hidden, exact=False)
    odd = [*GROUP, episode("gg", total=-3.0)]
    for _ in range(3):
        kept, free = exact.group(odd), loose.group(odd)
    assert [verdict.reward for verdict in kept] == pytest.approx([1, 1, 2, 0, -3])
    assert [verdict.reward for verdict in free] != pytest.approx([1, 1, 2, 0, -3], abs=1e-3)


def test_a_program_that_fails_on_a_step_gives_it_nothing_and_the_log_says_why(tmp_path, caplog):
    (tmp_path / "f.py").write_text("def factors(step):\n    return {'a': 1 / (step['action'] == 'good')}\n")
    reward = rewards.make("lare", factors=tmp_path / "f.py", hidden=0, exact=False)
    for _ in range(2):
        verdicts = reward.group([*GROUP, *[episode("ggg")] * 4])
    assert verdicts[0].steps["lare"] == (pytest.approx(1.0), 0.0)
    assert caplog.text.count("gives a step no reward: ZeroDivisionError (line 2)") == 1


def test_a_failed_sandbox_is_no_reward_of_0(file, monkeypatch):
    reward = rewards.make("lare", factors=file)
    monkeypatch.setitem(FACTOR_RUNNERS._entries, "sandbox", lambda text, steps: None)
    assert not any(verdict.valid for verdict in reward.group(GROUP))


def test_a_resumed_run_goes_on_with_its_program_and_network(file, caplog):
    whole, stopped = (rewards.make("lare", factors=file, hidden=4) for _ in range(2))
    for reward in (whole, stopped):
        reward.group(GROUP)
    state = json.loads(json.dumps(stopped.state_dict()))
    file.write_text("def factors(step):\n    return {'other': 1.0}\n")
    resumed = rewards.make("lare", factors=file, hidden=4)
    resumed.load_state_dict(state)
    assert "has changed" in caplog.text
    assert resumed.group(GROUP) == whole.group(GROUP)
    assert resumed.state_dict() == whole.state_dict()


def test_all_steps_of_all_episodes_are_one_call_and_none_is_computed_twice(file, monkeypatch):
    asked = []
    run = FACTOR_RUNNERS["sandbox"]
    monkeypatch.setitem(
        FACTOR_RUNNERS._entries, "sandbox", lambda text, steps: asked.append(len(steps)) or run(text, steps)
    )
    reward = rewards.make("lare", factors=file)
    for _ in range(2):
        reward.batch([GROUP, GROUP])
    assert asked == [2]
