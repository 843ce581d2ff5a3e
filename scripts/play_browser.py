"""Player of web tasks in a person's own browser, at a local address: what is done on the page becomes actions.

The page that is shown is the one of the environment's browser within the process, with a script that turns clicks,
typed texts and choices into the actions of an agent, in place of the page's own script: widgets open by these actions.
Files and tabs are in the bar below the page. So episodes played like this are the same as an agent's, and
``palaestra eval`` and ``palaestra dataset`` read them.
"""

from __future__ import annotations

import json
import queue
import re
import secrets
import threading
from collections.abc import Callable, Mapping, Sequence
from html import escape
from pathlib import Path
from typing import Any

import gymnasium as gym

from ..agents.agent import Agent
from ..envs.web.web_task import WebTaskEnv
from ..errors import InputError, needs_extra

with needs_extra("palaestra play --browser", "web"):
    from werkzeug.serving import make_server
    from werkzeug.wrappers import Request, Response

    from ..envs.web.browsers.browser import ASSETS
    from ..envs.web.browsers.chromium_engine import QuietHandler
    from ..envs.web.browsers.page_cache import parse_page
    from ..envs.web.sites.site import SITES
    from ..envs.web.tasks.template import make_task_start

_OWN_SCRIPT = re.compile(r"<script src=[^>]*></script>")
_SCRIPT = Path(__file__).with_suffix(".js")
# Seconds that a request for a page waits for the environment, and that the last page waits to be fetched.
_PATIENCE, _FAREWELL = 60.0, 10.0


class BrowserPlayer(Agent):
    """Agent for one person in a browser, one episode at a time.

    Args:
        say: function that shows a line to the person, such as the address.

    Attributes:
        url: the address of the page.
    """

    name = "human-browser"
    max_slots = 1

    def __init__(self, say: Callable[[str], None]):
        self._actions: queue.SimpleQueue[str] = queue.SimpleQueue()
        self._ready = threading.Event()
        self._fetched = threading.Event()
        self._key, self._turn, self._page = secrets.token_hex(16), 0, ""
        self._site: Any = None
        self._server = make_server("127.0.0.1", 0, self._serve, threaded=True, request_handler=QuietHandler)
        self.url = f"http://127.0.0.1:{self._server.server_port}/"
        threading.Thread(target=self._server.serve_forever, args=(0.05,), daemon=True).start()
        say(f"Open {self.url} in a browser. Ctrl-C ends.")

    def bind(self, envs: Sequence[gym.Env]) -> None:
        inner = envs[0].unwrapped
        if not isinstance(inner, WebTaskEnv):
            raise InputError(f"--browser plays tasks on web sites, not {type(inner).__name__}; leave it out.")
        self._env = inner

    def act(self, observations: Sequence[Any], infos: Sequence[Mapping[str, Any]]) -> list[Any]:
        error = str(infos[0].get("action_error") or "")
        if error:
            # The rest of what was done on the page before may no longer fit.
            self._actions = queue.SimpleQueue()
        if self._actions.empty():
            self._turn += 1
            self._page = self._write_page(error)
            self._ready.set()
        return [self._actions.get()]

    def _write_page(self, error: str) -> str:
        state = self._env.here()
        self._site = self._site or SITES[state.task.site](state.database)
        page = parse_page(state.tab.html)
        tabs = [*state.tab.others[: state.tab.place], state.tab, *state.tab.others[state.tab.place :]]
        places = {control.number: control.place for control in page.controls}
        given = {
            "turn": self._turn,
            "key": self._key,
            "numbers": {place: number for number, place in places.items()},
            "values": {places[number]: value for number, value in state.tab.edits},
            "task": make_task_start(state.task).instruction,
            "error": error,
            "files": [one.name for one in state.tab.files],
            "opened": next((one.text for one in state.tab.files if one.name == state.tab.opened), ""),
            "tabs": [parse_page(one.html).title for one in tabs],
            "place": state.tab.place,
        }
        # "<" could end the script.
        script = f"const GIVEN = {json.dumps(given)};".replace("<", "\\u003c") + _SCRIPT.read_text(encoding="utf-8")
        before, end, after = _OWN_SCRIPT.sub("", state.tab.html).rpartition("</body>")
        return f"{before}<script>{script}</script>{end}{after}"

    def _serve(self, environ: Any, start_response: Any) -> Any:
        request = Request(environ)
        if request.path.startswith(ASSETS) and self._site is not None:
            return self._site(environ, start_response)
        if request.path == "/act" and request.method == "POST":
            return self._take(request)(environ, start_response)
        self._ready.wait(_PATIENCE)
        self._fetched.set()
        page = Response(self._page, content_type="text/html; charset=utf-8", headers={"Cache-Control": "no-store"})
        return page(environ, start_response)

    def _take(self, request: Request) -> Response:
        """Take the actions done on a page. A page of an earlier turn has none to give."""
        told = json.loads(request.get_data(as_text=True))
        if told["key"] != self._key or told["turn"] != self._turn or not self._ready.is_set():
            return Response("", 409)
        self._ready.clear()
        for action in told["actions"]:
            self._actions.put(str(action))
        return Response("", 204)

    def say_goodbye(self, text: str) -> None:
        """Show a text as the last page, and wait a little until it was fetched."""
        self._page = f"<!doctype html><title>Over</title><h1>{escape(text)}</h1>"
        self._fetched.clear()
        self._ready.set()
        self._fetched.wait(_FAREWELL)

    def close(self) -> None:
        """End the server."""
        self._server.shutdown()
        self._server.server_close()
        if self._site is not None:
            self._site.close()
