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
# Words of the clause before a value that deny it, doubt it, bound it or only suppose it.
_DENIED = re.compile(
    r"\b(?:not|cannot|never|neither|nor|doubt(?:ful|s|ed)?|unlikely|whether|if|unless|suppose|assum(?:e|es|ed|ing)|could|might|"
    r"(?-i:may)|maybe|perhaps|possibly|probably|presumably|except|excluding|besides|wrong|incorrect|false|invalid|"
    r"opposite|contrary|reverse|(?:anything|everything|other) (?:but|than)|apart from|aside from|"
    r"(?:upper|lower) (?:bound|limit)|(?:no|any) (?:more|less|fewer) than)\b|n['\u2019]t\b",
    re.IGNORECASE,
)
_BOUNDED = re.compile(
    r"\b(?:at (?:most|least|best|worst)|(?:less|more|fewer|greater|smaller|larger|higher|lower) than|up to|about|"
    r"around|nearly|almost|roughly|approximately|approx\.?|circa|some|under|over|below|above|between|not)$|\d\s+(?:to|through|until)$|(?:!|/|<|>|\\n?eq?|\\ne|\u2260)$",
    re.IGNORECASE,
)
# Words before a value, anywhere in its sentence, that offer alternatives, express doubt or suppose the contrary.
_ALTERNATIVE = re.compile(
    r"\b(?:either|or|one of|any of|whichever|alternatively|not (?:sure|certain)|unsure|uncertain|no idea)\b|\u6216"
    r"|\b(?:if|unless|whether|suppos\w+|assum\w+)\b.*(?:\bnot\b|n['\u2019]t\b|\b(?:wrong|incorrect)\b)"
    r"|\banswers?\b(?: is|:| =) \S.*\banswers?\b(?: is|:| =)",
    re.IGNORECASE | re.DOTALL,
)
_CONSEQUENCE = re.compile(r"\b(?:so|therefore|thus|hence|consequently)\b|=>|\u21d2|\u2234", re.IGNORECASE)
_CLAUSE = re.compile(r"[,;:](?=\s)|\b(?:but|rather|instead|so|then|therefore|thus|hence|and)\b", re.IGNORECASE)
# Tails that leave a value unchanged: a reason ("because ..."), or a rejected alternative ("not 5").
_TAIL = re.compile(
    r"(?:,|;|\s[-\u2013\u2014])?\s+(?:because|since)\b.*|,?\s+(?:and |but )?(?:not|rather than|instead of)\b.*",
    re.IGNORECASE | re.DOTALL,
)
# Words after a value that retract it or offer another one.
_TAKEN_BACK = re.compile(
    r"\b(?:not|wrong|incorrect|false|impossible|or|excluded|ruled out|unlikely|too)\b|n['\u2019]t\b|\?", re.IGNORECASE
)
# A marked value that is the subject of another statement: '"Home" is a novel'.
_SUBJECT_OF = re.compile(
    r"\W*(?:is|are|was|were|has|have|had)\b(?!\W+(?:(?:the|my|our|an?)\W+)?(?:only\W+)?"
    r"(?:correct|right|best|final|true|answer|result|solution|choice|one|option|it)\b)",
    re.IGNORECASE,
)
_OFFERS = re.compile(
    r"\b(?:or|either|alternatively|another|also|actually|wait|instead|perhaps|maybe|possibly|might|could|correction|"
    r"sorry|mistake|wrong|incorrect|not (?:sure|certain))\b",
    re.IGNORECASE,
)
_NAMED = re.compile(
    r"(?:.*[,:]\s+|(?:so|therefore|thus|hence),? )?(?:the )?(?:option|choice|answer|letter|number|value)?\s*"
    r"(?P<value>[^\s,;]+(?: [^\s,;]+){0,3}?) (?:is|must be) (?:the )?(?:only )?"
    r"(?:(?:correct|right|best|final)(?: (?:answer|option|choice|one|value|result|solution))?|answer|result|solution)",
    re.IGNORECASE | re.DOTALL,
)
_CHOICE = re.compile(
    r"(?:.*[,:;]\s+)?(?:so |therefore |thus |hence )?(?:i|we)(?:['\u2019]ll| will| would)? "
    r"(?:choose|pick|select|go with|went with|say) (?:the )?(?:option |choice |answer |letter |number )?"
    r"(?P<value>\S+(?: \S+){0,3})",
    re.IGNORECASE | re.DOTALL,
)
_THERE = re.compile(r"there (?:is|are|were|will be) (?P<value>\S+(?: \S+){0,5})", re.IGNORECASE)
# Left sides of an equation that are no name of the value: 2x, -x, x^2, x/3, x + 1.
_SCALED = re.compile(
    r"[-+]?\s*[0-9.]*\s*\*?\s*[A-Za-z]\s*(?:\^\s*\{?[-+0-9/]+\}?|\u00b2|\u00b3|!)?(?:\s*[-+*/]\s*[0-9.]+)*"
)
_NAME = re.compile(r"[A-Za-z]")
_LEFT_SIDE = re.compile(r"[=,;:]|\b(?:so|then|thus|therefore|hence|and|or|is|are|get|gives|have|that|where|with)\b|\|")
_STATES = re.compile(
    r"(?:.*[,:;]\s+|.*\b(?:so|no|therefore|thus|hence|then|wait|actually|rather|but|and)\b\s+)?[*_#\s]*(?:the |my )?"
    r"(?:(?:final|correct|right|true|actual|corrected) )?(?:answer|solution|result)\**"
    r"(?:\s*[:=]\s*|\s+(?:is|should be|must be):?\s+)\**\s*"
    # These words do not begin a value: "The answer is correct because ...".
    r"(?!(?:correct|right|wrong|given|found|obtained|based|in|as|the|(?-i:an?)|that|above|below|boxed|shown|not|therefore|"
    r"because|thus)\b)",
    re.IGNORECASE | re.DOTALL,
)
_ARROW = re.compile(r".*(?:=>|\u21d2|\u2192|\u2234|->|\\Rightarrow|\\implies)\s*", re.DOTALL)
_LEADS = (
    re.compile(
        r".*(?:\b(?:is|are|be|equals|gives|get|yields|becomes|to)|\b(?:it|that|answer)['\u2019]s)\b:?\s+",
        re.DOTALL | re.IGNORECASE,
    ),
    re.compile(r".*:\s+", re.DOTALL),
    re.compile(r".*(?<![<>!:=/~])=(?![=/])\s*", re.DOTALL),
)

# Numbers in a sentence. The only number of a sentence is its answer ("So Tom has 42 apples at the end."), unless it
# names a place in a text or in an order.
_NUMERAL = re.compile(r"[-+]?[$\u20ac\u00a3]?(?<![\w.,/^*])[0-9](?:[0-9,]*[0-9])?(?:\.[0-9]+)?(?![\w/^*])")
# A letter set off before a number names an option: "(B) 139".
_LETTERED = re.compile(r"(?:^|\W)(?:\([A-Za-z]\)|[A-Z][).:])(?=\W|$)")
_PLACED = re.compile(
    r"\b(?:step|page|chapter|question|problem|line|case|option|example|figure|table|part|section|exercise|item|no|number|"
    r"day|week|month|year|level|attempt|try|guess|version|row|column|method|equation|round|stage|in|by|since|until)\W*$",
    re.IGNORECASE,
)

# Everything up to the last word that introduces an answer, or to the last word before a colon.
_STATEMENT = re.compile(r".*(?:\b(?:is|are|be|equals)\b|[A-Za-z*]:)", re.DOTALL)


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
    """Return True if ``line`` begins as a decision does: "I choose ...", "Let's open ...", "My next guess is ..."."""
    line = line.strip(" \t*_#>")
    subject = _SUBJECT.match(line)
    behind = line[subject.end() :] if subject is not None else line
    return bool(_CHOSEN.match(line) or (len(behind) < len(line) and _VERB.match(behind)))


def values(line: str) -> Iterator[str]:
    """Yield readings, without marks, of the value that ends the last sentence of ``line``: the last marked span (bold,
    code, formula, quotation), or the text after the last verb or sign. A clause such as "it cannot be 5" gives none,
    nor does a sentence that offers several values."""
    if len(line) > _LONGEST:
        return
    sentences = _SENTENCES.split(line.strip())
    line = sentences[-1]
    short = _TAIL.sub("", line, count=1)
    for text in dict.fromkeys((short, line)):
        spans = list(_SPANS.finditer(text))
        if spans:
            behind = text[spans[-1].end() :]
            if is_denied(text[: spans[-1].start()]) or _TAKEN_BACK.search(behind) or _SUBJECT_OF.match(behind):
                return
        if text is not line and text:
            yield bare(text)
        if spans:
            yield bare(_inner(spans[-1]))
        for part in (*map(_inner, spans[-1:]), text):
            for pattern in (_ARROW, *_LEADS):
                if (found := pattern.match(part)) and found.end() < len(part) and not is_denied(found[0]):
                    yield bare(part[found.end() :])
    if len(numbers := list(_NUMERAL.finditer(line))) == 1:
        before, behind = line[: numbers[0].start()], line[numbers[0].end() :]
        if not (_LETTERED.search(before) or is_denied(before) or _PLACED.search(before) or _TAKEN_BACK.search(behind)):
            yield bare(line[numbers[0].start() :])
    for pattern in (_NAMED, _CHOICE, _THERE):
        found = pattern.fullmatch(short.rstrip(" .!*"))
        if found and not _TAKEN_BACK.search(found["value"]) and not is_denied(found[0][: found.start("value")]):
            yield bare(found["value"])


def strip_statement(answer: str, equated: bool = True, number: bool = False) -> str:
    """Remove the sentence and the marks around ``answer``. Sentences that deny an answer are not changed.

    Args:
        equated: also remove the left side of an equation.
        number: the answer is a number, so that an equation such as ``2x = 6`` keeps its left side (see `is_denied`).
    """
    text = bare(answer)
    for pattern in (_STATEMENT, _LEADS[-1]) if equated else (_STATEMENT,):
        before = pattern.match(text)
        if before and not is_denied(before[0].rstrip(" =") if not number else before[0]):
            text = bare(text[before.end() :])
    return text.strip(" \t\r\n*`$")


def is_denied(before: str) -> bool:
    """Return True if ``before``, the part of a sentence before a value, denies, doubts, bounds or only supposes the
    value, offers alternatives, or ends in an equation whose left side is not a name of the value (such as ``2x =``)."""
    ends_in_sign = before.rstrip().endswith("=")
    before = before.rstrip(" \t\n:=*`$(\"'\\")
    stated = _CONSEQUENCE.split(before)[-1]
    clause = _CLAUSE.split(before)[-1]
    if _DENIED.search(clause) or _BOUNDED.search(clause.rstrip()) or _ALTERNATIVE.search(stated):
        return True
    if stated.count("|") % 2:
        return True
    if not ends_in_sign:
        return False
    side = _LEFT_SIDE.split(stated)[-1].strip(" \t*`$(\"'")
    if _NAME.fullmatch(side):
        # The same name with another value before: "x = 2; x = 3".
        return re.search(rf"(?<![\w^*/+-]){side}\s*=\s*[-+]?[0-9][0-9./]*\s*(?:[,;\n]|and\b)", stated) is not None
    return _SCALED.fullmatch(side) is not None


def offers_another(text: str) -> bool:
    """Return True if ``text``, which follows an answer, may retract the answer or offer another one."""
    return _OFFERS.search(text) is not None or stated_value(text) is not None


def states_answer(line: str) -> bool:
    """Return True if ``line`` is an answer and little else: at most six words, or a sentence that names its answer."""
    return len(line.split()) <= 6 or any(pattern.match(line) for pattern in (_STATES, _NAMED, _CHOICE))


def stated_value(text: str) -> str | None:
    """Return the value in the last sentence that names an answer ("So the final answer is 4."), without marks; None
    if no sentence does."""
    for line in reversed(text.split("\n")[-40:]):
        for sentence in reversed(_SENTENCES.split(line[-_LONGEST:].strip())):
            sentence = sentence.strip("*_# ")
            found = _STATES.match(sentence)
            if found and not is_denied(found[0]):
                value = bare(_TAIL.sub("", sentence[found.end() :], count=1).rstrip(" .!"))
                if value:
                    return value
    return None


def _inner(span: re.Match[str]) -> str:
    return next(group for group in span.groups() if group)
