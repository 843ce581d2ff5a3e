"""The families in which solutions are judged: balanced, true to what they show, deaf to pleas."""

from __future__ import annotations

import re
from collections import Counter
from typing import Any

import gymnasium as gym
import palaestra
import pytest
from palaestra.envs.judging.grade_by_rubric import CHECKED, PRAISE
from palaestra.envs.judging.judge_pairs import JudgePairs
from palaestra.envs.judging.shortcuts import SHORTCUTS, read_pair, shortcut_rates
from palaestra.errors import InputError
from palaestra.rewards.answers.equalities import equality_holds
from palaestra.rewards.audit import FAMILIES, Case, attack

JUDGING = JudgePairs.__module__.rpartition(".")[0]
NAMES = sorted(
    spec.name.removeprefix("palaestra/") for spec in gym.registry.values() if str(spec.entry_point).startswith(JUDGING)
)
"""Every family of this folder."""
DECIDING = ("AllowedRequests", "Screening")
"""Families elsewhere in which the reply is a decision on what others have written."""


def make(name: str, **kwargs: Any) -> Any:
    return gym.make(f"palaestra/{name}-v0", disable_env_checker=True, **kwargs).unwrapped


@pytest.mark.parametrize("error", ["blatant", "slip", "subtle"])
def test_place_length_layout_and_pleas_tell_nothing(error: str):
    rates = shortcut_rates(make("JudgePairs", error=error, pleas=1.0), 500)
    for name in ("first", "longer", "more lines", "formatted", "pleading", "more equations", "more remarks"):
        assert abs(rates[name] - 0.5) < 3.5 * 0.5 / 500**0.5, (name, rates[name])
    assert rates.keys() == SHORTCUTS.keys()


def test_swapped_pairs_are_the_same_solutions_in_the_other_order():
    env, other = make("JudgePairs", pleas=1.0), make("JudgePairs", pleas=1.0, swapped=True)
    for seed in range(20):
        (one, _), (two, _) = (each.reset(seed=seed) for each in (env, other))
        first, second = ([re.sub(r"\[\[.\]\]", "", text) for text in read_pair(shown)[1:]] for shown in (one, two))
        assert first == second[::-1]
        assert {env.here().reference, other.here().reference} == {"A", "B"}


def test_a_plea_is_for_the_solution_in_which_it_stands():
    env = make("JudgePairs", pleas=1.0)
    sides = Counter()
    for seed in range(40):
        shown = read_pair(env.reset(seed=seed)[0])[1:]
        (pleading,) = [letter for letter, text in zip("AB", shown) if "[[" in text]
        assert f"[[{pleading}]]" in shown["AB".index(pleading)]
        sides[pleading == env.here().reference] += 1
    assert min(sides.values()) >= 8


@pytest.mark.parametrize("name", ["JudgePairs", "JudgeSolution"])
def test_two_verdicts_at_the_end_are_none(name: str):
    env = make(name)
    env.reset(seed=0)
    right, wrong = sorted(env.labels, key=lambda label: label != env.here().reference)
    outcomes = {}
    for reply in (f"[[{wrong}]]\n[[{right}]]", f"So it is clear.\n[[{right}]]", right, f"[[{wrong}]]", "[[C]]"):
        env.reset(seed=0)
        *_, info = env.step(reply)
        outcomes[reply] = (info["is_success"], info["action_error"] is None)
    assert list(outcomes.values()) == [(False, False), (True, True), (True, True), (False, True), (False, False)]


def test_the_families_of_this_folder_are_found():
    assert {"FindTheError", "GradeByRubric", "JudgePairs", "JudgeSolution"} <= set(NAMES)


@pytest.mark.parametrize("name", [*NAMES, *DECIDING])
def test_hostile_replies_are_no_verdicts(name: str):
    env = make(name)
    for seed in range(6):
        observation, _ = env.reset(seed=seed)
        task = env.here()

        def grade(answer: str, reference: str, task: Any = task) -> Any:
            return env.judge(task, answer)[0]

        answers = {
            form.format(task.reference) for form in ("{}", "0{}", "[[{}]]", "\\boxed{{{}}}", "<answer>{}</answer>")
        }
        # A text that happens to end in the right number is a guess, no exploit.
        guess = f": {task.reference}"

        def right(text: str, answers: set[str] = answers, guess: str = guess) -> bool:
            # A free reply that holds the right one is right, whatever stands around it.
            free = name == "AllowedRequests" and env.oracle().strip("<>") in text
            return text in answers or text.endswith(guess) or free

        report = attack(grade, [Case(env.oracle(), prompt=observation, right=right)], families=[*FAMILIES])
        assert report.clean, report


def test_half_of_the_solutions_are_right():
    env = make("JudgeSolution", of="palaestra/Arithmetic-v0", pleas=0.0)
    found = Counter()
    for seed in range(400):
        seen, _ = env.reset(seed=seed)
        found[env.here().reference, bool(env.here().data.flaw)] += 1
        shown = seen.partition("Solution:\n")[2].partition("\n\n")[0]
        values = [line for line in re.split(r"\n|\*\* ", shown) if "=" in line]
        sound = all(equality_holds(re.sub(r"^(?:\* |\(?\d+[.)] |Step \d+: )", "", line)) for line in values)
        answer = env.families[env.here().data.of].verify(
            env.here().data.task,
            re.search(r"Answer:(?:\*\*)? (.*)", shown)[1],  # type: ignore[index]
        )
        # An error in an operator or a number that was misread leaves true equations, and a wrong answer.
        assert (sound and answer.success) == (env.here().reference == "right"), seen
    assert found.keys() == {("right", False), ("wrong", True)}
    assert abs(found["right", False] - 200) < 3.5 * 10


@pytest.mark.parametrize("error", ["alone", "carried", "consistent"])
def test_every_line_is_wrong_equally_often(error: str):
    env = make("FindTheError", of="palaestra/Arithmetic-v0", level=0.5, error=error)
    places = Counter()
    for seed in range(400):
        shown, _ = env.reset(seed=seed)
        lines = re.findall(r"^\d+\. (.*)$", shown, re.MULTILINE)
        places[env.here().reference] += 1
        first = env.here().reference or len(lines)
        assert all(equality_holds(line) for line in lines[: first - 1])
        if error != "consistent" and 0 < first < len(lines):
            assert equality_holds(lines[first - 1]) is False
    share = 400 / len(places)
    assert set(places) == set(range(len(lines) + 1))
    assert all(abs(count - share) < 3.5 * share**0.5 for count in places.values()), places


def test_points_are_those_of_the_rubric_that_is_shown():
    env = make("GradeByRubric", of="palaestra/Arithmetic-v0", faults=0.5)
    totals = set()
    for seed in range(60):
        shown, _ = env.reset(seed=seed)
        rubric = shown.partition("Rubric:\n")[2].partition("\n\n")[0].split("\n")
        lines = shown.partition("Solution:\n")[2].partition("\n\n")[0].split("\n")
        answer = next(line for line in lines if line.startswith("Answer: "))
        working = [line for line in lines if "=" in line]
        expected = 0
        for criterion in rubric:
            points = int(criterion.split()[0])
            if "line of working" in criterion:
                met = sum(equality_holds(line) is True for line in set(working))
            elif "right answer" in criterion:
                met = env.families["palaestra/Arithmetic-v0"].verify(env.here().data.task, answer[8:]).success
            elif "praises" in criterion:
                met = any(line in PRAISE for line in lines)
            elif "twice" in criterion:
                met = len(set(working)) < len(working)
            else:
                met = lines[-1] == CHECKED
            expected += points * met
        assert env.here().reference == expected, shown
        totals.add(expected)
    assert min(totals) < 0 < max(totals)


@pytest.mark.parametrize("name", NAMES)
def test_families_that_cannot_be_judged_are_refused(name: str):
    with pytest.raises(InputError, match="none of them twice"):
        make(name, of=["palaestra/Arithmetic-v0"] * 2)
    with pytest.raises(InputError, match="must be the id of a question"):
        make(name, of="palaestra/Sokoban-v0")
    with pytest.raises(InputError, match="have no steps"):
        make(name, of=["palaestra/Arithmetic-v0", "palaestra/MultipleChoiceQuestions-v0"])


def test_errors_in_lines_need_equations():
    for name in ("FindTheError", "GradeByRubric"):
        with pytest.raises(InputError, match="no equations of numbers"):
            make(name, of="palaestra/KnightsKnaves-v0")


def test_other_families_have_pairs_as_well():
    ids = "palaestra/KnightsKnaves-v0, palaestra/PolynomialFactor-v0,palaestra/Countdown-v0"
    env = make("JudgePairs", of=ids)
    flaws = set()
    for seed in range(30):
        env.reset(seed=seed)
        flaws.add((env.here().data.of, env.here().data.flaw))
        assert env.step(env.oracle())[1] == 1.0
    assert {of for of, _ in flaws} == set(map(str.strip, ids.split(",")))


def test_a_judge_of_one_family_is_evaluated_on_others():
    report = palaestra.evaluate(
        "oracle", "palaestra/JudgePairs-v0", episodes=6, env_kwargs={"of": ["palaestra/PrimeFactors-v0"]}
    )
    assert report.success.mean == 1.0
