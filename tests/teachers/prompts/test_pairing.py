"""Positive-negative pairing (arXiv 2602.03452)."""

from __future__ import annotations

import gymnasium as gym
import numpy as np
import pytest
from palaestra.errors import InputError
from palaestra.teachers import Outcome, make


def pairing(n=9, **options):
    return make("pairing", gym.spaces.Discrete(n), **options)


def make_probed(**options):
    """Prompt i was solved i times out of eight."""
    teacher = pairing(probe=1.0, **options)
    proposals = teacher.propose(9)
    assert {(p.n, p.train) for p in proposals} == {(8, False)}
    teacher.observe([Outcome(p.id, p.task, [1.0] * p.task + [0.0] * (8 - p.task)) for p in proposals])
    return teacher


def test_every_prompt_is_probed_before_any_is_probed_again():
    teacher = pairing()
    assert sorted(p.task for _ in range(3) for p in teacher.propose(3)) == list(range(9))


def test_hard_prompts_were_solved_and_easy_ones_failed_at_least_once():
    hard, easy = make_probed().sides()
    assert hard.tolist() == [1, 2]
    assert easy.tolist() == [6, 7]
    hard, easy = make_probed(odd=1).sides()
    assert (hard.tolist(), easy.tolist()) == ([1], [7])


def test_pairs_join_one_of_each_side_and_name_each_other():
    proposals = make_probed(failure_weight=2.0).propose(40)
    assert all(p.train and p.n == 8 for p in proposals)
    for first, second in zip(proposals[::2], proposals[1::2]):
        assert first.task in (1, 2)
        assert second.task in (6, 7)
        assert (first.meta["role"], second.meta["role"]) == ("hard", "easy")
        assert first.meta["pair"] == second.meta["pair"]
        assert (first.meta["partner"], second.meta["partner"]) == (second.task, first.task)
        assert {p.meta["success_weight"] for p in (first, second)} == {1.0}
        assert {p.meta["failure_weight"] for p in (first, second)} == {2.0}
    assert len({p.meta["pair"] for p in proposals}) == 20


def test_a_pair_cut_by_the_end_of_a_batch_is_finished_in_the_next():
    teacher = make_probed()
    proposals = [p for _ in range(4) for p in teacher.propose(3)]
    assert [p.meta["role"] for p in proposals] == ["hard", "easy"] * 6
    assert [p.meta["pair"] for p in proposals] == [i // 2 for i in range(12)]


@pytest.mark.parametrize("returns", [[0.0] * 8, [1.0] * 8])
def test_prompts_never_or_always_solved_are_never_in_a_pair(returns):
    teacher = pairing()
    for _ in range(6):
        proposals = teacher.propose(9)
        assert not any(p.train for p in proposals)
        teacher.observe([Outcome(p.id, p.task, returns) for p in proposals])


def test_without_one_side_nothing_is_trained_on():
    teacher = pairing(probe=0.0)
    teacher.update(0, [1.0] + [0.0] * 7)
    assert not any(p.train for p in teacher.propose(9))
    teacher.update(1, [0.0] + [1.0] * 7)
    assert all(p.train for p in teacher.propose(9))


def test_the_latest_group_decides_and_single_returns_make_groups_of_eight():
    teacher = make_probed()
    for ret in [0.0] * 7:
        teacher.update(7, ret)
    assert 7 in teacher.sides()[1]
    teacher.update(7, 1.0)
    hard, easy = teacher.sides()
    assert hard.tolist() == [1, 2, 7]
    assert easy.tolist() == [6]


def test_half_of_the_proposals_probe_while_prompts_are_unseen_even_one_by_one():
    teacher = pairing(n=200, seed=1)
    teacher.update(0, [1.0] + [0.0] * 7)
    teacher.update(1, [0.0] + [1.0] * 7)
    shares = [np.mean([p.train for p in teacher.propose(k)]) for k in [1] * 300 + [50] * 5]
    assert np.mean(shares[:300]) == pytest.approx(0.5, abs=0.1)
    assert shares[300:] == pytest.approx([0.5] * 5)


@pytest.mark.parametrize("bad", [{"odd": 4}, {"odd": 0}, {"group": 2}, {"failure_weight": 0.0}, {"probe": 2.0}])
def test_options_out_of_range_are_refused(bad):
    with pytest.raises(InputError, match=next(iter(bad))):
        pairing(**bad)
