"""`Page`: what a reader of a page perceives: its controls with roles, names and values, and the text between them.

A page is made from HTML alone and never changes. What somebody has typed or ticked since is in `Edits`, so that one
parsed page serves many episodes, and a browser within the process and a real one are described by the same code.
Controls are numbered in the order of the document, from 1. In the text all that comes from the page stands in quotation
marks on one line, so that no page can pass text off as a control.

Roles and names follow the HTML Accessibility API Mappings and the computation of accessible names (WAI-ARIA), for
elements that work without script and style: an element counts as hidden by ``hidden`` and ``aria-hidden``, not by a
style sheet.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from lxml import etree  # type: ignore[attr-defined]

from ....errors import shorten

Value = str | bool | tuple[int, ...]
"""Of a text field its text, of a box whether it is ticked, of a list the places of its chosen options."""
Edits = Mapping[int, Value]
"""Number of a control -> the value that replaces the one in the HTML."""

# Elements that may be controls; `Control.place` counts them in the order of the document.
CONTROLS = ("a", "button", "input", "select", "textarea")
# Most characters of one name or piece of text, and options shown of a list.
LONGEST, MOST_OPTIONS = 300, 40
_LANDMARKS = {
    **{"header": "banner", "nav": "navigation", "main": "main", "footer": "contentinfo", "aside": "complementary"},
    **{"section": "region", "form": "form", "fieldset": "group"},
}
# These count with a name only.
_NAMED = frozenset({"region", "form", "group"})
_SKIPPED = frozenset({"head", "script", "style", "template", "svg", "legend", "iframe", "object"})
_BLOCKS = frozenset(
    {
        *("address", "article", "blockquote", "body", "br", "caption", "center", "dd", "details", "div", "dl", "dt"),
        *("figcaption", "figure", "hr", "html", "li", "ol", "p", "pre", "summary", "table", "tbody", "tfoot", "thead"),
        *("tr", "ul"),
        *_LANDMARKS,
    }
)
_HEADINGS = frozenset({"h1", "h2", "h3", "h4", "h5", "h6"})
_TEXTUAL = {"text", "search", "email", "tel", "url", "password", "number"}
_BUTTONS = {"submit", "button", "reset", "image"}


@dataclass(slots=True, eq=False)
class Control:
    """Something to click, fill or choose from.

    Args:
        number: its id, from 1.
        place: its index among all elements of `CONTROLS` in the document.
        element: of the parsed page.
        role: "link", "button", "textbox", "searchbox", "spinbutton", "checkbox", "radio", "combobox", "listbox" or
            "unsupported".
        name: the accessible name.
        kind: the type of an input, else the tag.
        disabled: whether it cannot be used.
        options: of a list, the texts of its options.
    """

    number: int
    place: int
    element: Any
    role: str
    name: str
    kind: str
    disabled: bool
    options: tuple[str, ...] = ()

    def default(self) -> Value:
        """The value that the HTML gives it."""
        if self.role in ("checkbox", "radio"):
            return self.element.get("checked") is not None
        if self.role in ("combobox", "listbox"):
            options = list(self.element.iter("option"))
            chosen = tuple(i for i, option in enumerate(options) if option.get("selected") is not None)
            if self.role == "listbox" or len(chosen) == 1:
                return chosen
            usable = [i for i, option in enumerate(options) if option.get("disabled") is None]
            return chosen[-1:] or tuple(usable[:1])
        if self.kind == "textarea":
            # A first line end is no content.
            return (self.element.text or "").removeprefix("\n")
        return (self.element.get("value") or "").replace("\n", "") if self.kind in _TEXTUAL else ""


@dataclass(slots=True)
class PageLine:
    """One line of a page: a control, a landmark, a heading or text."""

    depth: int
    role: str
    name: str
    control: Control | None = None


@dataclass(eq=False)
class Page:
    """A parsed page.

    Args:
        html: the document.
        descriptions: the lines of observations without edits, by what writes them; see `observations`.
    """

    html: str
    controls: list[Control] = field(init=False, default_factory=list)
    descriptions: dict[Any, list[str]] = field(init=False, default_factory=dict)

    def __post_init__(self) -> None:
        # The parser takes neither a declaration of an encoding in text nor an empty document.
        text = self.html.replace("\0", "\ufffd").encode("utf-8", "replace")
        root = etree.fromstring(text, etree.HTMLParser(encoding="utf-8", no_network=True)) if text.strip() else None
        self.root = etree.Element("html") if root is None else root
        self._labels: dict[str, str] | None = None
        self._places = {element: place for place, element in enumerate(self.root.iter(*CONTROLS))}
        self.lines: list[PageLine] = []
        self._run: list[str] = []
        self._walk(self.root, 0)
        self._flush(0)

    @cached_property
    def title(self) -> str:
        return " ".join((self.root.findtext(".//title") or "").split())

    # From elements to lines.

    def _flush(self, depth: int, role: str = "text") -> None:
        if self._run:
            text = " ".join("".join(self._run).split())
            self._run = []
            if text:
                self.lines.append(PageLine(depth, role, text))

    def _walk(self, parent: Any, depth: int) -> None:
        for element in parent:
            tag = element.tag
            if type(tag) is not str:  # a comment
                pass
            elif tag in CONTROLS:
                self._add_control(element, tag, depth)
            elif tag in _SKIPPED or (element.attrib and is_hidden(element)):
                pass
            elif tag in _HEADINGS:
                self._flush(depth)
                if next(element.iter(*CONTROLS), None) is None:
                    self.lines.append(PageLine(depth, "heading", text_of(element)))
                else:
                    self._enter(element, depth)
            elif tag in _BLOCKS:
                self._flush(depth)
                if tag in _LANDMARKS:
                    self._walk_landmark(element, tag, depth)
                elif element.get("role") in ("alert", "status"):
                    self._enter(element, depth, element.get("role"))
                else:
                    self._enter(element, depth)
            elif tag == "label":
                if element.get("for") is None and next(element.iter(*CONTROLS[1:]), None) is None:
                    self._inline(element, depth)
                else:
                    # Its text is the name of the control.
                    for inner in element.iter(*CONTROLS):
                        self._add_control(inner, inner.tag, depth)
            elif tag == "img":
                if alt := element.get("alt"):
                    self._run.append(f" {alt} ")
            else:
                if tag in ("td", "th") and self._run:
                    self._run.append(" | ")
                self._inline(element, depth)
            if element.tail:
                self._run.append(element.tail)

    def _inline(self, element: Any, depth: int) -> None:
        if element.text:
            self._run.append(element.text)
        self._walk(element, depth)

    def _enter(self, element: Any, depth: int, role: str = "text") -> None:
        self._inline(element, depth)
        self._flush(depth, role)

    def _walk_landmark(self, element: Any, tag: str, depth: int) -> None:
        role = "search" if element.get("role") == "search" else _LANDMARKS[tag]
        name = self.label_of(element)
        if tag == "fieldset" and not name:
            legend = element.find("legend")
            name = "" if legend is None else text_of(legend)
        if name or role not in _NAMED:
            self.lines.append(PageLine(depth, role, name))
            depth += 1
        self._enter(element, depth)

    def _add_control(self, element: Any, tag: str, depth: int) -> None:
        kind = (element.get("type") or "").strip().lower() if tag in ("input", "button") else tag
        if tag == "input" and kind not in _TEXTUAL and kind not in _BUTTONS:
            kind = kind if kind in ("hidden", "checkbox", "radio") else "text" if kind == "" else f"{kind} field"
        elif tag == "button" and kind not in ("button", "reset"):
            kind = "submit"
        if kind == "hidden" or is_hidden(element):
            return
        if tag == "a" and element.get("href") is None:
            self._inline(element, depth)
            return
        role = _role_of(element, tag, kind)
        options = ()
        if tag == "select":
            options = tuple(shorten(_text_of_option(option), LONGEST) for option in element.iter("option"))
        name, number = self._name_of(element, tag, kind), len(self.controls) + 1
        disabled = tag != "a" and (element.get("disabled") is not None or _in_disabled_group(element))
        control = Control(number, self._places[element], element, role, name, kind, disabled, options)
        self.controls.append(control)
        self._flush(depth)
        self.lines.append(PageLine(depth, role, name, control))

    # Names.

    def label_of(self, element: Any) -> str:
        """The name by ``aria-label`` or ``aria-labelledby``; empty without one."""
        if label := element.get("aria-label"):
            return " ".join(label.split())
        if references := element.get("aria-labelledby"):
            return " ".join(filter(None, map(self._text_by_id, references.split())))
        return ""

    def description_of(self, element: Any) -> str:
        """The text that ``aria-describedby`` refers to."""
        references = element.get("aria-describedby")
        return " ".join(filter(None, map(self._text_by_id, references.split()))) if references else ""

    @cached_property
    def _ids(self) -> dict[str, Any]:
        """The elements with an id, the first of each."""
        return {found.get("id"): found for found in reversed([*self.root.iter("*")]) if found.get("id")}

    def _text_by_id(self, identifier: str) -> str:
        return text_of(self._ids[identifier]) if identifier in self._ids else ""

    def _name_of(self, element: Any, tag: str, kind: str) -> str:
        if name := self.label_of(element):
            return name
        if tag in ("a", "button"):
            return text_of(element) or (element.get("title") or "").strip()
        if kind in _BUTTONS:
            return element.get("value") or element.get("alt") or {"submit": "Submit", "reset": "Reset"}.get(kind, "")
        if self._labels is None:
            self._labels = {label.get("for"): text_of(label) for label in self.root.iter("label") if label.get("for")}
        if name := self._labels.get(element.get("id") or "", ""):
            return name
        around = next(element.iterancestors("label"), None)
        name = "" if around is None else text_of(around)
        return name or " ".join((element.get("title") or element.get("placeholder") or "").split())


def is_hidden(element: Any) -> bool:
    return element.get("hidden") is not None or element.get("aria-hidden") == "true"


def text_of(element: Any) -> str:
    """The text in an element that is neither hidden nor a value, with single spaces."""
    if len(element) == 0:
        return " ".join((element.text or "").split())
    parts: list[str] = []
    _collect(element, parts)
    return " ".join("".join(parts).split())


def _collect(element: Any, parts: list[str]) -> None:
    if element.text:
        parts.append(element.text)
    for child in element:
        tag = child.tag
        if tag == "img":
            parts.append(f" {child.get('alt') or ''} ")
        elif type(tag) is str and tag not in ("select", "textarea", "script", "style") and not is_hidden(child):
            if tag in _BLOCKS:
                parts.append(" ")
            _collect(child, parts)
        if child.tail:
            parts.append(child.tail)


def _text_of_option(option: Any) -> str:
    return option.get("label") or text_of(option)


def _role_of(element: Any, tag: str, kind: str) -> str:
    if tag == "a":
        return "link"
    if kind in _BUTTONS:
        return "button"
    if tag == "select":
        return "listbox" if element.get("multiple") is not None else "combobox"
    if kind in ("checkbox", "radio"):
        return kind
    if kind in _TEXTUAL or tag == "textarea":
        return {"search": "searchbox", "number": "spinbutton"}.get(kind, "textbox")
    return "unsupported"


def _in_disabled_group(element: Any) -> bool:
    """Whether a fieldset around a control is disabled, other than by its first legend."""
    for group in element.iterancestors("fieldset"):
        if group.get("disabled") is not None:
            legend = group.find("legend")
            if legend is None or not any(around is legend for around in element.iterancestors("legend")):
                return True
    return False
