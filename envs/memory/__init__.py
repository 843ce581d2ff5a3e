"""Texts that arrive piece by piece, a memory to keep with tools, and questions at the end that only it can answer."""

from __future__ import annotations

from ..registration import import_families

import_families(__name__, __path__)
