"""Request to a site and response, as in werkzeug, without the parts that take longer than rendering most pages.

A request parses its parts lazily. A response is text with a status. Both use the WSGI interface.
"""

from __future__ import annotations

import io
from collections.abc import Iterable
from typing import Any

from werkzeug import wrappers
from werkzeug.datastructures import ImmutableMultiDict, MultiDict
from werkzeug.http import HTTP_STATUS_CODES, dump_cookie
from werkzeug.urls import iri_to_uri
from werkzeug.utils import cached_property

_NONE: ImmutableMultiDict[str, str] = ImmutableMultiDict()


class WebRequest(wrappers.Request):
    """A request of a visitor, which parses query and cookies only if there are any."""

    def _get_file_stream(self, *args: Any, **kwargs: Any) -> io.BytesIO:
        """Return the place of an uploaded file, which is in memory: none is written."""
        return io.BytesIO()

    @cached_property
    def args(self) -> MultiDict[str, str]:  # pyright: ignore[reportIncompatibleVariableOverride]
        return super().args if self.query_string else _NONE

    @cached_property
    def cookies(self) -> ImmutableMultiDict[str, str]:  # pyright: ignore[reportIncompatibleVariableOverride]
        return super().cookies if "HTTP_COOKIE" in self.environ else _NONE


class Response:
    """A page, a file, or a redirect.

    Args:
        html: the page.
        status: the HTTP status code.
        location: the target of a redirect.
        kind: the media type.
    """

    def __init__(self, html: str, status: int = 200, location: str = "", kind: str = "text/html"):
        self.status = f"{status} {HTTP_STATUS_CODES[status].upper()}"
        self.content = html.encode()
        self.headers = [("Content-Type", f"{kind}; charset=utf-8"), ("Content-Length", str(len(self.content)))]
        self.headers.append(("Location", _encode(location)) if location else ("Cache-Control", "no-store"))

    def set_cookie(self, name: str, value: str, **options: Any) -> None:
        """Set a cookie in the browser; ``options`` are those of `werkzeug.http.dump_cookie`."""
        self.headers.append(("Set-Cookie", dump_cookie(name, value, **options)))

    def __call__(self, environ: Any, start_response: Any) -> Iterable[bytes]:
        """Send the response, as a WSGI application."""
        start_response(self.status, self.headers)
        return () if environ["REQUEST_METHOD"] == "HEAD" else (self.content,)


def _encode(address: str) -> str:
    return address if address.isascii() and not any(map(str.isspace, address)) else iri_to_uri(address)
