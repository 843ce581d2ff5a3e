"""Named pools of difficulty."""

import numpy as np
import pytest
from palaestra.errors import InputError
from palaestra.teachers import FiniteTasks, make

POOLS = {"hard": (0.25, 0.0), "normal": (0.75, 3.0), "easy": (0.9, 0.5)}


def made(n, rates=(), **options):
    teacher = make("difficulty-pool", FiniteTasks(list(range(n))), pools=POOLS, **options)
    for task, returns in enumerate(rates):
        teacher.update(task, returns)
    return teacher


def test_thresholds_are_inclusive_the_last_pool_takes_the_rest_and_the_unseen_weigh_1():
    teacher = made(5, [[0.25, 0.25], [0.25, 0.26], [0.75, 0.75], [1.0, 1.0]])
    assert teacher.distribution() == pytest.approx(np.array([0, 3, 3, 0.5, 1]) / 7.5)
    metrics = teacher.metrics()
    assert [metrics[f"pool/{name}"] for name in ("hard", "normal", "easy", "unseen")] == [1, 2, 1, 1]


def test_the_latest_group_decides():
    teacher = made(2, [[0.0, 0.0], [0.5, 0.5]])
    teacher.update(0, [0.5, 0.5])
    assert teacher.distribution() == pytest.approx([0.5, 0.5])


def test_draws_follow_the_weights():
    teacher = made(3, [[0.5, 0.5], [1.0, 1.0]])
    first = [teacher.propose(1)[0] for _ in range(4000)]
    counts = np.bincount([p.task for p in first], minlength=3) / 4000
    assert counts == pytest.approx(np.array([3, 0.5, 1]) / 4.5, abs=0.025)
    assert {round(p.prob, 6) for p in first if p.task == 0} == {round(3 / 4.5, 6)}


def test_weight_0_is_only_drawn_when_nothing_else_is_left():
    teacher = made(3, [[0.0, 0.0]])
    for _ in range(50):
        assert {p.task for p in teacher.propose(2)} == {1, 2}
    last = teacher.propose(3)[2]
    assert last.task == 0
    assert np.isnan(last.prob)


def test_single_returns_make_groups():
    teacher = made(1, group=2)
    teacher.update(0, 1.0)
    assert teacher.metrics()["pool/unseen"] == 1
    teacher.update(0, 0.0)
    assert teacher.metrics()["pool/normal"] == 1
    alone = made(1, [[1.0]], group=1)
    assert alone.metrics()["pool/easy"] == 1


@pytest.mark.parametrize(
    "pools",
    [{}, {"a": (0.5, 0.0)}, {"a": (0.5, -1.0), "b": (1.0, 1.0)}, {"a": (0.5, 1.0), "b": (0.5, 2.0)}, {"a": (1,)}],
)
def test_pools_that_make_no_sense_are_refused(pools):
    with pytest.raises(InputError, match="pools"):
        make("difficulty-pool", FiniteTasks([1, 2]), pools=pools)
