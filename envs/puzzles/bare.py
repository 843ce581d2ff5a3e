r"""The bare answer: what is left without the marks and words that a language model puts around an answer.

``**Answer:** `3 1`.`` says ``3 1``. What is around is taken off a layer at a time, from the outside; nothing inside an
answer is changed, so that a wrong or malformed one stays so.
"""

from __future__ import annotations

import re

# Layers that are taken off, each by one look at the ends of the text.
_MOST = 8
_PAIRS = (
    *(("**", "**"), ("$$", "$$"), ("$", "$"), ("`", "`"), ('"', '"'), ("'", "'"), (r"\(", r"\)"), (r"\[", r"\]")),
    *((rf"\{name}{{", "}") for name in ("boxed", "text", "texttt", "textbf", "mathrm", "mathtt", "mathbf")),
)
_LABEL = re.compile(
    r"(?:#{1,6} )?(?P<bold>\*\*)?(?:(?:so|thus|therefore|hence),? )?(?:(?:the|my|a|one) )?"
    r"(?:(?:final|correct|next|shortest) )?"
    r"(?:answer|solution|guess|moves?|action|plan|path|way|expression|letter|word|code)"
    r"(?(bold)(?::\*\*|\*\*:|\*\* (?:is|are):?)|(?::| is:?| are:?))\s+",
    re.IGNORECASE,
)
# One of these ends every text in a pair of marks, or with a full stop.
_ENDS = frozenset("*$`\"')]}.")
# Other signs for + - * / ( ); a fraction of LaTeX is a quotient in parentheses, as braces have no other use here.
_OPERATORS = str.maketrans("\u2212\u2013\u00d7\u22c5\u00b7x\u00f7[]", "--****/()")
_COMMANDS = (
    *((r"\left", ""), (r"\right", ""), (r"\times", "*"), (r"\cdot", "*"), (r"\div", "/")),
    *((r"\dfrac", r"\frac"), (r"\tfrac", r"\frac"), (r"\frac{", "(("), ("}{", ")/("), ("}", "))")),
)


def bare(text: str) -> str:
    """``text`` without marks of code, bold type, quotation or formulas around all of it, a label such as "Answer:" or
    "The answer is" before it, a full stop behind it, and white space at its ends."""
    for _ in range(_MOST):
        text = text.strip()
        shorter = text
        if label := _LABEL.match(text):
            shorter = text[label.end() :]
        elif text[-1:] in _ENDS:
            shorter = _peeled(text)
        if shorter == text:
            break
        text = shorter
    return text


def _peeled(text: str) -> str:
    for left, right in _PAIRS:
        inner = text[len(left) : -len(right)]
        if inner and left not in inner and text.startswith(left) and text.endswith(right):
            return inner
    return text.removesuffix(".")


def expression(text: str, target: int) -> str:
    """An arithmetic expression in the signs + - * / ( ), without "= target" behind it or before it."""
    text = bare(text)
    if "\\" in text:
        for command, sign in _COMMANDS:
            text = text.replace(command, sign)
    sides = [side.strip() for side in text.split("=")]
    if len(sides) == 2 and str(target) in sides:
        text = sides[sides[0] == str(target)]
    return text.translate(_OPERATORS)
