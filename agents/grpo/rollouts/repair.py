"""Rollout strategies that play a failed episode again from its error: after a correction by the oracle, or after the
policy's reflection."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

from ....checks import check_number
from ....errors import InputError
from ....rewards.judges.judge import JUDGES
from ..batch.trajectory import Group, Origin, Trajectory, Turn
from ..recipes.stages import ROLLOUTS
from .episode_player import EpisodePlayer
from .episode_starts import Insert, RolloutTask, Start, branch
from .episode_tree import Member, PlannedEpisode, grow, tree_group
from .guidance import Solution, context_limits, extend, make_named, solve
from .independent import Strategy, play_by_task


def first_error(trajectory: Trajectory, least: float = 0.0) -> int | None:
    """Return the index of the first turn with an action error or a reward below ``least``, or None."""
    for number, turn in enumerate(trajectory.turns):
        if turn.action_error is not None or turn.reward < least:
            return number
    return None


def first_wrong_line(text: str, steps: Sequence[str]) -> tuple[int, int] | None:
    """Find the first line of an answer that matches none of the remaining steps of a worked solution.

    Case, white space and full stops are ignored; the answer may skip steps.

    Returns:
        (number of characters before that line, index of the step after the last matched one); the first is the length
            of the text if the answer stops too early. None if the answer reaches the last step without a wrong line.
    """
    place, done = 0, 0
    plain = [_bare(step) for step in steps]
    for line in text.splitlines(keepends=True):
        if _bare(line):
            if _bare(line) not in plain[done:]:
                return place, done
            done = plain.index(_bare(line), done) + 1
        place += len(line)
    return (len(text), done) if done < len(steps) else None


def _bare(line: str) -> str:
    return "".join(line.split()).casefold().strip(".")


@dataclass(frozen=True)
class ErrorPlace:
    """Position of an error: the turn, and the number of tokens of its action before the error. ``text`` is the
    correction to insert there; "": the oracle plays the whole turn."""

    turn: int
    tokens: int = 0
    text: str = ""


@ROLLOUTS.register("first_error_repair")
@dataclass(eq=False)
class FirstErrorRepair(Strategy):
    """Play a failed episode again from its first error: the oracle writes that step, the policy continues, and the new
    episode joins the group if it succeeds (SCOPE, arXiv 2602.24110, section 3).

    The environment's solution replaces the paper's process reward model. In a single answer, each line is a step: the
    first line that matches no step of the worked solution, or that a judge finds wrong, is replaced by the solution's
    step. In a game, the error is the first turn with an action error or a reward below ``least``, or else the last turn
    before which the oracle could still have won. Tokens before the error stay unchanged.

    Args:
        least: a turn of a game with a smaller reward is an error.
        copies: the tokens before the error, which both episodes share, are trained "once" or in "each" of them.
        judge: a registered judge of the lines of an answer, such as "endpoint(model='m')"; "" compares lines with the
            worked solution.
        threshold: a line is wrong if the judge's score of the answer up to its end is lower than this, in [0, 1].
    """

    least: float = 0.0
    copies: str = "once"
    judge: str = ""
    threshold: float = 0.5

    provides = frozenset({"nodes"})

    def __post_init__(self) -> None:
        if self.copies not in ("once", "each"):
            raise InputError(f"copies must be 'once' or 'each', not {self.copies!r}.")
        check_number("threshold", self.threshold, 0.0, 1.0)
        self._judge = make_named(JUDGES, self.judge) if self.judge else None

    def play(self, tasks: Sequence[RolloutTask], player: EpisodePlayer) -> list[Group]:
        trees: list[list[Member]] = [[] for _ in tasks]
        grow(player, tasks, trees, [[PlannedEpisode()] * task.samples for task in tasks])
        failed = [
            [n for n, m in enumerate(tree) if m.trajectory.valid and not m.trajectory.success and m.trajectory.turns]
            for tree in trees
        ]
        places = self._find_errors(tasks, trees, failed, player)
        starts = [
            [self._start(task, tree[n], place, player) for n, place in several]
            for task, tree, several in zip(tasks, trees, places, strict=True)
        ]
        for tree, several, episodes in zip(trees, places, play_by_task(player, starts), strict=True):
            for (parent, place), played in zip(several, episodes, strict=True):
                if played.trajectory.valid and played.trajectory.success:
                    before = sum(len(t.act_ids) for t in tree[parent].trajectory.turns[: place.turn])
                    tree.append(Member(played, parent, before + place.tokens))
        return [tree_group(task, tree) for task, tree in zip(tasks, trees, strict=True)]

    def _start(self, task: RolloutTask, member: Member, place: ErrorPlace, player: EpisodePlayer) -> Start:
        trained = self.copies == "each"
        if not place.text:
            return branch(task, member.played, place.turn, 0, trained, oracle_turns=1, oracle_origin=Origin.TEACHER)
        start = branch(task, member.played, place.turn, place.tokens, trained)
        ids = player.renderer.action_ids(place.text)
        ids = ids[: player.renderer.tokens_until(ids, len(place.text))]
        step = Insert.of(place.tokens, ids, Origin.TEACHER)
        return replace(start, inserts=(*start.inserts, step), limits=extend(player.limits, [step]))

    def _find_errors(
        self,
        tasks: Sequence[RolloutTask],
        trees: Sequence[Sequence[Member]],
        failed: Sequence[list[int]],
        player: EpisodePlayer,
    ) -> list[list[tuple[int, ErrorPlace]]]:
        """Return (index of the member, place of its first error) for the failed episodes of each task."""
        wanted = [i for i, several in enumerate(failed) if several]
        solutions = dict(zip(wanted, solve([tasks[i] for i in wanted], player), strict=True))
        places: list[list[tuple[int, ErrorPlace]]] = [[] for _ in tasks]
        for i in wanted:
            solution, games = solutions[i], []
            for n in failed[i]:
                trajectory = trees[i][n].trajectory
                if len(trajectory.turns) == 1 and len(solution.ends) > 1:
                    if (place := self._find_wrong_step(trajectory, solution, player)) is not None:
                        places[i].append((n, place))
                elif (turn := first_error(trajectory, self.least)) is not None:
                    places[i].append((n, ErrorPlace(turn)))
                else:
                    games.append(n)
            found = [(n, turn) for n, turn in zip(games, _last_chances(tasks[i], [trees[i][n] for n in games], player))]
            places[i] += [(n, ErrorPlace(turn)) for n, turn in found if turn is not None]
        return places

    def _find_wrong_step(self, trajectory: Trajectory, solution: Solution, player: EpisodePlayer) -> ErrorPlace | None:
        (turn,) = trajectory.turns
        found = first_wrong_line(turn.action, solution.steps)
        if self._judge is not None:
            found = self._judge_lines(trajectory, solution)
        if found is None:
            return None
        characters, number = found
        renderer, ids = player.renderer, turn.act_ids
        kept = renderer.tokens_until(ids, characters)
        # A token that spans the beginning of the wrong line is dropped; its characters before the line are inserted.
        while len(renderer.action(ids[:kept])) > characters:
            kept -= 1
        before = turn.action[len(renderer.action(ids[:kept])) : characters]
        if characters and not turn.action[:characters].endswith("\n"):
            before += "\n"
        written = solution.played.trajectory.turns[0].act_ids
        begin = solution.ends[number - 1] if number else 0
        return ErrorPlace(0, kept, before + renderer.action(written[begin : solution.ends[number]]))

    def _judge_lines(self, trajectory: Trajectory, solution: Solution) -> tuple[int, int] | None:
        """Return the characters before the first line that a judge finds wrong, and the index of the step to insert
        there; None if it finds none or failed."""
        (turn,) = trajectory.turns
        ends = [found.end() for found in re.finditer(r".*\S.*(\n|$)", turn.action)]
        text, judge, reference = turn.action, self._judge, "\n".join(solution.steps)
        assert judge is not None
        judgement = judge.score(_RIGHT, trajectory.episode.prompt, [text[:end] for end in ends], reference)
        wrong = [line for line, score in enumerate(judgement.scores) if score < self.threshold]
        if not wrong:
            return None
        characters = ends[wrong[0] - 1] if wrong[0] else 0
        found = first_wrong_line(text[:characters], solution.steps)
        done = found[1] if found is not None else len(solution.steps)
        return characters, min(max(done, wrong[0]), len(solution.steps) - 1)


_RIGHT = "every step of the solution so far is right"


def _last_chances(task: RolloutTask, members: Sequence[Member], player: EpisodePlayer) -> list[int | None]:
    """Return for each episode of a game the last turn before which the oracle could still have won, or None."""
    starts = [
        [
            branch(task, member.played, turn, oracle_turns=math.inf, limits=context_limits(player))
            for turn in range(len(member.trajectory.turns))
        ]
        for member in members
    ]
    by_task = play_by_task(player, starts)
    won = [[turn for turn, played in enumerate(episodes) if played.trajectory.success] for episodes in by_task]
    return [max(turns, default=None) for turns in won]


_TURN = re.compile(r"turn\s+#?(\d{1,4})", re.IGNORECASE)


@ROLLOUTS.register("reflect_retry")
@dataclass(eq=False)
class ReflectRetry(Strategy):
    """Play half of the samples, let the policy reflect on each failure and name the wrong turn, and retry from that
    turn with the reflection as a hint (R3L, arXiv 2601.03715, section 3.1).

    The hint is left out of the trained context. The turns before the retry are shared nodes, to be masked in both
    episodes (mask "unshared"). If the reflection names no turn of the episode, the retry starts at the first one. If
    there are fewer failures than samples in the second half, the remaining samples are fresh episodes.

    Args:
        question: request for a reflection; ``{episode}`` is replaced by the failed episode.
        template: the hint; ``{hint}`` is replaced by the reflection.
        reflections: also return each reflection that led to a success, as a group of one with role "reflection" and
            advantage 1 (`Trajectory.advantage`).
    """

    question: str = (
        "{episode}\nThis attempt failed. Name the first turn that went wrong (turn 1, turn 2, ...) and say what to do "
        "instead."
    )
    template: str = "Advice: {hint}"
    reflections: bool = False

    provides = frozenset({"nodes"})

    def __post_init__(self) -> None:
        if "{episode}" not in self.question or "{hint}" not in self.template:
            raise InputError("question must contain {episode} and template {hint}.")

    def play(self, tasks: Sequence[RolloutTask], player: EpisodePlayer) -> list[Group]:
        trees: list[list[Member]] = [[] for _ in tasks]
        grow(player, tasks, trees, [[PlannedEpisode()] * (task.samples - task.samples // 2) for task in tasks])
        failed = [
            [n for n, m in enumerate(tree) if m.trajectory.valid and not m.trajectory.success and m.trajectory.turns]
            for tree in trees
        ]
        failed = [several[: task.samples // 2] for several, task in zip(failed, tasks, strict=True)]
        asked = [(i, n) for i, several in enumerate(failed) for n in several]
        questions = [self.question.replace("{episode}", transcript(trees[i][n].trajectory)) for i, n in asked]
        # A failure too long for the question has no answer; a fresh sample replaces its retry.
        answers = {place: turn for place, turn in zip(asked, player.ask(questions), strict=True) if turn is not None}
        planned: list[list[PlannedEpisode]] = [[] for _ in tasks]
        for (i, n), answer in answers.items():
            turn = find_named_turn(answer.action, len(trees[i][n].trajectory.turns))
            hint = self.template.replace("{hint}", answer.action) if answer.action.strip() else ""
            planned[i].append(PlannedEpisode(n, turn, hint=hint, keep_hint=False))
        for task, several in zip(tasks, planned, strict=True):
            several += [PlannedEpisode()] * (task.samples // 2 - len(several))
        grow(player, tasks, trees, planned)
        groups = [tree_group(task, tree) for task, tree in zip(tasks, trees, strict=True)]
        if not self.reflections:
            return groups
        return [*groups, *self._collect_reflections(trees, answers)]

    def _collect_reflections(self, trees: list[list[Member]], answers: dict[tuple[int, int], Turn]) -> list[Group]:
        helpful = []
        for (i, n), answer in answers.items():
            retry = next(m.trajectory for m in trees[i] if m.parent == n)
            if retry.valid and retry.success:
                reflection = replace(retry, turns=(replace(answer, reward=1.0),), nodes=(), rescore=False, guided=0.0)
                helpful.append(Group(-1, (replace(reflection, role="reflection", advantage=1.0, truncated=False),)))
        return helpful


def transcript(trajectory: Trajectory) -> str:
    """Return the episode as text, its turns numbered from 1."""
    lines = []
    for number, turn in enumerate(trajectory.turns, 1):
        lines += [turn.observation, f"Turn {number}: {turn.action}"]
    return "\n".join(lines)


def find_named_turn(reflection: str, turns: int) -> int:
    """Return the index of the turn that a reflection names ("turn 1" is 0); 0 if it names none of the ``turns``."""
    match = _TURN.search(reflection)
    number = int(match.group(1)) - 1 if match else 0
    return number if 0 <= number < turns else 0
