"""Every teacher proposes other tasks than the uniform one, typed as on the command line (see `one_step`)."""

from __future__ import annotations

import pytest
from palaestra.teachers import TEACHERS

from .one_step import GUESS  # isort: skip

PLACES = f"{GUESS} --axis terms=2:4 --steps 2"
"""A space of parameters, two steps: what is proposed in the second follows the outcomes of the first."""
PROMPTS = f"{PLACES} --pool 12"
"""Fixed questions."""
LONGER = f"{PLACES} --steps 4"

LINES: dict[str, tuple[str, str]] = {
    **{
        name: (LONGER, f"{name} --teacher-option fit_rate=4 components=[2]")
        for name in ("alp-gmm", "alp-gmm-tma", "alp-gmm-windowed", "covar-gmm")
    },
    "goid": (LONGER, "goid --teacher-option low=0.9 high=1.0 neighbours=1"),
    "webrl": (LONGER, "webrl --teacher-option failed_below=1.0 fresh=0.0 step=0.5 band=[0,1]"),
}
"""Teachers that begin like the uniform one, and what makes them begin earlier."""


@pytest.mark.parametrize("name", [name for name in TEACHERS if name != "random"])
def test_a_teacher_proposes_other_tasks_than_the_uniform_one(name, step):
    usual = PROMPTS if TEACHERS[name].kind == "prompts" else PLACES
    line, text = LINES.get(name, (usual, name))
    mine, uniform = step(f"{line} --teacher {text}").proposals, step(line).proposals
    assert [(row["task_id"], row.get("asked")) for row in mine] != [
        (row["task_id"], row.get("asked")) for row in uniform
    ]
