"""palaestra/WikiSearch-v0: search a made-up encyclopaedia, open articles, and answer."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ....errors import InputError
from ...game import Transition
from ...param_space import IntAxis, ParamSpace
from ...question import Question, Task
from ...registration import register
from ...tools.tool_function import ToolFunction, find_function, write_tool_call
from ...tools.tool_question import MadeCall, Session, ToolQuestion, count_times
from .corpus import Corpus
from .wiki_commands import read_command
from .wiki_reading import WikiReading, find_sentence
from .wiki_tools import RESULTS, ArticleOpener, ArticleSearch

SPARE = IntAxis("spare", 0, 8, harder="down", limits=(0, 40))
_COMMANDS = "search[WORDS], open[TITLE], next[] or answer[TEXT]"

_FURTHER = (
    ToolFunction("next", "return the next part of the article, or the next results"),
    ToolFunction(
        "answer",
        "answer the question, which ends the episode",
        {"text": {"type": "string", "description": "the answer"}},
        answers=True,
    ),
)

Call = tuple[str, str, int]
"""(name of a tool, argument, part asked for from 1)."""


@dataclass(frozen=True, slots=True)
class ArticleHunt(Session):
    """State of an episode. ``needed`` has the titles of the articles with the facts that imply the answer."""

    needed: tuple[str, ...] = ()


class WikiSearch(ToolQuestion):
    """Answer a question on a made-up world by searching its encyclopaedia.

    Description:
        The question is one of `WikiReading` (or of another family with an encyclopaedia, ``of``), without the sentences
        of the prompt: the agent searches the articles by words, opens them by their titles, follows their links, and
        answers. The contents of the encyclopaedia are made up, so that only reading it helps. A fifth of the worlds is
        in the test split.

    Parameters:
        kind (bridge, comparison, intersection, count, arithmetic): asked for are the value of the last thing of a chain
            of facts; which of two things has more or was first; which thing meets two conditions; how many things are
            on a list; the years between two events.
        hops (1 to 4, on request up to 6): facts on the longest chain; fewer if a small world has no such question.
        size (0 to 4, on request up to 7): the encyclopaedia has 40 * 2 ** size articles, besides disambiguation pages.
        distractors (0 to 3, on request up to 10): target number of other articles whose name shares a word with the
            first thing named in the question; of several possible questions the nearest to this number is used.
        ambiguity (0 to 2): the question names the first thing by the title of its article (0), by a redirect (1), or by
            a name that several things share, with a description (2).
        spare (8 to 0, harder downwards, on request up to 40): calls beyond those of the scripted solver, which searches
            for the names in the question and opens each article that it needs.

    Observation:
        The question and the commands; then the output of the last call, and the calls left. Results are five titles
        with a sentence each; articles have links as ``[[title]]`` or ``[[title|text]]``.

    Actions:
        One command: ``search[words]``, ``open[title]``, ``next[]`` for the next results or the next part of the
        article, or ``answer[text]``. Other spellings are read, too: ``<answer>text</answer>`` (which rewards on the
        answer's text look for), ``<search>words</search>``, ``search("words")``, "Search: words", or a ``<tool_call>``
        in JSON. The last command in the reply counts.

    Reward:
        The reward of ``of`` for the answer, and 0 for calls. ``info["progress"]``, and the extras ``milestones``,
        ``achieved`` and ``potentials``, count the opened articles among those that state the facts of the answer.

    Termination:
        After the answer. Truncated two turns after as many turns as there are calls. A call that fails, or a reply
        without a command, is an ``action_error`` and uses up a call.

    Source:
        Search agents as in Search-R1 (arXiv 2503.09516) and ReAct (arXiv 2210.03629), with their commands; BM25 by
        bm25s (arXiv 2407.03618).

    Args:
        of: the id of the question environment: WikiReading, MaskedReading, or another one about an encyclopaedia.
        of_kwargs: arguments of that environment, such as ``{"worlds": 1000}``.
        answer_format: the format in which the answer is read; None: the default of ``of``.
        **kwargs: arguments of `TaskEnv`; the axes are ``spare`` and those of ``of``.

    Raises:
        InputError: ``of`` has no encyclopaedia, or an argument is invalid.
    """

    param_space = ParamSpace([*WikiReading.param_space.axes, SPARE])
    strips_marks = True
    supplies = frozenset(
        {"milestones", "achieved", "potentials", "gold_documents", "retrieved_documents", "atom_scores"}
    )

    def __init__(
        self,
        *,
        of: str = "palaestra/WikiReading-v0",
        of_kwargs: Mapping[str, Any] | None = None,
        answer_format: str | None = None,
        **kwargs: Any,
    ):
        tools = [ArticleSearch(), ArticleOpener()]
        super().__init__(of=of, of_kwargs=of_kwargs, tools=tools, answer_format=answer_format, **kwargs)

    def choose_space(self, inner: Question) -> ParamSpace:
        if not hasattr(inner, "corpus_of"):
            raise InputError(f"`of` must be the id of a question about an encyclopaedia; {self.of} has none.")
        return ParamSpace([*inner.param_space.axes, SPARE])

    def corpus_of(self, task: Task) -> Corpus:
        """Return the encyclopaedia that a task is about."""
        inner: Any = self.inner
        return inner.corpus_of(task)

    def start(self, rng: np.random.Generator, params: dict[str, Any]) -> ArticleHunt:
        task = self.inner.generate(rng, {name: value for name, value in params.items() if name != "spare"})
        corpus = self.corpus_of(task)
        needed = tuple(dict.fromkeys(corpus.title(fact.at) for fact in task.data.facts))
        return ArticleHunt(task, len(self.plan(task)) + params["spare"], needed=needed)

    def plan(self, task: Task) -> list[Call]:
        """Return the calls of the scripted solver. It takes the facts in order, searches for the name of the fact's
        thing if the question has this name, and opens the parts of its article up to the part that states the fact."""
        corpus = self.corpus_of(task)
        names = dict(task.data.named)
        calls: list[Call] = []
        for fact in task.data.facts:
            if fact.at in names:
                calls.append(("search", names[fact.at], 1))
            sentence = corpus.articles[fact.at].sentences[find_sentence(corpus, fact)]
            parts = corpus.articles[fact.at].parts
            last = next(place for place, part in enumerate(parts, start=1) if sentence in part)
            calls += [("open", corpus.title(fact.at), part) for part in range(1, last + 1)]
        return list(dict.fromkeys(calls))

    def ask(self, task: Task) -> str:
        """Return the question without the sentences: the part of the prompt after the blank line."""
        return self.inner.prompt_of(task).partition("\n\n")[2]

    def explain(self, calls: int) -> str:
        return (
            "\nAn encyclopaedia has what you need to know. Write one command in a reply; the first three may be used "
            f"{count_times(calls)} in all.\nsearch[WORDS]: show the {RESULTS} articles that fit the words best\n"
            "open[TITLE]: show an article; [[TITLE]] and [[TITLE|text]] in it are links to others\n"
            "next[]: show the next part of the article, or the next results\n"
            "answer[TEXT] or <answer>TEXT</answer>: answer the question, which ends the episode"
        )

    def tool_functions(self) -> tuple[ToolFunction, ...]:
        return (*super().tool_functions(), *_FURTHER)

    def write_call(self, name: str, arguments: Mapping[str, Any]) -> str:
        if name not in (function.name for function in _FURTHER):
            return super().write_call(name, arguments)
        return write_tool_call(name, find_function(_FURTHER, name).check(arguments))

    def tell_left(self, calls: int) -> str:
        return f"{calls} {'call is' if calls == 1 else 'calls are'} left before the answer."

    def act(self, state: Session, action: str) -> Transition:
        command = read_command(action)
        if command is None:
            error = f"This is no command; write {_COMMANDS}."
        elif command[0] == "answer":
            return self.judge_answer(state, command[1])
        elif command[0] == "next":
            if state.made and state.made[-1].name in ("search", "open"):
                last = dict(state.made[-1].arguments)
                part = int(last.pop("part")) + 1
                return super().act(state, f"{state.made[-1].name}[{' '.join(last.values())}, part {part}]")
            error = "Nothing is open that could go on; search or open first."
        else:
            # Pass on this command only: a reply may have several.
            return super().act(state, f"{command[0]}[{command[1]}]")
        # An error uses up a call, so that there are never more calls than turns left; only the error is shown.
        after = replace(state, calls=max(state.calls - 1, 0), output="")
        return Transition(after, progress=self.progress_of(state), action_error=error)

    def progress_of(self, state: Session) -> float:
        assert isinstance(state, ArticleHunt)
        return len(self._found(state)) / (len(state.needed) + 1)

    def oracle(self, state: ArticleHunt) -> str:
        made = {(call.name, *dict(call.arguments).values()) for call in state.made}
        last = state.made[-1] if state.made else None
        for name, argument, part in self.plan(state.task):
            if state.calls and (name, argument, str(part)) not in made:
                before = {"title": argument, "part": str(part - 1)}
                goes_on = last is not None and last.name == "open" and dict(last.arguments) == before
                return "next[]" if part > 1 and goes_on else write_call(name, argument, part)
        return f"answer[{self.inner.oracle(state.task)}]"

    def random_action(self, episode: ArticleHunt, rng: np.random.Generator) -> str:
        """Return a call about a random article, or a random answer of the form asked for."""
        corpus = self.corpus_of(episode.task)
        title = corpus.title(int(rng.integers(corpus.size)))
        if not episode.calls or rng.random() < 0.2:
            return f"answer[{self.inner.random_action(episode.task, rng)}]"
        return write_call(("search", "open")[int(rng.integers(2))], title, 1)

    def measure_states(self, states: Sequence[Any], name: str) -> Any:
        last = states[-1]
        if name == "gold_documents":
            return list(last.needed)
        if name == "milestones":
            return [len(self._found(last)), len(last.needed)]
        if name == "achieved":
            found = [self._found(state) for state in states]
            return [[title for title in after if title not in before] for before, after in itertools.pairwise(found)]
        if name == "potentials":
            return [self.progress_of(state) for state in states]
        if name == "retrieved_documents":
            return [self._retrieve(last, call) for call in last.made]
        if name == "atom_scores":
            # 1 for a call that is the first to open a needed article or to find it by search, else 0.
            seen: set[tuple[str, str]] = set()
            scores = []
            for call in last.made:
                new = {(call.name, title) for title in self._retrieve(last, call) if title in last.needed} - seen
                seen |= new
                scores.append(1.0 if new else 0.0)
            return scores
        return super().measure_states(states, name)

    def _found(self, state: ArticleHunt) -> list[str]:
        """Return the needed articles opened so far, in the order in which they are needed."""
        opened = {title for call in state.made if call.name == "open" for title in self._retrieve(state, call)}
        return [title for title in state.needed if title in opened]

    def _retrieve(self, state: ArticleHunt, call: MadeCall) -> list[str]:
        """Return the titles of the articles that a call returned."""
        if call.failed:
            return []
        corpus, arguments = self.corpus_of(state.task), dict(call.arguments)
        if call.name == "search":
            end = int(arguments["part"]) * RESULTS
            return [corpus.articles[n].title for n in corpus.search(arguments["query"])[end - RESULTS : end]]
        number = corpus.find(arguments["title"])
        return [] if number is None else [corpus.articles[number].title]


def write_call(name: str, argument: str, part: int = 1) -> str:
    """Return a command in the spelling of the prompt."""
    return f"{name}[{argument}]" if part == 1 else f"{name}[{argument}, part {part}]"


register("palaestra/WikiSearch-v0", f"{__name__}:WikiSearch")
