"""Soft overlong punishment of DAPO (arXiv 2503.14476, eq. 13): no cliff at the length limit."""

from __future__ import annotations

from ...errors import InputError
from ..episode import Episode
from ..reward import Reward, register


@register("overlong")
class Overlong(Reward):
    """0 up to ``max_tokens - cache`` tokens, then linear down to -1 at ``max_tokens``, and -1 beyond.

    Args:
        cache: width in tokens of the interval in which the punishment grows. None takes a fifth of the limit, the
            paper's ratio (4,096 of 20,480), and at least one token.
        max_tokens: the limit; None takes each episode's own.

    Raises:
        InputError: at construction for a limit or cache below 1; when called on an episode without any limit, or whose
            limit is smaller than the cache.
    """

    paper = "DAPO, arXiv 2503.14476, eq. 13"

    def __init__(self, cache: int | None = None, max_tokens: int | None = None):
        for name, value in (("cache", cache), ("max_tokens", max_tokens)):
            if value is not None and (isinstance(value, bool) or not isinstance(value, int) or value < 1):
                raise InputError(f"{name} must be a number of tokens of at least 1, or None, not {value!r}.")
        self.cache = cache
        self.max_tokens = max_tokens

    @property
    def bounds(self) -> tuple[float, float]:
        return -1.0, 0.0

    def value(self, episode: Episode) -> float:
        limit = self.max_tokens if self.max_tokens is not None else episode.max_tokens
        if limit is None:
            raise InputError("the overlong reward needs a length limit: pass max_tokens, or give the episode one.")
        cache = self.cache if self.cache is not None else max(1, limit // 5)
        if cache > limit:
            raise InputError(f"cache={cache} tokens is more than the limit of {limit}; choose a smaller cache.")
        return -min(max((episode.tokens - (limit - cache)) / cache, 0.0), 1.0)
