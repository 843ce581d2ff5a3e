from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from palaestra import rewards
from palaestra.errors import InputError
from palaestra.rewards import Episode, Step
from palaestra.rewards.terms.shapley import ablated, equal_spans, shapley_values

Make = Callable[..., Episode]

untimed = settings(deadline=None)


def turns(number: int, success: bool = True, valid: bool = True, task: str = "t", **extras: Any) -> Episode:
    steps = tuple(Step(t, "", 0.0, {}, 1) for t in range(number))
    return Episode(task, {}, steps, success, float(success), valid, False, None, extras)


def values(name: str, episode: Episode, **options: Any) -> Any:
    made = rewards.make(name, **options)
    paid = made.values(episode)  # type: ignore[attr-defined]
    assert made(episode).reward == pytest.approx(sum(paid))
    return pytest.approx(paid, abs=1e-9)


# Scores of steps.


def test_clip_and_delta_together():
    # Clipped at .9: 0, -.1, 0; differences .1, -.1, 0.
    assert values("clip-delta", turns(3, step_scores=[0.9, 0.8, 0.95]), threshold=0.9) == [0.1, -0.1, 0.0]


def test_delta_and_clip_alone():
    episode = turns(3, step_scores=[0.9, 0.8, 0.95])
    assert values("clip-delta", episode, threshold=None) == [0.1, -0.15, 0.95]
    assert values("clip-delta", episode, threshold=0.9, delta=False, weight=2.0) == [0.0, -0.2, 0.0]


def test_the_episode_is_worth_its_worst_step_in_min_form():
    assert values("min-form", turns(3, step_scores=[0.5, -0.2, 0.8]), temperature=0.0) == [0.0, -0.2, 0.0]
    assert rewards.make("min-form")(turns(3, step_scores=[0.5, -0.2, 0.8])).reward == pytest.approx(-0.1993, abs=5e-5)


def test_renorm_of_a_success_and_a_failure():
    assert values("renorm", turns(2, True, step_scores=[1.0, 0.25])) == [1.0, 0.25]
    assert values("renorm", turns(2, False, step_scores=[1.0, 0.25])) == [0.0, -0.75]


@untimed
@given(st.lists(st.tuples(st.booleans(), st.lists(st.floats(0, 1), max_size=5)), min_size=1, max_size=6))
def test_renorm_never_ranks_a_failure_above_a_success(members: list[tuple[bool, list[float]]]):
    made = rewards.make("renorm")
    assert made.ranks_success
    for success, scores in members:
        paid = made(turns(len(scores), success, step_scores=scores)).reward
        assert paid >= 0 if success else paid <= 0


def test_renorm_refuses_scores_that_are_no_shares():
    for wrong in (1.5, -0.1):
        with pytest.raises(InputError, match=r"\[0, 1\]"):
            rewards.make("renorm")(turns(1, step_scores=[wrong]))


def test_a_scorer_takes_the_place_of_the_extra():
    made = rewards.make("clip-delta", scorer=lambda episode: [0.2] * len(episode.steps), threshold=None)
    assert made.needs == frozenset()
    assert made(turns(2)).reward == pytest.approx(0.2)
    assert rewards.make("clip-delta").needs == {"step_scores"}


@pytest.mark.parametrize("scores", [None, [0.5, float("nan")], [float("inf"), 0.5]])
def test_a_scorer_that_fails_gives_an_invalid_verdict(scores: Any):
    verdict = rewards.make("min-form", scorer=lambda episode: scores)(turns(2))
    assert not verdict.valid
    assert verdict.reward == 0


def test_scores_that_fit_no_turns_are_refused():
    with pytest.raises(InputError, match="2 turns"):
        rewards.make("min-form")(turns(2, step_scores=[0.1, 0.2, 0.3]))
    with pytest.raises(InputError, match="step_scores"):
        rewards.make("min-form")(turns(2))


def test_steps_within_the_text_of_one_turn_are_summed():
    made = rewards.make("clip-delta", threshold=None)
    episode = turns(1, step_scores=[0.9, 0.8, 0.95])
    assert made.values(episode) == pytest.approx([0.9])  # type: ignore[attr-defined]
    assert made.shaped(episode) == pytest.approx([0.1, -0.15, 0.95])  # type: ignore[attr-defined]


# Thoughts (TP-GRPO).


def test_thoughts_weigh_as_much_as_the_group_is_able():
    # Two of four succeed: outcomes 1 and -1, scale .8 * .5 = .4.
    group = [
        turns(3, True, step_labels=[True, False, True]),
        turns(2, True, step_labels=[True, True]),
        turns(3, False, step_labels=[True, False, True]),
        turns(1, False, step_labels=[True]),
    ]
    made = rewards.make("thoughts", weight=0.8)
    paid = made.group_values(group)  # type: ignore[attr-defined]
    assert paid[0] == pytest.approx([0.4, -0.4, 0.0])
    assert paid[1] == pytest.approx([0.0, 0.0])
    assert paid[2] == pytest.approx([-1.0, 1.0, 0.0])
    assert [verdict.reward for verdict in made.group(group)] == pytest.approx([sum(row) for row in paid])


def test_thoughts_of_invalid_episodes_are_not_counted():
    group = [
        turns(2, True, step_labels=[False, True]),
        turns(2, False, valid=False, step_labels=[True, True]),
        turns(2, True, step_labels=None),
    ]
    verdicts = rewards.make("thoughts").group(group)
    assert [verdict.valid for verdict in verdicts] == [True, False, False]
    # Both valid ones succeeded, so the scale is 1 and not 2/3.
    assert verdicts[0].reward == pytest.approx(-1.0)


def test_labels_that_are_no_truth_values_are_refused():
    with pytest.raises(InputError, match="true or false"):
        rewards.make("thoughts")(turns(1, step_labels=[0.5]))


# Potentials.


def test_shaping_is_the_difference_of_potentials_and_ends_at_0():
    assert values("potential", turns(3), potential=lambda s: float(s + 1), discount=0.5) == [0.0, -0.5, -3.0]


@untimed
@given(st.lists(st.floats(-5, 5), min_size=1, max_size=8), st.floats(0, 1), st.floats(-5, 5))
def test_discounted_shaping_sums_to_minus_the_first_potential(potentials: list[float], discount: float, last: float):
    made = rewards.make("potential", discount=discount)
    for supplied in (potentials, [*potentials, last]):
        paid = made.values(turns(len(potentials), potentials=supplied))  # type: ignore[attr-defined]
        assert sum(discount**t * f for t, f in enumerate(paid)) == pytest.approx(-potentials[0], abs=1e-9)


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
    at_once = [made.at_once(step, t + 1, terminated=t == 2) for t, step in enumerate(episode.steps)]  # type: ignore[attr-defined]
    assert at_once == values("potential", episode, potential=lambda s: float(s * s), discount=0.9)


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
    """Value iteration on a 4x4 grid: each move costs 0.1, entering the goal pays 1 and ends the episode."""
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
    """What the reward pays for one move, asked of it by an episode that makes the move."""
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


def test_two_subgoals_are_paid_once_each_however_often_they_are_repeated(episode: Make):
    seen = episode(text=["picks", "drops", "picks", "opens", "opens"])
    assert values("subgoals", seen, subgoals=["key", "door"], achieved=key_and_door, bonus=0.5) == [0.5, 0, 0, 0.5, 0]


def test_a_judge_that_always_says_no_leaves_the_reward_unchanged(episode: Make):
    made = rewards.make("subgoals", subgoals=["key"], achieved=lambda *_: False)
    assert made(episode(text=["picks", "opens"])).reward == 0


def test_subgoals_read_from_the_extra_are_paid_once():
    extra = [["key"], [], ["key", "door", "spam"]]
    assert values("subgoals", turns(3, achieved=extra), subgoals=["key", "door"], bonus=1.0) == [1, 0, 1]
    assert values("subgoals", turns(3, achieved=extra), bonus=1.0) == [1, 0, 2]


def test_a_judge_without_an_opinion_gives_an_invalid_verdict_and_is_not_asked_twice(episode: Make):
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


# Shapley credit (SCAR).


def test_shapley_values_of_two_players():
    worth = {frozenset(): 0, frozenset({0}): 1, frozenset({1}): 2, frozenset({0, 1}): 4}
    assert shapley_values(worth.__getitem__, 2) == pytest.approx([1.5, 2.5])
    assert values("shapley", turns(2, coalition_values=[0, 1, 2, 4])) == [1.5, 2.5]


@untimed
@given(st.integers(1, 4).flatmap(lambda n: st.lists(st.floats(-5, 5), min_size=2**n, max_size=2**n)))
def test_shapley_values_sum_to_all_less_none(table: list[float]):
    made = rewards.make("shapley")
    players = len(table).bit_length() - 1
    credit = made.spread(turns(players, coalition_values=table))  # type: ignore[attr-defined]
    assert credit.sum() == pytest.approx(table[-1] - table[0], abs=1e-9)


@pytest.mark.parametrize("players", [6, 14])
def test_a_player_who_never_matters_gets_nothing(players: int):
    def worth(members: frozenset[int]) -> float:
        return float(len(members - {2}) ** 2)

    credit = shapley_values(worth, players, rng=np.random.default_rng(0))
    assert credit[2] == 0
    assert credit.sum() == pytest.approx((players - 1) ** 2)


def test_sampled_values_come_near_the_exact_ones():
    # Of 12 players only pairs (0, 1) and (2, 3) earn together: half of 1 each.
    def worth(members: frozenset[int]) -> float:
        return float({0, 1} <= members) + float({2, 3} <= members)

    credit = shapley_values(worth, 12, permutations=2000, rng=np.random.default_rng(0))
    assert credit == pytest.approx([0.5] * 4 + [0.0] * 8, abs=0.05)


def test_sampling_is_the_same_in_every_run():
    def worth(episode: Episode, kept: frozenset[int]) -> float:
        return float(sum(kept) ** 1.5)

    def once(task: str, **options: Any) -> list[float]:
        return rewards.make("shapley", worth=worth, permutations=3, **options).spread(turns(12, task=task)).tolist()  # type: ignore[attr-defined]

    assert once("a") == once("a")
    assert once("a") != once("b")
    assert once("a") != once("a", seed=1)


@pytest.mark.parametrize("share", [0.0, 0.3, 1.0])
def test_whatever_the_share_the_total_is_the_worth_of_the_whole(share: float):
    made = rewards.make("shapley", share=share)
    episode = turns(2, coalition_values=[0, 1, 2, 4])
    assert made(episode).reward == pytest.approx(4.0)
    assert made.values(episode)[0] == pytest.approx(1.5 * share)  # type: ignore[attr-defined]


def test_each_coalition_is_valued_once():
    asked: list[frozenset[int]] = []
    shapley_values(lambda members: float(asked.append(members) or 0), 5)
    assert len(asked) == len(set(asked)) == 32


def test_spans_of_a_text_are_contiguous_and_can_be_blanked():
    text = "one two  three four five"
    spans = equal_spans(text, 3)
    assert [text[a:b] for a, b in spans] == ["one ", "two  three ", "four five"]
    assert "".join(text[a:b] for a, b in spans) == text
    assert ablated(text, spans, {0, 2}) == text[: spans[1][0]] + " " * (spans[1][1] - spans[1][0]) + text[spans[2][0] :]
    assert equal_spans("", 3) == []
    assert equal_spans("word", 3) == [(0, 4)]


def test_a_worth_that_could_not_be_determined_gives_an_invalid_verdict():
    for worth in (lambda e, kept: None if kept == {0} else 1.0, lambda e, kept: float("nan")):
        assert not rewards.make("shapley", worth=worth)(turns(2)).valid
    with pytest.raises(InputError, match="power of two"):
        rewards.make("shapley")(turns(2, coalition_values=[1.0, 2.0, 3.0]))


def test_a_reward_model_scores_what_is_left_of_a_response(episode: Make):
    def worth(judged: Episode, kept: frozenset[int]) -> float:
        return float("gold" in ablated(judged.response, equal_spans(judged.response, 3), kept))

    made = rewards.make("shapley", worth=worth, players=lambda judged: 3)
    judged = episode(text="dross dross gold gold dross dross")
    assert made.spread(judged).tolist() == pytest.approx([0, 1, 0])  # type: ignore[attr-defined]
    assert made(judged).reward == 1.0


@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("clip-delta", {"weight": float("inf")}),
        ("min-form", {"temperature": -0.1}),
        ("thoughts", {"weight": -1}),
        ("potential", {"discount": 1.5}),
        ("potential", {"cutoff": "never"}),
        ("shapley", {"share": 2}),
        ("shapley", {"permutations": 0}),
    ],
)
def test_wrong_arguments_are_refused(name: str, options: dict[str, Any]):
    with pytest.raises(InputError):
        rewards.make(name, **options)


def test_episodes_without_turns_are_worth_nothing():
    extras: dict[str, Sequence[float]] = {"step_scores": [], "step_labels": [], "potentials": [], "achieved": []}
    for name in ("clip-delta", "min-form", "renorm", "thoughts", "potential", "subgoals"):
        verdict = rewards.make(name)(turns(0, **extras))
        assert verdict.valid
        assert verdict.reward == 0
