"""`Papers` of each site, in `PAPERS`: what its pages with files, frames, new tabs and charts say. Values are made up
from the title of an object, as in `details_content`."""

from __future__ import annotations

import calendar
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from .details_content import Choices, draw_number


@dataclass(frozen=True)
class Papers:
    """The pages of a site.

    Args:
        sheet: label of the link that downloads the data sheet of an object.
        facts: label of a line of the data sheet -> values that it can have.
        notice: label of the link that opens a notice in a new tab.
        reference: label of the reference that the notice states.
        desk: title of the frame with topics and a form.
        topics: label of a topic, which is a page of the frame -> values that it can have.
        rating: label of the choice in the form of the frame.
        grades: the choices.
        remark: label of the text in the form of the frame.
        hand_in: label of the field that takes a file.
        chart: title of the bar chart.
        unit: what its numbers count.
        sql: query for the names of its bars.
        trend: title of the line chart.
    """

    sheet: str
    facts: Choices
    notice: str
    reference: str
    desk: str
    topics: Choices
    rating: str
    grades: tuple[str, ...]
    remark: str
    hand_in: str
    chart: str
    unit: str
    sql: str
    trend: str

    def fact_of(self, title: str, label: str) -> str:
        """Return a value of the data sheet, or of a topic, of the object with this title."""
        values = {**self.facts, **self.topics}[label]
        return values[draw_number(title, label) % len(values)]

    def on_shelf(self, title: str, label: str) -> str:
        """Return what the shelf in the office says under a topic."""
        values = self.topics[label]
        return values[draw_number(title, f"shelf, {label}") % len(values)]

    def leaf_of(self, title: str, leaf: int) -> int:
        """Return the number on a leaf of the office."""
        return 100 + draw_number(title, f"leaf {leaf}") % 900

    def sheet_of(self, title: str) -> str:
        """Return the data sheet of an object, a text file."""
        lines = [self.sheet, title, *(f"{label}: {self.fact_of(title, label)}" for label in self.facts)]
        return "".join(f"{line}\n" for line in lines)

    def reference_of(self, title: str) -> str:
        """Return the reference that the notice of an object states."""
        number = draw_number(title, self.reference)
        return f"{number % 900 + 100}/{'KLMNPRSTVX'[number // 1_000 % 10]}{number // 10_000 % 90 + 10}"

    def bars_of(self, title: str, names: Iterable[str]) -> list[tuple[str, int]]:
        """Return pairs (name, number) of the bar chart of a site whose first object has this title."""
        return [(name, 112 + draw_number(title, f"{self.chart} {name}") % 880) for name in names]

    def trend_of(self, title: str) -> list[tuple[str, int]]:
        """Return pairs (month, number) of the line chart of a site whose first object has this title."""
        return [
            (calendar.month_name[month], 200 + draw_number(title, f"month {month}") % 700) for month in range(1, 13)
        ]


_YEARS = ("2011", "2013", "2016", "2018", "2021", "2023", "2024")
PAPERS: Mapping[str, Papers] = {
    "shop": Papers(
        sheet="Data sheet",
        facts={
            "Made in batch": ("A-17", "A-38", "B-02", "B-55", "C-21", "C-64", "D-09"),
            "Packed weight": ("210 g", "330 g", "480 g", "650 g", "820 g", "1250 g"),
            "Tested by": ("Marta Lund", "Nils Orr", "Oda Penn", "Pavel Quist", "Runa Stahl"),
        },
        notice="Safety notice",
        reference="notice number",
        desk="Care desk",
        topics={
            "Cleaning": ("dry cloth", "damp cloth", "soap and water", "soft brush", "vinegar"),
            "Storage": ("dry shelf", "cool cellar", "dark drawer", "open rack", "closed box"),
        },
        rating="Packaging was",
        grades=("too much", "just right", "too little"),
        remark="What to improve",
        hand_in="Proof of purchase",
        chart="Returns by category",
        unit="returns",
        sql="SELECT DISTINCT category FROM products ORDER BY category",
        trend="Visitors by month",
    ),
    "booking": Papers(
        sheet="House manual",
        facts={
            "Wifi name": ("gull-guest", "kelp-guest", "tern-guest", "wharf-guest", "buoy-guest", "skerry-guest"),
            "Fuse box": ("in the hall", "behind the stairs", "in the kitchen", "under the porch", "in the attic"),
            "Last inspection": _YEARS,
        },
        notice="Ferry timetable",
        reference="timetable number",
        desk="Deposit desk",
        topics={
            "Paying": ("by card", "by transfer", "in cash", "by voucher", "at the door"),
            "Refunds": ("within 3 days", "within 5 days", "within 8 days", "within 12 days", "within 20 days"),
        },
        rating="Deposit",
        grades=("pay now", "pay on arrival", "send a reminder"),
        remark="Name on the receipt",
        hand_in="Signed form",
        chart="Late arrivals by town",
        unit="late arrivals",
        sql="SELECT DISTINCT town FROM houses ORDER BY town",
        trend="Nights booked by month",
    ),
    "forum": Papers(
        sheet="Transcript",
        facts={
            "Saved by": ("robot 3", "robot 5", "robot 8", "robot 11", "robot 14"),
            "Words": ("412", "655", "873", "1290", "1544", "2071"),
            "Checked in": _YEARS,
        },
        notice="House rules",
        reference="rules version",
        desk="Moderators' desk",
        topics={
            "Off topic": ("move it", "split it", "close it", "leave it", "merge it"),
            "Quarrels": ("warn once", "warn twice", "pause for a day", "pause for a week", "call a vote"),
        },
        rating="The tone is",
        grades=("friendly", "mixed", "harsh"),
        remark="Reason",
        hand_in="Transcript of another place",
        chart="Complaints by board",
        unit="complaints",
        sql="SELECT name FROM boards ORDER BY name",
        trend="Posts by month",
    ),
    "tracker": Papers(
        sheet="Test protocol",
        facts={
            "Run on": ("rig 2", "rig 4", "rig 7", "rig 9", "rig 12"),
            "Failures": ("2 of 310", "5 of 275", "11 of 640", "17 of 890", "23 of 455", "38 of 720"),
            "Signed by": ("Alva Berg", "Bo Cain", "Cora Dahl", "Dan Ebert", "Edda Falk"),
        },
        notice="Release note",
        reference="release tag",
        desk="Support desk",
        topics={
            "Workaround": ("restart it", "clear the cache", "use the mirror", "skip the step", "wait an hour"),
            "Escalation": ("to the night shift", "to the vendor", "to the lab", "to the board", "to the harbour"),
        },
        rating="The fix is",
        grades=("urgent", "welcome", "not needed"),
        remark="Seen on",
        hand_in="Log file",
        chart="Overtime by project",
        unit="hours of overtime",
        sql="SELECT DISTINCT project FROM tickets ORDER BY project",
        trend="Reports by month",
    ),
    "admin": Papers(
        sheet="Equipment list",
        facts={
            "Key": ("K 12", "K 27", "K 31", "K 58", "K 76", "K 84"),
            "Locker": ("L 04", "L 11", "L 18", "L 26", "L 33", "L 47"),
            "Handed out by": ("Finn Gale", "Gry Holm", "Hal Ives", "Ida Jung", "Jon Kerr"),
        },
        notice="Privacy notice",
        reference="consent number",
        desk="Personnel desk",
        topics={
            "Holidays": ("18 days left", "9 days left", "13 days left", "4 days left", "22 days left"),
            "Parking": ("north yard", "south yard", "quay side", "garage 2", "no space"),
        },
        rating="Remote work",
        grades=("one day", "two days", "four days"),
        remark="Address",
        hand_in="Signed agreement",
        chart="Support calls by team",
        unit="support calls",
        sql="SELECT name FROM teams ORDER BY name",
        trend="Logins by month",
    ),
    "wiki": Papers(
        sheet="Source list",
        facts={
            "Oldest source": ("1612", "1688", "1703", "1745", "1791", "1834"),
            "Copied at": ("Abbey cellar", "Film vault", "Land survey office", "Map room", "Mint archive"),
            "Scanned in": _YEARS,
        },
        notice="Licence",
        reference="licence number",
        desk="Readers' desk",
        topics={
            "Pronunciation": ("stress on the first part", "stress on the last part", "both parts alike", "as in song"),
            "Names abroad": ("written the same", "written with y", "written with k", "written in two words"),
        },
        rating="The article is",
        grades=("too short", "clear", "too long"),
        remark="What is missing",
        hand_in="Scan of a source",
        chart="Corrections by kind",
        unit="corrections",
        sql="SELECT DISTINCT kind FROM articles ORDER BY kind",
        trend="Readers by month",
    ),
}
