"""`Walk`: scripted visitor of a site that finds controls by role and name and records every action.

The visitor acts in the in-process browser, on a copy of the site; the actions can be replayed in any browser. The
visitor scrolls to each control before using it, so that every id in the actions has been shown.
"""

from __future__ import annotations

from ..browsers.accessibility import Control
from ..browsers.browser import Browser
from ..browsers.commands import Command
from ..browsers.observations import value_of

# Maximum number of pages of results that are searched.
MOST_PAGES = 40


class NotThere(LookupError):
    """Exception: the page has no control with this role and name, or the action on it is impossible."""


class Walk:
    """Visitor of a site in ``browser``. ``actions`` is the list of all actions so far. Methods that use a control or
    a text raise `NotThere` if there is none."""

    def __init__(self, browser: Browser):
        self.browser = browser
        self.actions: list[str] = []

    def find(self, role: str, name: str) -> Control | None:
        """Return the first enabled control of the page with this role and name, or None."""
        controls = self.browser.page.controls
        return next((one for one in controls if one.name == name and one.role == role and not one.disabled), None)

    def click(self, role: str, name: str) -> None:
        """Click on a control."""
        self._do("click", self._need(role, name))

    def confirm(self, name: str) -> None:
        """Click on a button, and confirm it in the dialog that opens."""
        self.click("button", name)
        self.click("button", "Confirm")

    def read(self, text: str) -> None:
        """Make sure that a text is on the page."""
        if not any(text in line.name for line in self.browser.page.lines):
            raise NotThere(text)

    def download(self, link: str) -> str:
        """Download a file by a link, and open it. Return its name."""
        number = len(self.browser.files)
        self.click("link", link)
        if len(self.browser.files) == number:
            raise NotThere(f"file {link}")
        name = self.browser.files[-1].name
        self.open_file(name)
        return name

    def open_file(self, name: str) -> None:
        """Open a file."""
        self._perform(Command("open_file", 0, name))

    def upload(self, field: str, name: str) -> None:
        """Put a file into a field for files."""
        self._do("upload", self._need("file", field), name)

    def close_tab(self, place: int) -> None:
        """Close the tab that is shown, and go to the one with index ``place``."""
        self._perform(Command("close_tab"))
        self.go_to_tab(place)

    def go_to_tab(self, place: int) -> None:
        """Go to the tab with index ``place``, unless it is shown."""
        if self.browser.place != place:
            self._perform(Command("tab", 0, str(place)))

    def seek(self, role: str, name: str) -> None:
        """Click on a control of this page or of the following result pages."""
        for _ in range(MOST_PAGES):
            if self.find(role, name) is not None:
                break
            self.click("link", "Next page")
        self.click(role, name)

    def fill(self, name: str, text: str) -> None:
        """Fill in a text field, unless it has this text already."""
        roles = ("textbox", "searchbox", "spinbutton")
        control = next((one for role in roles if (one := self.find(role, name)) is not None), None)
        if control is None:
            raise NotThere(name)
        if value_of(control, self.browser.edits) != text:
            self._do("fill", control, text)

    def select(self, name: str, option: str) -> None:
        """Choose an option of a list, unless it is chosen already."""
        control = self._need("combobox", name)
        chosen = value_of(control, self.browser.edits)
        if not isinstance(chosen, tuple) or [control.options[place] for place in chosen] != [option]:
            self._do("select", control, option)

    def tick(self, role: str, name: str, ticked: bool = True) -> None:
        """Tick a box or a radio button or, with ``ticked`` False, clear a box."""
        control = self._need(role, name)
        if value_of(control, self.browser.edits) is not ticked:
            self._do("click", control)

    def press_enter(self, role: str, name: str) -> None:
        """Press Enter in a control."""
        self._do("press", self._need(role, name), "Enter")

    def search(self, box: str, text: str) -> None:
        """Search the site for a text."""
        self.fill(box, text)
        self.press_enter("searchbox", box)

    def look_up(self, box: str, text: str, link: str = "") -> None:
        """Search the site for a text, and follow the link of a result with the name ``link``; default: the text."""
        self.search(box, text)
        self.seek("link", link or text)

    def _need(self, role: str, name: str) -> Control:
        control = self.find(role, name)
        if control is None:
            raise NotThere(f"{role} {name}")
        return control

    def _do(self, verb: str, control: Control, text: str = "") -> None:
        lines = self.browser.page.lines
        place = next(place for place, line in enumerate(lines) if line.control is control)
        while not self.browser.scrolled <= place < self.browser.scrolled + self.browser.lines:
            self._perform(Command("scroll", 0, "down" if place > self.browser.scrolled else "up"))
        self._perform(Command(verb, control.number, text))

    def _perform(self, command: Command) -> None:
        error = self.browser.perform(command)
        if error:
            raise NotThere(error)
        self.actions.append(str(command))
