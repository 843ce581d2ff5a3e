"""Every teacher proposes other tasks than the uniform one, and others again to students of other outcomes, typed as on
the command line (see `one_step`); what its proposals ask of the learner is done."""

from __future__ import annotations

import numpy as np
import pytest
from palaestra.teachers import TEACHERS
from palaestra.teachers.budgets import ALLOCATORS
from palaestra.teachers.requests import REQUESTS

from .one_step import GUESS  # isort: skip

PLACES = f"{GUESS} --axis terms=2:4 --steps 3 --prompts 12 --samples 2 --max-new-tokens 4 --max-episode-tokens 4"
"""A space of parameters, three steps: what is proposed in the second follows the outcomes of the first."""
PROMPTS = f"{PLACES} --pool 12"
"""Fixed questions."""
LONGER = f"{PLACES} --steps 4"

LINES: dict[str, tuple[str, str]] = {
    **{
        name: (LONGER, f"{name} --teacher-option fit_rate=4 components=[2]")
        for name in ("alp-gmm", "alp-gmm-tma", "alp-gmm-windowed", "covar-gmm")
    },
    "dots": (f"{PROMPTS} --seed 2", "dots"),
    "format-ladder": (PLACES, "format-ladder --teacher-option guess=0.1 group=2"),
    "goid": (LONGER, "goid --teacher-option low=0.9 high=1.0 neighbours=1"),
    "webrl": (LONGER, "webrl --teacher-option failed_below=1.0 fresh=0.0 step=0.5 band=[0,1]"),
}
"""Teachers that begin like the uniform one, and what makes them begin earlier."""

BY_SCHEDULE = {
    *("annealed", "blocks", "cumulative", "cyclical", "dapo", "format-stages", "horizon", "tiers", "token-budget"),
}
"""Teachers that do not follow outcomes, but their number."""
LATE = {
    *("adarft", "adr", "history-variance", "look-back", "look-back-and-forward", "odm", "oracle-window"),
    *("plr-entropy", "plr-least-confidence", "plr-min-margin", "pudf", "reasoning-gym", "rlve", "rlve-down"),
    *("sequential", "task-order", "sfl", "spdl", "spdl-delta"),
}
"""Teachers that follow outcomes after more of them than three steps have; tests/teachers/test_every_teacher_reacts.py
gives them as many."""


@pytest.mark.parametrize("name", [name for name in TEACHERS if name != "random"])
def test_a_teacher_proposes_by_outcomes_and_its_requests_are_carried_out(name, step):
    usual = PROMPTS if TEACHERS[name].kind == "prompts" else PLACES
    line, text = LINES.get(name, (usual, name))
    mine = step(f"{line} --teacher {text}")
    assert mine.first_difference(step(line)) == "proposals"
    assert mine.reacts == (name not in BY_SCHEDULE | LATE)
    asked = [{key for key in row.get("asked", ()) if not REQUESTS[key].label} for row in mine.proposals]
    asks = {key for key in TEACHERS[name].asks if not REQUESTS[key].label}
    assert any(asked) == (bool(asks) and name != "puzzlecraft")  # which asks in another mode only
    assert all(keys <= set(row.get("done", ())) for keys, row in zip(asked, mine.proposals))


def test_the_episodes_of_a_step_are_shared_out_by_the_success_rates_of_its_questions(step):
    line = f"{PLACES} --pool 6 --teacher random --samples 4 --steps 2".replace("--samples 2 ", "")
    mine = step(f"{line} --budget knapsack(high=9,decay=1.0)")
    assert mine.first_difference(step(line)) == "number"
    first, second = mine.values("number")
    assert first == [4] * 12  # of unknown questions
    played: dict[str, list[float]] = {}
    for row in mine.proposals[:12]:
        played.setdefault(row["task_id"], []).append(row["success"])
    rates = [float(np.mean(played.get(row["task_id"], [0.5]))) for row in mine.proposals[12:]]
    assert second == ALLOCATORS["knapsack"](rates, 48, low=2, high=9).tolist()
