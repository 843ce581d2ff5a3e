"""The settings of novelty search. Imports nothing heavy."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

from ...checks import check_count, check_number
from ...errors import InputError
from .student_config import StudentConfig


@dataclass(frozen=True)
class NoveltyConfig(StudentConfig):
    """Novelty search over policies, with emitters where a reward was found (SERENE, arXiv 2102.03140). With
    ``behaviour=learned`` it is STAX (arXiv 2111.01919), and TAXONS (arXiv 1909.05508) with ``surprise=alternate`` and
    without emitters. For levels whose reward is rare or misleading.

    Attributes:
        levels: levels of the training split that every policy plays once; its reward is their mean.
        behaviour: description of a policy's behaviour: "place", the agent's last position in a gridworld and the last
            observation elsewhere, or "learned", a code of the whole last state by an auto-encoder.
        surprise: use of the auto-encoder's error when policies are selected: none ("off"), instead of novelty in a
            random half of the generations ("alternate"), or equal to novelty ("front": by Pareto fronts of both).
        code_size: width of a learned code.
        relearn: generations of exploration between trainings of the auto-encoder.
        population: policies that a generation keeps.
        offspring: mutants of each kept policy in a generation.
        neighbours: k, the nearest behaviours whose mean distance is the novelty.
        added: policies of a generation that enter the archive, drawn at random.
        mutation: standard deviation of the change of a weight; new weights have 1.
        emitters: search near policies that were rewarded, in turns with exploration.
        chunk: evaluations in a turn of exploration or of emitters.
        emitter_population: mutants in a generation of an emitter.
        emitter_mutation: standard deviation of an emitter's mutants; with ``es`` the initial one.
        es: the evolution strategy of an emitter: "cma_es" adapts the full covariance of its mutants, for policies of up
            to 1,500 weights (``hidden`` 4 on a gridworld); "sep_cma_es" adapts the diagonal, for any size; "best"
            adapts none: the next mutants are made from the best one.
        patience: generations without an improvement after which an emitter ends.
        rewarded_above: mean reward above which a policy counts as rewarded.
        hidden: units of the recurrent layer of a policy.
        log_every: environment steps between rows of the metrics.
    """

    learner: ClassVar[str] = "novelty-search"
    student: ClassVar[str] = "novelty_search:NoveltySearch"
    environments: int = 1
    levels: int = 1
    behaviour: Literal["place", "learned"] = "place"
    surprise: Literal["off", "alternate", "front"] = "front"
    code_size: int = 5
    relearn: int = 10
    population: int = 20
    offspring: int = 2
    neighbours: int = 15
    added: int = 5
    mutation: float = 0.5
    emitters: bool = True
    chunk: int = 200
    emitter_population: int = 6
    emitter_mutation: float = 0.2
    es: Literal["best", "cma_es", "sep_cma_es"] = "best"
    patience: int = 8
    rewarded_above: float = 0.0
    hidden: int = 16
    log_every: int = 10_000

    def __post_init__(self) -> None:
        super().__post_init__()
        for name in (
            *("levels", "code_size", "relearn", "population", "offspring", "neighbours", "chunk"),
            *("emitter_population", "patience", "hidden", "log_every"),
        ):
            check_count(name, getattr(self, name), 1)
        check_count("added", self.added, 0)
        for name in ("mutation", "emitter_mutation"):
            check_number(name, getattr(self, name), above=0.0)
        check_number("rewarded_above", self.rewarded_above)
        for name, choices in (
            ("behaviour", ("place", "learned")),
            ("surprise", ("off", "alternate", "front")),
            ("es", ("best", "cma_es", "sep_cma_es")),
        ):
            if getattr(self, name) not in choices:
                raise InputError(f"{name} must be one of {', '.join(choices)}, not {getattr(self, name)!r}.")
        if self.es != "best" and self.emitter_population < 2:
            raise InputError(f"es {self.es} needs an emitter_population of at least 2, not {self.emitter_population}.")
        if self.added > self.population * self.offspring:
            most = self.population * self.offspring
            raise InputError(f"added must be at most the {most} mutants of a generation, not {self.added}.")
        if self.teacher is not None:
            raise InputError(f"novelty-search plays levels of its own; leave --teacher {self.teacher} out.")
        if self.bonus:
            raise InputError(f"novelty-search has no use for a bonus; leave --bonus {' '.join(self.bonus)} out.")

    @property
    def iteration(self) -> int:
        return self.log_every
