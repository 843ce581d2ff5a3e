"""HTML pages: each is one file that includes its style and data, and opens without a network.

`read_style` returns the style sheet that all pages share; `render` fills a jinja2 template, in which every value is
escaped unless it is marked as safe. Light and dark follow the reader's system.
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
    """Return what allows one inline script in a Content-Security-Policy: ``'sha256-…'``."""
    return f"'sha256-{base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()}'"


def render(template: Traversable, what: str, **values: Any) -> str:
    """Fill a jinja2 template; ``style`` is the shared style sheet.

    Args:
        what: name of the page, for the error.
        values: the template's variables, and under ``filters`` functions by name.

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
