"""Two models that select clean pairs for each other."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from palaestra.errors import InputError
from palaestra.rewards.models.ngram_encoder import NgramEncoder
from palaestra.rewards.models.peers import fit_peers, select_small, share_kept
from palaestra.rewards.models.preferences import Preference
from palaestra.rewards.models.reward_model import RewardModel

RIGHT = [f"the colour {colour}" for colour in ("red", "green", "blue", "white", "grey", "brown")]
WRONG = [f"the number {number}" for number in ("one", "two", "three", "four", "five", "six")]
CLEAN = [Preference("Name a colour.", one, two) for one in RIGHT for two in WRONG]


def small(seed: int) -> RewardModel:
    torch.manual_seed(seed)
    return RewardModel(NgramEncoder(dim=16, buckets=512), hidden=8, seed=seed)


def peers() -> tuple[RewardModel, RewardModel]:
    return small(1), small(2)


def test_exactly_the_pairs_with_the_smallest_losses_are_handed_over():
    assert select_small([0.3, 0.1, 0.9, 0.2, 0.5], 0.6) == [0, 1, 3]
    assert select_small([0.3, 0.1, 0.9, 0.2, 0.5], 0.61) == [0, 1, 3, 4]
    assert select_small([0.5, 0.5], 1.0) == [0, 1]


def test_the_share_falls_from_all_to_the_stated_one():
    assert [share_kept(epoch, 5, 0.6) for epoch in range(5)] == pytest.approx([1.0, 0.9, 0.8, 0.7, 0.6])
    assert share_kept(0, 1, 0.6) == 1.0


def test_peers_that_keep_all_pairs_are_trained_as_if_alone():
    together, alone = peers(), peers()
    fits = fit_peers(together, CLEAN, keep=1.0, epochs=3, seed=4)
    for model, other, fit in zip(together, alone, fits):
        assert other.fit(CLEAN, epochs=3, seed=4).losses == pytest.approx(fit.losses)
        assert model.differences(CLEAN) == pytest.approx(other.differences(CLEAN))


def test_each_model_learns_only_what_the_other_one_selects(monkeypatch: pytest.MonkeyPatch):
    one, two = peers()
    batch = CLEAN[:8]
    theirs = {id(model): select_small(model.losses(batch).detach().tolist(), 0.5) for model in (one, two)}
    assert theirs[id(one)] != theirs[id(two)]
    seen: dict[int, list[list[Preference]]] = {id(one): [], id(two): []}
    for model in (one, two):
        inner = model.losses

        def losses(pairs: list[Preference], model: RewardModel = model, inner=inner):
            seen[id(model)].append(list(pairs))
            return inner(pairs)

        monkeypatch.setattr(model, "losses", losses)
    monkeypatch.setattr("palaestra.rewards.models.peers.share_kept", lambda epoch, epochs, keep: keep)
    fit_peers((one, two), batch, keep=0.5, epochs=1, batch=8)
    for model, other in ((one, two), (two, one)):
        whole, trained = seen[id(model)]
        assert {pair.chosen + pair.rejected for pair in trained} == {
            batch[place].chosen + batch[place].rejected for place in theirs[id(other)]
        }
        assert len(whole) == 8


def test_wrong_labels_harm_peers_less_than_a_model_alone():
    flipped = set(np.random.default_rng(1).choice(len(CLEAN), len(CLEAN) // 4, replace=False).tolist())
    noisy = [Preference(p.prompt, p.rejected, p.chosen) if n in flipped else p for n, p in enumerate(CLEAN)]
    models, alone = peers(), small(1)
    fit_peers(models, noisy, keep=0.7, epochs=40, batch=36, learning_rate=0.01)
    alone.fit(noisy, epochs=40, batch=36, learning_rate=0.01)

    def mean_lead(model: RewardModel) -> float:
        return sum(model.differences(CLEAN)) / len(CLEAN)

    assert min(map(mean_lead, models)) > 2 * mean_lead(alone)


def test_one_model_is_no_pair():
    model = RewardModel(hidden=8)
    with pytest.raises(InputError, match="two models"):
        fit_peers((model, model), CLEAN)
