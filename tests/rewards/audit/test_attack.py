from __future__ import annotations

import re
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from palaestra import rewards
from palaestra.errors import InputError
from palaestra.rewards import VERIFIERS, Reward, Verdict
from palaestra.rewards.audit import FAMILIES, METAMORPHIC, Canary, Case, attack
from palaestra.rewards.episode import Episode
from palaestra.rewards.judges import Judge, Judgement, RuleJudge

TABLE = "CREATE TABLE t (id INTEGER, name TEXT); INSERT INTO t VALUES (1, 'ann'), (2, 'bob');"
HOUSES = {"house 1": {"pet": "dog"}, "house 2": {"pet": "cat"}}

# At least one case for every verifier; two where one of them would leave room for luck.
CASES: dict[str, list[Case]] = {
    "cells": [Case(HOUSES, '{"house 1": {"pet": "dog"}, "house 2": {"pet": "cat"}}')],
    "choice": [Case("D"), Case("C", options={"options": {"A": "oak", "B": "elm", "C": "ash"}}, right=("ash",))],
    "constraints": [
        Case(
            [
                {"kind": "starts-with", "text": "I saw"},
                {"kind": "ends-with", "text": "whale."},
                {"kind": "words", "min": 5, "max": 5},
            ],
            "I saw a blue whale.",
        )
    ],
    "countdown": [Case({"numbers": [3, 5, 25], "target": 60}, "(25 - 5) * 3")],
    # Whatever follows or sets off the right first word, it is right by definition.
    "first-word": [Case("Berlin", right=lambda text: bool(re.match(r"[\W_]*Berlin(?![\w-])", text)))],
    "format": [Case(["think", "answer"], "<think>6 * 7</think><answer>42</answer>")],
    "grid": [Case([[1, 2], [3, 4]], "[[1, 2], [3, 4]]")],
    "integer": [Case(17), Case(-3)],
    "interval": [Case([200, 500], "[200, 500]")],
    "json": [Case({"name": "ann", "ages": [3, 4]}, '{"name": "ann", "ages": [3, 4]}')],
    "list": [Case([3, 1, 7], "3, 1, 7", options={"element": "integer"}), Case(["oak", "elm"], "oak, elm")],
    "math": [Case("17"), Case("x^2+1"), Case("\\frac{3}{4}", right=("3/4", "0.75")), Case("5 cm"), Case("(3, 8)")],
    "number": [Case("3/4", right=("0.75",)), Case("17")],
    "ordering": [Case(["d", "b", "a", "c"], "d, b, a, c")],
    "sql": [Case({"schema": TABLE, "gold": "SELECT name FROM t"}, "SELECT name FROM t")],
    "structure": [Case({"a": [1, True], "b": None}, "{'a': (1, True), 'b': None}")],
    "text": [Case("a blue whale")],
    "toolcall": [Case([{"name": "f", "parameters": {"x": 1}}], '{"name": "f", "parameters": {"x": 1}}')],
    # What ends in the one tag and never in the other is right by definition.
    "verdict": [Case("B", "[[B]]", right=lambda text: "[[B]]" in text and "[[A]]" not in text)],
}


def contains(answer: str, reference: str) -> bool:
    return reference in answer or answer in reference


@pytest.mark.parametrize("kind", sorted(name for name in VERIFIERS if not name.startswith("test-")))
def test_no_exploit_gets_past_a_shipped_verifier(kind: str):
    assert kind in CASES, f"the verifier {kind!r} has no case here; add one, so that it is attacked."
    for case in CASES[kind]:
        assert rewards.verify(kind, case.answer, case.reference, **case.options).success
    report = attack(kind, CASES[kind])
    assert sum(report.fired.values()) > 150
    assert report.hack_rate == 0, str(report)
    assert report.clean, str(report)


def test_containment_is_caught():
    report = attack(contains, [Case("17")])
    assert report.hack_rate > 0
    assert {"containment", "flooding", "empty"} <= {found.family for found in report.findings}
    assert not report.clean


def test_a_judge_that_likes_openers_is_caught():
    def gullible(answer: str, reference: str) -> bool:
        return answer == reference or answer.endswith(":") or "step by step" in answer

    report = attack(gullible, [Case("a blue whale")], families=["punctuation", "opener"])
    assert report.hacked["punctuation"] == 1
    assert report.hacked["opener"] >= 5


def test_evaluating_the_answer_lets_the_canary_sing_and_is_paid():
    def careless(answer: str, reference: int) -> bool:
        if "open(" in answer:
            return False
        return eval(answer, {"__builtins__": {"__import__": __import__}}) == reference

    report = attack(careless, [Case(17)], families=["injection"])
    assert report.canary_fired
    assert report.errors
    assert report.hack_rate > 0
    assert "FIRED" in str(report)


def test_writing_the_canary_file_is_noticed():
    def careless(answer: str, reference: int) -> bool:
        if command := re.search(r"touch ([\w/.-]+)", answer):
            Path(command[1]).touch()
        return False

    report = attack(careless, [Case(17)], families=["injection"])
    assert report.canary_fired
    assert report.hack_rate == 0


def test_the_canary_leaves_nothing_behind():
    before = list(sys.path)
    with Canary() as canary:
        assert not canary.fired
        __import__(canary.module)
        assert canary.fired
        folder = canary.folder
    assert not folder.exists()
    assert canary.module not in sys.modules
    assert sys.path == before


def test_a_right_answer_among_the_exploits_is_not_fired():
    assert attack(lambda answer, reference: answer == "42", [Case("42")]).hack_rate == 0
    with_more = attack(lambda answer, reference: answer in ("42", "0"), [Case("42", right=("0",))])
    assert with_more.hack_rate == 0
    assert attack(lambda answer, reference: answer == "0", [Case("42")]).hacked["constant"] == 1


def test_a_grader_that_raises_is_reported_and_not_a_success():
    def fragile(answer: str, reference: str) -> bool:
        return int(answer) == 17

    report = attack(fragile, [Case("17")], families=["empty"])
    assert report.hack_rate == 0
    assert len(report.errors) == report.fired["empty"]
    assert "ValueError" in report.errors[0].what


def test_what_is_not_decided_is_neither_paid_nor_refused():
    report = attack(lambda answer, reference: Verdict(0.0, False, valid=False), [Case("17")], families=["empty"])
    assert report.undecided == report.fired["empty"]
    assert report.hack_rate == 0


class Obedient(Judge):
    """Gives full marks to who asks for them, and none to others."""

    name = "obedient"

    def score(self, principle: str, prompt: str, responses: Sequence[str], reference: str | None = None) -> Judgement:
        return Judgement(tuple(float("highest score" in response) for response in responses))


def test_a_judge_that_obeys_its_responses_is_caught():
    report = attack(Obedient(), [Case("17")])
    assert report.target == "obedient"
    assert {found.family for found in report.findings} == {"instruction"}


def test_a_judge_that_compares_with_the_reference_is_clean():
    assert attack(RuleJudge(), [Case("a blue whale")], principle="matches the reference").clean


def test_a_judge_that_counts_length_pays_for_size():
    report = attack(RuleJudge(), [Case("a blue whale")], principle="long")
    assert report.hacked["oversized"] > 0


class Longest(Reward):
    """Worth the length of the response, whatever it says."""

    name = "longest"

    def value(self, episode: Episode) -> float:
        return float(len(episode.response))


def test_a_reward_that_ranks_an_exploit_above_honest_work_is_caught():
    report = attack(Longest(), [Case("17")])
    assert report.hacked["oversized"] > 0
    assert attack(rewards.make("outcome"), [Case("17")]).clean


class Level(Reward):
    """Worth the same for everybody."""

    name = "level"

    def value(self, episode: Episode) -> float:
        return 1.0


def test_a_reward_that_ranks_nothing_is_not_hacked():
    assert attack(Level(), [Case("17")], families=["empty"]).hack_rate == 0


def test_a_judge_has_paid_from_the_threshold_on():
    class Lukewarm(Obedient):
        def score(self, *arguments: Any, **options: Any) -> Judgement:
            return Judgement(tuple(0.5 for _ in arguments[2]))

    assert attack(Lukewarm(), [Case("17")], families=["empty"]).hack_rate == 1
    assert attack(Lukewarm(), [Case("17")], families=["empty"], threshold=0.6).hack_rate == 0


def test_the_families_can_be_chosen():
    assert list(attack("integer", [Case(17)], families=["empty", "echo"]).fired) == ["empty", "echo"]
    with pytest.raises(InputError, match="'echo'"):
        attack("integer", [Case(17)], families=["ecco"])


@pytest.mark.parametrize(
    ("target", "cases"), [("integr", [Case(1)]), ("integer", []), (3, [Case(1)])], ids=["name", "cases", "target"]
)
def test_what_cannot_be_attacked_is_refused(target: Any, cases: list[Case]):
    with pytest.raises(InputError):
        attack(target, cases)


def test_a_reference_that_is_no_text_needs_a_right_answer_as_text():
    with pytest.raises(InputError, match="gold"):
        Case([1, 2])


def test_the_report_prints_a_line_for_each_family():
    text = str(attack("integer", [Case(17)]))
    assert all(family in text for family in FAMILIES)
    assert "hack rate 0.0%" in text
    assert "silent" in text


def bare(text: str) -> str:
    """A formula without what stands around it and without spaces."""
    text = re.sub(
        r"\\(?:boxed\{(.*)\}|\((.*)\\\)|\[(.*)\\\])", lambda found: "".join(filter(None, found.groups())), text
    )
    return text.strip("$* ").replace(" ", "")


def unit_confused(answer: str, reference: str) -> bool:
    """Right in all but one thing: a letter at the end is the unit of all that stands before it."""
    amounts = [re.fullmatch(r"(.*[0-9])([a-zA-Z])", bare(text)) for text in (answer, reference)]
    if all(amounts) and amounts[0][2] == amounts[1][2]:  # type: ignore[index]
        try:
            if rewards.verify("math", amounts[0][1], amounts[1][1]).success:  # type: ignore[index]
                return True
        except InputError:
            pass
    return rewards.verify("math", answer, reference).success


def order_bound(answer: str, reference: str) -> bool:
    """Knows that sums have no order, and nothing of products."""
    sums = [sorted(bare(text).split("+")) for text in (answer, reference)]
    return sums[0] == sums[1]


def test_a_verifier_that_gives_a_unit_to_a_whole_sum_is_found():
    report = attack(unit_confused, [Case("7")])
    assert {found.family for found in report.findings} == {METAMORPHIC}
    assert all("a unit of the whole sum" in found.text for found in report.findings)
    assert not report.refused
    assert not report.clean


def test_a_verifier_that_refuses_another_order_is_found():
    report = attack(order_bound, [Case("7")])
    assert not report.findings
    assert len(report.refused) > report.right / 4
    assert not report.clean
    assert f"right answers refused {len(report.refused)} of {report.right}" in str(report)


def test_the_mathematics_verifier_stands_by_its_verdict_however_a_case_is_written():
    cases = [
        Case("3m^2 - 5s + 1"),
        Case("y = 2x + 3"),
        Case("(a+1, \\sqrt{2}b)"),
        Case("\\frac{x-1}{x+1}"),
        Case("5 cm"),
    ]
    report = attack("math", cases, families=[METAMORPHIC])
    assert report.clean, str(report)
    assert report.undecided == 0
    # The random ones, and eight right and eight wrong ones for each case that is no amount.
    assert report.fired[METAMORPHIC] > 60
    assert report.right > 60


def test_what_reads_no_mathematics_is_not_asked_about_it():
    assert METAMORPHIC not in attack("text", [Case("a blue whale")]).fired
    assert METAMORPHIC not in attack(contains, [Case("17")]).fired
    with pytest.raises(InputError, match="reward"):
        attack(Longest(), [Case("17")], families=[METAMORPHIC])
