"""`DetailsPages` of each site."""

from __future__ import annotations

from .details import Column, DetailsPages

_COUNTRIES = ("Austria", "Denmark", "Estonia", "Greece", "Ireland", "Malta", "Norway", "Portugal", "Slovenia")
_NAMES = ("Ada Brook", "Ben Castle", "Cleo Dunn", "Dario Engel", "Elif Frost", "Femi Gray", "Gina Holt", "Hugo Ivers")

SHOP = DetailsPages(
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
        "Price": Column("price / 100.0", "lowest price", "highest price"),
        "Rating": Column("coalesce(stars, 0.0)"),
        "Reviews": Column("number", "", "most reviews"),
        "Brand": Column("brand"),
    },
)
BOOKING = DetailsPages(
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
        "Price": Column("price / 100.0", "lowest price", "highest price"),
        "Guests": Column("sleeps"),
        "Weekend price": Column("weekend / 100.0", "lowest weekend price", "highest weekend price"),
        "Town": Column("town"),
    },
)
FORUM = DetailsPages(
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
        "Votes": Column("votes", "fewest votes", "most votes"),
        "Replies": Column("replies", "", "most replies"),
        "Started": Column("day", "earliest start", "latest start"),
    },
)
TRACKER = DetailsPages(
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
        "Estimate": Column("estimate", "", "largest estimate"),
        "Opened": Column("opened", "earliest opening day", "latest opening day"),
        "Priority": Column("priority"),
        "Project": Column("project"),
    },
    lanes=("Unplanned", "This week", "Next week"),
)
ADMIN = DetailsPages(
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
        "Mail": Column("mail"),
        "State": Column("state"),
        "Licence": Column("licence"),
        "Last login": Column("login", "", "latest login"),
    },
    lanes=("To review", "Keep", "Revoke"),
)
WIKI = DetailsPages(
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
        "Kind": Column("kind"),
        "Length": Column("length(body)"),
        "Values": Column("(SELECT count(*) FROM facts WHERE article = articles.id)"),
        "Links to it": Column("(SELECT count(*) FROM links WHERE target = articles.id)", "", "most links to it"),
    },
)
