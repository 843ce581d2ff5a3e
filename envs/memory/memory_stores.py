"""palaestra/MemoryStores-v0: keep a memory of texts that pass by; at the end it is asked questions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from ..game import Game, Transition
from ..param_space import FloatAxis, IntAxis, ParamSpace
from ..registration import register
from ..task_env import MAX_ACTION
from .reader import count_right, read_answer
from .stores import USAGE, Memory, MemoryCommand, read_commands, write_command
from .stories import ATTRIBUTES, NAMES, Story, StoryFact, draw_story


@dataclass(frozen=True, slots=True)
class MemoryCall:
    """A command that was carried out or failed: the turn, the command, why it failed, and whether what it wrote stands
    in the store of its facts (None where nothing was written)."""

    turn: int
    command: MemoryCommand
    error: str | None
    in_place: bool | None


@dataclass(frozen=True, slots=True)
class Keeping:
    """The state of an episode: the story, most characters of the memory, the text that is shown (counted from 0, and as
    many as there are once all have passed), the memory, and the commands so far."""

    story: Story
    room: int
    at: int = 0
    memory: Memory = field(default_factory=Memory)
    calls: tuple[MemoryCall, ...] = ()

    @property
    def over(self) -> bool:
        return self.at == len(self.story.texts)

    @property
    def recalled(self) -> float:
        """Share of the questions that the memory answers now."""
        asked = self.story.asked
        return count_right(asked, self.memory.texts) / len(asked)


class MemoryStores(Game):
    """Keep a memory of texts that pass by one after the other; at the end it alone is asked questions.

    Description:
        Texts about the user and some people arrive one a turn. With each, the agent changes a memory of three stores: a
        core text about the user, semantic entries on what lasts, and episodic entries on what happened on a day. Later
        texts replace some facts of earlier ones. After the last, a frozen reader answers questions from the memory
        alone, by rules: a sentence that names the person (and the day of an event) and a value of what is asked for
        gives the answer, the sentence written last if there are several.

    Parameters:
        texts (2 to 8; open from 1 to 40): how many texts there are.
        facts (1 to 4; open from 1 to 10): facts that each states.
        updates (0 to 4; open from 0 to 40): facts that replace an earlier one, as far as there are such.
        filler (0 to 5; open from 0 to 40): sentences in each text that state nothing.
        people (2 to 6; open from 1 to 20): persons, besides the user.
        questions (2 to 6; open from 1 to 40): facts asked for at the end.
        slack (4.0 to 1.2, harder downwards; open from 1.0 to 40.0): characters that the memory may hold, as a multiple
            of what the scripted solver writes.

    Observation:
        The text and the memory, at first with the commands.

    Actions:
        Commands, one a line, perhaps in a block: ``core TEXT``, ``insert semantic TEXT``, ``insert episodic TEXT``,
        ``update ID TEXT``, ``delete ID`` or ``nothing``. Other lines are left out.

    Reward:
        After the last text, the share of questions that the memory answers rightly; success is all of them. The extras
        ``memory_length`` and ``source_length`` are characters; ``memory_calls`` says for each turn which of its
        commands worked, and ``memory_stores`` which texts were written to the store of their facts. The reward
        ``mem-alpha`` makes the paper's reward of them.

    Termination:
        After the reply to the last text. A command that fails (an unknown id or store, no room) changes nothing, and is
        an ``action_error`` with the commands beside it carried out; a reply without a command is one, too. The next
        text comes in any case.

    Source:
        Mem-alpha (arXiv 2509.25911), with questions that are answered by rules in place of a language model.

    Args:
        **kwargs: as for every environment.
    """

    param_space = ParamSpace(
        [
            IntAxis("texts", 2, 8, limits=(1, 40)),
            IntAxis("facts", 1, 4, limits=(1, 10)),
            IntAxis("updates", 0, 4, limits=(0, 40)),
            IntAxis("filler", 0, 5, limits=(0, 40)),
            IntAxis("people", 2, 6, limits=(1, 20)),
            IntAxis("questions", 2, 6, limits=(1, 40)),
            FloatAxis("slack", 1.2, 4.0, harder="down", limits=(1.0, 40.0)),
        ]
    )
    default_answer_format = "whole"
    answer_form = "program"
    max_answer = MAX_ACTION
    strips_marks = False
    keeps_states = True
    supplies = frozenset(
        {"tool_calls", "tool_errors", "memory_length", "source_length", "memory_calls", "memory_stores"}
    )

    def start(self, rng: np.random.Generator, params: dict[str, Any]) -> Keeping:
        story = draw_story(rng, **{name: value for name, value in params.items() if name != "slack"})
        state = Keeping(story, room=1_000_000)
        longest = 0
        while not state.over:
            state = self.act(state, self._solve(state)).state
            longest = max(longest, state.memory.length)
        return Keeping(story, room=int(params["slack"] * longest))

    def turn_limit(self, state: Keeping) -> int:
        return len(state.story.texts)

    def observe(self, state: Keeping) -> str:
        if state.over:
            return ""
        count = len(state.story.texts)
        shown = f"Text {state.at + 1} of {count}:\n{state.story.texts[state.at]}\n\nMemory:\n{state.memory.show()}"
        if state.at:
            return shown
        texts = "text" if count == 1 else "texts"
        return (
            f"{count} {texts} will pass, one a turn. Keep what they state in a memory: after the last one it alone, "
            "without the texts, is asked who does, has, likes or did what, and when. Reply to each text with commands, "
            f"one a line:\n{USAGE}\nEvery sentence in the memory should name whom it is about (the user is called "
            f"user). All of it may hold {state.room} characters.\n\n{shown}"
        )

    def act(self, state: Keeping, action: str) -> Transition:
        commands = read_commands(action)
        memory, calls, errors = state.memory, [], []
        for command in commands:
            memory, error, store = memory.apply(command, state.room)
            if error is not None:
                errors.append(error)
            in_place = stands_in_place(state.story, command.text, store) if store else None
            calls.append(MemoryCall(state.at, command, error, in_place))
        after = replace(state, at=state.at + 1, memory=memory, calls=(*state.calls, *calls))
        error = None
        if not commands:
            error = "There is no command in this reply; write core, insert, update, delete or nothing, each on a line."
        elif errors:
            error = f"{len(errors)} of {len(commands)} commands failed: {'; '.join(dict.fromkeys(errors))}."[:500]
        recalled = after.recalled
        if not after.over:
            return Transition(after, progress=recalled, terms={"answers": 0.0}, action_error=error)
        return Transition(
            after,
            done=True,
            success=recalled == 1.0,
            progress=recalled,
            terms={"answers": recalled},
            action_error=error,
            feedback=describe_answers(after),
        )

    def oracle(self, state: Keeping) -> str:
        return self._solve(state)

    def _solve(self, state: Keeping) -> str:
        """Write each fact of the text in as few words as the reader needs, in place of the one that it replaces."""
        stated = state.story.facts[state.at]
        earlier = {fact.key: fact for facts in state.story.facts[: state.at] for fact in facts}
        commands = []
        for fact in stated:
            if fact.store == "core":
                continue
            old = earlier[fact.key].note() if fact.key in earlier else None
            entry = next((entry for entry in state.memory.entries if entry.text == old), None)
            if entry is None:
                commands.append(MemoryCommand("insert", fact.store, fact.note()))
            else:
                commands.append(MemoryCommand("update", entry.id, fact.note()))
        if any(fact.store == "core" for fact in stated):
            known = {fact.key: fact for facts in state.story.facts[: state.at + 1] for fact in facts}
            notes = [fact.note() for fact in known.values() if fact.store == "core"]
            commands.append(MemoryCommand("core", "", ". ".join(notes)))
        lines = "\n".join(map(write_command, commands)) or "nothing"
        return f"```\n{lines}\n```"

    def random_action(self, episode: Keeping, rng: np.random.Generator) -> str:
        """Insert a note on a random person, with a random value, in a random store."""
        attribute = tuple(ATTRIBUTES)[int(rng.integers(len(ATTRIBUTES)))]
        values = ATTRIBUTES[attribute][3]
        fact = StoryFact(NAMES[int(rng.integers(len(NAMES)))], attribute, values[int(rng.integers(len(values)))])
        return f"```\ninsert {('semantic', 'episodic')[int(rng.integers(2))]} {fact.note()}\n```"

    def measure_states(self, states: Sequence[Any], name: str) -> Any:
        last: Keeping = states[-1]
        if name == "memory_length":
            return last.memory.length
        if name == "source_length":
            return sum(len(text) for text in last.story.texts[: last.at])
        if name == "tool_calls":
            return [{"name": call.command.name, "arguments": call.command.arguments} for call in last.calls]
        if name == "tool_errors":
            return [call.error is not None for call in last.calls]
        turns = range(len(states) - 1)
        if name == "memory_calls":
            return [[call.error is None for call in last.calls if call.turn == turn] for turn in turns]
        if name == "memory_stores":
            written = [call for call in last.calls if call.in_place is not None]
            return [[bool(call.in_place) for call in written if call.turn == turn] for turn in turns]
        return super().measure_states(states, name)

    def solver_cost(self, episode: Keeping) -> float:
        """Characters to read, more where less room is left."""
        return sum(map(len, episode.story.texts)) * (1.0 + 1.0 / max(episode.room, 1))

    def content_of(self, episode: Keeping) -> str:
        return "\n".join((*episode.story.texts, *(fact.question() for fact in episode.story.asked), str(episode.room)))

    def split_key(self, episode: Keeping) -> str:
        return "\n".join(episode.story.texts)


def stands_in_place(story: Story, text: str, store: str) -> bool:
    """True if a text states facts of the story, and all of them belong to the store that it was written to."""
    stated = [fact for facts in story.facts for fact in facts if read_answer(fact, [text]) == fact.value]
    return bool(stated) and all(fact.store == store for fact in stated)


def describe_answers(state: Keeping) -> str:
    """The questions, what the memory answered and what would have been right."""
    texts = state.memory.texts
    rows = []
    for fact in state.story.asked:
        answer = read_answer(fact, texts)
        wrong = "" if answer == fact.value else f" (right: {fact.value})"
        rows.append(f"{fact.question()} {answer or 'unknown'}{wrong}")
    return "\n".join(rows)


register("palaestra/MemoryStores-v0", f"{__name__}:MemoryStores")
