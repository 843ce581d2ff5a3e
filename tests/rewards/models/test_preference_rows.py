"""Rows of preference data in their layouts, and the refusal of what is none."""

from __future__ import annotations

import re
from typing import Any

import pytest
from palaestra.errors import InputError
from palaestra.integrations.played_episodes import LAYOUTS, preferences
from palaestra.rewards.models.preference_rows import PreferenceRow, read_preference

ASKED, GOOD, BAD = ("user", "1 + 1?"), ("assistant", "2"), ("assistant", "3")
EXPECTED = PreferenceRow((ASKED,), (GOOD,), (BAD,))


def said(*messages: tuple[str, str]) -> list[dict[str, str]]:
    return [{"role": role, "content": text} for role, text in messages]


def test_every_layout_gives_the_same_pair():
    rows: list[dict[str, Any]] = [
        {"prompt": "1 + 1?", "chosen": "2", "rejected": "3"},
        {"question": "1 + 1?", "chosen": "2", "rejected": "3", "env": "palaestra/Arithmetic-v0"},
        {"prompt": said(ASKED), "chosen": said(GOOD), "rejected": said(BAD)},
        {"prompt": "1 + 1?", "chosen": said(ASKED, GOOD), "rejected": said(ASKED, BAD)},
        {"chosen": said(ASKED, GOOD), "rejected": said(ASKED, BAD)},
        {"chosen": "1 + 1? 2", "rejected": "1 + 1? 3"},
        {
            "conversations": [{"from": "human", "value": "1 + 1?"}],
            "chosen": {"from": "gpt", "value": "2"},
            "rejected": {"from": "gpt", "value": "3"},
        },
    ]
    for row in rows:
        assert read_preference(row) == EXPECTED, row
    assert read_preference({**rows[0], "margin": 0.5}).strength == 0.5


def test_a_labelled_reply_is_chosen_or_rejected():
    assert read_preference({"prompt": "1 + 1?", "completion": "2", "label": True}) == PreferenceRow(
        (ASKED,), (GOOD,), ()
    )
    whole = {"completion": said(ASKED, BAD), "label": 0}
    assert read_preference(whole) == PreferenceRow((ASKED,), (), (BAD,))


def test_pairs_that_are_written_from_episodes_are_read_in_every_layout():
    def episode(last: str, success: bool) -> dict[str, Any]:
        turns = [{"observation": f"o{n}", "action": action} for n, action in enumerate(("same", last))]
        return {"task_id": "t", "turns": turns, "is_success": success}

    prompt = (("system", "be brief"), ("user", "o0"), ("assistant", "same"), ("user", "o1"))
    for layout in LAYOUTS:
        (row,) = preferences([episode("2", True), episode("3", False)], layout, system="be brief")
        found = read_preference(row)
        assert (found.prompt, found.chosen, found.rejected) == (prompt, (GOOD,), (BAD,))
    assert found.texts == ("o0\nsame\no1", "2", "3")


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ({"prompt": "a"}, "needs the columns 'prompt', 'chosen' and 'rejected'.* not prompt"),
        ({"prompt": "a", "chosen": "b", "rejected": " "}, "'rejected' is empty"),
        ({"prompt": "a", "chosen": 3, "rejected": "b"}, "'chosen' must be text, or messages .* not 3"),
        ({"prompt": "a", "chosen": said(("tool", "x")), "rejected": "b"}, "not {'role': 'tool'"),
        (
            {"prompt": said(GOOD), "chosen": "b", "rejected": "c"},
            "with the user's before the reply, not assistant,",
        ),
        ({"prompt": said(ASKED), "chosen": said(ASKED), "rejected": "c"}, "'chosen' is empty"),
        ({"prompt": "a", "completion": "b", "label": "yes"}, "true or false, not 'yes'"),
        ({"prompt": "a", "chosen": "b", "rejected": "c", "margin": "x"}, "finite number, not 'x'"),
        ({"chosen": "yes", "rejected": "no"}, "the user's before the reply"),
    ],
)
def test_a_row_that_is_no_preference_is_refused(row: dict[str, Any], message: str):
    with pytest.raises(InputError) as error:
        read_preference(row)
    assert re.search(message, str(error.value)), error.value
