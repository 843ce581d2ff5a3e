"""Instructions on the form of a text: for every kind of constraint, the words that ask for it and a text that keeps it.

`INSTRUCTIONS` names the kinds of the verifier "constraints" (IFEval's, arXiv 2311.07911, and further ones). An
instruction changes a `Draft`, then chooses the numbers and words of its constraint by what the finished text shows, so
that every combination that is asked for has a text that keeps it.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ...rewards.verifiers.further_constraints import COUNTS, COUNTS_OF_PARTS
from ...rewards.verifiers.text_parts import (
    BULLET,
    HIGHLIGHT,
    PLACEHOLDER,
    count_phrase,
    count_sentences,
    count_words,
    lines_of,
    paragraphs_of,
    words_of,
)
from . import shapes
from .fits import (
    Fit,
    bound,
    count_fits,
    fact,
    fit_paragraph,
    fit_together,
    fit_word,
    fixed,
    nouns_in,
    occurrences_fit,
    range_fits,
    words_fit,
)
from .shapes import Shape


@dataclass(frozen=True)
class Instruction:
    """Kind of instruction.

    Args:
        say: the instruction in words, with the constraint's parameters in braces; {amount} is "exactly 3", "at least 3"
            or "at most 3", and {listed} the texts in quotes.
        fit: returns the constraint's parameters for a finished draft; None if the draft shows nothing to ask for.
        shape: changes the draft so that it keeps the instruction.
        stage: "sentences" (the shape changes them), "layout" (it lays them out as lines), "whole" (it changes the whole
            text), "wrap" (it puts something around the text) or "" (no shape).
        group: instructions of one group exclude each other; "" for none.
    """

    say: str
    fit: Fit
    shape: Shape | None = None
    stage: str = ""
    group: str = ""


def _count(name: str, noun: str, least: int = 1, **more: Any) -> tuple[str, Instruction]:
    return name, Instruction(f"The text has {{amount}} {noun}.", count_fits(COUNTS[name], least), **more)


def _parts(name: str, say: str, **more: Any) -> tuple[str, Instruction]:
    return name, Instruction(f"{say} {{min}} to {{max}} {more.pop('unit')}.", range_fits(COUNTS_OF_PARTS[name]), **more)


_SENTENCES: dict[str, Any] = {"stage": "sentences"}
_LAYOUT: dict[str, Any] = {"stage": "layout", "group": "layout"}
_ORDER: dict[str, Any] = {"stage": "sentences", "group": "order"}
_CASE: dict[str, Any] = {"stage": "whole", "group": "case"}
_WRAP: dict[str, Any] = {"stage": "wrap", "group": "wrap"}
_ENDS = ("That is all I know.", "Is there anything else I can say?", "The end.")

# Kind of constraint, or "kind/variant" -> instruction. IFEval's come first.
INSTRUCTIONS: dict[str, Instruction] = {
    "words": Instruction("The text has {amount} words.", count_fits(count_words)),
    "sentences": Instruction("The text has {amount} sentences.", count_fits(count_sentences)),
    "characters": Instruction(
        "The text has {amount} characters, spaces included.", lambda d, rng: {"max": len(d.text.strip())}
    ),
    "lines": Instruction(
        "The text has {amount} lines that are not blank.",
        count_fits(lambda t: len(lines_of(t)), 2),
        shapes.as_lines(lambda n, s: s),
        **_LAYOUT,
    ),
    "paragraphs": Instruction(
        "The text has {amount} paragraphs, separated by blank lines.",
        count_fits(lambda t: len(paragraphs_of(t)), 2),
        shapes.as_paragraphs,
        **_LAYOUT,
    ),
    "paragraph-starts": Instruction(
        "Paragraphs are separated by blank lines, and paragraph {paragraph} begins with the word {text!r}.",
        fit_paragraph,
        shapes.as_paragraphs,
        **_LAYOUT,
    ),
    "parts": Instruction(
        "The text has {amount} parts, separated by lines of {text}.",
        lambda d, rng: {"text": d.facts["mark"], **bound(len(d.text.split(d.facts["mark"])), rng)},
        shapes.split_by("***"),
        **_LAYOUT,
    ),
    "parts/two": Instruction(
        "Give two different texts instead of one, separated by a line of {text}.",
        fact("mark", min=2, max=2),
        shapes.split_by("******", two=True),
        **_LAYOUT,
    ),
    "bullets": Instruction(
        "The text has {amount} bullet points, lines that begin with a hyphen and a space.",
        count_fits(lambda t: len(BULLET.findall(t))),
        shapes.as_lines(lambda n, s: f"- {s}"),
        **_LAYOUT,
    ),
    "json": Instruction(
        "The whole reply is one JSON object.",
        fixed(),
        lambda d, rng: setattr(d, "text", json.dumps({"topic": d.topic, "lines": d.sentences}, ensure_ascii=False)),
        **_LAYOUT,
    ),
    "occurrences/section": Instruction(
        "The text is in sections, each headed by the word {text} and its number; {text} stands there {amount} times.",
        lambda d, rng: {"text": "SECTION", **bound(count_phrase(d.text, "SECTION"), rng)},
        shapes.as_sections,
        **_LAYOUT,
    ),
    "placeholders": Instruction(
        "The text has {amount} placeholders in square brackets, such as [name].",
        count_fits(lambda t: len(PLACEHOLDER.findall(t))),
        shapes.some_sentences(shapes.before_end("of [name]", "at [place]", "on [day]")),
        **_SENTENCES,
    ),
    "highlights": Instruction(
        "The text has {amount} passages set between asterisks, such as *this one*.",
        count_fits(lambda t: len(HIGHLIGHT.findall(t))),
        shapes.some_sentences(shapes.around_last("*", "*")),
        **_SENTENCES,
    ),
    "title": Instruction(
        "The text has a title in double angle brackets, such as <<a title>>.",
        fixed(),
        lambda d, rng: setattr(d, "text", f"<<{d.topic}>>\n{d.text}"),
        stage="whole",
    ),
    "occurrences/postscript": Instruction(
        "A postscript that begins with {text} stands at the end.",
        fact("postscript", min=1),
        shapes.add_postscript,
        stage="whole",
        group="end",
    ),
    "ends-with": Instruction(
        "The text ends with exactly these words: {text}",
        fact("end"),
        shapes.put("end", _ENDS, False),
        stage="whole",
        group="end",
    ),
    "starts-with": Instruction(
        "Before the text, the sentence {text!r} is repeated word for word.",
        fact("request"),
        shapes.repeat_request,
        stage="whole",
    ),
    "quoted": Instruction(
        "The whole reply stands in double quotation marks.", fixed(), shapes.whole_text(lambda t: f'"{t}"'), **_WRAP
    ),
    "upper": Instruction("All letters are capital letters.", fixed(), shapes.whole_text(str.upper), **_CASE),
    "lower": Instruction("All letters are small letters.", fixed(), shapes.whole_text(str.lower), **_CASE),
    "capital-words": Instruction(
        "The text has {amount} words in capital letters only.",
        count_fits(lambda t: sum(map(str.isupper, words_of(t)))),
        shapes.capitalise_some,
        **_CASE,
    ),
    "no-commas": Instruction(
        "The text has no commas.", fixed(), shapes.whole_text(lambda t: t.replace(",", "")), stage="whole"
    ),
    "keywords": Instruction("The text has each of these words: {listed}.", words_fit(1, 4)),
    "any-of": Instruction("The text has at least one of these words: {listed}.", words_fit(1, 2)),
    "forbidden": Instruction("The text has none of these words: {listed}.", words_fit(2, 4, inside=False)),
    "occurrences": Instruction("The word {text!r} occurs {amount} times.", occurrences_fit(count_phrase, nouns_in)),
    "letters": Instruction(
        "The letter {text} occurs {amount} times, small or capital.",
        occurrences_fit(lambda text, letter: text.lower().count(letter), lambda d: list("abcdefghijklmnopqrstuvwxyz")),
    ),
    "language": Instruction(
        "The text is in the language with the code {text}.", fact("language"), shapes.translate, **_ORDER
    ),
    **dict(
        (
            _count("unique-words", "different words, small and capital letters being alike"),
            _count(
                "questions", "question marks", shape=shapes.some_sentences(lambda s, rng: f"{s[:-1]}?"), **_SENTENCES
            ),
            _count(
                "exclamations",
                "exclamation marks",
                shape=shapes.some_sentences(lambda s, rng: f"{s[:-1]}!"),
                **_SENTENCES,
            ),
            _count(
                "numbers",
                "numbers written in digits",
                shape=shapes.some_sentences(shapes.before_end("in 1848", "with 12 men", "for 3 days")),
                **_SENTENCES,
            ),
            _count(
                "commas",
                "commas",
                shape=shapes.some_sentences(shapes.before_end("too, of course, as ever", "too, at last")),
                **_SENTENCES,
            ),
            _count(
                "quotations",
                "passages in double quotation marks",
                shape=shapes.some_sentences(shapes.around_last('"', '"')),
                **_SENTENCES,
            ),
            _count(
                "brackets",
                "passages in round brackets",
                shape=shapes.some_sentences(shapes.around_last("(", ")")),
                **_SENTENCES,
            ),
            _count(
                "emoji",
                "emoji",
                shape=shapes.some_sentences(shapes.before_end("\u2600", "\u2602", "\u2693")),
                **_SENTENCES,
            ),
            _count(
                "hashtags",
                "hashtags, such as #sea",
                shape=shapes.some_sentences(shapes.before_end("#story", "#today", "#old")),
                **_SENTENCES,
            ),
            _count(
                "hyphenated-words",
                "words with a hyphen",
                shape=shapes.some_sentences(shapes.before_end("by mid-day", "as a well-known sight", "half-heartedly")),
                **_SENTENCES,
            ),
            _count(
                "palindromes",
                "words of three letters or more that read the same backwards",
                shape=shapes.some_sentences(
                    shapes.before_end("at noon", "at eye level", "by radar", "as a civic deed")
                ),
                **_SENTENCES,
            ),
            _count(
                "numbered-items",
                "numbered lines, which begin 1., 2. and so on",
                shape=shapes.as_lines(lambda n, s: f"{n}. {s}"),
                **_LAYOUT,
            ),
            _count(
                "headings",
                "headings, lines that begin with #",
                shape=shapes.as_lines(lambda n, s: f"# Part {n}\n{s}"),
                **_LAYOUT,
            ),
            _count(
                "table-rows",
                "rows of a table, lines that begin and end with |",
                shape=shapes.as_lines(lambda n, s: f"| {n} | {s} |"),
                **_LAYOUT,
            ),
            _count(
                "code-blocks",
                "blocks fenced by lines of ```",
                shape=shapes.as_lines(lambda n, s: f"```\n{s}\n```"),
                **_LAYOUT,
            ),
            _count("longest-word", "characters in its longest word"),
            _count("shortest-word", "characters in its shortest word"),
            _count("repeats", "occurrences of its most frequent word, small and capital letters being alike"),
            _parts("sentence-words", "Each sentence has", unit="words"),
            _parts(
                "paragraph-sentences", "Each paragraph has", unit="sentences", shape=shapes.as_paragraphs, **_LAYOUT
            ),
            _parts(
                "line-characters", "Each line has", unit="characters", shape=shapes.as_lines(lambda n, s: s), **_LAYOUT
            ),
            _parts(
                "columns",
                "Each line is a row of values separated by commas, of which it has",
                unit="",
                shape=shapes.as_lines(lambda n, s: f"{n},{','.join(words_of(s)[:4])}"),
                **_LAYOUT,
            ),
        )
    ),
    "sorted-lines": Instruction(
        "The text has two lines or more, in alphabetical order.",
        fixed(),
        lambda d, rng: setattr(d, "text", "\n".join(sorted(d.sentences, key=str.casefold))),
        **_LAYOUT,
    ),
    "growing-lines": Instruction(
        "The text has two lines or more, each longer than the one before.", fixed(), shapes.grow_lines, **_LAYOUT
    ),
    "growing-sentences": Instruction(
        "The text has two sentences or more, each with more words than the one before.",
        fixed(),
        shapes.grow_sentences,
        **_ORDER,
    ),
    "chained-sentences": Instruction(
        "The text has two sentences or more, each beginning with the last word of the one before.",
        fixed(),
        shapes.chain,
        **_ORDER,
    ),
    "framed": Instruction(
        "The text has three sentences or more, and the last one repeats the first.", fixed(), shapes.frame, **_ORDER
    ),
    "title-case": Instruction(
        "Every word begins with a capital letter.", fixed(), shapes.whole_text(str.title), **_CASE
    ),
    "labelled-lines": Instruction(
        "Every line is a label, a colon, a space and text.",
        fixed(),
        shapes.as_lines(lambda n, s: f"Part {n}: {s}"),
        **_LAYOUT,
    ),
    "acrostic": Instruction(
        "The first letters of the lines spell the word {text!r}.", fact("acrostic"), shapes.acrostic, **_LAYOUT
    ),
    "sentence-starts": Instruction(
        "Every sentence begins with the word {text!r}.", fact("start"), shapes.start_alike, **_ORDER
    ),
    "initials": Instruction("Every word begins with the letter {text}.", fact("initial"), shapes.alliterate, **_ORDER),
    "line-starts": Instruction(
        "The text is in lines, each beginning with {text}",
        fact("opening"),
        shapes.mark_lines("opening", (">", "~", "=>"), True),
        **_LAYOUT,
    ),
    "line-ends": Instruction(
        "The text is in lines, each ending with {text}",
        fact("closing"),
        shapes.mark_lines("closing", ("<", "~", "//"), False),
        **_LAYOUT,
    ),
    "tagged": Instruction(
        "The whole reply stands between <{text}> and </{text}>.", fact("tag"), shapes.put_tags, **_WRAP
    ),
    "word": Instruction("Word number {word} is {text!r}.", fit_word),
    "in-order": Instruction(
        "These words follow each other in this order, with or without others between: {listed}.", words_fit(2, 3)
    ),
    "together": Instruction("These words stand together in one sentence: {listed}.", fit_together),
}


def say_instruction(name: str, constraint: Mapping[str, Any]) -> str:
    """Write a constraint that an instruction of this name made as a sentence."""
    low, high = constraint.get("min"), constraint.get("max")
    amount = f"exactly {low}" if low == high else f"at most {high}" if low is None else f"at least {low}"
    listed = ", ".join(f"'{text}'" for text in constraint.get("texts", ()))
    return INSTRUCTIONS[name].say.format(**constraint, amount=amount, listed=listed)
