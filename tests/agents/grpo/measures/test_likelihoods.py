"""Log-probabilities of answers and of other texts, by a plain forward pass, and the rewards that live on them."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch
from palaestra.agents.grpo.batch.trajectory import Origin
from palaestra.agents.grpo.measures.likelihoods import (
    echo_logps,
    followup_logps,
    logps_without_prompt,
    strip_answer,
    thought_logps,
    token_contrast,
)
from palaestra.rewards.terms.likelihood import mask_copies

from ..conftest import group, trajectory  # isort: skip


def plain_logps(instruments, context, text, temperature=1.0):
    """Log-probabilities of a text's tokens by the model's own forward pass."""
    with torch.no_grad():
        logits = instruments.language.model(torch.tensor([[*context, *text]])).logits[0] / temperature
    rows = logits.log_softmax(-1)[len(context) - 1 : -1]
    return rows.gather(-1, torch.tensor(list(text))[:, None])[:, 0].tolist()


def test_the_prompt_is_replaced_by_an_empty_one_and_later_observations_stay(instruments, two_turns):
    (row,) = logps_without_prompt([group(two_turns)], instruments)[0]
    first, second = two_turns.turns
    blank = instruments.language.renderer.observation("", first=True)
    expected = plain_logps(instruments, blank, first.act_ids)
    expected += plain_logps(instruments, (*blank, *first.act_ids, *second.obs_ids), second.act_ids)
    assert row["logps_without_prompt"] == pytest.approx(expected, abs=1e-5)


def test_tokens_that_were_given_have_no_log_probability(instruments, two_turns):
    given = replace(two_turns.turns[0], origins=(Origin.HINT,) * len(two_turns.turns[0].act_ids))
    mixed = replace(two_turns, turns=(given, two_turns.turns[1]))
    lost = replace(two_turns, valid=False)
    rows = logps_without_prompt([group(lost, mixed)], instruments)[0]
    count = len(given.act_ids)
    assert rows[0] == {}
    assert rows[1]["logps_without_prompt"][:count] == [0.0] * count
    assert all(logp < 0 for logp in rows[1]["logps_without_prompt"][count:])


def test_the_contrast_is_of_two_prompts_under_the_reference(instruments, two_turns):
    tools = replace(instruments, reference=instruments.language.model)
    made = [group(two_turns)]
    (row,) = token_contrast(made, tools, better="well", worse="badly")[0]
    first = two_turns.turns[0]
    asked = [
        instruments.language.renderer.observation(f"{text}\n\n{first.observation}", first=True)
        for text in ("well", "badly")
    ]
    one, two = (torch.tensor(plain_logps(instruments, context, first.act_ids)) for context in asked)
    expected = (one.exp() / (one.exp() + two.exp()) - 0.5).tolist()
    assert row["token_contrast"][: len(first.act_ids)] == pytest.approx(expected, abs=1e-5)
    (swapped,) = token_contrast(made, tools, better="badly", worse="well")[0]
    assert swapped["token_contrast"] == pytest.approx([-value for value in row["token_contrast"]], abs=1e-6)
    (same,) = token_contrast(made, tools, better="well", worse="well")[0]
    assert set(same["token_contrast"]) == {0.0}
    assert torch.tensor(3.0).log().sigmoid().item() - 0.5 == pytest.approx(0.25)  # the paper's scale
    (row,) = token_contrast(made, tools, better="well" * 400)[0]
    assert row["token_contrast"] is None  # does not fit


def test_followups_are_scored_after_the_conversation(instruments, two_turns):
    (row,) = followup_logps([group(two_turns)], instruments, positive=["fine"], negative=["no", "never"])[0]
    encode = instruments.encode
    ids = [i for turn in two_turns.turns for i in (*turn.obs_ids, *turn.act_ids)][:-1]
    means = [plain_logps(instruments, [*ids, *encode("\n\n")], encode(text)) for text in ("fine", "no", "never")]
    means = [sum(row) / len(row) for row in means]
    assert row["positive_logps"] == pytest.approx(means[:1], abs=1e-5)
    assert row["negative_logps"] == pytest.approx(means[1:], abs=1e-5)


def test_the_prompt_is_scored_after_an_answer_without_copies_of_it(instruments, two_turns):
    copying = trajectory(1.0, [([5, 6], [7, 8])], texts=["I was asked to add one and one here"])
    copying = replace(copying, turns=(replace(copying.turns[0], observation="add one and one"),))
    (row,) = echo_logps([group(copying)], instruments, query="what?", run=3)[0]
    visible = mask_copies(copying.turns[0].action, "add one and one", 3)
    assert "one" not in visible
    context = instruments.language.renderer.observation(f"{visible}\n\nwhat?", first=True)
    expected = plain_logps(instruments, context, instruments.encode("add one and one"))
    assert row == {"echo_logps": pytest.approx(expected, abs=1e-5), "echo_run": 3}


def test_the_reference_answer_is_scored_after_the_thought_and_is_none_where_it_is_no_text(instruments, two_turns):
    known = replace(two_turns, extras={"reference": "2"})
    unknown = replace(two_turns, extras={"reference": [2]})
    rows = thought_logps([group(known, unknown)], instruments)[0]
    ids = [i for turn in two_turns.turns for i in (*turn.obs_ids, *turn.act_ids)][:-1]
    expected = plain_logps(instruments, [*ids, *instruments.encode("\n")], instruments.encode("2"))
    assert rows[0]["thought_logps"] == pytest.approx(expected, abs=1e-5)
    assert rows[1]["thought_logps"] is None


def test_an_answer_after_the_thought_is_no_part_of_it(instruments, two_turns):
    ids = tuple(instruments.encode("so</think>2"))
    last = replace(two_turns.turns[-1], act_ids=ids, logps=(0.0,) * len(ids), action="so</think>2")
    thinking = replace(two_turns, turns=(two_turns.turns[0], last))
    kept = strip_answer(thinking, instruments)
    assert kept[-len("so</think>") :] == tuple(instruments.encode("so</think>"))


def test_a_text_that_does_not_fit_into_the_model_is_not_scored(instruments):
    scored = instruments.score_texts([[5], [5] * 600, [5]], [[6, 7], [6], []])
    assert [text is None for text in scored] == [False, True, True]


@pytest.mark.parametrize("name", ["self-aligned", "flr", "prompt-echo", "rlp"])
def test_the_reward_is_trained_and_what_is_sampled_stays(name, train, plain):
    step = train(shaping=name)
    assert len({row["shaping"][name] for row in step.trajectories}) > 1
    assert step.actions == plain.actions
    assert step.weights_differ(plain)


def test_the_followups_are_those_of_the_reward(train, plain):
    step = train(shaping="flr(positive=['yes'], negative=['no'])")
    (producer,) = step.learner.parts.objective.producers
    assert producer.fixed == {"positive": ("yes",), "negative": ("no",), "separator": "\n\n"}
