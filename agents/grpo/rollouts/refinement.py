"""Rollout strategies that let the policy improve its samples: the best one after a critique from the rewards, or each
failed one by a tree of refinements."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from ....checks import check_choice, check_number
from ....errors import InputError
from ..batch.trajectory import Group, Trajectory
from ..recipes.stages import ROLLOUTS
from .episode_player import EpisodePlayer
from .episode_starts import FinishedEpisode, RolloutTask, Start
from .guidance import hinted_start
from .guided import replace_failures
from .independent import Strategy, group_of, play_by_task
from .repair import transcript


@ROLLOUTS.register("rubric_refine")
@dataclass(eq=False)
class RubricRefine(Strategy):
    """Judge the samples of a task, let the policy rewrite the best one with a critique in the prompt, and add the new
    episode to the group (RGR-GRPO, arXiv 2511.12344, section 3).

    The critique consists of the rewards' remarks on the best sample, such as unmet criteria of a rubric, or else of the
    environment's feedback. A group without a critique stays unchanged. The critique is left out of the trained context,
    and the origin of the new tokens is TEACHER, so that a recipe can shape their ratio.

    Args:
        template: the hint; ``{attempt}`` is replaced by the actions of the best sample, ``{critique}`` by the critique.
        count: number of new episodes of a task.
        keep: new episodes to keep: "all", or only those with a higher return than the best sample ("better").
        merge: "add" the new episodes to the group, or let them replace "failures".
    """

    template: str = (
        "An earlier answer:\n{attempt}\nIt does not meet these criteria:\n{critique}\nWrite a better answer."
    )
    count: int = 1
    keep: str = "all"
    merge: str = "add"

    def __post_init__(self) -> None:
        if "{attempt}" not in self.template or "{critique}" not in self.template:
            raise InputError(f"template must contain {{attempt}} and {{critique}}, not {self.template!r}.")
        check_number("count", self.count, 1)
        check_choice("keep", self.keep, ("all", "better"))
        check_choice("merge", self.merge, ("add", "failures"))

    def play(self, tasks: Sequence[RolloutTask], player: EpisodePlayer) -> list[Group]:
        by_task = play_by_task(player, [[Start(task)] * task.samples for task in tasks])
        groups = player.judge([group_of(task, played) for task, played in zip(tasks, by_task, strict=True)])
        bests = [max(group.valid, key=lambda t: t.outcome, default=None) for group in groups]
        starts = [self._start_again(task, best) for task, best in zip(tasks, bests, strict=True)]
        written = [
            [p.trajectory.attributed_to_teacher() for p in episodes] for episodes in play_by_task(player, starts)
        ]
        judged = player.judge([Group(task.proposal, tuple(new)) for task, new in zip(tasks, written, strict=True)])
        return [self._merge(group, best, new.valid) for group, best, new in zip(groups, bests, judged, strict=True)]

    def _start_again(self, task: RolloutTask, best: Trajectory | None) -> list[Start]:
        critique = find_critique(best) if best is not None else ""
        if best is None or not critique:
            return []
        attempt = "\n".join(turn.action for turn in best.turns)
        text = self.template.replace("{attempt}", attempt).replace("{critique}", critique)
        return [hinted_start(task, text, 0.0, "stripped", "{hint}")] * self.count

    def _merge(self, group: Group, best: Trajectory | None, new: Sequence[Trajectory]) -> Group:
        better = [t for t in new if self.keep == "all" or best is None or t.outcome > best.outcome]
        if self.merge == "add":
            return replace(group, trajectories=(*group.trajectories, *better))
        plain = [FinishedEpisode(t) for t in group.trajectories]
        kept = replace_failures(plain, [FinishedEpisode(t) for t in better])
        return replace(group, trajectories=tuple(p.trajectory for p in kept))


def find_critique(trajectory: Trajectory) -> str:
    """Return the rewards' remarks on a judged episode, or else the environment's feedback if it failed; "" without
    either."""
    if trajectory.remarks or trajectory.success:
        return trajectory.remarks
    return "\n".join(
        dict.fromkeys(text for turn in trajectory.turns for text in (turn.action_error, turn.feedback) if text)
    )


@dataclass(eq=False)
class _Failed:
    """Answer that did not pass: its place below the original, and the number of its refinements so far."""

    answer: Trajectory
    level: int = 0
    refined: int = 0


@dataclass(eq=False)
class _Refining:
    """Tree of refinements of one answer.

    Attributes:
        waiting: answers to refine, oldest first; at first the original.
        count: number of refinements so far.
        passed: the first refinement that passed, or None.
    """

    original: Trajectory
    waiting: list[_Failed]
    count: int = 0
    passed: Trajectory | None = None


@ROLLOUTS.register("refine_tree")
@dataclass(eq=False)
class RefineTree(Strategy):
    """Judge each sample, refine failed ones in a tree until a refinement passes, and return pairs of the refinement and
    the original, for preference losses (SPaR, arXiv 2412.11605).

    The pair has the outcomes 1 and 0. The hint with the failed answer is left out of the context, and the origin of
    the refinement's tokens is TEACHER. A sample that passes, or of which no refinement passes, makes no pair. Pairs
    after the first of a task have no proposal of the teacher. With ``train_judge``, each answer about which the
    policy's judgements differ gives a pair of role "judge": a reply of the majority is preferred to one of the minority
    (the paper trains its judge on the majority's replies by likelihood).

    Args:
        order: the answer to refine next is the oldest ("breadth") or the newest ("depth").
        width: number of refinements of an answer.
        depth: most refinements one after the other.
        most: most refinements of a sample.
        judge: an answer passes by the environment's "verdict" or by the "policy", which is asked ``votes`` times and
            passes an answer if more than half of its replies begin with "yes".
        votes: number of the policy's judgements of an answer.
        train_judge: return the pairs of judgements too; only with the judge "policy".
        question: request for a judgement; ``{attempt}`` is replaced by the episode's task and answer.
        template: the hint; ``{attempt}`` is replaced by the failed answer, ``{critique}`` by the rewards' remarks or
            the environment's feedback.
    """

    order: str = "breadth"
    width: int = 2
    depth: int = 3
    most: int = 6
    judge: str = "verdict"
    votes: int = 5
    train_judge: bool = False
    question: str = "{attempt}\nIs this answer right? Answer yes or no."
    template: str = "An earlier answer:\n{attempt}\nIt is not right. {critique}\nWrite a better answer."

    def __post_init__(self) -> None:
        check_choice("order", self.order, ("breadth", "depth"))
        check_choice("judge", self.judge, ("verdict", "policy"))
        for name in ("width", "depth", "most", "votes"):
            check_number(name, getattr(self, name), 1)
        if "{attempt}" not in self.question or "{attempt}" not in self.template:
            raise InputError("question and template must contain {attempt}.")
        if self.train_judge and self.judge != "policy":
            raise InputError(f"train_judge trains the judge 'policy', and judge is {self.judge!r}.")
        self._judgements: list[Group] = []

    def play(self, tasks: Sequence[RolloutTask], player: EpisodePlayer) -> list[Group]:
        self._judgements = []
        by_task = play_by_task(player, [[Start(task)] * task.samples for task in tasks])
        samples = [[p.trajectory for p in played if p.trajectory.valid and p.trajectory.turns] for played in by_task]
        passing = iter(self._judge([t for several in samples for t in several], player))
        trees = [[_Refining(t, [_Failed(t)]) for t in several if not next(passing)] for several in samples]
        while running := [
            (task, tree)
            for task, several in zip(tasks, trees, strict=True)
            for tree in several
            if tree.passed is None and tree.waiting and tree.count < self.most
        ]:
            self._refine(running, player)
        groups, further = [], []
        for task, several in zip(tasks, trees, strict=True):
            pairs = [_prefer(tree.passed, tree.original) for tree in several if tree.passed is not None]
            groups.append(Group(task.proposal, pairs[0] if pairs else ()))
            further += [Group(-1, pair) for pair in pairs[1:]]
        return [*groups, *further, *self._judgements]

    def _refine(self, running: Sequence[tuple[RolloutTask, _Refining]], player: EpisodePlayer) -> None:
        """Play one refinement of each tree."""
        chosen = [tree.waiting[0 if self.order == "breadth" else -1] for _, tree in running]
        starts = []
        for (task, _), failed in zip(running, chosen, strict=True):
            attempt = "\n".join(turn.action for turn in failed.answer.turns)
            hint = self.template.replace("{attempt}", attempt).replace("{critique}", find_critique(failed.answer))
            starts.append(hinted_start(task, hint, 0.0, "stripped", "{hint}"))
        new = [played.trajectory.attributed_to_teacher() for played in player.play(starts)]
        for (_, tree), failed, refined, passes in zip(running, chosen, new, self._judge(new, player), strict=True):
            tree.count += 1
            failed.refined += 1
            if failed.refined == self.width:
                tree.waiting.remove(failed)
            if passes:
                tree.passed = refined
            elif refined.valid and refined.turns and failed.level + 1 < self.depth:
                tree.waiting.append(_Failed(refined, failed.level + 1))

    def _judge(self, answers: Sequence[Trajectory], player: EpisodePlayer) -> list[bool]:
        """Return True for each answer that passes."""
        if self.judge == "verdict":
            return [answer.valid and answer.success for answer in answers]
        asked = [
            self.question.replace("{attempt}", transcript(answer)) for answer in answers for _ in range(self.votes)
        ]
        replies = iter(player.ask(asked))
        votes = [[next(replies) for _ in range(self.votes)] for _ in answers]
        found = []
        for answer, several in zip(answers, votes, strict=True):
            said = [reply is not None and reply.action.strip().lower().startswith("yes") for reply in several]
            passes = 2 * sum(said) > self.votes
            found.append(answer.valid and passes)
            agreeing, others = (
                [r for r, yes in zip(several, said) if r and yes == same] for same in (passes, not passes)
            )
            if self.train_judge and agreeing and others:
                reply = replace(answer, role="judge", nodes=(), truncated=False, rescore=False, guided=0.0)
                pair = (replace(reply, turns=(replace(turns[0], reward=0.0),)) for turns in (agreeing, others))
                self._judgements.append(Group(-1, _prefer(*pair)))
        return found


def _prefer(better: Trajectory, worse: Trajectory) -> tuple[Trajectory, Trajectory]:
    """Return the two episodes with the outcomes 1 and 0."""
    fields = {"judged": True, "replaced": True}
    return replace(better, **fields, shaping={"preference": 1.0}), replace(worse, **fields, shaping={"preference": 0.0})
