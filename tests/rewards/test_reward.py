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


class Costly(Reward):
    """A cost for each token."""

    def __init__(self, cost: float = 0.5, **more: float):
        super().__init__()
        self.cost, self.more = cost, more

    def value(self, episode: Episode) -> float:
        return -self.cost * episode.tokens


def test_a_reward_with_a_constructor_of_its_own_keeps_it():
    made = rewards.register("test-costly")(Costly)(0.25, further=1.0)
    assert made(of_length(4)).reward == -1.0
    assert made.more == {"further": 1.0}
    assert Costly.__doc__ == "A cost for each token."


def test_a_reward_of_ones_own_declares_its_options():
    @rewards.register("test-costly-declared")
    class Declared(Reward):
        """A cost for each token, up to a limit."""

        cost: float = rewards.option(default=0.5, low=0, says="of a token.")
        limit: float = rewards.option(default=None, low=0, says="largest cost; None: a hundred tokens'.")

        def setup(self) -> None:
            self.limit = 100 * self.cost if self.limit is None else self.limit

        def value(self, episode: Episode) -> float:
            return -min(self.cost * episode.tokens, self.limit)

    assert rewards.make("test-costly-declared", cost=0.25, limit=0.5)(of_length(4)).reward == -0.5
    assert Declared(0.25).limit == 25.0
    assert (Declared.__doc__ or "").endswith(
        "cost: of a token.\n    limit: largest cost; None: a hundred tokens'.\n\n"
        "Raises:\n    InputError: an option out of range."
    )
    with pytest.raises(InputError, match="cost must be a finite number of at least 0"):
        rewards.make("test-costly-declared", cost=-1)


def test_a_scorer_counts_once_among_the_parts_of_a_reward():
    scorer = rewards.make("overlong")
    made = rewards.make("shaped-rm", scorer=scorer)
    assert list(made.walk()) == [made, scorer]
    assert made.children == {"score": scorer}
