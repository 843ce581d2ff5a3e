"""Extraction of the program from an action that calls Python as a tool, in the formats that models are trained on.

The formats are a fenced block (ToRL, Qwen2.5-Math), a tag such as <code> around a block (ReTool), and a <tool_call> in
JSON (Hermes, Qwen3). Every scan is linear in the length of the text, and nothing is evaluated.
"""

from __future__ import annotations

import json
import re

# A block or tag that is not closed reaches to the end: generation often stops at the closing mark.
_FENCE = re.compile(r"```[ \t]*(?:python3?|py)\b[ \t]*\r?\n?(.*?)(?:```|\Z)", re.DOTALL | re.IGNORECASE)
_TAG = re.compile(r"<(code|python|tool|tool_call)>(.*?)(?:</\1>|\Z)", re.DOTALL)
_OUTPUT = re.compile(
    r"```[ \t]*output\b.*?(?:```|\Z)|<(output|interpreter|tool_response)>.*?(?:</\1>|\Z)", re.DOTALL | re.IGNORECASE
)


def extract_program(text: str) -> str | None:
    """Return the blocks of Python in ``text`` joined by line breaks; "" if all are blank, None if there is no block."""
    blocks = [_extract_from_tag(match[2]) for match in _TAG.finditer(text)] or _FENCE.findall(text)
    return "\n".join(block.strip("\r\n") for block in blocks).rstrip() if blocks else None


def strip_output(text: str) -> str:
    """Remove the blocks that look like the output of a tool, which only the tool may write."""
    return _OUTPUT.sub("", text)


def _extract_from_tag(text: str) -> str:
    if text.lstrip().startswith("{"):
        try:
            arguments = json.loads(text)["arguments"]
            code = (json.loads(arguments) if isinstance(arguments, str) else arguments)["code"]
            if isinstance(code, str):
                return code
        # Not a call in JSON, but Python that begins with a brace.
        except (ValueError, TypeError, KeyError, RecursionError):
            pass
    inner = _FENCE.findall(text)
    return "\n".join(inner) if inner else text
