"""Tasks on web sites of our own, in an in-process browser or a real one, and search in a made-up encyclopaedia.

The files of this folder register the families on sites; `wiki` has the families of the encyclopaedia. `sites` are the
web applications, `browsers` the browsers that agents act with, `tasks` the task templates; these folders are imported
only when an environment is made.
"""

from __future__ import annotations

from ..registration import import_families

import_families(__name__, __path__)
