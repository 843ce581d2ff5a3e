from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from palaestra import rewards
from palaestra.errors import InputError
from palaestra.rewards import Episode, Step
from palaestra.rewards.terms.prefixes import PrefixProbe
from palaestra.rewards.verdict import RewardSpan

Maker = Callable[..., Episode]


SHARES = st.lists(st.floats(0, 1), min_size=1, max_size=8)


untimed = settings(deadline=None)


def turns(number: int, **extras: Any) -> Episode:
    return Episode("t", {}, (Step("", "", 0.0, {}, 1),) * number, True, 1.0, True, False, None, extras)


def parts(text: str, **options: Any) -> list[str]:
    return [text[start:stop] for start, stop in PrefixProbe(**{"min_segment": 1, **options}).split_parts(text)]


# Splitting.


def test_a_response_is_split_before_markers():
    assert parts("Add. So 5. Wait, no. But yes.") == ["Add. ", "So 5. ", "Wait, no. ", "But yes."]


def test_markers_within_words_do_not_split():
    assert parts("Some Button, Solo, so") == ["Some Button, Solo, so"]


def test_parts_are_no_shorter_than_allowed():
    assert parts("Add. So 5. Wait, no. But yes.", min_segment=10) == ["Add. So 5. ", "Wait, no. But yes."]


def test_the_number_of_parts_is_bounded():
    assert len(parts("So " * 100_000, max_segments=8)) == 8


@untimed
@given(st.lists(st.sampled_from(["So", "But", "x", "so.", "\n", "Wait,"])), st.integers(1, 9))
def test_parts_together_are_the_text(pieces: list[str], least: int):
    text = " ".join(pieces)
    assert "".join(parts(text, min_segment=least)) == text


@pytest.mark.parametrize("wrong", [{"markers": ()}, {"markers": "So"}, {"min_segment": 0}, {"max_segments": 0}])
def test_wrong_options_of_the_probe_are_refused(wrong: dict[str, Any]):
    with pytest.raises(InputError):
        PrefixProbe(**wrong)


def test_each_prefix_is_probed_once_from_the_empty_one_on(episode: Maker):
    asked: list[str] = []

    def success(judged: Episode, prefix: str) -> float:
        asked.append(prefix)
        return len(prefix) / 100

    values = PrefixProbe(success, min_segment=1).values(episode(text="Add. So 5."))
    assert asked == ["", "Add. ", "Add. So 5."]
    assert values is not None
    assert values.tolist() == [0.0, 0.05, 0.1]


# Progress (MRT).


@untimed
@given(SHARES)
def test_progress_telescopes(values: list[float]):
    lost = Episode("t", {}, (Step("", "", 0.0, {}, 1),), False, 0.0, True, False, None, {"prefix_values": values})
    assert rewards.make("mrt")(lost).reward == pytest.approx(0.5 * (values[-1] - values[0]), abs=1e-9)


def test_a_part_that_changes_nothing_gets_0(episode: Maker):
    made = rewards.make("mrt", weight=1.0, probe=PrefixProbe(min_segment=1))
    judged = episode(text="Add. So 5. Wait.", prefix_values=[0.25, 0.5, 0.5, 0.75])
    assert made(judged).spans == (RewardSpan(0, 0, 5, 0.25), RewardSpan(0, 5, 11, 0.0), RewardSpan(0, 11, 16, 0.25))
    assert made(judged).reward == 1.5


@untimed
@given(st.lists(st.tuples(st.booleans(), SHARES), min_size=2, max_size=6))
def test_mrt_never_ranks_a_failure_above_a_success(members: list[tuple[bool, list[float]]]):
    made = rewards.make("mrt")
    assert made.ranks_success
    outcomes = [
        (s, made(Episode("t", {}, (), s, float(s), True, False, None, {"prefix_values": v})).reward) for s, v in members
    ]
    assert all(lost <= won for s, won in outcomes if s for other, lost in outcomes if not other)


def test_a_heavier_progress_promises_no_ranking():
    assert not rewards.make("mrt", weight=0.6).ranks_success


# Stepwise verifiable (VSRM).


def test_idle_steps_share_the_next_gain(episode: Maker):
    made = rewards.make("vsrm", probe=PrefixProbe(min_segment=1))
    judged = episode(text="Add. So 5.", prefix_values=[0, 0, 1])
    assert [span.reward for span in made(judged).spans] == pytest.approx([0.9, 1.0])
    assert made(judged).reward == pytest.approx(1.9)


def test_flat_accuracy_gets_0_and_a_broken_prefix_loses_1(episode: Maker):
    assert rewards.make("vsrm")(episode(prefix_values=[0.5] * 4)).reward == 0
    assert rewards.make("vsrm")(episode(prefix_values=[1, 0])).reward == -1


@untimed
@given(SHARES)
def test_without_propagation_steps_telescope(values: list[float]):
    reward = rewards.make("vsrm", ahead=0)(turns(1, prefix_values=values)).reward
    assert reward == pytest.approx(values[-1] - values[0], abs=1e-9)


# Turns (DenseGRPO, TurningPoint).


def test_turns_get_their_change_of_the_prefix_value():
    made = rewards.make("prefix-gain")
    assert made.values(turns(3, prefix_values=[0.5, 0.3, 0.6, 0.9])) == pytest.approx([-0.2, 0.3, 0.3])  # type: ignore[attr-defined]


def test_turning_points_get_the_whole_later_change():
    made = rewards.make("prefix-gain", form="turning-point")
    assert made.values(turns(3, prefix_values=[0.5, 0.3, 0.6, 0.9])) == pytest.approx([-0.2, 0.6, 0.3])  # type: ignore[attr-defined]


# Failures.


@pytest.mark.parametrize("name", ["mrt", "vsrm"])
def test_a_probe_that_fails_gives_an_invalid_verdict(name: str, episode: Maker):
    for answer in (None, float("nan")):
        probe = PrefixProbe(lambda e, prefix, answer=answer: answer if prefix else 0.5)
        verdict = rewards.make(name, probe=probe)(episode(text="So"))
        assert not verdict.valid
        assert rewards.make(name, probe=probe).needs == frozenset()


@pytest.mark.parametrize("name", ["mrt", "vsrm"])
def test_prefix_values_that_are_no_probabilities_are_refused(name: str, episode: Maker):
    for wrong in ([0.5, 1.5], [], [[0.5]]):
        with pytest.raises(InputError):
            rewards.make(name)(episode(prefix_values=wrong))


def test_values_of_parts_that_were_cut_otherwise_reward_the_response_as_a_whole(episode: Maker):
    verdict = rewards.make("mrt")(episode(text="one part", prefix_values=[0, 0, 1]))
    assert (verdict.reward, verdict.spans) == (1.5, ())


def test_prefix_values_of_another_number_of_turns_are_refused():
    with pytest.raises(InputError, match="2 turns"):
        rewards.make("prefix-gain")(turns(2, prefix_values=[0.0, 1.0]))


def test_values_of_turns_that_failed_give_an_invalid_verdict():
    assert not rewards.make("prefix-gain", prefix_values=lambda episode: None)(turns(2)).valid


@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("mrt", {"weight": -1}),
        ("vsrm", {"threshold": -1}),
        ("vsrm", {"ahead": -1}),
        ("vsrm", {"discount": 1.1}),
        ("prefix-gain", {"form": "loss"}),
    ],
)
def test_wrong_arguments_are_refused(name: str, options: dict[str, Any]):
    with pytest.raises(InputError):
        rewards.make(name, **options)
