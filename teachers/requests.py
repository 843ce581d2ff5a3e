"""The requests that a proposal can make of the learner: the keys of `Proposal.meta`, their values and their effects.

A teacher declares the keys that it sets (`Teacher.asks`); a `Proposal` with an unknown key, or with a value out of
range, raises InputError. The learner has a function for each key that does more than label a proposal in the logs.

    REQUESTS.add("swap_units", LearnerRequest("a unit", check_unit, "the question is put in this unit"))
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from ..checks import check_choice, check_count, check_number, check_share
from ..errors import InputError, unknown_name
from ..registry import Registry

MANNERS = ("simplify", "diversify")
"""Ways to rewrite a prompt without changing its answer: easier to read, or in other words."""


@dataclass(frozen=True)
class LearnerRequest:
    """One key of `Proposal.meta`.

    Attributes:
        value: meaning of the value, with range and unit.
        check: ``check(name, value)`` raises InputError for a value out of range.
        effect: action of the learner.
        label: True if the key only describes the proposal in the learner's logs.
    """

    value: str
    check: Callable[[str, Any], Any]
    effect: str
    label: bool = False


REQUESTS: Registry[LearnerRequest] = Registry("request of a proposal", group="palaestra.requests", table="requests")


def check_requests(meta: Mapping[str, Any]) -> None:
    """Check the requests of a proposal.

    Raises:
        InputError: an unknown key, or a value out of range.
    """
    for name, value in meta.items():
        REQUESTS[name].check(name, value)


def _check_flag(name: str, value: Any) -> bool:
    if not isinstance(value, bool):
        raise InputError(f"{name} must be True or False, not {value!r}.")
    return value


def _check_text(name: str, value: Any) -> str:
    if not isinstance(value, str):
        raise InputError(f"{name} must be text, not {value!r}.")
    return value


def _check_factor(name: str, value: Any) -> float:
    return check_number(name, value, low=0.0)


def _check_positive_count(name: str, value: Any) -> int:
    return check_count(name, value, low=1)


def _check_manner(name: str, value: Any) -> str:
    if not isinstance(value, str):
        raise unknown_name(f"{name}:", str(value), MANNERS)
    return check_choice(name, value, MANNERS)


def _check_band(name: str, value: Any) -> tuple[float, float]:
    if not isinstance(value, list | tuple) or len(value) != 2:
        raise InputError(f"{name} must be two success rates, the lower one first, not {value!r}.")
    low, high = (check_share(name, bound) for bound in value)
    if low >= high:
        raise InputError(f"{name} must be two success rates, the lower one first, not {value!r}.")
    return low, high


def _check_ids(name: str, value: Any) -> tuple[int, ...]:
    if not isinstance(value, list | tuple):
        raise InputError(f"{name} must be a list of ids of earlier proposals, not {value!r}.")
    return tuple(check_count(name, id) for id in value)


_FACTOR = "a number of at least 0"

for _name, _request in {
    "greedy": LearnerRequest("True or False", _check_flag, "the task is played at temperature 0"),
    "hint": LearnerRequest(
        "a share in [0, 1]", check_share, "so much of the worked solution opens the answer, or stands in the prompt"
    ),
    "max_tokens": LearnerRequest(
        "tokens, at least 1", _check_positive_count, "the budget of an episode, which the prompt states"
    ),
    "rewrite": LearnerRequest(
        " or ".join(MANNERS), _check_manner, "the prompt is rewritten; the answer that is right stays the same"
    ),
    "system": LearnerRequest("text", _check_text, "the system text of the conversation, in place of the run's own"),
    "weight": LearnerRequest(_FACTOR, _check_factor, "factor of the group's tokens in the loss"),
    "kl_scale": LearnerRequest(_FACTOR, _check_factor, "factor of the KL penalties on the group's tokens"),
    "success_weight": LearnerRequest(_FACTOR, _check_factor, "factor of the advantages of successful episodes"),
    "failure_weight": LearnerRequest(_FACTOR, _check_factor, "factor of the advantages of failed episodes"),
    "band": LearnerRequest(
        "two rates in [0, 1]", _check_band, "the group is trained only if its success rate lies between them"
    ),
    "joins": LearnerRequest(
        "ids of proposals", _check_ids, "the episodes of these proposals, for evaluation only, join the group"
    ),
    "pair": LearnerRequest(
        "a whole number", check_count, "groups of one pair in a batch are trained in one optimiser step"
    ),
    "role": LearnerRequest("text", _check_text, "the side of a pair, in the logs", label=True),
    "partner": LearnerRequest("a whole number", check_count, "the other task of a pair, in the logs", label=True),
}.items():
    REQUESTS.add(_name, _request)
