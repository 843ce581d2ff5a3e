"""Pages of teachers and rewards, and tables of agents, engines, verifiers, suites, histories, measures and others."""

from __future__ import annotations

import functools
import inspect
import re
import sys
from collections.abc import Callable, Container, Sequence
from typing import Any

from ...registry import Registry
from ...rewards import REWARDS, VERIFIERS
from ...rewards.measures import MEASURES
from ...scripts import list as listing
from ...scripts.docstrings import paper
from ...scripts.list_measures import measures
from ...scripts.list_options import describe_class, option_rows
from ...teachers import TEACHERS
from .markdown_text import code, docstring, fence, inline, join, table
from .site_page import SiteContent, SitePage


def method_pages() -> list[SitePage]:
    """Return the pages of teachers and rewards with their indexes, and one page for each further table."""
    pages = [
        *_kind("teachers", TEACHERS, _teacher, "Teachers", TEACHER_LEAD, ("name", "kind", "summary", "when")),
        *_kind("rewards", REWARDS, _reward, "Rewards", REWARD_LEAD, ("name", "summary", "sees", "paper")),
        _entries_page("verifiers", VERIFIERS, "Verifiers", VERIFIER_LEAD),
    ]
    return pages + [_table_page(kind, title, lead) for kind, (title, lead) in TABLE_PAGES.items()]


TEACHER_LEAD = (
    "What to practise next. `palaestra.teachers.make(name, space, seed=0)` makes one, `--teacher name` trains under "
    "it, `TeacherWrapper(env, name)` gives it to any Gymnasium learner."
)
REWARD_LEAD = (
    "Rewards of whole episodes. `palaestra.rewards.make(name, **options)` makes one, `RewardWrapper(env, reward)` "
    'adds it to an environment, and `--shaping "name(option=value)"` to a training run.'
)
VERIFIER_LEAD = "Judges of one answer: `palaestra.rewards.verify(kind, answer, reference, **options)`."

TABLE_PAGES = {
    "agents": (
        "Agents",
        "Names for `--agent` and `palaestra.evaluate`; see also [agents of your own](../how-to/own-agent.md).",
    ),
    "engines": ("Engines", "What samples from a model: `--engine NAME --engine-option KEY=VALUE`."),
    "histories": ("Histories", "What an agent sees of a long episode: `--history NAME`."),
    "suites": ("Suites", "Fixed lists of held-out tasks: `palaestra eval --suite NAME --agent AGENT`."),
    "requests": ("Requests", "What a teacher's proposal can ask of the learner, by its key in `meta`."),
    "measures": ("Measures", "Quantities that rewards, teachers and components read, and what supplies each."),
    "learners": ("Learners", "What `palaestra train --learner NAME` trains with."),
    "searches": (
        "Searches",
        "Searches over steps: `palaestra eval --search NAME`; see also [how to search](../how-to/tree-search.md).",
    ),
    "values": ("Values of searches", 'What a search expects of a step: `--search "mcts(value=NAME)"`.'),
    "allocators": ("Allocators", "What shares out the episodes of a step among its tasks: `--budget NAME`."),
    "bonuses": (
        "Bonuses",
        'Rewards added at every step while a student of gridworlds trains: `--bonus "NAME(option=value)"`; see also '
        "[shaping that is safe](../explain/shaping.md).",
    ),
    "designers": (
        "Reward designers",
        "What designs a reward for a table of states: `--bonus \"designed(designer='NAME')\"`, compared by "
        "`palaestra bench rewards`.",
    ),
    "benchmarks": (
        "Benchmark commands",
        "`palaestra bench NAME` measures a part of the package; see [the figures](../benchmarks/index.md).",
    ),
}
"""Kind with one table -> title and first sentence of its page."""


def _kind(
    kind: str, registry: Registry[Any], body: Callable[[str, Any], str], title: str, lead: str, columns: Sequence[str]
) -> list[SitePage]:
    names = own_names(registry)
    rows = getattr(listing, kind)
    index = functools.partial(_index, rows, registry, set(names), title, lead, columns)
    pages = [
        SitePage(f"{kind}/{name}.md", ((kind, name),), functools.partial(_entry, name, registry, body))
        for name in names
    ]
    return [SitePage(f"{kind}/index.md", tuple((kind, name) for name in names), index), *pages]


def own_names(registry: Registry[Any]) -> list[str]:
    """Return the names that this package registers, without those of other installed packages."""
    modules = {name: getattr(registry[name], "__module__", "palaestra") for name in registry}
    return [name for name, module in modules.items() if module.split(".")[0] == "palaestra"]


def _index(
    make_rows: Callable[[], list[Any]],
    registry: Registry[Any],
    names: set[str],
    title: str,
    lead: str,
    columns: Sequence[str],
) -> SiteContent:
    rows = [{"when": getattr(registry[row["name"]], "when", ""), **row} for row in make_rows() if row["name"] in names]
    cells = [
        [
            f"[`{row[column]}`]({row[column]}.md)"
            if column == "name"
            else _link_siblings(inline(row[column]), registry if column == "when" else ())
            for column in columns
        ]
        for row in rows
    ]
    heads = ["when to use" if column == "when" else column for column in columns]
    return SiteContent(join(f"# {title}", lead, table(heads, cells)))


def _entry(name: str, registry: Registry[Any], body: Callable[[str, Any], str]) -> SiteContent:
    value = registry[name]
    cited = paper(value)
    source = f"Paper: {inline(cited)}." if cited else "Our own."
    when = _link_siblings(inline(getattr(value, "when", "")), registry)
    when = f"**When to use.** {when}" if when else ""
    first, _, rest = describe_class(value).partition("\n\n")
    # The line break keeps the indentation of a section that comes first.
    return SiteContent(join(f"# {name}", docstring(first), when, docstring(f"\n{rest}"), source, body(name, value)))


def _link_siblings(text: str, registry: Container[str]) -> str:
    """Make the names of entries of the registry, in code, links to their pages."""

    def link(found: re.Match[str]) -> str:
        return f"[{found[0]}]({found[1]}.md)" if found[1] in registry else found[0]

    return re.sub(r"<code>([\w.-]+)</code>", link, text)


def _facts(facts: list[list[str]]) -> str:
    """Format facts as a Markdown list."""
    return "\n".join(f"- {what}: {value}" for what, value in facts)


def _teacher(name: str, value: Any) -> str:
    space = "env.unwrapped.param_space"
    lines = ["import gymnasium as gym", "import palaestra", "from palaestra.teachers import make", ""]
    lines += ['env = gym.make("palaestra/Arithmetic-v0")', f'teacher = make("{name}", {space}, seed=0)']
    needs = sorted(getattr(value, "needs", ()) or ())
    facts = [
        ["chooses from", inline(getattr(value, "kind", ""))],
        ["needs of the learner", ", ".join(map(code, needs)) or "returns and successes"],
        ["asks of the learner", ", ".join(map(code, getattr(value, "asks", ()))) or "nothing beside tasks"],
    ]
    base = getattr(value, "teacher", value.__mro__[1] if isinstance(value, type) else None)
    if base is not None:
        facts.append(["is a", code(base.__name__)])
    parts = [_facts(facts)]
    required = [item for item in inspect.signature(value).parameters.values() if item.default is item.empty]
    if [item.name for item in required] == ["space"]:
        parts.append(fence("\n".join(lines), "python"))
    parts.append(fence(f"palaestra train palaestra/Arithmetic-v0 --teacher {name} --out runs/{name}", "console"))
    return join(*parts, _options(value), _module(value))


def _reward(name: str, value: Any) -> str:
    row = next(row for row in _reward_rows() if row["name"] == name)
    facts = [["sees", inline(row["sees"])], ["needs", inline(row["needs"]) or "nothing beside the episode"]]
    return join(_facts(facts), _options(value), _module(value))


@functools.cache
def _reward_rows() -> list[Any]:
    return listing.rewards()


def _options(value: Any) -> str:
    """Return a table of the declared options of a constructor or function: type, default, range and meaning."""
    rows = [row for row in option_rows(value) if row["name"] not in ("space", "answer", "reference")]
    columns = [name for name in ("name", "type", "default", "range", "summary") if any(row[name] for row in rows)]
    cells = [[inline(row[name]) if name == "summary" else code(row[name]) for name in columns] for row in rows]
    return join("## Options", table(["meaning" if name == "summary" else name for name in columns], cells))


def _module(value: Any) -> str:
    """Return the docstring of the module that defines a value, and the path of the module."""
    module = sys.modules.get(getattr(value, "__module__", ""))
    if module is None or not module.__name__.startswith("palaestra."):
        return ""
    path = module.__name__.removeprefix("palaestra.").replace(".", "/") + ".py"
    return join("## The method", docstring(module.__doc__), f"In the sources: `{path}`.")


def _entries_page(kind: str, registry: Registry[Any], title: str, lead: str) -> SitePage:
    names = own_names(registry)

    def make() -> SiteContent:
        parts = []
        for name in names:
            options = _options(registry[name]).replace("## Options", "")
            parts.append(join(f"## {name}", docstring(describe_class(registry[name])), options))
        return SiteContent(join(f"# {title}", lead, *parts))

    return SitePage(f"{kind}.md", tuple((kind, name) for name in names), make)


def table_rows(kind: str) -> list[dict[str, Any]]:
    """Return the rows of a kind in `TABLE_PAGES`, with plain text in every cell."""
    if kind == "measures":
        return measures()
    if kind == "benchmarks":
        from ...benchmarks import BENCHMARKS

        return [{"name": name, "summary": text} for name, (_, text) in BENCHMARKS.items()]
    return {**listing.TABLES, **listing.ON_REQUEST}[kind]()


def _table_page(kind: str, title: str, lead: str) -> SitePage:
    # Making the rows of measures takes long.
    names = list(MEASURES) if kind == "measures" else [str(row["name"]) for row in table_rows(kind)]

    def make() -> SiteContent:
        rows = table_rows(kind)
        columns = list(rows[0])
        cells = [[code(row[c]) if c == "name" else inline(row[c]) for c in columns] for row in rows]
        return SiteContent(join(f"# {title}", lead, table(columns, cells)))

    return SitePage(f"{kind}.md", tuple((kind, name) for name in names), make)
