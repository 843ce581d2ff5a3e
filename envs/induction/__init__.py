"""Induction and vision tasks: rules inferred from examples, and pictures of digits."""

from __future__ import annotations

from ..registration import import_families

import_families(__name__, __path__)
