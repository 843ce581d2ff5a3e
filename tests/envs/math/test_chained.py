"""Chains: each question needs the answer before; the last answer follows from the text, and from no less."""

from __future__ import annotations

import pickle
import re
from collections.abc import Callable
from fractions import Fraction

import gymnasium as gym
import palaestra
import pytest
from palaestra.envs.math.chained import _LITERAL, FAMILIES, Chained, Link
from palaestra.envs.splits import split_of
from palaestra.errors import InputError

Solver = Callable[[str], Fraction]


def modular(question: str) -> Fraction:
    match = re.match(r"What is \((.+)\) mod (\d+)\? Answer", question)
    assert match, question
    n = int(match[2])
    assert re.fullmatch(r"[-+* 0-9()^inv]+", match[1])
    scope = {"inv": lambda a: pow(a, -1, n)}
    return Fraction(eval(match[1].replace("^", "**"), scope) % n)


def exact(expression: str, **names: Fraction) -> Fraction:
    assert re.fullmatch(r"[-+*/() 0-9x]+", expression), expression
    return eval(re.sub(r"\d+", r"F(\g<0>)", re.sub(r"(\d)x", r"\1*x", expression)), {"F": Fraction, **names})


def linear(question: str) -> Fraction:
    match = re.match(r"Solve (.+) = (.+)\. Answer", question)
    assert match, question
    at = [exact(match[1], x=x) - exact(match[2], x=x) for x in (Fraction(0), Fraction(1))]
    return Fraction(-at[0], at[1] - at[0])


def plain(question: str) -> Fraction:
    match = re.fullmatch(r"What is (.+)\? Answer with an integer only\.", question)
    assert match, question
    return exact(match[1])


def solved(question: str) -> Fraction:
    return (linear if question.startswith("Solve") else modular if " mod " in question else plain)(question)


def followed(prompt: str, change: int = 0) -> Fraction:
    """The last answer, from the text alone; ``change`` is added to the first answer."""
    lines = prompt.split("\n")
    if len(lines) == 1:
        return solved(prompt)
    answers: list[Fraction] = []
    for place, line in enumerate(lines[1:-1], start=1):
        match = re.fullmatch(rf"{place}\. (?:Let n = (?:(\d+)\*)?A(\d+)(?: ([-+]) (\d+))?\. )?(.+)", line)
        assert match, line
        factor, before, sign, offset, question = match.groups()
        assert (before is None) == (place == 1)
        if before:
            assert int(before) == place - 1
            number = int(factor or 1) * answers[-1] + int(f"{sign or '+'}{offset or 0}")
            assert number.denominator == 1 or change
            question = re.sub(r"\bn\b", f"({number})", question)
        answers.append(solved(question) + (change if place == 1 else 0))
    return answers[-1]


def test_the_last_answer_follows_from_the_text_at_every_difficulty():
    env = Chained()
    for difficulty in (0.0, 0.25, 0.5, 0.75, 1.0):
        for seed in range(30):
            prompt, info = env.reset(seed=seed, options={"difficulty": difficulty})
            assert followed(prompt) == Fraction(env.oracle(env.here()))
            questions = len(re.findall(r"^\d+\. ", prompt, re.MULTILINE))
            assert max(questions, 1) == info["params"]["horizon"]


def test_answers_that_are_fractions_lead_to_whole_numbers():
    env = Chained(families=FAMILIES[:2], horizon=4, level=0.8)
    met = False
    for seed in range(20):
        prompt, _ = env.reset(seed=seed)
        assert followed(prompt) == Fraction(env.oracle(env.here()))
        met = met or any(link.answer.denominator > 1 for link in env.here().data[:-1])
    assert met


def test_eight_hard_questions_fit_in_two_thousand_characters():
    env = Chained(horizon=8, level=1.0)
    assert max(len(env.reset(seed=seed)[0]) for seed in range(60)) <= 2000


def test_another_first_answer_gives_another_last_one():
    """Arithmetic and equations are one to one in their first number, so nothing before the end can be left out."""
    env = Chained(families=FAMILIES[:2], horizon=6, level=0.2)
    for seed in range(40):
        prompt, _ = env.reset(seed=seed)
        assert followed(prompt) != followed(prompt, change=1)


def test_a_question_does_not_give_its_number_away():
    env = Chained(horizon=8)
    for seed in range(40):
        env.reset(seed=seed)
        for link in env.here().data:
            first, *others = map(int, _LITERAL.findall(link.task.prompt))
            assert first not in others
            assert first - 1 not in others


@pytest.mark.parametrize(
    ("prompt", "numbers"),
    [
        ("17 + 25 - 3 = ? (integer)", ["17", "25", "3"]),
        ("Solve 3x + 4 = 19. Answer with an integer.", ["4", "19"]),
        ("(2^10 * 7) mod 97 = ?", ["7", "97"]),
        ("3/4 + 0.5 + A1 and 8.", ["8"]),
    ],
)
def test_only_numbers_that_stand_alone_are_replaced(prompt: str, numbers: list[str]):
    assert _LITERAL.findall(prompt) == numbers


def test_steps_give_all_answers_in_between():
    env = Chained(horizon=5, axes={"level": [0.5, 0.9]})
    for seed in range(20):
        prompt, _ = env.reset(seed=seed)
        *steps, last = env.solution_steps(env.here())
        assert len(steps) == 5
        assert steps[0] == f"A1 = {env.here().data[0].answer}"
        for step, link in zip(steps[1:], env.here().data):
            # The answer before stands in brackets where it is negative or a fraction.
            known = str(link.answer) if re.fullmatch(r"\d+", str(link.answer)) else f"({link.answer})"
            assert re.match(rf"n = (\d+\*)?{re.escape(known)}( |$)", step), step
            match = re.fullmatch(r"n = (.+) = (\d+), A(\d) = (.+)", step)
            assert match, step
            assert exact(match[1]) == int(match[2])
        assert Fraction(last) == followed(prompt)
        assert steps[-1].endswith(f"A5 = {last}")


def test_only_the_last_answer_counts():
    env = Chained(horizon=3)
    for seed in range(20):
        env.reset(seed=seed)
        task = env.here()
        assert env.verify(task, env.oracle(task)).success
        for link in task.data[:-1]:
            if link.answer != task.data[-1].answer:
                assert env.verify(task, str(link.answer)).score == 0
        for answer in ("", "A3", "n", "9**9**9", task.prompt):
            assert env.verify(task, answer).score == 0


def test_one_question_alone_is_the_familys_own():
    env = Chained(horizon=1, families=["palaestra/Arithmetic-v0"])
    prompt, _ = env.reset(seed=3)
    assert prompt == env.here().data[0].task.prompt
    assert prompt.endswith("? Answer with an integer only.")


def side_of(env: Chained, link: Link) -> str:
    family = env.families[link.family]
    return split_of(family.split_key(link.task) or family.content_of(link.task))


def test_training_chains_consist_of_training_tasks_and_test_chains_of_test_tasks():
    for split in ("train", "test"):
        env = Chained(split=split, horizon=3)
        for seed in range(25):
            env.reset(seed=seed)
            assert {side_of(env, link) for link in env.here().data} == {split}
    sides = set()
    for seed in range(60):
        env = Chained(split="all", horizon=2)
        env.reset(seed=seed)
        sides.add(tuple(side_of(env, link) for link in env.here().data))
    assert sides == {("train", "train"), ("test", "test")}


def test_any_family_with_a_number_as_answer_can_be_chained():
    env = gym.make("palaestra/Chained-v0", families=["palaestra/WordProblem-v0"], horizon=3, disable_env_checker=True)
    prompt, _ = env.reset(seed=0)
    assert prompt.count("Let n = ") == 2
    assert env.spec is not None
    again = gym.make(gym.envs.registration.EnvSpec.from_json(env.spec.to_json()))
    assert again.reset(seed=0)[0] == prompt
    assert pickle.loads(pickle.dumps(env)).reset(seed=0)[0] == prompt
    oracle = env.unwrapped.oracle()  # type: ignore[attr-defined]
    assert env.step(oracle)[4]["is_success"] is True


@pytest.mark.parametrize(
    ("families", "message"),
    [
        ([], "families"),
        ("palaestra/Arithmetic-v0", "list"),
        (["palaestra/Arithmetics-v0"], "cannot be made"),
        (["palaestra/PolynomialFactor-v0"], "not single numbers"),
        (["palaestra/GuessNumber-v0"], "not single numbers"),
        (["palaestra/FractionArithmetic-v0"], "leave it out"),
    ],
)
def test_families_that_cannot_be_chained_are_refused(families: list[str], message: str):
    with pytest.raises(InputError, match=message):
        Chained(families=families)


def test_horizon_and_level_do_what_they_say():
    env = Chained()
    for horizon in (1, 4, 8):
        env.reset(seed=1, options={"params": {"horizon": horizon, "level": 0.3}})
        assert len(env.here().data) == horizon
    easy, hard = (Chained(horizon=4, level=level) for level in (0.0, 1.0))
    sizes = [sum(len(env.reset(seed=seed)[0]) for seed in range(10)) for env in (easy, hard)]
    assert sizes[0] < sizes[1]
    assert set(FAMILIES) <= set(palaestra.envs.ids())
