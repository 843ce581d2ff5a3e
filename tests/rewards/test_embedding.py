from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from palaestra.errors import InputError
from palaestra.rewards import Episode, Step
from palaestra.rewards.embedding import EmbeddingSource, HashedNgrams, collect_features, cosines, embed, goal_projection

untimed = settings(deadline=None)


def similarity(first: str, second: str, embedder: HashedNgrams | None = None) -> float:
    return float(cosines((embedder or HashedNgrams())([first, second]))[0, 1])


def an_episode(response: str, **extras: object) -> Episode:
    return Episode("t", {}, (Step("", response, 0.0, {}, 1),), True, 1.0, True, False, None, extras)


@untimed
@given(st.text())
def test_a_text_has_cosine_1_to_itself_and_0_if_it_has_no_words(text: str):
    assert similarity(text, text) == (1.0 if text.split() and HashedNgrams()([text]).any() else 0.0)


@untimed
@given(st.lists(st.integers(), min_size=1), st.lists(st.integers(), min_size=1))
def test_texts_without_a_common_word_are_orthogonal(left: list[int], right: list[int]):
    first = " ".join(f"a{abs(number)}" for number in left)
    second = " ".join(f"b{abs(number)}" for number in right)
    assert similarity(first, second) == 0.0


def test_cosine_counts_words_and_pairs():
    # "a b" has a, b, "a b"; "a c" has a, c, "a c": one of three in common.
    assert similarity("a b", "a c") == pytest.approx(1 / 3)


def test_cosine_of_single_words_ignores_their_order():
    assert similarity("a b c", "c b a", HashedNgrams(sizes=(1,))) == 1.0
    assert similarity("a b c", "c b a") < 1.0


def test_characters_can_be_counted_instead_of_words():
    # Trigrams of "abcd" and "abce": abc in common, bcd and bce not.
    assert similarity("abcd", "abce", HashedNgrams(sizes=(3,), unit="character")) == pytest.approx(0.5)


def test_cosines_do_not_change_when_either_vector_is_scaled():
    rows = np.array([[1.0, 2.0, 3.0], [3.0, -1.0, 2.0]])
    assert cosines(rows[:1] * 1e200, rows[1:] * 1e-200) == pytest.approx(cosines(rows[:1], rows[1:]))


def test_folded_embedding_is_the_same_in_every_process_and_call():
    embedding = "palaestra.rewards.embedding"
    code = f"from {embedding} import HashedNgrams; print(HashedNgrams(columns=64)(['one two \\ud800']).tolist())"
    lines = {
        subprocess.run(
            [sys.executable, "-c", code], env={"PYTHONHASHSEED": seed}, capture_output=True, check=True, text=True
        ).stdout
        for seed in ("1", "2")
    }
    assert len(lines) == 1
    alone = HashedNgrams(columns=64)(["one two"])
    assert (HashedNgrams(columns=64)(["other words before", "one two"])[1] == alone[0]).all()


def test_megabytes_of_text_are_read_only_in_part():
    rows = HashedNgrams()(["word " * 1_000_000, " ".join(map(str, range(200_000)))])
    assert rows.shape == (2, 32_768)


@pytest.mark.parametrize("wrong", [{"sizes": ()}, {"sizes": (0,)}, {"unit": "line"}, {"columns": 0}])
def test_wrong_arguments_are_refused(wrong: dict[str, object]):
    with pytest.raises(InputError):
        HashedNgrams(**wrong)  # type: ignore[arg-type]


def test_an_embedder_of_another_shape_is_refused_and_one_that_fails_gives_nothing():
    with pytest.raises(InputError, match=r"shape \(3,\)"):
        embed(lambda texts: np.zeros(3), ["a", "b"])
    assert embed(lambda texts: np.full((2, 3), np.nan), ["a", "b"]) is None


def test_features_come_from_the_extras_without_an_embedder():
    rows = collect_features([an_episode("x", features=[1, 2]), an_episode("y", features=[3, 4])], None)
    assert rows is not None
    assert rows.tolist() == [[1, 2], [3, 4]]
    with pytest.raises(InputError, match="features"):
        collect_features([an_episode("x", features=[1, 2]), an_episode("y", features=[3])], None)


def test_a_feature_that_nobody_could_measure_leaves_the_group_unjudged():
    assert collect_features([an_episode("x", features=[1, 2]), an_episode("y", features=None)], None) is None


def test_a_models_name_in_the_place_of_an_embedder_asks_for_its_states():
    source = EmbeddingSource.of("reference", "features", "reference_features")
    assert source.embedder is None
    assert source.needs == {"features", "reference_features"}
    assert source.options == {name: {"model": "reference"} for name in source.needs}
    assert EmbeddingSource.of(None, "features").options == {}
    assert EmbeddingSource.of(HashedNgrams(), "features").needs == frozenset()
    for wrong in ("polcy", 3):
        with pytest.raises(InputError, match="policy"):
            EmbeddingSource.of(wrong, "features")  # type: ignore[arg-type]


# Projection on the direction from a baseline to a goal (VLM-RM).

S, G, B = np.array([[3.0, 0.0, 4.0], [0.0, 2.0, 0.0], [5.0, 0.0, 0.0]])


def test_at_alpha_0_the_projection_is_the_cosine_with_the_goal():
    for state in (S, G, B, S + G):
        assert goal_projection(state, G, B, 0.0) == pytest.approx(float(cosines(state[None], G[None])[0, 0]))


def test_the_goal_itself_has_1_at_every_alpha():
    for alpha in (0.0, 0.3, 1.0):
        assert goal_projection(7 * G, G, B, alpha) == pytest.approx(1.0)


def test_at_alpha_1_what_is_orthogonal_to_the_direction_does_not_count():
    # By hand: d = (-1, 1, 0), s - g = (0.6, -1, 0.8), so d . (s - g) = -1.6 and R = 1 - 1.6^2 / (2 * 2) = 0.36.
    assert goal_projection(S, G, B, 1.0) == pytest.approx(0.36)
    # Of the same length and the same place along d, in another direction otherwise.
    assert goal_projection(np.array([3.0, 0.0, -4.0]), G, B, 1.0) == pytest.approx(0.36)
    assert goal_projection(B, G, B, 1.0) == pytest.approx(1 - 0.5 * 2)


def test_goal_and_baseline_that_are_alike_leave_the_distance_alone():
    assert goal_projection(S, G, G, 0.5) == pytest.approx(1 - 0.5 * 0.25 * 2)
