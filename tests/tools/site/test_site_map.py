"""Site and ``--help`` against the registries: whatever is registered can be read about in each."""

from __future__ import annotations

from pathlib import Path

import palaestra
import pytest
from palaestra.agents.agent import AGENTS
from palaestra.agents.engines.engine import ENGINES
from palaestra.agents.grpo.recipes import RECIPES
from palaestra.agents.history import HISTORIES
from palaestra.agents.learners import LEARNERS
from palaestra.agents.students.bonuses import BONUSES
from palaestra.benchmarks import BENCHMARKS
from palaestra.registry import Registry
from palaestra.rewards import REWARDS, VERIFIERS
from palaestra.rewards.tabular import DESIGNERS
from palaestra.scripts.cli import COMMANDS, _help
from palaestra.scripts.list import ON_REQUEST, TABLES
from palaestra.scripts.list_stages import stages
from palaestra.teachers import TEACHERS
from palaestra.tools.site.api_pages import class_links
from palaestra.tools.site.command_pages import read_help
from palaestra.tools.site.method_pages import own_names
from palaestra.tools.site.site_map import site_pages
from palaestra.tools.site.site_page import SitePage, write_pages

ROOT = Path(palaestra.__file__).parent
KINDS: dict[str, Registry] = {
    "agents": AGENTS,
    "bonuses": BONUSES,
    "designers": DESIGNERS,
    "engines": ENGINES,
    "histories": HISTORIES,
    "learners": LEARNERS,
    "recipes": RECIPES,
    "rewards": REWARDS,
    "teachers": TEACHERS,
    "verifiers": VERIFIERS,
}


@pytest.fixture(scope="module")
def pages() -> list[SitePage]:
    return site_pages()


@pytest.fixture(scope="module")
def covered(pages: list[SitePage]) -> set[tuple[str, str]]:
    return {thing for page in pages for thing in page.covers}


@pytest.mark.parametrize("kind", KINDS)
def test_everything_registered_has_a_page_or_a_row(kind: str, covered: set[tuple[str, str]]):
    assert {(kind, name) for name in own_names(KINDS[kind])} <= covered
    assert own_names(KINDS[kind])


def test_every_environment_command_benchmark_and_component_has_a_page_or_a_row(covered: set[tuple[str, str]]):
    wanted = {("envs", name) for name in palaestra.envs.ids() if name.startswith("palaestra/")}
    wanted |= {("commands", name) for name in COMMANDS} | {("benchmarks", name) for name in BENCHMARKS}
    wanted |= {("components", f"{stage}/{name}") for stage, names in stages().items() for name in own_names(names)}
    assert wanted <= covered


def test_no_two_pages_have_one_path(pages: list[SitePage]):
    # Some file systems do not tell capitals apart.
    paths = [page.path.lower() for page in pages]
    assert len(set(paths)) == len(paths)


def test_help_names_every_command_and_every_table():
    assert [name for name in COMMANDS if f"\n  {name} " not in _help()] == []
    shown = read_help("list")
    assert [name for name in (*TABLES, *ON_REQUEST) if name not in shown] == []


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_has_help_with_an_example(command: str):
    assert f"palaestra {command}" in read_help(command).partition("examples:")[2]


SAMPLES = {
    "environments/sokoban-v0.md": ("## Axes of difficulty", "sokoban-v0-hard.png", "The oracle:", "palaestra/puzzles"),
    "environments/arithmetic-v0.md": ("reference", "### Hard", "The way to the answer:"),
    "teachers/alp-gmm.md": ("arXiv 1910.07224", "fit&#95;rate", "teachers/boxes/alp_gmm.py", "**When to use.**"),
    "teachers/alp-gmm-windowed.md": ("[<code>alp-gmm</code>](alp-gmm.md)",),
    "teachers/covar-gmm.md": ("../api/palaestra.teachers.boxes.mixture_teacher.md#mixtureteacher",),
    "rewards/potential.md": ("potentials", "discount"),
    "recipes/dapo.md": ("<math", "overlong", "arXiv 2503.14476"),
    "components/surrogate.md": ("## gspo", "<math"),
    "papers.md": ("arXiv 2503.14476", "`dapo`", "--recipe dapo", "eval --search mcts", "environments/apps-v0.md"),
    "engines.md": ("vllm",),
    "api/palaestra.envs.md": ("## Question", "**Args**"),
}


@pytest.mark.parametrize("path", SAMPLES)
def test_pages_hold_what_they_promise(path: str, pages: list[SitePage], tmp_path: Path):
    (page,) = [page for page in pages if page.path == path]
    write_pages([page], tmp_path, class_links())
    text = (tmp_path / path).read_text(encoding="utf-8")
    assert [part for part in SAMPLES[path] if part not in text] == []
    assert all((tmp_path / path).parent.joinpath(name).stat().st_size for name in page.make().files)
