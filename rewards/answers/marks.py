"""Removal of the text around an answer: marks, labels before the answer, closing remarks after it."""

from __future__ import annotations

import re

# Number of layers of marks and labels that are removed at most.
_MOST = 8
_PAIRS = (
    *(("**", "**"), ("*", "*"), ("$$", "$$"), ("$", "$"), ("`", "`"), ('"', '"'), ("'", "'")),
    *((r"\(", r"\)"), (r"\[", r"\]"), ("\u201c", "\u201d")),
    *((rf"\{name}{{", "}") for name in ("boxed", "text", "texttt", "textbf", "mathrm", "mathtt", "mathbf")),
)
_LABEL = re.compile(
    r"(?:#{1,6} )?(?P<bold>\*\*)?(?:(?:so|thus|therefore|hence),? )?(?:(?:the|my|a|one) )?"
    r"(?:(?:final|correct|next|shortest) )?"
    r"(?:answer|solution|output|result|guess|moves?|action|plan|path|way|expression|letter|word|code)"
    r"(?(bold)(?::\*\*|\*\*:|\*\* (?:is|are):?)\s+|(?::\s*| is:?\s+| are:?\s+))",
    re.IGNORECASE,
)
# A short sentence that points to its answer.
_POINTING = re.compile(r"(?:it|that)(?:['\u2019]s| is) (?!not\b)(?=\S+(?: \S+){0,3}$)", re.IGNORECASE)
# One of these ends every text in a pair of marks, or with a full stop.
_ENDS = frozenset("*$`\"')]}.\u201d")
# Three dots behind a decimal stand for further digits.
_GOES_ON = re.compile(r"\.[0-9]+\.{2,}$")


def bare(text: str) -> str:
    """Remove what surrounds an answer: white space, marks of code, bold type, quotation or formulas around all of
    ``text``, a label such as "Answer:" or "The answer is" before it, and a full stop after it."""
    for _ in range(_MOST):
        text = text.strip()
        shorter = text
        # White space always follows a label.
        if (" " in text or "\n" in text) and (label := _LABEL.match(text) or _POINTING.match(text)):
            shorter = text[label.end() :]
        elif text[-1:] in _ENDS:
            shorter = text if _GOES_ON.search(text) else text.removesuffix(".")
            for left, right in _PAIRS:
                inner = text[len(left) : -len(right)]
                if inner and left not in inner and text.startswith(left) and text.endswith(right) and _balances(inner):
                    shorter = inner
                    break
        if shorter == text:
            break
        text = shorter
    return text


def _balances(text: str) -> bool:
    """Return True if the braces in ``text`` balance."""
    depth = 0
    for brace in re.findall("[{}]", text):
        depth += 1 if brace == "{" else -1
        if depth < 0:
            return False
    return depth == 0


# Arrows and headings that can replace a label before an answer.
_POINTER = re.compile(r"(?:[=-]>|[\u21d2\u2192\u2234>]|#{1,6})\s+")


def without_pointer(line: str) -> str:
    """Remove a leading arrow, "therefore" sign (∴), heading mark (#) or citation mark (>) from ``line``."""
    return line[found.end() :] if (found := _POINTER.match(line)) else line


# Sentences that close a reply and are no part of an answer.
_CLOSING = re.compile(
    r"(?:(?:please )?let me know|(?:i )?hope (?:this|that|it|you)|feel free|good luck|(?:i(?:'m| am) )?(?:happy|glad)"
    r" to|is there anything|if (?:you|there|anything)|would you like|do you (?:want|need|have)|want me to|shall i|"
    r"should you|(?:please )?do(?:n't| not) hesitate|enjoy|have (?:a|fun)|thanks|thank you|you(?:'re| are) welcome|"
    r"cheers|best regards|that(?:'s| is) (?:it|all)|happy \w+ing|any (?:other )?questions|just (?:ask|let me)|"
    r"great question)\b",
    re.IGNORECASE,
)
_ORNAMENT = "\u2500-\u27bf\u2b50\u2b55\ufe0f\u200d\U0001f300-\U0001faff"
_ORNAMENTS = re.compile(rf"[\s{_ORNAMENT}]*(.*?)[\s{_ORNAMENT}]*", re.DOTALL)
_RULE = re.compile(r"(?:[-*_=] ?){3,}")
_SENTENCE_END = re.compile(r"(?<=[.!?)}*`$])\s+(?=[A-Z])")
_LONGEST_CLOSING = 400


def text_behind_label(line: str) -> str | None:
    """Return the text after a label such as "Answer:" at the start of ``line``; None without a label.

    A heading such as "### Final Answer" or "**Answer**" is a label without text after it and gives "".
    """
    line = line.strip()
    if found := _LABEL.match(line):
        return line[found.end() :]
    heading = line.strip("#*_: ")
    return "" if heading != line and _LABEL.fullmatch(f"{heading}:") else None


def holds_no_answer(line: str) -> bool:
    """Return True if ``line`` holds no part of an answer: it is blank, a rule, only ornaments, or a closing remark."""
    bare_line = without_ornaments(line)
    return not bare_line or bool(_RULE.fullmatch(bare_line)) or _closes(bare_line.strip("*_ "))


def without_ornaments(text: str) -> str:
    """Remove pictograms (emoji, stars, check marks) and white space from both ends of ``text``."""
    found = _ORNAMENTS.fullmatch(text)
    return found[1] if found else text.strip()


def without_closing(line: str) -> str:
    """Remove closing remarks such as "Let me know if ..." from the end of ``line``."""
    if len(line) <= _LONGEST_CLOSING * 4:
        sentences = _SENTENCE_END.split(line)
        while len(sentences) > 1 and _closes(without_ornaments(sentences[-1])):
            line = line[: line.rindex(sentences.pop())].rstrip()
    return line


def _closes(sentence: str) -> bool:
    # A sentence with an odd number of quotation marks is part of a longer quotation.
    return sentence.count('"') % 2 == 0 and len(sentence) <= _LONGEST_CLOSING and _CLOSING.match(sentence) is not None
