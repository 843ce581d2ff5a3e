"""Requests to an OpenAI-compatible endpoint: address, connection, failed attempts and the pauses after them.

The judge sends requests from threads, the chat agent from an event loop; both share the code that does not wait.
"""

from __future__ import annotations

import os
import time
from email.utils import parsedate_to_datetime
from typing import Any

from ...errors import InputError, needs_extra, shorten

LONGEST_PAUSE = 60.0
"""Longest pause before a repetition, in seconds."""
AGAIN = (408, 409, 425, 429)
"""HTTP statuses, besides 5xx, after which a repetition may succeed."""


class RequestFailed(Exception):
    """Error of a failed attempt.

    Attributes:
        again: True if another attempt may succeed.
        after: the pause that the endpoint asks for, in seconds; None if it asks for none.
    """

    def __init__(self, message: str, again: bool = True, after: float | None = None):
        super().__init__(message)
        self.again, self.after = again, after

    @classmethod
    def from_status(cls, error: Any, message: str) -> RequestFailed:
        """Convert the SDK's error for an HTTP error status into a `RequestFailed`."""
        again = error.status_code in AGAIN or error.status_code >= 500
        return cls(message, again, read_retry_after(error.response.headers.get("retry-after")))

    def pause(self, attempt: int, backoff: float) -> float:
        """Return the seconds before the next attempt: ``after`` if given, else ``backoff * 2**attempt``; at most 60."""
        return min(backoff * 2.0**attempt if self.after is None else self.after, LONGEST_PAUSE)


def check_address(url: str | None) -> str | None:
    """Check the address of an endpoint and return it unchanged; None checks ``OPENAI_BASE_URL`` instead.

    Raises:
        InputError: the address does not begin with http:// or https://.
    """
    given = url if url is not None else os.environ.get("OPENAI_BASE_URL")
    if given and not str(given).startswith(("http://", "https://")):
        where = "" if url is not None else " in OPENAI_BASE_URL"
        raise InputError(
            f"the endpoint's address {shorten(str(given))!r}{where} lacks http:// or https://; write, for example, "
            f"http://{shorten(str(given))}."
        )
    return url


def import_sdk(what: str) -> Any:
    """Import the SDK and return it as a module.

    Raises:
        MissingExtra: the SDK is not installed; the message says that ``what`` needs it.
    """
    with needs_extra(what, "chat"):
        import openai
    return openai


def connection_options(base_url: str | None, api_key: str | None = None, retries: int = 0) -> dict[str, Any]:
    """Return the arguments for the SDK's clients. Without a key a placeholder is used, as local servers need none."""
    key = api_key or os.environ.get("OPENAI_API_KEY") or "none"
    return {"api_key": key, "base_url": base_url, "max_retries": retries}


def read_retry_after(value: str | None) -> float | None:
    """Convert a ``Retry-After`` header, a number of seconds or a date, to seconds; None if absent or unreadable."""
    if value is None or len(value) > 40:
        return None
    try:
        seconds = float(value)
    except ValueError:
        try:
            seconds = parsedate_to_datetime(value).timestamp() - time.time()
        except (ValueError, OverflowError):
            return None
        seconds = max(seconds, 0.0)
    return seconds if 0.0 <= seconds < float("inf") else None
