"""palaestra/MemoryStores-v0: keep a memory of texts that arrive one by one, from which questions are answered."""

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
    """A command with the turn (from 0), the ``error`` that says why it failed (None: it did not), and ``in_place``, the
    result of `stands_in_place` for the text written (None: nothing was written)."""

    turn: int
    command: MemoryCommand
    error: str | None
    in_place: bool | None


@dataclass(frozen=True, slots=True)
class MemoryState:
    """State of an episode: ``story``, the texts and questions; ``capacity``, the most characters that the memory may
    hold; ``at``, the index of the text shown, or the number of texts at the end; the memory; and the commands so
    far."""

    story: Story
    capacity: int
    at: int = 0
    memory: Memory = field(default_factory=Memory)
    calls: tuple[MemoryCall, ...] = ()

    @property
    def over(self) -> bool:
        return self.at == len(self.story.texts)

    @property
    def recalled(self) -> float:
        """Share of the questions that are answered rightly from the present memory."""
        asked = self.story.asked
        return count_right(asked, self.memory.texts) / len(asked)


class MemoryStores(Game):
    """Keep a memory of texts that arrive one by one; at the end questions are answered from the memory alone.

    Description:
        Each turn shows one text about the user and some people. In reply, the agent changes a memory of three stores: a
        core text about the user, semantic entries on lasting facts, and episodic entries on events of a day. Later
        texts replace some facts of earlier ones. After the last text, a fixed program (`reader`) answers the questions
        from the memory alone: a sentence that names the person (and the day of an event) and has a value of the
        attribute asked for gives the answer; of several such sentences, the one written last.

    Parameters:
        texts (2 to 8, on request 1 to 40): number of texts.
        facts (1 to 4, on request up to 10): facts that each text states.
        updates (0 to 4, on request up to 40): facts that replace an earlier fact, as far as possible.
        filler (0 to 5, on request up to 40): sentences in each text that state no fact.
        people (2 to 6, on request 1 to 20): persons, besides the user.
        questions (2 to 6, on request 1 to 40): facts asked for at the end.
        slack (4.0 to 1.2, harder downwards, on request 1.0 to 40.0): characters that the memory may hold, as a multiple
            of the longest memory of the scripted solver.

    Observation:
        The text and the memory, at first with the commands.

    Actions:
        Commands, one per line, with or without a code block: ``core TEXT``, ``insert semantic TEXT``, ``insert episodic
        TEXT``, ``update ID TEXT``, ``delete ID`` or ``nothing``. Other lines are ignored.

    Reward:
        After the last text, the share of questions that are answered rightly; success is all of them. The extras
        ``memory_length`` and ``source_length`` are the characters of the memory and of the texts so far;
        ``memory_calls`` has for each turn whether each command worked, and ``memory_stores`` whether each text written
        is in the store of its facts. The reward ``mem-alpha`` computes the paper's reward from these extras.

    Termination:
        After the reply to the last text. A command that fails (an unknown id or store, no room) changes nothing and
        gives an ``action_error``; the other commands of the reply are carried out. A reply without a command gives an
        ``action_error``, too. The next text is shown in any case.

    Source:
        Mem-alpha (arXiv 2509.25911), with questions that are answered by rules in place of a language model.

    Args:
        **kwargs: arguments of `TaskEnv`.
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

    def start(self, rng: np.random.Generator, params: dict[str, Any]) -> MemoryState:
        story = draw_story(rng, **{name: value for name, value in params.items() if name != "slack"})
        state = MemoryState(story, capacity=1_000_000)
        longest = 0
        while not state.over:
            state = self.act(state, self._solve(state)).state
            longest = max(longest, state.memory.length)
        return MemoryState(story, capacity=int(params["slack"] * longest))

    def turn_limit(self, state: MemoryState) -> int:
        return len(state.story.texts)

    def observe(self, state: MemoryState) -> str:
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
            f"user). All of it may hold {state.capacity} characters.\n\n{shown}"
        )

    def act(self, state: MemoryState, action: str) -> Transition:
        commands = read_commands(action)
        memory, calls, errors = state.memory, [], []
        for command in commands:
            memory, error, store = memory.apply(command, state.capacity)
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

    def oracle(self, state: MemoryState) -> str:
        return self._solve(state)

    def _solve(self, state: MemoryState) -> str:
        """Return the solver's commands: each fact of the text in as few words as the reader needs, written over the
        entry of the fact that it replaces, if any."""
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

    def random_action(self, episode: MemoryState, rng: np.random.Generator) -> str:
        """Return the command to insert a note on a random person, with a random value, in a random store."""
        attribute = tuple(ATTRIBUTES)[int(rng.integers(len(ATTRIBUTES)))]
        values = ATTRIBUTES[attribute][3]
        fact = StoryFact(NAMES[int(rng.integers(len(NAMES)))], attribute, values[int(rng.integers(len(values)))])
        return f"```\ninsert {('semantic', 'episodic')[int(rng.integers(2))]} {fact.note()}\n```"

    def measure_states(self, states: Sequence[Any], name: str) -> Any:
        last: MemoryState = states[-1]
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

    def solver_cost(self, episode: MemoryState) -> float:
        """Return the number of characters to read, times a factor that grows as the memory gets smaller."""
        return sum(map(len, episode.story.texts)) * (1.0 + 1.0 / max(episode.capacity, 1))

    def content_of(self, episode: MemoryState) -> str:
        return "\n".join(
            (*episode.story.texts, *(fact.question() for fact in episode.story.asked), str(episode.capacity))
        )

    def split_key(self, episode: MemoryState) -> str:
        return "\n".join(episode.story.texts)


def stands_in_place(story: Story, text: str, store: str) -> bool:
    """Return True if ``text`` states facts of the story, and all of these facts belong to ``store``."""
    stated = [fact for facts in story.facts for fact in facts if read_answer(fact, [text]) == fact.value]
    return bool(stated) and all(fact.store == store for fact in stated)


def describe_answers(state: MemoryState) -> str:
    """Return a line for each question with the answer from the memory, and the right answer if the first is wrong."""
    texts = state.memory.texts
    rows = []
    for fact in state.story.asked:
        answer = read_answer(fact, texts)
        wrong = "" if answer == fact.value else f" (right: {fact.value})"
        rows.append(f"{fact.question()} {answer or 'unknown'}{wrong}")
    return "\n".join(rows)


register("palaestra/MemoryStores-v0", f"{__name__}:MemoryStores")
