"""Questions from elsewhere: data sets on disk or the hub, and Reasoning Gym's."""

from __future__ import annotations

from ..registration import import_families

import_families(__name__, __path__)
