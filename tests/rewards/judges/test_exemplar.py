"""Levels of a response beside a stored exemplar."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import pytest
from palaestra.errors import InputError
from palaestra.rewards import Episode, Step, make
from palaestra.rewards.judges import Judge, Judgement


def reply(text: str, exemplar: Any) -> Episode:
    return Episode("t", {}, (Step("say", text, 0.0, {}, 1),), False, 0.0, True, False, None, {"reference": exemplar})


class PrefersFirst(Judge):
    """Scores by length, and the first response 0.3 higher."""

    name = "prefers-first"

    def score(self, principle: str, prompt: str, responses: Sequence[str], reference: str | None = None) -> Judgement:
        return Judgement(tuple(min(1.0, len(text) / 20 + 0.3 * (not n)) for n, text in enumerate(responses)))


class Fails(Judge):
    """Answers nothing."""

    name = "fails"

    def score(self, principle: str, prompt: str, responses: Sequence[str], reference: str | None = None) -> Judgement:
        return Judgement.failed("asleep")


def test_the_exemplar_itself_is_similar_and_swapping_the_two_swaps_the_levels():
    reward = make("exemplar", judge=PrefersFirst())
    texts = ("short", "a longer one")
    assert reward(reply(texts[0], texts[0])).reward == 0.5
    assert reward(reply(texts[1], texts[0])).reward == 1.0
    assert reward(reply(texts[0], texts[1])).reward == 0.0
    wide = make("exemplar", judge=PrefersFirst(), margin=0.4, levels=(-1.0, 0.0, 2.0))
    assert wide(reply(texts[1], texts[0])).reward == 0.0
    assert wide.bounds == (-1.0, 2.0)


def test_another_form_gets_the_lowest_level_unjudged_and_a_failed_judge_no_level():
    reward = make("exemplar", principle="long", tags=["think", "answer"])
    good = "<think>x</think><answer>a very good and long one</answer>"
    assert [v.reward for v in reward.group([reply(good, "short"), reply("a very good and long one", "short")])] == [
        1,
        0,
    ]
    assert not make("exemplar", judge=Fails())(reply("a", "b")).valid
    with pytest.raises(InputError, match="exemplar must be text"):
        reward.values([reply(good, 7)])
    with pytest.raises(InputError, match="three values"):
        make("exemplar", levels=(1.0, 0.0))


class Notes(PrefersFirst):
    """Keeps what it was asked."""

    def __init__(self) -> None:
        self.asked: list[tuple[str, list[str]]] = []

    def score(self, principle: str, prompt: str, responses: Sequence[str], reference: str | None = None) -> Judgement:
        self.asked.append((principle, list(responses)))
        return super().score(principle, prompt, responses, reference)


def test_an_exemplar_of_one_language_serves_the_others_and_the_judge_is_told(tmp_path):
    file = tmp_path / "exemplars.jsonl"
    rows = [
        {"source": "The cat", "exemplar": "Die Katze", "language": "German"},
        {"source": "The cat sleeps.", "exemplar": "Die Katze schlaeft.", "language": "German"},
        {"source": "The cat sleeps.", "exemplar": "El gato duerme.", "language": "Spanish"},
    ]
    file.write_text("\n".join(map(json.dumps, rows)))
    judge = Notes()
    reward = make("exemplar", judge=judge, exemplars=str(file), principle="accurate")
    assert reward.needs == frozenset()

    def asked(language: str, text: str) -> tuple[float, str, list[str]]:
        shown = f"Translate into {language}: The cat sleeps."
        level = reward(Episode("t", {}, (Step(shown, text, 0.0, {}, 1),), False, 0.0, True, False, None, {})).reward
        return level, *judge.asked[-2]

    assert asked("Spanish", "gato") == (0.0, "accurate", ["gato", "El gato duerme."])
    level, principle, responses = asked("French", "Le chat est en train de dormir")
    assert (level, responses[1]) == (1.0, "Die Katze schlaeft.")
    assert principle.startswith("accurate. One of the responses is in German, another language")
    with pytest.raises(InputError, match="no exemplar has its source in the prompt 'say'"):
        reward(reply("a", "b"))
    for text, said in (
        ("", "it has no row"),
        (json.dumps({"source": "a"}), "line 1 needs texts"),
        ("[1]", "no file of"),
    ):
        file.write_text(text)
        with pytest.raises(InputError, match=said):
            make("exemplar", exemplars=str(file))
