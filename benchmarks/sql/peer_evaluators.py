"""Released evaluators of other text-to-SQL benchmarks behind one interface: a file for `peer_server`.

This file runs under a Python with the evaluators' dependencies, so it imports nothing of this package. A request has
the query, the gold query, True if the order of rows counts, and a folder; the answer is True if the evaluator accepts
the query on all databases of the folder.
"""

from __future__ import annotations

import contextlib
import importlib.util
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

# Query, gold query, whether the order of rows counts, and the folder of the databases.
Accepts = Callable[[str, str, bool, Path], bool]

# Time limit of a query in BIRD's command.
_SECONDS = 30.0


def test_suites(module: Any) -> Accepts:
    """Wrap Spider's evaluator (test-suite-sql-eval, ``exec_eval.py``), with values and DISTINCT unchanged."""
    return lambda query, gold, ordered, folder: bool(
        module.eval_exec_match(str(next(folder.iterdir())), query, gold, False, True, False)
    )


def bird(module: Any) -> Accepts:
    """Wrap the evaluator of BIRD (``evaluation.py``): equal sets of rows."""

    return lambda query, gold, ordered, folder: all(
        module.execute_model(query, gold, str(database), 0, _SECONDS)["res"] for database in folder.iterdir()
    )


def spider2(module: Any) -> Accepts:
    """Wrap the evaluator of Spider 2.0-lite (``evaluate.py``): the answer has each column of the right result."""

    def accepts(query: str, gold: str, ordered: bool, folder: Path) -> bool:
        for database in folder.iterdir():
            (worked, found), (_, expected) = (module.get_sqlite_result(str(database), text) for text in (query, gold))
            if not worked or not module.compare_pandas_table(found, expected, [], not ordered):
                return False
        return True

    return accepts


# Name -> (a function that the evaluator's file defines, the adapter of the file's module).
EVALUATORS: dict[str, tuple[str, Callable[[Any], Accepts]]] = {
    "Spider (test suites)": ("eval_exec_match", test_suites),
    "BIRD": ("compute_acc_by_diff", bird),
    "Spider 2.0-lite": ("compare_pandas_table", spider2),
}


_loaded: dict[str, Accepts] = {}


def find_installed(*files: str) -> list[str]:
    """Import the files and return the names of the evaluators in them."""
    for place, file in enumerate(files):
        folder = str(Path(file).parent)
        sys.path.insert(0, folder)
        spec = importlib.util.spec_from_file_location(f"evaluator_{place}", file)
        assert spec is not None
        assert spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        sys.path.remove(folder)
        _loaded.update({name: adapt(module) for name, (has, adapt) in EVALUATORS.items() if hasattr(module, has)})
    return list(_loaded)


def answer(evaluator: str, query: str, gold: str, ordered: bool, folder: str) -> bool:
    # An evaluator that fails on a query does not accept it.
    with contextlib.suppress(Exception):
        return _loaded[evaluator](query, gold, ordered, Path(folder))
    return False
