from __future__ import annotations

import json

import pytest
from palaestra.agents import as_agent
from palaestra.agents.reward_design import analyse, read_rows, rows_of, summarise
from palaestra.errors import InputError
from palaestra.rewards import Episode, Step
from palaestra.rewards.design import ProgramValue


def episode(success: bool, valid: bool = True, error: str | None = None) -> Episode:
    step = Step("saw this", "did that", 0.0, {}, 1, action_error=error)
    return Episode("t", {}, (step,) * 2, success, 0.5, valid, not success, None)


def test_success_and_each_term_are_shown_over_time_and_nothing_else_is_called_a_term():
    episodes = [episode(number >= 10) for number in range(20)]
    values = [ProgramValue(number >= 10, {"near": float(number), "far": -1.0}) for number in range(20)]
    text = summarise(rows_of(episodes, values))
    assert "20 episodes, here in 10 parts" in text
    assert "success: 0.00 0.00 0.00 0.00 0.00 1.00 1.00 1.00 1.00 1.00" in text
    assert "dense term near: mean 0.5 2.5 4.5 6.5 8.5 10.5 12.5 14.5 16.5 18.5; lowest 0 2 4 " in text
    assert [line.split(":")[0] for line in text.splitlines() if line.startswith("dense term")] == [
        "dense term far",
        "dense term near",
    ]
    assert "sign of the dense sum for 10 failures: 8 positive, 1 negative, 1 zero" in text


def test_errors_of_actions_and_of_the_program_are_counted():
    episodes = [episode(False, error="no such door"), episode(False)]
    values = [ProgramValue(error="KeyError (line 2): 'x'"), ProgramValue(0, {"a": 1.0})]
    text = summarise(rows_of(episodes, values))
    assert "action error, 2 times: no such door" in text
    assert "your program failed on 1 episodes: KeyError (line 2): 'x'" in text


def test_numbers_that_are_not_finite_are_counted_as_a_run_writes_them():
    rows = rows_of([episode(False)] * 2, [ProgramValue(0, {"a": 1.0}), ProgramValue(0, {"a": 3.0})])
    rows[1]["program_value"]["dense"]["a"] = None
    text = summarise(rows)
    assert "dense term a: mean 1 -; lowest 1 -; highest 1 -; not finite 1 times" in text
    assert "2 failures: 1 positive, 0 negative, 1 zero" in text


def test_a_dense_reward_of_one_sign_is_said_to_teach_nothing():
    text = summarise(
        rows_of([episode(True), episode(False)], [ProgramValue(1, {"a": 1.0}), ProgramValue(0, {"a": 9.0})])
    )
    assert "the sign of the dense sum is the same for every episode, it teaches nothing" in text


def test_episodes_lost_by_the_machinery_are_left_out():
    rows = rows_of([episode(False), episode(True, valid=False)], [ProgramValue(), ProgramValue()])
    assert summarise(rows).startswith("1 episodes")
    assert summarise(rows[1:]) == "No valid episode was played."


def test_an_analyser_reads_failed_episodes_and_its_words_are_added():
    seen = []
    analyser = as_agent(lambda prompt: seen.append(prompt) or "it never turns")
    rows = rows_of([episode(False), episode(True)], [ProgramValue(), ProgramValue(1)])
    assert analyse(rows, analyser).endswith("An analyst's view of failed episodes:\nit never turns")
    assert seen[0].count("Failed episode") == 1
    assert "saw: saw this\nwrote: did that" in seen[0]
    assert "analyst" not in analyse(rows[1:], analyser)  # nothing failed


def test_a_folder_without_episodes_is_refused(tmp_path):
    with pytest.raises(InputError, match="cannot be read"):
        read_rows(tmp_path)
    (tmp_path / "trajectories.jsonl").write_text("")
    with pytest.raises(InputError, match="holds no episodes"):
        read_rows(tmp_path)
    (tmp_path / "trajectories.jsonl").write_text(json.dumps({"is_success": True}) + "\n")
    assert read_rows(tmp_path) == [{"is_success": True}]
