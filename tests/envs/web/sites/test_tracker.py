"""The project tracker as a site: what it shows, what it refuses, and what it is filled with."""

from __future__ import annotations

import re
from typing import Any

import pytest
from palaestra.envs.web.browsers.accessibility import Page
from palaestra.envs.web.sites.site import generate
from palaestra.envs.web.sites.tracker import ProjectTracker
from palaestra.envs.web.sites.tracker_content import LABELS, PEOPLE, VISITOR
from werkzeug.test import Client, TestResponse

PATHS = ("/", "/project/Web%20Shop", "/tickets?since=x", "/ticket/3", "/ticket/3/edit", "/new", "/milestones")
HOSTILE = "<script>x</script>\"'&{{ 7*7 }}\r\nSet-Cookie: a=b"
TICKET: dict[str, Any] = {
    **{"project": "Billing", "title": "A title", "body": "Some words", "kind": "Bug", "priority": "High"},
    **{"assignee": "Tom Ashby", "milestone": "Version 4.1", "due": "2026-06-01", "estimate": "8", "labels": "docs"},
}


def site(tickets: int = 40, seed: int = 1) -> tuple[ProjectTracker, Client]:
    tracker = ProjectTracker(generate("tracker", tickets, seed))
    return tracker, Client(tracker)


def number(tracker: ProjectTracker, sql: str, *values: Any) -> int:
    return tracker.one(sql, *values)[0]


def ticket(tracker: ProjectTracker, state: str, *, blocked: bool = False, assigned: bool = True) -> int:
    """A ticket in a state."""
    blockers = "EXISTS (SELECT 1 FROM blockers WHERE ticket = t.id)"
    sql = f"SELECT id FROM tickets t WHERE state = ? AND {blockers} = ? AND (assignee <> '') = ?"
    return number(tracker, sql, state, blocked, assigned)


def move(client: Client, number: int, state: str, reason: str = "", original: str = "") -> TestResponse:
    return client.post(f"/ticket/{number}/state", data={"state": state, "reason": reason, "original": original})


def test_every_control_has_a_name_of_its_own():
    tracker, client = site()
    blocked = number(tracker, "SELECT ticket FROM blockers")
    for path in (*PATHS, f"/ticket/{blocked}", "/tickets/edit?ticket=3&ticket=4"):
        controls = Page(client.get(path).text).controls
        names = [(one.role, one.name) for one in controls if one.element.get("class") != "name"]
        assert all(name for _, name in names)
        assert len({*names}) == len(names), path


def test_lists_obey_every_filter_and_show_each_ticket_once():
    tracker, client = site(96, 3)
    checks = {
        "project=Billing": "project = 'Billing'",
        "kind=Bug&priority=High": "kind = 'Bug' AND priority = 'High'",
        "state=open": "state <> 'Closed'",
        "assignee=-&milestone=-": "assignee = '' AND milestone = ''",
        "assignee=Ilsa Berger&milestone=Version 4.1": "assignee = 'Ilsa Berger' AND milestone = 'Version 4.1'",
        "label=security": "', ' || labels || ', ' LIKE '%, security, %'",
        "since=2026-05-01&until=2026-05-31": "due BETWEEN '2026-05-01' AND '2026-05-31'",
        "q=FILTERS the": "title LIKE '%filters%' AND title LIKE '%the%'",
    }
    for query, sql in checks.items():
        wanted = sorted(row["id"] for row in tracker.query(f"SELECT id FROM tickets WHERE {sql}"))
        assert wanted
        for sort in ("new", "due", "priority", "estimate", "title"):
            shown: list[int] = []
            for place in range(1, 20):
                text = client.get(f"/tickets?{query}&sort={sort}&page={place}").text
                shown += map(int, re.findall(r'aria-label="Choose ticket (\d+)"', text))
                if "Next page" not in text:
                    break
            assert sorted(shown) == wanted, (query, sort)
        assert f"<p>{len(wanted)} ticket" in client.get(f"/tickets?{query}").text


def test_lists_are_sorted():
    tracker, client = site(96, 3)
    for sort, column in (("due", "due"), ("estimate", "-estimate"), ("title", "title"), ("new", "-id")):
        text = client.get(f"/tickets?sort={sort}&until=2027-01-01").text
        numbers = re.findall(r'aria-label="Choose ticket (\d+)"', text)
        values = [tracker.one(f"SELECT {column} FROM tickets WHERE id = ?", one)[0] for one in numbers]
        assert values == sorted(values)


def test_a_board_has_every_ticket_in_the_column_of_its_state_or_leads_to_it():
    tracker, client = site(60, 2)
    for state in ("To do", "In progress", "In review", "Closed"):
        count = number(tracker, "SELECT count(*) FROM tickets WHERE project = 'Billing' AND state = ?", state)
        assert f"<h2>{state}: {count}</h2>" in client.get("/project/Billing").text


def test_milestones_count_what_is_closed():
    tracker, client = site()
    text = client.get("/milestones").text
    sql = "SELECT count(*), sum(state = 'Closed') FROM tickets WHERE milestone = 'Version 4.2'"
    every, closed = tracker.one(sql)
    assert f'<progress max="{every}" value="{closed}" aria-label="Version 4.2">' in text


def test_tickets_go_from_state_to_state_as_the_rules_say():
    tracker, client = site(96)
    first = ticket(tracker, "To do")
    assert "goes from To do to In progress, not to In review." in move(client, first, "In review").text
    assert "goes from To do to In progress, not to Closed as done." in move(client, first, "Closed", "Done").text
    for state, reason in (("In progress", ""), ("In review", ""), ("Closed", "Done"), ("To do", "")):
        assert move(client, first, state, reason).status_code == 303
        assert tuple(tracker.one("SELECT state, reason FROM tickets WHERE id = ?", first)) == (state, reason)
    assert "nobody would work on it" in move(client, ticket(tracker, "To do", assigned=False), "In progress").text
    assert move(client, first, "Closed", "Not planned").status_code == 303


@pytest.mark.parametrize("reason", ["Done", "Duplicate", "Not planned"])
def test_a_blocked_ticket_cannot_be_closed_until_its_blocker_is(reason: str):
    tracker, client = site(96)
    blocked = ticket(tracker, "In review", blocked=True)
    blockers = [row["blocker"] for row in tracker.query("SELECT blocker FROM blockers WHERE ticket = ?", blocked)]
    original = str(ticket(tracker, "To do")) if reason == "Duplicate" else ""
    before = tracker.state()
    answer = move(client, blocked, "Closed", reason, original)
    assert answer.status_code == 422
    assert f"Ticket {blocked} is blocked by ticket {blockers[0]}" in answer.text
    assert tracker.state() is before
    bulk = client.post("/tickets/edit", data={"ticket": [blocked], "state": "Closed"})
    assert f"Ticket {blocked} is blocked by ticket {blockers[0]}" in bulk.text
    for blocker in blockers:
        tracker.query("UPDATE tickets SET state = 'Closed' WHERE id = ?", blocker)
    assert move(client, blocked, "Closed", reason, original).status_code == 303


@pytest.mark.parametrize(
    ("state", "reason", "original", "said"),
    [
        ("", "", "", "Choose another state."),
        ("Gone", "", "", "Choose another state."),
        ("Closed", "", "", "Choose a reason for closing."),
        ("Closed", "Bored", "", "Choose a reason for closing."),
        ("Closed", "Duplicate", "", "Enter the number of the other ticket"),
        ("Closed", "Duplicate", "999", "Enter the number of the other ticket"),
        ("Closed", "Duplicate", "SELF", "Enter the number of the other ticket"),
        ("Closed", "Not planned", "2", "Only a ticket that is closed as a duplicate has an original."),
    ],
)
def test_a_wrong_change_of_state_says_what_is_wrong_and_changes_nothing(
    state: str, reason: str, original: str, said: str
):
    tracker, client = site()
    first = ticket(tracker, "To do")
    before = tracker.state()
    answer = move(client, first, state, reason, original.replace("SELF", str(first)))
    assert (answer.status_code, said in answer.text, tracker.state() is before) == (422, True, True)


@pytest.mark.parametrize(
    ("field", "value", "said"),
    [
        ("project", "Secret", "Choose a project."),
        ("title", "  ", "Enter a title of at most 120 characters."),
        ("title", "x" * 121, "Enter a title of at most 120 characters."),
        ("title", "TAKEN", "There is a ticket with this title."),
        ("kind", "", "Choose a kind."),
        ("priority", "Higher", "Choose a priority."),
        ("assignee", "Mallory", "Choose an assignee of the list."),
        ("milestone", "Version 9", "Choose a milestone of the list."),
        ("due", "2026-02-30", "Write a date as YYYY-MM-DD, or leave this empty."),
        ("estimate", "201", "Enter whole hours from 0 to 200."),
        ("estimate", "-1", "Enter whole hours from 0 to 200."),
        ("estimate", "1.5", "Enter whole hours from 0 to 200."),
        ("labels", ["docs", "evil"], "Choose labels of the list."),
    ],
)
def test_every_field_of_a_ticket_is_checked(field: str, value: Any, said: str):
    tracker, client = site()
    if value == "TAKEN":
        value = tracker.one("SELECT title FROM tickets WHERE id = 2")["title"].upper()
    before = tracker.state()
    for path in ("/new", "/ticket/1/edit"):
        answer = client.post(path, data={**TICKET, field: value})
        control = next(one for one in Page(answer.text).controls if one.element.get("name") == field)
        described = control.element.get("aria-describedby") or control.element.getparent().getparent().get(
            "aria-describedby"
        )
        assert (answer.status_code, described) == (422, f"{field}-error")
        assert said in answer.text
    assert tracker.state() is before


def test_a_ticket_is_filed_and_edited_with_all_its_fields():
    tracker, client = site()
    client.post("/new", data=TICKET)
    new = number(tracker, "SELECT max(id) FROM tickets")
    row = dict(tracker.one("SELECT * FROM tickets WHERE id = ?", new))
    assert {name: str(row[name]) for name in TICKET} == TICKET
    assert (row["state"], row["reporter"], row["opened"]) == ("To do", VISITOR, "2026-05-04")
    client.post(f"/ticket/{new}/edit", data={**TICKET, "title": " A  title ", "assignee": "", "labels": []})
    row = tracker.one("SELECT title, assignee, labels FROM tickets WHERE id = ?", new)
    assert tuple(row) == ("A title", "", "")


def test_a_ticket_in_progress_keeps_an_assignee():
    tracker, client = site()
    busy = ticket(tracker, "In progress")
    assert "needs an assignee." in client.post(f"/ticket/{busy}/edit", data={**TICKET, "assignee": ""}).text
    bulk = client.post("/tickets/edit", data={"ticket": [busy], "assignee": "-"})
    assert f"Ticket {busy} in the state In progress needs an assignee." in bulk.text


def test_bulk_edits_change_all_chosen_tickets_or_none():
    tracker, client = site()
    free, other = ticket(tracker, "To do", assigned=False), ticket(tracker, "In review")
    before = tracker.state()
    refused = client.post("/tickets/edit", data={"ticket": [free, other], "state": "In progress"})
    assert f"Ticket {free} has no assignee" in refused.text
    assert tracker.state() is before
    data = {"ticket": [free, other], "state": "In progress", "assignee": PEOPLE[3], "priority": "Low"}
    data |= {"milestone": "-", "add": LABELS[2], "drop": LABELS[3], "back": "state=open"}
    answer = client.post("/tickets/edit", data=data)
    assert answer.headers["Location"] == "/tickets?state=open"
    for one in (free, other):
        row = tracker.one("SELECT state, assignee, priority, milestone, labels FROM tickets WHERE id = ?", one)
        assert tuple(row)[:4] == ("In progress", PEOPLE[3], "Low", "")
        assert LABELS[2] in row["labels"].split(", ")
        assert LABELS[3] not in row["labels"].split(", ")
    others = "SELECT count(*) FROM tickets WHERE assignee = ? AND priority = 'Low' AND milestone = ''"
    assert number(tracker, f"{others} AND id NOT IN (?, ?)", PEOPLE[3], free, other) < 3


@pytest.mark.parametrize(
    ("form", "said"),
    [
        ({}, "Choose what to change."),
        ({"state": "Gone"}, "Choose from the list."),
        ({"priority": "x"}, "Choose from the list."),
        ({"assignee": "Mallory"}, "Choose from the list."),
        ({"milestone": "x"}, "Choose from the list."),
        ({"add": "x"}, "Choose from the list."),
        ({"drop": "x"}, "Choose from the list."),
        ({"add": "docs", "drop": "docs"}, "Choose another label than the one that is added."),
    ],
)
def test_a_wrong_bulk_edit_says_what_is_wrong(form: dict[str, str], said: str):
    tracker, client = site()
    before = tracker.state()
    answer = client.post("/tickets/edit", data={"ticket": [1, 2], **form})
    assert (answer.status_code, said in answer.text, tracker.state() is before) == (422, True, True)


def test_a_list_of_nothing_leads_back_and_never_away():
    _, client = site()
    for back in ("", "//evil.example", "q=a\r\nSet-Cookie: x=1", "https://evil.example/?a=b"):
        answer = client.get("/tickets/edit", query_string={"back": back, "ticket": ["x", "-1", "0"]})
        assert answer.status_code == 303
        assert answer.headers["Location"].partition("?")[0] == "/tickets"
        assert [cookie.partition("=")[0] for cookie in answer.headers.getlist("Set-Cookie")] == ["message"]


def test_blockers_make_no_circle():
    tracker, client = site()
    first, second = (tuple(row) for row in tracker.query("SELECT ticket, blocker FROM blockers")[:2])
    assert first[1] == second[0]
    for ticket_id, blocker, said in (
        (second[1], first[0], "both would wait for ever"),
        (first[0], first[0], "both would wait for ever"),
        (*first, "is a blocker already"),
        (first[0], "x", "Enter the number of a ticket."),
        (first[0], "999", "Enter the number of a ticket."),
    ):
        answer = client.post(f"/ticket/{ticket_id}/blockers", data={"blocker": blocker})
        assert (answer.status_code, said in answer.text) == (422, True)
    assert client.post(f"/ticket/{first[0]}/blockers", data={"blocker": f"#{second[1]}"}).status_code == 303
    client.post(f"/ticket/{first[0]}/blockers", data={"blocker": first[1], "action": "remove"})
    left = tracker.query("SELECT blocker FROM blockers WHERE ticket = ?", first[0])
    assert [row["blocker"] for row in left] == [second[1]]


@pytest.mark.parametrize(
    ("name", "due", "said"),
    [
        ("-", "2026-06-01", "Enter a name"),
        ("x" * 41, "2026-06-01", "Enter a name"),
        ("version 4.1", "2026-06-01", "There is a milestone with this name."),
        ("Autumn", "soon", "Write a date as YYYY-MM-DD."),
    ],
)
def test_a_milestone_needs_a_new_name_and_a_date(name: str, due: str, said: str):
    tracker, client = site()
    before = tracker.state()
    answer = client.post("/milestones", data={"name": name, "due": due})
    assert (answer.status_code, said in answer.text, tracker.state() is before) == (422, True, True)


def test_a_comment_needs_a_text():
    tracker, client = site()
    assert "Write a text." in client.post("/ticket/1/comment", data={"body": "  "}).text
    client.post("/ticket/1/comment", data={"body": "x" * 5000})
    assert number(tracker, "SELECT max(length(body)) FROM comments") == 2000


def test_hostile_text_stays_text_on_every_page_that_shows_it():
    tracker, client = site()
    client.post("/milestones", data={"name": '<b>"1</b>', "due": "2026-06-01"})
    client.post("/new", data={**TICKET, "title": HOSTILE, "body": HOSTILE, "milestone": '<b>"1</b>'})
    new = number(tracker, "SELECT max(id) FROM tickets")
    client.post(f"/ticket/{new}/comment", data={"body": HOSTILE})
    client.post("/ticket/1/blockers", data={"blocker": new})
    for path in (
        *("/milestones", f"/ticket/{new}", f"/ticket/{new}/edit", "/ticket/1", "/tickets?q=script"),
        *("/project/Billing", f"/tickets/edit?ticket={new}&back={HOSTILE}", f"/tickets?q={HOSTILE}", "/tickets"),
    ):
        answer = client.get(path)
        assert answer.status_code == 200
        assert "<script>x" not in answer.text
        assert "<b>&" not in answer.text
        assert "49" not in Page(answer.text).title
        assert all(cookie.startswith("message=;") for cookie in answer.headers.getlist("Set-Cookie"))
    assert HOSTILE.replace("\r\n", " ") == tracker.one("SELECT title FROM tickets WHERE id = ?", new)["title"]


def test_addresses_of_nothing_are_not_found():
    _, client = site()
    for path in ("/project/x", "/ticket/0", "/ticket/999", f"/ticket/{10**30}", "/ticket/999/edit", "/nowhere"):
        assert client.get(path).status_code == 404
    for path in ("/ticket/999/state", "/ticket/999/comment", "/ticket/999/blockers"):
        assert client.post(path, data={"body": "x"}).status_code == 404


def test_contents_have_titles_that_are_alike_and_blockers_that_are_open():
    for size, seed in ((12, 1), (96, 3), (180, 2)):
        tracker, _ = site(size, seed)
        titles = [row["title"] for row in tracker.query("SELECT title FROM tickets")]
        assert len({*titles}) == size
        wrong = "SELECT count(*) FROM blockers JOIN tickets ON id IN (ticket, blocker) WHERE state = 'Closed'"
        assert number(tracker, wrong) == 0
        idle = "SELECT count(*) FROM tickets WHERE assignee = '' AND state IN ('In progress', 'In review')"
        assert number(tracker, idle) == 0
        longest = """
            WITH RECURSIVE chain (id, depth) AS (
                SELECT ticket, 0 FROM blockers
                UNION SELECT b.blocker, depth + 1 FROM blockers b JOIN chain ON ticket = id
            ) SELECT max(depth) FROM chain
        """
        assert number(tracker, longest) >= 3
    words = [{*title.split()} for title in titles]
    # Titles that differ from another one in one word.
    assert sum(any(one is not other and len(one ^ other) <= 2 for other in words) for one in words) > 100
