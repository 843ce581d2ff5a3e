from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from palaestra import rewards
from palaestra.errors import InputError
from palaestra.rewards import Episode, Step, make


def walk(*observations: Any, rewards_at: Mapping[int, float] | None = None) -> Episode:
    rewards_at = rewards_at or {}
    steps = tuple(Step(seen, "", rewards_at.get(t, 0.0), {}, 1) for t, seen in enumerate(observations))
    return Episode("t", {}, steps, False, 0.0, True, False, None)


Maker = Callable[..., Episode]


untimed = settings(deadline=None)


def turns(number: int, success: bool = True, valid: bool = True, task: str = "t", **extras: Any) -> Episode:
    steps = tuple(Step(t, "", 0.0, {}, 1) for t in range(number))
    return Episode(task, {}, steps, success, float(success), valid, False, None, extras)


def values(name: str, episode: Episode, **options: Any) -> Any:
    made = rewards.make(name, **options)
    step_rewards = made.values(episode)  # type: ignore[attr-defined]
    assert made(episode).reward == pytest.approx(sum(step_rewards))
    return pytest.approx(step_rewards, abs=1e-9)


# Potentials.


def test_shaping_is_the_difference_of_potentials_and_ends_at_0():
    assert values("potential", turns(3), potential=lambda s: float(s + 1), discount=0.5) == [0.0, -0.5, -3.0]


@untimed
@given(st.lists(st.floats(-5, 5), min_size=1, max_size=8), st.floats(0, 1), st.floats(-5, 5))
def test_discounted_shaping_sums_to_minus_the_first_potential(potentials: list[float], discount: float, last: float):
    made = rewards.make("potential", discount=discount)
    for supplied in (potentials, [*potentials, last]):
        step_rewards = made.values(turns(len(potentials), potentials=supplied))  # type: ignore[attr-defined]
        assert sum(discount**t * f for t, f in enumerate(step_rewards)) == pytest.approx(-potentials[0], abs=1e-9)


def test_an_episode_that_was_cut_off_can_keep_its_last_potential():
    steps = tuple(Step(t, "", 0.0, {}, 1) for t in range(2))
    cut = Episode("t", {}, steps, False, 0.0, True, True, None, {"potentials": [1.0, 2.0, 4.0]})
    assert values("potential", cut) == [1.0, -2.0]
    assert values("potential", cut, cutoff="keep") == [1.0, 2.0]
    ended = Episode("t", {}, steps, False, 0.0, True, False, None, {"potentials": [1.0, 2.0, 4.0]})
    assert values("potential", ended, cutoff="keep") == [1.0, -2.0]
    with pytest.raises(InputError, match="last state"):
        rewards.make("potential", cutoff="keep")(
            Episode("t", {}, steps, False, 0.0, True, True, None, {"potentials": [1.0, 2.0]})
        )


def test_shaping_at_once_equals_shaping_afterwards():
    made = rewards.make("potential", potential=lambda s: float(s * s), discount=0.9)
    episode = turns(3)
    by_step = [made.step_reward_now(step, t + 1, terminated=t == 2) for t, step in enumerate(episode.steps)]  # type: ignore[attr-defined]
    assert by_step == values("potential", episode, potential=lambda s: float(s * s), discount=0.9)


def test_a_wrong_number_of_potentials_is_refused():
    with pytest.raises(InputError, match="2 or 3 potentials"):
        rewards.make("potential")(turns(2, potentials=[1.0]))


SIZE, GOAL, DISCOUNT = 4, (3, 3), 0.9


CELLS = [(row, column) for row in range(SIZE) for column in range(SIZE)]


MOVES = [(0, 1), (1, 0), (0, -1), (-1, 0)]


def after(cell: tuple[int, int], move: tuple[int, int]) -> tuple[int, int]:
    row, column = cell[0] + move[0], cell[1] + move[1]
    return (row, column) if 0 <= row < SIZE and 0 <= column < SIZE else cell


def action_values(shaping: Callable[[tuple[int, int], tuple[int, int]], float]) -> dict[tuple[int, int], np.ndarray]:
    """Value iteration on a 4x4 grid: each move costs 0.1, entering the goal gives 1 and ends the episode."""
    worth = dict.fromkeys(CELLS, 0.0)
    q: dict[tuple[int, int], np.ndarray] = {}
    for _ in range(300):
        for cell in CELLS:
            if cell != GOAL:
                nexts = [after(cell, move) for move in MOVES]
                q[cell] = np.array([(n == GOAL) - 0.1 + shaping(cell, n) + DISCOUNT * worth[n] for n in nexts])
        worth |= {cell: float(row.max()) for cell, row in q.items()}
    return q


def best_moves(q: dict[tuple[int, int], np.ndarray]) -> dict[tuple[int, int], set[int]]:
    return {cell: set(np.flatnonzero(row > row.max() - 1e-8).tolist()) for cell, row in q.items()}


def transition_shaping(potentials: dict[tuple[int, int], float]) -> Callable[..., float]:
    """Return the reward of one move, by an episode that makes the move."""
    made = rewards.make("potential", potential=potentials.__getitem__, discount=DISCOUNT)
    table = {}
    for cell in CELLS:
        for n in {after(cell, move) for move in MOVES}:
            seen = [cell] if n == GOAL else [cell, n]
            steps = tuple(Step(observation, "", 0.0, {}, 1) for observation in seen)
            table[cell, n] = made.values(Episode("t", {}, steps, True, 1.0, True, False, None))[0]  # type: ignore[attr-defined]
    return lambda cell, n: table[cell, n]


@pytest.mark.parametrize("seed", range(5))
def test_potential_shaping_leaves_the_optimal_policies_of_a_grid_unchanged(seed: int):
    rng = np.random.default_rng(seed)
    # The goal's own potential is far from 0 and must not count.
    potentials = {cell: float(rng.normal(scale=5)) for cell in CELLS} | {GOAL: 100.0}
    plain, shaped = action_values(lambda cell, n: 0.0), action_values(transition_shaping(potentials))
    assert best_moves(shaped) == best_moves(plain)
    for cell in plain:
        assert shaped[cell] == pytest.approx(plain[cell] - potentials[cell], abs=1e-6)


def test_the_same_grid_shows_a_bonus_that_is_no_potential_difference():
    assert best_moves(action_values(lambda cell, n: 1.0 * (n == (0, 0)))) != best_moves(
        action_values(lambda cell, n: 0.0)
    )


def test_with_the_optimal_values_as_potential_one_step_ahead_is_enough():
    plain = action_values(lambda cell, n: 0.0)
    values_of = {cell: float(row.max()) for cell, row in plain.items()} | {GOAL: 0.0}
    shaping = transition_shaping(values_of)
    greedy = {
        cell: np.array([(after(cell, m) == GOAL) - 0.1 + shaping(cell, after(cell, m)) for m in MOVES])
        for cell in plain
    }
    assert best_moves(greedy) == best_moves(plain)


# Subgoals (CALM).


def key_and_door(subgoal: str, episode: Episode, t: int) -> bool:
    return {"key": "picks", "door": "opens"}[subgoal] in episode.steps[t].action


def test_each_subgoal_gets_its_bonus_once_however_often_it_is_repeated(episode: Maker):
    seen = episode(text=["picks", "drops", "picks", "opens", "opens"])
    assert values("subgoals", seen, subgoals=["key", "door"], achieved=key_and_door, bonus=0.5) == [0.5, 0, 0, 0.5, 0]


def test_without_achieved_subgoals_there_is_no_bonus(episode: Maker):
    made = rewards.make("subgoals", subgoals=["key"], achieved=lambda *_: False)
    assert made(episode(text=["picks", "opens"])).reward == 0


def test_subgoals_read_from_the_extra_get_their_bonus_once():
    extra = [["key"], [], ["key", "door", "spam"]]
    assert values("subgoals", turns(3, achieved=extra), subgoals=["key", "door"], bonus=1.0) == [1, 0, 1]
    assert values("subgoals", turns(3, achieved=extra), bonus=1.0) == [1, 0, 2]


def test_a_judge_without_an_opinion_gives_an_invalid_verdict_and_is_not_asked_twice(episode: Maker):
    asked: list[int] = []

    def judge(subgoal: str, episode: Episode, t: int) -> bool:
        asked.append(t)
        return t == 1

    rewards.make("subgoals", subgoals=["key"], achieved=judge)(episode(text=["a", "b", "c"]))
    assert asked == [0, 1]
    assert not rewards.make("subgoals", subgoals=["key"], achieved=lambda *_: None)(episode(text="a")).valid


def test_a_step_of_which_nothing_is_known_gives_an_invalid_verdict():
    assert not rewards.make("subgoals")(turns(2, achieved=[["key"], None])).valid


@pytest.mark.parametrize("wrong", [{"subgoals": "key"}, {"achieved": key_and_door}, {"bonus": "much"}])
def test_wrong_subgoals_are_refused(wrong: dict[str, Any]):
    with pytest.raises(InputError):
        rewards.make("subgoals", **wrong)
    with pytest.raises(InputError, match="2 steps"):
        rewards.make("subgoals")(turns(2, achieved=[["key"]]))


FOUR = ["a", "b", "c", "d"]


QUARTERS = [0.25, 0.5, 0.75, 1.0]


def test_a_clean_run_gets_1(episode: Maker):
    assert make("progress-penalties")(episode(text=FOUR, completion=QUARTERS)).reward == 1.0


def test_a_soft_violation_during_the_middle_half_leaves_three_quarters(episode: Maker):
    reward = make("progress-penalties")
    run = episode(text=FOUR, completion=QUARTERS, soft_factors=[1, 0.5, 0.5, 1])
    assert reward.values(run) == [0.25, 0.125, 0.125, 0.25]
    assert reward(run).reward == 0.75


def test_several_violations_at_once_multiply(episode: Maker):
    run = episode(text=["a"], completion=[1.0], soft_factors=[[0.5, 0.5]])
    assert make("progress-penalties")(run).reward == 0.25


def test_a_hard_violation_at_40_percent_gets_40_percent_and_the_terminal_term(episode: Maker):
    stopped = {"text": ["a", "b"], "completion": [0.2, 0.4]}
    assert make("progress-penalties")(episode(**stopped)).reward == pytest.approx(0.4)
    violated = make("progress-penalties").values(episode(**stopped, hard_violation=True))
    assert violated == pytest.approx([0.2, 0.2 - 1.0])


def test_going_back_and_forth_earns_nothing(episode: Maker):
    run = episode(text=FOUR, completion=[0.5, 0.0, 0.5, 0.6])
    assert make("progress-penalties").values(run) == pytest.approx([0.5, 0.0, 0.0, 0.1])


def test_extras_of_another_length_are_refused_and_missing_numbers_invalid(episode: Maker):
    with pytest.raises(InputError, match="each of the 4"):
        make("progress-penalties")(episode(text=FOUR, completion=[1.0]))
    assert not make("progress-penalties")(episode(text=["a"], completion=[None])).valid
    assert not make("progress-penalties")(episode(text=["a"], completion=[1.0], soft_factors=[[None]])).valid


@pytest.mark.parametrize(
    ("name", "options"),
    [("potential", {"discount": 1.5}), ("potential", {"cutoff": "never"})],
)
def test_wrong_arguments_are_refused(name: str, options: dict[str, Any]):
    with pytest.raises(InputError):
        rewards.make(name, **options)


def test_episodes_without_turns_get_0():
    for name, extras in (("potential", {"potentials": []}), ("subgoals", {"achieved": []})):
        verdict = rewards.make(name)(turns(0, **extras))
        assert verdict.valid
        assert verdict.reward == 0


# Waypoints (KAGI).


def test_waypoints_reward_the_path_through_them_as_a_share_of_its_length():
    # From (0, 0) to (2, 0), then to (2, 2): 4 in all; the first waypoint is reached at the third state.
    path = [[0, 0], [1, 0], [2, 0], [2, 1], [2, 2]]
    seen = turns(4, positions=path, waypoints=[[2, 0], [2, 2]])
    assert values("waypoints", seen) == [0.25] * 4
    assert values("waypoints", turns(4, positions=path, waypoints=[])) == [0.0] * 4


def test_a_loop_that_reaches_no_waypoint_sums_to_zero():
    seen = turns(5, positions=[[0, 0], [1, 0], [1, 1], [0, 0], [0, 1], [0, 2]], waypoints=[[2, 0]])
    made = rewards.make("waypoints")
    assert sum(made.values(seen)[:3]) == pytest.approx(0.0)  # type: ignore[attr-defined]


def test_an_episode_cut_off_at_a_position_keeps_its_potential_on_request():
    seen = turns(1, positions=[[0], [1]], waypoints=[[4]])
    cut = Episode("t", {}, seen.steps, False, 0.0, True, True, None, seen.extras)
    assert values("waypoints", cut) == [1.0]
    assert values("waypoints", cut, cutoff="keep") == [0.25]


def test_waypoints_within_the_radius_count_as_reached():
    seen = turns(2, positions=[[0], [3], [9]], waypoints=[[4], [9]])
    assert values("waypoints", seen, radius=1.0) == [1 / 3, 2 / 3]
    assert values("waypoints", seen) == [3 / 9, -3 / 9 + 1.0]


def test_positions_are_those_of_every_state():
    with pytest.raises(InputError, match="2 steps need one position more, not 2"):
        rewards.make("waypoints")(turns(2, positions=[[0], [1]], waypoints=[[4]]))
