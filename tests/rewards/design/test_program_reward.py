from __future__ import annotations

import json
import logging
import math
from pathlib import Path

import pytest
from palaestra.envs.sandbox.reward_programs import judge_in_sandbox
from palaestra.errors import InputError, MachineryError
from palaestra.rewards import Episode, Step, build, make
from palaestra.rewards.design import RUNNERS


def episode(success: bool = False, action: str = "a", valid: bool = True, **extras: object) -> Episode:
    step = Step("o", action, float(success), {"answer": float(success)}, 1)
    return Episode("t", {}, (step,), success, float(success), valid, False, None, extras)


@pytest.fixture
def write(tmp_path: Path):
    def reward(body: str):
        file = tmp_path / "reward.py"
        file.write_text(f"def reward(episode):\n    {body}\n")
        return make("program", file=file)

    return reward


def test_it_adds_the_signs_of_the_sparse_and_a_tenth_of_the_dense_reward(write):
    reward = write("return int(episode['success']), {'a': 7.0, 'b': -2.0} if episode['success'] else -1e-9")
    won, lost = reward.group([episode(True), episode(False)])
    assert won.terms == {"sparse": 1.0, "dense": 0.1}
    assert lost.terms == {"sparse": 0.0, "dense": -0.1}
    assert won.extras == {"program_value": {"sparse": 1, "dense": {"a": 7.0, "b": -2.0}, "error": ""}}


@pytest.mark.parametrize("dense", [0.0, 1e-300, -1e308, math.inf, -math.inf, math.nan, 10**400])
def test_any_dense_value_moves_the_reward_by_at_most_a_tenth(write, dense):
    reward = write("return 0, episode['dense_reward']")
    assert abs(reward(episode(dense_reward=dense)).reward) <= 0.1
    assert reward(episode(True, dense_reward=dense)).reward >= 0.9


def test_a_program_that_claims_success_for_every_failure_lifts_none_above_a_success(write):
    reward = write("return -1 if episode['success'] else 1, -5 if episode['success'] else 5")
    won, lost = reward.group([episode(True), episode(False)])
    assert (won.reward, lost.reward) == (0.9, 0.1)


def test_a_failure_can_be_worth_minus_one(write):
    assert write("return -1, 0")(episode(False)).reward == -1.0


def test_a_program_that_raises_adds_nothing_and_the_log_says_why_once(write, caplog):
    reward = write("return 0, 1 / (episode['turns'][0]['action'] == 'a')")
    with caplog.at_level(logging.WARNING):
        verdicts = [verdict for _ in range(2) for verdict in reward.group([episode(), episode(True, "b"), episode()])]
    assert [verdict.reward for verdict in verdicts[:3]] == [0.1, 1.0, 0.1]
    assert all(verdict.valid for verdict in verdicts)
    error = verdicts[1].extras["program_value"]["error"]
    assert error == "ZeroDivisionError (line 2): division by zero"
    assert [record.getMessage() for record in caplog.records] == [
        f"the reward program {reward.file} adds 0 to 1 of 3 episodes: {error}"
    ]


@pytest.mark.parametrize(
    ("body", "error"),
    [
        ("return 1", "TypeError: reward must return (sparse, dense), not 1"),
        ("return 2, 0", "ValueError: sparse must be -1, 0 or 1, not 2"),
        ("return float('nan'), 0", "ValueError: sparse must be -1, 0 or 1, not nan"),
        ("return 0, 'much'", "TypeError: dense must be a number or a dict of numbers by name, not 'dense': 'much'"),
        ("return 0, {1: 2}", "TypeError: dense must be a number or a dict of numbers by name, not 1: 2"),
        ("return 0, {str(i): i for i in range(99)}", "ValueError: dense must have at most 32 terms, not 99"),
        ("return reward(episode)", "RecursionError (line 2)"),
    ],
)
def test_another_form_than_documented_is_an_error_of_the_program(write, body, error):
    assert error in write(body)(episode()).extras["program_value"]["error"]


def test_all_episodes_of_a_step_are_one_call_and_invalid_ones_are_left_out(write, monkeypatch):
    asked = []

    def run(program, episodes):
        asked.append(len(episodes))
        return judge_in_sandbox(program, episodes)

    monkeypatch.setitem(RUNNERS._entries, "sandbox", run)
    first, second = write("return 0, 1").batch([[episode(), episode(valid=False)], [episode(), episode()]])
    assert asked == [3]
    assert [verdict.valid for verdict in (*first, *second)] == [True, False, True, True]


def test_a_failed_sandbox_is_no_reward_of_0(write, monkeypatch, caplog):
    def lose(program, episodes):
        raise MachineryError("the sandbox is gone.")

    for run in (lambda program, episodes: None, lose):
        monkeypatch.setitem(RUNNERS._entries, "sandbox", run)
        assert not write("return 0, 1")(episode()).valid
    assert "the sandbox is gone" in caplog.text


def test_what_it_reads_is_needed(write):
    reward = write("return 0, episode['goal_distance'][-1]")
    assert reward.needs == {"goal_distance"}
    with pytest.raises(InputError, match="needs 'goal_distance' of every episode"):
        reward(episode())


def test_a_resumed_run_goes_on_with_the_program_that_it_began_with(write, caplog):
    state = json.loads(json.dumps(write("return 0, 1").state_dict()))
    resumed = write("return 0, -1")
    assert resumed(episode()).reward == -0.1
    resumed.load_state_dict(state)
    assert resumed(episode()).reward == 0.1
    assert "has changed; the run goes on with the one that it began with" in caplog.text


def test_a_file_that_is_missing_or_no_program_is_refused(tmp_path):
    with pytest.raises(InputError, match="cannot be read"):
        make("program", file=tmp_path / "none.py")
    (tmp_path / "other.py").write_text("import os")
    with pytest.raises(InputError, match="holds no reward program: line 1: the import of 'os' is refused"):
        build({"name": "program", "file": str(tmp_path / "other.py")})
