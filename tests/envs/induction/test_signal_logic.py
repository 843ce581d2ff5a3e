"""Signal temporal logic, against robustness by its definition, step for step."""

from __future__ import annotations

import math

import numpy as np
import pytest
from palaestra.envs.induction.signal_logic import (
    MAX_PARTS,
    Formula,
    UnreadableFormula,
    parse_formula,
    robustness,
    sample_traces,
)

SIGNALS = ("speed", "temp")


def read(text: str) -> Formula:
    return parse_formula(text, SIGNALS, 20)


def drawn(rng: np.random.Generator, depth: int) -> Formula:
    """A formula with operators of every kind."""
    if depth == 0:
        return Formula(
            "<>"[int(rng.integers(2))], signal=SIGNALS[int(rng.integers(2))], constant=float(rng.integers(1, 9))
        )
    kind = ["G", "F", "U", "and", "or", "->", "not"][int(rng.integers(7))]
    parts = tuple(drawn(rng, depth - 1) for _ in range(1 if kind in ("G", "F", "not") else 2))
    first = int(rng.integers(0, 3))
    window = (first, first + int(rng.integers(0, 4))) if kind in ("G", "F", "U") else (0, 0)
    return Formula(kind, parts, window)


def holds_by(formula: Formula, trace: dict[str, list[float]], t: int) -> float:
    """Robustness at step t, from the definition."""
    kind, (first, last) = formula.operator, formula.window
    if kind == ">":
        return trace[formula.signal][t] - formula.constant
    if kind == "<":
        return formula.constant - trace[formula.signal][t]
    p = formula.parts[0]
    if kind == "not":
        return -holds_by(p, trace, t)
    if kind == "G":
        return min(holds_by(p, trace, t + k) for k in range(first, last + 1))
    if kind == "F":
        return max(holds_by(p, trace, t + k) for k in range(first, last + 1))
    q = formula.parts[1]
    if kind == "and":
        return min(holds_by(p, trace, t), holds_by(q, trace, t))
    if kind == "or":
        return max(holds_by(p, trace, t), holds_by(q, trace, t))
    if kind == "->":
        return max(-holds_by(p, trace, t), holds_by(q, trace, t))
    return max(
        min([holds_by(q, trace, t + k), *(holds_by(p, trace, t + j) for j in range(k))]) for k in range(first, last + 1)
    )


def test_robustness_on_three_steps_by_hand():
    trace = {"speed": np.array([3.0, 2.0, 1.5])}
    assert robustness(read("G[0,2](speed > 1)"), trace).tolist() == [0.5]
    assert robustness(read("F[0,2](speed > 1)"), trace).tolist() == [2.0]
    assert robustness(read("speed < 2"), trace).tolist() == [-1.0, 0.0, 0.5]
    assert robustness(read("speed > 2.5 U[1,2] speed < 2.5"), trace).tolist() == [0.5]


@pytest.mark.parametrize("depth", [1, 2, 3])
def test_robustness_is_as_defined_wherever_it_is_known(depth: int):
    rng = np.random.default_rng(depth)
    for _ in range(60):
        formula = drawn(rng, depth)
        steps = formula.reach + 4
        traces = {name: rng.normal(4, 3, (2, steps)) for name in SIGNALS}
        values = robustness(formula, traces)
        assert values.shape == (2, 4)
        for i in range(2):
            trace = {name: rows[i].tolist() for name, rows in traces.items()}
            assert values[i].tolist() == [holds_by(formula, trace, t) for t in range(4)]
            # It looks no farther than it says.
            short = {name: row[: formula.reach + 1] for name, row in trace.items()}
            assert holds_by(formula, short, 0) == values[i, 0]


@pytest.mark.parametrize("window", [(0, 0), (2, 2), (0, 1), (0, 2), (1, 4), (0, 6), (3, 11), (0, 15), (1, 17)])
def test_windows_of_every_width_count_their_ends(window: tuple[int, int]):
    values = np.random.default_rng(0).permutation(40).astype(float)
    proposition = Formula(">", signal="speed")
    ends = [values[t + window[0] : t + window[1] + 1] for t in range(40 - window[1])]
    for operator, best in (("G", min), ("F", max)):
        found = robustness(Formula(operator, (proposition,), window), {"speed": values})
        assert found.tolist() == [best(part) for part in ends]


def test_formulas_are_read_as_they_are_written():
    rng = np.random.default_rng(0)
    texts = set()
    for _ in range(300):
        formula = drawn(rng, int(rng.integers(0, 4)))
        assert parse_formula(str(formula), SIGNALS, 100) == formula
        assert len(list(formula.nodes())) == formula.size
        texts.add(str(formula))
    assert len(texts) > 200
    assert str(read("G[0,5](speed<30 and F[0,3](temp>20))")) == "G[0,5](speed < 30 and F[0,3](temp > 20))"


@pytest.mark.parametrize(
    ("text", "same"),
    [
        ("always[0,5] speed < 30", "G[0,5](speed < 30)"),
        ("Globally [0:5] (SPEED<30)", "G[0,5](speed < 30)"),
        ("g_[0,5] speed <= 30.0", "G[0,5](speed < 30)"),
        ("\u25a1_{[0, 5]} (speed \u2264 30)", "G[0,5](speed < 30)"),
        ("`G[0..5](speed < 30)`.", "G[0,5](speed < 30)"),
        ("$\\square_{[0,5]} speed \\leq 30$", "G[0,5](speed < 30)"),
        ("G[0;5] 30 > speed", "G[0,5](speed < 30)"),
        ("G[0,5](30 >= speed)", "G[0,5](speed < 30)"),
        ("eventually[1,2](temp > 4)", "F[1,2](temp > 4)"),
        ("\u25c7[1,2] temp \u2265 4", "F[1,2](temp > 4)"),
        ("finally[1,2] 4 < temp", "F[1,2](temp > 4)"),
        ("speed > 1 && !(temp < 2)", "speed > 1 and not (temp < 2)"),
        ("speed > 1 & ~(temp < 2)", "speed > 1 and not (temp < 2)"),
        ("speed > 1 \u2227 \u00actemp < 2", "speed > 1 and not (temp < 2)"),
        ("speed > 1 \\land \\neg temp < 2", "speed > 1 and not (temp < 2)"),
        ("speed > 1 || temp < 2", "speed > 1 or temp < 2"),
        ("speed > 1 | temp < 2", "speed > 1 or temp < 2"),
        ("speed>1\u2228temp<2", "speed > 1 or temp < 2"),
        ("speed > 1 => temp < 2", "speed > 1 -> temp < 2"),
        ("speed > 1 implies temp < 2", "speed > 1 -> temp < 2"),
        ("speed>1->temp<2", "speed > 1 -> temp < 2"),
        ("speed > 1 \u2192 temp < 2", "speed > 1 -> temp < 2"),
        ("(speed > 1) until[0,3] (temp < 2)", "speed > 1 U[0,3] temp < 2"),
        ("((speed > -1.5))", "speed > -1.5"),
    ],
)
def test_other_spellings_mean_the_same(text: str, same: str):
    assert read(text) == read(same)


@pytest.mark.parametrize(
    ("text", "same"),
    [
        ("not speed > 1 and temp > 2", "(not (speed > 1)) and temp > 2"),
        ("G[0,1] speed > 1 and temp > 2", "(G[0,1](speed > 1)) and temp > 2"),
        ("F[0,1] not G[0,2] temp > 2", "F[0,1](not (G[0,2](temp > 2)))"),
        ("speed > 1 or temp > 2 and temp < 3", "speed > 1 or (temp > 2 and temp < 3)"),
        ("speed > 1 and temp > 2 U[0,1] temp < 3", "speed > 1 and (temp > 2 U[0,1] temp < 3)"),
        ("speed > 1 or temp > 2 -> temp < 3", "(speed > 1 or temp > 2) -> temp < 3"),
        ("speed > 1 and speed > 2 and speed > 3", "(speed > 1 and speed > 2) and speed > 3"),
        ("speed > 1 -> speed > 2 -> speed > 3", "speed > 1 -> (speed > 2 -> speed > 3)"),
    ],
)
def test_operators_bind_as_is_usual(text: str, same: str):
    assert read(text) == read(same)


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("", "a proposition such as speed > 30 instead of the end"),
        ("speed", '">" or "<" instead of the end'),
        ("speed > temp", "a number instead of 'temp'"),
        ("speed > ", "a number instead of the end"),
        ("speed = 3", "instead of '='"),
        ("42", "instead of the end"),
        ("wind > 3", "no signal 'wind' here, only speed, temp"),
        ("and > 3", "a proposition such as speed > 30 instead of 'and'"),
        ("G(speed > 3)", "a window such as [0,5] instead of '('"),
        ("G[5](speed > 3)", "a window such as [0,5]"),
        ("G[-1,5](speed > 3)", "a window such as [0,5]"),
        ("speed > 3 U temp > 2", "a window such as [0,5]"),
        ("G[5,2](speed > 3)", "[5,2] ends before it begins"),
        ("(speed > 3", '")" instead of the end'),
        ("speed > 3)", "the end of the formula instead of ')'"),
        ("speed > 3 temp > 3", "the end of the formula instead of 'temp'"),
        ("10 < speed < 30", "the end of the formula instead of '<'"),
        ("speed > 3 [0,5]", "the end of the formula instead of [0,5]"),
        ("speed > 1.2.3", "instead of"),
        ("speed > 12345678", "instead of"),
        ("speed > \u0663", "a number"),
        ("speed > nan", "a number"),
        ("G[0,21](speed > 3)", "looks 21 steps ahead; at most 20"),
        ("G[0,15] F[0,6] speed > 3", "looks 21 steps ahead; at most 20"),
        ("speed > 1 U[0,1] temp < 2 U[0,1] temp < 3", "Two U in a row need parentheses"),
    ],
)
def test_what_is_no_formula_is_refused_with_the_reason(text: str, why: str):
    with pytest.raises(UnreadableFormula) as error:
        read(text)
    assert why in str(error.value)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    "text",
    ["(" * 4096, "not " * 1024, "!" * 4096, "g[0,1]" * 600, "speed>1&" * 512, "speed>1->" * 400, "speed>1 u[0,0]" * 300,
     "9" * 4096, "[" * 4096, "[0,1]" * 800, "x" * 4096, "wind" * 1000 + ">1", " " * 4096, "\ud800" * 4096, "1." * 2048],
)  # fmt: skip
def test_hostile_text_is_refused_in_one_short_sentence(text: str):
    with pytest.raises(UnreadableFormula) as error:
        read(text)
    assert len(str(error.value)) < 200


def test_the_largest_formulas_are_read_and_larger_ones_are_not():
    count = MAX_PARTS // 2
    assert read(" and ".join(["speed > 1"] * count)).size == 2 * count - 1
    with pytest.raises(UnreadableFormula, match=f"more than {MAX_PARTS}"):
        read(" and ".join(["speed > 1"] * (count + 1)))
    assert read("not " * 29 + "speed > 1").size == 30
    with pytest.raises(UnreadableFormula, match="nested"):
        read("not " * 30 + "speed > 1")
    # What has been closed no longer counts as nested.
    assert read(" or ".join(["(((speed > 1)))"] * 40)).size == 79


def test_traces_rest_and_leap_over_the_whole_range():
    traces = sample_traces(np.random.default_rng(0), SIGNALS, 40, 500, 100.0)
    assert set(traces) == set(SIGNALS)
    for values in traces.values():
        assert values.shape == (40, 500)
        assert values.min() >= 0.0
        assert values.max() <= 110.0
        assert np.percentile(values, 5) < 15
        assert np.percentile(values, 95) > 85
        # Some traces stay within a tenth of the range for many steps, others leap at each.
        leaps = (abs(np.diff(values, axis=1)) > 10).mean(axis=1)
        assert leaps.min() < 0.05
        assert leaps.max() > 0.6
        assert len(np.unique(values)) == values.size
    assert not math.isclose(traces["speed"][0, 0], traces["temp"][0, 0])
