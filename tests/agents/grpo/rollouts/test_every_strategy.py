"""What holds for every rollout strategy with a real model: log-probabilities belong to the tokens in their context."""

from __future__ import annotations

import json
from functools import partial

import numpy as np
import pytest
import torch
from palaestra.agents.grpo.batch.batch import collate
from palaestra.agents.grpo.batch.passes import Passes
from palaestra.agents.grpo.batch.trajectory import Origin
from palaestra.agents.grpo.objective.binding import Clock, bind_number
from palaestra.agents.grpo.recipes import RECIPES, Component
from palaestra.agents.grpo.recipes.stages import ROLLOUTS
from palaestra.agents.grpo.rollouts.environments import Environments
from palaestra.agents.grpo.rollouts.episode_player import EpisodePlayer
from palaestra.agents.grpo.rollouts.episode_starts import RolloutTask, TokenLimits

from .conftest import ARITHMETIC, GUESS  # isort: skip


def begun(params) -> dict:
    """Parameters with schedules at their first value."""
    return {
        key: bind_number(value)(Clock()) if isinstance(value, Component) else value for key, value in params.items()
    }


ELSEWHERE = ("preferences", "rule_pairs", "table", "roles", "evolve")
"""Strategies that play only some environments, or a script of a file; see test_rule_pairs, test_table, ..."""
STRATEGIES = {
    **{name: (name, {}) for name in ROLLOUTS if name not in ELSEWHERE},
    **{
        f"recipe {name}": (row.rollout.name, begun(row.rollout.params))
        for name, row in RECIPES.items()
        if row.rollout.name not in ELSEWHERE
    },
}


def declared(kind: str, params: dict) -> str:
    """A strategy's name and the values of all its parameters."""
    made = vars(ROLLOUTS.make(kind, **params))
    return str((kind, sorted((key, value) for key, value in made.items() if not key.startswith("_"))))


distinct = {declared(*value): name for name, value in reversed(STRATEGIES.items())}
every_strategy = pytest.mark.parametrize("name", sorted(distinct.values()))


KNOWN: dict = {}
ASKED: dict[str, set[str]] = {}
"""What each strategy has asked the engine for."""


def known(small, name: str, env: str):
    """What `play` returns, played once."""
    if (name, env) not in KNOWN:
        KNOWN[name, env] = play(small, name, env)
    return KNOWN[name, env]


def submit(send, asked: set[str], request) -> None:
    asked |= {ability for ability in ("entropies", "forced", "top") if getattr(request, ability)}
    send(request)


def play(small, name: str, env: str, seed: int = 1):
    kind, params = STRATEGIES[name]
    strategy = ROLLOUTS.make(kind, **params)
    environments = Environments(env)
    engine = small.engine(64, 512)
    engine.seed(seed)
    engine.submit = partial(submit, engine.submit, ASKED.setdefault(name, set()))
    limits = TokenLimits(action=3, episode=8, context=500)
    player = EpisodePlayer(environments, engine, small.renderer, limits, 1.0, np.random.default_rng(seed), version=3)
    params = environments.param_space.at(0.0)
    tasks = [RolloutTask(params, 5, 4, 0), RolloutTask(params, 6, 3, 1)]
    return strategy, strategy.play(tasks, player), tasks


@every_strategy
@pytest.mark.parametrize("env", [ARITHMETIC, GUESS])
def test_log_probabilities_are_those_of_the_tokens_in_the_trained_context(small, name, env):
    # Except where a hint has been taken out of that context, and where the policy did not sample.
    _, groups, _ = known(small, name, env)
    batch = collate(groups)
    measured = Passes().measure(small.model, batch).logp
    sampled = batch.written_by(Origin.POLICY, Origin.COPY) & ~batch.per_token(batch.rescore)
    assert torch.allclose(measured[sampled], batch.logp_mu[sampled], atol=1e-4)
    assert not batch.logp_mu[batch.written_by(Origin.HINT, Origin.TEACHER)].any()


@every_strategy
def test_groups_come_in_the_order_of_the_tasks_and_others_after_them(small, name):
    strategy, groups, tasks = known(small, name, GUESS)
    assert [g.proposal for g in groups[: len(tasks)] if g.proposal >= 0] == [
        t.proposal for t, g in zip(tasks, groups, strict=False) if g.proposal >= 0
    ]
    assert all(g.proposal == -1 for g in groups[len(tasks) :])
    provided = strategy.provides
    assert all((g.greedy is not None) == ("greedy" in provided) for g in groups[: len(tasks)])
    assert all(bool(g.drawn) == ("drawn" in provided) for g in groups[: len(tasks)])
    members = [t for g in groups[: len(tasks)] for t in g.trajectories]
    assert all(bool(t.nodes) == ("nodes" in provided) for t in members)
    assert all((t.nodes[0].value is not None) == ("node_values" in provided) for t in members if t.nodes)


@every_strategy
def test_abilities_of_the_engine_are_used_only_if_they_are_declared(small, name):
    strategy, _, _ = known(small, name, GUESS)
    known(small, name, ARITHMETIC)
    assert ASKED[name] <= strategy.abilities


def test_strategies_that_look_at_distributions_use_what_they_declare(small):
    for name, ability in {"entropy_branch": "entropies", "tool_branch": "entropies", "lookahead": "top"}.items():
        play(small, name, ARITHMETIC)
        assert ASKED[name] == {ability}


@every_strategy
def test_play_is_a_function_of_its_seeds(small, name):
    assert play(small, name, GUESS)[1] == known(small, name, GUESS)[1]


@every_strategy
def test_states_are_plain_data_that_can_be_put_back(small, name):
    strategy, _, _ = known(small, name, GUESS)
    state = json.loads(json.dumps(strategy.state_dict()))
    kind, params = STRATEGIES[name]
    other = ROLLOUTS.make(kind, **params)
    other.load_state_dict(state)
    assert other.state_dict() == strategy.state_dict()


@every_strategy
def test_a_prompt_that_does_not_fit_loses_its_own_task_alone(small, name):
    kind, params = STRATEGIES[name]
    environments = Environments("palaestra/GSM8K-v0")
    engine = small.engine(64, 512)
    player = EpisodePlayer(environments, engine, small.renderer, TokenLimits(3, 8, 260), 1.0, np.random.default_rng(0))
    easy, hard = (environments.param_space.at(difficulty) for difficulty in (0.0, 1.0))
    tasks = [RolloutTask(easy, 0, 4, 0), RolloutTask(hard, 5, 4, 1)]
    groups = ROLLOUTS.make(kind, **params).play(tasks, player)
    lost = [group for group in groups if group.proposal == 1]
    assert not any(group.valid for group in lost)
    assert player.overlong <= {(1, 5)}
    if any(group.trajectories for group in lost):
        assert player.overlong
    collate([group for group in groups if group.valid])
