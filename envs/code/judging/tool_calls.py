"""Python that an agent wants to have run, in the forms in which models are trained to write it.

These are a fenced block (ToRL, Qwen2.5-Math), a tag such as <code> around it (ReTool), and a <tool_call> in JSON
(Hermes, Qwen3). Every scan is linear in the length of the text, and nothing is evaluated.
"""

from __future__ import annotations

import json
import re

# A block or tag that nothing closes goes to the end: generation is often stopped at what would close it.
_FENCE = re.compile(r"```[ \t]*(?:python3?|py)\b[ \t]*\r?\n?(.*?)(?:```|\Z)", re.DOTALL | re.IGNORECASE)
_TAG = re.compile(r"<(code|python|tool|tool_call)>(.*?)(?:</\1>|\Z)", re.DOTALL)
_OUTPUT = re.compile(
    r"```[ \t]*output\b.*?(?:```|\Z)|<(output|interpreter|tool_response)>.*?(?:</\1>|\Z)", re.DOTALL | re.IGNORECASE
)


def called(text: str) -> str | None:
    """The program in ``text``, all its blocks one below the other; None where there is no block, and "" where all are
    blank."""
    blocks = [_of_tag(match[2]) for match in _TAG.finditer(text)] or _FENCE.findall(text)
    return "\n".join(block.strip("\r\n") for block in blocks).rstrip() if blocks else None


def without_output(text: str) -> str:
    """``text`` without blocks that look like what a tool has printed, which only the tool may say."""
    return _OUTPUT.sub("", text)


def _of_tag(text: str) -> str:
    if text.lstrip().startswith("{"):
        try:
            arguments = json.loads(text)["arguments"]
            code = (json.loads(arguments) if isinstance(arguments, str) else arguments)["code"]
            if isinstance(code, str):
                return code
        # Not a call in JSON: then Python that begins with a brace.
        except (ValueError, TypeError, KeyError, RecursionError):
            pass
    inner = _FENCE.findall(text)
    return "\n".join(inner) if inner else text
