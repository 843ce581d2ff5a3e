"""`Tab`: snapshot of a browser."""

from __future__ import annotations

from dataclasses import dataclass

from .accessibility import Value
from .stored_files import StoredFile


@dataclass(frozen=True, slots=True)
class Tab:
    """Snapshot of a browser: picklable, and comparable by value.

    Args:
        path: path and query of the page's address.
        html: the document.
        edits: pairs (number of a control, value) of the controls whose value differs from the document's.
        scrolled: index of the first line of the page that is shown.
        sent: True if the page is the response to a form sent by POST.
        history: the pages visited before, the newest last: pairs (path, sent).
        cookies: pairs (name, value).
        future: the pages left by `back`, the last one left at the end: pairs (path, sent).
        focused: the number of the control with the focus; 0: none.
        selected: True if the text of this control is selected.
        others: the other open tabs in order, without cookies.
        place: the index of this tab among all open ones.
        files: the files of the episode; as cookies, only the active tab holds them.
        opened: the name of the file that is shown; "": none.
        name: the name of the window, which links and scripts can use as a target; "": none.
    """

    path: str
    html: str
    edits: tuple[tuple[int, Value], ...] = ()
    scrolled: int = 0
    sent: bool = False
    history: tuple[tuple[str, bool], ...] = ()
    cookies: tuple[tuple[str, str], ...] = ()
    future: tuple[tuple[str, bool], ...] = ()
    focused: int = 0
    selected: bool = False
    others: tuple[Tab, ...] = ()
    place: int = 0
    files: tuple[StoredFile, ...] = ()
    opened: str = ""
    name: str = ""
