"""Rewards as objects: one call judges one episode, `group` judges siblings (several episodes of one task) together and
`batch` judges several groups.

A reward is either *complete*, the reward of the whole episode, or a *term* that is added to the environment's reward.
Most rewards derive from one of five bases and implement one method:

==============  =========================  =============================================================
base            method                     judges
==============  =========================  =============================================================
`Reward`        ``value(episode)``         one episode
`StepReward`    ``values(episode)``        one episode by one number a step; they are the verdict's ``steps``
`PooledReward`  ``values(episodes)``       each episode alone, but many in one call
`GroupReward`   ``values(episodes)``       the valid episodes of one task
`BatchReward`   ``values(groups)``         the valid episodes of all tasks of a training step
==============  =========================  =============================================================

A reward lists in ``needs`` the measures that it reads besides texts, counts and the environment's rewards, such as
log-probabilities, hidden states or prefix values; the caller puts the measures into ``Episode.extras``. Classes
register by name; other packages contribute through the entry-point group ``palaestra.rewards``.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType
from typing import Any, ClassVar, TypeVar, dataclass_transform

from ..checks import Declared, declared, option
from ..errors import InputError
from ..registry import Registry
from .attempt import attempt, read_list, to_finite_number
from .episode import Episode, Step
from .functions import take_function
from .measures import list_user_supplies
from .verdict import Verdict

R = TypeVar("R", bound="type[Reward]")


class Reward(Declared):
    """Base class of rewards. A subclass implements `value`, or ``__call__`` if it has several terms.

    Options are declared: ``weight: float = option(default=1.0, low=0, says="...")`` (see `checks.declared`).

    Attributes:
        name: the registered name, also used as the name of the reward's term.
        paper: the source, with section or equation; empty for our own.
        needs: names of the entries of ``Episode.extras`` that the reward reads.
        measure_options: measure name -> options for the learner's measurement.
        counts: names of attributes that count judged episodes or the like; they start at 0 and are saved.
        update_measures: measures of a training batch that a learner passes to the reward's method ``update``.
        user_supplies: inputs that only the user can supply, in words; "" if the learner or an environment of the
            package supplies all. By default, registration derives it from the measures in ``needs``.
        complete: True if the value replaces the environment's reward of the whole episode; False if it is added.
        bounds: lowest and highest possible value; a property where options decide.
        ranks_success: True if, within a group, no failed episode gets more than a successful one; tested for every
            registered reward that claims it.
    """

    name: ClassVar[str] = "reward"
    paper: ClassVar[str] = ""
    needs: frozenset[str] = frozenset()
    measure_options: Mapping[str, Mapping[str, Any]] = MappingProxyType({})
    counts: ClassVar[tuple[str, ...]] = ()
    update_measures: frozenset[str] = frozenset()
    user_supplies: ClassVar[str] = ""
    complete: bool = False
    ranks_success: bool = False
    bounds: tuple[float, float] = (-math.inf, math.inf)

    def value(self, episode: Episode) -> float | str | None:
        """Return the reward of one valid episode. If it cannot be determined (a judge did not answer), return a
        sentence that says why, or None."""
        raise NotImplementedError(f"{type(self).__name__} must implement value(episode) -> float.")

    def __call__(self, episode: Episode) -> Verdict:
        """Judge one episode."""
        return self.verdict(episode, self.value(episode) if episode.valid else None)

    def group(self, episodes: Sequence[Episode]) -> list[Verdict]:
        """Judge several episodes of one task, in order. The default judges each alone, and makes the verdict of an
        episode invalid if judging it raises an exception."""
        verdicts = []
        for episode in episodes:
            verdict = attempt(self, episode)
            if not isinstance(verdict, Verdict):
                reason = verdict if isinstance(verdict, str) else f"it gave {verdict!r}, no Verdict"
                verdict = self.verdict(episode, reason)
            verdicts.append(verdict)
        return verdicts

    def batch(self, groups: Sequence[Sequence[Episode]]) -> list[list[Verdict]]:
        """Judge the groups of one training step, in order; the default judges each group alone."""
        return [self.group(group) for group in groups]

    def verdict(self, episode: Episode, value: float | str | None) -> Verdict:
        """Build a verdict with one term. It is invalid if ``value`` is not a finite number or the episode is invalid.

        The score is ``value`` scaled from ``bounds`` to [0, 1], or clipped to [0, 1] if the reward is unbounded. A text
        given as ``value`` is the reason of a failure and becomes the feedback. If ``value`` is None, the feedback is
        the error message of the score source that failed.
        """
        value = None if value is None else to_finite_number(value)
        if value is None or isinstance(value, str) or not episode.valid:
            reason = value if isinstance(value, str) else ""
            if value is None and episode.valid:
                parts = (part.values() if isinstance(part, dict) else (part,) for part in vars(self).values())
                sources = [source for several in parts for source in several if hasattr(source, "failure_of")]
                reason = next((said for source in sources if (said := source.failure_of(episode))), "")
            return Verdict(0.0, False, valid=False, terms={self.name: 0.0}, feedback=reason)
        low, high = self.bounds
        score = (value - low) / (high - low) if math.isfinite(high - low) and high > low else value
        return Verdict(score=min(max(score, 0.0), 1.0), success=episode.success, valid=True, terms={self.name: value})

    def report(self, verdict: Verdict) -> Mapping[str, Any]:
        """Return the entries of a verdict, by measure name, that a learner adds to the episode's extras."""
        return {}

    # Training progress and saving.

    @property
    def children(self) -> Mapping[str, Reward]:
        """Rewards that this reward combines or takes scores from, by name."""
        sources = {name: getattr(value, "reward", None) for name, value in vars(self).items()}
        return {name: part for name, part in sources.items() if isinstance(part, Reward)}

    def walk(self) -> Iterator[Reward]:
        """Yield this reward and all its descendants, parents first."""
        yield self
        for child in self.children.values():
            yield from child.walk()

    def advance(self, step: int, steps: int) -> None:
        """Report that training has reached update ``step`` of ``steps``, for rewards that change during training."""
        for child in self.children.values():
            child.advance(step, steps)

    def state_dict(self) -> dict[str, Any]:
        """Return the state that changes during use as plain JSON data, with each child's state under its name."""
        states = {name: child.state_dict() for name, child in self.children.items()}
        counts = {name: getattr(self, name) for name in self.counts}
        return {**{name: state for name, state in states.items() if state}, **counts}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Restore a saved state.

        Raises:
            InputError: the state has entries that this reward does not have.
        """
        children = self.children
        if unknown := sorted(set(state) - {*children, *self.counts}):
            raise InputError(f"the saved state of {self.name!r} has {unknown}, which this reward does not have.")
        for name, child in children.items():
            child.load_state_dict(state.get(name, {}))
        for name in self.counts:
            setattr(self, name, int(state.get(name, 0)))

    def describe(self) -> str:
        """Return one line with the name and the most important parameters."""
        return self.name

    def tree(self) -> str:
        """Return the reward and its parts as text, one per line, indented by depth."""
        return "\n".join(self._tree_lines(""))

    def _tree_lines(self, label: str) -> Iterator[str]:
        yield f"{label}: {self.describe()}" if label else self.describe()
        for name, child in self.children.items():
            yield from ("  " + line for line in child._tree_lines(name))

    def __repr__(self) -> str:
        return self.tree()


class StepReward(Reward):
    """Reward with one number per step; its value is their sum. Learners read the numbers from `Verdict.steps`."""

    def values(self, episode: Episode) -> Sequence[float] | None:
        """Return one reward per step of a valid episode, or None if the rewards could not be determined."""
        raise NotImplementedError(f"{type(self).__name__} must implement values(episode) -> numbers, one a step.")

    def begin(self, observation: Any, extras: Mapping[str, Any]) -> None:
        """Start an episode with its first observation and extras (``info["extras"]``). Only rewards that keep state for
        `step_reward_now` need this."""

    def step_reward_now(self, step: Step, observation: Any, terminated: bool) -> float | None:
        """Return the reward of ``step`` right after it was taken; None if it depends on other steps.

        Args:
            step: the step just taken.
            observation: the next observation.
            terminated: the step ended the task.
        """
        return None

    def from_extras(self, extras: Mapping[str, Any], terminated: bool) -> float | None:
        """Return the reward of the step just taken, from ``info["extras"]`` after that step; None if they do not
        suffice.

        Args:
            extras: the newest ``info["extras"]``.
            terminated: the step ended the task.
        """
        return None

    @property
    def known_per_step(self) -> bool:
        """True if the reward of a step is known once the step is taken, by `step_reward_now` or `from_extras`."""
        cls = type(self)
        return cls.step_reward_now is not StepReward.step_reward_now or cls.from_extras is not StepReward.from_extras

    def value(self, episode: Episode) -> float | None:
        values = self.values(episode)
        return None if values is None else math.fsum(values)

    def __call__(self, episode: Episode) -> Verdict:
        return self.verdict_of_steps(episode, self.values(episode) if episode.valid else None)

    def verdict_of_steps(self, episode: Episode, values: Sequence[float] | None) -> Verdict:
        """Build a verdict from the rewards of the steps. It is invalid if ``values`` is None or does not hold one
        finite number per step."""
        if values is None:
            return self.verdict(episode, None)
        found = read_list(values, len(episode.steps))
        numbers = found if isinstance(found, str) else [to_finite_number(value) for value in found]
        wrong = numbers if isinstance(numbers, str) else next((n for n in numbers if isinstance(n, str)), None)
        if wrong is not None:
            return self.verdict(episode, wrong)
        verdict = self.verdict(episode, math.fsum(numbers))  # type: ignore[arg-type]
        return replace(verdict, steps={self.name: tuple(numbers)}) if verdict.valid else verdict  # type: ignore[arg-type]


class PooledReward(Reward):
    """Reward that judges each episode alone but many in one call, such as one of a model or an endpoint."""

    def values(self, episodes: Sequence[Episode]) -> Sequence[float | str | None]:
        """Return one reward per episode, in order, for one or more valid episodes of any tasks; see `Reward.value`."""
        raise NotImplementedError(f"{type(self).__name__} must implement values(episodes) -> numbers, one each.")

    def value(self, episode: Episode) -> float | str | None:
        return self.values([episode])[0]

    def group(self, episodes: Sequence[Episode]) -> list[Verdict]:
        return self.batch([episodes])[0]

    def batch(self, groups: Sequence[Sequence[Episode]]) -> list[list[Verdict]]:
        valid = [episode for group in groups for episode in group if episode.valid]
        values = iter(self._values_of(valid) if valid else ())
        return [
            [self.verdict(episode, next(values) if episode.valid else None) for episode in group] for group in groups
        ]

    def _values_of(self, episodes: Sequence[Episode]) -> Sequence[Any]:
        """Return the rewards of the episodes. If the call fails, each episode is judged in a separate call, and an
        episode that fails again gets the description of the failure in place of a reward. If a connection failed, all
        episodes get that description, without further calls."""
        found = attempt(self.values, episodes)
        values = read_list(found, len(episodes))
        if not isinstance(values, str):
            return values
        if len(episodes) == 1 or getattr(found, "down", False):
            return [values] * len(episodes)
        return [value for episode in episodes for value in self._values_of([episode])]


class GroupReward(Reward):
    """Reward that compares siblings (episodes of one task). Invalid episodes are left out of the comparison."""

    def values(self, episodes: Sequence[Episode]) -> Sequence[float | str | None]:
        """Return one reward per episode, in order, for one or more valid episodes of one task; see `Reward.value`."""
        raise NotImplementedError(f"{type(self).__name__} must implement values(episodes) -> numbers, one each.")

    def value(self, episode: Episode) -> float | str | None:
        return self.values([episode])[0]

    def group(self, episodes: Sequence[Episode]) -> list[Verdict]:
        valid = [episode for episode in episodes if episode.valid]
        found = read_list(attempt(self.values, valid), len(valid)) if valid else ()
        values = iter([found] * len(valid) if isinstance(found, str) else found)
        return [self.verdict(episode, next(values) if episode.valid else None) for episode in episodes]


class BatchReward(GroupReward):
    """Reward that compares all groups of a training step. Groups without a valid episode are left out."""

    def values(self, groups: Sequence[Sequence[Episode]]) -> Sequence[Sequence[float | str | None]]:  # type: ignore[override]
        """Return the rewards of the valid episodes of each group, in order; each group has at least one episode."""
        raise NotImplementedError(f"{type(self).__name__} must implement values(groups) -> lists of numbers.")

    def value(self, episode: Episode) -> float | str | None:
        return self.values([[episode]])[0][0]

    def group(self, episodes: Sequence[Episode]) -> list[Verdict]:
        return self.batch([episodes])[0]

    def batch(self, groups: Sequence[Sequence[Episode]]) -> list[list[Verdict]]:
        valid = [[episode for episode in group if episode.valid] for group in groups]
        compared = [group for group in valid if group]
        found = read_list(attempt(self.values, compared), len(compared)) if compared else ()
        rows = iter([found] * len(compared) if isinstance(found, str) else found)
        verdicts = []
        for group, valid_episodes in zip(groups, valid, strict=True):
            row = read_list(next(rows), len(valid_episodes)) if valid_episodes else ()
            values = iter([row] * len(valid_episodes) if isinstance(row, str) else row)
            verdicts.append([self.verdict(episode, next(values) if episode.valid else None) for episode in group])
        return verdicts


# The modules whose classes register themselves; they are loaded when a reward is first looked up.
_HOMES = ("algebra", "design.program_reward", "judges", "models.model_rewards", "terms")


def _take_reward(value: Any) -> type[Reward]:
    """Return a reward class for an object found by ``module:name``.

    An unregistered `Reward` class is named after itself; a function of an episode becomes the ``value`` of a new class.

    Raises:
        InputError: the object is neither.
    """
    if isinstance(value, type) and issubclass(value, Reward):
        return _name_reward(value, value.__name__) if value.name == Reward.name else value
    if isinstance(value, type) or not callable(value):
        raise InputError("is no Reward, and no function of an episode")
    name = getattr(value, "__name__", type(value).__name__)
    call, needs = take_function(value)
    body = {"value": lambda _, episode: call(episode), "__doc__": value.__doc__, "__module__": value.__module__}
    return _name_reward(type(name, (Reward,), {**body, "needs": needs}), name)


def _name_reward(cls: R, name: str) -> R:
    """Generate the constructor from the declared options, set ``name``, and derive ``user_supplies`` from ``needs``."""
    cls = declared(cls)
    cls.name = name
    if not cls.user_supplies and isinstance(cls.needs, frozenset):
        cls.user_supplies = list_user_supplies(cls.needs)
    return cls


REWARDS: Registry[type[Reward]] = Registry(
    "reward",
    group="palaestra.rewards",
    modules=[f"{__package__}.{home}" for home in _HOMES],
    table="rewards",
    take=_take_reward,
)


@dataclass_transform(eq_default=False, field_specifiers=(option,))
def register(name: str) -> Callable[[R], R]:
    """Return a class decorator that registers a reward: ``@palaestra.rewards.register("my-reward")``. The decorator
    sets ``name``, derives ``user_supplies`` from ``needs``, and generates the constructor if the class declares options
    (see `checks.declared`)."""
    return lambda cls: REWARDS.register(name)(_name_reward(cls, name))


def make(name: str, /, **options: Any) -> Reward:
    """Build the reward registered under ``name``, or named as ``module:name``, with ``options``.

    An option that is itself a reward may be written as data, ``{"name": "overlong", "cache": 64}``, so that a whole
    tree fits into a configuration file.

    Raises:
        InputError: unknown name, or options that the constructor does not take.
    """
    return REWARDS.make(name, **{key: _build_rewards(value) for key, value in options.items()})


def build(data: Mapping[str, Any]) -> Reward:
    """Build a reward from data: ``{"name": "weighted", "child": {"name": "overlong"}, "weight": 0.5}``."""
    options = dict(data)
    return make(options.pop("name"), **options)


def _build_rewards(value: Any) -> Any:
    """Replace every mapping whose "name" is a registered reward by that reward, also inside other mappings.

    Names of judges and verifiers stay: the reward that uses their scores builds them (see `terms.scores.as_scorer`).
    """
    if isinstance(value, Mapping) and "name" in value:
        return build(value) if value["name"] in REWARDS else value
    if isinstance(value, Mapping):
        return {key: _build_rewards(inner) for key, inner in value.items()}
    return value
