"""Walkers on tracks with obstacles: continuous control, on which teachers of continuous axes are compared.

`stump_tracks` is the environment, `track_walker` the physics under it, which is imported at the first reset.
"""

from __future__ import annotations

from ..registration import import_families

import_families(__name__, __path__)
