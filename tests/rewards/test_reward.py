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
