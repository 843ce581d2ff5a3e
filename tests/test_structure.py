"""The structure of the source: no circle, no import against the stated directions, no name for two public classes.

Imports are read from the text, so that those inside functions and under ``if TYPE_CHECKING`` count as well.
"""

from __future__ import annotations

import ast
import functools
import inspect
import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Set
from pathlib import Path
from typing import Any

import pytest
from palaestra.checks import makes_by_options
from palaestra.rewards import REWARDS
from palaestra.teachers import TEACHERS

ROOT = Path(__file__).parent.parent
GROUND = ("errors.py", "registry.py", "checks.py", "schedules.py", "estimates.py")
PACKAGES = ("rewards", "envs", "teachers", "agents", "integrations", "scripts", "benchmarks", "tools")
LEARNER = (
    {"recipes", "config", "settings", "optimizers"},
    {"batch"},
    {"components"},
    {"objective"},
    {"rollouts", "ranks", "optimizer_steps"},
    {"run", "measures", "teacher_requests"},
    {"collection", "update", "warmup"},
    {"run_parts"},
    {"learner"},
)
"""Files and folders of the learner: each may import those of its own line and of the lines above it."""
MOST_ROOMS, MOST_LINES, MOST_ONCE = 18, 420, 300
UNDECLARED = {"action-match", "geometric-mean", "lare", "normalize", "shaped", "sum", "veto"}
"""Rewards whose constructors take parts by any name, or an option by the name of an attribute of every reward."""
SIBLINGS = {
    # A benchmark and its student; parts of benchmarks.
    "teachers": {"categories", "hypercube"},
    "benchmarks": {"command", "peers"},
}
"""Stems that several files of a package share by design."""

SUITES = {
    "agents/engines/test_vllm_real_model.py",
    "agents/grpo/rollouts/test_stepping.py",
    "agents/grpo/test_analytic.py",
    "agents/grpo/test_host_reads.py",
    "agents/grpo/test_traps.py",
    "agents/grpo/test_trl_parity.py",
    "agents/language/test_real_model.py",
    "envs/code/counting/test_costs.py",
    "envs/code/test_endless_programs.py",
    "envs/code/test_program_debugging_rewards.py",
    "envs/datasets/test_problem_folders.py",
    "envs/sandbox/test_attacks.py",
    "envs/sandbox/test_benign.py",
    "envs/sandbox/test_nothing_left.py",
    "envs/sandbox/test_other_user.py",
    "envs/sandbox/test_packages.py",
    "integrations/openenv/test_peer_openenv.py",
    "integrations/test_peer_games.py",
    "integrations/test_peer_agentlab.py",
    "integrations/test_peer_browsergym.py",
    "integrations/test_peer_inspect.py",
    "integrations/test_peer_lm_eval.py",
    "integrations/test_peer_rllib.py",
    "integrations/test_peer_scores.py",
    "integrations/test_peer_verifiers.py",
    "rewards/verifiers/mathematics/test_verifier_attacks.py",
    "rewards/verifiers/mathematics/test_verifier_notation.py",
    "rewards/verifiers/mathematics/test_verifier_workers.py",
    "rewards/verifiers/test_exact_verifiers.py",
    "scripts/test_eval_of_reasoning.py",
    "teachers/boxes/test_many_axes.py",
}
"""Tests of one claim about several modules, besides those named ``test_every_*`` and those directly in ``tests``."""


def source_files(root: Path = ROOT) -> list[Path]:
    files = [root / name for name in GROUND] + [path for name in PACKAGES for path in (root / name).rglob("*.py")]
    return sorted(path for path in files if path.is_file())


def module_of(path: Path, root: Path = ROOT) -> str:
    parts = path.relative_to(root).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


KINDS = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef, ast.ImportFrom)


@functools.cache
def nodes(path: Path) -> list[Any]:
    """List the nodes of a file that are of `KINDS`, the module first. Do not change them."""
    found: list[Any] = [ast.parse(path.read_text(encoding="utf-8"))]
    for node in found:
        # Statements alone, which hold all of these kinds: most nodes of a file are parts of expressions.
        for field in ("body", "handlers", "orelse", "finalbody", "cases"):
            found += getattr(node, field, ())
    return [node for node in found if isinstance(node, KINDS)]


def imports_of(path: Path, known: Set[str], root: Path = ROOT) -> Iterator[str]:
    """Modules of the package that a file imports, by name from the root."""
    package = path.relative_to(root).parent.parts
    for node in nodes(path):
        if isinstance(node, ast.ImportFrom) and node.level:
            base = [*package[: len(package) - node.level + 1], *(node.module.split(".") if node.module else [])]
            for alias in node.names:
                full = ".".join([*base, alias.name])
                yield full if full in known else ".".join(base)


def import_graph(root: Path = ROOT) -> dict[str, set[str]]:
    """Module -> the modules of ``root`` that it imports."""
    modules = {module_of(path, root): path for path in source_files(root)}
    graph = {name: set(imports_of(path, modules.keys(), root)) & modules.keys() for name, path in modules.items()}
    return {name: imported - {name} for name, imported in graph.items()}


def circles(graph: Mapping[str, Set[str]]) -> list[set[str]]:
    """Groups of modules that can reach one another: those that remain when leaves and roots are peeled off."""
    left = dict(graph)
    while ends := {name for name, targets in left.items() if left.keys().isdisjoint(targets)}:
        left = {name: targets & left.keys() for name, targets in left.items() if name not in ends}
    graph, reach = left, {}
    for start in graph:
        seen: set[str] = set()
        todo = list(graph[start])
        while todo:
            name = todo.pop()
            if name in graph and name not in seen:
                seen.add(name)
                todo += graph[name]
        reach[start] = seen
    groups = {frozenset({name} | {other for other in reach[name] if name in reach[other]}) for name in graph}
    return sorted((set(group) for group in groups if len(group) > 1), key=sorted)


def against(graph: Mapping[str, Set[str]], package: str, floors: tuple[Set[str], ...]) -> set[tuple[str, str]]:
    """Pairs (module, import) within ``package`` that lead from a lower line of ``floors`` to one further down."""
    floor_of = {room: floor for floor, rooms in enumerate(floors) for room in rooms}
    depth = package.count(".") + 1

    def room(module: str) -> str | None:
        return module.split(".")[depth] if module.startswith(f"{package}.") else None

    return {
        (module, imported)
        for module, targets in graph.items()
        for imported in targets
        if (mine := room(module)) and (theirs := room(imported)) and floor_of[theirs] > floor_of[mine]
    }


def public_classes(root: Path = ROOT) -> dict[str, list[str]]:
    """Name of each public class -> the modules that define it."""
    found = defaultdict(list)
    for path in source_files(root):
        for node in nodes(path)[0].body:
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                found[node.name].append(module_of(path, root))
    return found


@pytest.fixture(scope="module")
def graph() -> dict[str, set[str]]:
    return import_graph()


def test_no_modules_import_each_other_in_a_circle(graph):
    assert circles(graph) == []


def test_the_rooms_of_the_learner_import_one_way(graph):
    assert against(graph, "agents.grpo", LEARNER) == set()


def test_the_learner_has_few_rooms(graph):
    rooms = {module.split(".")[2] for module in graph if module.startswith("agents.grpo.")}
    assert len(rooms) <= MOST_ROOMS
    assert rooms == set().union(*LEARNER)


def test_no_two_public_classes_share_a_name():
    assert {name: modules for name, modules in public_classes().items() if len(modules) > 1} == {}


@pytest.mark.parametrize("package", PACKAGES)
def test_files_of_one_name_are_siblings_by_design(package: str):
    stems = defaultdict(list)
    for path in (ROOT / package).rglob("*.py"):
        if path.stem not in ("__init__", "__main__"):
            stems[path.stem].append(str(path.relative_to(ROOT)))
    shared = {stem: files for stem, files in stems.items() if len(files) > 1}
    assert {stem: files for stem, files in shared.items() if stem not in SIBLINGS.get(package, ())} == {}


def test_the_test_of_a_module_lies_at_its_path():
    tests = {path.relative_to(ROOT / "tests") for path in (ROOT / "tests").rglob("test_*.py")}
    alone = set()
    for path in tests:
        module = ROOT / path.with_name(path.name.removeprefix("test_"))
        found = module.is_file() or module.with_suffix("").is_dir()
        if not found and "_every_" not in path.name and len(path.parts) > 1:
            alone.add(path.as_posix())
    assert alone == SUITES


def test_no_source_file_is_long():
    lengths = {module_of(path): len(path.read_text(encoding="utf-8").splitlines()) for path in source_files()}
    assert {module: length for module, length in lengths.items() if length > MOST_LINES} == {}


def test_few_short_private_functions_are_named_once():
    sources = list(source_files())
    words = Counter(word for path in sources for word in re.findall(r"\w+", path.read_text("utf-8")))
    once = []
    for path in sources:
        for node in nodes(path):
            if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) or words[node.name] != 2:
                continue
            body = node.body[1:] if ast.get_docstring(node) else node.body
            lines = (body[-1].end_lineno or 0) - body[0].lineno + 1 if body else 0
            if lines <= 5 and node.name.startswith("_") and not node.name.startswith("__"):
                once.append(f"{path.relative_to(ROOT)}:{node.lineno} {node.name}")
    assert len(once) < MOST_ONCE, once


def test_options_of_teachers_and_rewards_are_declared():
    classes = {**dict(REWARDS.items()), **{name: getattr(made, "teacher", made) for name, made in TEACHERS.items()}}
    by_hand = {
        name
        for name, cls in classes.items()
        if isinstance(cls, type) and cls.__module__.startswith("palaestra.")  # tests register some, too
        if not makes_by_options(cls) and inspect.signature(cls).parameters
    }
    assert by_hand == UNDECLARED


def test_docstrings_open_with_a_verb_or_the_name_of_a_thing():
    riddles = {"What", "Whether", "How", "Where", "Which", "Those", "Such"}
    found = []
    for path in source_files():
        for node in nodes(path):
            if not isinstance(node, ast.ImportFrom):
                words = (ast.get_docstring(node) or "").split()
                if words and words[0].rstrip(",:") in riddles:
                    found.append((module_of(path), getattr(node, "name", ""), " ".join(words[:6])))
    assert found == []


def test_circles_upward_imports_and_homonyms_are_seen(tmp_path: Path):
    for name, text in {
        "agents/grpo/batch/data.py": "from ..learner import run\nclass Episode: ...\n",
        "agents/grpo/learner.py": "def run():\n    from .batch import data\nclass Episode: ...\nclass _Hidden: ...\n",
        "agents/grpo/batch/__init__.py": "class _Hidden: ...\n",
    }.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    graph = import_graph(tmp_path)
    assert circles(graph) == [{"agents.grpo.batch.data", "agents.grpo.learner"}]
    assert against(graph, "agents.grpo", LEARNER) == {("agents.grpo.batch.data", "agents.grpo.learner")}
    classes = public_classes(tmp_path)
    assert {name: len(modules) for name, modules in classes.items()} == {"Episode": 2}
