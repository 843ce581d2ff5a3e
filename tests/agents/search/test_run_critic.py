"""The critic of a run as a value of searches: in training, after a resumption, and in evaluations."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import palaestra
import pytest
import torch
from palaestra.agents import LanguageAgent
from palaestra.agents.grpo import Learner, StageOverrides, TrainConfig, WarmUp
from palaestra.agents.grpo.batch.batch import collate
from palaestra.agents.grpo.batch.passes import Passes
from palaestra.agents.grpo.batch.trajectory import Group
from palaestra.agents.grpo.components.auxiliaries.critic import state_values
from palaestra.agents.search.run_critic import load_critic
from palaestra.agents.search.search_agent import SearchAgent
from palaestra.errors import InputError
from palaestra.rewards import REWARDS, Reward

from ..grpo.conftest import trajectory
from .test_waves import ARITHMETIC, searched

SEARCH = 'search(by=\'best_first(leaves=1, children=2, at="token", every=1, value="critic")\')'


class Digits(Reward):
    """Share of digits in the response, which differs between the answers of an untrained model."""

    name = "digits-for-test"
    complete = True
    bounds = (0.0, 1.0)

    def value(self, episode: Any) -> float:
        return sum(letter.isdigit() for letter in episode.response) / max(1, len(episode.response))


if "digits-for-test" not in REWARDS:
    REWARDS.add("digits-for-test", Digits)


def configure(model: Path, **changes: Any) -> TrainConfig:
    stages = StageOverrides(rollout=SEARCH, shaping="digits-for-test", auxiliaries="critic(lr=0.05)")
    options = {
        **{"env": ARITHMETIC, "axes": {"terms": 2, "digits": 1}, "model": str(model), "recipe": "ppo", "steps": 3},
        **{"stages": stages, "teacher": "random", "prompts": 2, "warmup": WarmUp(steps=0), "samples": 6},
        **{"max_new_tokens": 4, "eval_every": 0, "final_episodes": 1, "checkpoint_every": 1},
        **{"keep_trajectories": 8, "threads": 1, "track": ()},
    }
    return TrainConfig(**{**options, **changes})


@pytest.fixture(scope="module")
def run(small, tmp_path_factory) -> Path:
    place = tmp_path_factory.mktemp("critic")
    small.save(place / "model")
    Learner.start(place / "run", configure(place / "model")).run()
    return place / "run"


def test_values_are_the_heads_outputs_at_the_states_before_the_tokens(run):
    agent = LanguageAgent(run)
    model = agent.language.model
    critic = load_critic(run, "newest", model)
    assert any(weight.abs().max() > 0 for weight in critic.head.last.parameters())  # it has been trained
    episodes = [trajectory(1.0, [([5, 6, 7], [8, 9])]), trajectory(0.0, [([5, 6], [7]), ([8], [9, 10])])]
    values = state_values(critic, model, Passes(), episodes)
    assert [len(each) for each in values] == [2, 3]
    batch = collate([Group(0, (episodes[1],))])
    hidden = Passes().measure(model, batch, hidden=True).hidden
    assert hidden is not None
    wanted = critic.head(hidden[batch.action].double()).float()
    assert torch.allclose(values[1], wanted, atol=1e-6)


def test_a_prefix_has_the_value_of_its_end_and_an_episode_that_before_its_last_token(world):
    w = world(ARITHMETIC, "1\n2")
    w.player.critic = lambda episodes: [torch.linspace(-0.1, 1.1, len(t.turns[0].act_ids)) for t in episodes]
    (search,) = searched(w, "independent(episodes=1, value='critic', at='token', every=1)")
    # Of the tokens "1", line feed, "2" and stop, the states before them have the values -0.1, 0.3, 0.7 and 1.1.
    assert search.tree.rewards == [pytest.approx(1.0)]
    ends = [(node.end, node.estimate) for node in search.tree.root.walk() if node.parent]
    assert [end for end, _ in ends] == [1, 2, 3, 4]
    assert [value for _, value in ends] == pytest.approx([0.3, 0.7, 1.0, 1.0])


def test_a_run_that_searches_by_its_critic_goes_on_with_the_same_trees(run, tmp_path):
    learner = Learner.start(tmp_path / "stopped", configure(run.parent / "model"))
    learner.run(lambda progress: learner.stop() if progress.phase == "train" and progress.step == 1 else None)
    Learner.resume(tmp_path / "stopped").run()
    for name in ("trajectories.jsonl", "metrics.jsonl"):
        assert (run / name).read_bytes() == (tmp_path / "stopped" / name).read_bytes()
    # From the second step on, the critic has learned, so that the trees are not those of a constant value.
    config = configure(run.parent / "model")
    verdict = replace(config.stages, rollout=SEARCH.replace("critic", "verdict"))
    Learner.start(tmp_path / "verdict", replace(config, stages=verdict)).run()
    rows = [(place / "metrics.jsonl").read_text().splitlines() for place in (run, tmp_path / "verdict")]
    assert rows[0][0] == rows[1][0]
    assert rows[0][1] != rows[1][1]


def test_an_evaluation_searches_by_the_critic_of_the_run(run):
    report = palaestra.evaluate(SearchAgent(str(run), "beam(budget=12, value='critic')"), ARITHMETIC, episodes=2)
    assert report.usage is not None
    assert report.usage.completion_tokens >= 2 * 12


def test_a_run_or_model_without_a_critic_is_refused(run, small, tmp_path):
    with pytest.raises(InputError, match="needs 'value', which nothing supplies: take --auxiliaries critic"):
        Learner.start(
            tmp_path / "run", configure(run.parent / "model", recipe="grpo", stages=StageOverrides(rollout=SEARCH))
        )
    with pytest.raises(InputError, match="cannot collect ahead of its updates"):
        Learner.start(tmp_path / "run", configure(run.parent / "model", staleness=1))
    for model, words in (
        (LanguageAgent(small), "give the folder of a run"),
        (str(run.parent / "model"), "has no critic"),
    ):
        with pytest.raises(InputError, match=words):
            palaestra.evaluate(SearchAgent(model, "beam(budget=12, value='critic')"), ARITHMETIC, episodes=1)
