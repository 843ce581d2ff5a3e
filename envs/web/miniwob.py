"""palaestra/MiniWoB-v0: tasks of the package miniwob (MiniWoB++) in Chromium, with the interface of our environments.

The pages come from the package. Differences from the package, and from BrowserGym's use of it: success requires the
full raw reward of the page, not any reward above 0; time does not reduce the reward; a simulated clock stands still
between actions, so that neither delays nor today's date change an episode; each episode reloads the page; an agent's
mistake is an ``action_error``, and a failure of browser or page an invalid reward (``info["reward_valid"]`` False). The
environment has no solver and no snapshots; its id is therefore not among `palaestra.envs.ids`.
"""

from __future__ import annotations

import importlib.util
import io
import re
import secrets
import weakref
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np

from ...checks import check_count, check_number
from ...errors import InputError, MissingExtra, shorten
from ..param_space import ChoiceAxis, ParamSpace
from ..registration import register
from ..task_env import TaskEnv
from ..unicode import Unicode

_WIDTH, _HEIGHT = 160, 210
_SEEDS = 1 << 20
# The time of every page when it is loaded, and the later time at which its clock is stopped; then milliseconds of page
# time: before the first observation, per action, and at most until the page is ready.
_DATE, _LATER = "2024-03-01T09:00:00Z", "2024-03-01T10:00:00Z"
_START, _STEP, _PATIENCE = 100, 400, 5_000
_LONGEST_EPISODE = 10**9
_MOST_LINES, _MOST_TEXT = 150, 2_000
_HELP = (
    'Write one action a turn: click [ID], fill [ID] "text", select [ID] "option", press KEY, hover [ID], '
    "drag [ID] [ID], scroll [ID] down, wait; a place on the page, X,Y, may stand for [ID] in click, hover and drag."
)
_KEYS = {
    key.lower(): key
    for key in (
        *("Enter", "Tab", "Backspace", "Delete", "Escape", "Space", "Home", "End", "PageUp", "PageDown"),
        *("ArrowUp", "ArrowDown", "ArrowLeft", "ArrowRight"),
        *(f"Control+{letter}" for letter in "acvxz"),
    )
}
_PLACE = r"\[?\s*(?:([0-9]{1,4})\s*\]?|([0-9]{1,3})\s*,\s*([0-9]{1,3}))"
_FORMS = {
    "click": re.compile(_PLACE),
    "hover": re.compile(_PLACE),
    "fill": re.compile(r"\[?\s*([0-9]{1,4})\s*\]?()()\s*(.*)", re.DOTALL),
    "select": re.compile(r"\[?\s*([0-9]{1,4})\s*\]?()()\s*(.*)", re.DOTALL),
    "scroll": re.compile(r"\[?\s*([0-9]{1,4})\s*\]?()()\s*(up|down)"),
    "press": re.compile(r"()()()(.+)"),
    "drag": re.compile(_PLACE + r"\]?\s*(?:to)?\s*" + _PLACE),
    "wait": re.compile(r"()()()()"),
}
_BEGIN = """([seed, time]) => {
    Math.seedrandom(seed); core.EPISODE_MAX_TIME = time; core.startEpisodeReal();
}"""
# Seeded random numbers for pages that draw random numbers before the task seeds them.
_RANDOM = "{ let n = 1; Math.random = () => (n = n * 16807 % 2147483647) / 2147483647; }"
# List elements with text or a value and elements without children, in order, with their centres.
_READ = """() => {
    const found = [];
    const walk = node => {
        const e = core.previousDOMInfo[node.ref], leaf = !node.children.length;
        if (leaf || node.text || node.value !== undefined) found.push({
            ref: node.ref, tag: node.tag.toLowerCase(), text: node.text ?? '', value: node.value ?? null,
            x: Math.round(node.left + node.width / 2), y: Math.round(node.top + node.height / 2),
            fill: e && e.getAttribute ? e.getAttribute('fill') : null,
            color: e && !node.text && leaf && node.value === undefined && e.tagName !== 'SELECT' ? node.bgColor : null,
            kind: typeof node.classes === 'string' ? node.classes : '', focused: !!node.focused,
            options: e && e.tagName === 'SELECT' ? [...e.options].map(o => [o.text.trim(), o.selected]) : null,
        });
        if (!(e && e.tagName === 'SELECT')) node.children.forEach(walk);
    };
    const root = core.getDOMInfo();
    if (root) root.children.forEach(walk);
    const asked = core.getUtterance();
    return {
        task: typeof asked === 'string' ? asked : asked.utterance, found,
        done: WOB_DONE_GLOBAL, reward: WOB_RAW_REWARD_GLOBAL, reason: WOB_REWARD_REASON, ready: WOB_TASK_READY,
    };
}"""
_REACH = """ref => {
    const e = core.previousDOMInfo[ref];
    if (!e || !e.isConnected) return null;
    e.scrollIntoView({block: 'nearest', inline: 'nearest', behavior: 'instant'});
    const box = e.getBoundingClientRect();
    return [box.x + box.width / 2, box.y + box.height / 2, e.tagName, !!e.isContentEditable];
}"""
_SELECT = """([ref, wanted]) => {
    const e = core.previousDOMInfo[ref], texts = [...e.options].map(o => o.text.trim());
    const at = texts.indexOf(wanted);
    if (at < 0) return texts;
    e.selectedIndex = at;
    for (const kind of ['input', 'change']) e.dispatchEvent(new Event(kind, {bubbles: true}));
    return null;
}"""


class MiniWoB(TaskEnv):
    """Do what a small web page asks for: the tasks of MiniWoB++.

    Description:
        A task of the package miniwob, whose page is generated from a random seed.

    Parameters:
        task: the name of a page, such as "click-test"; by default any page of the package. ``axes={"task": [...]}``
            restricts the draw to a list of pages.

    Observation:
        The task, and the elements of the page in order, each with id, text, value and place.

    Actions:
        ``click [3]``, ``fill [3] "text"``, ``select [3] "option"``, ``press Enter``, ``hover [3]``, ``drag [3] [5]``,
        ``scroll [3] down``, ``wait``; in place of an id, click, hover and drag take a place ``X,Y``.

    Reward:
        1 for success: the page's raw reward, without a penalty for time, is at least ``success_at``; 0 otherwise.
        ``info["raw_reward"]`` is the raw reward, and ``info["progress"]`` is this reward, in [0, 1], at the end.

    Termination:
        When the page ends the task, which is never for lack of time; truncated after ``turns`` turns. Episodes repeat
        exactly under the same seed, except on pages animated by the browser's real clock (click-pie, moving-items,
        order-food).

    Source:
        MiniWoB++ (arXiv 1802.08802), package miniwob; needs the optional dependencies [web] and [miniwob], and
        Chromium.

    Args:
        success_at: least raw reward of a success, above 0 and at most 1; below 1 for pages whose reward measures how
            close a point or an angle is, such as bisect-angle.
        turns: most actions of an episode.
        **kwargs: arguments of `TaskEnv`.

    Raises:
        MissingExtra: miniwob or playwright is not installed.
        InputError: Chromium is missing, or an argument is out of range.
    """

    metadata = {"render_modes": ["ansi", "rgb_array"], "render_fps": 4}  # noqa: RUF012
    answer_form = "move"
    max_answer = 4_096

    def __init__(self, *, success_at: float = 1.0, turns: int = 20, **kwargs: Any):
        package = importlib.util.find_spec("miniwob")
        if package is None or not package.submodule_search_locations:
            raise MissingExtra("palaestra/MiniWoB-v0", "miniwob")
        from .browsers.chromium import ChromiumBrowser

        ChromiumBrowser.check()
        self._pages = Path(next(iter(package.submodule_search_locations))) / "html"
        names = sorted(path.stem for path in (self._pages / "miniwob").glob("*.html"))
        if not names:
            raise InputError(f"the package miniwob has no pages in {str(self._pages)!r}; install version 1.1 or newer.")
        self.param_space = ParamSpace([ChoiceAxis("task", tuple(names), harder=None)])
        self.success_at = check_number("success_at", success_at, high=1.0, above=0.0)
        self.turns = check_count("turns", turns, 1)
        super().__init__(**kwargs)
        self.observation_space, self.action_space = Unicode(65_536), Unicode(self.max_action)
        self._tab: Any = None
        self._seen: dict[str, Any] = {}
        self._turn, self._over = 0, True

    # Episodes.

    def generate_episode(self, rng: np.random.Generator, params: dict[str, Any]) -> tuple[str, int]:
        return params["task"], int(rng.integers(_SEEDS))

    def content_of(self, episode: tuple[str, int]) -> str:
        return f"{episode[0]} {episode[1]}"

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[str, dict[str, Any]]:
        name, page_seed = self.begin(seed, options)
        self._turn, self._over = 0, False
        try:
            self._call(self._load, name, page_seed)
        except Exception:
            # The browser may have been lost in the last episode. With any other cause, the second try raises.
            self.close()
            self._call(self._load, name, page_seed)
        return f"{self._show()}\n{_HELP}", self.task_info()

    def step(self, action: Any) -> tuple[str, float, bool, bool, dict[str, Any]]:
        self.require_running()
        self._turn += 1
        error, valid = self._act(action)
        raw, done = float(self._seen["reward"]), bool(self._seen["done"])
        success = valid and done and raw >= self.success_at
        truncated = not done and (not valid or self._turn >= self.turns)
        self._ended = done or truncated
        progress = 1.0 if success else min(max(raw, 0.0), 1.0) if done else 0.0
        info = self.step_info(
            None,
            {"success": float(success)},
            success=success,
            progress=progress,
            valid=valid,
            error=error,
            feedback=str(self._seen["reason"] or "") if done else error or "",
        )
        info["raw_reward"] = raw
        shown = self._show()
        return f"{error}\n{shown}" if error else shown, float(success), done, truncated, info

    def _act(self, action: Any) -> tuple[str | None, bool]:
        """Carry out an action. Return (error or None, False if the browser or the page failed)."""
        found, error = self.read_action(action)
        if error:
            return error, True
        command = read_page_command(found[0])
        if isinstance(command, str):
            return command, True
        try:
            return self._call(self._perform, *command), True
        except Exception as failure:
            self.close()
            message = str(failure).strip().partition("\n")[0]
            return f"The browser failed: {type(failure).__name__}: {message[:200]}", False

    def here(self) -> Any:
        if not self._seen:
            raise gym.error.ResetNeeded("MiniWoB has no page yet; call reset() first.")
        return self._seen

    def get_state(self) -> dict[str, Any]:
        raise InputError("a page of MiniWoB cannot be saved; choose a rollout that does not branch.")

    def render(self) -> str | np.ndarray | None:  # type: ignore[override]
        if self.render_mode == "rgb_array":
            from PIL import Image

            data = self._call(lambda: self._tab.screenshot())
            return np.asarray(Image.open(io.BytesIO(data)).convert("RGB"))
        return self._show() if self.render_mode == "ansi" else None

    def _show(self) -> str:
        elements = self._seen["found"]
        lines = [_describe(element) for element in elements[:_MOST_LINES]]
        left = len(elements) - len(lines)
        more = [f"({left} more elements)"] if left else []
        return "\n".join([f"Task: {self._seen['task']}", *lines, *more])[:60_000]

    # In the thread of Chromium.

    def _call(self, function: Callable[..., Any], *arguments: Any) -> Any:
        from .browsers.chromium_engine import engine

        return engine().call(function, *arguments)

    def _load(self, name: str, seed: int) -> None:
        from .browsers.chromium_engine import HEADER, SECONDS, engine

        running = engine()
        if self._tab is None:
            from werkzeug.middleware.shared_data import SharedDataMiddleware
            from werkzeug.wrappers import Response

            secret = secrets.token_hex(16)
            # Serve the folder of the package; files outside it are not found.
            running.sites[secret] = SharedDataMiddleware(Response("", 404), {"/": str(self._pages)}, cache=True)
            context = running.chromium.new_context(
                viewport={"width": _WIDTH, "height": _HEIGHT},
                extra_http_headers={HEADER: secret},
                accept_downloads=False,
                timezone_id="UTC",
                locale="en-US",
            )
            context.set_default_timeout(SECONDS * 1e3)
            context.clock.install(time=_DATE)
            context.add_init_script(_RANDOM)
            self._tab = context.new_page()
            self._tab.on("dialog", lambda dialog: dialog.dismiss())
            self._finalizer = weakref.finalize(self, _start_closing, running, secret, context)
            self._finalizer.atexit = False
        self._address = f"{running.origin}/miniwob/{name}.html"
        self._tab.goto(self._address)
        if not getattr(self, "_paused", False):
            self._tab.context.clock.pause_at(_LATER)
            self._paused = True
        self._tab.evaluate(_BEGIN, [seed, _LONGEST_EPISODE])
        self._look(_START)
        if not self._seen["ready"]:
            raise RuntimeError(f"the page {name!r} was not ready after {_PATIENCE} ms.")

    def _look(self, passed: int) -> None:
        """Advance the page's clock by ``passed`` milliseconds, again until the page is ready, and read the page."""
        for _ in range(0, _PATIENCE, _STEP):
            self._tab.context.clock.run_for(passed)
            self._seen = self._tab.evaluate(_READ)
            if self._seen["ready"]:
                return

    def _perform(self, verb: str, places: list[Any], text: str) -> str | None:
        from .browsers.observations import quote

        tab = self._tab
        aims = []
        for place in places:
            if isinstance(place, tuple):
                if place[0] >= _WIDTH or place[1] >= _HEIGHT:
                    return f"The page is {_WIDTH} wide and {_HEIGHT} high; {place[0]},{place[1]} is not on it."
                aims.append((*place, "", False))
                continue
            aim = tab.evaluate(_REACH, place)
            if aim is None:
                return f"There is no element [{place}] on the page."
            aims.append(aim)
        x, y, tag, editable = aims[0] if aims else (0, 0, "", False)
        match verb:
            case "click":
                tab.mouse.click(x, y)
            case "hover":
                tab.mouse.move(x, y)
            case "drag":
                tab.mouse.move(x, y)
                tab.mouse.down()
                tab.mouse.move(aims[1][0], aims[1][1], steps=5)
                tab.mouse.up()
            case "scroll":
                tab.mouse.move(x, y)
                tab.mouse.wheel(0, 100 if text == "down" else -100)
            case "press":
                tab.keyboard.press(text)
            case "select":
                if tag != "SELECT":
                    return f"[{places[0]}] is no list to choose from."
                texts = tab.evaluate(_SELECT, [places[0], text])
                if texts is not None:
                    return f"[{places[0]}] has no option {quote(text)}; it has {', '.join(map(quote, texts[:20]))}."
            case "fill":
                if tag not in ("INPUT", "TEXTAREA") and not editable:
                    return f"[{places[0]}] is no field for text."
                tab.mouse.click(x, y)
                tab.keyboard.press("Control+a")
                tab.keyboard.press("Backspace")
                tab.keyboard.type(text)
        self._look(_STEP)
        if tab.url.partition("#")[0] != self._address:
            raise RuntimeError(f"the page was left for {shorten(tab.url)!r}.")
        return None

    def close(self) -> None:
        if self._tab is not None:
            self._tab, self._paused = None, False
            self._finalizer()
        super().close()


def _start_closing(running: Any, secret: str, context: Any) -> None:
    running.sites.pop(secret, None)
    running.post(context.close)


def _describe(element: Mapping[str, Any]) -> str:
    from .browsers.observations import quote

    place = f"[{element['ref']}] " if element["ref"] > 0 else ""
    words = [f"{place}{element['tag']}", quote(element["text"])] if element["text"] else [f"{place}{element['tag']}"]
    if element["options"] is not None:
        chosen = [text for text, selected in element["options"] if selected]
        words.append(f"value={', '.join(map(quote, chosen))} options: ")
        words.append(", ".join(quote(text) for text, _ in element["options"][:60]))
    elif isinstance(element["value"], bool):
        words.append("checked" if element["value"] else "unchecked")
    elif element["value"] is not None:
        words.append(f"value={quote(element['value'])}")
    colour = element["fill"] or element["color"]
    if colour and colour not in ("none", "rgba(0, 0, 0, 0)"):
        words.append(f"colour={colour.replace(' ', '')}")
    if element["kind"] and not element["text"]:
        words.append(f"class={quote(element['kind'])}")
    if element["focused"]:
        words.append("focused")
    return f"{' '.join(words)} at {element['x']},{element['y']}"


def read_page_command(action: str) -> tuple[str, list[Any], str] | str:
    """Parse an action. Return (verb, ids and (x, y) places, text), or an error message if it is malformed."""
    verb, _, rest = action.strip().partition(" ")
    verb, rest = verb.lower(), rest.strip()
    if verb not in _FORMS:
        return f"This is no action. {_HELP}"
    found = _FORMS[verb].fullmatch(rest.rstrip("]") if verb in ("click", "hover", "drag") else rest)
    if found is None:
        return f"{shorten(action)!r} is not how {verb} is written. {_HELP}"
    groups = found.groups()
    places: list[Any] = []
    for number, x, y in zip(groups[0::3], groups[1::3], groups[2::3]):
        if number or x:
            places.append(int(number) if number else (int(x), int(y)))
    text = (groups[3] if len(groups) == 4 else "").strip()
    if verb in ("fill", "select"):
        if len(text) > 1 and text[0] == text[-1] and text[0] in "\"'":
            text = text[1:-1].replace('\\"', '"').replace("\\\\", "\\")
        if len(text) > _MOST_TEXT:
            return f"The text has {len(text)} characters; at most {_MOST_TEXT} are taken."
    if verb == "press":
        key = _KEYS.get(text.strip("[]\"'").replace(" ", "").lower(), text if len(text) == 1 else None)
        if key is None:
            return f"There is no key {shorten(text)!r}; write a character or one of: {', '.join(_KEYS.values())}."
        text = key
    return verb, places, text


register("palaestra/MiniWoB-v0", f"{__name__}:MiniWoB", listed=False)
