r"""Lexer of a subset of LaTeX and plain mathematics, in one linear pass.

`unwrap` removes marks around a whole answer (``\boxed{}``, ``$...$``, ``**...**``, ``\text{}``, a full stop);
`tokenise` splits the rest into tokens. Commands and characters outside the tables below are refused. Digits are ASCII
or full-width.
"""

from __future__ import annotations

import re
from fractions import Fraction
from typing import NamedTuple

from .tree import Malformed
from .vocabulary import (
    ACCENTS,
    COMMANDS,
    CONNECTIVES,
    CONSTANTS,
    ESCAPED,
    FUNCTIONS,
    GLUED,
    GREEK,
    IGNORED,
    MAGNITUDES,
    PUNCTUATION,
    SPELLED_GREEK,
    STYLE,
    SUBSCRIPT_WORDS,
    SUBSCRIPTS,
    SUPERSCRIPTS,
    TEXT,
    UNICODE,
    VULGAR,
)

MAX_LENGTH = 10_000
MAX_DIGITS = 4_000
MAX_EXPONENT = 1_000
MAX_WRAPPERS = 12


class Token(NamedTuple):
    """Token of the text.

    Attributes:
        kind: kind of the token; the character itself for punctuation.
        text: text of the token.
        space: True if white space precedes the token.
        value: value of a number; for a function, not None if it is written with a backslash.
    """

    kind: str
    text: str = ""
    space: bool = False
    value: Fraction | None = None


# Separators of thousands with no other reading, and the comma, which within brackets separates values.
_EXPLICIT = re.compile(r"[1-9][0-9]{0,2}(?:(?:\{,\}|,\\!|\\!,\\!|\\,|\\ )[0-9]{3})+(?![0-9])(?:\.[0-9]+)?")
_COMMAS = re.compile(r"[1-9][0-9]{0,2}(?:,[0-9]{3})+(?![0-9]|,[0-9])(?:\.[0-9]+)?")
_NUMBER = re.compile(r"[0-9]+(?:\.[0-9]*)?|\.(?:[0-9]+|(?=\\overline|\\dot\{))")
# "0.(3)" is a repeating decimal to some and a product to others.
_POINT_AND_BRACKET = re.compile(r"\([0-9]+\)")
# "6.02 x 10^23": here the letter is a multiplication sign.
_TIMES = re.compile(r"x(?= ?10 ?(?:\^|\*\*))")
_EXPONENT = re.compile(r"[eE]([+-]?[0-9]{1,6})(?![0-9A-Za-z.])")
_REPEATING = re.compile(r"\\overline\{([0-9]{1,50})\}|\\overline([0-9])(?![0-9])|\\dot\{([0-9])\}")
_SPACES = re.compile(r"(?: |~|\\[,;:!> ]|\\quad(?![A-Za-z])|\\qquad(?![A-Za-z]))+")
_DEGREE = re.compile(r"\^ *(?:\\circ(?![A-Za-z])|\{ *\\circ *\})")
_MICRO = re.compile("[\u00b5\u03bc](?=m(?![A-Za-z]))")
_LETTERS = re.compile(r"[A-Za-z]+")
_COMMAND = re.compile(r"\\([A-Za-z]+)|\\(.)")
_ENVIRONMENT = re.compile(r"\{([A-Za-z]+\*?)\}(?:\{[lcr| ]{1,20}\})?")
_CIRCLED = re.compile(r" ?\{ ?([0-9]{1,2}) ?\}")
_LOG_DIGITS = re.compile(r"([0-9]+)(?= ?\()")
# "$5$ cm": a formula and the unit after it.
_AMOUNT = re.compile(r"\$([^$\s](?:[^$]*[^$\s\\])?)\$ ?([A-Za-z][A-Za-z/^0-9 ]{0,60})")
# "]1,2]" and "[1,2[": open ends written as brackets turned outwards.
_OUTWARD = re.compile(r"([\[\]])([^\[\],;]{1,80}[,;][^\[\],;]{1,80})([\[\]])")
_UNION = re.compile(r" *(?:\\cup(?![A-Za-z])|∪|U) *")
# TeX's infix fractions and binomials, whose operands are the rest of the group on each side.
_INFIX = re.compile(r"\\(over|choose)(?![A-Za-z])")
_INFIX_AS = {"over": "\\frac", "choose": "\\binom"}
_CHARACTERS = frozenset("+-*/^_()[]{}|,;:=<>≤≥≠≈!%°±∓∪∩∖∈∅⟨⟩⌊⌋⌈⌉&√∛∜$€£¥₹¢'")


def unwrap(text: str) -> tuple[str, bool]:
    """Remove marks around the whole text. Return the rest, and True if it was inside LaTeX's ``\\text``."""
    if len(text) > MAX_LENGTH:
        raise Malformed(f"The answer is longer than {MAX_LENGTH} characters.")
    in_text = False
    for _ in range(MAX_WRAPPERS):
        before = text
        text = text.strip()
        text = text.lstrip("#").lstrip()
        if text.endswith(".") and not text.endswith(".."):
            text = text[:-1].rstrip()
        if text.startswith(("*", "_", "$", "`")):
            text = _strip_marks(text)
        for opening, closing in (("\\(", "\\)"), ("\\[", "\\]")):
            if text.startswith(opening) and text.endswith(closing):
                inner = text[2:-2]
                if opening not in inner and closing not in inner:
                    text = inner
        if text.startswith("$") and (amount := _AMOUNT.fullmatch(text)):
            text = f"{amount[1]} {amount[2]}"
        if text.startswith("\\"):
            inner, was_text = _strip_command(text)
            text, in_text = inner, in_text or was_text
        if text == before:
            break
    if text.startswith("~"):
        raise Malformed("An approximate value is no answer.")
    return text, in_text


def _strip_marks(text: str) -> str:
    """Remove one pair of marks around the text."""
    for mark in ("**", "__", "$$", "`", "$"):
        if text.startswith(mark) and text.endswith(mark) and len(text) > 2 * len(mark):
            inner = text[len(mark) : -len(mark)]
            # An escaped dollar at the end is money.
            if mark not in inner.replace("\\$", "") and not (mark[0] == "$" and inner.endswith("\\")):
                return inner
    return text


def _strip_command(text: str) -> tuple[str, bool]:
    match = _COMMAND.match(text)
    name = match[1] if match else None
    if name in ("boxed", "fbox") or name in TEXT or name in STYLE:
        start = _past_spaces(text, match.end())  # type: ignore[union-attr]
        if text[start : start + 1] == "{" and text.endswith("}") and closing_brace(text, start) == len(text) - 1:
            return text[start + 1 : -1], name in TEXT
    return text, False


def closing_brace(text: str, start: int) -> int:
    """Return the position of the brace that closes the one at ``start``; -1 if none does."""
    depth = 0
    position = start
    while position < len(text):
        character = text[position]
        if character == "\\":
            position += 1
        elif character == "{":
            depth += 1
        elif character == "}":
            depth -= 1
            if not depth:
                return position
        position += 1
    return -1


def tokenise(text: str) -> list[Token]:
    """Split a text without outer marks (see `unwrap`) into tokens.

    Raises:
        Malformed: a character, command or number that is not in the grammar.
    """
    out: list[Token] = []
    text = _turn_brackets(text)
    text = _MICRO.sub("u", text)
    if "\\over" in text or "\\choose" in text:
        text = _prefix_fractions(text)
    _cut(text.translate(UNICODE), out, in_text=False, nesting=0)
    return out


def _prefix_fractions(text: str) -> str:
    r"""Rewrite ``{a \over b}`` as ``{\frac{a}{b}}``, and ``\choose`` likewise.

    Raises:
        Malformed: two of them in one group, which TeX also refuses.
    """
    # (beginning, first infix) of each open group.
    groups: list[tuple[int, re.Match[str] | None]] = [(0, None)]
    changes: list[tuple[int, int, str]] = []
    position = 0
    while position <= len(text):
        character = text[position : position + 1]
        if character in ("}", "") and groups:
            start, infix = groups.pop()
            if infix is not None:
                changes += [
                    (start, start, _INFIX_AS[infix[1]] + "{"),
                    (infix.start(), infix.end(), "}{"),
                    (position, position, "}"),
                ]
        elif character == "{":
            groups.append((position + 1, None))
        elif character == "\\" and (match := _INFIX.match(text, position)) and groups:
            start, infix = groups[-1]
            if infix is not None:
                raise Malformed(f"There are two \\{match[1]} in one group; write braces.")
            groups[-1] = (start, match)
            position = match.end()
            continue
        elif character == "\\":
            position += 1
        position += 1
    parts, last = [], 0
    # The sort is stable: at one position a closing change stays before an opening one.
    for start, end, new in sorted(changes, key=lambda change: change[:2]):
        parts += (text[last:start], new)
        last = end
    return "".join((*parts, text[last:]))


def _turn_brackets(text: str) -> str:
    """Rewrite intervals with outward brackets, alone or in a union, with parentheses."""
    if text[:1] not in ("[", "]"):
        return text
    joints = _UNION.findall(text)
    parts = [_OUTWARD.fullmatch(part) for part in _UNION.split(text)]
    turned = "".join(
        ("(" if part[1] == "]" else "[") + part[2] + (")" if part[3] == "[" else "]") + joint
        for part, joint in zip(parts, [*joints, ""])
        if part
    )
    return turned if all(parts) else text


def _cut(text: str, out: list[Token], in_text: bool, nesting: int) -> None:
    # One entry per open bracket: True if a comma in it separates values instead of thousands.
    listing: list[bool] = []
    position, space = 0, False
    while position < len(text):
        character = text[position]
        match = _SPACES.match(text, position)
        if match:
            position, space = match.end(), True
            continue
        if "0" <= character <= "9" or character == ".":
            position = _number(text, position, space, any(listing), out)
        elif match := _LETTERS.match(text, position):
            position = _letters(text, match, space, in_text, out)
        elif match := _DEGREE.match(text, position):
            out.append(Token("°", "°", space))
            position = match.end()
        elif character == "\\":
            position = _command(text, position, space, out, listing, nesting)
        elif character in SUPERSCRIPTS or character in SUBSCRIPTS:
            position = _read_raised(text, position, out)
        elif character in VULGAR:
            out.append(Token("vulgar", character, space, VULGAR[character]))
            position += 1
        elif character in _CHARACTERS:
            position = _punctuation(text, position, space, out, listing)
        else:
            raise Malformed(f"The character {character!r} does not belong to a mathematical value.")
        space = False


def _number(text: str, position: int, space: bool, listing: bool, out: list[Token]) -> int:
    match = _EXPLICIT.match(text, position) or (None if listing else _COMMAS.match(text, position))
    match = match or _NUMBER.match(text, position)
    if match is None:
        raise Malformed("There is a full stop that belongs to no number.")
    digits = re.sub(r"[^0-9.]", "", match[0])
    end = match.end()
    if "." in digits and _POINT_AND_BRACKET.match(text, end):
        raise Malformed("Brackets after a decimal are read in two ways; write a repeating decimal with \\overline.")
    if digits[-1] == "." and text[end : end + 1].isalnum():
        raise Malformed("There is a full stop that belongs to no number.")
    value = decimal(digits)
    if repeating := _REPEATING.match(text, end) if "." in digits else None:
        block = next(filter(None, repeating.groups()))
        places = len(digits) - digits.index(".") - 1
        value += Fraction(int(block), (10 ** len(block) - 1) * 10**places)
        digits, end = digits + block, repeating.end()
    elif exponent := _EXPONENT.match(text, end):
        power = int(exponent[1])
        if abs(power) > MAX_EXPONENT:
            raise Malformed(f"The exponent of a number is beyond {MAX_EXPONENT}.")
        value *= Fraction(10) ** power
        digits, end = digits + exponent[0], exponent.end()
    out.append(Token("num", digits, space, value))
    return end


def decimal(digits: str) -> Fraction:
    """Return the exact value of ASCII digits with at most one point. Raises Malformed for too many digits."""
    if len(digits) > MAX_DIGITS:
        raise Malformed(f"A number has more than {MAX_DIGITS} digits.")
    whole, _, places = digits.partition(".")
    return Fraction(int(whole + places), 10 ** len(places)) if places else Fraction(int(whole or "0"))


def _letters(text: str, match: re.Match[str], space: bool, in_text: bool, out: list[Token]) -> int:
    run = match[0]
    if run == "x" and space and out and out[-1].kind == "num" and _TIMES.match(text, match.start()):
        out.append(Token("*", "*", space))
    elif run in MAGNITUDES and out and out[-1].kind == "num":
        out += (Token("*", "*", space), Token("num", str(MAGNITUDES[run]), True, Fraction(MAGNITUDES[run])))
    elif glued := None if in_text else GLUED.fullmatch(run):
        out += (Token("func", glued[1], space), Token("letters", glued[2]))
    elif run in CONNECTIVES:
        out.append(Token(run, run, space))
    elif run in FUNCTIONS and not (in_text and run == "sec"):
        out.append(Token("func", FUNCTIONS[run], space))
        if run == "log" and (digits := _LOG_DIGITS.match(text, match.end())):
            out.append(Token("_"))
            out.append(Token("num", digits[1], False, decimal(digits[1])))
            return digits.end()
    elif run in CONSTANTS:
        out.append(Token("const", CONSTANTS[run], space))
    elif run in SPELLED_GREEK:
        out.append(Token("sym", run, space))
    else:
        out.append(Token("word" if in_text else "letters", run, space))
    return match.end()


def _command(text: str, position: int, space: bool, out: list[Token], listing: list[bool], nesting: int) -> int:
    match = _COMMAND.match(text, position)
    if match is None:
        raise Malformed("There is a backslash at the end.")
    name, escaped = match.groups()
    end = match.end()
    if escaped is not None:
        kind = ESCAPED.get(escaped)
        if kind is None:
            raise Malformed(f"The command {match[0]!r} does not belong to a mathematical value.")
        _track(kind, listing, is_set=True)
        out.append(Token(kind, kind, space))
    elif name in IGNORED:
        return end
    elif name in PUNCTUATION:
        kind = PUNCTUATION[name]
        _track(kind, listing, is_set=True)
        out.append(Token(kind, kind, space))
    elif name in ACCENTS or (name == "overline" and not (out and out[-1].kind == "num")):
        out.append(Token("accent", name, space))
    elif name == "textcircled" and (circled := _CIRCLED.match(text, end)):
        out.append(Token("sym", f"circled {circled[1]}", space))
        return circled.end()
    elif name in SUBSCRIPT_WORDS and _in_subscript(out):
        out.append(Token("word", name, space))
    elif name in COMMANDS:
        out.append(Token("cmd", COMMANDS[name], space))
    elif name in CONSTANTS:
        out.append(Token("const", CONSTANTS[name], space))
    elif name in FUNCTIONS and name not in ("abs", "floor", "ceil", "factorial", "binomial", "cbrt"):
        out.append(Token("func", FUNCTIONS[name], space, Fraction(1)))
    elif name in GREEK:
        out.append(Token("sym", name, space))
    elif name in TEXT or name in STYLE:
        return _read_styled(text, end, name in TEXT, space, out, nesting)
    elif name in ("begin", "end"):
        environment = _ENVIRONMENT.match(text, end)
        if environment is None:
            raise Malformed(f"\\{name} is followed by no name of an environment.")
        out.append(Token(name, environment[1].rstrip("*"), space))
        return environment.end()
    else:
        raise Malformed(f"The command {match[0][:30]!r} does not belong to a mathematical value.")
    return end


def _in_subscript(out: list[Token]) -> bool:
    """Return True if a subscript begins here."""
    return [token.kind for token in out[-2:]] == ["_", "{"] or (bool(out) and out[-1].kind == "_")


def _past_spaces(text: str, position: int) -> int:
    while text[position : position + 1] == " ":
        position += 1
    return position


def _read_styled(text: str, start: int, is_text: bool, space: bool, out: list[Token], nesting: int) -> int:
    start = _past_spaces(text, start)
    end = closing_brace(text, start) if text[start : start + 1] == "{" else -1
    if end < 0 or nesting > 3:
        raise Malformed("A command for text or style needs braces around its content.")
    first = len(out)
    _cut(text[start + 1 : end], out, is_text, nesting + 1)
    if space and len(out) > first:
        out[first] = out[first]._replace(space=True)
    return end + 1


def _read_raised(text: str, position: int, out: list[Token]) -> int:
    table = SUPERSCRIPTS if text[position] in SUPERSCRIPTS else SUBSCRIPTS
    end = position
    while end < len(text) and text[end] in table:
        end += 1
    inner = "".join(table[character] for character in text[position:end])
    out += (Token("^" if table is SUPERSCRIPTS else "_"), Token("{", "{"))
    _cut(inner, out, False, 0)
    out.append(Token("}", "}"))
    return end


def _punctuation(text: str, position: int, space: bool, out: list[Token], listing: list[bool]) -> int:
    character, pair = text[position], text[position : position + 2]
    # "n!=6" is a factorial, "n != 6" is not.
    if pair in ("<=", ">=", "==", "**") or (pair == "!=" and space):
        kind = {"<=": "≤", ">=": "≥", "==": "=", "**": "^", "!=": "≠"}[pair]
        out.append(Token(kind, kind, space))
        return position + 2
    is_set = character != "{" or not out or out[-1].kind not in ("cmd", "func", "^", "_", "}", "]")
    _track(character, listing, is_set)
    out.append(Token(character, character, space))
    return position + 1


def _track(kind: str, listing: list[bool], is_set: bool) -> None:
    if kind in ("(", "[", "{", "\\{", "⟨"):
        listing.append(is_set)
    elif kind in (")", "]", "}", "\\}", "⟩") and listing:
        listing.pop()
