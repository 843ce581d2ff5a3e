from __future__ import annotations

from palaestra.envs.datasets.worked_solutions import remove_notes, split_sentences


def test_notes_are_taken_away_and_nothing_else():
    assert remove_notes("  She has 2*3=<<2*3=6>>6 and 3 < 5 << 7.  ") == "She has 2*3=6 and 3 < 5 << 7."
    assert remove_notes("#") == "#"


def test_sentences_end_outside_of_mathematics_only():
    solution = (
        "First, $a. b$ is 1.5 wide. Is it? Yes! Then \\[x. y\\] and \\(p. q\\) hold.\n\n[asy]\ndraw. it. now\n[/asy]"
        " Now\n\\begin{align*} a. &= b. \\end{align*} is so. A price of \\$5. is low. Last"
    )
    assert split_sentences(solution) == [
        *("First, $a. b$ is 1.5 wide.", "Is it?", "Yes!", "Then \\[x. y\\] and \\(p. q\\) hold."),
        *("Now \\begin{align*} a. &= b. \\end{align*} is so.", "A price of \\$5.", "is low.", "Last"),
    ]
    assert split_sentences(" \n ") == []
