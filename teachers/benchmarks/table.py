"""Definition of a benchmark's table, and teachers named by text: ``alp-gmm history=250``, ``module:Class``."""

from __future__ import annotations

import inspect
import json
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from typing import Any

from ...errors import InputError
from ..protocol import Teacher
from ..registration import TEACHERS

OURS = "palaestra"
UNIFORM = "random"
ORACLE = "oracle"
Own = Mapping[str, Callable[..., Teacher]]
"""Teachers of one table only, such as an oracle that reads the student: name -> callable (space, seed=...)."""
PEERS: dict[str, Any] = {}
"""Teachers of other projects, registered by a command while it runs: name -> callable (space, seed=...), whose
attribute ``tables`` holds the names of the tables in which it takes part."""


@dataclass(frozen=True)
class TableResult:
    """Result of one run.

    Attributes:
        score: the number that the table compares.
        curve: (x, y), the score during the run; empty for runs without a curve.
        measures: further numbers by name.
        heat: density of the sampled tasks: {"x": label, "y": label, "slices": [[[...] rows] per slice of time]} for
            maps, or a single slice for a map with a time axis.
        calls: {"propose": microseconds per proposal, "observe": per outcome}; empty if not measured.
        hyperparameters: hyperparameters of the teacher.
        also: name -> score of further contestants that the same run measures.
    """

    score: float
    curve: tuple[list[float], list[float]] = ((), ())  # type: ignore[assignment]
    measures: Mapping[str, float] = field(default_factory=dict)
    heat: Mapping[str, Any] | None = None
    calls: Mapping[str, float] = field(default_factory=dict)
    hyperparameters: Mapping[str, Any] = field(default_factory=dict)
    also: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True)
class Table:
    """One table of the benchmark.

    Attributes:
        name, title: "T1", "Toy student ..."
        about: two sentences for a newcomer: the quantity that is measured, and the meaning of a good number.
        settings: name -> JSON-able options of the run.
        notes: name of a setting -> its special feature, in a few words.
        run: (options of the setting, name of the teacher, seed, length) -> `TableResult`; with ``keeps`` there is a
            fifth argument, the folder for data that runs of one benchmark share.
        teachers: default teachers.
        kinds: kinds of teachers that fit the table; empty if it does not compare teachers.
        length: unit that ``--episodes`` counts in this table; a setting's default is "length" in its options.
        score: name of the score.
        percent, curve_percent: True if score or curve are shares, to be shown as percentages.
        lower: True if a lower score is better.
        logarithmic: True if both axes of the curve are drawn on a logarithmic scale.
        x, curve: labels of the curve's horizontal and vertical axis.
        seeds: default number of seeds.
        optional_teacher_seeds: setting -> default seeds of the teachers that run only if "all" are requested; these
            teachers skip settings that are not listed. With None they have the same seeds as other teachers.
        keeps: True if runs of one setting and seed share data in a folder; see ``run``.
        without: names of teachers that do not fit although their kind does.
        statistic: summary of the scores of several seeds; see `statistics.STATISTICS`.
        columns: further numbers of a run that are summarised in the same way and shown next to the score.
        joint: settings whose scores have the same unit and are summarised together.
        own: names of the teachers of this table only; see `Own`.
        rows: a sentence for each row that is not a registered teacher.
        row: heading of the column that names the rows.
        further: explanation of the further numbers of a run.
    """

    name: str
    title: str
    about: str
    settings: Mapping[str, Mapping[str, Any]]
    notes: Mapping[str, str]
    run: Callable[..., TableResult]
    teachers: Callable[[], list[str]]
    kinds: frozenset[str]
    length: str
    score: str
    x: str
    curve: str
    seeds: int
    percent: bool = True
    lower: bool = False
    curve_percent: bool = True
    logarithmic: bool = False
    own: frozenset[str] = frozenset()
    rows: Mapping[str, str] = field(default_factory=dict)
    row: str = "teacher"
    further: str = ""
    optional_teacher_seeds: Mapping[str, Collection[int]] | None = None
    keeps: bool = False
    without: frozenset[str] = frozenset()
    statistic: str = "mean"
    columns: tuple[str, ...] = ()
    joint: tuple[str, ...] = ()

    def fits(self, teacher: str) -> bool:
        """Return True if the table takes the teacher. Raises InputError for a name that is not registered anywhere."""
        name = parse_teacher(teacher)[0]
        if name in PEERS:
            return self.name in PEERS[name].tables
        if not self.kinds:
            return name == UNIFORM
        if name in self.own or ":" in name:
            return True
        return name not in self.without and TEACHERS[name].kind in (*self.kinds, "any")  # type: ignore[attr-defined]


def parse_teacher(teacher: str) -> tuple[str, dict[str, Any]]:
    """Split the text of a teacher, "alp-gmm history=250", see `parse_named`."""
    return parse_named("teacher", teacher)


def parse_named(kind: str, named: str) -> tuple[str, dict[str, Any]]:
    """Split "alp-gmm history=250" into ("alp-gmm", {"history": 250}); values are parsed as JSON, or else kept as text.

    Raises InputError, which calls the text a ``kind``, for a part that is not option=value.
    """
    name, *rest = named.split()
    options = {}
    for text in rest:
        key, equals, value = text.partition("=")
        if not equals or not key:
            raise InputError(f"{kind} {named!r} must be a name followed by option=value, not {text!r}.")
        try:
            options[key] = json.loads(value)
        except ValueError:
            options[key] = value
    return name, options


def find_factory(name: str, own: Own | None = None) -> Callable[..., Teacher]:
    """Return the callable that makes the teacher ``name``: from ``own``, a peer, ``module:attribute``, or a registered
    one, in this order.

    Raises:
        InputError: nothing has that name.
    """
    if own and name in own:
        return own[name]
    if name in PEERS:
        return PEERS[name]
    return TEACHERS[name]


def make_teacher(teacher: str, space: Any, seed: int, own: Own | None = None) -> Teacher:
    """Make the teacher that a text names, on a task space. Raises InputError for unknown names and options."""
    name, options = parse_teacher(teacher)
    if (own and name in own) or name in PEERS:
        return find_factory(name, own)(space, seed=seed, **options)
    return TEACHERS.make(name, space, seed=seed, **options)


def resolve_options(teacher: str, own: frozenset[str] = frozenset()) -> dict[str, Any]:
    """Return a teacher's JSON-able options: those in its text, and the defaults of its constructor for all others."""
    name, options = parse_teacher(teacher)
    if name in own:
        return options
    parameters = inspect.signature(find_factory(name)).parameters
    found = {p.name: p.default for p in parameters.values() if p.default is not p.empty and p.name != "seed"}
    return json.loads(json.dumps({**found, **options}, default=repr))


def choose_clock(teacher: Teacher, otherwise: Callable[[], float]) -> Callable[[], float]:
    """Return the teacher's own clock if its code runs in another process, or else ``otherwise``."""
    return getattr(teacher, "peer_clock", otherwise)


def keep_registered(*names: str) -> list[str]:
    """Return the registered names among ``names``."""
    return [name for name in names if name in TEACHERS]


def settings_of(teacher: Teacher) -> dict[str, Any]:
    """Return a teacher's hyperparameters, JSON-able."""
    return dict(getattr(teacher, "_settings", {}))
