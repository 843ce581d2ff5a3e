from __future__ import annotations

from typing import Any

import pytest
from palaestra import rewards
from palaestra.errors import InputError
from palaestra.rewards import Episode, Reward, Step, Verdict


def an_episode(*steps: Step, max_tokens: int | None = None, **changes: Any) -> Episode:
    facts: dict[str, Any] = {"success": True, "progress": 1.0, "valid": True, "truncated": False, **changes}
    return Episode("t", {}, steps, max_tokens=max_tokens, **facts)


def of_length(tokens: int, max_tokens: int | None = 20) -> Episode:
    return an_episode(Step("", "", 0.0, {}, tokens), max_tokens=max_tokens)


def test_outcome_sums_the_steps_term_by_term():
    episode = an_episode(
        Step("", "", 0.25, {"progress": 0.25}, 1), Step("", "", 1.5, {"progress": 0.5, "success": 1.0}, 1)
    )
    verdict = rewards.make("outcome")(episode)
    assert verdict.terms == {"progress": 0.75, "success": 1.0}
    assert verdict.reward == episode.reward == 1.75
    assert verdict.success


def test_outcome_keeps_a_reward_that_has_no_terms():
    verdict = rewards.make("outcome")(an_episode(Step("", "", 0.5, {}, 1), success=False, progress=0.25))
    assert verdict.terms == {"outcome": 0.5}
    assert verdict.score == 0.25
    assert not verdict.success


def test_outcome_of_an_invalid_episode_is_invalid_and_no_success():
    verdict = rewards.make("outcome")(an_episode(Step("", "", 1.0, {}, 1), valid=False))
    assert not verdict.valid
    assert not verdict.success


# DAPO eq. 13 with L_max = 20 and L_cache = 4: 0 up to 16, then (16 - |y|) / 4, then -1.
@pytest.mark.parametrize(("tokens", "value"), [(0, 0), (16, 0), (17, -0.25), (18, -0.5), (20, -1), (21, -1), (99, -1)])
def test_overlong_punishment_is_linear_over_the_cache(tokens: int, value: float):
    verdict = rewards.make("overlong", cache=4)(of_length(tokens))
    assert verdict.terms == {"overlong": value}
    assert verdict.reward == value


def test_overlong_cache_is_a_fifth_of_the_limit_unless_given():
    # The limit of 20 gives a cache of 4, as above.
    assert rewards.make("overlong")(of_length(17)).reward == -0.25


def test_overlong_limit_can_be_set_against_the_episode():
    assert rewards.make("overlong", cache=2, max_tokens=10)(of_length(9)).reward == -0.5


def test_overlong_without_any_limit_is_refused():
    with pytest.raises(InputError, match="max_tokens"):
        rewards.make("overlong")(of_length(5, max_tokens=None))


def test_overlong_cache_beyond_the_limit_is_refused():
    with pytest.raises(InputError, match="cache=30"):
        rewards.make("overlong", cache=30)(of_length(5))


@pytest.mark.parametrize("wrong", [{"cache": 0}, {"cache": 1.5}, {"max_tokens": -1}, {"cash": 3}])
def test_wrong_arguments_of_a_reward_are_refused(wrong: dict[str, Any]):
    with pytest.raises(InputError):
        rewards.make("overlong", **wrong)


def test_group_judges_each_episode_in_order_by_default():
    episodes = [of_length(16), of_length(20), of_length(17)]
    assert [verdict.reward for verdict in rewards.make("overlong").group(episodes)] == [0, -1, -0.25]


def test_unknown_reward_names_the_nearest():
    with pytest.raises(InputError, match="'outcome'"):
        rewards.make("outcom")


def test_a_reward_of_ones_own_registers_by_name():
    @rewards.register("test-brevity")
    class Brevity(Reward):
        needs = frozenset({"entropy"})

        def __call__(self, episode: Episode) -> Verdict:
            return Verdict(1.0 / (1 + episode.tokens), episode.success)

    made = rewards.make("test-brevity")
    assert isinstance(made, Brevity)
    assert made.needs == {"entropy"}
    assert made(of_length(3)).reward == 0.25
