"""Evaluation plays the tasks of `palaestra.evaluate`, and plays them as training does."""

from __future__ import annotations

from dataclasses import replace

import gymnasium
import numpy as np
import palaestra
import pytest
from palaestra.agents import LanguageAgent
from palaestra.agents.engines.scripted import ScriptedSampler
from palaestra.agents.evaluation.episodes import EpisodePlan
from palaestra.agents.grpo.config import TrainConfig, WarmUp
from palaestra.agents.grpo.learner import Learner
from palaestra.agents.grpo.rollouts.environments import Environments
from palaestra.agents.grpo.rollouts.episode_player import EpisodePlayer
from palaestra.agents.grpo.rollouts.episode_starts import RolloutTask, TokenLimits
from palaestra.agents.grpo.rollouts.independent import Independent
from palaestra.agents.grpo.run.validation import evaluate_policy
from palaestra.agents.language.renderer import MarkerRenderer
from palaestra.agents.language.tokenizer import character_tokenizer

CHOICE = "palaestra/MultipleChoice-v0"


def player_of(text: str, limits: TokenLimits, env_id: str = CHOICE, split: str = "test") -> EpisodePlayer:
    """A player of a policy that says one thing."""
    renderer = MarkerRenderer(character_tokenizer())
    sampler = ScriptedSampler(lambda session, context: renderer.action_ids(text), renderer.stop_ids)
    return EpisodePlayer(Environments(env_id, split=split), sampler, renderer, limits, 1.0, np.random.default_rng(0))


def plan_of(env_id: str, episodes: int) -> EpisodePlan:
    return EpisodePlan(gymnasium.make(env_id, split="test"), env_id, episodes, 0, None, None)


def test_the_tasks_and_results_are_those_of_evaluate():
    theirs = palaestra.evaluate(lambda observation: "B", CHOICE, episodes=60)
    ours = evaluate_policy(player_of("B", TokenLimits(8, 8, 4000)), plan_of(CHOICE, 60), "test")[0]
    assert 0 < ours.success.mean < 1
    assert (ours.success, ours.by_difficulty, ours.length) == (theirs.success, theirs.by_difficulty, theirs.length)


def test_each_way_of_playing_has_a_report_of_the_same_tasks(monkeypatch):
    player = player_of("B", TokenLimits(8, 8, 4000))
    play, temperatures = player.play, []

    def answer_by_temperature(starts, **given):
        played = play(starts, **given)
        temperatures.extend(start.temperature for start in starts)
        return [
            replace(one, trajectory=replace(one.trajectory, success=start.temperature == 0.0))
            for start, one in zip(starts, played, strict=True)
        ]

    monkeypatch.setattr(player, "play", answer_by_temperature)
    sampled, greedy = evaluate_policy(player, plan_of(CHOICE, 6), "test", (False, True))
    assert temperatures == [1.0, 0.0] * 6
    assert (sampled.agent, sampled.success.mean) == ("policy", 0.0)
    assert (greedy.agent, greedy.success.mean) == ("greedy policy", 1.0)


def test_a_token_budget_is_the_same_in_training_and_in_evaluation():
    # A letter fits into one token, and a sentence that ends with it does not.
    for text, tokens, fits in (("B", 1, True), ("It is B", 3, False), ("It is B", 7, True)):
        limits = TokenLimits(8, tokens, 4000)
        report = evaluate_policy(player_of(text, limits), plan_of(CHOICE, 60), "test")[0]
        player = player_of(text, limits, split="train")
        tasks = [RolloutTask(player.environments.param_space.at(i / 59), i, 1) for i in range(60)]
        trained = np.mean([group.trajectories[0].success for group in Independent().play(tasks, player)])
        assert (report.success.mean > 0, trained > 0) == (fits, fits)
        assert report.truncated == 1.0


def test_prompts_that_do_not_fit_are_invalid_and_left_out_of_the_means():
    gsm8k = "palaestra/GSM8K-v0"
    report = evaluate_policy(player_of("1", TokenLimits(4, 4, 300), gsm8k), plan_of(gsm8k, 40), "test")[0]
    assert report.invalid > 0
    assert report.episodes + report.invalid == 40


@pytest.fixture(scope="module")
def learner(small, tmp_path_factory) -> Learner:
    folder = tmp_path_factory.mktemp("runs")
    small.save(folder / "model")
    config = TrainConfig(
        env="palaestra/GuessNumber-v0",
        model=str(folder / "model"),
        teacher="random",
        warmup=WarmUp(steps=0),
        steps=1,
        prompts=4,
        samples=2,
        max_episode_tokens=3,
        lr=1e-9,
        final_episodes=8,
        threads=1,
    )
    learner = Learner.start(folder / "run", config)
    assert learner.run()
    return learner


def test_training_evaluation_and_an_agent_of_the_run_play_the_same_game(learner):
    # An untrained model seldom stops: three tokens are one turn. Without the budget it would take all of them.
    turns = learner.evaluate(20).length.mean
    assert turns == pytest.approx(1.0, abs=0.3)
    agent = LanguageAgent(learner.folder.path, seed=1)
    assert palaestra.evaluate(agent, "palaestra/GuessNumber-v0", episodes=20).length.mean == pytest.approx(
        turns, abs=0.3
    )
    free = LanguageAgent(learner.folder.path, max_episode_tokens=10_000, seed=1)
    assert palaestra.evaluate(free, "palaestra/GuessNumber-v0", episodes=4).length.mean > 3


def test_evaluations_repeat_themselves_and_greedy_ones_take_no_chances(learner):
    assert learner.evaluate(8, seed=3) == learner.evaluate(8, seed=3)
    greedy = [learner.evaluate(8, seed=3, greedy=True) for _ in range(2)]
    learner.step += 1  # another step samples with other noise
    assert learner.evaluate(8, seed=3, greedy=True) == greedy[0] == greedy[1]
