"""Cache of parsed pages, shared by all browsers and observations of this process: parsed pages are immutable."""

from __future__ import annotations

import functools

from .accessibility import Page

parse_page = functools.lru_cache(maxsize=512)(Page)
