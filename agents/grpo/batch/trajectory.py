"""Turns, trajectories and groups: the record of a rollout as immutable data without tensors, and its form as JSON.

Token ids and log-probabilities are kept exactly as sampled; the text is for display and never tokenized again. Every
token has an `Origin`, which distinguishes sampled from given tokens. A saved group is exact, as JSON writes a float in
the shortest form that reads back as the same number; NumPy numbers become Python numbers.
"""

from __future__ import annotations

import math
from collections import ChainMap
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import IntEnum
from functools import cached_property
from typing import Any, Literal, cast

import numpy as np

from ....rewards import Episode, Step
from ...language.soft_tokens import SoftToken
from .rounding import differ, exact_sum


class Origin(IntEnum):
    """Source of a token.

    POLICY: sampled by the policy. HINT: part of a solution that was given to the policy inside its answer. TEACHER:
    written by another model or a solver. COPY: sampled by the policy and trained in another trajectory, from which this
    trajectory branched off. ENVIRONMENT: observations, and the chat template's tokens around messages.
    """

    POLICY = 0
    HINT = 1
    TEACHER = 2
    COPY = 3
    ENVIRONMENT = 4


@dataclass(frozen=True)
class Turn:
    """One exchange with the environment.

    Attributes:
        obs_ids: the tokens appended before this action (the delta, never a re-rendered history).
        act_ids: the tokens of the action, including the stop token if one was sampled.
        logps: behaviour log-probability of each action token, nats; 0 for tokens that the policy did not sample.
        finish: "stop" or "length" (the token budget ended the action).
        reward, reward_terms: the environment's reward for the action, and the named terms that it consists of.
        extras: the environment's ``info["extras"]``, which rewards read and the agent does not see.
        feedback: the environment's comment on the action, as text.
        shaping, shaping_terms: reward of the learner's shaping stage for this turn, and the named terms that it
            consists of.
        spans: rewards of parts of the action, already included in the reward of the turn or the episode: (number of
            action tokens up to the end of the part, reward of the part).
        origins: `Origin` of each action token; () if the policy sampled all.
        entropies: entropy in nats of the distribution that each action token was drawn from; () if not recorded.
        solved: True if the environment has reported success by the end of this turn: ``info["is_success"]``, or the
            extra "solved" of a block of episodes.
        seconds: duration of the environment's step: the extra "seconds" of an environment that reports one, or else
            measured; 0 unless a component needs it.
        thought: the soft tokens that the model read in place of the first action tokens; see `sampler.Completion`.
        fresh: True if the context restarts here: ``obs_ids`` is all that the model sees before the action.
    """

    obs_ids: tuple[int, ...]
    act_ids: tuple[int, ...]
    logps: tuple[float, ...]
    finish: Literal["stop", "length"]
    reward: float
    observation: str = ""
    action: str = ""
    reward_terms: Mapping[str, float] = field(default_factory=dict)
    extras: Mapping[str, Any] = field(default_factory=dict)
    action_error: str | None = None
    feedback: str = ""
    shaping: float = 0.0
    shaping_terms: Mapping[str, float] = field(default_factory=dict)
    spans: tuple[tuple[int, float], ...] = ()
    origins: tuple[int, ...] = ()
    entropies: tuple[float, ...] = ()
    fresh: bool = False
    solved: bool = False
    seconds: float = 0.0
    thought: tuple[SoftToken, ...] = ()

    def __post_init__(self) -> None:
        if len(self.act_ids) != len(self.logps):
            raise ValueError(f"{len(self.act_ids)} action ids but {len(self.logps)} log-probabilities.")
        if self.origins and len(self.origins) != len(self.act_ids):
            raise ValueError(f"{len(self.act_ids)} action ids but {len(self.origins)} origins.")
        if self.entropies and len(self.entropies) != len(self.act_ids):
            raise ValueError(f"{len(self.act_ids)} action ids but {len(self.entropies)} entropies.")
        if len(self.thought) > len(self.act_ids):
            raise ValueError(f"{len(self.act_ids)} action ids but {len(self.thought)} soft tokens.")
        if not self.obs_ids:
            raise ValueError("a turn needs at least one observation token before its action.")
        if not math.isfinite(self.reward):
            raise ValueError(f"a turn's reward must be finite, not {self.reward}.")

    @property
    def terms(self) -> Mapping[str, float]:
        """Reward terms of the environment and of the shaping stage; of equal names, the shaping stage's value."""
        return {**self.reward_terms, **self.shaping_terms}

    @property
    def token_origins(self) -> tuple[int, ...]:
        """Origin of each action token."""
        return self.origins or (Origin.POLICY,) * len(self.act_ids)

    def attributed_to(self, origin: Origin) -> Turn:
        """Return a copy whose action tokens have ``origin`` and log-probability 0, as not sampled by the policy. Tokens
        take the place of soft ones."""
        count = len(self.act_ids)
        return replace(self, logps=(0.0,) * count, origins=(int(origin),) * count, entropies=(), thought=())


def last_context(turns: Sequence[Turn]) -> Sequence[Turn]:
    """Return the turns since the last restart of the context."""
    return turns[max((number for number, turn in enumerate(turns) if turn.fresh), default=0) :]


@dataclass(frozen=True)
class Node:
    """A stretch of a trajectory's action tokens between two branching points.

    Attributes:
        key: identifier of the stretch, equal in every trajectory of the group that contains it.
        tokens: number of action tokens; the nodes of a trajectory together cover all of its action tokens.
        value: estimated return from the state *before* this stretch, or None.
    """

    key: str
    tokens: int
    value: float | None = None


@dataclass(frozen=True)
class Trajectory:
    """One episode.

    Attributes:
        valid: False if the environment or a verifier failed (sandbox down, timeout); such an episode is neither trained
            nor counted in any baseline or normaliser.
        error: failure message of an invalid episode.
        truncated: True if the turn limit or the token budget ended the episode.
        seed: seed of the task instance, given ``params``; -1 if unknown.
        extras: the learner's measurements of the episode, by the names of `rewards.measures.MEASURES`.
        judged: True once the rewards of the shaping stage have scored the episode, which happens once.
        remarks: the shaping stage's remarks on the episode, one per line (unmet criteria, for example).
        stepwise: True if a shaping reward gave rewards to single turns; `Turn.shaping` is then the process reward.
        shaping: reward terms of the learner's shaping stage for the whole episode.
        replaced: True if ``shaping`` replaces the environment's rewards; False if it is added to them.
        max_tokens: budget of action tokens for the whole episode.
        role: role of the policy if it plays several ("proposer", "solver", "player 0"); "" otherwise.
        policy: name of the policy that sampled the episode, if the run has several; "" for the run's own.
        version: number of optimiser batches that the sampling policy had been trained on; -1 if no policy sampled the
            episode.
        rescore: True if ``logps`` were sampled in another context (with a hint that is left out here); importance
            ratios are then relative to the policy at the beginning of the update.
        nodes: path of the trajectory through the group's tree, from the root; () if it shares no prefix.
        advantage: advantage assigned beforehand (to replayed episodes), or None.
        guided: share of the solution that was revealed to the policy, in [0, 1].
        system: system text that the teacher requested; "" if the conversation had the run's own.
        weight: teacher's factor on the weight of the episode's tokens in the loss, at least 0.
        advantage_weight: teacher's factor on the episode's advantages, at least 0.
        kl_scale: teacher's factor on the KL penalties of the episode's tokens, at least 0; None if the teacher set
            none.
    """

    task_id: str
    params: Mapping[str, Any]
    difficulty: float
    turns: tuple[Turn, ...]
    success: bool
    progress: float
    truncated: bool
    valid: bool
    max_tokens: int
    seed: int = -1
    extras: Mapping[str, Any] = field(default_factory=dict)
    judged: bool = False
    remarks: str = ""
    error: str = ""
    stepwise: bool = False
    shaping: Mapping[str, float] = field(default_factory=dict)
    replaced: bool = False
    role: str = ""
    policy: str = ""
    version: int = 0
    rescore: bool = False
    nodes: tuple[Node, ...] = ()
    advantage: float | None = None
    guided: float = 0.0
    system: str = ""
    weight: float = 1.0
    advantage_weight: float = 1.0
    kl_scale: float | None = None

    def __post_init__(self) -> None:
        if self.nodes and sum(node.tokens for node in self.nodes) != self.action_tokens:
            raise ValueError(
                f"the nodes cover {sum(node.tokens for node in self.nodes)} of {self.action_tokens} action tokens."
            )

    @property
    def env_return(self) -> float:
        """Sum of the environment's rewards."""
        return exact_sum(turn.reward for turn in self.turns)

    @property
    def outcome(self) -> float:
        """Return of the episode: environment rewards plus ``shaping``, or ``shaping`` alone if ``replaced``."""
        return exact_sum([*self.shaping.values(), *(() if self.replaced else (turn.reward for turn in self.turns))])

    @property
    def action_tokens(self) -> int:
        """Number of action tokens of any origin."""
        return sum(len(turn.act_ids) for turn in self.turns)

    def attributed_to_teacher(self) -> Trajectory:
        """Return a copy whose action tokens all have the origin TEACHER, without nodes, and with version -1."""
        turns = tuple(turn.attributed_to(Origin.TEACHER) for turn in self.turns)
        return replace(self, turns=turns, nodes=(), version=-1)

    @cached_property
    def episode(self) -> Episode:
        """The trajectory as the `Episode` that rewards score."""
        steps = tuple(
            Step(
                *(t.observation, t.action, t.reward, t.reward_terms, len(t.act_ids), t.logps),
                *(t.action_error, t.feedback, t.extras),
            )
            for t in self.turns
        )
        supplied = self.turns[-1].extras if self.turns else {}
        return Episode(
            self.task_id,
            self.params,
            steps,
            self.success,
            self.progress,
            self.valid,
            self.truncated,
            self.max_tokens,
            # A ChainMap instead of a copy: the environment computes some of its extras when they are read.
            ChainMap(cast(Any, self.extras), cast(Any, supplied)) if self.extras else supplied,
        )


@dataclass(frozen=True)
class Group:
    """Samples of one task. Their number may differ between groups.

    Attributes:
        proposal: id of the teacher's proposal for this task; -1 if there is none.
        greedy: return of a further episode played at temperature 0, or None.
        drawn: returns of all episodes sampled for the task, if only some were kept in ``trajectories``; () otherwise.
        pair: number that two groups share if they must be trained in one optimiser step; -1 for a group without a
            partner.
    """

    proposal: int
    trajectories: tuple[Trajectory, ...]
    greedy: float | None = None
    drawn: tuple[float, ...] = ()
    pair: int = -1

    @property
    def valid(self) -> tuple[Trajectory, ...]:
        """The valid trajectories."""
        return tuple(t for t in self.trajectories if t.valid)

    @property
    def has_variance(self) -> bool:
        """True if the returns of the valid trajectories differ by more than rounding."""
        return differ([t.outcome for t in self.valid])

    def invalidate(self, lost: Sequence[bool]) -> Group:
        """Mark the trajectories as invalid for which ``lost`` is True."""
        if not any(lost):
            return self
        marked = (replace(t, valid=False) if gone else t for t, gone in zip(self.trajectories, lost, strict=True))
        return replace(self, trajectories=tuple(marked))


# As JSON --------------------------------------------------------------------------------------------------------------


def group_to_json(group: Group) -> dict[str, Any]:
    """Turn a group into data for `json.dumps`; `group_from_json` is the inverse."""
    return {
        "proposal": group.proposal,
        "trajectories": [trajectory_to_json(trajectory) for trajectory in group.trajectories],
        "greedy": group.greedy,
        "drawn": list(group.drawn),
        **({"pair": group.pair} if group.pair >= 0 else {}),
    }


def group_from_json(data: Mapping[str, Any]) -> Group:
    """Read a group written by `group_to_json`."""
    members = tuple(trajectory_from_json(item) for item in data["trajectories"])
    return Group(data["proposal"], members, data["greedy"], tuple(data["drawn"]), data.get("pair", -1))


def trajectory_to_json(trajectory: Trajectory) -> dict[str, Any]:
    """Convert a trajectory to data for `json.dumps`; `trajectory_from_json` is the inverse, but for dropped extras.

    Only the last turn keeps its extras: earlier ones are not read after the end, and each holds the whole past of the
    episode.
    """
    data = {name: to_plain(getattr(trajectory, name)) for name in _TRAJECTORY}
    for name in ("policy", "system"):
        if not data[name]:
            del data[name]
    turns = [*(replace(turn, extras={}) for turn in trajectory.turns[:-1]), *trajectory.turns[-1:]]
    data["turns"] = [
        {name: to_plain(getattr(turn, name)) for name in _TURN if name != "thought" or turn.thought} for turn in turns
    ]
    data["nodes"] = [[node.key, node.tokens, node.value] for node in trajectory.nodes]
    return data


def trajectory_from_json(data: Mapping[str, Any]) -> Trajectory:
    """Read a trajectory written by `trajectory_to_json`."""
    turns = []
    for turn in data["turns"]:
        spans = tuple((int(tokens), float(reward)) for tokens, reward in turn.get("spans", ()))
        thought = tuple(SoftToken(*map(tuple, token)) for token in turn.get("thought", ()))
        exact = {"spans": spans, "thought": thought, **{name: tuple(turn[name]) for name in _SEQUENCES}}
        turns.append(Turn(**{**turn, **exact}))
    nodes = tuple(Node(*node) for node in data["nodes"])
    return Trajectory(**{**data, "turns": tuple(turns), "nodes": nodes})


_SEQUENCES = ("obs_ids", "act_ids", "logps", "origins", "entropies")
_TURN = tuple(Turn.__dataclass_fields__)
_TRAJECTORY = tuple(name for name in Trajectory.__dataclass_fields__ if name not in ("turns", "nodes"))


def to_plain(value: Any) -> Any:
    """Convert a value to plain JSON types."""
    if isinstance(value, Mapping):
        return {key: to_plain(item) for key, item in value.items()}
    if isinstance(value, (tuple, list)):
        return [to_plain(item) for item in value]
    if isinstance(value, np.ndarray):
        return value.tolist()
    if isinstance(value, np.generic):
        return value.item()
    return int(value) if isinstance(value, int) and not isinstance(value, bool) else value
