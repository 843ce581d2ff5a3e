"""Tasks for lm_eval, without it: names, scores of rows, refusals; test_peer_lm_eval.py runs it."""

from __future__ import annotations

from pathlib import Path

import pytest
from palaestra.errors import InputError
from palaestra.integrations.core import make_samples
from palaestra.integrations.lm_eval_tasks import check_question, name_of, score


@pytest.mark.parametrize(
    ("env_id", "name"),
    [
        ("palaestra/Countdown-v0", "palaestra_countdown"),
        ("palaestra/TextToSQL-v0", "palaestra_text_to_sql"),
        ("module:mine/Env-v2", "mine_env_v2"),
    ],
)
def test_names_are_words_with_underlines(env_id: str, name: str):
    assert name_of(env_id) == name


def test_a_reference_scores_1_and_no_answer_0():
    (row,) = make_samples("palaestra/Countdown-v0", 1, "test", 4)
    assert score(row, [row["answer"]]) == {"success": 1.0, "reward": 1.0, "progress": 1.0, "valid": 1.0}
    assert score(row, [""])["success"] == 0.0


def test_a_game_is_refused():
    with pytest.raises(InputError, match="several turns"):
        check_question("palaestra/Wordle-v0", {})


def test_nothing_to_evaluate_is_told_before_anything_is_written(tmp_path: Path):
    pytest.importorskip("datasets")
    from palaestra.integrations.datasets import save

    for env_id, test, sentence in (
        ("palaestra/Wordle-v0", 1, "several turns"),
        ("palaestra/Countdown-v0", 0, "no task"),
    ):
        with pytest.raises(InputError, match=sentence):
            save(tmp_path / "out", env_id, 1, test=test, lm_eval=True)
    assert list(tmp_path.iterdir()) == []
