"""Base class of rollout strategies in which roles speak about a question by a script (`scripts`, `protocols`)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from ....envs.question import Question
from ....errors import InputError
from ....rewards import Recording, Reward, build
from ..batch.judging import judge_groups
from ..batch.trajectory import Group, Trajectory, Turn
from ..recipes import Component
from .environments import Environments, begin
from .episode_player import EpisodePlayer
from .episode_starts import RolloutTask
from .independent import Strategy
from .scripts import READS, RoleScript, ScriptLine


@dataclass(eq=False)
class _Said:
    """An utterance: its task's number, its line and round, the utterance that it is about, who speaks, and what came of
    it."""

    task: int
    line: ScriptLine
    round: int
    parent: _Said | None
    agent: str
    speaker: EpisodePlayer
    turn: Turn | None = None
    value: Any = None
    extras: dict[str, Any] = field(default_factory=dict)
    trajectory: Trajectory | None = None

    @property
    def readable(self) -> bool:
        """True if what was asked for could be read from the text."""
        return self.value is not None

    @property
    def text(self) -> str:
        return self.turn.action if self.turn is not None else ""

    def path(self) -> list[_Said]:
        """Return the utterances from this one up to the first."""
        found: list[_Said] = [self]
        here = self.parent
        while here is not None:
            found.append(here)
            here = here.parent
        return found


class Roles(Strategy):
    """Base of strategies that play a `scripts.RoleScript`.

    Each utterance is an episode of one turn, with its role. The episodes of a line, a round and a task form a group;
    the first group of a task is of the reported role, whose outcomes the teacher learns. The environment judges the
    answers to its question, and the verdict is the episode's success whatever pays it; a mark or score succeeds if it
    agrees with that verdict (from the middle up for a success).

    Metrics, besides those of each role: ``roles/unread_ROLE``, the share of texts without the number or question that
    was asked for, ``roles/highest_ROLE``, the share of marks and scores at their maximum (near 1 is a sign of hacking),
    and ``roles/pool``, the number of questions in the pool.
    """

    def __init__(self, script: RoleScript):
        self.script = script
        self.provides = script.provides  # type: ignore[misc]
        self.roles = script.players
        self._judges: dict[str, Reward] = {
            role: build(Component.parse(text).data()) for role, text in script.pays.items() if text
        }
        for role, judge in self._judges.items():
            if missing := judge.needs - script.provides:
                raise InputError(
                    f"the reward of the role {role!r} needs {sorted(missing)}, which no line of the script gives."
                )
        self._pool: list[str] = []
        self._metrics: dict[str, float] = {}

    def check(self, environments: Environments) -> None:
        env = environments.take()
        environments.give_back(env)
        if not isinstance(env.unwrapped, Question):
            raise InputError(
                f"roles speak about a question that one answer ends, not about {type(env.unwrapped).__name__}; take "
                "another environment, without --env-processes."
            )

    def play(self, tasks: Sequence[RolloutTask], player: EpisodePlayer) -> list[Group]:
        script = self.script
        env = player.environments.take()
        terse = getattr(env.unwrapped, "prompt", "") == "terse"
        firsts = [begin(env, task.seed, task.params) for task in tasks]
        player.environments.give_back(env)
        examples = [self._draw_example(question, player.rng) for question, _ in firsts]
        said: list[_Said] = []
        for round_ in range(script.rounds):
            drawn = [self._draw_agents(player.rng) for _ in tasks]
            for number, line in enumerate(script.lines):
                again = round_ > 0 and number == 0
                parents: list[tuple[int, _Said | None]] = []
                if line.about or again:
                    about = line.name if again else line.about, round_ - again
                    parents += [(one.task, one) for one in said if (one.line.name, one.round) == about and one.readable]
                elif round_ == 0:
                    parents += [(task, None) for task in range(len(tasks))]
                fresh = [
                    _Said(task, line, round_, parent, *self._speaker(line.role, drawn[task][number], player))
                    for task, parent in parents
                    for _ in range(1 if again else line.count or tasks[task].samples)
                ]
                prompts = [self._prompt(one, firsts[one.task][0], examples[one.task], said, terse) for one in fresh]
                said += self._speak(fresh, prompts, tasks, player)
        self._give(said)
        for one in said:
            places = player.environments, player.limits.episode
            one.trajectory = self._trajectory(one, tasks[one.task], firsts[one.task][1], *places)
        grouped = self._group(said, tasks)
        for first, proposal, own in grouped:
            if first:  # the teacher learns the environment's verdict
                player.attempts.setdefault(proposal, []).extend(one.trajectory for one in own if one.trajectory)
        for one in said:
            if one.trajectory is not None and (one.line.role in script.pays or "*" in script.pays):
                unpaid = tuple(replace(turn, reward=0.0, reward_terms={}) for turn in one.trajectory.turns)
                one.trajectory = replace(one.trajectory, turns=unpaid)
        self._judge(grouped, player)
        if script.shared:
            share_rewards(said)
        self._keep_questions(said)
        self._metrics = self._count(said)
        groups = [
            (first, Group(proposal, tuple(one.trajectory for one in own if one.trajectory)))
            for first, proposal, own in grouped
        ]
        return [group for first, group in groups if first] + [group for first, group in groups if not first]

    def metrics(self) -> dict[str, float]:
        return self._metrics

    def state_dict(self) -> dict[str, Any]:
        return {"pool": self._pool} if self._pool else {}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        self._pool = list(state.get("pool", ()))

    # A line ----------------------------------------------------------------------------------------------------------

    def _draw_agents(self, rng: np.random.Generator) -> list[str]:
        """Draw the agent who speaks each line of a round; [""] for each if roles have policies."""
        lines, agents = len(self.script.lines), self.script.agents
        order = [name for _ in range(0, lines, max(agents, 1)) for name in rng.permutation(agents).tolist()]
        return [f"agent_{number}" for number in order[:lines]] if agents else [""] * lines

    def _speaker(self, role: str, agent: str, player: EpisodePlayer) -> tuple[str, EpisodePlayer]:
        """Return (agent, or else the role whose policy speaks, its player); the first two roles exchange their policies
        every ``swap`` updates."""
        pair = self.script.roles[:2]
        if self.script.swap and role in pair and player.step // self.script.swap % 2:
            role = pair[1 - pair.index(role)]
        return agent or role, player.for_role(agent or role)

    def _draw_example(self, question: str, rng: np.random.Generator) -> str:
        """Return a question of the pool in half of the cases, if there are any, and else the environment's."""
        if self._pool and rng.random() < 0.5:
            return self._pool[int(rng.integers(len(self._pool)))]
        return question

    def _prompt(self, one: _Said, question: str, example: str, said: Sequence[_Said], terse: bool) -> str:
        path = one.parent.path() if one.parent is not None else []
        texts = {
            each.line.name: str(each.value) if each.line.kind == "question" else each.text
            for each in path
            if each.round == one.round
        }
        past = set(map(id, path))
        shown = [
            each
            for each in said
            if one.round - self.script.horizon <= each.round < one.round
            and any(id(above) in past for above in each.path())
        ]
        history = "\n".join(f"{each.line.role}: {each.text}" for each in shown)
        template = one.line.terse if terse and one.line.terse else one.line.says
        known = {"question": question, "example": example, "history": history, **texts}
        try:
            return template.format_map(known).strip()
        except (KeyError, ValueError, IndexError) as error:
            raise InputError(
                f"the line {one.line.name!r} names {error}, which is not on its path; it can name {', '.join(known)}."
            ) from error

    def _speak(
        self, fresh: Sequence[_Said], prompts: Sequence[str], tasks: Sequence[RolloutTask], player: EpisodePlayer
    ) -> list[_Said]:
        """Let the speakers of a line answer; return the utterances that the context had room for."""
        for speaker in dict.fromkeys(one.speaker for one in fresh):
            pairs = [(one, prompt) for one, prompt in zip(fresh, prompts, strict=True) if one.speaker is speaker]
            for (one, _), turn in zip(pairs, speaker.ask([prompt for _, prompt in pairs]), strict=True):
                one.turn = turn
                if turn is not None:
                    one.value = READS[one.line.kind](turn.action)
                elif one.parent is None:
                    player.overlong.add((tasks[one.task].proposal, tasks[one.task].seed))
        return [one for one in fresh if one.turn is not None]

    # What comes of it ------------------------------------------------------------------------------------------------

    def _give(self, said: Sequence[_Said]) -> None:
        """Give the values that were read to the utterances on the path that get them."""
        for one in said:
            one.extras["agent"] = one.agent
            for name in filter(None, (line.gives.get(one.line.name) for line in self.script.lines)):
                # A proposal that cannot be read is judged by nobody, and worth nothing.
                lacking = 0.0 if one.line.kind == "question" and not one.readable else None
                one.extras.setdefault(name.removesuffix("[]"), [] if name.endswith("[]") else lacking)
        for one in said:
            for each in one.path():
                name = one.line.gives.get(each.line.name, "") if each.round == one.round else ""
                if name.endswith("[]"):
                    each.extras[name[:-2]].extend([one.value] if one.readable else [])
                elif name and one.readable:
                    each.extras[name] = one.value

    def _trajectory(
        self, one: _Said, task: RolloutTask, info: Mapping[str, Any], environments: Environments, most: int
    ) -> Trajectory:
        """Make the episode of an utterance, with the environment's verdict if it is an answer to its question."""
        turn, line = one.turn, one.line
        assert turn is not None
        success, progress, valid, error = False, 0.0, True, ""
        if line.answers:
            record = _judge_answer(environments, task, turn.action)
            step = record.steps[-1]
            success, progress, valid = bool(record.success), record.progress or 0.0, record.valid
            error = "" if valid else f"the environment could not judge it: {step.feedback or 'it gave no reason'}"
            turn = replace(
                turn,
                reward=step.reward,
                reward_terms=step.terms,
                extras=step.extras,
                action_error=step.action_error,
                feedback=step.feedback,
            )
        elif line.kind in ("mark", "score") and one.readable:
            answers = [each.trajectory for each in one.path() if each.trajectory is not None and each.line.answers]
            middle = 2 if line.kind == "mark" else 0.5
            success = bool(answers) and (one.value >= middle) == answers[0].success
            progress = float(success)
        if not one.readable:
            turn = replace(turn, action_error=f"The text has no {line.kind}.")
        return Trajectory(
            task_id=str(info.get("task_id", "")),
            params=dict(task.params),
            difficulty=float(info.get("difficulty") or 0.0),
            turns=(turn,),
            success=success,
            progress=progress,
            truncated=turn.finish == "length",
            valid=valid,
            error=error,
            max_tokens=most,
            seed=task.seed,
            extras=one.extras,
            role=line.role,
            policy=one.speaker.policy,
            version=one.speaker.version,
            weight=0.0 if self.script.pays.get(line.role) == "" else 1.0,
        )

    def _group(self, said: Sequence[_Said], tasks: Sequence[RolloutTask]) -> list[tuple[bool, int, list[_Said]]]:
        """Group utterances by task, line and round, as (True for the one group of each task that has its proposal,
        proposal, utterances)."""
        found: list[tuple[bool, int, list[_Said]]] = []
        reported = next(line for line in self.script.lines if line.role == self.script.reported)
        for number, task in enumerate(tasks):
            for round_ in range(self.script.rounds):
                for line in sorted(self.script.lines, key=lambda line: line is not reported):
                    own = [o for o in said if o.task == number and o.line is line and o.round == round_]
                    first = round_ == 0 and line is reported
                    if own or first:
                        found.append((first, task.proposal if first else -1, own))
        return found

    def _judge(self, grouped: Sequence[tuple[bool, int, list[_Said]]], player: EpisodePlayer) -> None:
        """Add the rewards of the script to the episodes."""
        joint: dict[int, list[_Said]] = {}
        parts = [(own[0].line.role, own) for *_, own in grouped if own]
        if "*" in self._judges:
            for _, own in parts:
                joint.setdefault(own[0].task, []).extend(own)
            parts = [("*", own) for own in joint.values()]
        for role, judge in self._judges.items():
            chosen = [own for name, own in parts if name == role]
            groups = [Group(-1, tuple(one.trajectory for one in own if one.trajectory)) for own in chosen]
            judged = judge_groups(
                [judge], groups, lambda turn, characters: player.renderer.tokens_until(turn.act_ids, characters)
            )
            for own, group in zip(chosen, judged, strict=True):
                for one, trajectory in zip(own, group.trajectories, strict=True):
                    one.trajectory = trajectory

    def _keep_questions(self, said: Sequence[_Said]) -> None:
        """Put questions into the pool whose score is high enough; the oldest leave."""
        if self.script.pool:
            scored = [one for one in said if one.line.kind == "question" and one.readable]
            scored = [one for one in scored if (one.extras.get("judge_score") or 0.0) >= self.script.accepts]
            self._pool = list(dict.fromkeys([*self._pool, *(str(one.value) for one in scored)]))[-self.script.pool :]

    def _count(self, said: Sequence[_Said]) -> dict[str, float]:
        metrics = {"roles/pool": float(len(self._pool))} if self.script.pool else {}
        for role in self.script.roles:
            own = [one for one in said if one.line.role == role and one.line.kind not in ("text", "answer")]
            if own:
                metrics[f"roles/unread_{role}"] = float(np.mean([not one.readable for one in own]))
            top = {"mark": 3, "score": 1.0}
            read = [one.value == top[one.line.kind] for one in own if one.readable and one.line.kind in top]
            if read:
                metrics[f"roles/highest_{role}"] = float(np.mean(read))
        return metrics


def share_rewards(said: Sequence[_Said]) -> None:
    """Pay each utterance the sum of its reward, of those on its path, and of the mean of those about it (CORY, arXiv
    2410.06101, section 4: both agents get the sum of the task rewards)."""
    own = {id(one): one.trajectory for one in said}
    for one in said:
        mine = own[id(one)]
        assert mine is not None
        above = [own[id(each)] for each in one.path()[1:]]
        below = [own[id(each)] for each in said if each.parent is one]
        around = [each for each in (*above, *below) if each is not None]
        partner = sum(each.outcome for each in above if each) + (
            float(np.mean([each.outcome for each in below if each])) if below else 0.0
        )
        turn = mine.turns[-1]
        terms = {**turn.reward_terms, "partner": partner}
        one.trajectory = replace(
            mine,
            turns=(replace(turn, reward=turn.reward + partner, reward_terms=terms),),
            valid=mine.valid and all(each.valid for each in around),
        )


def _judge_answer(environments: Environments, task: RolloutTask, text: str) -> Recording:
    """Return the environment's record of an answer to a task's question."""
    env = environments.take()
    record = Recording(*begin(env, task.seed, task.params))
    record.add(text, env.step(text))
    environments.give_back(env)
    return record
