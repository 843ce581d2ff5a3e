"""What may import what: nothing heavy at ``import palaestra``, and one direction between the packages."""

from __future__ import annotations

import ast
import functools
import subprocess
import sys
from pathlib import Path

import palaestra
import pytest

ROOT = Path(palaestra.__file__).parent
HEAVY = (
    "torch",
    "transformers",
    "sympy",
    "minigrid",
    "matplotlib",
    "scipy",
    "tyro",
    "rich",
    "jinja2",
    "lxml",
    "playwright",
    "werkzeug",
    "pandas",
    "sklearn",
)
PARTS = ("rewards", "envs", "teachers", "agents", "integrations", "scripts", "benchmarks", "tools")
MAY_IMPORT = {
    "rewards": {"rewards"},
    "envs": {"envs", "rewards"},
    "teachers": {"rewards", "teachers"},
    "agents": {"agents", "envs", "rewards", "teachers"},
    "integrations": {"agents", "envs", "integrations", "rewards", "teachers"},
    # `palaestra bench` looks for the benchmarks by name: they are not always installed.
    "scripts": {"agents", "envs", "integrations", "rewards", "scripts", "teachers"},
    "benchmarks": {"agents", "benchmarks", "envs", "integrations", "rewards", "scripts", "teachers"},
    "tools": set(PARTS),
}
OUTSIDE = {
    "rewards": {
        *("gymnasium", "numpy", "jsonschema", "mpmath", "openai", "scipy"),
        *("jsonschema_specifications", "referencing", "safetensors", "sqlglot", "sympy", "torch"),
    },
    "envs": {
        *("PIL", "bm25s", "datasets", "docker", "duckdb", "gymnasium", "huggingface_hub", "jinja2", "lxml"),
        *(
            "httpx2",
            "markupsafe",
            "mcp",
            "minigrid",
            "numpy",
            "playwright",
            "psycopg",
            "pytest",
            "reasoning_gym",
            "sqlglot",
            "werkzeug",
        ),  # pytest: testing
    },
    "teachers": {"gymnasium", "numpy", "scipy"},  # scipy: intervals of benchmarks
    "agents": {
        *("PIL", "filelock", "gguf", "gymnasium", "jinja2", "numpy", "openai", "peft", "ray", "rich", "safetensors"),
        # matplotlib and pandas: figures and data frames for whoever asks
        *("matplotlib", "pandas", "tokenizers", "torch", "transformers", "tyro", "vllm"),
    },
    "integrations": {
        *(
            "anyio",
            "browsergym",
            "datasets",
            "gem",
            "gymnasium",
            "huggingface_hub",
            "inspect_ai",
            "mcp",
            "numpy",
            "openai",
            "pydantic",
        ),
        *(
            "uvicorn",
            "werkzeug",
            "palaestra",
            "pettingzoo",
            "ray",
            "textarena",
            "transformers",
            "verifiers",
        ),  # palaestra: of palaestra_vf, another package
        "websockets",
    },
}


@functools.cache
def imported(path: Path, root: Path = ROOT) -> list[tuple[str, str]]:
    """("inside", part or root module) and ("outside", distribution's top module) for each import of a file.

    An import under ``if TYPE_CHECKING`` counts as well: it is a dependency of the text, if not of the run.
    """
    here, found = path.relative_to(root).parent.parts, []
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found += [("outside", alias.name.split(".")[0]) for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and not node.level:
            found.append(("outside", str(node.module).split(".")[0]))
        elif isinstance(node, ast.ImportFrom):
            base = [*here[: len(here) - node.level + 1], *(node.module.split(".") if node.module else [])]
            found += [("inside", base[0] if base else alias.name) for alias in node.names]
    return found


def offences(part: str, kind: str, may: set[str], of: set[str] | None = None) -> dict[str, set[str]]:
    """Files of a part whose imports of ``kind`` (of those in ``of``) go beyond what it may import, with what it is."""
    files = sorted((ROOT / part).rglob("*.py"))
    assert files
    found = {str(path.relative_to(ROOT)): {name for which, name in imported(path) if which == kind} for path in files}
    return {file: wrong for file, names in found.items() if (wrong := (names if of is None else names & of) - may)}


def loaded_after(code: str) -> set[str]:
    """Top-level names in sys.modules of a fresh process after ``code``."""
    script = f"import sys\n{code}\nprint(*{{name.split('.')[0] for name in sys.modules}})"
    return set(
        subprocess.run([sys.executable, "-c", script], check=True, capture_output=True, text=True).stdout.split()
    )


@pytest.mark.parametrize(
    "code",
    [
        "import palaestra",
        "import palaestra, gymnasium; gymnasium.make('palaestra/Arithmetic-v0').reset(seed=0)",
        "import palaestra, gymnasium; palaestra.teachers.make('alp-gmm', gymnasium.spaces.Box(0, 1, (2,))).propose(9)",
    ],
    ids=["import", "an env", "a teacher"],
)
def test_nothing_heavy_is_loaded(code: str):
    assert loaded_after(code).isdisjoint(HEAVY)


def test_rewards_and_verifiers_are_loaded_when_one_is_looked_up():
    look = "; print(*(name for name in sys.modules if name.startswith('palaestra.rewards.')))"
    script = (
        "import sys, palaestra" + look + "; palaestra.rewards.make('overlong'); palaestra.rewards.audit.sheet" + look
    )
    done = subprocess.run([sys.executable, "-c", script], check=True, capture_output=True, text=True)
    before, after = (set(line.split()) for line in done.stdout.splitlines())
    names = ("algebra", "audit", "judges", "models", "terms", "terms.length_limits")
    late = {f"palaestra.rewards.{name}" for name in names}
    assert late.isdisjoint(before)
    assert late <= after


def test_agents_and_the_configuration_of_training_load_no_torch():
    loaded = loaded_after("import palaestra.agents, palaestra.agents.grpo.config, palaestra.agents.grpo.recipes")
    assert loaded.isdisjoint({"torch", "transformers"})


@pytest.mark.parametrize("part", PARTS)
def test_dependencies_run_one_way(part: str):
    assert offences(part, "inside", MAY_IMPORT[part], of=set(PARTS)) == {}


@pytest.mark.parametrize("part", OUTSIDE)
def test_only_known_packages_are_imported_and_the_own_one_relatively(part: str):
    assert offences(part, "outside", OUTSIDE[part] | set(sys.stdlib_module_names)) == {}


def test_the_reading_of_imports_sees_every_form(tmp_path: Path):
    (tmp_path / "envs" / "math").mkdir(parents=True)
    file = tmp_path / "envs" / "math" / "one.py"
    file.write_text(
        "import torch.nn\nfrom numpy import array\nfrom ... import teachers\nfrom ...agents.agent import Agent\n"
        "from ..question import Task\ndef f():\n    from . import two\n"
    )
    assert imported(file, tmp_path) == [
        ("outside", "torch"),
        ("outside", "numpy"),
        ("inside", "teachers"),
        ("inside", "agents"),
        ("inside", "envs"),
        ("inside", "envs"),
    ]
