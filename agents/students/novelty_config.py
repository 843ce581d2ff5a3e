"""Settings of novelty search. Importing this module imports nothing heavy."""

from __future__ import annotations

from typing import ClassVar, Literal

from ...checks import option, record
from ...errors import InputError
from .student_config import StudentConfig


@record
class NoveltyConfig(StudentConfig):
    """Settings of novelty search over policies, with emitters, local searches near rewarded policies (SERENE, arXiv
    2102.03140).

    ``behaviour=learned`` gives STAX (arXiv 2111.01919); additionally ``surprise=alternate`` without emitters gives
    TAXONS (arXiv 1909.05508). For levels whose reward is rare or misleading.
    """

    learner: ClassVar[str] = "novelty-search"
    student: ClassVar[str] = "novelty_search:NoveltySearch"
    environments: int = 1
    levels: int = option(
        default=1,
        low=1,
        group="behaviours",
        says="levels of the training split that every policy plays once; a policy's reward is the mean over them.",
    )
    behaviour: Literal["place", "learned"] = option(
        default="place",
        group="behaviours",
        says="description of a policy's behaviour: \"place\", the agent's last position in a gridworld (in other "
        'environments the last observation), or "learned", a code of the whole last state by an auto-encoder.',
    )
    surprise: Literal["off", "alternate", "front"] = option(
        default="front",
        group="behaviours",
        says='use of the auto-encoder\'s error when policies are selected: none ("off"), instead of novelty in a '
        'random half of the generations ("alternate"), or equal to novelty ("front": by Pareto fronts of both).',
    )
    code_size: int = option(default=5, low=1, group="behaviours", says="length of a learned code.")
    relearn: int = option(
        default=10, low=1, group="behaviours", says="generations of exploration between trainings of the auto-encoder."
    )
    population: int = option(default=20, low=1, group="search", says="number of policies that a generation keeps.")
    offspring: int = option(
        default=2, low=1, group="search", says="number of mutants of each kept policy in a generation."
    )
    neighbours: int = option(
        default=15, low=1, group="behaviours", says="number of nearest behaviours, whose mean distance is the novelty."
    )
    added: int = option(
        default=5, group="search", says="number of random policies of a generation that enter the archive."
    )
    mutation: float = option(
        default=0.5, above=0, group="search", says="standard deviation of a weight's change; that of new weights is 1."
    )
    emitters: bool = option(
        default=True, group="search", says="search near rewarded policies, in turns with exploration."
    )
    chunk: int = option(default=200, low=1, group="search", says="evaluations in a turn of exploration or of emitters.")
    emitter_population: int = option(
        default=6, low=1, group="search", says="number of an emitter's mutants per generation."
    )
    emitter_mutation: float = option(
        default=0.2,
        above=0,
        group="search",
        says="standard deviation of an emitter's mutants; with ``es`` the initial one.",
    )
    es: Literal["best", "cma_es", "sep_cma_es"] = option(
        default="best",
        says='evolution strategy of an emitter: "cma_es" adapts the full covariance of the mutants, for policies of up '
        'to 1,500 weights (``hidden`` 4 on a gridworld); "sep_cma_es" adapts the diagonal, for any size; "best" '
        "mutates the best mutant so far, with a fixed covariance.",
    )
    patience: int = option(
        default=8, low=1, group="search", says="generations without an improvement after which an emitter ends."
    )
    rewarded_above: float = option(
        default=0.0, group="behaviours", says="mean reward above which a policy counts as rewarded."
    )
    hidden: int = option(default=16, low=1, group="search", says="units of the recurrent layer of a policy.")
    log_every: int = option(default=10_000, low=1, group="run", says="environment steps between rows of the metrics.")

    def __post_init__(self) -> None:
        super().__post_init__()
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
