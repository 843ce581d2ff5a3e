"""Scores by a judge: the policy's probability of yes, against its own log-probabilities, and judges by name."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from palaestra.agents.grpo.batch.trajectory import Group
from palaestra.agents.grpo.measures.judgements import (
    QUESTIONS,
    atom_scores,
    coalition_values,
    marks,
    policy_scores,
    span_weights,
)
from palaestra.agents.grpo.measures.producer import ProducerTools
from palaestra.agents.grpo.recipes.stages import PRODUCERS
from palaestra.agents.grpo.rollouts.environments import Environments
from palaestra.agents.grpo.rollouts.episode_player import EpisodePlayer
from palaestra.agents.grpo.rollouts.episode_starts import TokenLimits
from palaestra.agents.language.model import LanguageModel
from palaestra.agents.language.tiny import TinyShape, tiny_model

from ..conftest import group, trajectory  # isort: skip


def instruments_of(language: LanguageModel) -> ProducerTools:
    limits = TokenLimits(8, 16, 256)
    environments = Environments("palaestra/Arithmetic-v0")
    player = EpisodePlayer(
        environments, language.engine(4, 256), language.renderer, limits, 1.0, np.random.default_rng(0)
    )
    return ProducerTools(player, language, None, None, np.random.default_rng(0))  # type: ignore[arg-type]


@pytest.fixture
def instruments(small) -> ProducerTools:
    return instruments_of(small)


def said(*texts: str) -> Group:
    return group(*(trajectory(0.0, [([5], [7])], texts=[text]) for text in texts))


def test_the_policys_score_is_its_probability_of_yes_among_yes_and_no(instruments):
    (score,) = policy_scores(["a text"], "Is it so?", instruments)
    player = instruments.player
    ids = player.renderer.observation("a text\nIs it so? Answer yes or no.", first=True)
    words = [player.renderer.action_ids(word)[:1] for word in ("yes", "no")]
    yes, no = (math.exp(logp) for (logp,) in player.log_likelihoods([ids, ids], words))
    assert score == pytest.approx(yes / (yes + no), rel=1e-4)


def test_a_model_of_characters_that_has_learned_nothing_prefers_neither_answer():
    shape = TinyShape(hidden=16, layers=1, heads=2, kv_heads=1, head_dim=8, intermediate=24)
    texts = ["1 + 1 = ?\n2", "", "The answer is 7."]
    scores = []
    for seed in range(8):
        untrained = instruments_of(LanguageModel.of(*tiny_model(seed, shape)))
        scores += [score for score in policy_scores(texts, "Is the answer right?", untrained) if score is not None]
    assert len(scores) == 24
    assert np.mean(scores) == pytest.approx(0.5, abs=0.05)


def test_the_beginning_of_a_text_that_does_not_fit_is_left_out(instruments):
    long, cut = policy_scores(["x" * 1000 + "end", ""], "?", instruments)
    assert long is not None and 0 < long < 1  # noqa: PT018
    assert policy_scores(["a"], "q" * 1000, instruments) == [None]
    assert cut is not None


@pytest.mark.parametrize("name", sorted(QUESTIONS))
def test_a_judge_may_be_named(name, instruments):
    found = PRODUCERS[name]([said("a", "b" * 2000)], instruments, judge="rules", question="short")
    short, long = (row[name] for row in found[0])
    assert short > long


def test_marks_are_thirds_of_the_score(instruments):
    scores = (0.0, 0.32, 0.34, 0.7, 1.0, None)
    rows = tuple(replace(trajectory(0.0, [([5], [7])]), extras={"judge_score": score}) for score in scores)
    assert [row["mark"] for row in marks([Group(0, rows)], instruments)[0]] == [1, 1, 2, 3, 3, None]


def test_every_thought_is_scored_with_what_precedes_it(instruments):
    ((row,),) = atom_scores([said("One. Two. 3")], instruments, judge="rules", question="short")
    assert len(row["atom_scores"]) == 3
    assert row["atom_scores"] == sorted(row["atom_scores"], reverse=True)


def test_coalitions_are_all_subsets_of_the_turns_or_of_spans(instruments):
    turns = group(trajectory(0.0, [([5], [7])] * 3, texts=["a", "bb", "cccc"]))
    ((row,),) = coalition_values([turns], instruments, judge="rules", question="long")
    values = row["coalition_values"]
    assert len(values) == 8
    # More text is longer; the first and the second turn have fewer letters than the third.
    assert values[0] < values[1] < values[2] < values[4] < values[7]
    ((spans,),) = coalition_values([said("one two three four")], instruments, judge="rules", question="long")
    assert len(spans["coalition_values"]) == 16
    many = group(trajectory(0.0, [([5], [7])] * 9))
    assert math.isnan(coalition_values([many], instruments)[0][0]["coalition_values"][0])


def test_span_weights_are_the_products_of_two_scores_with_a_floor(instruments):
    ids = instruments.player.renderer.action_ids("aa. b")
    made = trajectory(0.0, [([5], list(ids))], texts=["aa. b"])

    def weights(score, scores):
        judged = replace(made, extras={"judge_score": score, "atom_scores": scores})
        return span_weights([group(judged)], instruments)[0][0]["span_weights"]

    assert weights(0.5, [0.9, 0.2]) == pytest.approx([0.45] * 4 + [0.25] * (len(ids) - 4))
    assert set(weights(0.0, [0.9, 0.2])) == {0.0}  # g = -1: the anchor alone is left
    assert set(weights(1.0, [0.0, 0.0])) == {0.5}  # g = 1, and no sentence is good
    assert weights(None, [0.9, 0.2]) is None
    assert weights(0.5, [0.9, None]) is None
