"""Evaluators of WebArena's tasks, written anew: answers, the last address, and contents of pages.

Deviations from the released code: addresses are compared before any page of a check is loaded, so that the order of
``eval_types`` does not matter; pages of checks are loaded in a tab of their own, so that "last" is the agent's page
for every check; a text of one character is looked for among words, as there, with words cut by a pattern rather than
by a package of linguistics.
"""

from __future__ import annotations

import html
import re
from collections.abc import Iterator
from typing import Any
from urllib.parse import parse_qs, urlsplit

from ....rewards import Verdict
from .task_file import EITHER, LAST_POST, ROLE_OF, ArenaTask, PageCheck

_WORD = re.compile(r"\d+(?:[.,:]\d+)*|\w+|[^\w\s]")
_SAME = "The answer says in substance what the reference says; other wording is fine, a missing or wrong part is not."
_REASON = "The answer says that the task cannot be done, for the reason in the reference, even if only implicitly."
# Role of a member in a project's list of members.
_ROLE = """name => {
    const rows = [...document.querySelectorAll('tr')];
    const own = rows.find(row => row.querySelector("td[data-label='Account']")?.innerText.includes('@' + name));
    return own?.querySelector('td.col-max-role span')?.innerText ?? '';
}"""


class CheckFailure(RuntimeError):
    """Failure of a judge that compares answers, which says nothing about the answer."""


def judge_task(task: ArenaTask, answer: str, browser: Any, judge: Any) -> Verdict:
    """Judge the end of an episode: a success if all checks hold; the score is the share of those that do.

    Args:
        task: the task.
        answer: the agent's answer.
        browser: the `LiveBrowser` with the last page.
        judge: a `palaestra.rewards.judges.Judge` for answers that are compared in substance; None: there are none.

    Raises:
        CheckFailure: the judge failed.
        BrowserFailure: the browser failed.
    """
    last = browser.url
    found = [*_check_answer(task, answer, judge)]
    if task.urls:
        found.append(("The last page is not the right one.", is_at(last, task.urls)))
    found += [("A page does not have the right content.", _check_page(one, last, browser)) for one in task.pages]
    wrong = [why for why, holds in found if not holds]
    score = 1.0 - len(wrong) / max(len(found), 1)
    return Verdict(0.0 if wrong else 1.0, not wrong, feedback=wrong[0] if wrong else "Done.", extras={"share": score})


def _check_answer(task: ArenaTask, answer: str, judge: Any) -> Iterator[tuple[str, bool]]:
    why = "The answer is not right."
    if task.exact is not None:
        yield why, clean(answer) == clean(task.exact)
    for part in task.parts:
        yield why, includes(answer, part, by_word=len(task.parts) == 1)
    for reference in task.alike:
        yield why, _is_alike(judge, _SAME, task.intent, answer, reference)
    if task.impossible:
        is_same = clean(answer) == "n/a"
        yield why, is_same or (judge is not None and _is_alike(judge, _REASON, task.intent, answer, task.impossible))


def _is_alike(judge: Any, principle: str, intent: str, answer: str, reference: str) -> bool:
    if not answer.strip():
        return False
    found = judge.score(principle, intent, [answer], reference).first
    if isinstance(found, str):
        raise CheckFailure(found)
    return found >= 0.5


def clean(text: str) -> str:
    """Return a text in lower case, without space and quotation marks around it."""
    text = text.strip()
    if len(text) > 1 and text[0] == text[-1] and text[0] in "\"'":
        text = text[1:-1]
    return text.lower()


def includes(text: str, part: str, by_word: bool = False) -> bool:
    """Return True if a text includes another one, whatever the case; with ``by_word``, a single character only as a
    word, as "0" is in every 10."""
    text, part = clean(text), clean(part)
    return part in (_WORD.findall(text) if by_word and len(part) == 1 else text)


def is_at(url: str, references: tuple[str, ...]) -> bool:
    """Return True if an address has the host and path of one of the references as a part and, for each name in the
    queries of all references, one of their values."""

    def place(one: str) -> str:
        parts = urlsplit(one.rstrip("/"))
        return f"{parts.netloc}{parts.path}".rstrip("/")

    query = parse_qs(urlsplit(url).query)
    wanted: dict[str, set[str]] = {}
    for one in references:
        for name, values in parse_qs(urlsplit(one.rstrip("/")).query).items():
            wanted.setdefault(name, set()).update(values)
    is_there = any(place(one) in place(url) for one in references)
    return is_there and all(values & set(query.get(name, [])) for name, values in wanted.items())


def _check_page(check: PageCheck, last: str, browser: Any) -> bool:
    url = post_of(last) if check.url == LAST_POST else check.url
    role = ROLE_OF.fullmatch(check.locator)
    script = f"({_ROLE})('{role[1]}')" if role else check.locator
    content = html.unescape(browser.read_content("" if url in ("last", last) else url, script, check.prepare))
    if check.exact is not None:
        return clean(content) == clean(check.exact)
    return all(any(includes(content, one) for one in part.split(EITHER)) for part in check.parts)


def post_of(url: str) -> str:
    """Return the address of a post, given that of a comment on it; any other address is returned unchanged."""
    parts = urlsplit(url)
    steps = parts.path.split("/")
    is_post = len(steps) > 3 and steps[1] == "f"
    return f"{parts.scheme}://{parts.netloc}/f/{steps[2]}/{steps[3]}/" if is_post else url
