"""HTML forms: the controls of a form, the entries that it sends, and their encoding.

The code follows "constructing the entry list" and "form submission" in the HTML standard.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote, quote_plus, unquote, urljoin, urlsplit, urlunsplit

from .accessibility import FRAME, Control, Edits, Page, frame_of
from .observations import value_of
from .stored_files import StoredFile

_LINE_END = re.compile(r"\r\n|\r|\n")
# Characters of an address that are not encoded; "%" because it begins characters that are encoded already.
_PLAIN = "/%:@!$&()*+,;=-._~[]"
# Space and control characters, which are ignored around an address.
_STRIPPED = "".join(map(chr, range(33)))
_PATH = re.compile(r"[^?#]*")
# A dot, plain or encoded, in a path segment "." or "..".
_DOTS = re.compile(r"(?<![^/])(?:\.|%2e){1,2}(?![^/])", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class FormRequest:
    """Request that a form sends: a method, an address without fragment, and the body of a POST with its type."""

    method: str
    url: str
    body: str = ""
    content_type: str = "application/x-www-form-urlencoded"


def form_of(page: Page, element: Any) -> Any:
    """Return the form that a control belongs to, or None."""
    if identifier := element.get("form"):
        named = (form for form in page.root.iter("form") if form.get("id") == identifier)
        return next((form for form in named if frame_of(form) is frame_of(element)), None)
    around = next(element.iterancestors("form", FRAME), None)
    return around if around is not None and around.tag == "form" else None


def controls_of(page: Page, form: Any) -> list[Control]:
    """Return the visible controls of a form."""
    return [control for control in page.controls if control.role != "link" and form_of(page, control.element) is form]


def default_button(page: Page, form: Any) -> Control | None:
    """Return the first submit button of the form, or None."""
    return next((one for one in controls_of(page, form) if one.kind in ("submit", "image")), None)


def send_form(
    page: Page, form: Any, button: Control | None, edits: Edits, base: str, files: Sequence[StoredFile] = ()
) -> FormRequest:
    """Return the request of a form on the page at address ``base``, submitted by ``button`` (None: by no button).
    ``files`` are those that fields for files name. Raise ValueError if the address of the form is invalid."""
    source = {} if button is None else button.element.attrib
    method = (source.get("formmethod") or form.get("method") or "get").strip().lower()
    target = source.get("formaction") or form.get("action") or base
    url = resolve(base, target)
    entries = list(entries_of(page, form, button, edits))
    kind = (source.get("formenctype") or form.get("enctype") or "").strip().lower()
    if method == "post" and kind == "multipart/form-data":
        return _send_multipart(url, entries, files)
    body = "&".join(f"{_encode(name)}={_encode(value)}" for name, value, _ in entries)
    if method == "post":
        return FormRequest("POST", url, body)
    return FormRequest("GET", urlunsplit((*urlsplit(url)[:3], body, "")))


def _send_multipart(url: str, entries: Sequence[tuple[str, str, bool]], files: Sequence[StoredFile]) -> FormRequest:
    """Return the request with each entry as a part; see RFC 7578, sections 4.1 to 4.4."""
    contents, boundary, parts = {one.name: one.text for one in files}, "----PalaestraForm", []
    for name, value, is_file in entries:
        head = f'Content-Disposition: form-data; name="{_quote_name(name)}"'
        if is_file:
            kind = "text/plain" if value else "application/octet-stream"
            head += f'; filename="{_quote_name(value)}"\r\nContent-Type: {kind}'
            parts.append(f"{head}\r\n\r\n{contents.get(value, '')}\r\n")
        else:
            parts.append(f"{head}\r\n\r\n{_end_lines(value)}\r\n")
    while any(boundary in part for part in parts):
        boundary += "-"
    body = "".join(f"--{boundary}\r\n{part}" for part in parts) + f"--{boundary}--\r\n"
    return FormRequest("POST", url, body, f"multipart/form-data; boundary={boundary}")


def _quote_name(name: str) -> str:
    return _end_lines(name).replace("\r\n", "%0D%0A").replace('"', "%22")


def entries_of(page: Page, form: Any, button: Control | None, edits: Edits) -> Iterator[tuple[str, str, bool]]:
    """Yield what a form sends, in document order: (name, value, True if the value is the name of a file)."""
    visible = {control.element: control for control in page.controls}
    for element in page.root.iter("button", "input", "select", "textarea"):
        name = element.get("name")
        if not name or form_of(page, element) is not form:
            continue
        control = visible.get(element)
        if control is None:
            # Hidden fields, and fields in hidden parts, are sent with the value in the document.
            kind = (element.get("type") or "text").lower() if element.tag == "input" else element.tag
            roles = {"checkbox": "checkbox", "radio": "radio", "select": "combobox", "button": "button"}
            disabled = element.get("disabled") is not None
            control = Control(0, -1, element, roles.get(kind, "textbox"), "", kind, disabled)
        if control.disabled or (control.role == "button" and control is not button):
            continue
        value = value_of(control, edits)
        if control.role == "button" or control.kind == "hidden":
            yield name, element.get("value") or "", False
        elif control.role in ("checkbox", "radio"):
            if value:
                yield name, element.get("value", "on"), False
        elif isinstance(value, tuple):
            for place, option in enumerate(element.iter("option")):
                if place in value and option.get("disabled") is None:
                    yield name, find_value(control, place), False
        else:
            yield name, str(value), control.kind == "file"


def _end_lines(text: str) -> str:
    """Return a text with line ends as forms send them."""
    return _LINE_END.sub("\r\n", text)


def _encode(text: str) -> str:
    return quote_plus(_end_lines(text).encode("utf-8", "replace"), safe="*").replace("~", "%7E")


@functools.lru_cache(maxsize=2_048)
def resolve(base: str, address: str) -> str:
    """Return the absolute form, encoded and without fragment, of an ``address`` on the page at address ``base``.

    Raises:
        ValueError: the address is invalid.
    """
    address = address.strip(_STRIPPED)
    path = _PATH.match(address)[0]  # type: ignore[index]
    address = _DOTS.sub(lambda dots: unquote(dots[0]), path.replace("\\", "/")) + address[len(path) :]
    scheme, host, path, query, _ = urlsplit(urljoin(base, address))
    path = quote(path.encode("utf-8", "replace"), safe=_PLAIN)
    return urlunsplit((scheme, host, path or "/", quote(query.encode("utf-8", "replace"), safe=f"{_PLAIN}?"), ""))


def find_option(control: Control, text: str) -> int | None:
    """Return the index of the option with this text or, failing that, this value, ignoring case; None if there is
    none."""
    wanted = " ".join(text.split()).casefold()
    for place, shown in enumerate(control.options):
        if shown.casefold() == wanted:
            return place
    values = (str(option.get("value", "")).casefold() for option in control.element.iter("option"))
    return next((place for place, value in enumerate(values) if value == wanted), None)


def find_value(control: Control, place: int) -> str:
    """Return the value that the option with index ``place`` of a list sends."""
    option = list(control.element.iter("option"))[place]
    return option.get("value", " ".join((option.text or "").split()))
