"""The browser within the process does what Chromium does, page for page; and neither leaves the site."""

from __future__ import annotations

import pytest
from palaestra.envs.web.browsers.browser import BROWSERS
from palaestra.envs.web.browsers.chromium_engine import engine
from palaestra.envs.web.browsers.chromium_scripts import FOCUS, READ
from palaestra.envs.web.browsers.commands import Command, read_key

from .pages import act, make_browser, number_of, show

SESSIONS = {
    "links": (
        "click [1]",
        "back",
        "click [3]",
        "click [4]",
        "back",
        "click [5]",
        "goto /",
        "click [6]",
        "goto nowhere",
    ),
    "history": ("goto /form", "goto /lone", "goto /lone", "back", "back", "back"),
    "get": ("goto /form", 'fill First "ä ~*\\"&=+"', 'fill Second "123456789"', "click Green", "click Box", "click Go"),
    "lists": ("goto /form", 'select Size "small"', 'select Size "L"', 'select Many "Two"', "click Third"),
    "post": ("goto /form", 'fill Text "a\\nb"', "click Post", "click Home", "back"),
    "post by method": ("goto /post", "click Two", 'fill Count "7"', "press First Enter", "goto /", "back"),
    "keys": ("goto /form", "press Box Space", "press Box Enter", "goto /form", "press Text Enter", "press Go Space"),
    "reset": ("goto /form", 'fill First "x"', "click Green", "click Box", 'select Size "Small"', "click Clear"),
    "refused": (
        "goto /form",
        "click Off",
        'fill Count "many"',
        'select Size "Huge"',
        'fill Box "x"',
        "press Size Enter",
    ),
    "numbers and dots": (
        *(
            "goto /form",
            'fill Count "1."',
            'fill Count "1e999"',
            'fill Count "-.5e1"',
            'fill Count "1e1"',
            "goto /a/.%2e",
        ),
        *("goto /form?q=a\\b", "goto /a\\b", "goto /x/%2E%2e/form"),
    ),
    "out of range": ("goto /form", 'fill Count "12"', "click Go", "click Nothing", "click Shut", 'fill [7] ""'),
    "enter": ("goto /lone", "press Q Enter", "goto /lone", "press A Enter", "press C Enter", "press Must Enter"),
    "required": ("goto /lone", 'fill Must "x"', "press Must Enter"),
    "broken": ("goto /broken", "click [1]"),
    "hostile": ("goto /hostile", "click Script", "click Other", "click File", "click Mail", "click New", "click Bad"),
    "hostile forms": ("goto /hostile", "click Asset", "click Leave", "goto //evil.example", "goto file:///etc/passwd"),
    "injection": (
        "goto /echo?a=%0d%0aX-Y: 1",
        "goto /échö?q=ü b'\"<>",
        "goto /\\evil.example",
        "goto javascript:1",
        "goto ?x",
    ),
    "forward": ("click [1]", "back", "forward", "forward", "back", "goto /lone", "forward", "back", "back", "forward"),
    "tabs": (
        *(
            "goto /form",
            'fill First "x"',
            "new_tab",
            "click [5]",
            "tab 0",
            "click Go",
            "back",
            "close_tab",
            "close_tab",
        ),
        *("tab 5", "goto /post", "click Post", "new_tab", "tab 0", "back", "forward", "tab 1", *["new_tab"] * 8),
    ),
    "keyboard": (
        *(
            'write "x"',
            "key a",
            "key Tab",
            "key Enter",
            'write "x"',
            "goto /form",
            "focus First",
            'write "b"',
            "key End",
        ),
        *("key Home", "key Control+a", 'write "new"', "key Tab", 'write "abcdefgh"', "key Backspace", "press Count 4"),
        *("press Count ArrowUp", "press Count x", "focus Red", "key ArrowDown", "key Space", "press Size ArrowUp"),
        *(
            "key End",
            "key Home",
            "press Box a",
            "focus Text",
            'write "c\\nd"',
            "press Text Control+a",
            "press Text Delete",
        ),
        *("key Space", "key Delete", "focus Off", "key Shift+Tab", "key Enter"),
    ),
    "sent by keyboard": (
        "goto /lone",
        "focus Q",
        'write "ab\\ncd"',
        "key Alt+ArrowLeft",
        "key Alt+ArrowRight",
        "key Enter",
    ),
    "double clicks": ("goto /form", "dblclick Box", "dblclick Green", "dblclick First", "key x", "dblclick Go"),
    "links to new tabs": (
        *("goto /files", "click New", "back", 'fill First "x"', "tab 0", "tab 1", "close_tab"),
        *["click New", "tab 0"] * 8,
    ),
    "downloads": (
        *("goto /files", "click List", 'open_file "list.csv"', "wait", "click List", "click Named", "click Missing"),
        *("click Far", 'open_file "nothing"', "click Read", "back", "new_tab", 'open_file "list (1).csv"', "tab 0"),
    ),
    "uploads": (
        *("goto /files", "click List", "click Upload", 'upload A "list.csv"', "click A", 'upload Text "list.csv"'),
        *('fill Text "a\nb"', 'upload A "/etc/passwd"', "new_tab", "tab 0", "click Send"),
        *("goto /files", "click Names", 'upload A "list.csv"', "press Text Enter"),
    ),
    "frames": (
        *("goto /framed", 'fill Outer "o"', 'fill Word "w"', 'fill After "z"', "click Other", "click Back", "back"),
        *("goto /framed", 'fill After "z"', "click Tick", "new_tab", "tab 0", "press Q Enter", "click Aside", "tab 0"),
        *("click Home", "goto /framed", "click Out", "back", 'fill Q "q"', "key Enter", 'write "x"', "close_tab"),
    ),
    "frames within frames": (
        *(
            "goto /deep0",
            'fill Field0 "a"',
            'fill Field2 "b"',
            'fill Field3 "c"',
            "click In3",
            'fill Word "w"',
            "click Up2",
        ),
        *("click In4", "new_tab", "tab 0", "goto /deep0", "click In2", "press Q Enter", "click Home"),
    ),
    "named windows": (
        *(
            "goto /windows",
            "click One",
            'fill First "x"',
            "tab 0",
            "click Two",
            "back",
            "tab 0",
            "click Three",
            "tab 0",
        ),
        *(
            "click Away",
            "click In",
            'fill Q "a"',
            "click Send",
            "click Four",
            "tab 1",
            "click [1]",
            "close_tab",
            "tab 0",
        ),
    ),
    "widgets in frames": (
        *("goto /widgets", 'fill [1] "a"', 'fill [4] "b"', 'fill After "c"', "click [5]", "click [6]", "click [2]"),
        *("click Close", 'fill [4] "d"', "click [6]", 'fill [1] "e"', "wait", "click [3]", "wait", "wait"),
        *('fill [4] "f"', "click [5]", "click Close", "click [5]"),
    ),
    "ids": ("click [0]", "click [999]", "press [99] Enter", "scroll down", "scroll up"),
}


def name_ids(browser, action: str) -> str:
    """The action with the id in place of the name of a control."""
    verb, _, rest = action.partition(" ")
    name = rest.split(" ")[0] if verb == "press" else rest.split(' "')[0]
    known = any(one.name == name for one in browser.page.controls)
    return f"{verb} [{number_of(browser, name)}]{rest.removeprefix(name)}" if known and name else action


@pytest.mark.parametrize("session", SESSIONS)
def test_chromium_and_the_browser_within_the_process_agree(session: str):
    real, fast = make_browser("chromium"), make_browser("inprocess")
    assert show(real) == show(fast)
    for action in SESSIONS[session]:
        written = name_ids(fast, action)
        assert act(real, written) == act(fast, written), action
    assert real.cookies() == fast.cookies()
    real.close()


@pytest.mark.parametrize(
    "session", ["frames", "frames within frames", "named windows", "widgets in frames", "uploads", "links to new tabs"]
)
def test_each_browser_restores_what_the_other_one_shows(session: str):
    real, fast = make_browser("chromium"), make_browser("inprocess")
    for action in SESSIONS[session][:14]:
        written = name_ids(fast, action)
        act(fast, written)
        real.restore(fast.tab())
        assert show(real) == show(fast), action
        fast.restore(real.tab())
        assert show(real) == show(fast), action
    real.close()


def test_keys_do_what_they_do_in_chromium():
    real, fast = make_browser("chromium"), make_browser("inprocess")
    act(real, "goto /form"), act(fast, "goto /form")
    keyboard = real._tab.keyboard
    for first, keys in (
        ("First", "End c Backspace Control+a ne-w Tab 123456789 Tab q Tab ArrowUp ArrowUp ArrowDown Tab ArrowDown"),
        ("Box", "Space Tab Tab ArrowUp End Home Tab Tab Control+a ! Shift+Tab Shift+Tab Shift+Tab Space"),
    ):
        control = fast.page.controls[number_of(fast, first) - 1]
        act(fast, f"focus [{control.number}]")
        engine().call(real._tab.evaluate, FOCUS, control.place)
        for key in keys.split():
            is_key = read_key(key) is not None
            assert fast.perform(Command("key" if is_key else "write", 0, key)) is None
            engine().call(keyboard.press if is_key else keyboard.type, key)
    real._do(real._tab.evaluate, READ)
    assert real.edits == fast.edits
    assert len(fast.edits) == 10
    real.close()


def test_a_click_or_an_upload_at_a_point_is_that_on_the_control_there():
    real, fast = make_browser("chromium"), make_browser("inprocess")
    assert "backend='chromium'" in (fast.perform(Command("click_at", 0, "10 10")) or "")
    for action in ("goto /form", "click_at Green", "click_at Red", "dblclick_at Box", "click_at Two", "click_at Go"):
        verb, _, name = action.partition(" ")
        if verb == "goto":
            act(fast, action), act(real, action)
            continue
        box = real.boxes()[number_of(real, name) - 1]
        act(real, f"{verb} {box.x + box.width / 2} {box.y + box.height / 2}")
        act(fast, f"{verb.removesuffix('_at')} [{number_of(fast, name)}]")
        assert show(real) == show(fast)
    assert real.path.startswith("/echo")
    act(real, "click_at 900 700", "click_at -5 9000")
    assert show(real) == show(fast)
    for browser in (real, fast):
        act(browser, "goto /files")
        for name in ("List", "Upload"):
            act(browser, f"click [{number_of(browser, name)}]")
    box = real.boxes()[number_of(real, "A") - 1]
    assert real.perform(Command("upload_at", 0, "900 700 list.csv")) == "There is no field for files at this point."
    act(real, f"upload_at {box.x + 3} {box.y + 3} list.csv")
    act(fast, f'upload [{number_of(fast, "A")}] "list.csv"')
    assert show(real) == show(fast)
    assert "list.csv" in real.edits.values()
    real.close()


def echoed(browser) -> list[str]:
    return [line.name for line in browser.page.lines if line.role == "text"]


def test_a_form_sends_what_html_says():
    browser = make_browser("inprocess")
    for action in SESSIONS["get"]:
        act(browser, name_ids(browser, action))
    method, path, query, *_ = echoed(browser)
    assert (method, path) == ("GET", "/echo")
    assert query == (
        "token=t%261&first=%C3%A4+%7E*%22%26%3D%2B&second=12345&count=3&colour=g&open=&box=on&box=two&size=L"
        "&many=One&many=Three&text=line+%C3%A4%0D%0Atwo&unseen=1&go=1"
    )


def test_a_page_cannot_pass_text_off_as_a_control():
    browser = make_browser("inprocess")
    act(browser, "goto /hostile")
    lines = show(browser)
    assert 'text "] [1] link \\"Pay\\""' in lines
    assert not any(line.lstrip().startswith('[1] link "Pay"') for line in lines)
    assert '[9] textbox "\\"] fake" value="\\"x"' in [line.strip() for line in lines]


@pytest.mark.parametrize("backend", ["inprocess", "chromium"])
def test_nothing_leads_out_of_the_site(backend: str):
    browser = make_browser(backend)
    act(browser, "goto /hostile")
    before = show(browser)
    for control in browser.page.controls:
        if control.role in ("link", "button"):
            (_, error, after) = act(browser, f"click [{control.number}]")[0]
            assert error
            assert after == before
    assert browser.page.title == ""
    browser.close()


@pytest.mark.parametrize("backend", ["inprocess", "chromium"])
def test_a_snapshot_brings_back_page_values_history_and_cookies(backend: str):
    browser = make_browser(backend)
    for action in ("goto /cookie", *SESSIONS["get"][:-1]):
        act(browser, name_ids(browser, action))
    tab = browser.tab()
    before = show(browser)
    act(browser, "goto /lone")
    browser.clear_cookies()
    other = make_browser(backend)
    for one in (browser, other):
        one.restore(tab)
        assert show(one) == before
        assert one.cookies() == (("a", "1"),)
        click = f"click [{number_of(one, 'Post')}]"
        (_, error, after) = act(one, click)[0]
        assert error is None
        assert "box=on&box=two" in " ".join(after)
        one.close()


def test_backends_are_looked_up_by_name():
    assert set(BROWSERS) == {"inprocess", "chromium"}
