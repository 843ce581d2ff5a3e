"""Server of a file of peers: a plain program that runs under any Python that has the peers installed.

    python -P peer_server.py FILE ARGUMENT...

Neither the server nor FILE imports anything of this package. FILE must define two functions. The result of
``find_installed(*arguments)``, the usable peers with their versions, is the first line of output. Then each line of
input holds the keyword arguments of ``answer``, and is answered by a line with its result, or {"error": ...} if it
raised. All lines are JSON.
"""

from __future__ import annotations

import json
import runpy
import sys
from typing import Any


def main(file: str, *arguments: str) -> None:
    """Answer every line of standard input, until it is closed."""
    # Redirect prints of peers to standard error, so that they do not mix with the answers.
    out, sys.stdout = sys.stdout, sys.stderr
    peers = runpy.run_path(file)
    print(json.dumps(peers["find_installed"](*arguments)), file=out, flush=True)
    for line in sys.stdin:
        try:
            answer: Any = peers["answer"](**json.loads(line))
        except Exception as error:
            answer = {"error": f"{type(error).__name__}: {error}"[:200]}
        print(json.dumps(answer), file=out, flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
