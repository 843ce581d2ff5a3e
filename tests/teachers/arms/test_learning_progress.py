"""Bidirectional learning progress (arXiv 2106.14876) and OMNI (arXiv 2306.01711)."""

from __future__ import annotations

import json
import math

import gymnasium as gym
import numpy as np
import pytest
from palaestra.errors import InputError
from palaestra.teachers import FiniteTasks, Outcome, make
from palaestra.teachers.arms.learning_progress import focus, reweight


def lp(n=3, name="bidirectional-lp", **options):
    return make(name, gym.spaces.Discrete(n), **options)


def test_reweighting_maps_0_theta_and_1_to_0_a_half_and_1():
    assert reweight(np.array([0.0, 0.1, 1.0]), 0.1) == pytest.approx([0.0, 0.5, 1.0])
    p = np.linspace(0.01, 0.99, 9)
    assert reweight(reweight(p, 0.1), 0.9) == pytest.approx(p)  # 1 - theta undoes theta


def test_a_step_of_the_success_rate_gives_the_closed_form_which_peaks_at_minus_1_over_ln_q():
    teacher, gaps = lp(), []
    for t in range(1, 40):
        teacher.update(0, 1.0)
        assert teacher.fast[0] == pytest.approx(1 - 0.9**t)
        gaps.append(teacher.fast[0] - teacher.slow[0])
        assert gaps[-1] == pytest.approx(0.1 * t * 0.9**t)
    assert 1 + int(np.argmax(gaps)) in (9, 10)  # -1 / ln 0.9 = 9.49


def test_forgetting_is_progress_too():
    teacher = lp(n=2)
    teacher.fast[:], teacher.slow[:] = [0.9, 0.5], [0.9, 0.5]
    teacher.update(0, 0.0)
    assert teacher.progress()[0] > 0.005
    assert teacher.progress()[1] == 0.0


def test_arms_not_in_the_batch_keep_their_averages():
    teacher = lp()
    teacher.fast[:], teacher.slow[:] = [0.3, 0.6, 0.9], [0.2, 0.4, 0.8]
    teacher.update(1, 1.0)
    assert teacher.fast[[0, 2]].tolist() == [0.3, 0.9]
    assert teacher.slow[[0, 2]].tolist() == [0.2, 0.8]


def test_progress_is_not_rounded_to_whole_numbers():
    teacher = lp(n=1)
    teacher.update(0, [0.0, 1.0, 0.0, 0.0])
    assert teacher.fast[0] == pytest.approx(0.025)


def test_one_batch_is_one_step_by_the_share_of_successes_of_all_its_episodes():
    teacher = lp(n=2)
    proposals = [p for p in teacher.propose(60) if p.task == 0][:2]
    returns, successes = ([0.1] * 6, [0.9] * 2), ([False] * 6, [True] * 2)
    teacher.observe([Outcome(p.id, 0, r, s) for p, r, s in zip(proposals, returns, successes)])
    assert teacher.fast[0] == pytest.approx(0.1 * 2 / 8)


def test_success_up_to_the_baseline_is_no_success_and_the_baseline_is_at_most_three_quarters():
    teacher = lp(baselines=[0.5, 0.99, 0.0], alpha=1.0)
    for arm, rate in ((0, 0.75), (1, 0.875), (2, 0.25)):
        teacher.update(arm, rate)
    assert teacher.fast == pytest.approx([0.5, 0.5, 0.25])
    teacher.update(0, 0.3)
    assert teacher.fast[0] == 0.0


def test_focus_is_centred_at_the_mean_or_at_the_quantile():
    progress = np.array([0.0, 0.1, 0.2, 0.3, 0.4])
    z = (progress - 0.2) / progress.std()
    assert focus(progress, None, 1.0) == pytest.approx(1 / (1 + np.exp(-z)))
    assert focus(progress, 0.75, 1.0) == pytest.approx(1 / (1 + np.exp(-(z - z[3]))))
    assert focus(progress, 0.9, 4.0)[0] < 0.01 * focus(progress, 0.9, 4.0)[4]
    assert focus(np.zeros(3), 0.9, 1.0).tolist() == [0.5] * 3


def test_a_quantile_favours_the_most_progress_more_than_the_mean_does():
    shares = {}
    for quantile in (0.9, None):
        teacher = lp(n=10, quantile=quantile, floor=0.0)
        teacher.tried[:] = True
        teacher.fast[:], teacher.slow[:] = 0.5, np.linspace(0.5, 0.3, 10)
        shares[quantile] = teacher.distribution()
        assert (np.diff(shares[quantile]) > 0).all()
    assert shares[0.9][-1] > shares[None][-1]


def test_hopeless_arms_have_the_floor_only_and_untried_ones_count_like_the_best():
    teacher = lp(n=4, floor=0.2)
    for _ in range(5):
        teacher.update(0, 0.0)
        teacher.update(1, 1.0)
        teacher.update(2, 0.5)
    p = teacher.distribution()
    assert p[0] == pytest.approx(0.05)
    assert p[3] == max(p[1], p[2]) > 0.2


def test_everything_is_uniform_while_nothing_has_ever_succeeded():
    teacher = lp(floor=0.0)
    assert teacher.distribution() == pytest.approx(np.full(3, 1 / 3))
    teacher.update(0, 0.0)
    assert teacher.distribution() == pytest.approx([0.0, 0.5, 0.5])


def omni(n=5, **options):
    return lp(n, "omni", **{"alpha": 1.0, "floor": 0.0, **options})


def test_boring_arms_have_a_thousandth_of_their_share():
    plain, teacher = lp(5, alpha=1.0, floor=0.0, quantile=None), omni(mastery=0.9)
    for one in (plain, teacher):
        for arm, rate in enumerate((1.0, 0.4, 0.5, 0.6, 0.7)):
            one.update(arm, rate)
    expected = plain.distribution() * [0.001, 1, 1, 1, 1]
    assert teacher.distribution() == pytest.approx(expected / expected.sum())


def test_mastery_bores_what_is_near_and_no_harder_until_it_is_lost():
    tasks = FiniteTasks(list("abcd"), features=[[0.5], [0.45], [0.55], [0.1]])
    teacher = make("omni", tasks, alpha=1.0, nearness=0.1)
    teacher.update("a", 1.0)
    assert teacher.boring.tolist() == [True, True, False, False]
    teacher.update("b", 1.0)
    teacher.update("a", 0.5)
    assert teacher.boring.tolist() == [False, True, False, False]  # b itself is still mastered
    teacher.update("b", 0.5)
    assert not teacher.boring.any()


def test_a_model_of_interestingness_is_asked_when_the_mastered_arms_change():
    asked = []

    def interesting(mastered):
        asked.append(mastered)
        return [arm == 4 for arm in range(5)]

    teacher = omni(interesting=interesting)
    teacher.update(1, 0.2)
    assert not asked
    teacher.update(1, 1.0)
    teacher.update(1, 1.0)
    teacher.update(0, 0.95)
    assert asked == [[1], [0, 1]]
    assert teacher.boring.tolist() == [True] * 4 + [False]
    copy = omni(interesting=interesting, seed=3)
    copy.load_state_dict(json.loads(json.dumps(teacher.state_dict())))
    assert copy.boring.tolist() == teacher.boring.tolist()


def test_a_model_that_forgets_arms_is_refused():
    with pytest.raises(InputError, match="interesting"):
        omni(interesting=lambda mastered: [True]).update(0, 1.0)


def test_where_everything_is_boring_the_shares_are_those_of_progress():
    teacher = omni(n=2, boredom=0.0)
    teacher.update(0, 1.0)
    teacher.update(1, 1.0)
    assert teacher.distribution() == pytest.approx([0.5, 0.5])


@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("bidirectional-lp", {"alpha": 0.0}),
        ("bidirectional-lp", {"theta": 0.0}),
        ("bidirectional-lp", {"theta": 1.0}),
        ("bidirectional-lp", {"quantile": 1.1}),
        ("bidirectional-lp", {"steepness": 0.0}),
        ("bidirectional-lp", {"baselines": [0.1]}),
        ("bidirectional-lp", {"baselines": [0.1, math.nan, 0.0]}),
        ("omni", {"mastery": 0.0}),
        ("omni", {"boredom": 2.0}),
    ],
)
def test_options_out_of_range_are_refused(name, options):
    with pytest.raises(InputError, match=next(iter(options))):
        lp(name=name, **options)
