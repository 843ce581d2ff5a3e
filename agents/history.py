"""Histories: shortened views of a long episode, which restart an agent's context before it is full.

`HistoryWrapper` wraps any text environment with several turns. A page is one observation. While the conversation holds
at most ``until`` pages, observations pass through unchanged. The next observation then replaces the whole conversation:
it shows the beginning of the task, the history's digest of earlier turns, and the last pages. ``info["fresh"]`` is then
True, and whatever keeps a conversation (`LanguageAgent`, `ChatAgent`, the learner's rollouts) starts a new one.
Histories are in the registry ``HISTORIES``; on the command line, ``--history "notes(keep=2)"``.
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
"""Longest part of an earlier reply that is shown, in characters."""


@dataclass(frozen=True)
class Past:
    """Pages, replies and notes of an episode so far.

    Attributes:
        pages: all observations, including the current one.
        replies: all actions, one fewer than ``pages``.
        begun: index of the first page in the agent's current context.
        notes: the agent's notes.
        summary: summary of all pages before ``begun``.
        asking: True while the agent is asked for a summary.
    """

    pages: tuple[str, ...]
    replies: tuple[str, ...] = ()
    begun: int = 0
    notes: tuple[str, ...] = ()
    summary: str = ""
    asking: bool = False


@declared
class EpisodeHistory(Declared):
    """Base of histories, which keep only the last ``keep`` pages once the context holds more than ``until`` pages.

    Attributes:
        instruction: text appended to the first page.
        request: text that asks for a summary before the context restarts; "" for none.
    """

    instruction = ""
    request = ""
    keep: int = option(
        default=1, low=1, unit="pages", says="number of last pages that stay, including the current one."
    )
    until: int = option(
        default=None, low=1, unit="pages", says="most pages in a context; at least ``keep``, which is the default."
    )
    opening: int = option(
        default=2_000, unit="characters", says="length of the beginning of the first page (the task) that always stays."
    )

    def setup(self) -> None:
        self.until = check_count("until", self.keep if self.until is None else self.until, self.keep, "pages")

    @property
    def digest_length(self) -> int:
        """Largest length of the text that `keeps` returns, in characters."""
        raise NotImplementedError

    def receive(self, past: Past, reply: str) -> tuple[Past, str]:
        """Take notes for the history out of a reply. Return the updated past and the action for the environment."""
        return past, reply

    def keeps(self, past: Past) -> str:
        """Return the text that replaces the turns before ``past.begun``."""
        raise NotImplementedError

    def show(self, past: Past) -> str:
        """Return the whole context as one text: beginning of the task, digest of earlier turns, last turns."""
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
    """History of the last pages in full, and of only the replies in earlier turns (WebAgent-R1, arXiv 2505.16421)."""

    replies: int = option(default=40, says="number of earlier replies that are listed, the latest ones.")

    @property
    def digest_length(self) -> int:
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
    """History of the last pages, earlier replies, and notes that the agent writes between <note> and </note>."""

    instruction = (
        "Earlier pages are left out as you go on. What you must remember, write between <note> and </note> in your "
        "reply; notes stay in view."
    )
    characters: int = option(
        default=2_000, low=1, says="most characters of all notes together; the oldest are dropped first."
    )

    @property
    def digest_length(self) -> int:
        return super().digest_length + 2 * self.characters + 80

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
    """History of the last pages and a summary of all earlier ones, which is rewritten whenever the context restarts.

    By default the playing agent writes the summary, in an extra turn that the environment does not see and that a
    learner trains on like any other turn; with ``by``, another agent writes it. By default ``until`` is ``keep + 3``.
    """

    characters: int = option(default=1_500, low=1, says="most characters of a summary.")
    by: str | Agent | None = option(
        default=None, says="agent that writes summaries, as for ``palaestra eval --agent``; None: the playing agent."
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
    def digest_length(self) -> int:
        return self.characters

    @property
    def asks_player(self) -> bool:
        """True if the agent that plays writes the summary."""
        return self._writer is None

    def write(self, past: Past) -> str:
        """Return the summary of the past that the agent ``by`` writes."""
        assert self._writer is not None
        return self.cut(self._writer(f"{self.show(past)}\n\n{self.request}"))

    def cut(self, summary: str) -> str:
        """Remove the thoughts from a reply and cut the rest to ``characters``."""
        said = without_thoughts(summary)
        return (summary if said is None else said).strip()[: self.characters]

    def keeps(self, past: Past) -> str:
        return past.summary


class _Writer:
    """Agent that answers one question at a time, in conversations of one turn."""

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
    """Make a history from text, a name or a name with arguments: ``pages``, ``notes(keep=2)``.

    Raises:
        InputError: no history has that name, or the history does not take these arguments.
    """
    from .grpo.recipes.recipe import Component

    component = Component.parse(text)
    named = {name: str(value) if isinstance(value, Component) else value for name, value in component.params.items()}
    return HISTORIES.make(component.name, **named)


class HistoryWrapper(gym.Wrapper[Any, Any, Any, Any], gym.utils.RecordConstructorArgs):
    """Wrapper that shows an agent a shortened past in place of the whole conversation (see this module).

    ``info["fresh"]`` is True with an observation that replaces the conversation so far. ``get_state`` and ``set_state``
    include the past, and ``oracle`` answers requests for a summary.

    Args:
        env: an environment whose observations and actions are text.
        history: an `EpisodeHistory`, or text for `parse_history`.

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
        most = (shown.until + 1) * (pages.max_length + _LONGEST_REPLY + 40) + shown.opening + shown.digest_length + 200
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
            # The current page stays, so the summary does not cover it.
            past = replace(past, summary=history.write(replace(past, pages=past.pages[:-1])))
        self._past = self._begin_anew(past)
        return history.show(self._past), float(reward), False, False, {**info, "fresh": True}

    def _begin_anew(self, past: Past) -> Past:
        return replace(past, begun=len(past.pages) - self.history.keep)

    def oracle(self) -> Any:
        """Return the next action of the environment's solver; if a summary is asked for, the actions so far."""
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
