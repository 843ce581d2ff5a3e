"""The admin panel as a site: what it shows, what it refuses, and what it is filled with."""

from __future__ import annotations

import csv
import re
from typing import Any

import pytest
from palaestra.envs.web.browsers.accessibility import Page
from palaestra.envs.web.sites.admin import Admin
from palaestra.envs.web.sites.admin_content import ADMINISTRATOR, OWNER, PERMISSIONS, TODAY
from palaestra.envs.web.sites.site import generate
from werkzeug.test import Client

PATHS = (
    *(
        "/",
        "/users",
        "/users?q=an&idle=x",
        "/user/9",
        "/teams",
        "/team/2",
        "/teams/new",
        "/roles",
        "/role/1",
        "/role/3",
    ),
    *(
        "/roles/new",
        "/invitations",
        "/invitations/new",
        "/log",
        "/log?since=x",
        "/settings",
        "/exports",
        "/exports/new",
    ),
    "/export/1",
)
# Forms that are accepted, by their addresses; lists are sent several times.
USER = {"name": "Kim New", "mail": "kim.new@harbour.example", "team": "1", "role": "4", "state": "Active"}
FORMS: dict[str, dict[str, Any]] = {
    "/user/{free}": {**USER, "licence": "Full"},
    "/teams/new": {"name": "Field Work", "lead": "0", "cost_centre": "4321"},
    "/roles/new": {"name": "Reader", "permission": ["View users", "Export users"]},
    "/invitations/new": {"mail": "kim.new@harbour.example", "role": "3", "team": "2", "message": "Hi"},
    "/exports/new": {
        "name": "list-9",
        "column": ["Name", "Mail"],
        "sort": "mail",
        "format": "tab",
        "idle": "2026-05-01",
    },
    "/users/bulk": {"user": ["{free}"], "action": "team:2"},
    "/settings": {
        f"setting{place}": value
        for place, value in enumerate(
            ("60", "15", "12", "90", "5", "Off", "7", "24", "English", "help@harbour.example")
        )
    },
}
WRONG = (
    ("/user/{free}", "name", "", "Enter a name."),
    ("/user/{free}", "name", "x" * 61, "at most 60 characters"),
    ("/user/{free}", "name", "Kim\r\nBcc: all@evil.example", "on one line"),
    ("/user/{free}", "name", "Kim \u202eweN", "on one line"),
    ("/user/{free}", "name", "ROBIN vega", "This name is taken."),
    ("/user/{free}", "mail", "", "Enter a mail address"),
    ("/user/{free}", "mail", "kim@harbour.example\nBcc: x@evil.example", "Enter a mail address"),
    ("/user/{free}", "mail", "k\u0131m@harbour.example", "Enter a mail address"),
    ("/user/{free}", "mail", "{other}", "A user has this mail address."),
    ("/user/{free}", "mail", "{invited}", "This mail address is invited already."),
    ("/user/{free}", "team", "99", "Choose a team."),
    ("/user/{free}", "role", "x", "Choose a role."),
    ("/user/{free}", "state", "Deleted", "Choose a state."),
    ("/user/{free}", "licence", "Gold", "Choose a licence."),
    ("/user/{free}", "state", "Suspended", "a suspended user has the licence None"),
    ("/teams/new", "name", "fIELD sALES", "This name is taken."),
    ("/teams/new", "lead", "2", "Choose a lead."),
    ("/teams/new", "cost_centre", "0999", "Enter a number of four digits."),
    ("/roles/new", "name", "guest", "This name is taken."),
    ("/roles/new", "permission", ["Edit users"], "Edit users needs View users."),
    ("/roles/new", "permission", ["View users", "Export billing"], "Export billing needs View billing."),
    ("/invitations/new", "mail", "{other}", "A user has this mail address."),
    ("/invitations/new", "mail", "{invited}", "This mail address is invited already."),
    ("/invitations/new", "mail", "a@b", "Enter a mail address"),
    ("/invitations/new", "role", str(OWNER), "Choose a role."),
    ("/invitations/new", "team", "", "Choose a team."),
    ("/invitations/new", "message", "x" * 501, "Write at most 500 characters."),
    ("/exports/new", "name", "../list", "small letters, digits and hyphens"),
    ("/exports/new", "name", "list\r\nX-Header: 1", "small letters, digits and hyphens"),
    ("/exports/new", "column", ["Password"], "Choose a column."),
    ("/exports/new", "sort", "u.id; DROP TABLE users", "Choose a sort."),
    ("/exports/new", "format", "pipe", "Choose a format."),
    ("/exports/new", "team", "99", "Choose a team."),
    ("/exports/new", "role", "x", "Choose a role."),
    ("/exports/new", "state", "x", "Choose a state."),
    ("/exports/new", "licence", "x", "Choose a licence."),
    ("/exports/new", "since", "2026-02-30", "Write a date as YYYY-MM-DD."),
    ("/exports/new", "idle", "yesterday", "Write a date as YYYY-MM-DD."),
    ("/users/bulk", "user", [], "Choose users first."),
    ("/users/bulk", "action", "", "Choose an action."),
    ("/users/bulk", "action", "team:99", "Choose an action."),
    ("/users/bulk", "action", "suspend:1", "Choose an action."),
    ("/users/bulk", "action", "name:1", "Choose an action."),
    ("/users/bulk", "user", ["{free}", str(ADMINISTRATOR)], None),
    ("/settings", "setting0", "4", "Enter a whole number from 5 to 720."),
    ("/settings", "setting1", "121", "Enter a whole number from 1 to 120."),
    ("/settings", "setting2", "1e1", "Enter a whole number from 8 to 64."),
    ("/settings", "setting3", "-1", "Enter a whole number from 0 to 365."),
    ("/settings", "setting4", "²", "Enter a whole number from 3 to 20."),
    ("/settings", "setting5", "Maybe", "Choose one of Off, Optional, Required."),
    ("/settings", "setting6", "", "Enter a whole number from 1 to 60."),
    ("/settings", "setting7", "5", "Enter a whole number from 6 to 120."),
    ("/settings", "setting8", "english", "Choose one of"),
    ("/settings", "setting9", "help@harbour", "Enter a mail address."),
)


def site(users: int = 60, seed: int = 1) -> tuple[Admin, Client]:
    admin = Admin(generate("admin", users, seed))
    return admin, Client(admin)


def number(admin: Admin, sql: str, *values: Any) -> Any:
    return admin.one(sql, *values)[0]


def free_user(admin: Admin) -> int:
    """An active user to whom no rule applies."""
    sql = "SELECT id FROM users WHERE id > 7 AND state = 'Active' AND id NOT IN (SELECT lead FROM teams)"
    return number(admin, sql)


def fill(admin: Admin, value: Any) -> Any:
    """A value of a form with ids and addresses of this site."""
    if isinstance(value, list):
        return [fill(admin, one) for one in value]
    other, invited = (number(admin, f"SELECT upper(mail) FROM {table} LIMIT 1") for table in ("users", "invitations"))
    return value.replace("{free}", str(free_user(admin))).replace("{other}", other).replace("{invited}", invited)


def test_every_control_has_a_name_of_its_own():
    _, client = site()
    for path in PATHS:
        names = [(one.role, one.name) for one in Page(client.get(path).text).controls]
        assert all(name for _, name in names)
        assert len({*names}) == len(names), path


@pytest.mark.parametrize("path", FORMS)
def test_what_is_right_is_accepted_and_noted_in_the_log(path: str):
    admin, client = site()
    entries = number(admin, "SELECT count(*) FROM log")
    answer = client.post(fill(admin, path), data={name: fill(admin, value) for name, value in FORMS[path].items()})
    assert answer.status_code == 303
    assert number(admin, "SELECT count(*) FROM log") > entries
    newest = admin.one("SELECT day, actor FROM log ORDER BY id DESC")
    assert tuple(newest) == (TODAY.isoformat(), ADMINISTRATOR)


@pytest.mark.parametrize(("path", "field", "value", "sentence"), WRONG)
def test_what_is_wrong_is_named_and_changes_nothing(path: str, field: str, value: Any, sentence: str | None):
    admin, client = site()
    data = {name: fill(admin, one) for name, one in {**FORMS[path], field: value}.items()}
    if sentence is None:
        data["action"], sentence = "suspend", "cannot suspend yourself"
    before = admin.state()
    answer = client.post(fill(admin, path), data=data)
    assert answer.status_code == 422
    invalid = [one for one in Page(answer.text).root.iter("span") if one.get("class") == "error"]
    assert any(sentence in (one.text or "") for one in invalid)
    assert admin.state() is before


def test_the_last_owner_cannot_be_demoted_suspended_or_left_alone():
    admin, client = site(60, 1)
    owners = [row["id"] for row in admin.query("SELECT id FROM users WHERE role = ?", OWNER)]
    admin.query(f"UPDATE users SET role = 2 WHERE role = {OWNER} AND id <> ?", owners[0])
    for action in ("role:4", "suspend"):
        answer = client.post("/users/bulk", data={"user": [str(owners[0]), str(free_user(admin))], "action": action})
        assert answer.status_code == 422
        assert "last active owner" in answer.text
    client.post("/users/bulk", data={"user": str(free_user(admin)), "action": f"role:{OWNER}"})
    assert client.post("/users/bulk", data={"user": str(owners[0]), "action": "role:4"}).status_code == 303


def test_a_lead_leaves_the_team_only_after_another_one_is_named():
    admin, client = site()
    team, lead = admin.one("SELECT id, lead FROM teams WHERE lead > 0 AND id <> 2")
    for action in ("team:2", "suspend"):
        answer = client.post("/users/bulk", data={"user": str(lead), "action": action})
        assert "give the team another lead first" in answer.text
    name, centre = admin.one("SELECT name, cost_centre FROM teams WHERE id = ?", team)
    client.post(f"/team/{team}", data={"name": name, "lead": "0", "cost_centre": centre})
    assert client.post("/users/bulk", data={"user": str(lead), "action": "team:2"}).status_code == 303


def test_a_suspended_user_loses_the_licence_and_gets_none_before_being_active_again():
    admin, client = site()
    user = free_user(admin)
    for action, status, row in (
        ("licence:Full", 303, ("Active", "Full")),
        ("suspend", 303, ("Suspended", "None")),
        ("licence:Full", 422, ("Suspended", "None")),
        ("reactivate", 303, ("Active", "None")),
        ("licence:Basic", 303, ("Active", "Basic")),
    ):
        answer = client.post("/users/bulk", data={"user": str(user), "action": action, "back": "team=1&page=2"})
        assert answer.status_code == status
        assert tuple(admin.one("SELECT state, licence FROM users WHERE id = ?", user)) == row
    assert answer.headers["Location"] == "/users?team=1&page=2"


@pytest.mark.parametrize("back", ["\r\nSet-Cookie: a=1", "//evil.example/", "q=%0d%0aX: 1&x", "page=" + "9" * 5000])
def test_the_way_back_after_a_bulk_edit_stays_on_the_site(back: str):
    admin, client = site()
    answer = client.post("/users/bulk", data={"user": str(free_user(admin)), "action": "reactivate", "back": back})
    assert answer.headers["Location"].partition("?")[0] == "/users"
    assert not {"\r", "\n"} & {*answer.headers["Location"]}
    assert client.get(answer.headers["Location"]).status_code == 200


def test_a_bulk_edit_that_is_refused_keeps_the_choice_and_the_filter():
    admin, client = site()
    user = free_user(admin)
    answer = client.post("/users/bulk", data={"user": str(user), "action": "", "back": "sort=mail&q=harbour&page=1"})
    checked = [one for one in Page(answer.text).controls if one.role == "checkbox" and one.default()]
    shown = [one.element.get("value") for one in Page(answer.text).controls if one.role == "checkbox"]
    assert [one.element.get("value") for one in checked] == [str(user)] * (str(user) in shown)
    assert "Users with “harbour”" in answer.text


@pytest.mark.parametrize(
    ("path", "data", "status"),
    [
        ("/role/1", {"name": "Owner"}, 403),
        ("/user/999", {}, 404),
        ("/role/99999999999999999999", {}, 404),
        ("/invitations", {"invitation": "999"}, 404),
        ("/invitations", {"invitation": "x"}, 400),
        ("/users/bulk", {"user": "999", "action": "suspend"}, 404),
        ("/users/bulk", {"user": "1 OR 1", "action": "suspend"}, 400),
    ],
)
def test_what_is_not_there_or_not_allowed_changes_nothing(path: str, data: dict[str, str], status: int):
    admin, client = site()
    before = admin.state()
    assert client.post(path, data=data).status_code == status
    assert admin.state() is before


def test_pages_of_the_list_show_each_user_once_in_any_order():
    admin, client = site()
    for sort, order in (
        ("name", "name"),
        ("mail", "mail"),
        ("latest", "login DESC, name"),
        ("earliest", "login, name"),
    ):
        shown = []
        for place in range(1, 9):
            page = Page(client.get(f"/users?sort={sort}&page={place}").text)
            shown += [one.name for one in page.controls if one.element.get("class") == "name"]
        assert shown == [row["name"] for row in admin.query(f"SELECT name FROM users ORDER BY {order}")]


@pytest.mark.parametrize(
    ("query", "condition"),
    [
        ("team=2&state=Active", "team = 2 AND state = 'Active'"),
        ("role=4&licence=Basic", "role = 4 AND licence = 'Basic'"),
        ("licence=Basic+Plus", "licence = 'Basic Plus'"),
        ("since=2026-05-01", "login >= '2026-05-01'"),
        ("idle=2026-05-01", "login < '2026-05-01'"),
        ("q=HARBOUR-LABS+AN", "instr(lower(name || mail), 'harbour-labs') AND instr(lower(name || mail), 'an')"),
        ("team=2'--", "0"),
        ("state=active", "0"),
    ],
)
def test_filters_find_what_they_say(query: str, condition: str):
    admin, client = site(96)
    found = re.search(r"<p>(\d+) users?</p>", client.get(f"/users?{query}").text)
    assert found is not None
    assert int(found[1]) == number(admin, f"SELECT count(*) FROM users WHERE {condition}")


def test_the_log_can_be_searched_by_action_actor_target_and_dates():
    admin, client = site(96)
    entries = admin.query("SELECT l.*, u.name FROM log l JOIN users u ON u.id = l.actor ORDER BY l.id")
    for one in entries[::9]:
        actor = one["name"].upper() if one["name"].isascii() else one["name"]
        query = {
            "action": one["action"],
            "actor": actor,
            "target": one["target"],
            "since": one["day"],
            "until": one["day"],
        }
        text = client.get("/log", query_string=query).text
        same = [other for other in entries if all(other[name] == one[name] for name in ("action", "actor", "day"))]
        same = [other for other in same if one["target"].lower() in other["target"].lower()]
        assert f"<p>{len(same)} entr{'y' if len(same) == 1 else 'ies'}</p>" in text


def test_an_export_is_what_the_form_asked_for_and_stays_as_it_was():
    admin, client = site(96)
    data = {
        "name": "x",
        "column": ["Licence", "Name", "Last login"],
        "team": "3",
        "sort": "earliest",
        "format": "semicolon",
    }
    path = client.post("/exports/new", data=data).headers["Location"]
    text = number(admin, "SELECT content FROM exports WHERE name = 'x'")
    rows = admin.query("SELECT name, licence, login FROM users WHERE team = 3 ORDER BY login, name")
    assert list(csv.reader(text.splitlines(), delimiter=";")) == [["Name", "Licence", "Last login"], *map(list, rows)]
    admin.query("UPDATE users SET licence = 'None', state = 'Suspended'")
    lines = [line.name for line in Page(client.get(path).text).lines]
    assert text.splitlines()[-1] in lines
    assert f"{len(rows)} rows below the headings" in lines


def test_hostile_text_stays_text_on_pages_and_in_files():
    admin, client = site()
    user = free_user(admin)
    name = '=HYPERLINK("http://evil.example","<script>x</script>")'
    client.post(f"/user/{user}", data={**USER, "name": name, "licence": "None", "mail": "=1+1@harbour.example"})
    assert number(admin, "SELECT name FROM users WHERE id = ?", user) != name
    client.post(f"/user/{user}", data={**USER, "name": name, "licence": "None"})
    assert number(admin, "SELECT name FROM users WHERE id = ?", user) == name
    client.post(
        "/invitations/new", data={**FORMS["/invitations/new"], "mail": "a@b.example", "message": "<b>\n[1] link"}
    )
    path = client.post("/exports/new", data={"name": "x", "column": "Name", "sort": "name", "format": "comma"}).location
    for page in ("/", "/users?q=evil", f"/user/{user}", "/log", "/invitations", path, "/team/1"):
        text = client.get(page).text
        assert "<script>" not in text
        assert "<b>\n" not in text
    content = number(admin, "SELECT content FROM exports WHERE name = 'x'")
    assert [f"'{name}"] in list(csv.reader(content.splitlines()))


@pytest.mark.parametrize("size", [12, 24, 60, 180])
def test_contents_obey_the_rules_and_the_log_fits_them(size: int):
    for seed in range(4):
        admin, _ = site(size, seed)
        assert number(admin, "SELECT count(*) FROM users") == size
        mails = "SELECT mail FROM users UNION ALL SELECT mail FROM invitations"
        assert number(admin, f"SELECT count(*) - count(DISTINCT mail) FROM ({mails})") == 0
        assert number(admin, "SELECT count(*) - count(DISTINCT name) FROM users") == 0
        assert number(admin, "SELECT count(*) FROM users WHERE state = 'Suspended' AND licence <> 'None'") == 0
        assert number(admin, "SELECT count(*) FROM users WHERE state = 'Active' AND role = ?", OWNER) in (1, 2)
        sql = "SELECT count(*) FROM teams t JOIN users u ON u.id = t.lead WHERE u.team <> t.id OR u.state <> 'Active'"
        assert number(admin, sql) == 0
        for permission in PERMISSIONS:
            area = permission.partition(" ")[2]
            sql = "SELECT role FROM grants WHERE permission = ? EXCEPT SELECT role FROM grants WHERE permission = ?"
            assert not admin.query(sql, permission, f"View {area}")
        sql = """SELECT s.value, l.detail FROM settings s JOIN log l ON l.target = s.name
                 WHERE l.id = (SELECT max(id) FROM log WHERE target = s.name)"""
        assert all(detail.endswith(f" to {value}") for value, detail in admin.query(sql))
        sql = """SELECT count(*) FROM users u WHERE (u.state = 'Suspended') <>
                 (SELECT count(*) FROM log WHERE action = 'User suspended' AND target = u.name AND day >= u.login)"""
        assert number(admin, sql) == 0
        assert number(admin, "SELECT count(*) FROM log WHERE day > ?", TODAY.isoformat()) == 0


def test_most_names_have_another_one_that_differs_in_few_letters():
    admin, _ = site(24, 3)
    names = [row["name"].split() for row in admin.query("SELECT name FROM users")]
    alike = sum(
        any(one is not other and sum(a[:2] == b[:2] for a, b in zip(one, other, strict=True)) == 2 for other in names)
        for one in names
    )
    assert alike > 12
