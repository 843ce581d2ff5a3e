"""Requests to an OpenAI-compatible endpoint: its address, the connection, failed attempts and the pauses after them.

The judge sends requests from threads, the chat agent from an event loop; all that does not wait is shared here.
"""

from __future__ import annotations

import os
import time
from email.utils import parsedate_to_datetime
from typing import Any

from ...errors import InputError, needs_extra, shorten

LONGEST_PAUSE = 60.0
"""Seconds to wait before a repetition, at most."""
AGAIN = (408, 409, 425, 429)
"""Statuses, besides 5xx, after which a repetition may succeed."""


class RequestFailed(Exception):
    """A failed attempt.

    Attributes:
        again: another attempt may succeed.
        after: the pause that the endpoint asks for, in seconds; None without one.
    """

    def __init__(self, message: str, again: bool = True, after: float | None = None):
        super().__init__(message)
        self.again, self.after = again, after

    @classmethod
    def from_status(cls, error: Any, message: str) -> RequestFailed:
        """Turn the SDK's error for an answer with an error status into a failure."""
        again = error.status_code in AGAIN or error.status_code >= 500
        return cls(message, again, read_retry_after(error.response.headers.get("retry-after")))

    def pause(self, attempt: int, backoff: float) -> float:
        """Return the seconds before the next attempt; without a wish of the endpoint they double each time."""
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
    """Import the SDK.

    Raises:
        MissingExtra: ``what`` needs it, and it is not installed.
    """
    with needs_extra(what, "judge"):
        import openai
    return openai


def connection_options(base_url: str | None, api_key: str | None = None, retries: int = 0) -> dict[str, Any]:
    """Return the arguments of the SDK's clients; without a key a placeholder is sent, as local servers need none."""
    key = api_key or os.environ.get("OPENAI_API_KEY") or "none"
    return {"api_key": key, "base_url": base_url, "max_retries": retries}


def read_retry_after(value: str | None) -> float | None:
    """Parse a ``Retry-After`` header, a number of seconds or a date, into seconds; None without a readable header."""
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
