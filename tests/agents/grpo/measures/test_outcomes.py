"""Measures of episodes alone: forms of answers, of which one crowds the other out, and refusals."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from palaestra.agents.grpo.batch.batch import collate
from palaestra.agents.grpo.measures.outcomes import answer_form, forms_of_answers
from palaestra.agents.grpo.objective.objective import Objective
from palaestra.agents.grpo.recipes import RECIPES
from palaestra.agents.grpo.recipes.stages import PRODUCERS

from ....one_step import GUESS  # isort: skip
from ..conftest import group, trajectory  # isort: skip

NO, YES = "<answer>I cannot tell you.</answer>", "<answer>42</answer> I cannot complain"
BOX, TAG = "\\boxed{1}", "<answer>1</answer>"


@pytest.mark.parametrize(
    ("text", "form"),
    [(BOX, "boxed"), (f"{BOX}, so {TAG}", "tag"), (f"{TAG} or {BOX}", "boxed"), ("1", "bare"), ("<answer>1", "bare")],
)
def test_the_form_of_an_answer_is_that_of_its_last_box_or_tag(text, form):
    assert answer_form(text) == form


def test_grpo_leaves_one_of_two_forms_with_accuracies_of_60_and_50_percent():
    rng, terms, logit, shares = np.random.default_rng(0), Objective(RECIPES["grpo"]).rollout_terms, 0.0, []
    for _ in range(90):
        share = 1 / (1 + np.exp(-logit))
        boxed = rng.random((8, 8)) < share
        won = rng.random((8, 8)) < np.where(boxed, 0.6, 0.5)
        groups = [
            group(*(trajectory(float(w), [([5], [6])], texts=[BOX if b else TAG]) for b, w in zip(*row, strict=True)))
            for row in zip(boxed, won, strict=True)
        ]
        found = [values for row in forms_of_answers(groups, None) for values in row]  # type: ignore[arg-type]
        means = [np.mean([values[f"form_{form}"] for values in found]) for form in ("boxed", "tag", "bare")]
        assert sum(means) == pytest.approx(1.0)
        assert all((values["won_boxed"] is None) != (values["won_tag"] is None) for values in found)
        shares.append(means[0])
        batch = collate(groups)
        advantage = terms.advantage(batch)[batch.action].numpy()
        logit += 1.5 * float(np.mean(advantage * (boxed.ravel() - share)))  # d log p / d logit
    assert np.mean(shares[:10]) == pytest.approx(0.5, abs=0.1)
    assert np.mean(shares[-10:]) > 0.9


def test_a_run_logs_the_shares_of_the_forms(step):
    (row,) = step(f"{GUESS} --measures answer_forms").metrics
    assert [row[f"measure/form_{form}"] for form in ("boxed", "tag", "bare")] == [0, 0, 1]
    assert row["measure/won_bare"] == pytest.approx(row["success"])
    assert "measure/won_tag" not in row


def test_over_refusals_are_counted_among_allowed_requests_alone():
    made = [
        replace(trajectory(0.0, [([5], [7])], texts=[text]), extras={"forbidden": forbidden})
        for text in (NO, YES)
        for forbidden in (True, False)
    ]
    (refusals,) = PRODUCERS["refusal"]([group(*made)], None)
    assert [row["refusal"] for row in refusals] == [1.0, 1.0, 0.0, 0.0]
    (over,) = PRODUCERS["over_refusal"]([group(*made)], None)
    assert [row["over_refusal"] for row in over] == [None, 1.0, None, 0.0]
