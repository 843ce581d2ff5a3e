"""Table of measures for ``palaestra list measures``: named quantities, with their suppliers and consumers.

The rows are made from the registries of environments, rewards, teachers and the learner's stages.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import gymnasium as gym

from ..envs.registration import ids
from ..errors import InputError, MachineryError, MissingExtra, unknown_name
from ..rewards import REWARDS
from ..rewards.measures import MEASURES
from ..teachers import TEACHERS
from ..teachers.levels.trajectories import CRITIC_EXTRAS
from .list_stages import Row, stages

SHOWN = 4
"""Most names in a list of suppliers or consumers; a longer list is cut."""


def measures() -> list[Row]:
    """List every measure: name, shape, unit, summary, suppliers and consumers; long lists of names are shortened.

    Raises:
        MissingExtra: torch, which the learner's components need, is not installed.
    """
    rows = _list_all()
    return [{**row, **{side: _shorten_list(row[side]) for side in _SIDES}} for row in rows]


def measure_rows(names: Sequence[str]) -> list[Row]:
    """List the named measures with all their suppliers and consumers.

    Raises:
        InputError: a name is no measure.
        MissingExtra: torch is not installed.
    """
    for name in names:
        if name not in MEASURES:
            raise unknown_name("measure", name, MEASURES, MEASURES.table)
    rows = [row for row in _list_all() if row["name"] in names]
    return [{**row, **{side: ", ".join(row[side]) for side in _SIDES}} for row in rows]


_SIDES = ("supplied by", "needed by")
_ANY_SPACE = gym.spaces.Box(0.0, 1.0, (1,))
"""Task space that all teachers accept; the needs of a teacher do not depend on the space."""


def _list_all() -> list[Row]:
    suppliers = _collect([*_environments(), *_components("provides")])
    consumers = _collect([*_rewards(), *_teachers(), *_components("needs")])
    return [
        {
            "name": name,
            "shape": measure.shape,
            "unit": measure.unit,
            "summary": measure.summary,
            "supplied by": suppliers.get(name)
            or [
                f"to be brought: {measure.user_supplies}" if measure.user_supplies else _OTHERS.get(name, "the caller")
            ],
            "needed by": consumers.get(name, []),
        }
        for name, measure in MEASURES.items()
    ]


_OTHERS = {
    **dict.fromkeys(("logps", "logp_old", "entropy", "entropy_grad", "hidden", "head"), "every run"),
    **dict.fromkeys(("prompt_logp", "prompt_divergence", "top_tokens"), "every run"),
    **dict.fromkeys(("logp_ref", "kl_ref"), "the reference policy of every run"),
    **dict.fromkeys(("batch", "every_row", "zero_at_reference", "after_update"), "the loss of every run"),
    "gradient_influence": "every run, for rewards that learn from it",
    "milestones": "ProgramSynthesis-v0 with milestones=True",
    "seconds": "every run, and environments that report it",
    "anchor": "recipes with the anchor 'policy'",
    **dict.fromkeys(("logp_teacher", "teacher_model"), "--teacher-model"),
    "objective_rewards": "reward gradient-influence",
    "program_value": "reward program",
    **dict.fromkeys(CRITIC_EXTRAS, "EpisodeCritic of TeacherWrapper"),
}
"""Measure -> supplier that is neither an environment nor a registered component."""

Named = tuple[str, Iterable[str]]


def _environments() -> Iterator[Named]:
    for env_id in ids():
        try:
            env: Any = gym.make(env_id, disable_env_checker=True)
        except (MissingExtra, MachineryError):
            continue
        yield env_id.removeprefix("palaestra/"), getattr(env.unwrapped, "supplies", ())
        env.close()


def _rewards() -> Iterator[Named]:
    for name, cls in REWARDS.items():
        try:
            yield f"reward {name}", REWARDS.make(name).needs | cls.update_measures
        except InputError:  # it needs arguments: a composite has the needs of its parts
            yield f"reward {name}", cls.needs if isinstance(cls.needs, frozenset) else ()


def _teachers() -> Iterator[Named]:
    for name in TEACHERS:
        teacher = TEACHERS.make(name, _ANY_SPACE)
        yield f"teacher {name}", teacher.needs | teacher.uses


def _components(side: str) -> Iterator[Named]:
    found = stages()  # says what to install where torch is absent
    from ..agents.grpo.batch.scored import needs_of

    for stage, registry in found.items():
        for name, target in registry.items():
            names = needs_of(target) if side == "needs" else getattr(target, side, ())
            yield f"{stage} {name}", names if isinstance(names, frozenset) else ()


def _collect(pairs: Iterable[Named]) -> dict[str, list[str]]:
    """Invert pairs (name, measures): return measure -> names."""
    found: dict[str, list[str]] = {}
    for who, names in pairs:
        for name in names:
            found.setdefault(name, []).append(who)
    return found


def _shorten_list(names: list[str]) -> str:
    if len(names) <= SHOWN:
        return ", ".join(names)
    return f"{', '.join(names[: SHOWN - 1])} and {len(names) - SHOWN + 1} more"
