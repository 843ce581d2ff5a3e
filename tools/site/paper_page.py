"""Index of papers: every implemented method that has a paper, with links to the components that implement it."""

from __future__ import annotations

import re
from collections import defaultdict
from typing import Any

from ...agents.grpo.recipes import RECIPES
from ...agents.learners import LEARNERS
from ...envs.tags import load_family
from ...scripts import list as listing
from ...scripts.docstrings import ARXIV, find_citation, paper
from ...scripts.list_options import describe_class
from ...scripts.list_stages import stages
from .env_pages import own_ids, page_name
from .markdown_text import code, inline, join, table
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


def methods() -> list[tuple[str, str, str, str, str, str]]:
    """Return (citation, kind, name, words that choose it, link, state) of every registered piece that names a paper."""
    found = []
    for name in own_names(RECIPES):
        recipe: Any = RECIPES[name]
        found.append(
            (str(recipe.paper), "recipe", name, f"--recipe {name}", f"recipes/{name}.md", _state(recipe.summary))
        )
    for kind, (one, words, link) in TYPED.items():
        registry = LEARNERS if kind == "learners" else listing.WITH_OPTIONS[kind]()
        for name in own_names(registry):
            value = registry[name]
            if cited := paper(value) if kind in OF_MODULES else find_citation(describe_class(value)):
                state = _state(value.__doc__ or "")
                found.append((cited, one, name, words.format(name), link.format(name), state))
    for stage, registry in stages().items():
        for name in own_names(registry):
            text = registry[name].__doc__ or ""
            for number in sorted(set(ARXIV.findall(text))):
                words, link = f"--{stage} {name}", f"components/{stage}.md#{name}"
                found.append((f"arXiv {number}", f"component ({stage})", name, words, link, _state(text)))
    for env_id in own_ids():
        text = load_family(env_id).__doc__ or ""
        for number in sorted(set(ARXIV.findall(text))):
            words, link = f'gym.make("{env_id}")', f"environments/{page_name(env_id)}.md"
            found.append((f"arXiv {number}", "environment", env_id, words, link, _state(text)))
    return found


TYPED = {
    "teachers": ("teacher", "--teacher {}", "teachers/{}.md"),
    "rewards": ("reward", "--shaping {}", "rewards/{}.md"),
    "verifiers": ("verifier", 'verify("{}", answer, reference)', "verifiers.md#{}"),
    "agents": ("agent", "--agent {}", "agents.md"),
    "histories": ("history", "--history {}", "histories.md"),
    "searches": ("search", "eval --search {}", "searches.md"),
    "values": ("value of a search", 'eval --search "mcts(value={})"', "values.md"),
    "bonuses": ("bonus", "--bonus {}", "bonuses.md"),
    "designers": ("designer", "--bonus \"designed(designer='{}')\"", "designers.md"),
    "learners": ("learner", "--learner {}", "learners.md"),
}
"""Table of `palaestra list` -> what one of its rows is, the words that choose it, and its page."""
OF_MODULES = ("teachers", "rewards", "verifiers")
"""Kinds whose modules hold one method each, so that a paper named by the module is the method's."""


def _state(text: str) -> str:
    return "implemented, with choices of ours" if OWN.search(" ".join(text.split())) else "implemented"


def _page() -> SiteContent:
    by_paper: dict[str, list[tuple[str, str, str, str, str]]] = defaultdict(list)
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
        for kind, name, words, link, state in by_paper[number]:
            rows.append([inline(titles[number]), kind, f"[`{name}`]({link})", code(words), state])
    columns = ("paper", "is here a", "name", "words that choose it", "state")
    return SiteContent(join("# Papers", LEAD, table(columns, rows)))
