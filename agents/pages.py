"""HTML pages: each is one file that includes its style and data, and opens without a network.

`read_style` returns the style sheet that all pages share; `render` fills a jinja2 template, in which every value is
escaped unless it is marked as safe. The light or dark theme follows the reader's system.
"""

from __future__ import annotations

import base64
import hashlib
from importlib.resources import files
from importlib.resources.abc import Traversable
from typing import Any

from ..errors import needs_extra


def read_style() -> str:
    """Read the style sheet that all pages share."""
    return files(__package__ or __name__).joinpath("page.css").read_text(encoding="utf-8")


def hash_source(script: str) -> str:
    """Return the source expression ``'sha256-…'`` that allows one inline script in a Content-Security-Policy."""
    return f"'sha256-{base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()}'"


def render(template: Traversable, what: str, **values: Any) -> str:
    """Fill a jinja2 template; its variable ``style`` is the shared style sheet.

    Args:
        what: name of the page, for the error message.
        values: the template's other variables; ``filters``, if given, is a mapping of additional jinja2 filters.

    Raises:
        MissingExtra: jinja2 is not installed.
    """
    with needs_extra(what, "render"):
        from jinja2 import Environment
    environment = Environment(autoescape=True, trim_blocks=True, lstrip_blocks=True)
    environment.filters |= values.pop("filters", {})
    page = environment.from_string(template.read_text(encoding="utf-8")).render(style=read_style(), **values)
    # A lone surrogate cannot be written to a file.
    return page.encode("utf-8", "backslashreplace").decode("utf-8")
