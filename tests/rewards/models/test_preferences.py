from __future__ import annotations

import subprocess
import sys
from typing import Any

import numpy as np
import pytest
from palaestra.errors import InputError
from palaestra.rewards import Episode, Step
from palaestra.rewards.models import (
    Preference,
    TokenEpisode,
    correct_pairs,
    corrupt_answer,
    corrupted_pairs,
    graded_pairs,
    preference_pairs,
    preference_strength,
    truncated_pairs,
)
from palaestra.rewards.verifiers import verify


def saying(text: str, success: bool = True, task: str = "t", reward: float = 0.0, valid: bool = True) -> Episode:
    return Episode(task, {}, (Step("prompt", text, reward, {}, 1),), success, float(success), valid, False, None)


def test_a_success_is_preferred_to_a_failure_of_the_same_task_only():
    episodes = [saying("a", True), saying("b", False), saying("c", False), saying("d", False, "u")]
    assert preference_pairs(episodes) == [Preference("prompt", "a", "b"), Preference("prompt", "a", "c")]


def test_rewards_order_where_asked_and_ties_make_no_pair():
    episodes = [saying("a", reward=0.1), saying("b", reward=0.5), saying("c", reward=0.1)]
    assert preference_pairs(episodes) == []
    assert preference_pairs(episodes, by="reward") == [Preference("prompt", "b", "a"), Preference("prompt", "b", "c")]
    assert len(preference_pairs(episodes, by="reward", most=1)) == 1


def test_invalid_episodes_and_equal_texts_make_no_pair():
    assert preference_pairs([saying("a"), saying("b", False, valid=False), saying("a", False)]) == []


@pytest.mark.parametrize(
    "response",
    ["First 6 * 7.\n\\boxed{42}", "<answer>0.75</answer>", "so it is\n-3", "the answer is\nblue whale", "7"],
)
def test_a_corrupted_answer_differs_in_the_answer_and_nowhere_else(response: str):
    from palaestra.rewards.answers import extract

    gold = extract(response)
    assert gold is not None
    for seed in range(30):
        changed = corrupt_answer(response, np.random.default_rng(seed))
        assert changed is not None
        wrong = extract(changed)
        assert wrong != gold
        assert not verify("number" if gold[-1].isdigit() else "text", wrong or "", gold).success
        start = response.rfind(gold)
        assert changed[:start] == response[:start]
        assert changed.endswith(response[start + len(gold) :])


@pytest.mark.parametrize("response", ["", "  \n", "?!"])
def test_what_has_no_answer_cannot_be_corrupted(response: str):
    assert corrupt_answer(response, np.random.default_rng(0)) is None


def test_without_a_success_there_is_nothing_to_corrupt():
    assert corrupted_pairs([saying("\\boxed{1}", False)], np.random.default_rng(0)) == []
    assert len(corrupted_pairs([saying("\\boxed{1}")], np.random.default_rng(0))) == 1


def test_an_episode_lost_by_the_machinery_is_no_example():
    lost = saying("Let's see: 6 * 7.\n42", valid=False)
    assert corrupted_pairs([lost], np.random.default_rng(0)) == truncated_pairs([lost]) == []


def test_the_same_generator_corrupts_alike():
    episodes = [saying(f"\\boxed{{{n}}}") for n in range(100, 120)]
    one, two = (corrupted_pairs(episodes, np.random.default_rng(3)) for _ in range(2))
    assert one == two


def test_a_success_is_preferred_to_its_own_opener():
    pairs = truncated_pairs([saying("Let's see: 6 * 7.\n42"), saying("42"), saying("Well: 1", False)])
    assert pairs == [Preference("prompt", "Let's see: 6 * 7.\n42", "Let's see:")]


def test_a_response_stands_between_its_better_and_its_worse_version():
    def rewrite(response: str, dimension: str, better: bool) -> str:
        return f"{response} {'+' if better else '-'}{dimension}"

    pairs = graded_pairs([saying("r", success=False), saying("s", valid=False)], rewrite, ["rigour", "coherence"])
    assert [(pair.chosen, pair.rejected) for pair in pairs] == [
        ("r +rigour", "r"),
        ("r +rigour", "r -rigour"),
        ("r", "r -rigour"),
        ("r +coherence", "r"),
        ("r +coherence", "r -coherence"),
        ("r", "r -coherence"),
    ]
    assert {pair.prompt for pair in pairs} == {"prompt"}
    assert len(graded_pairs([saying("r")], rewrite)) == 9


def test_a_version_that_is_missing_or_the_same_makes_no_pair():
    assert graded_pairs([saying("r")], lambda text, dimension, better: None) == []
    assert graded_pairs([saying("r")], lambda text, dimension, better: text) == []
    worse_only = graded_pairs([saying("r")], lambda text, dimension, better: None if better else "w", ["x"])
    assert worse_only == [Preference("prompt", "r", "w")]


def test_strength_is_the_mean_over_the_ensemble():
    assert preference_strength([[1.0, -2.0], [3.0, 1.0]]).tolist() == [2.0, -0.5]
    with pytest.raises(InputError):
        preference_strength([1.0, 2.0])  # type: ignore[list-item]


def test_the_weakest_fifth_is_flipped_the_next_softened_and_the_rest_gets_its_strength_as_margin():
    pairs = [Preference("p", f"c{i}", f"r{i}") for i in range(5)]
    result = correct_pairs(pairs, [2.0, -1.0, 0.1, 0.5, 3.0])
    assert result[1] == Preference("p", "r1", "c1", margin=1.0)
    assert result[2] == Preference("p", "c2", "r2", smoothing=0.2)
    assert [result[i].margin for i in (0, 3, 4)] == [2.0, 0.5, 3.0]


def test_a_weak_pair_that_the_ensemble_agrees_with_is_not_flipped():
    pairs = [Preference("p", f"c{i}", f"r{i}") for i in range(5)]
    assert correct_pairs(pairs, [1.0, 2.0, 3.0, 4.0, 5.0])[0].chosen == "c0"


@pytest.mark.parametrize("wrong", [{"smoothing": 1.5}, {"margin": float("inf")}])
def test_a_preference_out_of_range_is_refused(wrong: dict[str, float]):
    with pytest.raises(InputError):
        Preference("p", "c", "r", **wrong)


@pytest.mark.parametrize("turns", [(), ((0, 2),), ((2, 2),), ((1, 9),), ((1, 3), (2, 4))])
def test_turns_that_do_not_fit_the_tokens_are_refused(turns: Any):
    with pytest.raises(InputError):
        TokenEpisode((1, 2, 3, 4), turns, 1.0)


def test_an_outcome_out_of_range_is_refused():
    with pytest.raises(InputError, match="outcome"):
        TokenEpisode((1, 2), ((1, 2),), 1.5)


def test_action_tokens_are_those_of_the_turns():
    assert TokenEpisode(tuple(range(9)), ((1, 3), (5, 9)), 0.0).action_tokens == 6


def test_importing_reward_models_loads_no_torch():
    code = "import sys, palaestra.rewards.models as m; m.ModelReward; print('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stdout.strip() == "False"


def test_without_torch_the_extra_is_named():
    code = (
        "import sys; sys.modules['torch'] = None\nimport palaestra.rewards.models as m\n"
        "try:\n    m.RewardModel\nexcept ImportError as error:\n    print(error)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert "palaestra[train]" in done.stdout
