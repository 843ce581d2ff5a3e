"""Tasks on web sites of our own, in an instant browser or a real one, and search in a made-up encyclopaedia.

Each file here is one family, and `wiki` holds those of the encyclopaedia. `sites` are the applications, `browsers` what
an agent acts with, `tasks` the templates of what is asked; their files are imported when an environment is made.
"""

from __future__ import annotations

from ..registration import import_families

import_families(__name__, __path__)
