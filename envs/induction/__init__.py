"""Induction and perception: find the rule, or the way the pieces lie."""

from __future__ import annotations

from ..registration import import_families

import_families(__name__, __path__)
