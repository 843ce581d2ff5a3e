"""Hostile and broken answers to the verifier "math": nothing is evaluated, nothing hangs, nothing raises."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from fractions import Fraction
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from palaestra.rewards import verify
from palaestra.rewards.verifiers.mathematics.grammar import read
from palaestra.rewards.verifiers.mathematics.tree import Malformed, Num

# A busy machine is no defect.
untimed = settings(deadline=None)

REFERENCES = [
    *("5", "x+1", r"\frac{1}{2}", "(1,2)", r"\{1,2\}", "(0,1]", "y=2x", "x<3", "5 cm", "Tuesday", r"\sqrt{2}"),
    *(r"\sin x", "2^x", r"\pm 3", "[[1,2],[3,4]]", "1 or 2", r"\sqrt[3]{2}+\pi", "$5", "50%", "3:4"),
]

TOWERS = [
    *("9**9**9", "9^9^9", "9^{9^{9}}", "((9^9)^9)^{9^9}", "10^{10^{10}}", "factorial(10**8)", "(10**8)!", "((20!)!)!"),
    *(r"e^{10^{10}}", r"\binom{10^9}{5*10^8}", "2^{2^{2^{2^{2^2}}}}", r"\sin(9^{9^9})", "1001!", r"\sqrt{9^{9^9}}"),
    *("5+0*9**9**9", "(9^9^9)/(9^9^9)*5", "9^9^9-9^9^9+5", "x^{9^{9^9}}", "5 cm + 9^9^9"),
]

LARGE = [
    *("9" * 4_001, "9" * 10_000, "5" * 1_000_000, "(" * 5_000 + "5" + ")" * 5_000, "{" * 3_000 + "5" + "}" * 3_000),
    *("-" * 9_000 + "5", "+".join(["x"] * 4_900), "*".join(["(x+1)"] * 1_600), "*".join(["(x+y+z+1)"] * 40)),
    *("(x+1)^{64}(y+1)^{64}", "(x+1)^{1000}", "(x+y+z)^{64}", "x" * 9_000, r"\frac1" * 1_500 + "2", r"\sqrt" * 3_000),
    *("2^" * 4_000 + "2", "1e1000", "1e999999", "1e-1000", r"\sqrt{" + "9" * 1_000 + "}", r"\sqrt[1000000]{2}"),
    *("2^{1/1000000}", "2^{0." + "1" * 300 + "}", r"\ln(" + "7" * 900 + ")", r"\sin(10^{1000})", r"\sin(" * 24 + "x"),
    *(r"1\frac{" * 24 + "x" + "}{2}" * 24, r"\frac{1}{1+" * 20 + "x" + "}" * 20, r"\sqrt{2+" * 20 + "2" + "}" * 20),
    *(
        "+".join(rf"\sqrt{{{p}}}" for p in range(2, 80)),
        "*".join(rf"(1+\sqrt{{{p}}})" for p in (2, 3, 5, 7, 11, 13, 17)),
    ),
    *(
        "(x^{1000000}+1)^{64}",
        "(2^{30000}x+3^{20000})^{64}",
        "*".join([r"\frac{x+1}{x+2}"] * 300),
        "5 cm" + "/s" * 3_000,
    ),
    *(r"\text{" * 200 + "5" + "}" * 200, r"\boxed{" * 2_000 + "5" + "}" * 2_000, r"\left(" * 1_000, "1," * 4_999),
    *("1,000" * 1_999, "½" * 5_000, "²" * 5_000, "3 1/2 " * 1_500, "cm " * 3_000, "5" + " cm" * 3_000, "or " * 3_000),
    *("5" + "!" * 5_000, "5" + "%" * 5_000, "x=" * 4_000 + "5", "1<" * 4_000 + "2", "|" * 500 + "5" + "|" * 500),
    *("$" * 9_999, "*" * 9_999, "#" * 9_999, "." * 9_999, " " * 9_999, "\\" * 9_999, "_" * 9_999, "`" * 9_999),
    *("5" + " cm" * 2_000 + "+", r"\begin{pmatrix}" * 100, "&" * 5_000, r"\pm" * 3_000, "°" * 5_000, "é" * 9_000),
    r"\{" + ",".join(f"(x+y+z+{k})^{{60}}" for k in range(150)) + r"\}",
    r"\{" + ",".join(rf"\sqrt{{{k}}}+\sqrt[3]{{{k}}}" for k in range(2, 150)) + r"\}",
    r"\{" + ",".join(rf"\sin({k})" for k in range(2, 190)) + r"\}",
]

STRANGE = [
    *(
        "",
        " ",
        "\x00",
        "\ud800",
        "\u200b5",
        "5\u200b",
        "𝟝",
        "٥",
        "𝟧",
        "5\u0301",
        "²",
        "₂",
        "½½",
        "∫x dx",
        "nan",
        "inf",
        "None",
    ),
    *(r"\int_0^1 5 dx", r"\sum_{i=1}^{5} 1", r"\lim_{x\to5} x", "Integral(1, (x, 0, 5))", "expand(5)", "diff(5x, x)"),
    *("lambda: 5", "lambda x: 5", "x.__class__", "().__class__.__bases__", "[x for x in range(5)]", "5 if 1 else 5"),
    *(
        "5;5",
        "5\n5",
        r"\boxed{5}\boxed{5}",
        "5 and 5",
        "5 5",
        "5,,5",
        "5..",
        "5...",
        "--5",
        "+-5",
        "5-",
        "*5",
        "5//1",
        "5_0",
    ),
    *(
        "0x5",
        "0b101",
        "5L",
        "5j",
        "5d0",
        "1e",
        "5e",
        ".",
        "1.2.3",
        "1,23",
        "12,34",
        r"\input{5}",
        r"\write18{x}",
        "{{5}}",
    ),
    *(
        "eval(5)",
        "exec(5)",
        "print(5)",
        "open(5)",
        "sympify(5)",
        "S(5)",
        "Symbol(x)",
        "oo-oo",
        r"\infty-\infty",
        "0*oo",
    ),
]


def judge(answer: str, reference: str):
    """The verdict, which must come well within any patience; a deadline may pass, an exception may not."""
    began = time.monotonic()
    verdict = verify("math", answer, reference, deadline=2.0)
    assert time.monotonic() - began < 50.0
    return verdict


@pytest.mark.parametrize("answer", TOWERS)
def test_towers_are_never_right_and_never_computed(answer: str):
    for reference in REFERENCES:
        verdict = judge(answer, reference)
        assert verdict.valid
        assert not verdict.success


@pytest.mark.parametrize("answer", LARGE, ids=lambda answer: f"{answer[:20]}... {len(answer)}")
def test_large_answers_are_judged_in_bounded_time(answer: str):
    for reference in ("7", r"\{1, \sqrt[3]{2}\}", r"2^x+\sin x"):
        assert not judge(answer, reference).success


@pytest.mark.parametrize("answer", STRANGE, ids=ascii)
def test_strange_answers_are_judged_and_wrong(answer: str):
    for reference in ["7", *REFERENCES[1:]]:
        verdict = judge(answer, reference)
        assert verdict.valid
        assert not verdict.success, (reference, verdict)


@pytest.mark.parametrize(
    "answer", ["5", "5;5", "5 and 5", r"\boxed{5} \boxed{5}", "x=5, x=5", "5, 5", "5 = 5", "{5, 5}"]
)
def test_only_one_statement_of_a_single_answer_is_right(answer: str):
    assert judge(answer, "5").success == (answer == "5")


def canaries(folder: Path) -> list[str]:
    """Return texts that would create a file or load a module if any part of them were evaluated."""
    file = str(folder / "canary")
    create = f"open({file!r}, 'w').close()"
    loaded = "__import__('canary_module')"
    return [
        *(
            create,
            loaded,
            f"eval({create!r})",
            f"exec({create!r})",
            f"{loaded}.x",
            f"5 + 0*{loaded}",
            f"5 if {create} else 5",
        ),
        *(
            f"[{create} for _ in (1,)]",
            f"(lambda: {create})()",
            f"f'{{{create}}}'",
            f"`touch {file}`",
            f"$(touch {file})",
        ),
        *(f"sympify({create!r})", f"parse_expr({loaded!r})", f"Symbol({create!r})", f"Function('f')({create})"),
        *(
            f"x.subs(x, {create})",
            f"lambdify((), {create!r})()",
            f"().__class__.__base__.__subclasses__()[0]({file!r})",
        ),
        *(rf"\text{{{create}}}", rf"\input{{{file}}}", rf"\write18{{touch {file}}}", rf"\operatorname{{{loaded}}}(5)"),
        *(
            f"import canary_module; {create}",
            f"5\n{create}",
            f"\\boxed{{{create}}}",
            f"5 # {create}",
            f"{{{create}: 5}}",
        ),
        *(f"%s{create}", f"__builtins__['open']({file!r}, 'w')", f"a_{{{create}}}", f"\\sqrt[{create}]{{5}}"),
    ]


def test_no_canary_is_ever_woken(tmp_path: Path):
    """In a process of its own, whose workers could import the canary too."""
    (tmp_path / "canary_module.py").write_text(f"open({str(tmp_path / 'imported')!r}, 'w').close()")
    program = f"""if True:
        import sys
        sys.path.insert(0, {str(tmp_path)!r})
        from palaestra.rewards import verify
        verify("math", "sin(x)^2+cos(x)^2", "1")
        for answer in {canaries(tmp_path)!r}:
            for reference in {REFERENCES!r}:
                verdict = verify("math", answer, reference)
                assert verdict.valid and not verdict.success, (answer, reference, verdict)
        assert "canary_module" not in sys.modules
        assert "sympy" not in sys.modules
    """
    done = subprocess.run([sys.executable, "-c", program], cwd=tmp_path, capture_output=True, text=True, timeout=300)
    assert (done.returncode, done.stderr) == (0, "")
    assert sorted(path.name for path in tmp_path.iterdir() if path.name != "__pycache__") == ["canary_module.py"]


@untimed
@given(st.text(max_size=60), st.sampled_from(REFERENCES))
def test_any_text_gets_a_verdict(answer: str, reference: str):
    verdict = judge(answer, reference)
    assert verdict.success <= (verdict.score == 1.0)


PIECES = st.sampled_from(
    [
        *(
            "1",
            "2",
            "12",
            "1,234",
            "0.5",
            "x",
            "y",
            "ab",
            r"\frac",
            "{",
            "}",
            "(",
            ")",
            "[",
            "]",
            r"\{",
            r"\}",
            ",",
            ";",
            "+",
        ),
        *(
            "-",
            "*",
            "/",
            "^",
            "_",
            "=",
            "<",
            r"\le",
            r"\pm",
            r"\sqrt",
            r"\sin",
            r"\log",
            "log",
            r"\pi",
            "e",
            "i",
            r"\infty",
        ),
        *(
            "|",
            "!",
            "%",
            r"^\circ",
            r"\text{",
            "cm",
            "m",
            " ",
            r"\cup",
            r"\begin{pmatrix}",
            r"\end{pmatrix}",
            "&",
            r"\\",
        ),
        *(
            "or",
            "and",
            "$",
            r"\$",
            "**",
            "½",
            "²",
            "₁",
            "√",
            "∞",
            r"\binom",
            "in",
            ":",
            "'",
            r"\overline{3}",
            "9^9^9",
            ".",
        ),
    ]
)


@untimed
@given(st.lists(PIECES, max_size=12).map("".join), st.sampled_from(REFERENCES))
def test_any_mixture_of_tokens_gets_a_verdict_and_equals_itself(answer: str, reference: str):
    judge(answer, reference)
    try:
        read(answer)
    except Malformed:
        return
    verdict = verify("math", answer, "5")
    # What cannot be a reference (1/0) has been refused as an answer too.
    assert verdict.malformed or judge(answer, answer).success


fractions = st.builds(Fraction, st.integers(-(10**30), 10**30), st.integers(1, 10**30))


@untimed
@given(fractions)
def test_every_way_to_write_a_fraction_is_read_as_it(value: Fraction):
    p, q = value.numerator, value.denominator
    for text in (f"{p}/{q}", rf"\frac{{{p}}}{{{q}}}", f"({p})/({q})", rf"\dfrac{{{2 * p}}}{{{2 * q}}}", f"${p}/{q}$"):
        assert verify("math", text, value).success
        assert not verify("math", text, value + Fraction(1, 10**60)).success
    assert read(str(p)) == Num(Fraction(p)) or p < 0


@untimed
@given(st.integers(0, 10**12), st.integers(0, 10))
def test_thousands_and_decimals_are_read_exactly(whole: int, places: int):
    value = Fraction(whole, 10**places)
    plain = f"{whole // 10**places}.{whole % 10**places:0{places}d}" if places else str(whole)
    assert verify("math", plain, value).success
    assert verify("math", f"{whole:,}", whole).success
    assert verify("math", f"{whole:,}".replace(",", "{,}"), whole).success
    assert verify("math", rf"{whole} \times 10^{{-{places}}}", value).success
    assert verify("math", f"{whole}e-{places}", value).success


simple = st.sampled_from(
    [
        "1",
        "2",
        "x",
        "y",
        "0.5",
        r"\pi",
        r"\sqrt{2}",
        "x+1",
        "1,2",
        "(1,2)",
        r"\{1,x\}",
        "x=1",
        "x<2",
        "2 cm",
        "200 mm",
        r"\pm 1",
        "1 or -1",
        "[1,2]",
        "2x",
        "x*2",
        "50%",
        "no",
        "(x+1)^2",
        "x^2+2x+1",
        r"\sin x",
        r"\cos x",
        "2 and 3",
        "y<2",
        "2>x",
    ]
)


@untimed
@given(simple, simple)
def test_equality_is_symmetric(a: str, b: str):
    assert judge(a, b).success == judge(b, a).success


def test_no_global_state_of_the_process_is_touched():
    before = (os.getcwd(), dict(os.environ), sys.getrecursionlimit(), sys.get_int_max_str_digits())
    judge(r"\sin^2 x", r"1-\cos^2 x")
    assert (os.getcwd(), dict(os.environ), sys.getrecursionlimit(), sys.get_int_max_str_digits()) == before
