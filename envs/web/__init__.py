"""Tasks on the web: search in a made-up encyclopaedia."""

from __future__ import annotations

from . import wiki as wiki
