"""Tasks on web sites of our own, in an instant browser or a real one. Each file here is one family.

`sites` are the applications, `browsers` what an agent acts with, `tasks` the templates of what is asked. None of them
is imported before an environment is made.
"""

from __future__ import annotations

from ..registration import import_families

import_families(__name__, __path__)
