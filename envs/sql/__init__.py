"""Tasks about databases: write queries, judged by their results on several databases.

Each file here is one family. `databases` makes schemas and contents; `queries` draws queries and asks for them in
English.
"""

from __future__ import annotations

from ..registration import import_families

import_families(__name__, __path__)
