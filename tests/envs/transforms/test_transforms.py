"""Transforms of questions, each over several inner families."""

from __future__ import annotations

import pickle
import re
from collections import Counter
from fractions import Fraction
from typing import Any

import gymnasium as gym
import numpy as np
import palaestra.envs
import pytest
from palaestra.envs.splits import split_of
from palaestra.envs.transforms.equalities import equality_holds
from palaestra.envs.transforms.hint_prefix import HintPrefix
from palaestra.envs.transforms.multiple_choice import near_misses
from palaestra.envs.transforms.rephrased import move_instruction_first
from palaestra.errors import InputError

MANY = ["Arithmetic", "LinearEquation", "WordProblem", "PrimeFactors", "TowerOfHanoi", "Countdown", "ShortestPath"]
INNER = {
    "MultipleChoice": MANY,
    "Rephrased": MANY,
    "HintPrefix": ["Arithmetic", "LinearEquation", "LinearSystem", "PrimeFactors", "ShortestPath", "GcdLcm"],
    "Cloze": ["Arithmetic", "WordProblem", "GcdLcm", "DecimalArithmetic", "PrimeFactors"],
    "Reversed": ["Arithmetic", "LinearEquation", "FractionArithmetic"],
}
PAIRS = [(form, inner) for form, inners in INNER.items() for inner in inners]
every_pair = pytest.mark.parametrize(("form", "inner"), PAIRS)


def make(form: str, inner: str | None = None, **kwargs: Any) -> Any:
    of = {"of": f"palaestra/{inner}-v0"} if inner else {}
    return gym.make(f"palaestra/{form}-v0", disable_env_checker=True, **of, **kwargs).unwrapped


def tasks(env: Any, count: int, **options: Any):
    for seed in range(count):
        env.reset(seed=seed, options=options or None)
        yield env.here()


@every_pair
def test_the_oracle_succeeds_and_attacks_earn_what_chance_earns(form: str, inner: str):
    env = make(form, inner)
    earned: Counter[str] = Counter()
    for difficulty in (0.0, 0.5, 1.0):
        for task in tasks(env, 15, difficulty=difficulty):
            assert env.verify(task, env.oracle(task)).success
            assert env.solution_steps(task)[-1] == env.oracle(task)
            last = re.findall(r"-?[0-9]+", task.prompt)
            guesses = {"echo": task.prompt[-4000:], "0": "0", "1": "1", "last": last[-1] if last else "", "": ""}
            for name, guess in {**guesses, "tower": "9**9**9", "deep": "(" * 4000, "long": "7" * 4096}.items():
                earned[name] += env.verify(task, guess).score
    limit = 1 / 3 if form == "MultipleChoice" else 0.15
    assert all(total / 45 <= limit for total in earned.values()), earned


@every_pair
def test_a_task_is_of_the_split_of_the_inner_task(form: str, inner: str):
    for split in ("train", "test"):
        env = make(form, inner, split=split, difficulty=0.5)
        for task in tasks(env, 5):
            assert split_of(env.inner.split_key(task.data) or env.inner.content_of(task.data)) == split


@every_pair
def test_a_snapshot_goes_on_alike(form: str, inner: str):
    env, other = make(form, inner), make(form, inner)
    env.reset(seed=5)
    other.set_state(pickle.loads(pickle.dumps(env.get_state())))
    answer = env.oracle()
    assert other.oracle() == answer
    assert other.step(answer) == env.step(answer)
    assert other.reset() == env.reset()


def test_a_snapshot_of_another_inner_family_is_refused():
    env = make("Rephrased", "Arithmetic")
    env.reset(seed=0)
    with pytest.raises(InputError, match="Arithmetic-v0"):
        make("Rephrased", "LinearEquation").set_state(env.get_state())


@pytest.mark.parametrize("of", ["palaestra/GuessNumber-v0", "palaestra/Nothing-v0", "Acrobot-v1"])
def test_only_questions_are_transformed(of: str):
    with pytest.raises(InputError, match=of):
        gym.make("palaestra/Rephrased-v0", of=of)


def test_arguments_reach_the_one_they_are_for():
    env = make("MultipleChoice", "LinearEquation", of_kwargs={"size": 5}, options=4, sides="both")
    env.reset(seed=0)
    assert env.task_info()["params"]["size"] == 5
    assert env.task_info()["params"]["sides"] == "both"
    assert env.task_info()["params"]["options"] == 4
    with pytest.raises(InputError, match="split"):
        make("Rephrased", "Arithmetic", of_kwargs={"split": "test"})
    with pytest.raises(InputError, match="options"):
        make("MultipleChoice", options=1)


@pytest.mark.parametrize(
    ("form", "inner"),
    [
        ("HintPrefix", "Countdown"),
        ("Cloze", "Countdown"),
        ("Reversed", "DecimalArithmetic"),
        ("Reversed", "WordProblem"),
    ],
)
def test_a_family_that_does_not_suit_is_refused_at_once(form: str, inner: str):
    with pytest.raises(InputError, match=inner):
        make(form, inner)


def test_transforms_of_transforms():
    env = gym.make(
        "palaestra/Rephrased-v0",
        of="palaestra/MultipleChoice-v0",
        of_kwargs={"of": "palaestra/WordProblem-v0", "options": 4},
    ).unwrapped
    for task in tasks(env, 10):
        assert env.verify(task, env.oracle(task)).success  # type: ignore[attr-defined]


# Multiple choice.


@pytest.mark.parametrize("inner", INNER["MultipleChoice"])
def test_one_option_is_right_and_all_others_are_wrong(inner: str):
    env = make("MultipleChoice", inner)
    for difficulty in (0.0, 1.0):
        for task in tasks(env, 20, difficulty=difficulty):
            options = task.reference["options"]
            assert len(set(options)) == len(options) == env.task_info()["params"]["options"]
            right = [letter for letter, text in zip("ABCDEFGHIJ", options) if env.inner.verify(task.data, text).success]
            assert right == [env.oracle(task)]
            assert all(f"\n{letter}) {text}\n" in task.prompt for letter, text in zip("ABCDEFGHIJ", options))


def test_letters_are_balanced_and_no_option_stands_out():
    env = make("MultipleChoice", "Arithmetic", options=5, terms=2)
    letters: Counter[str] = Counter()
    middle = lonely = 0
    for task in tasks(env, 500):
        letters[task.reference["letter"]] += 1
        values = [int(text) for text in task.reference["options"]]
        right = values["ABCDE".index(task.reference["letter"])]
        middle += right == sorted(values)[2]
        lonely += right == max(values, key=lambda v: min(abs(v - w) for w in values if w != v))
    # Five standard deviations about 100 of 500.
    assert all(abs(letters[letter] - 100) < 45 for letter in "ABCDE")
    assert abs(middle - 100) < 45
    assert abs(lonely - 100) < 45


def test_letter_or_text_of_an_option_is_read():
    env = make("MultipleChoice", "LinearEquation", options=4, difficulty=0.0)
    task = next(tasks(env, 1))
    letter = env.oracle(task)
    text = env.inner.oracle(task.data)
    for answer in (letter, letter.lower(), f"({letter})", f"{letter}) {text}", text):
        assert env.verify(task, answer).success
    for answer in ("E", "AB", "A B C D", "all", ""):
        assert not env.verify(task, answer).success


def test_near_misses_change_one_thing():
    found = set(near_misses("-12", np.random.default_rng(0).random(400).tolist()))
    assert found == {"-11", "-13", "-10", "-14", "-2", "-22", "12"}
    assert set(near_misses("A B", [0.8, 0.0])) == {"B A"}
    assert not list(near_misses("", [0.1, 0.2, 0.9, 0.9]))


# Rephrased.


def test_nothing_of_the_question_is_lost_and_answers_stay():
    for inner in INNER["Rephrased"]:
        env = make("Rephrased", inner)
        for task in tasks(env, 30):
            for sentence in re.split(r"(?<=[.?]) (?=Answer with )", task.data.prompt):
                assert sentence in task.prompt
            assert task.prompt != task.data.prompt or env.task_info()["params"]["changes"] == 1


def test_the_instruction_moves_only_where_it_stands_alone():
    assert move_instruction_first("Solve x = 3. Answer with an integer.") == "Answer with an integer. Solve x = 3."
    for kept in ("Roots of x - 1? Answer with them in order.", "1 + 1 = ? (integer)", "Answer with an integer."):
        assert move_instruction_first(kept) == kept


def test_each_change_adds_words():
    lengths = [
        sum(len(task.prompt) for task in tasks(make("Rephrased", "LinearEquation", changes=n, size=5), 40))
        for n in range(1, 6)
    ]
    assert lengths == sorted(lengths)
    assert len(set(lengths)) == 5


# Hints.


@pytest.mark.parametrize("inner", [*INNER["HintPrefix"], "WordProblem", "Sudoku"])
def test_a_hint_is_a_prefix_that_never_holds_the_answer(inner: str):
    env = make("HintPrefix", inner, hint=1.0)
    shown = 0
    for task in tasks(env, 30):
        steps = env.solution_steps(task)
        count = task.reference["shown"]
        hint = task.prompt[len(task.data.prompt) :]
        assert task.prompt.startswith(task.data.prompt)
        assert hint == "" if not count else "\n" + "\n".join(steps[:count]) + "\n" in hint
        for step in steps[:count]:
            for part in re.split(r"=|:", step):
                assert not env.verify(task, part.strip()).success
        shown += count
    assert shown > 0


def test_a_longer_hint_leaves_less_work():
    def left(hint: float) -> float:
        env = make("HintPrefix", "WordProblem", hint=hint, steps=8)
        return sum(env.solver_cost(task) for task in tasks(env, 20))

    assert left(1.0) < left(0.5) < left(0.0)
    env = make("HintPrefix", "WordProblem", hint=0.0)
    assert all(task.prompt == task.data.prompt for task in tasks(env, 10))


def test_a_step_gives_the_answer_away():
    env: HintPrefix = make("HintPrefix", "Arithmetic", terms=3, digits=2, operations="+")
    task = next(tasks(env, 1)).data
    answer = env.inner.oracle(task)
    assert env._gives_away(task, f"1 + 1 = {answer}")
    assert env._gives_away(task, f"so it is {answer}, no less")
    assert not env._gives_away(task, f"1{answer} + 1 = 1")


# Cloze and reversed.


@pytest.mark.parametrize("inner", INNER["Cloze"])
def test_the_masked_number_is_the_only_one_that_fits(inner: str):
    env = make("Cloze", inner)
    for task in tasks(env, 20):
        number = int(env.oracle(task)) if env.oracle(task).isdigit() else None
        steps = env.inner.solution_steps(task.data)
        assert "#" in task.prompt
        # Put back, the number gives the solution that the inner family tells.
        assert "\n".join(steps) in task.prompt.replace("#", env.oracle(task))
        if number is not None and len(task.reference["lines"]) == 1:
            right = [n for n in range(max(0, number - 200), number + 200) if env.verify(task, str(n)).success]
            assert right == [number]
        assert env.verify(task, f"{env.oracle(task)}/1").success or "." in env.oracle(task)


def test_masked_once_the_number_stands_in_no_other_line_of_the_solution():
    env = make("Cloze", masked="once")
    for task in tasks(env, 80):
        lines = task.prompt.split("same number:\n")[1].split("\nWhich number")[0].split("\n")
        (place,) = [place for place, line in enumerate(lines) if "#" in line]
        rest = "\n".join(lines[:place] + lines[place + 1 :])
        assert not re.search(rf"(?<![\w.]){env.oracle(task)}(?![\w.])", rest)


def test_masked_everywhere_leaves_no_copy_of_the_number():
    env = make("Cloze", masked="everywhere")
    for task in tasks(env, 40):
        solution = task.prompt.split("same number:\n")[1]
        assert not re.search(rf"(?<![\w.]){env.oracle(task)}(?![\w.])", solution)


@pytest.mark.parametrize("inner", INNER["Reversed"])
def test_the_hidden_number_leads_back_to_the_question(inner: str):
    env = make("Reversed", inner)
    for task in tasks(env, 20):
        statement = task.reference["line"].split(" = ")[0].replace("#", env.oracle(task))
        assert statement in task.data.prompt
        value = Fraction(env.oracle(task))
        near = [value + n for n in range(-30, 31)]
        assert [v for v in near if env.verify(task, str(v)).success] == [value]
        assert not env.verify(task, env.inner.oracle(task.data) + "0").success


@pytest.mark.parametrize(
    ("line", "true"),
    [
        ("2 + 3 * 4 = 14", True),
        ("2 - 3 - 4 = -5", True),
        ("12 / 4 / 3 = 1", True),
        ("2 * (3 + 4) = 14 = 28 / 2", True),
        ("2^3^1 = 8", None),
        ("-3^2 = -9", True),
        ("3x - 4 = 11", True),
        ("0.5 * 3 = 1.5", True),
        ("1 / 0 = 1", None),
        ("1 + = 2", None),
        ("7", None),
        ("9^9^9 = 1", None),
        ("9^999 = 1", None),
        ("x = os", None),
        ("(" * 500 + "1 = 1", None),
        ("2 + 2 = 5", False),
        ("4 + # = 11", True),
    ],
)
def test_statements_are_read_with_the_usual_precedence(line: str, true: bool | None):
    assert equality_holds(line, Fraction(7), Fraction(5)) is true


def test_the_transforms_are_registered():
    assert {f"palaestra/{form}-v0" for form in INNER} <= set(palaestra.envs.ids())
