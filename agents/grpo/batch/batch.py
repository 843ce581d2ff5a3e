"""Flat batch of the learner: the tokens of all rows concatenated in one dimension, without padding.

Every per-token tensor is aligned with the token that it describes: index i holds the log-probability of token i given
the tokens before it, and the advantage and the weight of token i. Only `packing` shifts by one, from a token to the
hidden state that predicts it.

A row is one context of the model. Tokens belong to rows, rows to episodes, episodes to groups. An episode has one row,
plus one for every turn at which its context was restarted (`Turn.fresh`). Losses are defined over episodes; only the
forward pass sees rows.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import cached_property

import torch
from torch import Tensor

from ...language.soft_tokens import SoftToken
from .rounding import merge_equal
from .segments import segment_starts, segment_sum
from .soft_batch import SoftTokens
from .trajectory import Group, Origin, Trajectory


@dataclass(frozen=True, eq=False)
class Batch:
    """N tokens in S rows, K turns, E valid episodes and G groups.

    Attributes:
        ids: int64 [N].
        row_of, turn_of, episode_of: index of each token's row, turn and episode in the batch, int64 [N],
            non-decreasing.
        position: index of each token in its row, int64 [N].
        action: True where the token is part of an action, bool [N].
        origin: `Origin` of each token, int64 [N].
        node_of: number of the tree node (`Trajectory.nodes`) that each action token belongs to, unique in the batch; -1
            at other tokens; int64 [N].
        logp_mu: behaviour log-probability of action tokens, 0 elsewhere, float32 [N].
        row_start: index of the first token of each row, followed by N, int64 [S + 1].
        prompt_length: number of tokens before the first action of each row, int64 [S].
        episode_of_row: episode of each row, int64 [S].
        episode_of_turn: episode of each turn, int64 [K].
        turn_reward: reward of each turn, float64 [K]: `Turn.shaping`, plus the environment's reward unless
            `Trajectory.replaced`.
        process_reward: reward of each turn without the outcome, float64 [K]: `Turn.shaping` in the last turn and in
            episodes with `Trajectory.stepwise`, ``turn_reward`` in all other turns.
        spans: rewards of parts of actions (`Turn.spans`), already included in ``turn_reward`` or ``outcome``: (index of
            the part's last token, reward), in order.
        group_of: group of each episode, int64 [E].
        outcome: return of each episode, float64 [E]; returns of a group that differ only by rounding are made equal.
        truncated: True for episodes ended by a limit, bool [E].
        rescore: True for episodes whose importance ratios are relative to the policy at the beginning of the update,
            bool [E].
        trajectories: the E episodes.
        group_list: the G groups.
        max_tokens: largest budget of action tokens of an episode.
        logp_old, entropy: log-probability of each action token under the policy at the beginning of the update, and
            entropy of that policy's distribution, nats, float [N]. All measurements up to ``hidden`` are made before
            the update, 0 at tokens that are not actions, and None if no component needs them.
        logp_ref, logp_teacher, logp_prm: log-probability under the reference policy, the model to distil from, and the
            implicit process reward model, nats, float [N].
        flow_deviation: error of a velocity network at the hidden state of each token, float [N].
        value: the critic's value of the state before each token, float [N].
        hidden: last hidden state that predicts each token, float [N, H].
        soft: the soft tokens; None without any.
        head: function from hidden states to logits at the sampling temperature, ``(hidden [A, H], ids [U]) -> [A, U]``,
            on the policy's device; None if no component needs it.
        other_measurements: measurements that have no attribute (made by auxiliary models), by name, [N] each.
    """

    ids: Tensor
    row_of: Tensor
    turn_of: Tensor
    episode_of: Tensor
    position: Tensor
    action: Tensor
    origin: Tensor
    node_of: Tensor
    logp_mu: Tensor
    row_start: Tensor
    prompt_length: Tensor
    episode_of_row: Tensor
    episode_of_turn: Tensor
    turn_reward: Tensor
    process_reward: Tensor
    spans: tuple[tuple[int, float], ...]
    group_of: Tensor
    outcome: Tensor
    truncated: Tensor
    rescore: Tensor
    trajectories: tuple[Trajectory, ...]
    group_list: tuple[Group, ...]
    max_tokens: int
    logp_old: Tensor | None = None
    entropy: Tensor | None = None
    logp_ref: Tensor | None = None
    logp_teacher: Tensor | None = None
    logp_prm: Tensor | None = None
    flow_deviation: Tensor | None = None
    value: Tensor | None = None
    hidden: Tensor | None = None
    head: Callable[[Tensor, Tensor], Tensor] | None = None
    soft: SoftTokens | None = None
    other_measurements: Mapping[str, Tensor] = field(default_factory=dict)

    @property
    def rows(self) -> int:
        return len(self.episode_of_row)

    @property
    def episodes(self) -> int:
        return len(self.outcome)

    @property
    def groups(self) -> int:
        return len(self.group_list)

    @cached_property
    def kl_scale(self) -> Tensor | None:
        """Teacher's factor on each episode's KL penalties, float32 [E], NaN if unset; None if unset in all episodes."""
        asked = [t.kl_scale for t in self.trajectories]
        if all(scale is None for scale in asked):
            return None
        return torch.tensor([float("nan") if scale is None else scale for scale in asked])

    @cached_property
    def action_count(self) -> Tensor:
        """Number of action tokens of each episode, int64 [E]."""
        return self.sum_by_episode(self.action.long())

    @cached_property
    def prompt(self) -> Tensor:
        """Mask of the tokens before each episode's first action, without the first token of the row, bool [N]."""
        first = torch.zeros(self.rows, dtype=torch.bool)
        first[segment_starts(self.episode_of_row)] = True
        inside = first[self.row_of] & (self.position < self.prompt_length[self.row_of])
        return inside & (self.position > 0)

    def sum_by_episode(self, token_value: Tensor) -> Tensor:
        """Sum a token value [N] over each episode: [E]."""
        return segment_sum(token_value, self.episode_of, self.episodes)

    def sum_by_group(self, episode_value: Tensor) -> Tensor:
        """Sum an episode value [E] over each group: [G]."""
        return segment_sum(episode_value, self.group_of, self.groups)

    def per_token(self, episode_value: Tensor) -> Tensor:
        """Repeat a value per episode [E] at each of its tokens [N]."""
        return episode_value[self.episode_of]

    def written_by(self, *origins: Origin) -> Tensor:
        """Return the mask of action tokens whose origin is one of ``origins``, bool [N]."""
        wanted = torch.zeros(len(Origin), dtype=torch.bool)
        wanted[list(origins)] = True
        return self.action & wanted[self.origin]

    def measurement(self, name: str) -> Tensor:
        """Return a measurement by name; RuntimeError if it is missing. Components that read it must declare `needs`.

        A measure of the episodes with a number for each action token (`Trajectory.extras`) is placed at those tokens; 0
        in episodes for which it could not be determined.
        """
        tensor = self.other_measurements.get(name) if name in self.other_measurements else getattr(self, name, None)
        if tensor is None and any(name in t.extras for t in self.trajectories):
            tensor = torch.zeros(len(self.ids))
            rows = zip((t.extras.get(name) for t in self.trajectories), self.action_count.tolist(), strict=True)
            tensor[self.action] = torch.tensor([value for row, count in rows for value in row or [0.0] * count])
        if tensor is None:
            raise RuntimeError(f"{name!r} was not measured; the component that reads it must declare needs({name!r}).")
        return tensor

    def with_(self, **measured: Tensor) -> Batch:
        """Return a copy with the measurements added; names that are not attributes go into ``other_measurements``."""
        known = {item.name for item in fields(self)}
        own = {name: value for name, value in measured.items() if name in known}
        others = {name: value for name, value in measured.items() if name not in known}
        return replace(self, **own, other_measurements={**self.other_measurements, **others})


def collate(groups: Sequence[Group]) -> Batch:
    """Flatten the valid trajectories of ``groups`` into a batch; a group's number is its index in ``groups``."""
    members = [(g, t) for g, group in enumerate(groups) for t in group.valid]
    ids: list[int] = []
    action: list[bool] = []
    origin: list[int] = []
    logp: list[float] = []
    node_of: list[int] = []
    turn_lengths: list[int] = []
    turn_episode: list[int] = []
    turn_reward: list[float] = []
    process_reward: list[float] = []
    spans: list[tuple[int, float]] = []
    row_lengths: list[int] = []
    row_episode: list[int] = []
    prompts: list[int] = []
    nodes: dict[tuple[int, str], int] = {}
    soft: dict[int, SoftToken] = {}
    for episode, (g, trajectory) in enumerate(members):
        path = _node_of_each_token(g, episode, trajectory, nodes)
        for number, turn in enumerate(trajectory.turns):
            observed, acted = len(turn.obs_ids), len(turn.act_ids)
            if number == 0 or turn.fresh:
                row_lengths.append(0)
                row_episode.append(episode)
                prompts.append(observed)
            ids += turn.obs_ids
            if turn.thought:
                soft |= enumerate(turn.thought, len(ids))
            ids += turn.act_ids
            action += [False] * observed + [True] * acted
            origin += [int(Origin.ENVIRONMENT)] * observed
            origin += turn.token_origins
            logp += [0.0] * observed
            logp += turn.logps
            node_of += [-1] * observed
            node_of += path[:acted]
            del path[:acted]
            row_lengths[-1] += observed + acted
            turn_lengths.append(observed + acted)
            turn_episode.append(episode)
            turn_reward.append(turn.shaping + (0.0 if trajectory.replaced else turn.reward))
            # The last turn's reward of the environment is the outcome, or holds it.
            ends = number == len(trajectory.turns) - 1
            process_reward.append(turn.shaping if trajectory.stepwise or ends else turn_reward[-1])
            spans += [(len(ids) - acted + tokens - 1, reward) for tokens, reward in turn.spans if tokens]
    length = torch.tensor(row_lengths, dtype=torch.int64)
    row_start = torch.cat((torch.zeros(1, dtype=torch.int64), length.cumsum(0)))
    row_of = torch.repeat_interleave(torch.arange(len(length)), length)
    turns = torch.tensor(turn_lengths, dtype=torch.int64)
    episode_of_row = torch.tensor(row_episode, dtype=torch.int64)
    group_of = torch.tensor([g for g, _ in members], dtype=torch.int64)
    return Batch(
        ids=torch.tensor(ids, dtype=torch.int64),
        row_of=row_of,
        turn_of=torch.repeat_interleave(torch.arange(len(turns)), turns),
        episode_of=episode_of_row[row_of],
        position=torch.arange(len(ids)) - row_start[row_of],
        action=torch.tensor(action, dtype=torch.bool),
        origin=torch.tensor(origin, dtype=torch.int64),
        node_of=torch.tensor(node_of, dtype=torch.int64),
        logp_mu=torch.tensor(logp, dtype=torch.float32),
        row_start=row_start,
        prompt_length=torch.tensor(prompts, dtype=torch.int64),
        episode_of_row=episode_of_row,
        episode_of_turn=torch.tensor(turn_episode, dtype=torch.int64),
        turn_reward=torch.tensor(turn_reward, dtype=torch.float64),
        process_reward=torch.tensor(process_reward, dtype=torch.float64),
        spans=tuple(spans),
        group_of=group_of,
        outcome=merge_equal(torch.tensor([t.outcome for _, t in members], dtype=torch.float64), group_of),
        truncated=torch.tensor([t.truncated for _, t in members], dtype=torch.bool),
        rescore=torch.tensor([t.rescore for _, t in members], dtype=torch.bool),
        trajectories=tuple(t for _, t in members),
        group_list=tuple(groups),
        max_tokens=max((t.max_tokens for _, t in members), default=1),
        soft=SoftTokens.of_tokens(soft, len(ids)) if soft else None,
    )


def _node_of_each_token(
    group: int, episode: int, trajectory: Trajectory, known: dict[tuple[int, str], int]
) -> list[int]:
    """Return the node number of each action token. A trajectory without nodes counts as a single node.

    ``known`` maps (group, key of the node) to its number; unknown nodes are added.
    """
    if not trajectory.nodes:
        return [known.setdefault((group, f"\0{episode}"), len(known))] * trajectory.action_tokens
    path: list[int] = []
    for node in trajectory.nodes:
        path += [known.setdefault((group, node.key), len(known))] * node.tokens
    return path
