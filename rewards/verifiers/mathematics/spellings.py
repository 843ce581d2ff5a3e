r"""Other spellings of whole answers, for the option ``spellings`` of the verifier "math".

Words for sets, labels of choices, Chinese, amounts in two units, digits in groups, repeating decimals, binomials and
points with a name: `respell` writes them in the notation of the grammar. Each rule is a pattern for a whole answer,
matched in linear time; an answer that fits none has no other spelling.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from fractions import Fraction

MAX_LENGTH = 400
_REALS, _NO_VALUE, _EMPTY = r"(-\infty, \infty)", r"\text{does not exist}", r"\emptyset"
_NAMES = {
    **dict.fromkeys(("all real numbers", "all reals", "any real number", "every real number", "r", r"\r", "ℝ"), _REALS),
    **dict.fromkeys((r"\mathbb r", r"\mathbb{r}", r"x\in\mathbb{r}", r"x \in \mathbb{r}"), _REALS),
    **dict.fromkeys(("dne", "does not exist", "d.n.e.", "undefined", "not defined"), _NO_VALUE),
    **dict.fromkeys(("no solution", "no solutions", "there is no solution", "there are no solutions"), _EMPTY),
    **dict.fromkeys(("empty set", "the empty set", r"\varnothing", r"\{\}", "∅", "no real solutions"), _EMPTY),
}
_WORDS = (
    *("two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve", "thirteen"),
    *("fourteen", "fifteen", "sixteen"),
)
# (pattern of the larger unit, pattern of the smaller unit, name of the smaller unit, smaller units per larger unit).
_AMOUNTS = (
    ("hours?|hrs?|h", "minutes?|mins?|m", "minutes", 60),
    ("minutes?|mins?", "seconds?|secs?|s", "seconds", 60),
    ("days?", "hours?|hrs?|h", "hours", 24),
    ("feet|foot|ft", "inches|inch|in", "inches", 12),
    ("dollars?", "cents?", "cents", 100),
    ("meters?|metres?|m", "centimeters?|centimetres?|cm", "cm", 100),
    ("kilograms?|kg", "grams?|g", "grams", 1000),
)
_CHINESE = {
    **{"。": "", "，": ",", "、": ",", "：": ":", "；": ";", "（": "(", "）": ")"},
    **{"或者": " or ", "或": " or ", "和": " and "},
}
_COUNTERS = "个只条本元米岁天人次种张分名支块辆棵枚道题页件"
_LETTER = re.compile(
    r"(?:\\(?:textbf|text|mathbf|mathrm)\{)?\(([A-J])\)\s*(?:\}\s*|\\ )?(?:\\(?:text|quad)\b)?\s*(?=\S)"
)
_NUMBER = r"[-+]?(?:[0-9]+(?:\.[0-9]+)?|\\frac\{-?[0-9]+\}\{[0-9]+\})"


def respell(text: str) -> dict[str, bool]:
    """Return a few other spellings of a whole answer in the notation of the grammar, the likeliest first. The value of
    each is True if the spelling leaves a name out: of two answers with names only one may lose it."""
    if len(text) > MAX_LENGTH:
        return {}
    plain = text.strip().strip("$").strip()
    if plain.endswith(".") and not plain.endswith(".."):
        plain = plain[:-1]
    found = {other: rule in _NAMELESS for rule in _RULES for other in rule(plain)}
    found.pop(text, None)
    return found


def _set_in_words(text: str) -> Iterator[str]:
    words = re.sub(r"\\text\s*\{([^{}]*)\}", r"\1", text).strip().lower()
    if words in _NAMES:
        yield _NAMES[words]


def _all_but_one(text: str) -> Iterator[str]:
    one = re.fullmatch(
        rf"(?:[a-z] ?(?:\\neq?|≠|!=) ?|(?:\\mathbb\{{?R\}}?|ℝ) ?(?:\\setminus|\\backslash|-|∖) ?\\?\{{ ?"
        rf"|all real(?:s| numbers) except ?(?:for )?(?:[a-z] ?= ?)?)({_NUMBER})(?: ?\\?\}})?",
        text,
    )
    if one:
        yield rf"(-\infty, {one[1]}) \cup ({one[1]}, \infty)"


def _without_name(text: str) -> Iterator[str]:
    # "AB = 5", "m\angle A = 30", "P(A) = 1/2" repeat the name of the quantity in the question.
    named = r"[A-Z]{2,4}|m?\\angle ?[A-Z]{1,3}|\\overline ?\{[A-Z]{2}\}|\|[A-Z]{2}\||P\([A-Z]\)|[A-Z]_\{?[0-9a-z]\}?"
    name = re.fullmatch(rf"(?:{named}) ?= ?([^=]+)", text)
    if name:
        yield name[1]
    if point := re.fullmatch(r"[A-Z] ?(\([^()]+,[^()]+\))", text):
        yield point[1]


def _without_letter(text: str) -> Iterator[str]:
    if label := _LETTER.match(text):
        rest = text[label.end() :]
        yield rest.removesuffix("}") if rest.count("}") > rest.count("{") else rest


def _one_unit(text: str) -> Iterator[str]:
    plain = re.sub(r"\\text\s*\{([^{}]*)\}", r"\1", text).replace("~", " ")
    for large, small, unit, factor in _AMOUNTS:
        number = r"([0-9]+(?:\.[0-9]+)?)"
        if found := re.fullmatch(rf"{number} ?(?:{large}),? ?(?:and )?{number} ?(?:{small})", plain.strip()):
            yield f"{Fraction(found[1]) * factor + Fraction(found[2])} {unit}"


def _digits(text: str) -> Iterator[str]:
    if re.fullmatch(r"-?[0-9]{1,2}(?:,[0-9]{2})+,[0-9]{3}|-?[0-9]{1,3}(?:(?: |\\,|\\ |\u2009|\u202f)[0-9]{3})+", text):
        yield re.sub(r"[^0-9-]", "", text)
    based = re.fullmatch(r"([0-9A-Fa-f]+)_ ?\{?(?:\\text ?\{)?([0-9]+|[a-z]+)\}*", text)
    if based and (based[2].isdigit() or based[2] in _WORDS):
        base = based[2] if based[2].isdigit() else str(_WORDS.index(based[2]) + 2)
        yield f"{based[1].upper()}_{{{base}}}"


def _repeating(text: str) -> Iterator[str]:
    # A digit three times, or several twice, before dots.
    again = r"(?:(?P<one>[0-9])(?P=one){2,}|(?P<dots>[0-9]{2,6}?)(?P=dots)+)(?:\.{3}|…|\\l?dots)"
    more = rf"\((?P<brackets>[0-9]+)\)|\\dot\{{?(?P<dot>[0-9])\}}?|{again}"
    found = re.fullmatch(rf"(-?)([0-9]*)\.([0-9]*?)(?:{more})", text)
    if found:
        sign, whole, fixed, *repeats = found.groups()
        repeat = next(part for part in repeats if part)
        value = Fraction(int((whole or "0") + fixed), 10 ** len(fixed))
        value += Fraction(int(repeat), (10 ** len(repeat) - 1) * 10 ** len(fixed))
        yield f"{sign}{value}"


def _binomial(text: str) -> Iterator[str]:
    found = re.fullmatch(r"(?:\\mathrm\{)?C\}?\(([0-9]+), ?([0-9]+)\)|\{?\}?_?\{?([0-9]+)\}? ?C_?\{?([0-9]+)\}?", text)
    if found:
        top, bottom = found[1] or found[3], found[2] or found[4]
        yield rf"\binom{{{top}}}{{{bottom}}}"


def _point_by_names(text: str) -> Iterator[str]:
    # "y = 2, x = 1" is the point (1, 2).
    block = r"\\begin\{(?:cases|aligned)\}(.+)\\end\{(?:cases|aligned)\}"
    cases = re.fullmatch(rf"(?:\\left\\\{{ ?)?{block}(?:\\right\.?)?", text)
    parts = re.split(r"\\\\|,|;|\band\b" if cases is None else r"\\\\", (cases[1] if cases else text).replace("&", ""))
    pairs = [re.fullmatch(r"\s*([a-z]) ?= ?([^=,;]+?)[\s,]*", part) for part in parts if part.strip()]
    if len(pairs) > 1 and all(pairs) and len({pair[1] for pair in pairs if pair}) == len(pairs):
        yield "(" + ", ".join(pair[2] for pair in sorted((p for p in pairs if p), key=lambda pair: pair[1])) + ")"


def _dots(text: str) -> Iterator[str]:
    if "," in text and re.search(r"\\[lc]?dots[a-z]?\b|…|\.{3}", text):
        yield re.sub(r"\\[lc]?dots[a-z]?\b|…|\.{3}", r"\\xi", text)


def _from_chinese(text: str) -> Iterator[str]:
    if not re.search(r"[\u3000-\u9fff\uff00-\uffef]", text):
        return
    for sign, plain in _CHINESE.items():
        text = text.replace(sign, plain)
    text = re.sub(r"^(?:所以|因此)?(?:最终|正确)?答案(?:是|为|:)+ ?", "", text.strip())
    yield re.sub(rf"(?<=[0-9}}]) ?[{_COUNTERS}]$", "", text).strip()


_RULES: tuple[Callable[[str], Iterator[str]], ...] = (
    *(
        _set_in_words,
        _all_but_one,
        _without_name,
        _without_letter,
        _one_unit,
        _digits,
        _repeating,
        _binomial,
        _point_by_names,
    ),
    *(_dots, _from_chinese),
)
_NAMELESS = (_all_but_one, _without_name, _point_by_names)
