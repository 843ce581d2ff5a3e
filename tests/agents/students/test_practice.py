"""Environments side by side, their teacher, and episodes that are played again."""

from __future__ import annotations

import json

import gymnasium as gym
import pytest
from palaestra import teachers
from palaestra.agents.students import QConfig
from palaestra.agents.students.backward_starts import BackwardStarts
from palaestra.agents.students.bonuses import make_bonuses
from palaestra.agents.students.practice import Practice
from palaestra.agents.students.student_run import StudentRun
from palaestra.errors import InputError
from palaestra.teachers import Outcome, Proposal

CORRIDOR = "students/Corridor-v0"


def make(**options):
    return gym.make(CORRIDOR, disable_env_checker=True, **options)


def practise(teacher=None, bonuses=(), count=3, critic=False, **options) -> Practice:
    rewards = [bonus.reward for bonus in make_bonuses(bonuses, 0.9)]
    practice = Practice(lambda: make(**options), count, 7, teacher, rewards, critic=critic)
    practice.begin()
    return practice


class Recorder:
    """A teacher of the longest corridors that keeps what it is told."""

    needs: frozenset[str] = frozenset()
    asks: frozenset[str] = frozenset()

    def __init__(self, n: int = 1, train: bool = True):
        self.n, self.train = n, train
        self.proposed, self.outcomes = 0, []

    def propose(self, k: int) -> list[Proposal]:
        self.proposed += k
        return [Proposal(self.proposed, {"length": 6}, self.n, train=self.train)]

    def observe(self, outcomes: list[Outcome]) -> None:
        self.outcomes += outcomes


def test_episodes_end_where_their_environments_do_and_the_next_begin():
    practice = practise(axes={"length": 2})
    step = practice.step([4, 4, 3])
    assert step.terminated.tolist() == [True, True, True]
    assert step.rewards.tolist() == [1, 1, 0]
    assert [one.success for one in practice.take_finished()] == [True, True, False]
    assert all(observation.tolist() == [1, 2] for observation in practice.observations)
    assert practice.take_finished() == []


def test_a_truncated_episode_shows_where_it_stopped():
    practice = practise(count=1, axes={"length": 6}, limit=1)
    begun = practice.observations[0][0]
    action, change = (4, 1) if begun < 5 else (3, -1)
    step = practice.step([action])
    assert step.truncated.tolist() == [True]
    assert step.last[0][0] == begun + change


def test_a_teacher_chooses_every_episode_and_hears_of_whole_groups():
    teacher = Recorder(n=2)
    practice = practise(teacher, count=2)
    assert teacher.proposed == 1
    while len(teacher.outcomes) < 1:
        practice.step([4, 4])
    (outcome,) = teacher.outcomes[:1]
    assert outcome.task == {"length": 6}
    assert outcome.returns == (1.0, 1.0)
    assert outcome.successes == (True, True)


def test_steps_of_an_evaluation_are_not_trained_on():
    assert practise(Recorder(train=False)).step([4, 4, 4]).trained.tolist() == [False] * 3
    assert practise(Recorder()).step([4, 4, 4]).trained.tolist() == [True] * 3


class Faulty(gym.Wrapper):
    """A corridor whose machinery fails on steps to the left."""

    def step(self, action):
        *result, info = self.env.step(action)
        return *result, {**info, "reward_valid": action != 3}


def test_what_the_machinery_spoiled_is_neither_trained_on_nor_told_to_the_teacher():
    teacher = Recorder(n=2)
    practice = Practice(lambda: Faulty(make()), 2, 7, teacher)
    practice.begin()
    assert practice.step([3, 4]).trained.tolist() == [False, True]
    while not teacher.outcomes:
        practice.step([4, 4])
    assert [one.valid for one in practice.take_finished()][:2] in ([True, False], [False, True])
    assert teacher.outcomes[0].returns == (1.0,)


def test_a_teacher_by_value_errors_gets_those_of_the_critic():
    teacher = teachers.make("plr", make().unwrapped.param_space, seed=0)
    practice = practise(teacher, critic=True)
    for _ in range(20):
        practice.step([4, 4, 4], [0.5, 0.5, 0.5])
    assert teacher.metrics()["observed"] > 0


def test_a_teacher_that_needs_or_asks_for_more_is_refused():
    teacher = Recorder()
    teacher.needs = frozenset({"value_l1"})
    with pytest.raises(InputError, match="needs \\['value_l1'\\]"):
        practise(teacher)
    with pytest.raises(InputError, match="asks the learner for \\['hint'\\]"):
        practise(teachers.make("seele", make().unwrapped.param_space, seed=0))


def test_bonuses_are_added_and_kept_apart_from_the_return():
    practice = practise(bonuses=["potential", "subgoals(bonus=0.25)"], count=1, axes={"length": 2})
    # From cell 1 of 2: 0 - (1/2 - 1) as the episode ends, and the subgoal "right".
    assert practice.step([4]).rewards.tolist() == [1 + 0.5 + 0.25]
    (finished,) = practice.take_finished()
    assert (finished.reward, finished.bonus) == (1.0, 0.75)


def test_a_count_falls_with_the_visits_of_all_environments():
    practice = practise(bonuses=["count(weight=1)"], count=2, axes={"length": 2})
    # Both always begin in the only cell between the ends.
    assert practice.step([3, 3]).rewards.tolist() == pytest.approx([1, 2**-0.5])
    assert practice.step([3, 4]).rewards.tolist() == pytest.approx([3**-0.5, 1 + 4**-0.5])


@pytest.mark.parametrize("bonuses", [(), ("potential", "count")])
def test_a_saved_state_goes_on_as_if_nothing_had_happened(bonuses):
    def fresh() -> Practice:
        return practise(teachers.make("alp-gmm", make().unwrapped.param_space, seed=1), bonuses)

    moves = [[3 + (t * 7 + k) % 2 if t % 3 else 4 for k in range(3)] for t in range(40)]
    one, two = fresh(), fresh()
    for move in moves[:23]:
        one.step(move)
    one.take_finished()
    two.load_state_dict(json.loads(json.dumps(one.state_dict())))
    for move in moves[23:]:
        first, second = one.step(move), two.step(move)
        assert first.rewards.tolist() == second.rewards.tolist()
    assert one.take_finished() == two.take_finished()
    assert json.dumps(one.state_dict()) == json.dumps(two.state_dict())


def test_a_teacher_is_told_what_an_episode_can_earn(tmp_path):
    config = QConfig(
        **{"env": "palaestra/MovingObstacles-v0", "teacher": "alp-gmm", "steps": 256, "log_every": 256},
        **{"environments": 4, "eval_every": 0, "final_episodes": 1},
    )
    run = StudentRun.start(tmp_path / "run", config)
    run.run(notify=lambda sentence: None)  # walking into a ball earns -1
    assert run.practice.teacher.return_range == (-1.0, 1.0)
    assert run.practice.teacher.metrics()["observed"] > 0


def test_an_episode_that_has_lost_the_way_of_a_solution_is_cut_off_as_a_failure():
    practice = practise(count=1, axes={"length": 6})
    env = make(axes={"length": 6})
    level = next(seed for seed in range(100) if env.reset(seed=seed)[0][0] == 2)
    practice.starts = BackwardStarts(move=2, success=1.0, episodes=2, later=0.0, lag=1)
    practice.starts.begin({level: [4, 4, 4, 4]})
    practice.begin()
    left = 4 - len(practice._slots[0].way)
    # To and fro, for as many actions as are left and one more.
    steps = [practice.step([3 + number % 2]) for number in range(left + 1)]
    assert [bool(step.truncated[0]) for step in steps] == [False] * left + [True]
    assert 0 in steps[-1].last, "its value is that of where it stopped"
    (episode,) = practice.take_finished()
    assert episode.success is False
    assert practice.starts._played[level] == [False]


def test_levels_are_practised_again_and_again_and_leave_no_room_for_a_teacher():
    practice = Practice(make, 8, 7, levels=[5, 11])
    practice.begin()
    seeds = {slot.seed for slot in practice._slots}
    for _ in range(30):
        practice.step([4] * 8)
        seeds |= {slot.seed for slot in practice._slots}
    assert seeds == {5, 11}
    with pytest.raises(InputError, match="leave it or the 2 levels out"):
        Practice(make, 1, 7, Recorder(), levels=[5, 11])
