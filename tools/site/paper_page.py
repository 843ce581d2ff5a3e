"""Index of papers: every implemented method that has a paper, with links to the components that implement it."""

from __future__ import annotations

import re
from collections import defaultdict
from typing import Any

from ...agents.grpo.recipes import RECIPES
from ...registry import Registry
from ...rewards import REWARDS, VERIFIERS
from ...scripts.docstrings import ARXIV, paper
from ...scripts.list_stages import stages
from ...teachers import TEACHERS
from .markdown_text import inline, join, table
from .method_pages import own_names
from .site_page import SiteContent, SitePage

LEAD = (
    "Every method that has a paper and is implemented here, sorted by paper. All of them run: the tests train, play or "
    "judge with each one on an environment of the package. Where the description of a piece says that something is not "
    "stated in the paper, or chosen by us, its state says so, and its page says what."
)
OWN = re.compile(
    r"\bnot (?:stated|public|the paper's)|\b(?:is|are) ours\b|of our own|paper does not (?:state|say|name)"
)


def paper_pages() -> list[SitePage]:
    """Return the page of papers, in a list."""
    return [SitePage("papers.md", (("papers", "all"),), _page)]


def methods() -> list[tuple[str, str, str, str, str]]:
    """Return (citation, kind, name, link, state) of every registered method that names a paper."""
    found = []
    for name in own_names(RECIPES):
        recipe: Any = RECIPES[name]
        found.append((str(recipe.paper), "recipe", name, f"recipes/{name}.md", _state(recipe.summary)))
    registries: tuple[tuple[str, Registry[Any], str], ...] = (
        ("teacher", TEACHERS, "teachers/{}.md"),
        ("reward", REWARDS, "rewards/{}.md"),
        ("verifier", VERIFIERS, "verifiers.md#{}"),
    )
    for kind, registry, link in registries:
        for name in own_names(registry):
            if cited := paper(registry[name]):
                found.append((cited, kind, name, link.format(name), _state(registry[name].__doc__ or "")))
    for stage, registry in stages().items():
        for name in own_names(registry):
            text = registry[name].__doc__ or ""
            for number in sorted(set(ARXIV.findall(text))):
                link = f"components/{stage}.md#{name}"
                found.append((f"arXiv {number}", f"component ({stage})", name, link, _state(text)))
    return found


def _state(text: str) -> str:
    return "implemented, with choices of ours" if OWN.search(" ".join(text.split())) else "implemented"


def _page() -> SiteContent:
    by_paper: dict[str, list[tuple[str, str, str, str]]] = defaultdict(list)
    titles: dict[str, str] = {}
    for cited, *piece in methods():
        numbers = ARXIV.findall(cited) or [cited]
        for number in numbers:
            by_paper[number].append(tuple(piece))  # type: ignore[arg-type]
            # The longest citation describes the paper best.
            if len(numbers) == 1 and len(cited) > len(titles.get(number, "")):
                titles[number] = cited
            titles.setdefault(number, f"arXiv {number}")
    rows = []
    for number in sorted(by_paper, key=lambda key: (not key[0].isdigit(), key)):
        for kind, name, link, state in by_paper[number]:
            rows.append([inline(titles[number]), kind, f"[`{name}`]({link})", state])
    return SiteContent(join("# Papers", LEAD, table(("paper", "is here a", "name", "state"), rows)))
