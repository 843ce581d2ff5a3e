"""System texts: a bandit finds the template that helps, and the inner teacher learns as if it were alone."""

from __future__ import annotations

from collections import Counter

import pytest
from palaestra.envs import IntAxis, ParamSpace
from palaestra.errors import InputError
from palaestra.teachers import Outcome, make
from palaestra.teachers.prompts.system_texts import PRIOR_PROMPTS

SPACE = ParamSpace([IntAxis("digits", 1, 5)])


def test_the_template_that_helps_is_chosen():
    teacher = make("prior-prompts", SPACE)
    helps = PRIOR_PROMPTS["examples"].text
    for _ in range(20):
        proposals = teacher.propose(8)
        right = [p.meta["system"] == helps for p in proposals]
        teacher.observe([Outcome(p.id, p.task, [float(r)] * 4, [r] * 4) for p, r in zip(proposals, right)])
    assert Counter(p.meta["system"] for p in teacher.propose(50)).most_common(1)[0] == (helps, 50)


def test_each_template_names_its_own_tag_and_then_the_answer():
    for name in ("think", "plan", "code", "knowledge", "examples"):
        text = PRIOR_PROMPTS[name].text
        assert text.index(f"<{name}>") < text.index("<answer>")


def test_the_inner_teacher_proposes_and_learns_as_if_alone():
    alone, wrapped = make("rlve", SPACE, tasks=2), make("prior-prompts", SPACE, inside="rlve")
    wrapped.part = make("rlve", SPACE, tasks=2)
    for _ in range(6):
        for teacher in (alone, wrapped):
            proposals = teacher.propose(4)
            teacher.observe([Outcome(p.id, p.task, [1.0], [True]) for p in proposals])
    assert wrapped.part.state_dict() == alone.state_dict()


def test_unknown_templates_are_refused():
    with pytest.raises(InputError, match="prior prompt"):
        make("prior-prompts", SPACE, templates=["plann"])
    with pytest.raises(InputError, match="different texts"):
        make("prior-prompts", SPACE, templates=[])
