"""Token budgets of a run, and the share of tasks whose first observation leaves too little context for an action."""

from __future__ import annotations

from ....errors import InputError
from ...language.decoder import context_limit
from ...language.model import LanguageModel
from ..config import TrainConfig
from .environments import Environments, begin
from .episode_starts import TokenLimits

_FEW, _EASIEST, _MANY = 16, 8, 64
"""Numbers of tasks that `check_context` measures: over all difficulties first, at difficulty 0, then over all again."""


def token_limits(config: TrainConfig) -> TokenLimits:
    """Return the token budgets of a run."""
    return TokenLimits(config.max_new_tokens, config.max_episode_tokens, config.context)


def check_context(
    environments: Environments, language: LanguageModel, limits: TokenLimits, most_overlong: float = 1.0
) -> float:
    """Return the estimated share of tasks whose first observation leaves no context for a full action.

    A few tasks, spread evenly over the difficulties, are measured, and more if one does not fit. Called before a
    warm-up, so that mistakes show early.

    Args:
        most_overlong: largest accepted share.

    Raises:
        InputError: the model has fewer positions than the context, no task of difficulty 0 fits, or the share exceeds
            ``most_overlong``.
    """
    if limits.context > (most := context_limit(language.model)):
        raise InputError(
            f"a context of {limits.context} tokens exceeds the {most} positions of the model; lower --context."
        )
    env = environments.take()

    def measure(seed: int, difficulty: float) -> int:
        # With several environments, the longest observation counts.
        observations = [begin(env, seed, space.at(difficulty))[0] for space in environments.spaces]
        return max(len(language.renderer.observation(observation, first=True)) for observation in observations)

    room = limits.context - limits.action
    share = 0.0
    if max(measure(i, i / (_FEW - 1)) for i in range(_FEW)) > room:
        if (shortest := min(measure(seed, 0.0) for seed in range(_EASIEST))) > room:
            raise InputError(
                f"a first observation of {shortest} tokens and {limits.action} to answer exceed the context of "
                f"{limits.context}, on the easiest tasks already; raise --context or lower --max-new-tokens."
            )
        counts = [measure(i, i / (_MANY - 1)) for i in range(_MANY)]
        share = sum(count > room for count in counts) / _MANY
        if share > most_overlong:
            raise InputError(
                f"{share:.0%} of the first observations (the longest has {max(counts)} tokens) and {limits.action} "
                f"tokens to answer exceed the context of {limits.context}, more than the {most_overlong:.0%} that "
                "--max-overlong allows; raise --context or --max-overlong, or take easier tasks with --axis."
            )
    environments.give_back(env)
    return share
