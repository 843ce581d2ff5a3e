"""Portal: several sites in one browser, each under a path prefix such as ``/forum/``, with links between them.

The sites need no change: the portal strips the prefix from requests and adds it to the addresses in responses. The
state of the portal is the states of all its sites.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

from markupsafe import Markup
from werkzeug.exceptions import NotFound

from ..browsers.browser import ASSETS
from .databases import Content, Databases
from .exchange import WebRequest
from .site import SITES, WebSite

TITLES = {
    "admin": "admin panel",
    "booking": "booking site",
    "forum": "forum",
    "shop": "shop",
    "tracker": "tracker",
    "wiki": "almanac",
}
# Quotation marks in texts are escaped, so that the pattern matches only attributes.
Answer = tuple[str, list[tuple[str, str]], bytes]
"""Answer to a request: (status, headers, content)."""
_ADDRESS = re.compile(rb' (href|src|action|formaction)="/(?!static/)')


class Portal(WebSite):
    """Web application of several sites; see the module. The list of sites is part of the state.

    Args:
        state: pairs (name, database) of the sites.
    """

    name = "across"
    schema = ""
    judged = {}  # noqa: RUF012

    @classmethod
    def queries(cls, database: Databases) -> dict[str, Any]:
        return {
            f"{site} {name}": query
            for site, one in database.items()
            for name, query in SITES[site].queries(one).items()
        }

    def __init__(self, state: Content):
        self.sites: dict[str, WebSite] = {}
        self.restore(state)

    @property
    def database(self) -> Databases:  # pyright: ignore[reportIncompatibleVariableOverride]
        return Databases({name: site.database for name, site in self.sites.items()})

    def restore(self, state: Content) -> None:
        assert isinstance(state, tuple)
        before, self.sites = self.sites, {}
        for name, part in state:
            site = before.pop(name, None)
            if site is None:
                site = SITES[name](part)
            elif site.state() is not part:
                site.restore(part)
            self.sites[name] = site
        for site in before.values():
            site.close()
        self._parts = state
        links = [Markup('<a href="/">Start</a>'), *self._links()]
        bar = Markup('<body>\n<nav class="sites" aria-label="Sites">{}</nav>').format(Markup(" ").join(links))
        self.bar = bar.encode()

    def state(self) -> Content:
        parts = [site.state() for site in self.sites.values()]
        if any(part is not before for part, (_, before) in zip(parts, self._parts, strict=True)):
            self._parts = tuple(zip(self.sites, parts, strict=True))
        return self._parts

    def close(self) -> None:
        for site in self.sites.values():
            site.close()

    def _links(self) -> list[Markup]:
        link = Markup('<a href="/{}/">Go to the {}</a>')
        return [link.format(name, TITLES[name]) for name in self.sites if name in TITLES]

    def __call__(self, environ: Any, start_response: Any) -> Iterable[bytes]:
        path = environ.get("PATH_INFO", "")
        name, slash, _ = path.removeprefix("/").partition("/")
        if path.startswith(ASSETS):
            return next(iter(self.sites.values()))(environ, start_response)
        if name not in self.sites or name not in TITLES:
            request = WebRequest(environ)
            if path == "/":
                answer = self.page(request, "home.html", links=self._links())
            else:
                answer = self.page(request, "error.html", 404, error=NotFound())
            return answer(environ, start_response)
        if not slash:
            return self.redirect(f"/{name}/")(environ, start_response)
        status, headers, content = self.serve(name, environ)
        kept = [(key, value) for key, value in headers if key.lower() != "content-length"]
        start_response(status, [*kept, ("Content-Length", str(len(content)))])
        return [content]

    def serve(self, name: str, environ: dict[str, Any]) -> Answer:
        """Return the answer of the site ``name``, with addresses of the portal."""
        started: list[Any] = []
        content = b"".join(
            self.sites[name](
                {**environ, "PATH_INFO": environ["PATH_INFO"].removeprefix(f"/{name}")},
                lambda status, headers, *_: started.append((status, headers)),
            )
        )
        content = _ADDRESS.sub(rb' \1="/' + name.encode() + b"/", content).replace(b"<body>", self.bar, 1)
        status, headers = started[-1]
        return (
            status,
            [(key, f"/{name}{text}" if key.lower() == "location" else text) for key, text in headers],
            content,
        )


SITES.add(Portal.name, Portal)
