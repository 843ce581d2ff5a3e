from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest
from palaestra import rewards
from palaestra.errors import InputError
from palaestra.rewards import Episode, Step
from palaestra.rewards.judges import TOPOLOGIES, Judge, Judgement
from palaestra.rewards.judges.tournament import rank_rewards, ranks

every_topology = pytest.mark.parametrize("topology", sorted(TOPOLOGIES))


class Counting(Judge):
    """Scores by ``value`` of the response, and counts the questions."""

    name = "counting"

    def __init__(self, scores: Callable[[Sequence[str]], Sequence[float]]):
        self.scores = scores
        self.calls = 0

    def score(self, principle: str, prompt: str, responses: Sequence[str], reference: str | None = None) -> Judgement:
        self.calls += 1
        return Judgement(tuple(self.scores(responses)))


def graded() -> Counting:
    """The response is a number; a hundredth of it is the score."""
    return Counting(lambda responses: [int(response) / 100 for response in responses])


def binary() -> Counting:
    """The larger number wins 1 to 0."""
    return Counting(lambda responses: [float(int(r) == max(map(int, responses))) for r in responses])


def seated() -> Counting:
    """Whoever sits first gets 1, the other 0."""
    return Counting(lambda responses: [1.0, 0.0])


def siblings(*responses: Any) -> list[Episode]:
    return [
        Episode("t", {}, (Step("prompt", str(response), 0.0, {}, 1),), False, 0.0, True, False, None)
        for response in responses
    ]


def values(topology: str, judge: Judge, responses: Sequence[Any]) -> list[float]:
    reward = rewards.make("tournament", judge=judge, topology=topology)
    return [verdict.reward for verdict in reward.group(siblings(*responses))]


def test_four_ranks_give_thirds_and_arenas_advantages():
    rewards_of = rank_rewards([(3,), (2,), (1,), (0,)])
    assert rewards_of == pytest.approx([1, 2 / 3, 1 / 3, 0])
    advantages = (np.array(rewards_of) - np.mean(rewards_of)) / (np.std(rewards_of, ddof=1) + 1e-6)
    assert advantages == pytest.approx([1.1619, 0.3873, -0.3873, -1.1619], abs=1e-4)


def test_equal_ranks_are_averaged():
    assert ranks([(2,), (1,), (2,), (0,)]) == [0.5, 2.0, 0.5, 3.0]


@every_topology
@pytest.mark.parametrize("count", range(2, 10))
def test_a_transitive_judge_puts_the_best_first(topology: str, count: int):
    rng = np.random.default_rng(count)
    orders = (
        list(itertools.permutations(range(count)))
        if count <= 4
        else [rng.permutation(count).tolist() for _ in range(20)]
    )
    for order in orders:
        found = values(topology, graded(), order)
        assert found[order.index(count - 1)] == max(found) == 1.0
        assert found.count(1.0) == 1
        won = values(topology, binary(), order)
        assert won[order.index(count - 1)] == max(won)


@pytest.mark.parametrize("topology", ["round-robin", "anchor"])
def test_a_transitive_judge_is_followed_all_the_way_down(topology: str):
    assert values(topology, graded(), [10, 40, 20, 30]) == pytest.approx([0, 1, 1 / 3, 2 / 3])


def test_seeded_elimination_of_four_without_ties():
    # Seeds by the match against the first: 40, 30, 20, 10. Semi-finals 40-10 and 30-20, final 40-30; of the losers of
    # the first round 20 has the better mean.
    assert values("seeded-elimination", graded(), [10, 40, 20, 30]) == pytest.approx([0, 1, 1 / 3, 2 / 3])


def test_seeds_keep_the_strongest_apart_until_the_final():
    # In the order of the list 40 would meet 30 at once, and 20 would come second.
    assert values("seeded-elimination", graded(), [10, 40, 30, 20]) == pytest.approx([0, 1, 2 / 3, 1 / 3])


@every_topology
@pytest.mark.parametrize("count", range(1, 10))
def test_a_judge_that_prefers_the_first_seat_gives_all_the_same(topology: str, count: int):
    found = values(topology, seated(), range(count))
    assert found == pytest.approx([0.5] * count)


@every_topology
def test_a_judge_that_sees_no_difference_gives_all_the_same(topology: str):
    assert values(topology, Counting(lambda responses: [0.3] * 2), range(6)) == pytest.approx([0.5] * 6)


@pytest.mark.parametrize("count", range(2, 12))
def test_numbers_of_matches(count: int):
    def matches(topology: str) -> int:
        judge = graded()
        values(topology, judge, range(count))
        assert judge.calls % 2 == 0  # every match in both orders
        return judge.calls // 2

    assert matches("anchor") == count - 1
    assert matches("round-robin") == count * (count - 1) // 2
    assert matches("seeded-elimination") == (count - 1) + (count - 1)
    assert matches("swiss") == math.ceil(math.log2(count)) * (count // 2)
    assert matches("double-elimination") in (2 * (count - 1), 2 * (count - 1) + 1)


def test_swiss_breaks_ties_by_the_strength_of_the_opponents():
    # Rounds: 40-10 and 30-20, then 40-30 and 10-20 (winners first). One win each for 30 and 20; 30 lost to the best.
    assert values("swiss", graded(), [40, 10, 30, 20]) == pytest.approx([1, 0, 2 / 3, 1 / 3])


def test_the_loser_of_a_match_can_still_win_a_double_elimination():
    # 2 beats 1 once, then never again.
    lost = [True]

    def score(responses: Sequence[str]) -> list[float]:
        if set(responses) == {"1", "2"} and lost and lost[0]:
            return [float(response == "2") for response in responses]
        return [float(int(response) == min(map(int, responses))) for response in responses]

    class Upset(Counting):
        def score(self, *arguments: Any, **options: Any) -> Judgement:
            judgement = super().score(*arguments, **options)
            if self.calls == 2:
                lost[0] = False
            return judgement

    assert values("double-elimination", Upset(score), ["1", "2"]) == [1.0, 0.0]


@every_topology
def test_a_judge_that_fails_once_leaves_the_group_without_a_verdict(topology: str):
    class Failing(Counting):
        def score(self, *arguments: Any, **options: Any) -> Judgement:
            judgement = super().score(*arguments, **options)
            return Judgement.failed("silence") if self.calls == 3 else judgement

    reward = rewards.make("tournament", judge=Failing(lambda r: [0.9, 0.1]), topology=topology)
    assert [verdict.valid for verdict in reward.group(siblings(1, 2, 3))] == [False] * 3


def test_invalid_episodes_do_not_play():
    group = siblings(10, 90, 20)
    group[1] = Episode("t", {}, group[1].steps, False, 0.0, False, False, None)
    verdicts = rewards.make("tournament", judge=graded()).group(group)
    assert [(verdict.valid, verdict.reward) for verdict in verdicts] == [(True, 0.0), (False, 0.0), (True, 1.0)]


def test_an_unknown_topology_names_the_nearest():
    with pytest.raises(InputError, match="'swiss'"):
        rewards.make("tournament", topology="swis")
