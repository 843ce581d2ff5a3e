"""`Page`: accessible contents of a page, which are controls with roles, names and values, and the text between them.

A page is made from HTML alone and never changes. Text that is typed and boxes that are ticked later are in `Edits`, so
that one parsed page serves many episodes and the same code describes pages of the in-process browser and of Chromium.
Controls are numbered in document order, from 1. Text from the page is quoted and kept on one line, so that no page can
pass text off as a control.

Roles and names follow the HTML Accessibility API Mappings and the computation of accessible names (WAI-ARIA), for
elements that work without style: an element counts as hidden by ``hidden``, ``inert`` and ``aria-hidden``, not by a
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
"""Value of a control: the text of a text field, True for a ticked box, the indices of the chosen options of a list."""
Edits = Mapping[int, Value]
"""Number of a control -> the value that replaces the one in the HTML."""

# Tags of elements that may be controls; `Control.place` is the index among all of these elements.
CONTROLS = ("a", "button", "input", "select", "textarea")
# Tag of the element that stands for a frame, with its document as content; see `page_frames`.
FRAME = "page-frame"
# Most characters of one name or piece of text, and options shown of a list.
LONGEST, MOST_OPTIONS = 300, 40
_LANDMARKS = {
    **{"header": "banner", "nav": "navigation", "main": "main", "footer": "contentinfo", "aside": "complementary"},
    **{"section": "region", "form": "form", "fieldset": "group"},
}
# Landmarks that are shown only if they have a name.
_NAMED = frozenset({"region", "form", "group"})
_SKIPPED = frozenset(
    {"head", "title", "link", "meta", "script", "style", "template", "svg", "legend", "iframe", "object"}
)
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
# Roles of controls other than lists, by kind.
_ROLES = {
    **dict.fromkeys((*_TEXTUAL, "textarea"), "textbox"),
    **{"search": "searchbox", "number": "spinbutton", "a": "link", "checkbox": "checkbox", "radio": "radio"},
    **{"file": "file"},
    **dict.fromkeys(_BUTTONS, "button"),
}
# Names of buttons that have no name in the document.
_UNNAMED = {"submit": "Submit", "reset": "Reset"}
# Roles that an author can give to controls, and to containers, which are shown as landmarks.
_GIVEN = frozenset({"tab", "menuitem", "option", "combobox", "gridcell"})
_CONTAINERS = frozenset({"dialog", "alertdialog", "menu", "tablist", "tabpanel", "listbox", "toolbar", "grid"})
# States of a control in ARIA -> value -> words.
_STATES = {
    "aria-expanded": {"true": " expanded", "false": " collapsed"},
    "aria-selected": {"true": " selected"},
    "aria-pressed": {"true": " pressed"},
}
# For comments and processing instructions, lxml gives a constructor as the tag.
_NO_ELEMENTS = (etree.Comment, etree.ProcessingInstruction, etree.Entity)
_NO_TEXT = frozenset({*_NO_ELEMENTS, "select", "textarea", "script", "style"})
# Treatment of each tag; all other tags are part of the surrounding text.
_KINDS: Mapping[Any, str] = {
    **dict.fromkeys(_BLOCKS, "block"),
    **dict.fromkeys(_LANDMARKS, "landmark"),
    **dict.fromkeys(_HEADINGS, "heading"),
    **dict.fromkeys((*_SKIPPED, *_NO_ELEMENTS), "skipped"),
    **dict.fromkeys(CONTROLS, "control"),
    **{"label": "label", "img": "picture", "td": "cell", "th": "cell", FRAME: "frame"},
}


@dataclass(slots=True, eq=False)
class Control:
    """Element of a page that can be clicked, filled in or chosen from.

    Args:
        number: the id in observations and actions, from 1.
        place: the index among all elements of the document with a tag of `CONTROLS`.
        element: the element of the parsed document.
        role: "link", "button", "textbox", "searchbox", "spinbutton", "checkbox", "radio", "combobox", "listbox", "file"
            or "unsupported".
        name: the accessible name.
        kind: the type of an input or button, else the tag.
        disabled: True if the control cannot be used.
        options: the texts of the options of a list.
        chosen: the indices of the options of a list that the HTML selects.
    """

    number: int
    place: int
    element: Any
    role: str
    name: str
    kind: str
    disabled: bool
    options: tuple[str, ...] = ()
    chosen: tuple[int, ...] = ()

    def default(self) -> Value:
        """Return the value that the HTML gives the control."""
        if self.role in ("checkbox", "radio"):
            return self.element.get("checked") is not None
        if self.role in ("combobox", "listbox"):
            return self.chosen
        if self.kind == "textarea":
            # HTML ignores a newline at the start of a text area.
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
        has_widgets, has_toast: True if parts of the page are widgets, and if one of them vanishes soon; see `widgets`.
        has_current: True if a control may be marked as current, as the link of this page.
        descriptions: cache of the observation lines without edits: function that writes a line -> lines; see
            `observations`.
    """

    html: str
    has_widgets: bool = field(init=False)
    has_toast: bool = field(init=False)
    has_current: bool = field(init=False)
    controls: list[Control] = field(init=False, default_factory=list)
    descriptions: dict[Any, list[str]] = field(init=False, default_factory=dict)

    def __post_init__(self) -> None:
        text = encode_document(self.html)
        self.root = parse_document(text)
        # Most pages have no hidden parts, or only hidden fields; elements then need no individual check.
        source = text.lower()
        self.has_widgets = b"data-widget" in source
        self.has_toast = self.has_widgets and b"data-left" in source
        self.has_current = b"aria-current" in source
        self._hides = source.count(b"hidden") > source.count(b'type="hidden"') or b" inert" in source
        self._disables, self._names = b"disabled" in source, b"aria-label" in source
        self._states = [one for one in _STATES.items() if self.has_widgets and one[0].encode() in source]
        self._sorts = self.has_widgets and b"aria-sort" in source
        self._frames = FRAME.encode() in source
        self._labels: dict[tuple[Any, str], str] | None = None
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
            self._run.clear()
            if text:
                self.lines.append(PageLine(depth, role, text))

    def _walk(self, parent: Any, depth: int) -> None:
        run, hides = self._run, self._hides
        for element in parent:
            kind = _KINDS.get(element.tag, "inline")
            if kind == "control":
                self._add_control(element, element.tag, depth)
            elif kind == "skipped" or (hides and is_hidden(element)):
                pass
            elif kind == "inline":
                self._inline(element, depth)
            elif kind == "block":
                if run:
                    self._flush(depth)
                role = element.get("role")
                if role == "img":
                    run.append(f" {self._label_of(element)} ")
                elif role in _CONTAINERS:
                    self._walk_landmark(element, element.tag, depth, role)
                else:
                    self._enter(element, depth, role if role in ("alert", "status") else "text")
            elif kind == "cell":
                if run:
                    run.append(" | ")
                self._inline(element, depth)
            elif kind == "heading":
                self._flush(depth)
                if len(element) == 0 or next(element.iter(*CONTROLS), None) is None:
                    self.lines.append(PageLine(depth, "heading", self._text_of(element)))
                else:
                    self._enter(element, depth)
            elif kind == "landmark":
                self._flush(depth)
                self._walk_landmark(element, element.tag, depth)
            elif kind == "frame":
                self._flush(depth)
                if len(element) or element.text:
                    name = self._label_of(element) or " ".join((element.get("title") or "").split())
                    self.lines.append(PageLine(depth, "frame", name))
                    self._enter(element, depth + 1)
            elif kind == "label":
                if element.get("for") is None and next(element.iter(*CONTROLS[1:]), None) is None:
                    self._inline(element, depth)
                elif len(element):
                    # The text of the label is the name of the control.
                    for inner in element.iter(*CONTROLS):
                        self._add_control(inner, inner.tag, depth)
            elif alt := element.get("alt"):  # a picture
                run.append(f" {alt} ")
            if tail := element.tail:
                run.append(tail)

    def _inline(self, element: Any, depth: int) -> None:
        if text := element.text:
            self._run.append(text)
        if len(element):
            self._walk(element, depth)

    def _enter(self, element: Any, depth: int, role: str = "text") -> None:
        if text := element.text:
            self._run.append(text)
        if len(element):
            self._walk(element, depth)
        if self._run:
            self._flush(depth, role)

    def _walk_landmark(self, element: Any, tag: str, depth: int, role: str = "") -> None:
        role = role or ("search" if element.get("role") == "search" else _LANDMARKS[tag])
        name = self._label_of(element)
        if tag == "fieldset" and not name:
            legend = element.find("legend")
            name = "" if legend is None else self._text_of(legend)
        if name or role not in _NAMED:
            self.lines.append(PageLine(depth, role, name))
            depth += 1
        self._enter(element, depth)

    def _add_control(self, element: Any, tag: str, depth: int) -> None:
        kind = (element.get("type") or "").strip().lower() if tag in ("input", "button") else tag
        if tag == "input" and kind not in _TEXTUAL and kind not in _BUTTONS:
            kind = (
                kind if kind in ("hidden", "checkbox", "radio", "file") else "text" if kind == "" else f"{kind} field"
            )
        elif tag == "button" and kind not in ("button", "reset"):
            kind = "submit"
        if kind == "hidden" or (self._hides and is_hidden(element)):
            return
        if tag == "a" and element.get("href") is None:
            self._inline(element, depth)
            return
        role = _ROLES.get(kind, "unsupported")
        if tag == "select":
            role = "listbox" if element.get("multiple") is not None else "combobox"
        texts, chosen = self._read_options(element, role == "listbox") if tag == "select" else ((), ())
        name, number = self._name_of(element, tag, kind), len(self.controls) + 1
        disabled = (
            self._disables and tag != "a" and (element.get("disabled") is not None or _in_disabled_group(element))
        )
        control = Control(number, self._places[element], element, role, name, kind, disabled, texts, chosen)
        self.controls.append(control)
        if self._run:
            self._flush(depth)
        given = element.get("role") if self.has_widgets else None
        self.lines.append(PageLine(depth, given if given in _GIVEN else role, name, control))

    def _read_options(self, element: Any, several: bool) -> tuple[tuple[str, ...], tuple[int, ...]]:
        """Return (texts of the options of a list, indices of the chosen options)."""
        texts: list[str] = []
        chosen: list[int] = []
        usable = -1
        for place, option in enumerate(element.iter("option")):
            text = option.get("label") or self._text_of(option)
            texts.append(text if len(text) <= LONGEST else shorten(text, LONGEST))
            if option.get("selected") is not None:
                chosen.append(place)
            if usable < 0 and not (self._disables and option.get("disabled") is not None):
                usable = place
        if not several and len(chosen) != 1:
            chosen = chosen[-1:] or ([] if usable < 0 else [usable])
        return tuple(texts), tuple(chosen)

    def states_of(self, control: Control) -> str:
        """Return the states of a control in words, each after a space, such as " expanded"."""
        element, states = control.element, ""
        for name, words in self._states:
            if value := element.get(name):
                states += words.get(value, "")
        if self._sorts and (order := element.getparent().get("aria-sort")):
            states += f" sorted {order}"
        return states

    # Names.

    def _label_of(self, element: Any) -> str:
        """Return the name given by ``aria-label`` or ``aria-labelledby``, or ""."""
        if not self._names:
            return ""
        if label := element.get("aria-label"):
            return " ".join(label.split())
        if references := element.get("aria-labelledby"):
            return self._texts_by_id(element, references)
        return ""

    def description_of(self, element: Any) -> str:
        """Return the text that ``aria-describedby`` refers to."""
        references = element.get("aria-describedby")
        return self._texts_by_id(element, references) if references else ""

    @cached_property
    def _ids(self) -> dict[tuple[Any, str], Any]:
        """(frame, id) -> first element with this id."""
        found = (element for element in reversed([*self.root.iter("*")]) if element.get("id"))
        return {self._key(element, element.get("id")): element for element in found}

    def _key(self, element: Any, identifier: str) -> tuple[Any, str]:
        """Return the key of an id that an element refers to: ids are those of the element's frame."""
        return frame_of(element) if self._frames else None, identifier

    def _texts_by_id(self, element: Any, references: str) -> str:
        found = (self._ids.get(self._key(element, one)) for one in references.split())
        return " ".join(filter(None, (self._text_of(one) for one in found if one is not None)))

    def _name_of(self, element: Any, tag: str, kind: str) -> str:
        if name := self._label_of(element):
            return name
        if tag in ("a", "button"):
            return self._text_of(element) or (element.get("title") or "").strip()
        if kind in _BUTTONS:
            return element.get("value") or element.get("alt") or _UNNAMED.get(kind, "")
        if self._labels is None:
            labels = self.root.iter("label")
            self._labels = {
                self._key(label, target): self._text_of(label) for label in labels if (target := label.get("for"))
            }
        if self._labels and (name := self._labels.get(self._key(element, element.get("id") or ""), "")):
            return name
        around = next(element.iterancestors("label"), None)
        name = "" if around is None else self._text_of(around)
        return name or " ".join((element.get("title") or element.get("placeholder") or "").split())

    def _text_of(self, element: Any) -> str:
        """Return an element's text without hidden parts and values, with single spaces."""
        if len(element) == 0:
            text = element.text
            return " ".join(text.split()) if text else ""
        parts: list[str] = []
        self._collect(element, parts)
        return " ".join("".join(parts).split())

    def _collect(self, element: Any, parts: list[str]) -> None:
        if text := element.text:
            parts.append(text)
        for child in element:
            tag = child.tag
            if tag == "img":
                parts.append(f" {child.get('alt') or ''} ")
            elif tag not in _NO_TEXT and not (self._hides and is_hidden(child)):
                if tag in _BLOCKS:
                    parts.append(" ")
                self._collect(child, parts)
            if tail := child.tail:
                parts.append(tail)


def encode_document(html: str) -> bytes:
    """Return a document as the parser takes it."""
    return html.replace("\0", "\ufffd").encode("utf-8", "replace")


def parse_document(text: bytes) -> Any:
    """Return the root element of a document that `encode_document` has encoded."""
    # The parser takes neither a declaration of an encoding in text nor an empty document.
    root = etree.fromstring(text, etree.HTMLParser(encoding="utf-8", no_network=True)) if text.strip() else None
    return etree.Element("html") if root is None else root


def frame_of(element: Any) -> Any:
    """Return the frame that an element is in, or None."""
    return next(element.iterancestors(FRAME), None)


def is_hidden(element: Any) -> bool:
    return element.get("hidden") is not None or element.get("inert") is not None or element.get("aria-hidden") == "true"


def _in_disabled_group(element: Any) -> bool:
    """Return True if a control is in a disabled fieldset, but not in the legend of this fieldset."""
    for group in element.iterancestors("fieldset"):
        if group.get("disabled") is not None:
            legend = group.find("legend")
            if legend is None or not any(around is legend for around in element.iterancestors("legend")):
                return True
    return False
