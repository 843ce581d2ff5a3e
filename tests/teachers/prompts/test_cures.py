"""CurES (arXiv 2510.01037)."""

from __future__ import annotations

import gymnasium as gym
import numpy as np
import pytest
from palaestra.errors import InputError
from palaestra.teachers import Outcome, make


def cures(n=2, **options):
    return make("cures", gym.spaces.Discrete(n), **options)


def believe(teacher, rates, weight=1e12):
    """A posterior so firm that its mean is the rate."""
    teacher.rates.alpha, teacher.rates.beta = np.array(rates) * weight, (1 - np.array(rates)) * weight


def test_rates_of_a_half_and_a_tenth_are_drawn_with_0_8808_and_0_1192():
    teacher = cures(tau=0.1)
    believe(teacher, [0.5, 0.1])
    assert teacher.distribution() == pytest.approx([0.8808, 0.1192], abs=5e-5)
    drawn = [teacher.propose(1)[0] for _ in range(2000)]
    assert np.mean([p.task == 0 for p in drawn]) == pytest.approx(0.8808, abs=0.03)
    assert {p.task: round(p.prob, 4) for p in drawn} == {0: 0.8808, 1: 0.1192}


def test_three_of_four_right_give_a_posterior_mean_of_four_sixths():
    teacher = cures()
    teacher.update(0, [1.0, 1.0, 1.0, 0.0])
    assert teacher.rates.mean == pytest.approx([4 / 6, 1 / 2])


def test_the_released_temperature_is_uniform_in_effect():
    teacher = cures(n=5, temperature="released")
    believe(teacher, [0.5, 0.0, 1.0, 0.1, 0.3])
    assert teacher.distribution() == pytest.approx(np.full(5, 0.2), rel=0.005)
    assert np.ptp(teacher.distribution()) > 0
    for _ in range(9):
        teacher.update(0, [1.0, 0.0])
    assert teacher._logits()[0] == pytest.approx(0.5 / 1000)  # ten times the temperature of a prompt never seen


def test_a_batch_holds_distinct_prompts():
    tasks = [p.task for p in cures(n=20).propose(15)]
    assert len(set(tasks)) == 15


def test_subsets_are_disjoint_cover_the_list_and_reset_the_posterior():
    teacher = cures(n=12, subsets=3, batches=2)
    seen = []
    for _ in range(6):
        proposals = teacher.propose(4)
        seen.append(frozenset(p.task for p in proposals))
        teacher.observe([Outcome(p.id, p.task, [0.0] * 8) for p in proposals])
    assert seen[0] == seen[1]
    assert seen[2] == seen[3]
    assert len(seen[0] | seen[2] | seen[4]) == 12
    assert teacher.rates.mean.tolist() == [0.5] * 12  # the third subset has just ended
    assert teacher.current == 0


def test_rollouts_are_shared_out_by_the_standard_deviation():
    teacher = cures(n=3, rollouts=8)
    believe(teacher, [0.5, 0.2, 0.02])  # deviations 0.5, 0.4, 0.14
    counts = {p.task: p.n for p in teacher.propose(3)}
    assert counts == {0: 12, 1: 9, 2: 3}
    assert sum(p.n for p in teacher.propose(50)) == 400
    assert cures().propose(1)[0].n is None


@pytest.mark.parametrize(
    "bad", [{"tau": 0}, {"temperature": "hot"}, {"prior": (0, 1)}, {"subsets": 9}, {"batches": 0}, {"rollouts": 1}]
)
def test_options_out_of_range_are_refused(bad):
    with pytest.raises(InputError, match=next(iter(bad))):
        cures(**bad)
