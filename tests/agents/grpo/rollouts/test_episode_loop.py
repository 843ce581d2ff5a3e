"""Episodes as they are recorded by the player, with the known faults of other learners."""

from __future__ import annotations

from collections.abc import Sequence

import gymnasium
import numpy as np
import palaestra
import pytest
import torch
from palaestra.agents.engines.scripted import ScriptedSampler
from palaestra.agents.grpo.batch.batch import collate
from palaestra.agents.grpo.rollouts.environments import Environments
from palaestra.agents.grpo.rollouts.episode_player import EpisodePlayer
from palaestra.agents.grpo.rollouts.episode_starts import RolloutTask, Start, TokenLimits
from palaestra.agents.grpo.rollouts.independent import Independent
from palaestra.agents.language.renderer import MarkerRenderer
from palaestra.agents.language.tokenizer import character_tokenizer
from palaestra.errors import InputError

GUESS = "palaestra/GuessNumber-v0"
ROOM = TokenLimits(action=16, episode=1000, context=4000)


@pytest.fixture(scope="module")
def renderer():
    return MarkerRenderer(character_tokenizer())


def constant(renderer: MarkerRenderer, text: str) -> ScriptedSampler:
    """A sampler that always says ``text``."""
    return ScriptedSampler(lambda session, context: renderer.action_ids(text), renderer.stop_ids)


def play(task: RolloutTask, environments, sampler, renderer, limits: TokenLimits = ROOM):
    """The task's group."""
    player = EpisodePlayer(environments, sampler, renderer, limits, 1.0, np.random.default_rng(0))
    return Independent().play([task], player)[0]


def guesses(renderer, sampler, limits: TokenLimits = ROOM, samples: int = 2):
    environments = Environments(GUESS)
    params = environments.param_space.at(0.3)
    return play(RolloutTask(params, 5, samples, 42), environments, sampler, renderer, limits)


def test_a_group_plays_the_same_task_and_keeps_the_teachers_number(renderer):
    group = guesses(renderer, constant(renderer, "1"), samples=3)
    assert group.proposal == 42
    assert len({t.task_id for t in group.trajectories}) == 1
    assert len({t.turns[0].obs_ids for t in group.trajectories}) == 1


def test_every_observation_and_reward_of_the_environment_is_recorded(renderer):
    # Trap 12: neither the first observation nor a reward may be dropped. Replay the same actions by hand.
    trajectory = guesses(renderer, constant(renderer, "2")).trajectories[0]
    env = gymnasium.make(GUESS)
    observation, _ = env.reset(seed=5, options={"params": dict(trajectory.params)})
    total = 0.0
    for turn in trajectory.turns:
        assert turn.observation == observation
        observation, reward, terminated, truncated, info = env.step("2")
        assert turn.reward == reward
        total += reward
    assert terminated or truncated
    assert trajectory.env_return == total
    assert trajectory.success == info["is_success"]


def test_turns_extend_one_another_exactly_as_sampled(renderer):
    # Traps 3 and 19: the learner's ids are those that passed through the sampler, in order, and nothing else.
    seen: dict[int, list[int]] = {}

    def script(session: int, context: Sequence[int]) -> Sequence[int]:
        answer = renderer.action_ids("3")
        seen[session] = [*context, *answer]
        return answer

    group = guesses(renderer, ScriptedSampler(script, renderer.stop_ids))
    batch = collate([group])
    assert [batch.ids[batch.row_of == row].tolist() for row in range(2)] == [seen[0], seen[1]]


def test_observation_tokens_are_never_trained(renderer):
    group = guesses(renderer, constant(renderer, "3"))
    batch = collate([group])
    acted = [token for t in group.trajectories for turn in t.turns for token in turn.act_ids]
    assert batch.ids[batch.action].tolist() == acted


def test_mask_ids_and_logps_agree_when_a_budget_ends_in_the_middle_of_an_action(renderer):
    # Trap 4: the budget of the episode is met exactly, one short, and in the middle of an action.
    for budget in range(1, 9):
        group = guesses(renderer, constant(renderer, "12"), TokenLimits(action=3, episode=budget, context=4000))
        batch = collate([group])
        for trajectory in group.trajectories:
            assert trajectory.action_tokens <= budget
        assert int(batch.action.sum()) == sum(t.action_tokens for t in group.trajectories)
        assert len(batch.ids) == len(batch.action) == len(batch.logp_mu) == len(batch.turn_of)


def test_an_episode_that_outgrows_the_context_is_truncated_not_failed(renderer):
    first = guesses(renderer, constant(renderer, "1")).trajectories[0].turns
    context = len(first[0].obs_ids) + len(first[0].act_ids) + len(first[1].obs_ids)
    cut = guesses(renderer, constant(renderer, "1"), TokenLimits(16, 1000, context)).trajectories[0]
    assert len(cut.turns) == 1
    assert cut.truncated
    assert cut.valid


def test_a_prompt_that_leaves_no_room_to_answer_counts_for_nothing(renderer):
    lost = guesses(renderer, constant(renderer, "1"), TokenLimits(16, 1000, 10)).trajectories[0]
    assert (lost.valid, lost.turns) == (False, ())


def test_the_stop_token_is_an_action_token(renderer):
    # Trap 1: masked because it doubles as padding.
    group = guesses(renderer, constant(renderer, "1"))
    batch = collate([group])
    ends = torch.isin(batch.ids, torch.tensor(renderer.stop_ids))
    assert int(ends.sum()) == sum(len(t.turns) for t in group.trajectories)
    assert batch.action[ends].all()


def test_a_failed_machine_is_not_a_reward_of_zero(renderer):
    class Broken(palaestra.envs.Question):
        """An environment whose verifier is down.

        Description: d. Parameters: none.
        """

        param_space = palaestra.envs.ParamSpace([palaestra.envs.IntAxis("size", 1, 50)])

        def generate(self, rng, params):
            return palaestra.envs.Task(f"Say {int(rng.integers(1000))}.", "1")

        def oracle(self, task):
            return task.answer

        def verify(self, task, answer):
            return palaestra.rewards.Verdict(0.0, False, valid=False)

    if "test/Broken-v0" not in gymnasium.registry:
        palaestra.envs.register("test/Broken-v0", Broken)
    environments = Environments("test/Broken-v0")
    group = play(RolloutTask({"size": 3}, 1, 4), environments, constant(renderer, "1"), renderer)
    assert group.valid == ()
    assert collate([group]).rows == 0


def test_environments_without_text_actions_are_refused():
    student = "takes actions from Discrete, not text; train a student of arrays on it with --learner ppo"
    with pytest.raises(InputError, match=rf"{student}, or take its twin in text, palaestra/DoorKeyText-v0\."):
        Environments("palaestra/DoorKey-v0")


def test_a_demonstration_ends_where_the_context_does(small):
    from palaestra.agents.grpo.warmup import demonstrate

    env = gymnasium.make(GUESS)
    params = env.unwrapped.param_space.at(0.3)
    whole = demonstrate(env, small, 5, params, context=10_000)
    assert len(whole.turns) > 2
    first_two = sum(len(turn.obs_ids) + len(turn.act_ids) for turn in whole.turns[:2])
    assert demonstrate(env, small, 5, params, context=first_two).turns == whole.turns[:2]
    assert demonstrate(env, small, 5, params, context=first_two - 1).turns == whole.turns[:1]


def test_only_unaided_attempts_are_reported_to_the_teacher(renderer):
    environments = Environments(GUESS)
    player = EpisodePlayer(environments, constant(renderer, "1"), renderer, ROOM, 1.0, np.random.default_rng(0))
    task = RolloutTask(environments.param_space.at(0.3), 5, 1, 42)
    helped = [Start(task, hint="It is 7."), Start(task, oracle_turns=1), Start(task, temperature=0.0)]
    played = player.play([Start(task), *helped, Start(task, role="solver"), Start(task)])
    assert player.attempts == {42: [played[0].trajectory, played[-1].trajectory]}
