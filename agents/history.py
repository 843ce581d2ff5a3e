"""Histories: an agent's view of a long episode, whose context restarts before it is full.

`HistoryWrapper` wraps any text environment with several turns. While a conversation holds few pages (observations), it
passes through unchanged. Then one observation replaces the whole conversation: the beginning of the task, the history's
digest of earlier turns, and the last pages. ``info["fresh"]`` is then True, and holders of a conversation
(`LanguageAgent`, `ChatAgent`, the learner's rollouts) begin a new one. Histories are in the registry ``HISTORIES`` and
are typed as ``--history "notes(keep=2)"``.
"""

from __future__ import annotations

import re
import threading
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import gymnasium as gym

from ..checks import Declared, check_count, declared, option
from ..envs.unicode import Unicode
from ..errors import InputError, shorten
from ..registry import Registry, take_callable
from ..rewards.answers.thoughts import without_thoughts
from .agent import Agent, AgentError, EndEpisode

HISTORIES: Registry[type[EpisodeHistory]] = Registry(
    "history", group="palaestra.histories", table="histories", take=take_callable
)
_NOTE = re.compile(r"<note>(.*?)</note>", re.DOTALL)
_LONGEST_REPLY = 2_000
"""Characters shown of an earlier reply."""


@dataclass(frozen=True)
class Past:
    """An episode so far.

    Attributes:
        pages: the observations, the present one included.
        replies: the actions, one fewer.
        begun: index of the first page in the agent's context.
        notes: the agent's notes.
        summary: summary of all pages before ``begun``.
        asking: whether the agent is asked for a summary now.
    """

    pages: tuple[str, ...]
    replies: tuple[str, ...] = ()
    begun: int = 0
    notes: tuple[str, ...] = ()
    summary: str = ""
    asking: bool = False


@declared
class EpisodeHistory(Declared):
    """Base of histories: drops the pages before the last ``keep``, once the context holds more than ``until``.

    Attributes:
        instruction: text after the first page.
        request: question for a summary at the end of a context; "" for none.
    """

    instruction = ""
    request = ""
    keep: int = option(default=1, low=1, unit="pages", says="pages that stay, the present one included.")
    until: int = option(
        default=None, low=1, unit="pages", says="most in a context before it restarts, at least ``keep``, the default."
    )
    opening: int = option(default=2_000, unit="characters", says="of the first page that always stay: the task.")

    def setup(self) -> None:
        self.until = check_count("until", self.keep if self.until is None else self.until, self.keep, "pages")

    @property
    def room(self) -> int:
        """Most characters of what `keeps` returns."""
        raise NotImplementedError

    def receive(self, past: Past, reply: str) -> tuple[Past, str]:
        """Remove the part for the history from a reply; return the rest, the action for the environment."""
        return past, reply

    def keeps(self, past: Past) -> str:
        """Choose the text that stands for the turns before ``past.begun``."""
        raise NotImplementedError

    def show(self, past: Past) -> str:
        """Return the whole context in one text."""
        parts = [past.pages[0][: self.opening]] if past.begun and self.opening else []
        kept = self.keeps(past) if past.begun else ""
        parts += [f"[Earlier turns]\n{kept}"] if kept else []
        for number in range(past.begun, len(past.pages)):
            parts.append(f"[Turn {number + 1}]\n{past.pages[number]}")
            if number < len(past.replies):
                parts[-1] += f"\n[Your reply]\n{shorten(past.replies[number], _LONGEST_REPLY)}"
        return "\n\n".join(parts)


@HISTORIES.register("pages")
@declared
class LastPages(EpisodeHistory):
    """The last pages, and of earlier turns the replies alone (as in WebAgent-R1, arXiv 2505.16421)."""

    replies: int = option(default=40, says="most earlier replies that are listed, the latest.")

    @property
    def room(self) -> int:
        return 80 + 240 * self.replies

    def keeps(self, past: Past) -> str:
        first = max(0, past.begun - self.replies)
        lines = [f"({first} turns are left out.)"] if first else []
        for number in range(first, past.begun):
            said = without_thoughts(past.replies[number]) or past.replies[number]
            lines.append(f"{number + 1}: {shorten(' '.join(said.split()), 200)}")
        return "\n".join(lines)


@HISTORIES.register("notes")
@declared
class Notes(LastPages):
    """The last pages, earlier replies, and notes that the agent writes between <note> and </note> in any reply."""

    instruction = (
        "Earlier pages are left out as you go on. What you must remember, write between <note> and </note> in your "
        "reply; notes stay in view."
    )
    characters: int = option(default=2_000, low=1, says="most characters of all notes together; the oldest go first.")

    @property
    def room(self) -> int:
        return super().room + 2 * self.characters + 80

    def receive(self, past: Past, reply: str) -> tuple[Past, str]:
        notes = [*past.notes, *filter(None, (" ".join(note.split()) for note in _NOTE.findall(reply)))]
        while sum(map(len, notes)) > self.characters:
            notes = notes[1:] if len(notes) > 1 else [shorten(notes[0], max(self.characters, 4))[: self.characters]]
        return replace(past, notes=tuple(notes)), _NOTE.sub("", reply).strip() if "<note>" in reply else reply

    def keeps(self, past: Past) -> str:
        notes = "\n".join(f"- {note}" for note in past.notes)
        return super().keeps(past) + (f"\n[Your notes]\n{notes}" if notes else "")


@HISTORIES.register("summary")
@declared
class Summary(EpisodeHistory):
    """The last pages, and a summary of all earlier ones, rewritten whenever the context restarts.

    The playing agent writes the summary, in a separate turn that the environment does not see and that a learner trains
    on like any other; or another agent writes it. By default ``until`` is ``keep + 3``.
    """

    characters: int = option(default=1_500, low=1, says="most characters of a summary.")
    by: str | Agent | None = option(
        default=None, says="the agent that writes, named as for ``palaestra eval --agent``; None: the playing agent."
    )

    def setup(self) -> None:
        self.until = self.keep + 3 if self.until is None else self.until
        super().setup()
        self.request = (
            "The pages so far go out of view. Write what is worth remembering, for whoever goes on with the task, in "
            f"at most {self.characters} characters: what was done, what was found, and what remains to be done."
        )
        self._writer = None if self.by is None else _Writer(self.by)

    @property
    def room(self) -> int:
        return self.characters

    @property
    def asks_player(self) -> bool:
        """True if the agent that plays writes the summary."""
        return self._writer is None

    def write(self, past: Past) -> str:
        """Let the other agent summarise the context that ends."""
        assert self._writer is not None
        return self.cut(self._writer(f"{self.show(past)}\n\n{self.request}"))

    def cut(self, summary: str) -> str:
        """Return a reply without its thought, cut to the length limit."""
        said = without_thoughts(summary)
        return (summary if said is None else said).strip()[: self.characters]

    def keeps(self, past: Past) -> str:
        return past.summary


class _Writer:
    """An agent that answers one question at a time, in conversations of one turn."""

    def __init__(self, agent: str | Agent):
        from .lookup import find_agent

        self._agent = find_agent(agent) if isinstance(agent, str) else agent
        self._lock = threading.Lock()

    def __call__(self, question: str) -> str:
        with self._lock:
            self._agent.reset([0])
            answer = self._agent.act([question], [{}])[0]
        if isinstance(answer, EndEpisode):
            raise AgentError(f"agent {self._agent.name!r} wrote no summary: the question left no room, or failed.")
        return str(answer)


def parse_history(text: str) -> EpisodeHistory:
    """Make the history that a text names, with arguments if any: ``pages``, ``notes(keep=2)``.

    Raises:
        InputError: no history has that name, or it does not take these arguments.
    """
    from .grpo.recipes.recipe import Component

    component = Component.parse(text)
    named = {name: str(value) if isinstance(value, Component) else value for name, value in component.params.items()}
    return HISTORIES.make(component.name, **named)


class HistoryWrapper(gym.Wrapper[Any, Any, Any, Any], gym.utils.RecordConstructorArgs):
    """Shows an agent a shortened past in place of a whole conversation.

    ``info["fresh"]`` is True with an observation that stands for everything before it. ``get_state`` and ``set_state``
    cover the past as well, and ``oracle`` answers requests for a summary.

    Args:
        env: an environment whose observations and actions are text.
        history: a `EpisodeHistory`, or its text.

    Raises:
        InputError: observations or actions are not text.
    """

    def __init__(self, env: gym.Env[Any, Any], history: EpisodeHistory | str):
        gym.utils.RecordConstructorArgs.__init__(self, history=history)
        super().__init__(env)
        pages = env.observation_space
        if not isinstance(pages, Unicode) or not isinstance(env.action_space, Unicode):
            raise InputError(
                f"a history needs observations and actions in text, not {pages} and {env.action_space}; leave it out."
            )
        self.history = parse_history(history) if isinstance(history, str) else history
        shown = self.history
        most = (shown.until + 1) * (pages.max_length + _LONGEST_REPLY + 40) + shown.opening + shown.room + 200
        self.observation_space = Unicode(most + len(shown.instruction) + len(shown.request))
        self._past = Past(("",))
        self._info: Mapping[str, Any] = {}

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[str, dict[str, Any]]:
        page, info = self.env.reset(seed=seed, options=options)
        self._past, self._info = Past((page,)), info
        return f"{page}\n{self.history.instruction}".rstrip("\n"), info

    def step(self, action: Any) -> tuple[str, float, bool, bool, dict[str, Any]]:
        history, text = self.history, action if isinstance(action, str) else str(action)
        if self._past.asking:
            assert isinstance(history, Summary)
            self._past = self._begin_anew(replace(self._past, summary=history.cut(text), asking=False))
            info = {**self._info, "reward_terms": {}, "action_error": None, "feedback": "", "fresh": True}
            return history.show(self._past), 0.0, False, False, info
        past, text = history.receive(self._past, text)
        page, reward, terminated, truncated, info = self.env.step(text)
        past = replace(past, pages=(*past.pages, page), replies=(*past.replies, text))
        if terminated or truncated or len(past.pages) - past.begun <= history.until:
            self._past = past
            return page, float(reward), terminated, truncated, info
        if isinstance(history, Summary):
            if history.asks_player:
                self._past, self._info = replace(past, asking=True), info
                return history.request, float(reward), False, False, info
            # The present page is not part of what ends.
            past = replace(past, summary=history.write(replace(past, pages=past.pages[:-1])))
        self._past = self._begin_anew(past)
        return history.show(self._past), float(reward), False, False, {**info, "fresh": True}

    def _begin_anew(self, past: Past) -> Past:
        return replace(past, begun=len(past.pages) - self.history.keep)

    def oracle(self) -> Any:
        """Return the next action of the environment's solver or, when a summary is asked for, the actions so far."""
        if self._past.asking:
            return "; ".join(" ".join(reply.split()) for reply in self._past.replies)
        return self.env.get_wrapper_attr("oracle")()

    def get_state(self) -> dict[str, Any]:
        """Return a snapshot of the environment and the past."""
        return {"env": self.env.get_wrapper_attr("get_state")(), "past": self._past, "info": dict(self._info)}

    def set_state(self, state: Mapping[str, Any]) -> None:
        """Restore a snapshot by `get_state`."""
        self.env.get_wrapper_attr("set_state")(state["env"])
        self._past, self._info = state["past"], state["info"]
