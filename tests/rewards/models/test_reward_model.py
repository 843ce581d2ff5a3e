from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from palaestra import rewards
from palaestra.errors import InputError
from palaestra.rewards import Episode, Step
from palaestra.rewards.models import (
    Preference,
    RewardModel,
    bradley_terry_loss,
    contrast,
    corrupted_pairs,
    listwise_loss,
    preference_pairs,
)
from torch import nn

LN2 = math.log(2)


def episode(text: str, success: bool, task: str = "t") -> Episode:
    return Episode(task, {}, (Step("Name a colour.", text, 0.0, {}, 1),), success, float(success), True, False, None)


COLOURS, OTHERS = ["red", "green", "blue", "a dark red"], ["seven", "cat", "nine and six", "a dog"]
PAIRS = preference_pairs([episode(t, True) for t in COLOURS] + [episode(t, False) for t in OTHERS])


def small(seed: int = 0) -> RewardModel:
    return RewardModel(hidden=8, seed=seed)


def test_a_lead_equal_to_the_margin_costs_ln_2():
    loss = bradley_terry_loss(torch.tensor([1.5, 0.0]), torch.tensor([0.5, 0.0]), torch.tensor([1.0, 0.0]))
    assert loss.tolist() == pytest.approx([LN2, LN2])


def test_the_loss_is_minus_log_sigma_of_the_lead():
    loss = bradley_terry_loss(torch.tensor([2.0]), torch.tensor([0.0]))
    assert float(loss) == pytest.approx(-math.log(1 / (1 + math.exp(-2))))


def test_flipping_a_pair_is_swapping_its_arguments():
    chosen, rejected = torch.tensor([0.3, -1.0]), torch.tensor([0.9, 2.0])
    assert torch.equal(bradley_terry_loss(chosen, rejected, smoothing=1.0), bradley_terry_loss(rejected, chosen))


def test_smoothing_mixes_the_two_labels():
    chosen, rejected = torch.tensor([1.0]), torch.tensor([0.0])
    mixed = 0.9 * bradley_terry_loss(chosen, rejected) + 0.1 * bradley_terry_loss(rejected, chosen)
    assert float(bradley_terry_loss(chosen, rejected, smoothing=0.1)) == pytest.approx(float(mixed))


def test_the_listwise_loss_averages_over_right_and_wrong_pairs():
    # Two right, one wrong: leads of 1 and 0.
    loss = listwise_loss(torch.tensor([1.0, 0.0, 0.0]), torch.tensor([True, True, False]))
    assert float(loss) == pytest.approx((math.log(1 + math.exp(-1)) + LN2) / 2)


def test_the_listwise_loss_of_equal_labels_is_zero_with_a_gradient():
    scores = torch.tensor([1.0, 2.0], requires_grad=True)
    listwise_loss(scores, torch.tensor([True, True])).backward()
    assert scores.grad is not None
    assert scores.grad.tolist() == [0, 0]


def test_contrast_is_least_when_all_scores_tie():
    assert float(contrast(torch.zeros(4))) == 0.5
    assert float(contrast(torch.tensor([0.0, 1.0]))) == pytest.approx(1 / (1 + math.exp(-1)))


def test_training_orders_the_pairs_and_generalises_to_a_new_phrase():
    model = small()
    fit = model.fit(PAIRS, epochs=80)
    assert fit.accuracy == 1.0
    assert fit.losses[-1] < 0.2 < fit.losses[0]
    blue, cat = model.score(["Name a colour."] * 2, ["a light blue", "a small cat"])
    assert blue > cat


def test_equal_seeds_give_equal_models_and_leave_the_global_generator_alone():
    torch.manual_seed(5)
    before = torch.random.get_rng_state()
    one, two = small(3), small(3)
    fits = [model.fit(PAIRS, epochs=3, seed=1) for model in (one, two)]
    assert fits[0] == fits[1]
    assert one.score(["p"], ["r"]) == two.score(["p"], ["r"])
    assert one.score(["p"], ["r"]) != small(4).score(["p"], ["r"])
    assert torch.equal(torch.random.get_rng_state(), before)


def test_a_flipped_pair_trains_the_other_way():
    model = small()
    model.fit([Preference("p", "red", "cat", smoothing=1.0)], epochs=30)
    assert model.accuracy([Preference("p", "cat", "red")]) == 1.0


def test_a_margin_widens_the_lead():
    def lead(margin: float) -> float:
        model = small()
        pair = Preference("p", "red", "cat", margin=margin)
        model.fit([pair], epochs=30)
        return model.differences([pair])[0]

    assert lead(3.0) > lead(0.0) > 0


def test_a_planted_exploit_falls_below_the_honest_answer_by_training_on_corrupted_negatives():
    # The model was taught to like the exploit; rule-accepted rollouts against corrupted copies teach it otherwise.
    tasks = [f"What is {n} + {n}?" for n in range(10, 30)]
    honest = [
        Episode(t, {}, (Step(t, f"\\boxed{{{2 * n}}}", 1, {}, 1),), True, 1, True, False, None)
        for n, t in zip(range(10, 30), tasks)
    ]
    exploit = "This is certainly correct."
    model = small()
    model.fit([Preference(e.prompt, exploit, e.response) for e in honest], epochs=5)
    assert all(model.score([e.prompt], [exploit]) > model.score([e.prompt], [e.response]) for e in honest)
    pairs = corrupted_pairs(honest, np.random.default_rng(0))
    pairs += [Preference(e.prompt, e.response, exploit) for e in honest]
    model.fit(pairs, epochs=30)
    assert all(model.score([e.prompt], [exploit]) < model.score([e.prompt], [e.response]) for e in honest)


def test_a_saved_model_scores_alike(tmp_path: Path):
    model = small(2)
    model.fit(PAIRS, epochs=2)
    model.save(tmp_path / "deep" / "model.safetensors")
    loaded = RewardModel.load(tmp_path / "deep" / "model.safetensors")
    assert loaded.score(["p"] * 2, ["red", "cat"]) == model.score(["p"] * 2, ["red", "cat"])
    assert [path.name for path in (tmp_path / "deep").iterdir()] == ["model.safetensors"]


class Lengths(nn.Module):
    dim = 1

    def __init__(self) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.ones(1))

    def encode(self, texts: list[str]) -> torch.Tensor:
        return self.weight * torch.tensor([[float(len(text))] for text in texts])


def test_any_encoder_will_do_and_is_saved_with_the_head(tmp_path: Path):
    model = RewardModel(Lengths(), hidden=4)
    model.fit([Preference("p", "longer", "s")], epochs=20)
    model.save(tmp_path / "m")
    loaded = RewardModel.load(tmp_path / "m", Lengths())
    assert loaded.score(["p"], ["abc"]) == model.score(["p"], ["abc"])
    with pytest.raises(InputError, match="encoder"):
        RewardModel.load(tmp_path / "m")


@pytest.mark.parametrize("content", [b"", b"not safetensors at all", b"\x80\x04pickle"])
def test_a_file_that_is_no_model_is_refused(tmp_path: Path, content: bytes):
    (tmp_path / "m").write_bytes(content)
    with pytest.raises(InputError, match="reward model"):
        RewardModel.load(tmp_path / "m")


def test_other_weights_are_refused(tmp_path: Path):
    from safetensors.torch import save_file

    save_file({"a": torch.zeros(1)}, tmp_path / "m")
    with pytest.raises(InputError, match="other weights"):
        RewardModel.load(tmp_path / "m")


@pytest.mark.parametrize("wrong", [{"encoder": nn.Linear(1, 1)}, {"hidden": 0}, {"seed": -1}])
def test_wrong_arguments_are_refused(wrong: dict[str, Any]):
    with pytest.raises(InputError):
        RewardModel(**wrong)


@pytest.mark.parametrize("options", [{"epochs": 0}, {"batch": 0}, {"learning_rate": -1.0}])
def test_wrong_training_arguments_are_refused(options: dict[str, Any]):
    with pytest.raises(InputError):
        small().fit(PAIRS, **options)
    with pytest.raises(InputError, match="at least one"):
        small().fit([])


@pytest.mark.parametrize("text", ["", "\0", "\ud800", "x" * 1_000_000, "\u0661\u0662"])
def test_any_text_has_a_finite_score(text: str):
    assert math.isfinite(small().score([text], [text])[0])


def test_the_reward_is_the_squashed_score_of_every_episode_in_one_pass():
    class Fixed:
        calls = 0

        def score(self, prompts: list[str], responses: list[str]) -> list[float]:
            self.calls += 1
            return [math.nan if response == "?" else float(len(response)) for response in responses]

    model = Fixed()
    reward = rewards.make("reward-model", model=model)
    batch = reward.batch([[episode("", True), episode("?", True)], [episode("ab", False)]])
    assert model.calls == 1
    assert batch[0][0].reward == 0.5
    assert not batch[0][1].valid
    assert batch[1][0].reward == pytest.approx(1 / (1 + math.exp(-2)))
    assert rewards.make("reward-model", model=model, squash=False)(episode("ab", True)).reward == 2.0


def test_the_reward_may_be_given_a_file(tmp_path: Path):
    model = small()
    model.save(tmp_path / "m")
    verdict = rewards.make("reward-model", model=str(tmp_path / "m"), squash=False)(episode("red", True))
    assert verdict.reward == pytest.approx(model.score(["Name a colour."], ["red"])[0])
    with pytest.raises(InputError, match="reward model"):
        rewards.make("reward-model", model=3)
