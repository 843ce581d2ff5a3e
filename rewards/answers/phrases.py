r"""Phrases that state an answer or a move: "I choose column 4, because ...", "So the area is $9\pi$".

Each function yields shorter and shorter readings of one line; the caller takes the first that has the required form.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from .marks import bare

_LONGEST = 2_000

_SUBJECT = re.compile(
    r"(?:(?:so|then|okay|ok|alright|right|now|well|next|first|therefore|thus|hence|finally|sure)[,:.!]?\s+)*"
    r"(?:(?:i(?:'ll| will| would|'d| shall| should|'m going to| am going to| want to| think| believe| decide to| now|"
    r"(?:'ve| have) decided(?: to| on)?:?)?"
    r"|let me|let's|let us|we(?:'ll| will| should| can)?|please|you should|time to)\s+"
    r"|(?:the|my|our)?\s*(?:next |final |best |first |last )?"
    r"(?:move|guess|choice|pick|play|action|answer|question|letter|word|number|decision|command|try|step|code|arm|"
    r"column|tile|car)"
    r"(?: (?:is|will be|would be|should be))?\s*(?::|\bis\b|\bwill be\b|=>?|->)?\s+)?"
    r"(?:(?:i(?:'ll| will| would| should)?|like to|now|next|first|then|again|it(?:'s| is)?|is)\s+)*",
    re.IGNORECASE,
)
_VERB = re.compile(
    r"(?:choos|pick|select|play|pull|press|tak|try|guess|mov|slid|push|shift|swip|drop|plac|put|open|reveal|ask|us|say|do|"
    r"execut|perform|opt|go|stick|turn)(?:e|ing|ping|ting)?[:,]?\s+",
    re.IGNORECASE,
)
_FILLER = re.compile(
    r"(?:with|for|about|on|in|into|to|whether|a|an|my|our|the|disc|piece|it|is|at|and)[:,]?\s+", re.IGNORECASE
)
_NOUN = re.compile(
    r"(?:the\s+)?(?:column|arm|lever|machine|tile|cell|square|letter|word|number|guess|action|move|option|item|"
    r"property|position|box|command|car|code|direction)s?\s*(?:number|no\.?|#|at|:)?\s*(?=\S)",
    re.IGNORECASE,
)
# A decision that needs no verb.
_CHOSEN = re.compile(
    r"(?:so,? )?(?:my|the) (?:next |final |best )*(?:move|guess|choice|pick|play|action|decision)"
    r"(?: (?:is|will be)|:)\s",
    re.IGNORECASE,
)
_REASON = re.compile(
    r"(?:,|;|\s[-\u2013\u2014])?\s+(?:because|since|so that|in order to|as (?:it|this|that|the)|which|to (?:see|stop|"
    r"win|block|get|make|narrow|merge|test|find|keep|reach|explore|gather|clear|free)|for (?:the|my)|next|now|first|"
    r"this turn|again)\b.*",
    re.IGNORECASE | re.DOTALL,
)
_SENTENCES = re.compile(r"(?<=[.!?])\s+")
# Bold type, code, formulas, quotation.
_SPANS = re.compile(
    r"\*\*([^*\n]+)\*\*|`([^`\n]+)`|\$\$?([^$\n]+)\$\$?|\\\((.+?)\\\)|\\\[(.+?)\\\]|\"([^\"\n]+)\"|\u201c([^\u201d\n]+)\u201d"
)
_DENIED = re.compile(
    r"\b(?:not|cannot|never|neither|nor|doubt|unlikely|whether|if|unless|suppose|assume|assuming|could)\b|n't\b",
    re.IGNORECASE,
)
_CLAUSE = re.compile(r"[,;:](?=\s)|\b(?:but|rather|instead|so|then|therefore|thus|hence|and)\b", re.IGNORECASE)
_ARROW = re.compile(r".*(?:=>|\u21d2|\u2192|\u2234|->|\\Rightarrow|\\implies)\s*", re.DOTALL)
_LEADS = (
    re.compile(r".*\b(?:is|are|be|equals|gives|get|yields|becomes|to)\b:?\s+", re.DOTALL | re.IGNORECASE),
    re.compile(r".*:\s+", re.DOTALL),
    re.compile(r".*(?<![<>!:=])=(?!=)\s*", re.DOTALL),
)


def moves(line: str) -> Iterator[str]:
    """Yield readings of the move that ``line`` states in words, without marks: each as written, then in lower case."""
    for text in _moves(line):
        yield text
        if text.casefold() != text:
            yield text.casefold()


def _moves(line: str) -> Iterator[str]:
    if len(line) > _LONGEST:
        return
    spans = [_inner(found) for found in _SPANS.finditer(line)]
    sentences = _SENTENCES.split(line.strip())
    # The one marked span states the move; without one, or with several, the last sentence does, or the first.
    for text in dict.fromkeys((line, *(spans if len(spans) == 1 else ()), sentences[-1], sentences[0])):
        text = bare(text.rstrip(" !?"))
        for whole in dict.fromkeys((text, bare(_REASON.sub("", text, count=1)))):
            yield whole
            # A word such as "move" may belong to the move itself, so the verb is also removed without the subject.
            for patterns in ((_SUBJECT, _VERB, _SUBJECT, _NOUN), (_VERB, _NOUN)):
                short = whole
                for pattern in patterns:
                    found = pattern.match(short)
                    while found and found.end():
                        short = bare(short[found.end() :])
                        yield short
                        found = _FILLER.match(short) if pattern is _VERB else None


def states_move(line: str) -> bool:
    """Check that ``line`` begins as a decision does: "I choose ...", "Let's open ...", "My next guess is ..."."""
    line = line.strip(" \t*_#>")
    subject = _SUBJECT.match(line)
    behind = line[subject.end() :] if subject is not None else line
    return bool(_CHOSEN.match(line) or (len(behind) < len(line) and _VERB.match(behind)))


def values(line: str) -> Iterator[str]:
    """Yield readings of the value that ends a sentence, without marks: its last marked span, or the text after its last
    verb or sign. A clause such as "it cannot be 5" states no value."""
    if len(line) > _LONGEST:
        return
    line = _SENTENCES.split(line.strip())[-1]
    spans = list(_SPANS.finditer(line))
    if spans:
        if is_denied(line[: spans[-1].start()]):
            return
        yield bare(_inner(spans[-1]))
    for text in (*map(_inner, spans[-1:]), line):
        for pattern in (_ARROW, *_LEADS):
            if (found := pattern.match(text)) and found.end() < len(text) and not is_denied(found[0]):
                yield bare(text[found.end() :])


def is_denied(before: str) -> bool:
    """Check that the clause before a value denies, doubts or only supposes it."""
    return _DENIED.search(_CLAUSE.split(before)[-1]) is not None


def _inner(span: re.Match[str]) -> str:
    return next(group for group in span.groups() if group)
