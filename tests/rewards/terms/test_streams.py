"""Reading of the blocks in which a program's output is predicted, and the published numbers, recomputed."""

from __future__ import annotations

import pytest
from palaestra.rewards import make
from palaestra.rewards.terms.streams import line_overlap, read_streams, same_output


def test_streams_are_read_from_their_last_closed_blocks():
    text = "<stdout>a</stdout> no: <stdout>\nb\n</stdout><stderr>"
    assert read_streams(text) == {"stdout": "\nb\n"}
    assert read_streams("</stdout><stdout>") == {}


def test_outputs_are_equal_up_to_one_line_break_at_each_end():
    assert same_output("\na\n", "a")
    assert same_output("\n", "")
    assert not same_output("\n\na", "a")
    assert not same_output("a ", "a")


def test_lines_of_the_error_output_overlap_as_multisets():
    assert line_overlap("", "\n") == 1.0
    assert line_overlap("b\na", "a\nb") == 1.0
    assert line_overlap("a\na", "a") == 1 / 2
    assert line_overlap("a", "b") == 0.0


@pytest.mark.parametrize(
    ("given", "published", "output_alone"),
    [
        ({"stdout": "7", "stderr": ""}, 0.775, 1.0),
        ({"stdout": "8", "stderr": ""}, 0.325, 0.1),
        ({"stdout": "7"}, 0.9 * 0.5 + 0.05, 1.0),
        ({"stderr": ""}, 0.9 * 0.25 + 0.05, 0.0),
        ({}, 0.0, 0.0),
    ],
)
def test_the_reward_is_as_published_and_whole_without_the_error_output(episode, given, published, output_alone):
    seen = episode(output_streams={"expected": {"stdout": "7", "stderr": ""}, "given": given})
    assert make("error-aware")(seen).reward == pytest.approx(published)
    assert make("error-aware", stderr=False)(seen).reward == pytest.approx(output_alone)
    assert make("error-aware")(episode(output_streams=None)).reward == 0.0
