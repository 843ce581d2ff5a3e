"""Tasks on web sites of our own, in an instant browser or a real one, and search in a made-up encyclopaedia.

Each file here is one family; `wiki` holds the families of the encyclopaedia. `sites` are the applications, `browsers`
the browsers that agents act with, `tasks` the task templates. Their files are imported when an environment is made.
"""

from __future__ import annotations

from ..registration import import_families

import_families(__name__, __path__)
