"""Registry of teachers: ``make("alp-gmm", space, seed=0)``. Packages add teachers by the group
``palaestra.teachers``."""

from __future__ import annotations

import inspect
import json
from collections.abc import Callable
from typing import Any, TypeVar, dataclass_transform

import gymnasium as gym
import numpy as np

from ..checks import check_count, keyword_declared, makes_by_options, option
from ..errors import InputError
from ..registry import Registry
from .families import FamilyTeacher
from .pools import FiniteTasks, fixed_ladders, fixed_tasks
from .protocol import Common, Teacher
from .spaces import FamilySpaceLike, as_cube

T = TypeVar("T", bound=type[Teacher])


def _take_teacher(value: Any) -> Any:
    """Prepare an unregistered teacher class as `register` does; return another callable (space, *, seed) unchanged."""
    if not callable(value):
        raise InputError("is no class: it cannot be called with (space, seed=...)")
    if isinstance(value, type) and issubclass(value, Teacher) and "__signature__" not in vars(value):
        value = keyword_declared(value)
        value.__signature__ = _signature(value, {})  # pyright: ignore[reportAttributeAccessIssue]
    return value


TEACHERS: Registry[Callable[..., Teacher]] = Registry(
    "teacher",
    group="palaestra.teachers",
    modules=[f"{__package__}.{name}" for name in ("random", "boxes", "arms", "prompts", "levels", "expected_gain")],
    table="teachers",
    take=_take_teacher,
)


@dataclass_transform(eq_default=False, kw_only_default=True, field_specifiers=(option,))
def register(name: str) -> Callable[[T], T]:
    """Return a class decorator that registers a teacher under ``name``; its constructor takes
    ``(space, *, seed=0, ...)``.

    The options declared in the class become keyword arguments (see `checks.keyword_declared`). A constructor written by
    hand may end in ``**common: Unpack[Common]``.
    """

    def add(teacher: T) -> T:
        teacher = keyword_declared(teacher)
        teacher.__signature__ = _signature(teacher, {})  # pyright: ignore[reportAttributeAccessIssue]
        return TEACHERS.register(name)(teacher)

    return add


class Preset:
    """A registered configuration of a teacher class, with its own name and paper. Calling it makes the teacher.

    Args:
        name: registered name.
        teacher: the class.
        summary: one sentence for tables.
        paper: an arXiv number or a citation.
        when: when to use it; see `Teacher.when`.
        options: defaults that override the class's own; options given in a call override both.
    """

    def __init__(self, name: str, teacher: type[Teacher], summary: str, paper: str, when: str = "", **options: Any):
        self.teacher, self.paper, self.when, self.options = teacher, paper, when, options
        self.kind, self.asks, self.uses = teacher.kind, teacher.asks, teacher.uses
        self.__name__, self.__module__, self.__doc__ = name, teacher.__module__, summary
        self.__signature__ = _signature(teacher, options)
        TEACHERS.add(name, self)

    def __call__(self, space: Any, **options: Any) -> Teacher:
        return self.teacher(space, **{**self.options, **options})


def _signature(teacher: type[Teacher], defaults: dict[str, Any]) -> inspect.Signature:
    """Return the signature of the constructor with all options of `Common`, so that a misspelt option is refused."""
    parameters = dict(list(inspect.signature(teacher.__init__).parameters.items())[1:])
    for name, parameter in list(parameters.items()):
        if parameter.kind is parameter.VAR_KEYWORD:
            del parameters[name]
            for common in Common.__annotations__:
                default = getattr(Teacher, common)
                parameters[common] = parameter.replace(name=common, kind=parameter.KEYWORD_ONLY, default=default)
    if makes_by_options(teacher):  # the settings of declared options are the options
        del parameters["settings"]
        parameters |= {common: parameters.pop(common) for common in Common.__annotations__}
    for name, default in defaults.items():
        parameters[name] = parameters[name].replace(default=default)
    return inspect.Signature(list(parameters.values()))


def make(name: str, space: Any, seed: int = 0, **kwargs: Any) -> Teacher:
    """Make a registered teacher for a task space.

    For the `FamilySpace` of several environments, an arm teacher has the families as arms. With a teacher of kind "box"
    or "any", one teacher is made for each family, and families are drawn in proportion to their weights.

    Args:
        name: a registered name ("random", "alp-gmm", "sec" ...).
        space: a `ParamSpace`, a bounded Gymnasium `Box`, or a `Discrete`; `FiniteTasks` for a list of prompts; or a
            `FamilySpace`.
        seed: seed of the teacher's own random generator.
        kwargs: the teacher's options; all take ``return_range`` and ``max_in_flight``. An arm teacher over families
            also takes ``inside``, the teacher that chooses within each family: a name, or a mapping with "name" and
            options. Without it, tasks within a family are uniform.

    Raises:
        InputError: unknown name, option or space, or a value out of range.
    """
    kind = getattr(TEACHERS[name], "kind", "")
    if isinstance(space, FamilySpaceLike) and kind in ("box", "any"):
        return _make_within(name, space, None, seed, kwargs)
    if isinstance(space, FamilySpaceLike) and kind == "arms" and kwargs.get("inside") is not None:
        inside = kwargs.pop("inside")
        options = {"name": inside} if isinstance(inside, str) else dict(inside)
        shared = {option: kwargs[option] for option in ("return_range", "max_in_flight") if option in kwargs}
        chooser = TEACHERS.make(name, gym.spaces.Discrete(len(space.families)), seed=seed, **kwargs)
        return _make_within(str(options.pop("name", "")), space, chooser, seed, {**shared, **options})
    return TEACHERS.make(name, space, seed=seed, **kwargs)


def choose_space(name: str, env: Any) -> Any:
    """Return the space in which the teacher ``name`` chooses tasks of an environment. Teachers of kind "levels"
    get the environment's ``level_functions``, if it has any. All others get its ``param_space``, or None without one.
    If several wrappers have the attribute, the outermost one's is returned."""
    from .levels.space import Levels

    inner = env.unwrapped
    space, functions = _attribute(env, "param_space", None), _attribute(env, "level_functions", None)
    if functions is None or getattr(TEACHERS[name], "kind", "") != "levels":
        return space
    bounds = json.dumps(as_cube(space).signature, sort_keys=True)
    return Levels(f"{inner.spec.id if inner.spec else type(inner).__name__} {bounds}", *functions)


def range_options(env: Any) -> dict[str, Any]:
    """Return {"return_range": (low, high)} as an environment declares it, for `make`; {} for (0, 1), the default."""
    low, high = map(float, _attribute(env, "return_range", (0.0, 1.0)))
    return {} if (low, high) == (0.0, 1.0) else {"return_range": (low, high)}


def _attribute(env: Any, name: str, default: Any) -> Any:
    return env.get_wrapper_attr(name) if env.has_wrapper_attr(name) else default


def fixed_pool(name: str, space: Any, n: int, seed: int = 0) -> FiniteTasks:
    """Draw n fixed instances of an environment for the teacher ``name``: each in every format for teachers of answer
    formats (`fixed_ladders`), otherwise each in one drawn format (`fixed_tasks`)."""
    teacher = TEACHERS[name]
    climbs = getattr(teacher.teacher if isinstance(teacher, Preset) else teacher, "climbs_formats", False)
    return (fixed_ladders if climbs else fixed_tasks)(space, n, seed)


def _make_within(
    name: str, space: FamilySpaceLike, chooser: Teacher | None, seed: int, options: dict[str, Any]
) -> FamilyTeacher:
    """Make one teacher ``name`` for each family and join them; ``chooser`` picks the family, or if None the weights
    do."""
    check_count("seed", seed, low=0)
    *seeds, own = np.random.SeedSequence(seed).generate_state(len(space.families) + 1).tolist()
    parts = [TEACHERS.make(name, one, seed=each, **options) for one, each in zip(space.families.values(), seeds)]
    return FamilyTeacher(space, parts, chooser, seed=own)
