"""Waypoints read from what an agent says."""

from __future__ import annotations

import pytest
from palaestra.agents.waypoint_questions import ask_for_waypoints, read_waypoints


@pytest.mark.parametrize(
    ("text", "places"),
    [
        ("(1, 2), (3,4)", [[1, 2], [3, 4]]),
        ("1. the key at (1, 2)\\n2. (1, 2) again\\n3. the goal: ( 7 , 0 )", [[1, 2], [7, 0]]),
        ("(1, 2) (3, 4) (1, 2) (5, 5)", [[1, 2], [3, 4], [1, 2]]),
        ("(-1, 2) (1.5, 2) (99999, 1) 1, 2", []),
        ("", []),
    ],
)
def test_places_are_read_in_their_order(text, places):
    assert read_waypoints(text, 3) == places


def test_each_task_is_a_question_of_its_own():
    asked = []

    def author(question):
        asked.append(question)
        return "(2, 3)" if "go left" in question else 5

    assert ask_for_waypoints(author, ["go left", "go right"], 4) == [[[2, 3]], None]
    assert "go left" in asked[0]
    assert "at most 4 places" in asked[1]
