"""References of published data sets in the form that verifiers read: instructions of IFEval, calls of BFCL."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from .layouts import UnusableRecord

# The column of IFEval's instructions.
INSTRUCTIONS = "instruction_id_list"
Constraint = dict[str, Any]
Make = Callable[[Mapping[str, Any]], list[Constraint]]


def _constraint(kind: str, text: str | None = None, texts: str | None = None, **more: Any) -> Make:
    """Make a constraint whose ``text`` or ``texts`` is the value of the instruction's argument of this name."""
    names = {name: argument for name, argument in (("text", text), ("texts", texts)) if argument}
    return lambda given: [{"kind": kind, **{name: given[argument] for name, argument in names.items()}, **more}]


def _relation(kind: str, number: str, relation: str = "relation", text: str | None = None) -> Make:
    """Make a constraint on a count; the arguments ``number`` and ``relation`` ("at least", "less than") give the
    bound."""

    def make(given: Mapping[str, Any]) -> list[Constraint]:
        count = int(given[number])
        bound = {"max": count - 1} if given.get(relation) == "less than" else {"min": count}
        return [constraint | bound for constraint in _constraint(kind, text)(given)]

    return make


def _exact_count(kind: str, number: str, **more: Any) -> Make:
    return lambda given: [{"kind": kind, **more, "min": int(given[number]), "max": int(given[number])}]


def _paragraph(given: Mapping[str, Any]) -> list[Constraint]:
    first = {"kind": "paragraph-starts", "paragraph": int(given["nth_paragraph"]), "text": given["first_word"]}
    return [*_exact_count("paragraphs", "num_paragraphs")(given), first]


# Instruction of IFEval (arXiv 2311.07911, table 1) -> constraints, made from its arguments.
CONSTRAINTS_OF: dict[str, Make] = {
    "keywords:existence": _constraint("keywords", texts="keywords"),
    "keywords:forbidden_words": _constraint("forbidden", texts="forbidden_words"),
    "keywords:frequency": _relation("occurrences", "frequency", text="keyword"),
    "keywords:letter_frequency": _relation("letters", "let_frequency", "let_relation", text="letter"),
    "length_constraints:number_words": _relation("words", "num_words"),
    "length_constraints:number_sentences": _relation("sentences", "num_sentences"),
    "length_constraints:number_paragraphs": _exact_count("parts", "num_paragraphs", text="***"),
    "length_constraints:nth_paragraph_first_word": _paragraph,
    "detectable_content:number_placeholders": _relation("placeholders", "num_placeholders"),
    "detectable_content:postscript": _constraint("occurrences", text="postscript_marker", min=1),
    "detectable_format:number_bullet_lists": _exact_count("bullets", "num_bullets"),
    "detectable_format:number_highlighted_sections": _relation("highlights", "num_highlights"),
    "detectable_format:multiple_sections": _relation("occurrences", "num_sections", text="section_spliter"),
    "detectable_format:json_format": _constraint("json"),
    "detectable_format:title": _constraint("title"),
    "detectable_format:constrained_response": lambda given: [
        {"kind": "any-of", "texts": [f"My answer is {word}" for word in ("yes", "no", "maybe")]}
    ],
    "combination:two_responses": lambda given: [{"kind": "parts", "text": "******", "min": 2, "max": 2}],
    "combination:repeat_prompt": _constraint("starts-with", text="prompt_to_repeat"),
    "language:response_language": _constraint("language", text="language"),
    "startend:end_checker": _constraint("ends-with", text="end_phrase"),
    "startend:quotation": _constraint("quoted"),
    "change_case:capital_word_frequency": _relation("capital-words", "capital_frequency", "capital_relation"),
    "change_case:english_capital": _constraint("upper"),
    "change_case:english_lowercase": _constraint("lower"),
    "punctuation:no_comma": _constraint("no-commas"),
}


def read_instructions(ids: Any, arguments: Any) -> list[Constraint]:
    """Read the instructions of a record of IFEval as constraints for the verifier "constraints".

    Args:
        ids: the field "instruction_id_list".
        arguments: the field "kwargs": for each instruction a record of its arguments, or None.

    Raises:
        UnusableRecord: an instruction has no equivalent constraint.
    """
    if not isinstance(ids, (list, tuple)) or not isinstance(arguments, (list, tuple)) or len(ids) != len(arguments):
        raise UnusableRecord("'instruction_id_list' and 'kwargs' must be lists of equal length")
    constraints: list[Constraint] = []
    for name, given in zip(ids, arguments):
        if name not in CONSTRAINTS_OF:
            raise UnusableRecord(f"the instruction {name!r} is none that can be judged")
        try:
            constraints += CONSTRAINTS_OF[name](given or {})
        except (KeyError, TypeError, ValueError) as error:
            raise UnusableRecord(f"the instruction {name!r} cannot be read from {given!r} ({error!r})") from None
    return constraints


def read_calls(reference: Any) -> Any:
    """Read calls of BFCL's possible answers, ``[{"area": {"base": [10], "unit": ["cm", ""]}}]``, in the form of the
    verifier "toolcall": each parameter has a list of right values, and may be left out if one of them is "". Other
    references are returned unchanged.

    Raises:
        UnusableRecord: a value is a record, whose fields would have alternatives themselves.
    """
    if not isinstance(reference, Sequence) or not all(map(is_possible_answer, reference)):
        return reference
    calls = []
    for name, arguments in ((name, arguments) for call in reference for name, arguments in call.items()):
        if any(isinstance(value, Mapping) for accepted in arguments.values() for value in accepted):
            raise UnusableRecord(f"the call of {name!r} has records among its values, which stand for several others")
        values = {key: [value for value in accepted if value != ""] or [""] for key, accepted in arguments.items()}
        also = {key: rest for key, (_, *rest) in values.items() if rest}
        optional = [key for key, accepted in arguments.items() if "" in accepted]
        calls.append(
            {
                "name": name,
                "parameters": {key: accepted[0] for key, accepted in values.items()},
                **({"also": also} if also else {}),
                **({"optional": optional} if optional else {}),
            }
        )
    return calls


def is_possible_answer(call: Any) -> bool:
    """Return True for a call in BFCL's form: a name, and for each parameter the list of right values."""
    return (
        isinstance(call, Mapping)
        and len(call) == 1
        and all(
            isinstance(arguments, Mapping) and all(isinstance(values, list) and values for values in arguments.values())
            for arguments in call.values()
        )
    )
