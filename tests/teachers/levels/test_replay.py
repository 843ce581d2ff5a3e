"""Level replay: who is trained on what, and the rules of the published methods."""

from __future__ import annotations

import json
from collections import Counter

import gymnasium as gym
import numpy as np
import pytest
from palaestra.errors import InputError
from palaestra.teachers import FiniteTasks, Outcome, make
from palaestra.teachers.levels.replay import LevelTeacher
from palaestra.teachers.levels.space import Instances, Levels

LINE = gym.spaces.Box(0.0, 1.0, (1,), dtype=np.float64)
ROBUST = ["robust-plr", "plr-maxmc", "accel", "mna"]


def report(teacher, proposals, returns=(0.2, 0.8), **extras):
    """Observe the same outcome for every proposal, or what a function of the task says."""
    outcomes = []
    for p in proposals:
        got = returns(p.task) if callable(returns) else returns
        outcomes.append(Outcome(p.id, p.task, got, extras={k: [v] * len(got) for k, v in extras.items()}))
    teacher.observe(outcomes)


def run(teacher, rounds, batch, returns=(0.2, 0.8)):
    """Everything proposed."""
    seen = []
    for _ in range(rounds):
        proposals = teacher.propose(batch)
        seen += proposals
        report(teacher, proposals, returns)
    return seen


@pytest.mark.parametrize("name", ROBUST)
def test_robust_methods_train_on_nothing_that_was_not_scored_before(name):
    teacher = make(name, LINE, capacity=30)
    scored, waiting, trained = set(), [], 0
    rng = np.random.default_rng(0)
    for _ in range(60):
        proposals = teacher.propose(8)
        for p in proposals:
            assert p.train == (p.origin == "replay")
            if p.train:
                trained += 1
                assert p.task.tobytes() in scored
        waiting += proposals
        reported, waiting = waiting[: len(waiting) // 2], waiting[len(waiting) // 2 :]  # the rest comes later
        scored |= {p.task.tobytes() for p in reported}
        report(teacher, reported, lambda task: rng.random(2).tolist())
    assert trained > 100


def test_plain_replay_trains_on_everything():
    assert all(p.train for p in run(make("plr", LINE, capacity=30), 20, 8))


def test_many_requests_in_flight_propose_new_levels_until_something_is_known():
    proposals = make("robust-plr", LINE, min_fill=0.0).propose(500)
    assert {p.origin for p in proposals} == {"explore"}
    assert len({p.task.tobytes() for p in proposals}) == 500


def test_nothing_is_replayed_before_the_buffer_is_filled_to_the_given_share():
    teacher = make("robust-plr", LINE, capacity=20, min_fill=0.5)
    report(teacher, teacher.propose(9))
    assert teacher.replay_share() == 0.0
    report(teacher, teacher.propose(1))
    assert teacher.replay_share() == 0.5


def test_the_proportionate_rule_replays_by_the_share_of_levels_seen():
    teacher = make("plr", FiniteTasks(list(range(10))))
    for known in range(11):
        assert teacher.replay_share() == pytest.approx(known / 10)
        teacher.update(known % 10, 0.5)


def test_new_levels_of_a_finite_space_are_unseen_ones():
    teacher = make("plr", FiniteTasks(list(range(10))))
    for task in range(8):
        teacher.update(task, 0.5)
    new = Counter(p.task for p in teacher.propose(3000) if p.origin == "explore")
    assert set(new) >= {8, 9}
    assert sum(new[task] for task in range(8)) / sum(new.values()) < 0.2  # 0.8^10 of them


def test_once_every_level_is_known_all_are_replayed():
    teacher = make("robust-plr", gym.spaces.Discrete(4))
    for task in range(4):
        teacher.update(task, 0.5)
    assert {p.origin for p in teacher.propose(50)} == {"replay"}
    assert {p.train for p in teacher.propose(50)} == {True}


def test_replays_are_drawn_as_their_probabilities_say():
    teacher = LevelTeacher(gym.spaces.Box(0, 99, (1,), dtype=np.int64), capacity=3, score="value_l1", temperature=1.0,
                           staleness=0.0, replay_prob=0.6)  # fmt: skip
    for task, spread in ((5, 0.5), (6, 0.1), (7, 0.3)):
        teacher.update(np.array([task]), [0.5 - spread, 0.5 + spread])
    proposals = teacher.propose(20_000)
    drawn = Counter(int(p.task[0]) for p in proposals if p.origin == "replay")
    expected = {5: 0.6 * 6 / 11, 6: 0.6 * 2 / 11, 7: 0.6 * 3 / 11}
    for task, chance in expected.items():
        assert drawn[task] / 20_000 == pytest.approx(chance, abs=0.012)
    assert {int(p.task[0]): p.prob for p in proposals if p.origin == "replay"} == pytest.approx(expected)


def test_staleness_is_measured_in_proposals():
    teacher = LevelTeacher(gym.spaces.Discrete(50), capacity=2, staleness=1.0, min_fill=1.0)
    first, second = teacher.propose(2)  # reported together, proposed one step apart
    report(teacher, [second, first])
    assert teacher.buffer.last[teacher.buffer.find(teacher.levels.key(first.task))] == 0
    assert teacher.buffer.last[teacher.buffer.find(teacher.levels.key(second.task))] == 1
    assert sorted(teacher.buffer.weights(teacher.clock)) == pytest.approx([1 / 3, 2 / 3])


def test_equal_levels_are_one():
    teacher = LevelTeacher(Levels("two", lambda rng: int(rng.integers(2)), key=str))
    report(teacher, teacher.propose(40), [0.0, 1.0])
    assert len(teacher.buffer) == 2
    slot = teacher.buffer.find("0")
    assert teacher.buffer.history(slot).visits == 40 - teacher.buffer.history(1 - slot).visits
    assert teacher.metrics()["dropped"] == 0


def test_smoothing_moves_a_score_towards_the_latest():
    teacher = LevelTeacher(gym.spaces.Discrete(5), score="value_l1", smoothing=0.25)
    teacher.update(0, [0.0, 1.0])  # 0.5
    teacher.update(0, [0.6, 0.6])  # against an earlier mean of 0.5: 0.1
    assert teacher.buffer.scores[0] == pytest.approx(0.5 + 0.25 * (0.1 - 0.5))


def test_a_level_pushed_out_while_it_was_replayed_asks_for_a_place_anew():
    teacher = LevelTeacher(LINE, capacity=1, min_fill=0.0, replay_prob=1.0, score="value_l1", priority="score")
    report(teacher, teacher.propose(1), [0.4, 0.6])
    replayed = teacher.propose(1)
    assert replayed[0].origin == "replay"
    teacher.update(np.array([0.5]), [0.0, 0.8])
    assert teacher.buffer.find(teacher.levels.key(replayed[0].task)) is None
    report(teacher, replayed, [0.0, 1.0])
    assert teacher.buffer.keys == [teacher.levels.key(replayed[0].task)]
    assert teacher.buffer.history(0).visits == 1


# ACCEL


def test_as_many_edits_as_replays_and_all_of_the_easiest_levels():
    teacher = LevelTeacher(
        gym.spaces.Box(0, 999, (1,), dtype=np.int64), capacity=8, edits=1, edit_batch=8, parents=2, min_fill=1.0,
        replay_prob=1.0, score="uniform", transform="constant", staleness=1.0,
    )  # fmt: skip
    for task in range(100, 900, 100):
        teacher.update(np.array([task]), 0.5)
    replayed = teacher.propose(8)
    assert {p.origin for p in replayed} == {"replay"}
    easy = sorted({int(p.task[0]) for p in replayed})[-2:]
    many = sum(int(p.task[0]) in easy for p in replayed)
    report(teacher, replayed, lambda task: [float(task[0]) / 1000])
    edited = teacher.propose(12)
    assert [p.origin for p in edited] == ["edit"] * 8 + ["replay"] * 4
    assert not any(p.train for p in edited[:8])
    parents = Counter(min(easy, key=lambda e: abs(e - int(p.task[0]))) for p in edited[:8])
    assert all(abs(int(p.task[0]) - parent) == 1 for p in edited[:8] for parent in easy if abs(parent - p.task[0]) < 50)
    assert set(parents) <= set(easy)
    assert many >= 2
    assert {p.origin for p in teacher.propose(8)} == {"replay"}


def test_the_parent_is_the_easiest_wherever_it_stands_in_the_batch():
    """The released code's sort over two dimensions always takes the first of the batch (its issue 11)."""
    for position in range(4):
        teacher = LevelTeacher(gym.spaces.Box(0, 9999, (1,), dtype=np.int64), capacity=4, edits=1, edit_batch=4,
                               parents=1, min_fill=1.0, replay_prob=1.0, score="uniform", staleness=1.0,
                               seed=position)  # fmt: skip
        for task in (1000, 3000, 5000, 7000):
            teacher.update(np.array([task]), 0.5)
        replayed = []
        while len(replayed) < 4:  # one of each, so that positions differ
            p = teacher.propose(1)[0]
            if int(p.task[0]) not in {int(q.task[0]) for q in replayed}:
                replayed.append(p)
        best = int(replayed[position].task[0])
        report(teacher, replayed, lambda task, best=best: [1.0 if int(task[0]) == best else 0.1])
        assert {abs(int(p.task[0]) - best) for p in teacher.propose(4)} == {1}


def test_easy_is_a_high_return_after_its_score_is_taken_off():
    teacher = LevelTeacher(gym.spaces.Discrete(1000), capacity=2, edits=1, edit_batch=2, parents=1, min_fill=1.0,
                           replay_prob=1.0, score="max_mc", staleness=1.0)  # fmt: skip
    teacher.update(100, [0.6])  # then R_max - V = 0
    teacher.update(500, [0.3, 0.9])  # then R_max - V = 0.3
    assert [p.origin for p in teacher.propose(2)] == ["replay"] * 2
    records = {p.task: p for p in teacher.propose(50)}
    report(teacher, [records[500], records[100]], lambda task: [0.7 if task == 500 else 0.6])
    # 0.7 - (0.9 - 0.6) = 0.4 for 500; 0.6 - 0 for 100.
    assert {abs(p.task - 100) for p in teacher.propose(2)} == {1}


def test_edited_levels_join_the_buffer():
    teacher = make("accel", LINE, capacity=12, edit_batch=4)
    rng = np.random.default_rng(0)
    edited = set()
    for _ in range(40):
        proposals = teacher.propose(4)
        edited |= {teacher.levels.key(p.task) for p in proposals if p.origin == "edit"}
        report(teacher, proposals, lambda task: rng.random(2).tolist())
    assert edited & set(teacher.buffer.keys)
    assert len(teacher.buffer) == 12


# SFL


def test_sfl_evaluates_keeps_the_most_learnable_and_mixes_them_half_and_half():
    def returns(task):  # success rate = the task itself, in quarters
        wins = round(4 * float(task[0]))
        return [1.0] * wins + [0.0] * (4 - wins)

    teacher = make("sfl", LINE, capacity=10, resample=(60, 200), rollouts=4)
    evaluated = teacher.propose(60)
    assert not any(p.train for p in evaluated)
    assert {p.n for p in evaluated} == {4}
    report(teacher, evaluated[:59], returns)
    assert teacher.evaluating
    assert not any(p.train for p in teacher.propose(5))
    report(teacher, evaluated[59:], returns)
    learnable = sorted((round(4 * float(p.task[0])) / 4 for p in evaluated), key=lambda p: -p * (1 - p))
    assert sorted(teacher.buffer.scores) == pytest.approx(sorted(p * (1 - p) for p in learnable[:10]))
    trained = teacher.propose(2000)
    assert all(p.train for p in trained)
    share = np.mean([p.origin == "replay" for p in trained])
    assert share == pytest.approx(0.5, abs=0.04)
    times = Counter(p.task.tobytes() for p in trained if p.origin == "replay")
    assert len(times) == 10
    assert max(times.values()) < 1.6 * min(times.values())  # uniform over the set
    before = set(teacher.buffer.keys)
    report(teacher, trained[:199], returns)
    assert not teacher.evaluating
    assert set(teacher.buffer.keys) == before  # levels not replayed are not kept
    report(teacher, trained[199:200], returns)
    assert teacher.evaluating
    assert len(teacher.buffer) == 0


def test_sfl_keeps_no_level_of_its_random_half_even_where_there_is_room():
    teacher = make("sfl", LINE, capacity=100, resample=(20, 50))
    run(teacher, 5, 4)
    kept = set(teacher.buffer.keys)
    assert len(kept) == 20
    run(teacher, 5, 8)
    assert set(teacher.buffer.keys) == kept


def test_sfl_is_not_stalled_by_outcomes_that_never_come():
    teacher = make("sfl", LINE, capacity=4, resample=(10, 10))
    phases = set()
    for _ in range(60):
        report(teacher, teacher.propose(4)[:1])
        phases.add(teacher.evaluating)
    assert phases == {True, False}


# GROOVE


def test_groove_drops_first_the_level_where_the_agent_beats_the_antagonist():
    teacher = make("groove", LINE, capacity=3)
    proposals = teacher.propose(3)
    for p, antagonist in zip(proposals, (0.9, 0.3, 0.6)):
        report(teacher, [p], [0.5], antagonist_return=antagonist)
    assert teacher.buffer.scores.tolist() == pytest.approx([0.4, -0.2, 0.1])
    new = next(p for p in iter(lambda: teacher.propose(1)[0], None) if p.origin == "explore")
    report(teacher, [new], [0.5], antagonist_return=0.5)
    assert teacher.buffer.find(teacher.levels.key(proposals[1].task)) is None
    assert teacher.buffer.scores.min() == pytest.approx(0.0)


@pytest.mark.parametrize("name", ["groove", "robust-plr", "accel"])
def test_the_buffer_never_exceeds_its_capacity(name):
    rng = np.random.default_rng(0)
    teacher = make(name, LINE, capacity=40)
    for _ in range(30):
        report(teacher, teacher.propose(16), lambda task: rng.random(2).tolist())
        assert len(teacher.buffer) <= 40
    assert make(name, LINE).buffer.capacity == 4000


# TRACED


def test_co_learnability_rewards_levels_after_which_other_scores_fell():
    teacher = LevelTeacher(gym.spaces.Discrete(9), capacity=3, score="value_l1", co_learnability=2.0, min_fill=0.0,
                           replay_prob=1.0, staleness=1.0)  # fmt: skip
    for task in range(3):
        teacher.update(task, [0.0, 1.0])  # 0.5 each
    by_task = {p.task: p for p in teacher.propose(60)}
    report(teacher, [by_task[0]], [0.5, 0.5])  # falls to 0; nothing was trained on before
    slots = {task: teacher.buffer.find(teacher.levels.key(task)) for task in range(3)}
    assert teacher.buffer.scores[slots[0]] == pytest.approx(0.0)
    report(teacher, [by_task[1], by_task[2]], lambda task: [0.3, 0.3] if task == 1 else [0.5, 0.5])
    # 1 fell from 0.5 to 0.2, 2 to 0: the mean fall is 0.4, and 0 was trained on before.
    assert teacher.buffer.scores[slots[0]] == pytest.approx(0.0 + 2.0 * 0.4)
    assert teacher.buffer.scores[slots[1]] == pytest.approx(0.2)
    assert teacher.buffer.history(slots[0]).raw == pytest.approx(0.0)


# Levels of one's own


def test_a_generator_and_an_editor_are_all_it_takes():
    def grow(task, rng):
        return {"walls": task["walls"] + [int(rng.integers(10))]}

    teacher = make("accel", Levels("maze", lambda rng: {"walls": []}, grow), capacity=20, min_fill=0.05, edit_batch=2)
    longest, rng = 0, np.random.default_rng(0)
    for _ in range(60):
        proposals = teacher.propose(4)
        longest = max([longest, *(len(p.task["walls"]) for p in proposals)])
        report(teacher, proposals, lambda task: rng.random(2).tolist())
    assert longest >= 10  # edits of edits, from the empty maze
    copy = make("accel", Levels("maze", lambda rng: {"walls": []}, grow), capacity=20, min_fill=0.05, edit_batch=2)
    copy.load_state_dict(json.loads(json.dumps(teacher.state_dict())))
    assert [p.task for p in copy.propose(30)] == [p.task for p in teacher.propose(30)]
    with pytest.raises(InputError, match="space"):
        make("accel", Levels("other", dict, grow), capacity=20, min_fill=0.05, edit_batch=2).load_state_dict(
            teacher.state_dict()
        )


def test_a_replayed_instance_has_its_seed_again():
    teacher = make("robust-plr", Instances(LINE), capacity=10)
    seen = run(teacher, 20, 4)
    first = {p.task["seed"]: p.task["params"].tolist() for p in seen if p.origin == "explore"}
    again = [p.task for p in seen if p.origin == "replay"]
    assert again
    assert all(first[task["seed"]] == task["params"].tolist() for task in again)


@pytest.mark.parametrize(
    "options",
    [{"score": "fame"}, {"replay_rule": "never"}, {"replay_prob": 2.0}, {"min_fill": -1.0}, {"smoothing": 0.0},
     {"edits": -1}, {"edit_batch": 0}, {"parents": 0}, {"resample": (5,)}, {"resample": (0, 5)}, {"rollouts": 0},
     {"capacity": 0}, {"co_learnability": float("nan")}, {"temperature": -1.0}],
)  # fmt: skip
def test_options_out_of_range_are_refused(options):
    with pytest.raises(InputError, match=next(iter(options))):
        LevelTeacher(LINE, **options)


def test_edits_without_an_editor_are_refused():
    with pytest.raises(InputError, match="mutate"):
        make("accel", Levels("maze", dict))
