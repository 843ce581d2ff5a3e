"""`DetailsPages` of each site, in `DETAILS`. Details are made up from the title of an object."""

from __future__ import annotations

import functools
import zlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import date, timedelta

Choices = Mapping[str, tuple[str, ...]]


@dataclass(frozen=True)
class TableColumn:
    """Column of a table: an SQL expression, and words for its smallest and largest value, or "" where none is asked
    for."""

    sql: str
    least: str = ""
    most: str = ""


@dataclass(frozen=True)
class DetailsPages:
    """The pages of a site.

    Args:
        noun: the objects in words, in the singular.
        table: the FROM clause of the objects, without the word FROM.
        title, search, link: SQL expressions for the title of an object, the text that finds it in the search box of the
            site, and the link of the result.
        path: the address of the page of an object, which leads to its details.
        panels: label of a tab or section -> label of a detail -> values that it can have.
        tabs: True if the panels are tabs, of which the first is shown, False if they are closed sections.
        events: what has happened to an object.
        code: label of a code that is shown for the length of one action.
        actions: labels of the items of a menu, which are confirmed in a dialog.
        day: label of the date that can be planned.
        place: label of the place that can be planned.
        places: the places.
        note: label of a text that can be written.
        columns: label of a column of the table -> column.
        lanes: lanes of the board, the first for objects that are not planned; empty if there is no board.
    """

    noun: str
    table: str
    path: str
    panels: Mapping[str, Choices]
    tabs: bool
    events: tuple[str, ...]
    code: str
    actions: tuple[str, ...]
    day: str
    place: str
    places: tuple[str, ...]
    note: str
    columns: Mapping[str, TableColumn]
    title: str = "title"
    search: str = "title"
    link: str = "title"
    lanes: tuple[str, ...] = ()
    hidden: Choices = field(init=False)

    def __post_init__(self) -> None:
        """Find the details that a visitor does not see at first."""
        hidden = list(self.panels.values())[self.tabs :]
        object.__setattr__(self, "hidden", {label: values for panel in hidden for label, values in panel.items()})

    @functools.cached_property
    def sql(self) -> str:
        """Query for the objects: id, title, search text, link and the columns of the table."""
        names = {"id": "id", "title": self.title, "search": self.search, "link": self.link}
        columns = [one.sql for one in self.columns.values()]
        return f"SELECT {', '.join([f'{sql} AS {name}' for name, sql in names.items()] + columns)} FROM {self.table}"

    def panel_of(self, label: str) -> str:
        """Return the label of the tab or section with a detail."""
        return next(panel for panel, labels in self.panels.items() if label in labels)

    def detail_of(self, title: str, label: str) -> str:
        """Return the value of a detail of the object with this title."""
        values = self.panels[self.panel_of(label)][label]
        return values[draw_number(title, label) % len(values)]

    def history_of(self, title: str) -> list[tuple[str, str]]:
        """Return pairs (day, event) of an object, the oldest first."""
        days = {event: date(2025, 1, 1) + timedelta(days=draw_number(title, event) % 480) for event in self.events}
        return sorted((day.isoformat(), event) for event, day in days.items())

    def code_of(self, title: str) -> str:
        """Return the code of an object."""
        number = draw_number(title, self.code)
        return f"{'ABCDEFGHKLMNPRST'[number % 16]}{number // 16 % 9 + 1}-{number // 256 % 9000 + 1000}"


def draw_number(title: str, label: str) -> int:
    """Return a number that is made up from the title of an object and a label."""
    return zlib.crc32(f"{label}: {title}".encode())


_COUNTRIES = ("Austria", "Denmark", "Estonia", "Greece", "Ireland", "Malta", "Norway", "Portugal", "Slovenia")
_NAMES = ("Ada Brook", "Ben Castle", "Cleo Dunn", "Dario Engel", "Elif Frost", "Femi Gray", "Gina Holt", "Hugo Ivers")

_SHOP = DetailsPages(
    noun="product",
    table="products",
    title="name",
    search="name",
    link="name",
    path="/product/{}",
    panels={
        "Description": {"Made for": ("kitchens", "gardens", "offices", "journeys", "workshops")},
        "Specification": {
            "Material": ("beech wood", "bamboo", "cotton", "steel", "recycled glass", "clay", "cork", "wool"),
            "Country of origin": _COUNTRIES,
            "Weight": ("180 g", "240 g", "410 g", "560 g", "730 g", "1100 g", "1450 g"),
        },
        "Warranty": {
            "Warranty period": ("6 months", "18 months", "30 months", "42 months", "66 months"),
            "Repairs by": _NAMES,
        },
    },
    tabs=True,
    events=("first sold", "relabelled", "restocked", "tested", "repacked", "photographed", "moved", "inspected"),
    code="shelf code",
    actions=("Report a fault", "Report a wrong price", "Hide from suggestions"),
    day="Remind me on",
    place="Pick-up point",
    places=(
        *("Harbour kiosk, Mill Lane 4", "Bakery Noor, Elm Street 9", "Station locker, Platform Road 2"),
        *("Corner press, Mint Square 1", "Flower stall, Chapel Hill 7", "Book den, Orchard Way 3"),
    ),
    note="Gift note",
    columns={
        "Price": TableColumn("price / 100.0", "lowest price", "highest price"),
        "Rating": TableColumn("coalesce(stars, 0.0)"),
        "Reviews": TableColumn("number", "", "most reviews"),
        "Brand": TableColumn("brand"),
    },
)
_BOOKING = DetailsPages(
    noun="room",
    table="(SELECT r.*, h.name AS house_name, h.town, h.rating, h.sea FROM rooms r JOIN houses h ON h.id = r.house)",
    title="name || ' at ' || house_name",
    search="name || ' ' || house_name",
    link="name || ' at ' || house_name",
    path="/room/{}",
    panels={
        "Arrival": {
            "Check-in from": ("13:30", "14:15", "14:45", "15:30", "16:15", "17:45"),
            "Key at": ("the bakery", "the pier office", "the lighthouse", "the post office", "the chandlery"),
        },
        "House rules": {
            "Quiet from": ("20:30", "21:15", "21:45", "22:30", "23:15"),
            "Pets": ("none", "cats only", "one small dog", "two dogs", "birds only"),
            "Deposit": ("35.50", "48.20", "61.70", "74.90", "88.10", "93.40"),
        },
        "On site": {"Bedding": ("feather", "wool", "hemp", "foam", "spelt"), "Host": _NAMES},
    },
    tabs=False,
    events=("renovated", "painted", "inspected", "rewired", "refurnished", "photographed", "reopened", "insulated"),
    code="door code",
    actions=("Ask for a cot", "Ask for a late arrival", "Report the room"),
    day="Send a reminder on",
    place="Airport transfer from",
    places=(
        *("Northgate Airport, Terminal 2", "Sandy Bay Airfield", "Westmoor Central, Hall B", "Port Alder Ferry"),
        *("Kestrel Heights Heliport", "Old Mole Station"),
    ),
    note="Wishes",
    columns={
        "Price": TableColumn("price / 100.0", "lowest price", "highest price"),
        "Guests": TableColumn("sleeps"),
        "Weekend price": TableColumn("weekend / 100.0", "lowest weekend price", "highest weekend price"),
        "Town": TableColumn("town"),
    },
)
_FORUM = DetailsPages(
    noun="thread",
    table="threads",
    path="/thread/{}",
    panels={
        "Tone": {"Mood": ("calm", "heated", "playful", "helpful", "puzzled"), "Watched by": _NAMES},
        "Origin": {
            "Written on": ("a phone", "a tablet", "a laptop", "a library desk", "a kiosk"),
            "Language": ("Basque", "Danish", "Estonian", "Irish", "Maltese", "Welsh"),
        },
        "Rules": {"Locks after": ("40 days", "55 days", "70 days", "85 days", "110 days")},
    },
    tabs=False,
    events=("moved", "merged", "renamed", "featured", "archived", "translated", "reviewed", "restored"),
    code="share code",
    actions=("Mute this thread", "Follow this thread", "Ask a moderator to look"),
    day="Remind me on",
    place="Meeting place",
    places=(
        *("Village hall, upper room", "Old forge, back door", "Chapel garden", "Reading room, first floor"),
        *("Cider barn", "Bowling green"),
    ),
    note="Notes",
    columns={
        "Votes": TableColumn("votes", "fewest votes", "most votes"),
        "Replies": TableColumn("replies", "", "most replies"),
        "Started": TableColumn("day", "earliest start", "latest start"),
    },
)
_TRACKER = DetailsPages(
    noun="ticket",
    table="tickets",
    path="/ticket/{}",
    panels={
        "Summary": {"Reported through": ("mail", "phone", "chat", "a form")},
        "Environment": {
            "Version": ("3.14.2", "3.15.0", "3.15.7", "4.0.1", "4.1.3", "4.2.8"),
            "Region": ("north", "east", "south", "west", "centre"),
            "Device": ("tablet", "kiosk", "terminal", "scanner", "phone"),
        },
        "Review": {"Reviewer": _NAMES, "Test bench": ("Falcon", "Heron", "Osprey", "Petrel", "Siskin")},
    },
    tabs=True,
    events=("triaged", "reproduced", "estimated", "demonstrated", "split", "rebased", "measured", "documented"),
    code="build code",
    actions=("Escalate", "Put on hold", "Ask for a demonstration"),
    day="Look again on",
    place="Test site",
    places=(
        "Quay lab, bench 3",
        "Signal tower",
        "Dry dock, shed 8",
        "Depot north, bay 5",
        "Training room",
        "Lamp room",
    ),
    note="Handover",
    columns={
        "Estimate": TableColumn("estimate", "", "largest estimate"),
        "Opened": TableColumn("opened", "earliest opening day", "latest opening day"),
        "Priority": TableColumn("priority"),
        "Project": TableColumn("project"),
    },
    lanes=("Unplanned", "This week", "Next week"),
)
_ADMIN = DetailsPages(
    noun="user",
    table="users",
    title="name",
    search="mail",
    link="name",
    path="/user/{}",
    panels={
        "Contact": {"Speaks": ("Czech", "Dutch", "Finnish", "Greek", "Polish")},
        "Devices": {
            "Laptop": ("Alder 13", "Birch 14", "Cedar 15", "Hazel 16", "Rowan 17"),
            "Phone": ("Finch", "Lark", "Robin", "Swift", "Wren"),
            "Badge": ("amber", "cobalt", "crimson", "ivory", "olive", "violet"),
        },
        "Workplace": {"Room": ("B 214", "C 108", "D 331", "E 027", "F 419"), "Mentor": _NAMES},
    },
    tabs=True,
    events=("trained", "badged", "relocated", "audited", "promoted", "interviewed", "equipped", "insured"),
    code="recovery code",
    actions=("End all sessions", "Ask for a new password", "Freeze the mailbox"),
    day="Review access on",
    place="Site",
    places=("Harbour house, floor 2", "Customs shed", "Pilot station", "Grain silo, annexe", "North pier", "Net loft"),
    note="Remarks",
    columns={
        "Mail": TableColumn("mail"),
        "State": TableColumn("state"),
        "Licence": TableColumn("licence"),
        "Last login": TableColumn("login", "", "latest login"),
        "Badge number": TableColumn("id * 7919 % 9973", "lowest badge number", "highest badge number"),
    },
    lanes=("To review", "Keep", "Revoke"),
)
_WIKI = DetailsPages(
    noun="article",
    table="articles",
    path="/article/{}",
    panels={
        "Sources": {
            "Main source": (
                "parish registers",
                "harbour logs",
                "court rolls",
                "field notes",
                "old letters",
                "tax lists",
            ),
            "Checked by": _NAMES,
        },
        "Discussion": {
            "Grade": ("stub", "start", "fair", "good", "excellent"),
            "Open points": ("the spelling", "the dates", "the maps", "the pictures", "the references"),
        },
        "Translations": {"Latest translation": ("Breton", "Catalan", "Faroese", "Frisian", "Ladin", "Sorbian")},
    },
    tabs=False,
    events=("created", "expanded", "illustrated", "split", "proofread", "protected", "featured", "recorded"),
    code="citation code",
    actions=("Propose for deletion", "Propose as featured", "Protect from edits"),
    day="Check again on",
    place="Archive",
    places=(
        "State archive, hall 6",
        "Maritime library",
        "Abbey cellar",
        "Land survey office",
        "Film vault",
        "Map room",
    ),
    note="Talk page",
    columns={
        "Kind": TableColumn("kind"),
        "About": TableColumn("about"),
        "Values": TableColumn("(SELECT count(*) FROM facts WHERE article = articles.id)"),
        "Links to it": TableColumn("(SELECT count(*) FROM links WHERE target = articles.id)", "", "most links to it"),
    },
)
DETAILS: Mapping[str, DetailsPages] = {
    "shop": _SHOP,
    "booking": _BOOKING,
    "forum": _FORUM,
    "tracker": _TRACKER,
    "admin": _ADMIN,
    "wiki": _WIKI,
}
