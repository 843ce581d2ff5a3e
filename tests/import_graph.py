"""The source files and which of them import which, read from their text: imports inside functions and under
``if TYPE_CHECKING`` count as well.

``python -m tests.import_graph`` prints the files whose types a change may concern, for pyright in a quick run.
"""

from __future__ import annotations

import ast
import functools
from collections.abc import Iterable, Iterator, Set
from pathlib import Path

ROOT = Path(__file__).parent.parent
GROUND = ("errors.py", "registry.py", "checks.py", "schedules.py")
PACKAGES = ("rewards", "envs", "teachers", "agents", "integrations", "scripts", "benchmarks", "tools")


def source_files(root: Path = ROOT) -> list[Path]:
    files = [root / name for name in GROUND] + [path for name in PACKAGES for path in (root / name).rglob("*.py")]
    return sorted(path for path in files if path.is_file())


def module_of(path: Path, root: Path = ROOT) -> str:
    parts = path.relative_to(root).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


@functools.cache
def tree(path: Path) -> ast.Module:
    """The parsed text of a file; it must not be changed."""
    return ast.parse(path.read_text(encoding="utf-8"))


def imports_of(path: Path, known: Set[str], root: Path = ROOT) -> Iterator[str]:
    """Modules of the package that a file imports, by name from the root."""
    package = path.relative_to(root).parent.parts
    for node in ast.walk(tree(path)):
        if isinstance(node, ast.ImportFrom) and node.level:
            base = [*package[: len(package) - node.level + 1], *(node.module.split(".") if node.module else [])]
            for alias in node.names:
                full = ".".join([*base, alias.name])
                yield full if full in known else ".".join(base)


def import_graph(root: Path = ROOT, gone: Iterable[str] = ()) -> dict[str, set[str]]:
    """Module -> the modules that it imports, among those of ``root`` and those that are ``gone``."""
    modules = {module_of(path, root): path for path in source_files(root)}
    known = modules.keys() | set(gone)
    graph = {name: set(imports_of(path, known, root)) & known for name, path in modules.items()}
    return {name: imported - {name} for name, imported in graph.items()}


def find_concerned(changed: Iterable[str], root: Path = ROOT) -> list[str]:
    """Source files that changed, and those that import them, directly or by way of a package's names."""
    changed = [name for name in changed if name.endswith(".py")]
    names = {module_of(root / name, root) for name in changed}
    graph, files = import_graph(root, names), {module_of(path, root): path for path in source_files(root)}
    packages = {name for name, path in files.items() if path.name == "__init__.py"}
    while further := {name for name in packages - names if graph[name] & names}:
        names |= further
    importers = {name for name, imported in graph.items() if imported & names}
    return sorted(str(files[name].relative_to(root)) for name in (names | importers) & files.keys())


if __name__ == "__main__":
    from .quick_run import changed_files

    changes = changed_files(ROOT)
    if {"pyproject.toml", "constraints.txt"} & set(changes) or any(name.endswith(".pyi") for name in changes):
        files = [str(path.relative_to(ROOT)) for path in source_files()]
    else:
        files = find_concerned(changes)
    print(*files, sep="\n")
