"""Rewards from a judge: "judge" by a principle, "rubric" by criteria, "pairwise" against siblings."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from ...checks import check_number, option
from ...errors import InputError
from ..episode import Episode
from ..reward import GroupReward, PooledReward, register
from ..verdict import Verdict
from ..verifiers import verify
from .judge import Judge, Judgement, check_judge
from .pairwise import mean_preference, play_matches
from .rubric import MET, Aggregation, Criterion, as_criterion, has_result, informative_criteria
from .rubric_books import RubricBook

JudgeLike = Judge | str | Mapping[str, Any]


def reference_text(episode: Episode) -> str | None:
    """Return ``episode.extras["reference"]`` as text, for the judge; None if absent."""
    value = episode.extras.get("reference")
    return None if value is None else str(value)


@register("judge")
class JudgeReward(PooledReward):
    """Judge's score of the response by one principle.

    The judge sees ``episode.prompt``, ``episode.response`` and, if present, ``episode.extras["reference"]``. If the
    judge fails on an episode, the verdict is invalid.
    """

    paper = "RewardAnything, arXiv 2506.03637"
    bounds = (0.0, 1.0)
    judge: Any = option(default="rules", check=check_judge, says='a `Judge`, its name, or {"judge": name, ...options}.')
    principle: str = option(default="cites evidence", says="the standard of judgement, in words.")

    def values(self, episodes: Sequence[Episode]) -> list[float | str]:
        """Ask all questions in one call of `gather`, so that an endpoint answers them in parallel."""
        answers = self.judge.gather([self._call(episode) for episode in episodes])
        return [answer.first for answer in answers]

    def _call(self, episode: Episode) -> Callable[[], Judgement]:
        return lambda: self.judge.score(self.principle, episode.prompt, [episode.response], reference_text(episode))

    def describe(self) -> str:
        return f"judge({self.judge!r}, {self.principle!r})"


def _check_criteria(_: str, criteria: Sequence[Criterion | str | Mapping[str, Any]]) -> tuple[Criterion, ...]:
    if not isinstance(criteria, (list, tuple)):
        raise InputError(f"a rubric must be a list of criteria, not {criteria!r}.")
    rubric = tuple(as_criterion(criterion) for criterion in criteria)
    if not any(criterion.points > 0 for criterion in rubric):
        raise InputError(f"a rubric needs a criterion with positive points, not {list(criteria)!r}.")
    return rubric


def _check_rubric(
    name: str, criteria: str | Sequence[Criterion | str | Mapping[str, Any]]
) -> tuple[Criterion, ...] | RubricBook:
    return RubricBook.read(criteria) if isinstance(criteria, str) else _check_criteria(name, criteria)


def _check_aggregation(_: str, aggregation: Aggregation | str | Mapping[str, Any]) -> Aggregation:
    if isinstance(aggregation, Mapping):
        return Aggregation(**aggregation)
    return Aggregation(aggregation) if isinstance(aggregation, str) else aggregation


def _check_band(name: str, band: tuple[float, float]) -> tuple[float, float]:
    low, high = band
    check_number(name, low, 0.0, 1.0)
    check_number(name, high, low, 1.0)
    return band


@register("rubric")
class RubricReward(GroupReward):
    """Score by a rubric: criteria with signed points, decided by a judge, by verifiers or by the outcome.

    By default the value follows RuscaRL: points of the met criteria over the sum of the positive points, at most 1.
    Factual criteria with a verifier are checked on ``episode.answer``; for the kinds of criteria see `Criterion`.

    With a band (low, high), criteria whose pass rate within the group is not strictly between the two are left out of
    the numerator. Groups of one keep all.

    Raises:
        InputError: a criterion that cannot be read, or a rubric without positive points.
    """

    paper = "RuscaRL, arXiv 2508.16949; Rubric Anchors, arXiv 2508.12790; RGR-GRPO, arXiv 2511.12344"
    needs = frozenset({"rubric"})
    criteria: Any = option(
        default=None,
        check=_check_rubric,
        says="`Criterion` objects, data or texts of one point; a file that `palaestra rubrics` wrote; None reads "
        '``episode.extra("rubric")``.',
    )
    similar: int = option(
        default=3, low=1, says="with a file, prompts whose rubrics are joined for a prompt that is not in it."
    )
    judge: Any = option(default="rules", check=check_judge, says='a `Judge`, its name, or {"judge": name, ...options}.')
    aggregation: Any = option(
        default="signed", check=_check_aggregation, says="an `Aggregation`, its fields or its form."
    )
    band: tuple[float, float] | None = option(
        default=None, check=_check_band, says="range of pass rates within the group of criteria that count."
    )
    complete: bool = option(default=False, says="the score replaces the environment's reward, as in RuscaRL.")

    def setup(self) -> None:
        self.needs = frozenset({"rubric"}) if self.criteria is None else frozenset()

    @property
    def bounds(self) -> tuple[float, float]:
        known = isinstance(self.criteria, tuple)
        return self.aggregation.bounds(self.criteria) if known else (float("-inf"), 1.0)

    def _rubric(self, episode: Episode) -> tuple[Criterion, ...]:
        if isinstance(self.criteria, RubricBook):
            return self.criteria.find(episode.prompt, self.similar)
        return self.criteria or _check_criteria("rubric", episode.extra("rubric"))

    def __call__(self, episode: Episode) -> Verdict:
        return self.group([episode])[0]

    def group(self, episodes: Sequence[Episode]) -> list[Verdict]:
        """Judge siblings; the feedback of a verdict lists the criteria that are not met and the faults present."""
        valid = [episode for episode in episodes if episode.valid]
        rubrics = [self._rubric(episode) for episode in valid]
        calls = [self._call(episode, rubric) for episode, rubric in zip(valid, rubrics)]
        scores = [
            _merge_scores(rubric, episode, answer)
            for rubric, episode, answer in zip(rubrics, valid, self.judge.gather(calls))
        ]
        kept = None
        decided = [row for row in scores if not isinstance(row, str)]
        if self.band is not None and len(decided) > 1:
            if any(rubric != rubrics[0] for rubric in rubrics):
                raise InputError("band compares siblings, which must share one rubric; set band=None.")
            kept = informative_criteria(decided, *self.band)
        judged = iter(zip(rubrics, scores))
        return [
            self._judge(episode, *next(judged), kept) if episode.valid else self.verdict(episode, None)
            for episode in episodes
        ]

    def values(self, episodes: Sequence[Episode]) -> list[float | None]:
        return [verdict.terms[self.name] if verdict.valid else None for verdict in self.group(episodes)]

    def _judge(
        self, episode: Episode, rubric: Sequence[Criterion], row: Sequence[float] | str, kept: Sequence[bool] | None
    ) -> Verdict:
        if isinstance(row, str):
            return self.verdict(episode, row)
        missed = [c.text for c, score in zip(rubric, row) if (score < MET) == (c.points > 0 or c.critical)]
        verdict = self.verdict(episode, self.aggregation(rubric, row, kept))
        return replace(verdict, feedback="\n".join(missed))

    def _call(self, episode: Episode, rubric: Sequence[Criterion]) -> Callable[[], Judgement]:
        texts = [criterion.text for criterion in rubric if criterion.needs_judge]
        return lambda: (
            self.judge.grade(texts, episode.prompt, episode.response, reference_text(episode))
            if texts
            else Judgement(())
        )

    def describe(self) -> str:
        count = str(len(self.criteria)) if isinstance(self.criteria, tuple) else "the episode's"
        return f"rubric({self.judge!r}, {count} criteria, {self.aggregation.form})"


def _merge_scores(rubric: Sequence[Criterion], episode: Episode, judged: Judgement) -> list[float] | str:
    """Return one score per criterion from the verifiers and the judge, or the error message if either failed."""
    if not judged.valid:
        return judged.error or "the judge failed"
    scores, graded = [], iter(judged.scores)
    for criterion in rubric:
        if criterion.needs_judge:
            scores.append(next(graded))
            continue
        if criterion.kind == "outcome":
            scores.append(float(episode.success))
            continue
        if criterion.verifier is None:
            scores.append(float(has_result(episode.response, str(criterion.reference))))
            continue
        # Constraints are on the form of the whole text.
        text = episode.response if criterion.verifier == "constraints" else episode.answer or ""
        verdict = verify(criterion.verifier, text, criterion.reference)
        if not verdict.valid:
            return f"the verifier {criterion.verifier!r} failed: {verdict.feedback or 'it could not decide'}"
        scores.append(float(verdict.success))
    return scores


@register("pairwise")
class PairwiseReward(GroupReward):
    """Mean preference of a judge for a response over each of its siblings.

    Every pair is judged in both orders: a judge that only prefers one position gives all episodes 0.5. Pairs whose
    judgement failed are left out; an episode without any judged pair is invalid. The value of a single episode is 0.5.
    """

    paper = "ArenaRL, arXiv 2601.06487 (round robin)"
    bounds = (0.0, 1.0)
    judge: Any = option(default="rules", check=check_judge, says='a `Judge`, its name, or {"judge": name, ...options}.')
    principle: str = option(default="cites evidence", says="the standard of judgement, in words.")

    def values(self, episodes: Sequence[Episode]) -> list[float | str]:
        count = len(episodes)
        if count == 1:
            return [0.5]
        pairs = [(i, j) for i in range(count) for j in range(i + 1, count)]
        responses = [episode.response for episode in episodes]
        results = play_matches(
            self.judge, self.principle, episodes[0].prompt, responses, pairs, reference_text(episodes[0])
        )
        failed = next((result for result in results if isinstance(result, str)), "")
        return [failed if share is None else share for share in mean_preference(count, pairs, results)]

    def describe(self) -> str:
        return f"pairwise({self.judge!r}, {self.principle!r})"
