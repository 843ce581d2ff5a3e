"""A number is read in every spelling that people and models use for it, and nothing else is."""

from __future__ import annotations

import time
from fractions import Fraction

import pytest
from palaestra.rewards.answers.numbers import find_units, read_number
from palaestra.rewards.answers.sentences import last_sentence

from ...patience import least_processor_seconds  # isort: skip

UNITS = find_units("Natalia had 3 dogs. How many clips per day did she sell in a month?")


@pytest.mark.parametrize(
    "answer",
    [
        *("72", "+72", "72.0", "72.", "72.00", "072", "144/2", "144 / 2", " 72 ", "72!"),
        *("#### 72", "####72", "#### 72.", "# 72", "**72**", "**72.**", "*72*", "`72`", "'72'", '"72"', "(72)", "[72]"),
        *("$72", "$ 72", "72$", "$72$", "$$72$$", r"\$72", r"\(72\)", r"\[72\]", r"\boxed{72}", r"$\boxed{72}$"),
        *("\uff17\uff12", "7.2e1", r"7.2 \times 10^{1}", "72 in total", "72.00", "$72.00"),
        *("\u20ac72", "72 \u20ac", "72 dollars", "72 Dollars", "72 USD"),
        *("The answer is 72", "The answer is 72.", "Answer: 72", "answer 72", "So the answer is: **72**."),
        *("The final answer is $72$.", "Final answer: #### 72"),
        *("72 clips", "72 clip", "72 clips.", "**72 clips**", r"72 \text{ clips}", r"\boxed{72\text{ clips}}"),
        *("72 clips per day", "72 clips a day"),
    ],
)
def test_spellings_of_one_number(answer: str):
    assert read_number(answer, UNITS) == 72


@pytest.mark.parametrize(
    ("answer", "value"),
    [
        *(("1,200", 1200), ("1,234,567.50", Fraction("1234567.5")), ("$1{,}200", 1200), (r"1,\!200", 1200)),
        *(("-5", -5), ("-$5", -5), ("$-5", -5), ("- 5", -5), (".5", Fraction(1, 2)), ("3/4", Fraction(3, 4))),
        *(("1 200", 1200), ("-(72)", -72), ("7e1", 70), ("1e-2", Fraction(1, 100)), (r"\frac{3}{-4}", None)),
        *(("0", 0), ("00012", 12), ("$7.50", Fraction(15, 2)), ("7.505", Fraction("7.505"))),
    ],
)
def test_values(answer: str, value: Fraction | int | None):
    assert read_number(answer) == value


@pytest.mark.parametrize(
    "answer",
    [
        *("", " ", "clips", "$", "####", "**", "answer", "()", "1,20", "12,00", "1,2345", ",200", "1.2.3", "1 20"),
        *("72 73", "72 or 73", "72 and 73", "72, 73", "72-73", "72 - 73", "70+2", "8*9", "2x = 72", "72 to 73", "+-72"),
        *("72 dogs", "72 thousand", "72 dozen clips", "72 hundred", "72 metres", "72%", "72 percent", "72 million"),
        *("1e999", "7e", "nan", "inf", "0x48", "7_2", "1/0", "72/", "/72", "\u0667\u0662", "LXXII"),
        *("72 clips or more", "not 72", "about 72", "more than 72", "I sold 72 clips", "72 clips 72", "-(-72)"),
        *("9" * 1001, "#" * 150 + "x", "(" * 100 + "72" + ")" * 97),
    ],
)
def test_what_is_not_one_number_is_not_read(answer: str):
    assert read_number(answer, UNITS) is None


def test_units_are_those_that_are_asked_for():
    assert {"clip", "day", "month"} <= UNITS
    assert "dog" not in UNITS
    assert "percent" not in UNITS
    percent = find_units("It was 4 dozen. By what percentage, or how many dozen, did it grow?")
    assert read_number("15%", percent) == read_number("15 percent", percent) == read_number(r"15\%", percent) == 15
    assert read_number("15 dozen", percent) is None
    assert read_number("15 or", percent) is None


@pytest.mark.parametrize("text", ["*" * 4096, "the " * 1024, "1," * 2048, "a " * 2048, "(" * 4096, "9" * 4096])
def test_hostile_text_takes_no_time(text: str):
    def read() -> None:
        for cut in (4096, 200, 199):
            assert read_number(text[:cut], UNITS) is None or cut < 4096

    assert least_processor_seconds(read, 0.5) < 0.5


@pytest.mark.parametrize(
    "asked",
    [
        "What percent of the cakes does Mr. Roger's friend eat?",
        "What percent of the apples go to Mrs. Smith, Dr. Lee and St. Mary's school?",
        "By what percent did J. R. Doe and A. Poe differ?",
        "What percent is 3.5 kg of approx. 7 kg, i.e. of No. 2 and vs. No. 3?",
        "What percent of 12 oz. of tea and 3 lbs. of salt is that?",
        "What percent of the day, from 5 a.m. to 7 p.m., is left?",
        "What percent did the U.S. team win?",
    ],
)
@pytest.mark.parametrize(
    "before", ["", "He eats 3 dogs. ", "Is it 3 dogs? ", 'She said "3 dogs." ', "He has vitamin C. "]
)
def test_a_full_stop_inside_the_question_does_not_cut_it(asked: str, before: str):
    assert last_sentence(before + asked) == asked
    units = find_units(before + asked)
    assert {"percent", "%"} <= units
    assert "dog" not in units


@pytest.mark.parametrize(
    ("text", "last"),
    [
        ("He owns 3 cats. He owns a dog. How many?", "How many?"),
        ("It weighs 5 lbs. How heavy are two?", "How heavy are two?"),
        ("She takes vitamin C. How many pills?", "How many pills?"),
        ("They meet at 5 p.m. How long is that?", "How long is that?"),
        ("It costs $3.50. how much are two", "how much are two"),
        ("One sentence alone", "One sentence alone"),
        ("He runs 5 ft. What is left? Round to 0.1.", "Round to 0.1."),
        ("Let n be 5. $n+1$ is what?", "$n+1$ is what?"),
        ("", ""),
    ],
)
def test_sentences_end_where_they_do(text: str, last: str):
    assert last_sentence(text) == last


def test_the_last_sentence_is_found_in_linear_time():
    began = time.thread_time()
    for text in ("Mr. " * 10_000, "." * 100_000, "a. B " * 10_000, ". " * 20_000):
        last_sentence(text)
    assert time.thread_time() - began < 5.0
