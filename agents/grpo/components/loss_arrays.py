"""Adapter between `Scored` tokens and the formulas of surrogates, regularisers and correctors.

A formula is a pure function of arrays. Its leading parameters name content and axis of the arrays (``_t`` tokens,
``_e`` episodes): ``clipped_surrogate(logp_t, logp_old_t, adv_t, low, high)``. The loss calls every component with one
object, ``component(scored, **parameters)``. The decorators below register such a component: it reads each named array
from ``scored`` and passes the recipe's parameters on. So the signature of a formula declares all its inputs. A
decorator returns the formula unchanged, so its name still refers to the plain function. `credit.credit_arrays` does the
same for credit.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Mapping, Sequence
from operator import attrgetter
from typing import Any, TypeVar

import torch
from torch import Tensor

from ....checks import check_number
from ....registry import Registry
from ..batch.scored import LossTerm, Scored, needs_of
from ..batch.segments import Segments
from ..batch.trajectory import Origin
from ..recipes.stages import CORRECTORS, REGULARISERS, SURROGATES

F = TypeVar("F", bound=Callable[..., Any])
Statistics = Mapping[str, Tensor | tuple[float | Tensor, float | Tensor]]
"""Statistics that a formula returns: name -> a token value [A], of which the mean over trained tokens is reported, or
(sum, count) as numbers or one-element tensors."""


def _measurement(name: str) -> Callable[[Scored], Tensor]:
    def read(scored: Scored) -> Tensor:
        value = getattr(scored, name)
        if value is None:
            raise RuntimeError(f"{name!r} was not measured; no component that reads it is among the recipe's needs.")
        return value

    return read


def _present(scored: Scored) -> Tensor:
    return scored.sum_by_episode(scored.trained.to(scored.logp_old.dtype)) > 0


def _group(scored: Scored) -> Segments:
    count = int(scored.group.max()) + 1 if len(scored.group) else 0
    return Segments(scored.group, count, _present(scored))


MEASURED = {
    "logp_ref_t": "logp_ref",
    "logp_teacher_t": "logp_teacher",
    "kl_ref_t": "kl_ref",
    "logp_top_tk": "top_tokens",
    "logp_top_old_tk": "top_tokens",
}
"""Arrays that are computed only on demand: parameter of the formula -> name that the component declares in `needs`."""

LOSS_ARRAYS: dict[str, Callable[[Scored], Any]] = {
    "logp_t": attrgetter("logp"),
    "logp_old_t": attrgetter("logp_old"),
    "logp_mu_t": attrgetter("logp_mu"),
    "adv_t": attrgetter("advantage"),
    "entropy_t": attrgetter("entropy"),
    "trained_t": attrgetter("trained"),
    "sampled_t": lambda s: (s.origin == Origin.POLICY) | (s.origin == Origin.COPY),
    "turn_t": attrgetter("turn"),
    "outcome_e": attrgetter("outcome"),
    "kl_scale_e": lambda s: s.logp.new_full((s.episodes,), torch.nan) if s.kl_scale is None else s.kl_scale,
    "taught_e": lambda s: s.sum_by_episode((s.origin == Origin.TEACHER).to(s.logp_old.dtype)) > 0,
    "episode": lambda s: Segments(s.episode, s.episodes, s.trained),
    "present_e": _present,
    "group": _group,
    **{name: _measurement(name.removesuffix("_tk").removesuffix("_t")) for name in MEASURED},
}
"""Leading parameter of a loss formula -> what it holds, over A tokens and R episodes.

logp_t, logp_old_t, logp_mu_t, logp_ref_t, logp_teacher_t: log-probability of each token under the policy (with
gradient), the anchor of ratios, the sampler, the reference and the model to distil from, [A].
kl_ref_t: KL(policy || reference) over the whole vocabulary, with gradient, [A].
logp_top_tk, logp_top_old_tk: log-probabilities of the k tokens that were likeliest at the beginning of the update:
under the policy being trained (with gradient), and under the policy at that time, [A, k].
adv_t, entropy_t: advantage and entropy, [A].
trained_t, sampled_t: masks of the trained tokens and of the tokens that the policy sampled, bool [A].
turn_t: turn of each token, int64 [A].
outcome_e: return of each episode, float64 [R]; returns of a group that differ only by rounding are made equal.
kl_scale_e: teacher's factor on the KL penalties of each episode, NaN if the teacher set none, [R].
taught_e, present_e: masks of the episodes with tokens of a teacher, and with trained tokens, bool [R].
episode: `Segments` of tokens by episode; only trained tokens count.
group: `Segments` of episodes by group; only episodes with trained tokens count.
"""


def surrogate(name: str) -> Callable[[F], F]:
    """Register a formula as a surrogate: arrays -> value [A], or (value [A], `Statistics`)."""
    return _register(SURROGATES, name, loss_term)


def regulariser(name: str) -> Callable[[F], F]:
    """Register a formula as a regulariser: arrays -> value [A], or (value [A], `Statistics`).

    Its ``coefficient`` must be at least 0: a negative one would turn the penalty into a reward.
    """

    def add(formula: F) -> F:
        component = from_scored(formula, name)

        @functools.wraps(component)
        def wrapper(scored: Scored, *options: Any, **named: Any) -> Any:
            check_number(f"coefficient of {name}", named.get("coefficient", 0.0), 0)
            return component(scored, *options, **named)

        REGULARISERS.add(name, wrapper)
        return formula

    return add


def corrector(name: str) -> Callable[[F], F]:
    """Register a formula as a corrector: arrays -> factor [A]."""
    return _register(CORRECTORS, name, lambda factor, scored: factor)


def loss_term(result: Tensor | tuple[Tensor, Statistics], scored: Scored) -> LossTerm:
    """Convert a formula's result to a `LossTerm`; statistics per token become (sum, count) over the trained tokens."""
    if isinstance(result, Tensor):
        return LossTerm(result)
    value, statistics = result
    trained, stats = scored.trained, {}
    for name, statistic in statistics.items():
        if isinstance(statistic, Tensor):
            statistic = ((statistic * trained).sum().detach(), trained.sum())
        stats[name] = statistic
    return LossTerm(value, stats)


def _register(registry: Registry[Any], name: str, finish: Callable[[Any, Scored], Any]) -> Callable[[F], F]:
    def add(formula: F) -> F:
        registry.add(name, from_scored(formula, name, finish))
        return formula

    return add


def from_scored(
    formula: Callable[..., Any], name: str, finish: Callable[[Any, Scored], Any] = loss_term
) -> Callable[..., Any]:
    """Make the component ``(scored, **parameters)`` of a formula, under the name by which it is registered.

    ``finish`` converts the formula's result; see `loss_term`.
    """
    readers, parameters = split_arguments(formula, LOSS_ARRAYS)

    def component(scored: Scored, *options: Any, **named: Any) -> Any:
        return finish(formula(*[read(scored) for read in readers], *options, **named), scored)

    return describe_component(component, formula, name, ("scored",), parameters, MEASURED)


def arrays_of(component: Callable[..., Any]) -> frozenset[str]:
    """Return the names in `LOSS_ARRAYS` that a registered formula reads; empty for components that are not formulas."""
    return frozenset(inspect.signature(inspect.unwrap(component)).parameters) & LOSS_ARRAYS.keys()


def split_arguments(
    formula: Callable[..., Any], arrays: Mapping[str, Callable[..., Any]]
) -> tuple[list[Callable[..., Any]], list[inspect.Parameter]]:
    """Return the readers of the arrays that a formula takes, and the formula's remaining parameters.

    Raises:
        TypeError: an array of the formula comes after one of its parameters.
    """
    parameters = list(inspect.signature(formula).parameters.values())
    taken = [parameter.name for parameter in parameters if parameter.name in arrays]
    if taken != [parameter.name for parameter in parameters[: len(taken)]]:
        raise TypeError(f"the arrays {taken} of {formula.__name__} must come before its parameters.")
    return [arrays[name] for name in taken], parameters[len(taken) :]


def describe_component(
    component: Callable[..., Any],
    formula: Callable[..., Any],
    name: str,
    stage_arguments: Sequence[str],
    parameters: Sequence[inspect.Parameter],
    measured: Mapping[str, str],
) -> Callable[..., Any]:
    """Give a component its formula's docstring and module, its registered name, a signature and its needs.

    The needs are those that the formula declares, and one for each array of ``measured`` among its parameters.
    """
    functools.update_wrapper(component, formula)
    leading = [inspect.Parameter(a, inspect.Parameter.POSITIONAL_OR_KEYWORD) for a in stage_arguments]
    component.__name__ = name
    component.__signature__ = inspect.Signature([*leading, *parameters])  # type: ignore[attr-defined]
    needed = {measured[array] for array in inspect.signature(formula).parameters if array in measured}
    component.needs = needs_of(formula) | needed  # type: ignore[attr-defined]
    return component
