"""Gridworlds with MiniGrid's dynamics, observations and rewards, and the same worlds in text."""

from __future__ import annotations

from ..registration import import_families

import_families(__name__, __path__)
