"""The requests that proposals can make of a learner."""

from __future__ import annotations

import pytest
from palaestra.errors import InputError
from palaestra.teachers import Proposal
from palaestra.teachers.requests import REQUESTS, LearnerRequest

GOOD = {
    "greedy": True,
    "hint": 0.5,
    "max_tokens": 12,
    "rewrite": "simplify",
    "system": "Answer in one word.",
    "weight": 0.0,
    "kl_scale": 0.5,
    "success_weight": 1,
    "failure_weight": 2.5,
    "band": [0.2, 0.8],
    "joins": [3, 4],
    "pair": 0,
    "role": "hard",
    "partner": 7,
}


def test_every_request_has_a_value_that_passes():
    assert set(GOOD) == set(REQUESTS)
    assert Proposal(0, 1, meta=GOOD).meta == GOOD


@pytest.mark.parametrize(
    ("name", "value", "sentence"),
    [
        ("max_token", 5, "unknown request of a proposal 'max_token'; did you mean 'max_tokens'?"),
        ("greedy", 1, "greedy must be True or False, not 1"),
        ("hint", 1.5, r"hint must be a number in \[0, 1\], not 1.5"),
        ("max_tokens", 0, "max_tokens must be a whole number of at least 1, not 0"),
        ("rewrite", "shorten", "unknown rewrite: 'shorten'"),
        ("weight", -1.0, "weight must be a finite number of at least 0, not -1.0"),
        ("kl_scale", "half", "kl_scale must be a finite number of at least 0, not 'half'"),
        ("failure_weight", float("nan"), "failure_weight must be a finite number of at least 0, not nan"),
        ("band", [0.8, 0.2], r"two success rates, the lower one first, not \[0.8, 0.2\]"),
        ("band", 0.5, "two success rates, the lower one first, not 0.5"),
        ("joins", 3, "joins must be a list of ids of earlier proposals, not 3"),
        ("joins", [-1], "joins must be a whole number of at least 0, not -1"),
        ("pair", -1, "pair must be a whole number of at least 0, not -1"),
        ("role", 3, "role must be text, not 3"),
        ("system", None, "system must be text, not None"),
    ],
)
def test_an_unknown_request_and_a_bad_value_are_refused_in_one_sentence(name, value, sentence):
    with pytest.raises(InputError, match=sentence):
        Proposal(0, 1, meta={name: value})


def test_a_package_can_add_a_request_of_its_own(monkeypatch):
    monkeypatch.setitem(REQUESTS._entries, "unit", LearnerRequest("a unit", lambda name, value: value, "swaps units"))
    assert Proposal(0, 1, meta={"unit": "mile"}).meta == {"unit": "mile"}
