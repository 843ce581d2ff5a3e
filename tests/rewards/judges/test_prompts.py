"""The form in which judges are asked and answer, against every hostile text that graders have fallen for."""

from __future__ import annotations

import json

from palaestra.rewards.audit.exploits import FAMILIES, Canary, Case
from palaestra.rewards.judges.prompts import grading_question, scoring_question

CASE = Case("42", prompt="What is 6 * 7?")


def texts() -> list[str]:
    with Canary() as canary:
        return [text for make in FAMILIES.values() for text in make(CASE, canary) if len(text) < 5_000]


def test_a_hostile_response_changes_neither_the_instructions_nor_the_form_of_the_reply():
    for text in texts():
        for asked in (
            scoring_question("Is it right?", CASE.prompt, [text, "42"], "42", (1.0, 5.0), 32_000),
            grading_question(["right", "short"], CASE.prompt, text, "42", (1.0, 5.0), 32_000),
        ):
            system, user = (message["content"] for message in asked.messages)
            plain = scoring_question("Is it right?", CASE.prompt, ["a", "42"], "42", (1.0, 5.0), 32_000)
            if system.startswith("You compare"):
                named = plain.messages[0]["content"]
                for mine, theirs in zip(asked.ids, plain.ids):
                    named = named.replace(theirs, mine)
                assert system == named
            assert isinstance(json.loads(user), dict)
            assert "<|im_start|>" not in user
            assert "[INST]" not in user
            assert len(set(asked.ids)) == 2


def test_a_judge_that_repeats_a_hostile_text_has_given_no_verdict():
    for text in texts():
        asked = scoring_question("Is it right?", CASE.prompt, [text], "42", (1.0, 5.0), 32_000)
        assert not asked.read(text).valid
