"""Tasks about databases: write or mend queries, judged by their results on several databases, or predict results.

`databases` makes schemas and contents, `queries` draws queries and asks for them in English, `engines` runs them, and
`query_sets` reads published data sets.
"""

from __future__ import annotations

from ..registration import import_families

import_families(__name__, __path__)
