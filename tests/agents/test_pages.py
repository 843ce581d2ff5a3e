"""Every kind of page in Chromium: it fits a phone, and its text stands out from its ground, in light and dark."""

from __future__ import annotations

import json
import re
from pathlib import Path

import palaestra
import pytest
from palaestra.agents.pages import read_style
from palaestra.envs.web.browsers.chromium_engine import engine
from palaestra.scripts import list_gallery
from palaestra.scripts.cli import main
from palaestra.scripts.report import write_report

KINDS = ("gallery", "replay", "report", "teachers", "viewer")
LONG = "unbroken_" * 30

# For every element with text of its own: the contrast of its colour and the nearest opaque ground (WCAG 2.2, 1.4.3).
CONTRASTS = """() => {
  const parse = (text) => (text.match(/[\\d.]+/g) || []).map(Number);
  const linear = (v) => (v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4);
  const light = ([r, g, b]) => 0.2126 * linear(r / 255) + 0.7152 * linear(g / 255) + 0.0722 * linear(b / 255);
  const found = [];
  for (const element of document.querySelectorAll("body *:not(svg *):not(script):not(style):not(:disabled)")) {
    const says = [...element.childNodes].some((node) => node.nodeType === 3 && node.data.trim());
    if (!says || !element.checkVisibility()) continue;
    let ground = element;
    const behind = () => getComputedStyle(ground).backgroundColor;
    while (ground.parentElement && parse(behind())[3] === 0) ground = ground.parentElement;
    const pair = [behind(), getComputedStyle(element).color].map(parse).map(light);
    found.push([(Math.max(...pair) + 0.05) / (Math.min(...pair) + 0.05), element.outerHTML.slice(0, 80)]);
  }
  return found.sort((a, b) => a[0] - b[0]).slice(0, 3);
}"""


def write_lines(path: Path, rows) -> None:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))


def make_run(run: Path) -> None:
    """A run of three steps whose names are too long for any line."""
    run.mkdir()
    (run / "config.json").write_text(
        json.dumps({"env": "palaestra/Arithmetic-v0", "teacher": LONG, "axes": {"a": LONG}})
    )
    steps = (1, 2, 3)
    turn = {"observation": LONG, "action": LONG, "reward": 1.0, "reward_terms": {LONG: 1.0}, "action_error": LONG}
    episode = {"difficulty": 0.5, "params": {LONG: LONG}, "turns": [turn], "return": 1.0, "is_success": False}
    bins = [{"low": i / 5, "high": i / 5 + 0.2, "success": 0.5, "ci": [0.3, 0.7], "episodes": 9} for i in range(5)]
    write_lines(run / "metrics.jsonl", [{"step": s, "success": 0.2 * s, "reward": 0.1, "kl": 0.01 * s} for s in steps])
    write_lines(
        run / "proposals.jsonl",
        [{"step": s, "difficulty": d, "success": 0.5, "params": {LONG: d}} for s in steps for d in (0.0, 0.5, 1.0)],
    )
    row = {"success": 0.5, "ci": [0.4, 0.6], "episodes": 45, "by_difficulty": bins}
    write_lines(run / "evaluations.jsonl", [{"step": s, **row} for s in (0, 3)])
    write_lines(run / "trajectories.jsonl", [{"step": s, **episode} for s in steps])
    write_lines(run / "notices.jsonl", [{"step": 1, "kind": "health", "sentence": LONG}])


@pytest.fixture(scope="module")
def pages(tmp_path_factory) -> dict[str, Path]:
    """A page of each kind, as the commands write them."""
    folder = tmp_path_factory.mktemp("pages")
    make_run(folder / "run")
    (folder / "gallery.html").write_text(list_gallery.page(["palaestra/Arithmetic-v0", "palaestra/Sokoban-v0"]))
    palaestra.evaluate("random", "palaestra/GuessNumber-v0", episodes=1, replay=folder / "replays")
    teachers = folder / "teachers"
    bench = [
        "bench",
        "teachers",
        "--tables",
        "T1",
        "--settings",
        "2d",
        "--teachers",
        "riac",
        "--seeds",
        "1",
        "--jobs",
        "1",
    ]
    assert main([*bench, "--episodes", "60", "--out", str(teachers)]) == 0
    assert main(["view", str(folder / "run")]) == 0
    (replay,) = (folder / "replays").iterdir()
    report, viewer = write_report(folder / "run"), folder / "run" / "episodes.html"
    return dict(zip(KINDS, (folder / "gallery.html", replay, report, teachers / "report.html", viewer)))


@pytest.fixture(scope="module")
def seen(pages) -> dict:
    """By kind and scheme: widths of window and content, and the weakest contrasts."""

    def look() -> dict:
        found = {}
        for scheme in ("light", "dark"):
            context = engine().chromium.new_context(
                viewport={"width": 390, "height": 844}, color_scheme=scheme, offline=True
            )
            tab = context.new_page()
            for kind in KINDS:
                tab.goto(pages[kind].as_uri() + ("#run%2Fstep-1" if kind == "viewer" else ""))
                if kind == "viewer":
                    tab.locator("article").wait_for()
                tab.evaluate("document.querySelectorAll('details').forEach((one) => (one.open = true))")
                widths = tab.evaluate("[innerWidth, document.documentElement.scrollWidth, document.body.scrollWidth]")
                ground = tab.evaluate("getComputedStyle(document.body).backgroundColor")
                found[kind, scheme] = widths, tab.evaluate(CONTRASTS), ground
            context.close()
        return found

    return engine().call(look)


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("kind", KINDS)
class TestEveryPage:
    def test_on_a_phone_nothing_scrolls_sideways(self, seen, kind, scheme):
        assert seen[kind, scheme][0] == [390, 390, 390]

    def test_text_stands_out_from_its_ground(self, seen, kind, scheme):
        weakest = seen[kind, scheme][1]
        assert weakest[0][0] >= 4.5, weakest

    def test_it_follows_the_readers_scheme(self, seen, kind, scheme):
        assert seen[kind, scheme][2] == {"light": "rgb(255, 255, 255)", "dark": "rgb(18, 24, 29)"}[scheme]


@pytest.mark.parametrize("kind", KINDS)
def test_all_have_the_one_style_sheet_and_no_other(pages, kind):
    page = pages[kind].read_text(encoding="utf-8")
    assert f"<style>{read_style()}</style>" in page
    assert page.count("<style>") == 1  # those of the plots have a type
    assert not re.search(r"<link|(src|href)=\"(?!data:|#|\.\./|report)", page)
