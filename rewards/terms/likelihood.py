"""Rewards from log-probabilities (nats): of follow-ups, of the prompt, of a continuation, of the answer itself.

The language model is a callable; without one the rewards read log-probabilities that the caller computed.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence
from statistics import fmean

from ...checks import option
from ...errors import InputError
from ..episode import Episode
from ..reward import GroupReward, Reward, register
from .scores import read_scores, read_vector

LogLikelihood = Callable[[str, str], "float | None"]
"""Callable from (text, context) to the mean log-probability of the text's tokens after the context, nats; None if it
failed. A token's log-probability is the log-softmax of the logits at the position before the token."""

POSITIVE = (
    "Thanks, that answers my question.",
    "Great, that is exactly what I was looking for.",
    "That makes sense, well explained.",
)
NEGATIVE = (
    "That does not answer my question.",
    "You did not understand what I asked for.",
    "That makes no sense at all.",
)

QUERY = "Which instruction was this written for?"

_WORD = re.compile(r"\w+")


def _check_followups(name: str, texts: Sequence[str]) -> tuple[str, ...]:
    if isinstance(texts, str) or not texts:
        raise InputError(f"{name} must be one or more follow-ups, not {texts!r}.")
    return tuple(texts)


@register("flr")
class FollowupLikelihood(Reward):
    """Log-likelihood of satisfied follow-ups of a user after the response, minus that of dissatisfied ones.

    The value is the mean over the positive follow-ups of their mean token log-probability, minus the same for the
    negative ones. ``episode.extra("positive_logps")`` and ``episode.extra("negative_logps")`` hold one mean
    log-probability per follow-up. The paper has about ten follow-ups of each sign for each of six dimensions.
    """

    paper = "FLR, arXiv 2409.13948"
    needs = frozenset({"positive_logps", "negative_logps"})
    log_likelihood: LogLikelihood | None = option(default=None, says="function of texts; None: read `episode.extra`.")
    positive: Sequence[str] = option(default=POSITIVE, check=_check_followups, says="follow-ups of a satisfied user.")
    negative: Sequence[str] = option(default=NEGATIVE, check=_check_followups, says="follow-ups of a displeased user.")
    separator: str = option(default="\n\n", says="text between prompt, response and follow-up.")

    def setup(self) -> None:
        self.needs = frozenset() if self.log_likelihood else type(self).needs
        self.measure_options = {
            "positive_logps": {"positive": self.positive, "negative": self.negative, "separator": self.separator}
        }

    def value(self, episode: Episode) -> float | None:
        positive, negative = self._mean_logp(episode, "positive"), self._mean_logp(episode, "negative")
        return None if positive is None or negative is None else positive - negative

    def _mean_logp(self, episode: Episode, sign: str) -> float | None:
        if self.log_likelihood is None:
            logps = read_vector(episode.extra(f"{sign}_logps"), f"{sign}_logps")
            return None if logps is None or not len(logps) else float(logps.mean())
        context = self.separator.join((episode.prompt, episode.response, ""))
        logps = [self.log_likelihood(text, context) for text in getattr(self, sign)]
        known = [logp for logp in logps if logp is not None and math.isfinite(logp)]
        return fmean(known) if len(known) == len(logps) else None


def mask_copies(text: str, source: str, run: int = 4, mask: str = "…") -> str:
    """Replace every run of ``run`` or more words of ``text`` that also occurs in ``source`` by ``mask``. Case and the
    characters between words are ignored. If the source has fewer than ``run`` words, only copies of the whole source
    are replaced."""
    source_words = [word.casefold() for word in _WORD.findall(source)]
    run = min(run, len(source_words))
    if run == 0:
        return text
    known = {tuple(source_words[i : i + run]) for i in range(len(source_words) - run + 1)}
    places = [(match.start(), match.end(), match.group().casefold()) for match in _WORD.finditer(text)]
    copied = [False] * len(places)
    for i in range(len(places) - run + 1):
        if tuple(place[2] for place in places[i : i + run]) in known:
            copied[i : i + run] = [True] * run
    kept, position = [], 0
    for i, (start, stop, _) in enumerate(places):
        if copied[i]:
            if not i or not copied[i - 1]:
                kept += [text[position:start], mask]
            position = stop
    return "".join([*kept, text[position:]])


@register("prompt-echo")
class PromptEcho(Reward):
    """Mean log-probability of the instruction's tokens, given the response and a question about it.

    Copying the instruction into the response would make it certain. Runs of words copied from the instruction are
    therefore masked before the model reads the response. If the log-probabilities come from
    ``episode.extra("echo_logps")``, a response with such a run is invalid unless it was masked with `mask_copies`; the
    masking is confirmed by an extra "echo_run" equal to ``run`` (which the learner sets) or by the option ``masked``.
    """

    paper = "PromptEcho"
    needs = frozenset({"echo_logps"})
    log_likelihood: LogLikelihood | None = option(default=None, says="function of texts; None: read `episode.extra`.")
    query: str = option(default=QUERY, says="question to the model, after the response.")
    run: int = option(default=4, low=1, unit="words", says="number of consecutive words that make a copy.")
    masked: bool = option(default=False, says='``episode.extra("echo_logps")`` was computed on masked responses.')

    def setup(self) -> None:
        self.needs = frozenset() if self.log_likelihood else type(self).needs
        self.measure_options = {"echo_logps": {"query": self.query, "run": self.run}}

    def value(self, episode: Episode) -> float | None:
        if not episode.prompt.strip():
            return None
        visible = mask_copies(episode.response, episode.prompt, self.run)
        if self.log_likelihood is not None:
            logp = self.log_likelihood(episode.prompt, f"{visible}\n\n{self.query}\n\n")
            return logp if logp is not None and math.isfinite(logp) else None
        if visible != episode.response and not (self.masked or episode.extras.get("echo_run") == self.run):
            return None
        logps = read_vector(episode.extra("echo_logps"), "echo_logps")
        return None if logps is None or not len(logps) else float(logps.mean())


def information_gain(with_thought: Sequence[float], without: Sequence[float]) -> float:
    """Return the sum over a continuation's tokens of log-probability with a thought minus without, nats (RLP,
    2510.01265).

    Args:
        with_thought: log-probabilities under the policy, after context and thought.
        without: log-probabilities of the same tokens under a slow copy of the policy, after the context alone.

    Raises:
        InputError: the lengths differ.
    """
    if len(with_thought) != len(without):
        raise InputError(f"the same tokens are scored twice, not {len(with_thought)} and {len(without)} of them.")
    return math.fsum(a - b for a, b in zip(with_thought, without, strict=True))


@register("rlp")
class InformationGain(Reward):
    """Rise of the log-likelihood of the true continuation by a thought, in nats, over a copy that does not think.

    ``episode.extra("thought_logps")`` (policy, after the thought) and ``episode.extra("base_logps")`` (an average of
    past policies, without the thought) must have one number for each token of the continuation. No gradient flows
    through the reward.
    """

    paper = "RLP, arXiv 2510.01265"
    needs = frozenset({"thought_logps", "base_logps"})
    weight: float = option(default=1.0, says="weight of the term.")

    def value(self, episode: Episode) -> float | None:
        logps = [read_vector(episode.extra(name), name) for name in ("thought_logps", "base_logps")]
        if any(part is None for part in logps):
            return None
        return self.weight * information_gain(*(part.tolist() for part in logps if part is not None))


VARIANTS = ("ratio", "log", "difference")


def self_aligned(with_question: Sequence[float], without_question: Sequence[float], variant: str = "ratio") -> float:
    """Return the relative fall of an answer's perplexity when the question is given, in [-1, 1] (arXiv 2509.05489).

    Args:
        with_question: log-probabilities of the answer's tokens given the question, nats.
        without_question: the same without the question.
        variant: "ratio": (ppl(a) - ppl(a|q)) / ppl(a), where ppl = exp(mean -log p). "log": the same with log ppl.
            "difference": without the denominator. All clipped to [-1, 1]. The released code's fourth variant,
            -ppl(a|q), is always at most -1 and is left out.
    """
    if not with_question or not without_question:
        return 0.0
    known = -math.fsum(with_question) / len(with_question)
    blind = -math.fsum(without_question) / len(without_question)
    if variant == "log":
        value = (blind - known) / blind if blind else 0.0
    elif variant == "ratio":
        # Equals exp(known) / exp(blind) without overflow; ratios beyond e are clipped anyway.
        value = 1.0 - math.exp(min(known - blind, 1.0))
    else:
        value = math.exp(min(blind, 700.0)) - math.exp(min(known, 700.0))
    return min(max(value, -1.0), 1.0)


@register("self-aligned")
class SelfAligned(Reward):
    """Reward of a whole episode: success, plus ``weight`` times the self-aligned reward of its answer.

    Generic and padded answers, which fit any question, get less. ``episode.extra("logps_without_prompt")`` holds the
    log-probabilities of the action tokens without the prompt. With a weight above 0.5 a failure could outrank a
    success.
    """

    paper = "Self-Aligned Reward, arXiv 2509.05489"
    needs = frozenset({"logps", "logps_without_prompt"})
    complete = True
    ranks_success = True
    weight: float = option(default=0.2, low=0, high=0.5, says="weight of the self-aligned reward.")
    variant: str = option(default="ratio", choices=VARIANTS, says="see `self_aligned`.")

    @property
    def bounds(self) -> tuple[float, float]:
        return -self.weight, 1.0 + self.weight

    def value(self, episode: Episode) -> float | None:
        blind = read_scores(episode.extra("logps_without_prompt"), "logps_without_prompt")
        if blind is None:
            return None
        known = read_scores(episode.logps, "logps")
        if known is None:
            return None
        if len(known) != len(blind):
            raise InputError(
                f"logps_without_prompt has {len(blind)} entries for {len(known)} action tokens; it needs one for each."
            )
        return float(episode.success) + self.weight * self_aligned(known, blind, self.variant)


def likelihood_ranks(mean_logps: Sequence[float]) -> list[int]:
    """Return for each response the number of less likely ones in the group, 0 to G - 1; ties share a rank."""
    ordered = sorted(mean_logps)
    first: dict[float, int] = {}
    for rank, logp in enumerate(ordered):
        first.setdefault(logp, rank)
    return [first[logp] for logp in mean_logps]


def unlikeliness(successes: Sequence[bool], mean_logps: Sequence[float], beta: float = 0.25) -> list[float]:
    """Return success * (1 - beta * rank / G), rank 0 for the least likely of G responses (arXiv 2506.02355)."""
    size = len(mean_logps)
    ranks = likelihood_ranks(mean_logps)
    return [float(success) * (1.0 - beta * rank / size) for success, rank in zip(successes, ranks, strict=True)]


@register("unlikeliness")
class Unlikeliness(GroupReward):
    """Reward of a whole episode: 1 for a success, minus up to ``beta`` for one that was likely among its siblings.

    A group of successes then still has differences to learn from. An episode without tokens counts as certain; one
    whose log-probabilities are not finite is invalid and not ranked.
    """

    paper = "Rewarding the Unlikely, arXiv 2506.02355"
    needs = frozenset({"logps"})
    complete = True
    ranks_success = True
    bounds = (0.0, 1.0)
    beta: float = option(default=0.25, low=0, high=1, says="the most that a likely success can lose.")

    def values(self, episodes: Sequence[Episode]) -> list[float | None]:
        means = [sum(episode.logps) / len(episode.logps) if episode.logps else 0.0 for episode in episodes]
        pairs = zip(episodes, means, strict=True)
        known = [(episode.success, mean) for episode, mean in pairs if math.isfinite(mean)]
        values = iter(unlikeliness([success for success, _ in known], [mean for _, mean in known], self.beta))
        return [next(values) if math.isfinite(mean) else None for mean in means]
