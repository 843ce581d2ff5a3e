"""Tasks about programs: write, repair, complete, speed up or predict Python, judged by tests in the sandbox.

Each file here is one family. What several families share lies in the folders: `programs` draws random functions,
`problems` reads published data sets, `judging` reads and judges answers, and `counting` counts the operations of a
program.
"""

from __future__ import annotations

from ..registration import import_families

import_families(__name__, __path__)
