"""Normalisation of arithmetic expressions as people and language models write them (×, ÷, LaTeX) to + - * / ( )."""

from __future__ import annotations

# Other signs for + - * / ( ). A LaTeX fraction becomes a quotient in parentheses; braces have no other use here.
_OPERATORS = str.maketrans("\u2212\u2013\u00d7\u22c5\u00b7x\u00f7[]", "--****/()")
_COMMANDS = (
    *((r"\left", ""), (r"\right", ""), (r"\times", "*"), (r"\cdot", "*"), (r"\div", "/")),
    *((r"\dfrac", r"\frac"), (r"\tfrac", r"\frac"), (r"\frac{", "(("), ("}{", ")/("), ("}", "))")),
)


def normalise_expression(text: str, target: int) -> str:
    """Return the expression in ``text`` with the signs + - * / ( ) only, without "= target" or "target ="."""
    text = text.strip()
    if "\\" in text:
        for command, sign in _COMMANDS:
            text = text.replace(command, sign)
    sides = [side.strip() for side in text.split("=")]
    if len(sides) == 2 and str(target) in sides:
        text = sides[sides[0] == str(target)]
    return text.translate(_OPERATORS)
