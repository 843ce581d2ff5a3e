"""Log-probabilities of an answer in another context, and of other texts after the answer."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

import torch

from ....checks import check_count
from ....rewards.terms.likelihood import NEGATIVE, POSITIVE, QUERY, mask_copies
from ...language.decoder import context_limit
from ..batch.batch import collate
from ..batch.trajectory import Group, Origin, Trajectory
from .producer import Found, ProducerTools, ScoredText, conversation, place_rows, produces, split_actions

BETTER = "Give the best reply that you can: right, complete and to the point."
WORSE = "Give the worst reply that you can: wrong, incomplete and beside the point."
END_OF_THOUGHT = "</think>"


@produces("logps_without_prompt")
def logps_without_prompt(groups: Sequence[Group], tools: ProducerTools) -> Found:
    """Log-probabilities of the action tokens with an empty prompt, at the sampling temperature, as ``Turn.logps`` are;
    0 at tokens that the policy did not sample."""
    blank = tools.encode_blank()
    blind = [replace(g, trajectories=tuple(_replace_prompt(t, blank) for t in g.trajectories)) for g in groups]
    batch, outputs = tools.score(blind)
    logp = torch.where(batch.written_by(Origin.POLICY, Origin.COPY), outputs.logp, 0.0)
    return place_rows(groups, ({"logps_without_prompt": row.tolist()} for row in split_actions(batch, logp)))


def _replace_prompt(trajectory: Trajectory, ids: tuple[int, ...]) -> Trajectory:
    turns = tuple(
        replace(turn, obs_ids=ids) if number == 0 or turn.fresh else turn
        for number, turn in enumerate(trajectory.turns)
    )
    return replace(trajectory, turns=turns)


@produces("token_contrast", needs=("logp_ref",))
def token_contrast(groups: Sequence[Group], tools: ProducerTools, better: str = BETTER, worse: str = WORSE) -> Found:
    """sigmoid(log p(token | prompt for a good reply) - log p(token | prompt for a bad one)) - 1/2 of each action token,
    by the reference (T-REG, arXiv 2412.02685); None for an episode that does not fit into the context with them.

    Args:
        better, worse: texts put above the prompt.
    """
    sides: list[list[list[float] | None]] = []
    for text in (better, worse):
        asked = [replace(g, trajectories=tuple(_add_request(t, text, tools) for t in g.trajectories)) for g in groups]
        most = context_limit(tools.language.model)
        fits = [sum(len(u.obs_ids) + len(u.act_ids) for u in t.turns) <= most for t in valid_of(asked)]
        kept = iter(fits)
        asked = [replace(g, trajectories=tuple(t for t in g.valid if next(kept))) for g in asked]
        batch = collate(asked)
        logps = iter(split_actions(batch, tools.passes.measure(tools.reference, batch).logp))
        sides.append([next(logps).tolist() if fit else None for fit in fits])
    rows = (
        None if one is None or two is None else (torch.tensor(one).sub(torch.tensor(two)).sigmoid() - 0.5).tolist()
        for one, two in zip(*sides, strict=True)
    )
    return place_rows(groups, ({"token_contrast": row} for row in rows))


def _add_request(trajectory: Trajectory, text: str, tools: ProducerTools) -> Trajectory:
    """Put a text above each observation with which a context begins."""
    renderer = tools.language.renderer
    renderer = renderer.with_system(trajectory.system) if trajectory.system else renderer
    turns = tuple(
        replace(turn, obs_ids=renderer.observation(f"{text}\n\n{turn.observation}", first=True))
        if number == 0 or turn.fresh
        else turn
        for number, turn in enumerate(trajectory.turns)
    )
    return replace(trajectory, turns=turns)


@produces("positive_logps", "negative_logps")
def followup_logps(
    groups: Sequence[Group],
    tools: ProducerTools,
    positive: Sequence[str] = POSITIVE,
    negative: Sequence[str] = NEGATIVE,
    separator: str = "\n\n",
) -> Found:
    """Mean token log-probability of each of several user follow-ups after the conversation, at temperature 1 (FLR,
    arXiv 2409.13948).

    Args:
        positive, negative: the follow-ups.
        separator: text between the answer and a follow-up.
    """
    texts = [tools.encode(text) for text in (*positive, *negative)]
    between = tools.encode(separator)
    contexts = [(*tools.strip_stop(conversation(t)[0]), *between) for t in valid_of(groups)]
    scored = tools.score_texts(
        [context for context in contexts for _ in texts], [text for _ in contexts for text in texts]
    )
    means = [float("nan") if text is None else float(text.logps.mean()) for text in scored]
    rows = (means[start : start + len(texts)] for start in range(0, len(means), len(texts)))
    count = len(positive)
    return place_rows(groups, ({"positive_logps": r[:count], "negative_logps": r[count:]} for r in rows))


@produces("echo_logps", "echo_run")
def echo_logps(groups: Sequence[Group], tools: ProducerTools, query: str = QUERY, run: int = 4) -> Found:
    """Log-probabilities, at temperature 1, of the prompt's tokens given the answer and a question about it
    (PromptEcho). Copies of the prompt are removed from the answer first.

    Args:
        query: the question.
        run: number of consecutive words of the prompt that count as a copy.
    """
    check_count("run", run, low=1, unit="words")
    episodes = [trajectory.episode for trajectory in valid_of(groups)]
    seen = [mask_copies(episode.response, episode.prompt, run) for episode in episodes]
    contexts = [tools.language.renderer.observation(f"{text}\n\n{query}", first=True) for text in seen]
    scored = tools.score_texts(contexts, [tools.encode(episode.prompt) for episode in episodes])
    return place_rows(groups, ({"echo_logps": list_logps(text) or [], "echo_run": run} for text in scored))


@produces("thought_logps", needs=("reference",))
def thought_logps(groups: Sequence[Group], tools: ProducerTools) -> Found:
    """Log-probabilities, at temperature 1, of the reference answer after the thought (RLP, arXiv 2510.01265, eq. 2);
    None if the reference is not text. The thought is the conversation, without what follows the last ``</think>``."""
    between = tools.encode("\n")
    contexts = [(*strip_answer(t, tools), *between) for t in valid_of(groups)]
    scored = tools.score_texts(contexts, reference_ids(groups, tools))
    return place_rows(groups, ({"thought_logps": list_logps(text)} for text in scored))


def strip_answer(trajectory: Trajectory, tools: ProducerTools) -> tuple[int, ...]:
    """Return the tokens of a conversation up to the end of the last thought; all of them if it ends in none."""
    ids, last = conversation(trajectory)[0], trajectory.turns[-1]
    if (end := last.action.rfind(END_OF_THOUGHT)) < 0:
        return tools.strip_stop(ids)
    kept = tools.language.renderer.tokens_until(last.act_ids, end + len(END_OF_THOUGHT))
    return tuple(ids[: len(ids) - len(last.act_ids) + kept])


def reference_ids(groups: Sequence[Group], tools: ProducerTools) -> list[tuple[int, ...]]:
    """Return the ids of each valid trajectory's reference answer; () if it is not text."""
    references = [trajectory.episode.extras.get("reference") for trajectory in valid_of(groups)]
    return [tools.encode(text) if isinstance(text, str) else () for text in references]


def list_logps(scored: ScoredText | None) -> list[float] | None:
    """Convert log-probabilities to a list of numbers; None if nothing could be scored."""
    return None if scored is None else scored.logps.tolist()


def valid_of(groups: Sequence[Group]) -> Iterator[Trajectory]:
    """Return the valid trajectories of several groups, in order."""
    return (trajectory for group in groups for trajectory in group.valid)
