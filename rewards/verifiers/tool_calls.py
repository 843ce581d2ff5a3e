"""Verifier "toolcall": calls of tools, compared by tool names, parameter names and values.

`tool_call_correctness` is the correctness part of ToolRL's reward (arXiv 2504.13958, Section 3.3), in [-3, 3]; the
verifier scales it to [0, 1] and counts only an exact match as success.
"""

from __future__ import annotations

import ast
import math
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from ...errors import InputError
from ..verdict import Verdict
from .json_text import JsonError, check_json_value, parse_json, same_json
from .registry import CORRECT, VERIFIERS, rejected

Call = Mapping[str, Any]

MAX_CALLS = 64
MAX_PYTHON = 10_000
_OPEN, _CLOSE = "<tool_call>", "</tool_call>"
_PYTHON = re.compile(r"\[?\s*[A-Za-z_][\w.-]*\(.*\)\s*\]?", re.DOTALL)


class CallError(ValueError):
    """Error for a text that holds no list of tool calls; the message is one sentence for the agent."""


@VERIFIERS.register("toolcall")
def verify_tool_calls(answer: str, reference: Call | Sequence[Call]) -> Verdict:
    """Check that ``answer`` makes the calls of ``reference``, in any order, and no others.

    The score is `tool_call_correctness` scaled to [0, 1]; only an exact match is a success. If the reference has no
    call, an answer without a call scores 1 and every other 0.

    Args:
        answer: see `parse_tool_calls`.
        reference: one call ``{"name": "search", "parameters": {"query": "x"}}`` or several; ``arguments`` is accepted
            in place of ``parameters``. ``"also": {"query": ["y"]}`` lists further right values of parameters, and
            ``"optional": ["query"]`` names parameters that may be left out.

    Raises:
        InputError: the reference has another form.
    """
    gold = check_calls(reference)
    try:
        predicted = parse_tool_calls(answer)
    except CallError as error:
        return rejected(str(error))
    if not gold:
        return Verdict(0.0, False, feedback="No tool should have been called.") if predicted else CORRECT
    correctness = tool_call_correctness(predicted, gold)
    if correctness == 3.0:
        return CORRECT
    return Verdict((correctness + 3) / 6, False, feedback="The tool calls are not the required ones.")


def tool_call_correctness(predicted: Sequence[Call] | None, gold: Sequence[Call]) -> float:
    """Score the match of predicted calls with the gold ones, in [-3, 3] (ToolRL, arXiv 2504.13958, Section 3.3).

    With N and M the multisets of tool names, the score is |N∩M| / |N∪M| plus, for each gold call that is paired with a
    predicted call of the same name, the intersection over union of their parameter names and the number of equal
    values. The maximum is 1 + Σ(1 + number of parameters), and the result is 6 · score / maximum − 3. The order of
    calls does not matter: the pairing is optimal, where the released code pairs greedily.

    Args:
        predicted: calls with "name" and "parameters"; None for text that could not be read, which gives -3.
        gold: the required calls; without any the result is 0.
    """
    if not gold:
        return 0.0
    if predicted is None or len(predicted) > MAX_CALLS:
        return -3.0
    ours, theirs = Counter(call["name"] for call in predicted), Counter(call["name"] for call in gold)
    shared = sum((ours & theirs).values())
    score, most = shared / (len(predicted) + len(gold) - shared), 1.0
    for name in sorted(theirs):
        wanted = [call for call in gold if call["name"] == name]
        made = [call["parameters"] for call in predicted if call["name"] == name]
        most += sum(1 + len(call["parameters"]) for call in wanted)
        score += best_assignment([[_similarity(one, other) for other in made] for one in wanted])
    return 6.0 * score / most - 3.0


def parse_tool_calls(text: str) -> list[Call]:
    """Parse the calls that ``text`` makes, each ``{"name": ..., "parameters": {...}}``.

    Accepted: a JSON object or array of objects, or one object per line, with "name" and, unless the tool takes none,
    "parameters" or "arguments", which may be a string of JSON; the same object as the value of "function", as endpoints
    log it; or calls in the syntax of Python with named literals, ``[area(b=10, unit="cm")]`` or without the brackets.
    The calls stand alone, or in one or more ``<tool_call>...</tool_call>`` blocks, with any text outside. Any other
    text makes no call.

    Raises:
        CallError: another form, an unclosed block, or more than 64 calls.
    """
    values: list[Any] = []
    for block in _blocks(text):
        values += _values(block)
    if len(values) > MAX_CALLS:
        raise CallError(f"There are more than {MAX_CALLS} tool calls.")
    return [_call(value) for value in values]


def check_calls(reference: Any) -> list[Call]:
    """Return a reference as a list of calls. Raises InputError if it has another form."""
    calls = [reference] if isinstance(reference, Mapping) else reference
    try:
        if isinstance(calls, (list, tuple)) and len(calls) <= MAX_CALLS:
            return [_required_call(check_json_value(call, "a tool call of the reference")) for call in calls]
    except CallError:
        pass
    raise InputError(
        f"the toolcall verifier needs calls such as {{'name': 'search', 'parameters': {{'query': 'x'}}}} "
        f"as reference (at most {MAX_CALLS}), not {reference!r}."
    )


def best_assignment(gains: Sequence[Sequence[float]]) -> float:
    """Return the largest total of ``gains[i][j]`` over pairings of rows with columns, each used at most once.

    Shortest augmenting paths with potentials: O(rows² · columns). Gains must be at least 0.
    """
    if not gains or not gains[0]:
        return 0.0
    if len(gains) > len(gains[0]):
        gains = list(zip(*gains))
    columns = len(gains[0])
    row_price, column_price = [0.0] * len(gains), [0.0] * columns
    owner = [-1] * columns
    for first in range(len(gains)):
        last = -1
        reached: list[int] = []
        slack, previous = [math.inf] * columns, [-1] * columns
        while last < 0 or owner[last] >= 0:
            row = first if last < 0 else owner[last]
            left = [column for column in range(columns) if column not in reached]
            for column in left:
                cost = -gains[row][column] - row_price[row] - column_price[column]
                if cost < slack[column]:
                    slack[column], previous[column] = cost, last
            last = min(left, key=slack.__getitem__)
            step = slack[last]
            row_price[first] += step
            for column in reached:
                row_price[owner[column]] += step
                column_price[column] -= step
            slack = [value - step for value in slack]
            reached.append(last)
        while last >= 0:
            before = previous[last]
            owner[last] = first if before < 0 else owner[before]
            last = before
    return sum(gains[row][column] for column, row in enumerate(owner) if row >= 0)


def _similarity(call: Call, made: Mapping[str, Any]) -> float:
    """Return the intersection over union of the parameter names, plus the number of right values. An optional parameter
    that is left out counts as given."""
    gold, also = call["parameters"], call.get("also", {})
    left_out = gold.keys() & set(call.get("optional", ())) - made.keys()
    names, shared = gold.keys() | made.keys(), gold.keys() & made.keys()
    right = sum(any(same_json(value, made[name]) for value in (gold[name], *also.get(name, ()))) for name in shared)
    return ((len(shared) + len(left_out)) / len(names) if names else 1.0) + right + len(left_out)


def _required_call(value: Any) -> Call:
    """Check a call of a reference, which may have the entries "also" and "optional" (see `verify_tool_calls`)."""
    if not isinstance(value, Mapping):
        return _call(value)
    call = _call({key: part for key, part in value.items() if key not in ("also", "optional")})
    also, optional = value.get("also", {}), value.get("optional", [])
    named = isinstance(also, Mapping) and isinstance(optional, list) and {*also, *optional} <= call["parameters"].keys()
    if not named or not all(isinstance(values, list) for values in also.values()):
        raise CallError("also and optional must name parameters of the call.")
    return {**call, **({"also": also} if also else {}), **({"optional": optional} if optional else {})}


def _call(value: Any) -> Call:
    if isinstance(value, Mapping) and set(value) - {"id", "type", "index"} == {"function"}:
        value = value["function"]
    keys = set(value) - {"id", "type"} if isinstance(value, Mapping) else set()
    if not {"name"} <= keys <= {"name", "parameters"} and not keys == {"name", "arguments"}:
        raise CallError('A tool call must be {"name": ..., "parameters": {...}}.')
    parameters = value.get("parameters", value.get("arguments", {}))
    if isinstance(parameters, str):
        try:
            parameters = parse_json(parameters) if parameters.strip() else {}
        except JsonError as error:
            raise CallError(f"The arguments of the tool call cannot be read. {error}") from None
    if not isinstance(value["name"], str) or not isinstance(parameters, Mapping):
        raise CallError('A tool call must be {"name": text, "parameters": {...}}.')
    return {"name": value["name"], "parameters": parameters}


def _blocks(text: str) -> list[str]:
    if _OPEN not in text and _CLOSE not in text:
        stripped = text.strip()
        return [stripped] if stripped.startswith(("{", "[")) or _PYTHON.fullmatch(stripped) else []
    blocks, position = [], 0
    while (start := text.find(_OPEN, position)) >= 0:
        end = text.find(_CLOSE, start)
        if end < 0:
            raise CallError(f"A {_OPEN} is not closed.")
        blocks.append(text[start + len(_OPEN) : end].strip())
        position = end + len(_CLOSE)
    if _CLOSE in text[position:] or any(_OPEN in block for block in blocks) or text.count(_CLOSE) != len(blocks):
        raise CallError(f"{_OPEN} and {_CLOSE} do not pair up.")
    return blocks


def _values(block: str) -> list[Any]:
    """Parse one JSON value, an array of them, one per line, or calls in the syntax of Python."""
    if len(block) <= MAX_PYTHON and _PYTHON.fullmatch(block):
        return _python_calls(block)
    try:
        value = parse_json(block)
        return value if isinstance(value, list) else [value]
    except JsonError as error:
        lines = [line for line in block.splitlines() if line.strip()]
        if not 1 < len(lines) <= MAX_CALLS:
            raise CallError(f"The tool call cannot be read. {error}") from None
    try:
        return [parse_json(line) for line in lines]
    except JsonError as error:
        raise CallError(f"The tool call cannot be read. {error}") from None


def _python_calls(block: str) -> list[Any]:
    """Read calls such as ``[area(b=10, unit="cm")]``; only literals are evaluated."""
    try:
        tree = ast.parse(block, mode="eval").body
        calls = tree.elts if isinstance(tree, (ast.List, ast.Tuple)) else [tree]
        found = []
        for call in calls:
            if not isinstance(call, ast.Call) or call.args or any(word.arg is None for word in call.keywords):
                raise ValueError("every part must be a call with named arguments")
            values = {str(word.arg): check_json_value(ast.literal_eval(word.value), "it") for word in call.keywords}
            found.append({"name": ast.unparse(call.func), "parameters": values})
    except (SyntaxError, ValueError, InputError, RecursionError, MemoryError) as error:
        reason = error.msg if isinstance(error, SyntaxError) else error
        raise CallError(f"The tool call cannot be read ({reason!s:.100}).") from None
    return found
