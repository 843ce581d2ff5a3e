"""TemporalLogic: its English is read back by another grammar, and its rewards are checked on rewritten formulas."""

from __future__ import annotations

import functools
import re
from collections.abc import Iterator

import numpy as np
import pytest
from palaestra.envs.induction.signal_logic import Formula, parse_formula, robustness, sample_traces
from palaestra.envs.induction.temporal_logic import Requirement, TemporalLogic
from palaestra.envs.question import Task

FAMILY = TemporalLogic()
SIGNALS = ("speed", "temp", "load")
# What each wording means: N is a number, P and Q are parts, S is a signal.
ENGLISH = [
    ("S is above N", ">"),
    ("S exceeds N", ">"),
    ("S is greater than N", ">"),
    ("S is below N", "<"),
    ("S is less than N", "<"),
    ("S is under N", "<"),
    ("at every step from N to N later, P", "G"),
    ("always between N and N steps later, P", "G"),
    ("all through steps N to N from then, P", "G"),
    ("at some step from N to N later, P", "F"),
    ("at least once between N and N steps later, P", "F"),
    ("eventually, N to N steps later, P", "F"),
    ("there is a step N to N later at which Q, and at every step before that one P", "U"),
    ("some step N to N later has it that Q, and until just before then P", "U"),
    ("both P and Q", "and"),
    ("two things hold: P; and Q", "and"),
    ("either P or Q, or both", "or"),
    ("at least one of two things holds: P; or Q", "or"),
    ("if P, then Q", "->"),
    ("in case P, it must be that Q", "->"),
    ("it is not true that P", "not"),
    ("it is not the case that P", "not"),
]


def readings(sentence: str) -> list[Formula]:
    """All formulas that a sentence can be read as."""

    @functools.cache
    def parts(start: int) -> list[tuple[Formula, int]]:
        return [found for words, operator in ENGLISH for found in matches(words, operator, start)]

    def matches(words: str, operator: str, start: int) -> Iterator[tuple[Formula, int]]:
        pieces = re.split(r"\b([NPQS])\b", words)
        for found, end in follow(pieces, start):
            numbers = [int(text) for kind, text in found if kind == "N"]
            signal = next((text for kind, text in found if kind == "S"), "")
            inner = tuple(part for _, part in sorted((kind, part) for kind, part in found if kind in "PQ"))
            if operator in ("<", ">"):
                yield Formula(operator, signal=signal, constant=float(numbers[0])), end
            else:
                yield Formula(operator, inner, tuple(numbers) if numbers else (0, 0)), end  # type: ignore[arg-type]

    def follow(pieces: list[str], start: int) -> Iterator[tuple[list, int]]:
        if not pieces:
            yield [], start
            return
        piece, rest = pieces[0], pieces[1:]
        if piece in ("N", "S"):
            match = re.compile(r"\d+" if piece == "N" else r"[a-z]+").match(sentence, start)
            options = [(match.group(), match.end())] if match else []
        elif piece in ("P", "Q"):
            options = parts(start)
        else:
            options = [(piece, start + len(piece))] if sentence.startswith(piece, start) else []
        for option, end in options:
            for later, last in follow(rest, end):
                yield [(piece, option), *later] if piece in ("N", "S", "P", "Q") else later, last

    return [formula for formula, end in parts(0) if end == len(sentence)]


def tasks(count: int, depth: int = 2, signals: int = 2, horizon: int = 6) -> list[Task]:
    rng = np.random.default_rng(count)
    return [FAMILY.generate(rng, {"depth": depth, "signals": signals, "horizon": horizon}) for _ in range(count)]


def depth_of(formula: Formula) -> int:
    return 1 + max(map(depth_of, formula.parts)) if formula.parts else 0


def asking(text: str) -> Task:
    return Task("", None, data=Requirement(parse_formula(text, SIGNALS, 40), SIGNALS, 40, ()))


def sentence_of(task: Task) -> str:
    """The requirement in one sentence, each numbered clause in its place."""
    (sentence,) = re.findall(r'^A requirement: "(.*)\."$', task.prompt, re.MULTILINE)
    clauses = dict(re.findall(r"^(\(\d+\)): (.*)$", task.prompt, re.MULTILINE))
    assert sentence[0].isupper() or sentence.startswith("(")
    assert list(clauses) == [f"({number})" for number in range(1, len(clauses) + 1)]
    sentence = sentence[0].lower() + sentence[1:]
    # Outer clauses come first.
    for number, clause in clauses.items():
        assert sentence.count(number) == 1
        sentence = sentence.replace(number, clause)
    return sentence


@pytest.mark.parametrize("depth", [0, 1, 2, 3, 4, 6])
def test_english_can_be_read_in_one_way_and_means_the_formula(depth: int):
    for task in tasks(120, depth, signals=3, horizon=12):
        (formula,) = readings(sentence_of(task))
        assert formula == parse_formula(FAMILY.oracle(task), signals_of(task), 72)


def test_a_sentence_has_one_compound_clause_at_its_end_and_else_none():
    for depth in (2, 3, 4):
        for task in tasks(80, depth, signals=3, horizon=12):
            for line in task.prompt.split("\nWrite it")[0].split("\n"):
                # What begins a compound clause.
                words = line.lower().removeprefix('a requirement: "')
                begun = re.findall(
                    r"\b(?:at every|always|all through|at some|at least|eventually|there is|some|both|two|"
                    r"either|if|in case|it is not)\b",
                    words.replace("at least one of two", "either")
                    .replace(", or both", "")
                    .replace("and at every step", ""),
                )
                assert len(begun) <= 2, line


def signals_of(task: Task) -> list[str]:
    (listed,) = re.findall(r"The signals? (?:is|are) ([a-z, ]+)\.", task.prompt)
    return listed.split(", ")


def test_every_wording_and_every_operator_occurs():
    rng = np.random.default_rng(0)
    told = " ".join(
        sentence_of(task) for task in (FAMILY.generate(rng, FAMILY.param_space.at(1.0)) for _ in range(300))
    )
    for words, _ in ENGLISH:
        pattern = re.sub(r"\b([NPQS])\b", lambda m: {"N": r"\d+", "S": "[a-z]+"}.get(m.group(), ".*?"), words)
        assert re.search(pattern, told), words


@pytest.mark.parametrize("depth", [1, 2, 3, 4])
def test_formulas_have_the_depth_the_signals_and_the_windows_asked_for(depth: int):
    widest, named = 0, 0
    for task in tasks(60, depth, signals=3, horizon=7):
        formula, signals = task.data.formula, signals_of(task)
        assert depth_of(formula) == depth
        assert len(set(signals)) == 3
        leaves = [node for node in formula.nodes() if not node.parts]
        spoken = {node.signal for node in leaves}
        assert spoken <= set(signals)
        assert len(spoken) == min(3, len(leaves))
        assert len({(node.signal, node.constant) for node in leaves}) == len(leaves)
        named = max(named, len(spoken))
        for node in formula.nodes():
            if node.operator in ("G", "F", "U"):
                assert 0 <= node.window[0] <= node.window[1] <= 7
                assert node.window[1] >= 1
                widest = max(widest, node.window[1])
            for part in node.parts:
                assert node.operator != part.operator
                assert node.operator != "not" or part.parts
    assert widest == 7
    assert named == (2 if depth == 1 else 3)


REWRITES = [
    ("G[0,5](speed < 30)", "not F[0,5](not speed < 30)"),
    ("G[0,5](speed < 30)", "not F[0,5](speed > 30)"),
    ("F[1,4](speed < 30)", "not G[1,4](speed > 30)"),
    ("speed > 30 -> temp < 40", "speed < 30 or temp < 40"),
    ("speed > 30 -> temp < 40", "temp > 40 -> speed < 30"),
    ("not (speed > 30 and temp < 40)", "speed < 30 or temp > 40"),
    ("G[0,3](speed > 30 and temp < 40)", "G[0,3] temp < 40 and G[0,3] speed > 30"),
    ("F[1,6](speed > 30)", "F[1,2] F[0,4] speed > 30"),
    ("F[1,2](speed > 30)", "F[1,1](speed > 30) or F[2,2](speed > 30)"),
    ("speed > 30 U[0,1] temp < 40", "temp < 40 or (speed > 30 and F[1,1] temp < 40)"),
]


@pytest.mark.parametrize(("wanted", "given"), [*REWRITES, *((given, wanted) for wanted, given in REWRITES)])
def test_equivalent_formulas_are_right_and_the_longer_one_is_less_succinct(wanted: str, given: str):
    verdict = FAMILY.verify(asking(wanted), given)
    assert (verdict.success, verdict.malformed) == (True, False)
    ratio = min(1.0, parse_formula(wanted, SIGNALS, 40).size / parse_formula(given, SIGNALS, 40).size)
    assert dict(verdict.terms) == {
        "semantics": 0.5,
        "propositions": 0.25,
        "operators": 0.125,
        "succinctness": 0.125 * ratio,
    }
    assert verdict.reward == verdict.score > 0.875


def test_always_is_more_succinct_than_not_eventually_not():
    always, other = (FAMILY.verify(asking("G[0,2](speed > 1)"), text) for text in ("G[0,2] speed>1", REWRITES[0][1]))
    assert always.reward == 1.0
    assert not other.success
    double = FAMILY.verify(asking("G[0,2](speed > 1)"), "not F[0,2] not speed > 1")
    assert double.terms["semantics"] == always.terms["semantics"]
    assert double.terms["succinctness"] == 0.125 * 2 / 4


@pytest.mark.parametrize(
    ("given", "propositions", "operators", "succinctness"),
    [
        # F1 of the propositions, of the operators, and 4 parts by those of the answer.
        ("G[0,5](speed < 30 and temp > 21)", 1 / 2, 1.0, 1.0),
        ("G[0,4](speed < 30 and temp > 20)", 1.0, 1.0, 1.0),
        ("G[0,5](speed < 30 or temp > 20)", 1.0, 1 / 2, 1.0),
        ("G[0,5](speed < 30)", 2 / 3, 2 / 3, 1.0),
        ("F[0,5](not (speed < 30 and temp > 20))", 1.0, 2 / 5, 4 / 5),
        ("speed < 30", 2 / 3, 0.0, 1.0),
        ("G[0,5](speed > 30 and temp < 20)", 0.0, 1.0, 1.0),
        ("G[0,5](load < 30 and load > 20)", 0.0, 1.0, 1.0),
    ],
)
def test_wrong_formulas_earn_half_of_each_term_at_most(
    given: str, propositions: float, operators: float, succinctness: float
):
    verdict = FAMILY.verify(asking("G[0,5](speed < 30 and temp > 20)"), given)
    assert (verdict.success, verdict.malformed) == (False, False)
    assert verdict.terms["propositions"] == pytest.approx(0.125 * propositions)
    assert verdict.terms["operators"] == pytest.approx(0.0625 * propositions * operators)
    assert verdict.terms["succinctness"] == pytest.approx(0.0625 * propositions * succinctness)
    assert verdict.reward == pytest.approx(sum(verdict.terms.values()))
    assert verdict.reward < 0.5
    assert f"F1 score of its propositions is {propositions:.2f}" in verdict.feedback
    if not propositions and "load" in given:
        assert verdict.reward == 0.0


def test_semantics_is_the_fraction_of_moments_with_the_same_robustness():
    # The lesser of two like signals is each of them half of the time; and of three, a third of the time.
    half = FAMILY.verify(asking("speed > 40"), "speed > 40 and temp > 40").terms["semantics"] / 0.25
    third = FAMILY.verify(asking("speed > 40"), "speed > 40 and temp > 40 and load > 40").terms["semantics"] / 0.25
    assert 0.4 < half < 0.6
    assert 0.25 < third < 0.42
    assert FAMILY.verify(asking("speed > 40"), "speed > 41").terms["semantics"] == 0.0


def test_no_failure_outranks_a_success():
    rng = np.random.default_rng(0)
    rewards: dict[bool, list[float]] = {True: [], False: []}
    for task in tasks(25, depth=3, signals=3):
        wanted = task.data.formula
        for given in [wanted, *changed(wanted)][: int(rng.integers(4, 16))]:
            text = f"not not ({given})"
            for answer in (str(given), text):
                verdict = FAMILY.verify(task, answer)
                rewards[verdict.success].append(verdict.reward)
    assert max(rewards[False]) < 0.5
    assert min(rewards[True]) >= 0.875 - 1e-9
    assert min(len(found) for found in rewards.values()) > 40


def changed(formula: Formula) -> Iterator[Formula]:
    """Formulas with one thing changed: a constant or an end of a window by one, an operator, or parts left out."""
    if not formula.parts:
        yield formula._replace(operator="<" if formula.operator == ">" else ">")
        yield from (formula._replace(constant=formula.constant + by) for by in (-1, 1))
        return
    first, last = formula.window
    if formula.operator in ("G", "F", "U"):
        windows = ((first - 1, last), (first + 1, last), (first, last - 1), (first, last + 1))
        yield from (formula._replace(window=window) for window in windows if 0 <= window[0] <= window[1])
    others = {"G": "F", "F": "G", "and": "or", "or": "and", "->": "and"}
    if formula.operator in others:
        yield formula._replace(operator=others[formula.operator])
    if formula.operator in ("->", "U"):
        yield formula._replace(parts=formula.parts[::-1])
    yield from formula.parts
    for i, part in enumerate(formula.parts):
        for other in changed(part):
            yield formula._replace(parts=(*formula.parts[:i], other, *formula.parts[i + 1 :]))


@pytest.mark.parametrize("depth", [1, 2, 3, 4])
def test_a_small_change_is_accepted_only_where_many_other_traces_show_no_difference(depth: int):
    rng = np.random.default_rng(7)
    told_apart = 0
    for task in tasks(12, depth, signals=3, horizon=12):
        wanted, signals, farthest, _ = task.data
        traces = sample_traces(rng, signals, 40, 600 + farthest, 100.0)
        value = robustness(wanted, traces)[:, :600]
        for other in changed(wanted):
            if other.reach <= farthest and not FAMILY.verify(task, str(other)).success:
                told_apart += 1
            elif other.reach <= farthest:
                assert (abs(robustness(other, traces)[:, :600] - value) <= 1e-9).mean() > 0.9999, (wanted, other)
    assert told_apart > 30 * depth


def test_differences_that_seldom_show_are_found():
    # The first part matters only while speed is above 80 for thirteen steps and temp below 20 for as long.
    verdict = FAMILY.verify(
        asking("G[0,12](speed > 80) or F[0,12](temp > 20)"), "G[0,11] speed > 80 or F[0,12] temp > 20"
    )
    assert not verdict.success
    assert 0.999 < verdict.terms["semantics"] / 0.25 < 1.0
    assert "agrees at 99 %" in verdict.feedback


def test_verdicts_repeat_on_the_same_task_made_again():
    one, again = tasks(1, depth=4, signals=3)[0], tasks(1, depth=4, signals=3)[0]
    verdicts = [FAMILY.verify(one, str(answer)) for answer in changed(one.data.formula)]
    assert verdicts == [FAMILY.verify(again, str(answer)) for answer in changed(again.data.formula)]
    assert len({verdict.terms["semantics"] for verdict in verdicts}) > 5


@pytest.mark.parametrize(
    "answer",
    ["", "yes", "42", "speed", "G(speed < 30)", "wind > 3", "G[0,5](speed < 30", "F[0,41] speed > 3", "(" * 4096,
     "always, speed is below 30", "not " * 1024, "speed>1&" * 512],
)  # fmt: skip
def test_what_is_no_formula_over_these_signals_is_malformed(answer: str):
    verdict = FAMILY.verify(asking("G[0,5](speed < 30)"), answer)
    assert (verdict.malformed, verdict.success, verdict.reward) == (True, False, 0.0)
    assert verdict.feedback


def test_the_example_and_fixed_formulas_earn_next_to_nothing():
    earned = {"speed > 50": 0.0, "G[0,5](speed > 30)": 0.0, "F[0,3](temp < 20 and speed > 40)": 0.0}
    made = tasks(400, depth=1, signals=1, horizon=4)
    for task in made:
        (example,) = re.findall(r'such as "(.*)"\.', task.prompt)
        assert FAMILY.verify(task, example).malformed
        assert "no signal 'wind'" in FAMILY.verify(task, example).feedback
        assert parse_formula(example, ("wind", "rain"), 40).size == 5
        for answer in earned:
            earned[answer] += FAMILY.verify(task, answer).reward / len(made)
    assert max(earned.values()) < 0.02


def filled(text: str, earlier: dict[str, str]) -> str:
    return re.sub(r"#\d+", lambda match: earlier[match.group()], text)


def test_the_steps_give_the_formula_of_each_part():
    for task in tasks(20, depth=3, signals=3):
        *steps, last = FAMILY.solution_steps(task)
        assert last == FAMILY.oracle(task)
        assert len(steps) == task.data.formula.size
        sentences: dict[str, str] = {}
        formulas: dict[str, str] = {}
        for number, step in enumerate(steps, 1):
            told, written = re.fullmatch(rf"#{number} (.*): (.*?)", step).groups()  # type: ignore[union-attr]
            assert len(step) < 150
            sentences[f"#{number}"] = filled(told, sentences)
            formulas[f"#{number}"] = f"({filled(written, formulas)})"
            (formula,) = readings(sentences[f"#{number}"])
            assert parse_formula(formulas[f"#{number}"], signals_of(task), 40) == formula
        assert sentences[f"#{len(steps)}"] == sentence_of(task)
        assert str(formula) == last


def test_a_golden_task():
    task = FAMILY.generate(np.random.default_rng(1), {"depth": 2, "signals": 2, "horizon": 5})
    assert task.prompt == GOLDEN
    assert FAMILY.oracle(task) == "pressure < 30 -> F[0,2](power < 70)"


GOLDEN = """\
A requirement: "In case pressure is under 30, it must be that at least once between 0 and 2 steps later, power is \
below 70."
Write it in signal temporal logic. The signals are power, pressure. Write P > 3 and P < 3 for propositions about a \
signal P; not A; A and B; A or B; A -> B; G[a,b] A (A at every step from a to b later); F[a,b] A (A at some such \
step); A U[a,b] B (B at some such step, and A at every step before that one, from the present one on). Windows \
count from the step at which their part is looked at. Use parentheses. Any formula that always has the same \
robustness is right. Answer with one formula on one line, such as "G[1,4](wind < 7 -> F[0,2](rain > 1))"."""
