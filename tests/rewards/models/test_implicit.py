from __future__ import annotations

import copy
import math
from typing import Any

import gymnasium as gym
import pytest
import torch
from palaestra import rewards
from palaestra.errors import InputError
from palaestra.rewards import Episode, Step
from palaestra.rewards.models import ImplicitPRM, TokenEpisode
from torch import nn

LN2 = math.log(2)


class Bigram(nn.Module):
    """Logits of the next token from the last one."""

    def __init__(self, size: int = 5):
        super().__init__()
        self.table = nn.Parameter(torch.zeros(size, size))

    def forward(self, ids: torch.Tensor) -> torch.Tensor:
        return self.table[ids]


def tokens(ids: tuple[int, ...], outcome: float, group: str = "g", turns: Any = None) -> TokenEpisode:
    return TokenEpisode(ids, turns or ((1, len(ids)),), outcome, group)


GOOD, BAD = tokens((0, 1, 1, 2), 1.0), tokens((0, 3, 3, 4, 4), 0.0)
EPISODES = [GOOD, BAD, tokens((0, 1, 2), 1.0), tokens((0, 3, 4), 0.0)]


def trained(objective: str, steps: int = 30, **options: Any) -> ImplicitPRM:
    prm = ImplicitPRM(Bigram(), objective=objective, learning_rate=0.5, **options)
    for _ in range(steps):
        prm.update(EPISODES)
    return prm


@pytest.mark.parametrize("objective", ["ce", "pairwise"])
def test_a_model_equal_to_its_reference_pays_nothing_and_loses_ln_2(objective: str):
    prm = ImplicitPRM(Bigram(), objective=objective)
    assert all(reward == 0 for row in prm.token_rewards(EPISODES) for reward in row)
    loss = prm.loss(EPISODES)
    assert loss is not None
    assert loss.item() == pytest.approx(LN2)


@pytest.mark.parametrize("objective", ["ce", "pairwise"])
def test_training_on_outcomes_pays_the_tokens_of_successes_and_not_those_of_failures(objective: str):
    prm = trained(objective)
    loss = prm.loss(EPISODES)
    assert loss is not None
    assert loss.item() < 0.6
    good, bad = prm.sequence_rewards([GOOD, BAD]).tolist()
    assert good > 0 > bad
    unseen = prm.sequence_rewards([tokens((0, 1, 1, 1, 2), 0.5), tokens((0, 3, 3, 3, 4), 0.5)]).tolist()
    assert unseen[0] > unseen[1]


def test_rewards_are_beta_times_the_log_ratio_and_sum_to_that_of_the_sequence():
    model = Bigram()
    with torch.no_grad():
        model.table[0, 1] = 2.0
    prm = ImplicitPRM(model, Bigram(), beta=0.05)
    two_turns = tokens((0, 1, 0, 1, 1), 1.0, turns=((1, 2), (3, 5)))
    gain = 2.0 - math.log(4 + math.exp(2)) + math.log(5)
    assert prm.token_rewards([two_turns])[0] == pytest.approx((0.05 * gain, 0.05 * gain, 0.0), abs=1e-6)
    assert prm.turn_rewards([two_turns])[0] == pytest.approx((0.05 * gain, 0.05 * gain), abs=1e-6)
    # Tokens outside the turns are the environment's and get no reward.
    assert prm.sequence_rewards([two_turns]).item() == pytest.approx(0.1 * gain, abs=1e-6)


def test_padding_and_chunks_change_no_reward():
    prm = trained("ce", steps=3)
    alone = [prm.token_rewards([episode])[0] for episode in EPISODES]
    chunked = ImplicitPRM(prm.model, prm.reference, chunk=3)
    for rows in (prm.token_rewards(EPISODES), chunked.token_rewards(EPISODES)):
        assert [list(row) for row in rows] == [pytest.approx(list(row), abs=1e-7) for row in alone]


def test_the_cross_entropy_takes_soft_outcomes():
    prm = ImplicitPRM(Bigram())
    loss = prm.loss([tokens((0, 1), 0.5)])
    assert loss is not None
    loss.backward()
    assert prm.model.table.grad.abs().max() < 1e-7  # type: ignore[union-attr]


def test_pairs_are_of_one_group_with_different_outcomes():
    prm = ImplicitPRM(Bigram(), objective="pairwise")
    assert prm.loss([GOOD, tokens((0, 3), 0.0, "h")]) is None
    assert prm.loss([GOOD, tokens((0, 3), 1.0)]) is None
    before = prm.model.table.clone()  # type: ignore[union-attr]
    update = prm.update([GOOD])
    assert (update.loss, update.accuracy) == (None, None)
    assert torch.equal(before, prm.model.table)  # type: ignore[union-attr]


def test_rewards_are_those_of_before_the_step_unless_asked():
    before = ImplicitPRM(Bigram(), learning_rate=0.5).update(EPISODES)
    assert all(reward == 0 for row in before.rewards for reward in row)
    assert before.loss == pytest.approx(LN2)
    assert before.accuracy == 0.5
    after = ImplicitPRM(Bigram(), learning_rate=0.5).update(EPISODES, scores="after")
    assert after.rewards[0][0] > 0 > after.rewards[1][0]


def test_the_reference_is_a_frozen_copy():
    model = Bigram()
    prm = ImplicitPRM(model, learning_rate=0.5)
    prm.update(EPISODES)
    assert prm.reference.table.abs().max() == 0  # type: ignore[union-attr]
    assert model.table.abs().max() > 0


def test_functions_serve_as_models_when_told_what_to_train():
    table = nn.Parameter(torch.zeros(5, 5))

    def logps(ids: torch.Tensor) -> torch.Tensor:
        rows = table[ids[:, :-1]].log_softmax(-1).gather(-1, ids[:, 1:, None])[..., 0]
        return torch.cat([torch.zeros(len(ids), 1), rows], 1)

    def uniform(ids: torch.Tensor) -> torch.Tensor:
        return torch.full(ids.shape, -math.log(5))

    prm = ImplicitPRM(logps, uniform, parameters=[table], learning_rate=0.5)
    for _ in range(10):
        prm.update(EPISODES)
    assert prm.update(EPISODES).accuracy == 1.0
    with pytest.raises(InputError, match="parameters"):
        ImplicitPRM(logps)


def test_a_saved_state_continues_alike():
    one = trained("ce", steps=3)
    two = ImplicitPRM(Bigram(), learning_rate=0.5)
    two.load_state_dict(copy.deepcopy(one.state_dict()))
    assert one.update(EPISODES).rewards == two.update(EPISODES).rewards
    assert torch.equal(one.model.table, two.model.table)  # type: ignore[union-attr]
    with pytest.raises(InputError, match="another shape"):
        ImplicitPRM(Bigram(6)).load_state_dict(one.state_dict())


def test_as_a_reward_it_pays_step_by_step():
    prm = trained("ce", steps=3)
    record = tokens((0, 1, 0, 1, 1), 1.0, turns=((1, 2), (3, 5)))
    steps = (Step("a", "b", 0.0, {}, 1), Step("c", "d", 0.0, {}, 2))
    episode = Episode("t", {}, steps, True, 1.0, True, False, None, {"token_episode": record})
    reward = rewards.make("implicit-process", prm=prm)
    assert reward.values(episode) == prm.turn_rewards([record])[0]  # type: ignore[attr-defined]
    assert reward(episode).reward == pytest.approx(prm.sequence_rewards([record]).item())
    short = Episode("t", {}, steps[:1], True, 1.0, True, False, None, {"token_episode": record})
    with pytest.raises(InputError, match="2 turns for 1"):
        reward(short)
    other = Episode("t", {}, steps, True, 1.0, True, False, None, {"token_episode": [0, 1, 2]})
    with pytest.raises(InputError, match="TokenEpisode"):
        reward(other)


@pytest.mark.parametrize("wrong", [{"objective": "dpo"}, {"beta": -1.0}, {"learning_rate": -1.0}, {"chunk": 0}])
def test_wrong_arguments_are_refused(wrong: dict[str, Any]):
    with pytest.raises(InputError):
        ImplicitPRM(Bigram(), **wrong)
    with pytest.raises(InputError, match="requires_grad"):
        ImplicitPRM(Bigram().requires_grad_(False))


def test_a_language_model_trains_on_episodes_of_a_real_environment():
    """The oracle of an environment against a wrong answer, as the embedded Qwen3 reads them."""
    from palaestra.agents.language.model import LanguageModel

    language = LanguageModel.tiny(0)
    renderer = language.renderer
    env = gym.make("palaestra/Arithmetic-v0", difficulty=0.0)
    episodes = []
    for seed in range(4):
        for honest in (True, False):
            observation, _ = env.reset(seed=seed)
            answer = env.unwrapped.oracle() if honest else "no idea"  # type: ignore[attr-defined]
            success = env.step(answer)[4]["is_success"]
            asked = renderer.observation(str(observation), first=True)
            ids = (*asked, *renderer.action_ids(answer))
            turns = ((len(asked), len(ids)),)
            episodes.append(TokenEpisode(ids, turns, float(success), str(seed)))
    assert [episode.outcome for episode in episodes] == [1.0, 0.0] * 4
    prm = ImplicitPRM(language.model, objective="pairwise", learning_rate=1e-3)
    first = prm.update(episodes)
    assert first.loss == pytest.approx(LN2, abs=1e-5)
    for _ in range(4):
        last = prm.update(episodes)
    assert last.loss is not None
    assert last.loss < LN2 - 0.1
    assert last.accuracy == 1.0
