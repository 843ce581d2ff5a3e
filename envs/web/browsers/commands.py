"""Parser of actions: ``click [12]``, ``fill [7] "text"``, ``select [9] "Large"``, ``press [7] Enter``, ``scroll down``,
``back``, ``goto /path``, ``answer "text"``; also in upper case, without brackets or quotation marks, or as calls such
as ``click(12)``. `FUNCTIONS` are the same actions as tool calls.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from ...tools.tool_function import ToolFunction, find_function
from .high_level_calls import BadCall, read_call

FORMS = (
    'click [ID], fill [ID] "text", select [ID] "option", press [ID] Enter, scroll down, back, goto /path, answer "text"'
)
KEYS = (
    *("Enter", "Space", "Tab", "Shift+Tab", "Escape", "Backspace", "Delete", "ArrowUp", "ArrowDown", "ArrowLeft"),
    *("ArrowRight", "Home", "End", "PageUp", "PageDown", "Control+a", "Alt+ArrowLeft", "Alt+ArrowRight"),
)
"""Keys other than characters."""
_SPELLINGS = {
    **{key.lower(): key for key in KEYS},
    **{
        "return": "Enter",
        "esc": "Escape",
        "meta+a": "Control+a",
        "controlormeta+a": "Control+a",
        "ctrl+a": "Control+a",
    },
}
_CHARACTER = re.compile(r"Key([A-Z])|Digit([0-9])|Shift\+([a-zA-Z])")
# Maximum length of a filled-in text, and of an address.
MOST_TEXT, MOST_PATH = 2_000, 1_000

_CONTROL = {"type": "integer", "description": "the number in brackets before the control"}
FUNCTIONS = (
    ToolFunction("click", "click a control", {"control": _CONTROL}),
    ToolFunction(
        "fill",
        "write a text into a field, in place of what is there",
        {"control": _CONTROL, "text": {"type": "string"}},
    ),
    ToolFunction(
        "select",
        "choose an option of a list",
        {"control": _CONTROL, "text": {"type": "string", "description": "the option"}},
    ),
    ToolFunction(
        "press",
        "press a key in a control",
        {"control": _CONTROL, "text": {"type": "string", "enum": list(KEYS)}},
    ),
    ToolFunction("scroll", "show other lines of the page", {"text": {"type": "string", "enum": ["down", "up"]}}),
    ToolFunction("back", "go back to the page before"),
    ToolFunction(
        "tab",
        "go to another open tab",
        {"text": {"type": "integer", "description": "its number, from 0"}},
    ),
    ToolFunction("open_file", "show a file", {"text": {"type": "string", "description": "its name"}}),
    ToolFunction(
        "upload",
        "put a file into a field for files",
        {"control": _CONTROL, "text": {"type": "string", "description": "the name of the file"}},
    ),
    ToolFunction(
        "drag",
        "drag a card onto another place of a board",
        {
            "control": _CONTROL,
            "text": {"type": "integer", "description": "the number in brackets before a control at that place"},
        },
    ),
    ToolFunction("goto", "open a page of the site", {"text": {"type": "string", "description": "the path, such as /"}}),
    ToolFunction(
        "answer",
        'end the task, with the answer, or "done" where none is asked for',
        {"text": {"type": "string"}},
        answers=True,
    ),
)

# Actions with no or plain text, in the spelling of `Command` or as calls; as replies they have no other reading that
# would do anything else.
PLAIN = re.compile(
    r"click \[[0-9]{1,6}\]|press \[[0-9]{1,6}\] (?:Enter|Space)|scroll (?:down|up)|back|close_tab"
    r'|(?:fill|select) \[[0-9]{1,6}\] "[\w .,:@/()+?!’&%;-]*"|(?:answer|open_file) "[\w .,:@/()+?!’&%;-]+"'
    r"|[a-z_]+\((?:(?:'[\w .,:@/()+-]*'|-?[0-9]{1,6})(?:, (?!\))|(?=\))))*\)"
)
_VERBS = {"type": "fill", "enter": "fill", "input": "fill", "choose": "select", "go to": "goto", "open": "goto"}
_CALL = re.compile(r"([a-z_]+)\s*\((.*)\)\s*;?", re.IGNORECASE | re.DOTALL)
_WORD = re.compile(
    r"(click|fill|type|enter|input|select|choose|check|uncheck|hover|focus|press|scroll|back|goto|go to|open|wait"
    r"|dblclick|click_at|dblclick_at|upload_at|key|write|forward|new_tab|tab|close_tab|open_file|upload|drag|drag_at"
    r"|answer|infeasible)\b"
    r"(?:[ \t]+on\b)?\s*(.*)",
    re.IGNORECASE | re.DOTALL,
)
_ID = re.compile(
    r"(?:\[\s*([0-9]{1,6})\s*\]|#?([0-9]{1,6}))(?:\s*[,:]\s*|\s+(?:with|as|to)\s+(?=[\"'])|\s+|$|(?=[\"']))(.*)",
    re.DOTALL,
)
_NUMBER = r"-?[0-9]{1,5}(?:\.[0-9]+)?"
_POINT = re.compile(f"{_NUMBER} {_NUMBER}")
# Verbs with points in pixels -> number of points.
_POINTS = {"click_at": 1, "dblclick_at": 1, "drag_at": 2}
_CONTROL_CHARACTERS = re.compile(r"[\x00-\x08\x0b-\x1f\x7f\ud800-\udfff]")
_QUOTES = {'"': '"', "'": "'", "“": "”", "‘": "’"}


@dataclass(frozen=True, slots=True)
class Command:
    """One action: verb, number of a control (0: none) and text."""

    verb: str
    number: int = 0
    text: str = ""

    def __str__(self) -> str:
        """Return the action in its standard spelling."""
        place = f" [{self.number}]" if self.number else ""
        is_sign = self.verb in ("press", "key") and len(self.text) == 1
        if self.verb in ("fill", "select", "write", "upload", "open_file", "answer", "infeasible") or is_sign:
            return f"{self.verb}{place} {write_text(self.text)}"
        return f"{self.verb}{place} {self.text}".rstrip()


def write_text(text: str) -> str:
    """Return the text in quotation marks, with backslash escapes."""
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n") + '"'


def write_command(name: str, arguments: Mapping[str, Any]) -> str:
    """Return the action for a call of one of `FUNCTIONS`.

    Raises:
        InputError: there is no such function, or the arguments are invalid.
    """
    checked = find_function(FUNCTIONS, name).check(arguments)
    if name == "goto":
        return f"goto {write_text(checked['text'])}"
    return str(Command(name, checked.get("control", 0), str(checked.get("text", ""))))


def read_command(action: str) -> Command | str:
    """Return the command in an action, or an error message of one sentence if the action is malformed."""
    action = action.strip()
    try:
        if (call := read_call(action)) is not None:
            return _check(Command(*call))
    except BadCall as error:
        return str(error)
    found = _WORD.fullmatch(action)
    if found is None and len(action) > 2 and _QUOTES.get(action[0]) == action[-1]:
        found = _WORD.fullmatch(action[1:-1].strip())
    if found is None:
        return f"This is no action; write one of: {FORMS}."
    verb, rest = found[1].lower(), found[2].strip()
    if (call := _CALL.fullmatch(f"{verb}{rest}")) is not None and call[1] == verb.replace(" ", ""):
        rest = call[2].strip()
    verb = _VERBS.get(verb, verb)
    match verb:
        case "back" | "forward" | "new_tab" | "close_tab" | "wait":
            return Command(verb) if not rest else f"{verb} takes nothing more."
        case "scroll":
            direction = rest.strip("\"'").lower()
            return Command(verb, 0, direction) if direction in ("up", "down") else "Write scroll down or scroll up."
        case "tab":
            return _check(Command(verb, 0, rest))
        case "click_at" | "dblclick_at" | "drag_at":
            return _check(Command(verb, 0, " ".join(re.split(r"[\s,]+", rest.strip("()")))))
        case "upload_at":
            return _check(Command(verb, 0, rest))
        case "goto" | "answer" | "infeasible" | "key" | "write" | "open_file":
            text = _read_text(rest)
            return text if isinstance(text, _ReadError) else _check(Command(verb, 0, text))
    place = _ID.fullmatch(rest)
    if place is None:
        return f"{verb} needs the id of a control, such as {verb} [3]."
    number, rest = int(place[1] or place[2]), place[3].strip()
    if verb in ("click", "dblclick", "check", "uncheck", "hover", "focus"):
        return Command(verb, number) if not rest else f"{verb} takes an id and nothing more."
    text = _read_text(rest)
    if isinstance(text, _ReadError):
        return text
    return _check(Command(verb, number, text))


def read_key(text: str) -> str | None:
    """Return a key in its standard spelling, which is one of `KEYS` or a character; None for any other key. Keys that
    stand for a character are read by their names, too, such as KeyA, Digit1 and Shift+a."""
    plain = text.strip()
    if key := _SPELLINGS.get(plain.lower()):
        return key
    if text == " ":
        return "Space"
    if found := _CHARACTER.fullmatch(plain):
        return (found[1] or "").lower() or found[2] or found[3].upper()
    return plain if len(plain) == 1 and plain.isprintable() else None


class _ReadError(str):
    """Error message that `_read_text` returns in place of a text."""


def _read_text(text: str) -> str | _ReadError:
    """Return the text inside quotation marks, or the whole text if there are none; a `_ReadError` if a mark is
    missing."""
    if text[:1] in _QUOTES:
        if len(text) < 2 or text[-1] != _QUOTES[text[0]] or (text[-2] == "\\" and text[-3:-2] != "\\"):
            return _ReadError("The text has no closing quotation mark.")
        inner = text[1:-1]
        if "\\" in inner:
            inner = re.sub(r"\\([\\\"'n])", lambda found: "\n" if found[1] == "n" else found[1], inner)
        return inner
    return text


def _check(command: Command) -> Command | str:
    """Return a command with its key in the standard spelling, or an error message if its text is invalid."""
    verb, text = command.verb, command.text
    if verb in ("press", "key"):
        key = read_key(text)
        return replace(command, text=key) if key else f"The keys are {', '.join(KEYS)}, and single characters."
    if verb == "tab" and not re.fullmatch(r"[0-9]{1,3}", text):
        return "tab needs the number of an open tab, such as tab 0."
    if verb in _POINTS and not re.fullmatch(" ".join([_POINT.pattern] * _POINTS[verb]), text):
        places = "a point" if _POINTS[verb] == 1 else "two points"
        return f"{verb} needs {places} in pixels, such as {verb} {' '.join(['120 340'] * _POINTS[verb])}."
    if verb == "upload_at" and not re.fullmatch(f"{_POINT.pattern} .+", text):
        return "upload_at needs a point in pixels and the name of a file, such as upload_at 120 340 list.csv."
    if verb == "drag" and (place := _ID.fullmatch(text)) is not None and not place[3]:
        return replace(command, text=f"[{place[1] or place[2]}]")
    if verb == "drag":
        return "drag needs the ids of two controls, such as drag [3] [7]."
    if verb in ("upload", "open_file") and not text.strip():
        return f'{verb} needs the name of a file, such as {"upload [3]" if verb == "upload" else verb} "list.csv".'
    if verb == "write" and not text:
        return 'write needs a text, such as write "lamp".'
    if verb == "select" and not text:
        return 'select needs the text of an option, such as select [3] "Large".'
    if verb in ("goto", "answer", "infeasible") and not text.strip():
        return "goto needs a path, such as goto /." if verb == "goto" else f"{verb} needs a text."
    most = MOST_PATH if verb == "goto" else MOST_TEXT
    if len(text) > most:
        return f"The text has {len(text)} characters; at most {most} are taken."
    if _CONTROL_CHARACTERS.search(text) or (verb == "goto" and "\n" in text):
        return "The text holds control characters."
    return command
