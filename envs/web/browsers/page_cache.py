"""Parsed pages, kept for all browsers and observations of this process: pages never change."""

from __future__ import annotations

import functools

from .accessibility import Page

parse_page = functools.lru_cache(maxsize=512)(Page)
