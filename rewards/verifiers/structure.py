"""Verifier "structure": the printed value of a program, compared as a value and not as text.

After Guru (arXiv 2506.14965), whose scorer of CodeIO and CruxEval tasks converts JSON text and the words for true,
false and none to values, recursively, before it compares. Nothing is evaluated: the tokens of a Python literal are
rewritten as JSON.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

from ..verdict import Verdict
from .json_text import JsonError, check_json_value, parse_json, same_json, strip_code_fence
from .registry import CORRECT, VERIFIERS, WRONG, rejected

MAX_LENGTH = 50_000
# Depth to which JSON strings inside JSON strings are parsed; deeper strings remain text.
MAX_LAYERS = 3
_WORDS = {"True": "true", "False": "false", "None": "null"}
_TOKEN = re.compile(
    r"""\s+ | (?P<word>True|False|None|true|false|null)(?![A-Za-z0-9_]) | [-+.0-9eE]+ | [\[\]{}:] | (?P<comma>,)
      | (?P<open>\() | (?P<close>\))
      | (?P<string>"(?:[^"\\\n]|\\.)*+" | '(?:[^'\\\n]|\\.)*+')""",
    re.VERBOSE,
)
_ESCAPE = re.compile(r"""\\(?:(["'\\/bfnrt])|x([0-9a-fA-F]{2})|u([0-9a-fA-F]{4}))""")
_ESCAPES = {"b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t"}


@VERIFIERS.register("structure")
def verify_structure(answer: str, reference: Any) -> Verdict:
    """Check that ``answer`` writes the value ``reference``.

    Args:
        answer: JSON or a Python literal of the same types (``{'a': (1, True), 'b': None}``), bare or in a code fence;
            other text is compared as a string. At most 50,000 characters.
        reference: any JSON value; tuples count as arrays. In answer and reference, a string that is itself JSON
            text of an object or array, or one of the words true, false, null, True, False and None, is replaced by its
            value, to a depth of three such layers. The values are then compared by `json_text.same_json`: no
            tolerance, true is not 1.

    Raises:
        InputError: the reference is not a JSON value.
    """
    check_json_value(reference, "the reference of the structure verifier")
    if len(answer) > MAX_LENGTH:
        return rejected(f"The answer is longer than {MAX_LENGTH:,} characters.")
    text = strip_code_fence(answer).strip()
    if not text:
        return rejected("The answer is empty.")
    return CORRECT if same_json(parse_nested_literals(read_literal(text)), parse_nested_literals(reference)) else WRONG


def read_literal(text: str) -> Any:
    """Return the value of a JSON text or Python literal; ``text`` itself if it is neither."""
    try:
        return parse_json(text)
    except JsonError:
        pass
    try:
        return parse_json(as_json(text))
    except JsonError:
        return text


def as_json(text: str) -> str:
    """Rewrite a Python literal of lists, tuples, dictionaries, strings, numbers, True, False and None as JSON.

    The result need not be well-formed JSON; the parser checks that.

    Raises:
        JsonError: the text has another token.
    """
    parts: list[str] = []
    position = 0
    while position < len(text):
        match = _TOKEN.match(text, position)
        if match is None:
            raise JsonError("The text is neither JSON nor a Python literal.")
        position = match.end()
        token = match[0]
        if match["word"]:
            token = _WORDS.get(token, token)
        elif match["open"] or match["close"]:
            token = "[" if match["open"] else "]"
        elif match["string"]:
            token = json.dumps(_ESCAPE.sub(_unescape, token[1:-1]))
        # Python allows a comma after the last element.
        if token in ("]", "}"):
            while parts and parts[-1].isspace():
                parts.pop()
            if len(parts) > 1 and parts[-1] == "," and parts[-2] != "[":
                parts.pop()
        parts.append(token)
    return "".join(parts)


def parse_nested_literals(value: Any, layers: int = MAX_LAYERS) -> Any:
    """Replace strings in ``value`` that are JSON containers or words for true, false and none by their values.
    ``layers`` is the number of JSON strings inside one another that are parsed."""
    if isinstance(value, Mapping):
        return {key: parse_nested_literals(part, layers) for key, part in value.items()}
    if isinstance(value, (list, tuple)):
        return [parse_nested_literals(part, layers) for part in value]
    if not isinstance(value, str) or layers == 0:
        return value
    text = value.strip()
    if text in _WORDS or text in _WORDS.values() or text[:1] in ("[", "{"):
        try:
            return parse_nested_literals(parse_json(_WORDS.get(text, text)), layers - 1)
        except JsonError:
            pass
    return value


def _unescape(match: re.Match[str]) -> str:
    if match[1]:
        return _ESCAPES.get(match[1], match[1])
    return chr(int(match[2] or match[3], 16))
