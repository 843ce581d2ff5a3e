"""Reader of task files in WebArena's format (``config_files/test.raw.json``): data in, `ArenaTask` out.

A task that cannot be judged here is left out with the reason: a site without an address, an answer that only a judge
can compare, or one of WebArena's helper functions that ask a site's administration. Nothing in a file is evaluated in
this process; locators are JavaScript, which runs in the page.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from ....errors import InputError, shorten

_PLACEHOLDER = re.compile(r"__([A-Z]+(?:_[A-Z]+)*)__")
# Functions of WebArena's evaluators that are known here, as they are called in task files.
LAST_POST = "func:reddit_get_post_url('__last_url__')"
ROLE_OF = re.compile(r"func:gitlab_get_project_memeber_role\(__page__, '([\w.-]+)'\)")
EITHER = " |OR| "
_KINDS = ("string_match", "url_match", "program_html")


@dataclass(frozen=True, slots=True)
class PageCheck:
    """Part of a page that must have some content.

    Args:
        url: the address of the page; "last" for the page at the end of the episode, or `LAST_POST`.
        locator: a JavaScript expression, or a call that `ROLE_OF` matches; "" for the document's HTML.
        prepare: JavaScript statements that come first.
        exact: the whole content; None: ``parts`` count.
        parts: texts that the content includes; of alternatives separated by `EITHER`, one.
    """

    url: str
    locator: str
    prepare: tuple[str, ...]
    exact: str | None
    parts: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class ArenaTask:
    """One task of a file.

    Args:
        number: the id.
        intent: the task in words.
        start: the addresses that are open at the beginning, each in a tab.
        login: path of a file with cookies and storage, as Playwright's ``storage_state`` writes it; "": none.
        exact: the answer; None: any.
        parts: texts that the answer includes.
        alike: texts that a judge has to find in the answer in substance.
        impossible: the reason why the task cannot be done; "" for one that can. The answer then is "N/A", or, for a
            judge, this reason.
        urls: addresses of which the last page has one; (): any.
        pages: the checks of pages.
    """

    number: str
    intent: str
    start: tuple[str, ...]
    login: str
    exact: str | None
    parts: tuple[str, ...]
    alike: tuple[str, ...]
    impossible: str
    urls: tuple[str, ...]
    pages: tuple[PageCheck, ...]

    @property
    def hosts(self) -> frozenset[str]:
        """Names of the hosts that the task needs."""
        found = (*self.start, *self.urls, *(one.url for one in self.pages))
        return frozenset(filter(None, (urlsplit(url).hostname for url in found)))


def read_tasks(
    path: str | Path, sites: Mapping[str, str], has_judge: bool
) -> tuple[dict[str, ArenaTask], dict[str, list[str]]]:
    """Read a file of one task or a list of tasks.

    Args:
        path: the file.
        sites: name of a site, such as "shopping_admin" -> its address, which replaces ``__SHOPPING_ADMIN__``.
        has_judge: True if a judge compares answers in substance.

    Returns:
        (id -> task, reason -> ids of the tasks that were left out for it).

    Raises:
        InputError: the file cannot be read, or has another format.
    """
    try:
        found = json.loads(Path(path).read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise InputError(f"the task file {str(path)!r} cannot be read: {error}") from None
    tasks: dict[str, ArenaTask] = {}
    left_out: dict[str, list[str]] = {}
    for place, raw in enumerate(found if isinstance(found, list) else [found]):
        number = str(raw.get("task_id", place)) if isinstance(raw, dict) else str(place)
        try:
            unknown: set[str] = set()
            task = _read_task(number, _fill_in(raw, sites, unknown))
            reason = next(_obstacles(task, unknown, has_judge), "")
        except (KeyError, TypeError, AttributeError, ValueError) as error:
            raise InputError(
                f"task {number} of {str(path)!r} is not in WebArena's format ({type(error).__name__}: "
                f"{shorten(str(error))}); it needs intent, start_url and eval with eval_types."
            ) from None
        if reason:
            left_out.setdefault(reason, []).append(number)
        else:
            tasks[number] = task
    return tasks, left_out


def _fill_in(value: Any, sites: Mapping[str, str], unknown: set[str]) -> Any:
    """Return JSON data with addresses in place of names of sites; names without an address are added to ``unknown``."""
    if isinstance(value, list):
        return [_fill_in(one, sites, unknown) for one in value]
    if isinstance(value, dict):
        return {name: _fill_in(one, sites, unknown) for name, one in value.items()}
    if not isinstance(value, str):
        return value

    def address(found: re.Match[str]) -> str:
        name = found[1].lower()
        if name not in sites:
            unknown.add(name)
        return sites.get(name, found[0])

    return _PLACEHOLDER.sub(address, value)


def _read_task(number: str, raw: Mapping[str, Any]) -> ArenaTask:
    judged = raw["eval"]
    kinds = judged["eval_types"]
    if not kinds or not set(kinds) <= set(_KINDS):
        raise ValueError(f"eval_types {kinds!r} are not among {', '.join(_KINDS)}")
    answer = (judged.get("reference_answers") or {}) if "string_match" in kinds else {}
    alike = answer.get("fuzzy_match", [])
    urls = judged["reference_url"].split(EITHER) if "url_match" in kinds else []
    if judged.get("url_note", "GOLD in PRED") != "GOLD in PRED":
        raise ValueError(f"url_note {judged['url_note']!r} is unknown")
    return ArenaTask(
        number,
        raw["intent"],
        tuple(url.strip() for url in raw["start_url"].split("|AND|")),
        raw.get("storage_state") or "",
        answer.get("exact_match"),
        _texts(answer.get("must_include", [])),
        () if isinstance(alike, str) else _texts(alike),
        judged.get("string_note") or "It cannot be done." if alike == "N/A" else "",
        _texts(urls),
        tuple(_read_check(one) for one in judged["program_html"]) if "program_html" in kinds else (),
    )


def _read_check(raw: Mapping[str, Any]) -> PageCheck:
    wanted, locator = raw["required_contents"], raw["locator"].strip()
    if not wanted.keys() & {"exact_match", "must_include"}:
        raise ValueError(f"required_contents {wanted!r} have neither exact_match nor must_include")
    if locator and not locator.startswith(("document.", "[...document.", "func:")):
        raise ValueError(f"the locator {locator!r} is unknown")
    prepare, exact = _texts(raw.get("prep_actions", [])), wanted.get("exact_match")
    return PageCheck(raw["url"], locator, prepare, exact, () if exact is not None else _texts(wanted["must_include"]))


def _texts(values: Sequence[Any]) -> tuple[str, ...]:
    if isinstance(values, str) or not all(isinstance(one, str) for one in values):
        raise ValueError(f"{values!r} is not a list of texts")
    return tuple(values)


def _obstacles(task: ArenaTask, unknown: set[str], has_judge: bool) -> Iterator[str]:
    """Iterate over the reasons why a task cannot be judged."""
    for name in sorted(unknown):
        yield f"no address for the site {name}"
    if task.alike and not has_judge:
        yield "the answer is compared in substance, which needs a judge"
    for check in task.pages:
        is_known = check.url == LAST_POST or not check.url.startswith("func:")
        if not is_known or (check.locator.startswith("func:") and not ROLE_OF.fullmatch(check.locator)):
            yield "a function of WebArena asks the site's administration, which is not done here"
