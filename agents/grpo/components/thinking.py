"""Ways of thinking: rows of the stage "thinking", which decide how the policy samples the beginning of an answer.

The engine samples thoughts, turns record them, and every pass of the learner reads and scores what was recorded, so
that ratios are 1 before the first update.
"""

from __future__ import annotations

from typing import Any

from ....checks import check_count, check_number, check_share
from ....errors import InputError
from ...engines.soft_thinking import SoftThinking
from ..recipes.stages import THINKING


@THINKING.register("none")
class PlainThinking:
    """Sample the tokens of a thought like all others."""

    abilities = frozenset()

    def open(self, tokenizer: Any) -> SoftThinking | None:
        """Return the settings of soft tokens for a tokenizer; None without any."""
        return None


@THINKING.register("soft")
class SoftThoughts(PlainThinking):
    """Begin answers with soft tokens: mixtures of the likeliest tokens by weights softmax((log p + Gumbel noise) /
    temperature), of which the policy is trained on the density of the perturbed log p (SofT-GRPO, arXiv 2511.06411).

    The thought ends when the likeliest tokens of the mixtures spell ``end``; the rest of the answer is drawn token by
    token. Log p is that among the candidates, and the density is the mean over the candidates above ``least``, or over
    the likeliest. Unlike in the released code, the candidates that count are decided when they are sampled, the
    difference of perturbed value and log p is not clamped again in training, the gradient reaches the embeddings that
    are mixed, and the rest of the answer is drawn from the whole distribution.

    Args:
        top_k, top_p: candidates of a token: of the ``top_k`` likeliest, the fewest with the share ``top_p``.
        temperature: towards 0 a mixture is one token.
        noise_low, noise_high: bounds that the noise is clamped to.
        least: log p in nats above which a candidate counts in the density.
        end: text that ends a thought; None: a thought has exactly ``tokens`` tokens, or is the whole answer.
        tokens: most soft tokens of a thought; None: no limit besides that of the answer.
    """

    abilities = frozenset({"soft"})

    def __init__(
        self,
        top_k: int = 5,
        top_p: float = 0.95,
        temperature: float = 0.1,
        noise_low: float = -1.5,
        noise_high: float = 3.0,
        least: float = -3.0,
        end: str | None = "</think>",
        tokens: int | None = None,
    ):
        self.top_k = check_count("top_k", top_k, 1, "ids")
        self.top_p = check_share("top_p", top_p, positive=True)
        self.temperature = check_number("temperature", temperature, above=0)
        self.noise_low = check_number("noise_low", noise_low)
        self.noise_high = check_number("noise_high", noise_high)
        self.least = check_number("least", least)
        self.end = end
        self.tokens = None if tokens is None else check_count("tokens", tokens, 1, "tokens")
        if noise_low > noise_high:
            raise InputError(f"noise_low must be at most noise_high, got {noise_low} and {noise_high}.")

    def open(self, tokenizer: Any) -> SoftThinking:
        end = () if not self.end else tuple(tokenizer(self.end, add_special_tokens=False).input_ids)
        noise = self.noise_low, self.noise_high
        return SoftThinking(self.top_k, self.top_p, self.temperature, *noise, self.least, self.tokens, end)
