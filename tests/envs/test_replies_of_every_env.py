"""Replies as models write them, played on every id: a right one is right, a wrong one wrong, a cut one never right.

The replies are the files of the folder ``replies``; see ``replies/table.py`` for their form. Which file an id plays
follows from its ``answer_form`` and from what its oracle answers, so that a new id needs nothing here.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import gymnasium as gym
import numpy as np
import palaestra
import pytest
from palaestra.envs import Game, Question, Unicode
from palaestra.envs.testing.playing import suits

from .replies.hedges import HEDGES
from .replies.table import KINDS, TYPES, Reply, read

TABLE = {name: read(name) for name in TYPES}


plays_text = suits(lambda env: isinstance(env.action_space, Unicode))
_WHOLE = ("AllowedRequests", "AskQuestion", "FunctionCalls", "InstructionFollowing", "NextSegment")
WHOLE = {f"palaestra/{name}-v0" for name in _WHOLE}
"""Families of which a reply is judged as a whole: it has a form of its own, thought and tags included, or is prose."""
IDS = [
    name for name in palaestra.envs.ids() if name.startswith("palaestra/") and plays_text(name) and name not in WHOLE
]
every_id = pytest.mark.parametrize("env_id", IDS)

# How a player speaks of a move: a verb that goes before it ("" where the move begins with one), and nouns.
SPEECH: Mapping[str, tuple[str, tuple[str, ...]]] = {
    "2048": ("move", ()),
    "Bandit": ("pull", ("arm",)),
    "Booking": ("", ()),
    "ConnectFour": ("play", ("column",)),
    "DoorKeyText": ("", ()),
    "GameableChecklist": ("", ()),
    "GameableFlattery": ("", ()),
    "GameableOpinion": ("say", ()),
    "GameableRewardFile": ("", ()),
    "GuessNumber": ("guess", ("number", "guess")),
    "Hangman": ("guess", ("guess",)),
    "Mastermind": ("try", ("code", "guess")),
    "Minesweeper": ("open", ()),
    "RushHour": ("move", ("car",)),
    "Forum": ("", ()),
    "Shop": ("", ()),
    "SlidingTiles": ("slide", ("tile",)),
    "Sokoban": ("move", ()),
    "Tracker": ("", ()),
    "TwentyQuestions": ("say", ("word",)),
    "Wordle": ("try", ("word", "guess")),
}
# What a cell is in the rows of grids.
CELLS = {"Sudoku": list, "GridTransformations": list, "Zebra": str.split}
NUMBER = re.compile(r"-?[0-9]+(?:\.[0-9]+)?(?:/[0-9]+)?")


@dataclass(frozen=True)
class Position:
    """A task or a state of a game, with two answers to it, the second of which is no success, or another move."""

    state: Any
    answer: str
    decoy: str
    kind: str


def takes_programs(env_id: str) -> bool:
    env: Any = gym.make(env_id, disable_env_checker=True).unwrapped
    return isinstance(env, Question) and env.answer_form == "program"


PROGRAMS = [name for name in IDS if takes_programs(name)]


def family_of(env_id: str) -> str:
    return env_id.removeprefix("palaestra/").removesuffix("-v0")


def kind_of(env: Any, answer: str) -> str:
    """Which file of replies suits an answer."""
    form = env.answer_form
    if answer.startswith("```"):
        return "program"
    if form in ("move", "moves"):
        return "move"
    if form in ("lines", "values"):
        return {"lines": "grid", "values": "list"}[form]
    if NUMBER.fullmatch(answer):
        return "number"
    return "expression" if re.search(r"[-+*/^=<>()\[\]\\]", answer) else "text"


def outcome(env: Any, position: Position, action: str) -> tuple[Any, ...]:
    """What an action does at a position."""
    env.set_state(position.state)
    observation, reward, terminated, truncated, info = env.step(action)
    kept = {name: info[name] for name in ("is_success", "progress", "action_error", "extras")}
    state = env.get_state()
    return observation, reward, terminated, truncated, kept, state.get("state"), state["ended"]


def alike(env: Any, one: tuple[Any, ...], other: tuple[Any, ...]) -> bool:
    """Whether two outcomes are those of the same move; of a question, whether both are right or both wrong."""
    return one[4]["is_success"] == other[4]["is_success"] if isinstance(env, Question) else one == other


@functools.cache
def positions(env_id: str) -> tuple[Any, list[Position]]:
    """An environment, and positions on which replies are played."""
    env: Any = gym.make(env_id, difficulty=0.3, disable_env_checker=True).unwrapped
    found = list((_questions if isinstance(env, Question) else _turns)(env))
    assert found, f"{env_id} has no position with two answers"
    return env, found


def _questions(env: Any) -> Iterator[Position]:
    drawn = []
    for seed in range(40):
        env.reset(seed=seed)
        drawn.append((env.get_state(), env.oracle(env.here())))
        if len(drawn) > 4 and len({answer for _, answer in drawn}) > 3:
            break
    for state, answer in drawn[: 2 if is_cheap(env) else 1]:
        best = None
        for decoy in dict.fromkeys(renamed(other, answer) for _, other in reversed(drawn)):
            position = Position(state, answer, decoy, kind_of(env, answer))
            if decoy == answer or kind_of(env, decoy) != position.kind:
                continue
            info = outcome(env, position, env.write_action(decoy))[4]
            if not info["is_success"]:
                best = best or position
                if not info["action_error"]:  # of the form that the task asks for
                    best = position
                    break
        if best:
            yield best


def renamed(program: str, model: str) -> str:
    """``program`` with the name of its first function as in ``model``, so that it may be taken for an answer."""
    names = [re.search(r"def (\w+)", text) for text in (program, model)]
    return re.sub(rf"\b{names[0][1]}\b", names[1][1], program) if all(names) else program


def _turns(env: Any) -> Iterator[Position]:
    pool: list[str] = []
    episodes = []
    for seed in (1, 2, 3):
        env.reset(seed=seed)
        turns, done = [], False
        while not done and len(turns) < 60:
            turns.append((env.get_state(), env.oracle(env.here())))
            _, _, terminated, truncated, _ = env.step(env.write_action(turns[-1][1]))
            done = terminated or truncated
        episodes.append(turns)
        pool += dict.fromkeys(answer for _, answer in turns)
    turns = episodes[0]
    for place in sorted({0, len(turns) // 2, len(turns) - 1}):
        state, answer = turns[place]
        env.set_state(state)
        legal = env.random_action(env.here(), np.random.default_rng(place))
        best, kind = None, kind_of(env, answer)
        for decoy in dict.fromkeys([*([legal] if legal is not None else []), *pool]):
            position = Position(state, answer, decoy, kind)
            other = outcome(env, position, env.write_action(decoy))
            if kind_of(env, decoy) != kind or alike(env, other, outcome(env, position, env.write_action(answer))):
                continue
            best = best or position
            if not other[4]["action_error"]:
                best = position
                break
        if best:
            yield best


def is_cheap(env: Any) -> bool:
    """Whether judging costs no run of a program."""
    return not getattr(env, "needs_sandbox", False)


def items_of(family: str, answer: str) -> list[str]:
    """The values or rows in an answer on one line."""
    if family == "Maze":
        return list(answer)
    if answer.startswith("("):
        return [answer]
    answer = answer.removeprefix("[").removesuffix("]")
    for separator in ("/", ", ", " "):
        if separator in answer:
            return answer.split(separator)
    return [answer]


def words_for(env_id: str, answer: str, decoy: str, place: int) -> dict[str, str]:
    """What stands in the places of reply number ``place``; without what this id has not."""
    family = family_of(env_id)
    if answer.startswith("```"):
        answer, decoy = ("\n".join(text.split("\n")[1:-1]) for text in (answer, decoy))
    # A text in quotation marks is what the player writes somewhere, in its own case.
    shouted = re.sub(r'^[^"]+|(?<=")[^"]+$', lambda found: found[0].upper(), answer)
    words = {"answer": answer, "decoy": decoy, "ANSWER": shouted, "Answer": answer[:1].upper() + answer[1:]}
    words["indented"] = "\n".join(f"   {line}" for line in answer.split("\n"))
    rows, decoy_rows = items_of(family, answer), items_of(family, decoy)
    cells = CELLS.get(family)
    if cells is list and place % 2:  # digits are written with spaces between them as often as without
        rows, decoy_rows = ([" ".join(row) for row in each] for each in (rows, decoy_rows))
    words["rows"], words["decoy_rows"] = "\n".join(rows), "\n".join(decoy_rows)
    if cells is not list:
        words["bullets"] = "\n".join(f"- {row}" for row in rows)
        words["numbered"] = "\n".join(f"{number}. {row}" for number, row in enumerate(rows, start=1))
    if cells is not None:
        lines = [f"| {' | '.join(cells(row.replace(' ', '') if cells is list else row))} |" for row in rows]
        columns = lines[0].count("|") - 1
        words["table"] = "\n".join([lines[0], "|" + " --- |" * columns, *lines[1:]])
        head = f"| {' | '.join(f'c{number}' for number in range(1, columns + 1))} |"
        words["headed_table"] = "\n".join([head, "|" + "---|" * columns, *lines])
    if len(rows) > 1 and ", " in answer:
        boxes = [rf"\boxed{{{item}}}" for item in rows]
        words["boxes"] = " and ".join([", ".join(boxes[:-1]), boxes[-1]])
    if family == "LinearSystem":
        for name, values in (("", rows), ("decoy_", decoy_rows)):
            words[f"{name}equations"] = "\n".join(f"{letter} = {value}" for letter, value in zip("xyzuvw", values))
        words["equations_line"] = ", ".join(f"{letter} = {value}" for letter, value in zip("xyzuvw", rows))
    verb, nouns = SPEECH.get(family, ("play", ()))
    words |= {"verb": verb, "Verb": verb.capitalize()}
    if nouns:
        noun = nouns[place % len(nouns)]
        words |= {"noun": noun, "Noun": noun.capitalize()}
    return words


def played(env_id: str, env: Any, position: Position) -> Iterator[tuple[int, Reply]]:
    """The replies that suit a position, with their numbers. Programs are run: each question plays a part of those."""
    family = family_of(env_id)
    shared = position.kind == "program" and isinstance(env, Question)
    for place, reply in enumerate(TABLE[position.kind]):
        is_other = place % len(PROGRAMS) != PROGRAMS.index(env_id) if shared else False
        if is_other and reply.kind != "none" and "function" not in reply.tags:
            continue
        known = words_for(env_id, position.answer, position.decoy, place)
        swapped = words_for(env_id, position.decoy, position.answer, place)
        if not set(reply.places) <= set(known) & set(swapped):
            continue
        # An example of use may follow where a function is asked for; in a game it would be a call.
        functions = family != "CodeCompletion" and all("def " in text for text in (position.answer, position.decoy))
        if "function" in reply.tags and (isinstance(env, Game) or not functions or "input()" in position.answer):
            continue
        if "noun" in reply.tags and known["verb"] == known["noun"] and "verb" in map(str.lower, reply.places):
            continue
        # Where the task asks for a tag, nothing else is read.
        if env.answer_format == "tag" and reply.kind == "right" and not re.search("<answer>\n?@answer", reply.text):
            continue
        # Several blocks are one program there, and what has no block is an answer.
        if position.kind == "program" and isinstance(env, Game) and reply.kind == "right":
            said = reply.text.rpartition("</think>")[2]
            if "```python\n@answer" not in said or "@decoy" in said:
                continue
        yield place, reply


def misread(env_id: str, kind: str, swapped: bool = False) -> list[str]:
    """The replies of a kind that an id takes for something else; ``swapped``: with the decoy as the answer."""
    env, found = positions(env_id)
    wrong = []
    for position in found:
        answer, decoy = (position.decoy, position.answer) if swapped else (position.answer, position.decoy)
        bare = outcome(env, position, env.write_action(answer))
        for place, reply in played(env_id, env, position):
            if reply.kind != kind:
                continue
            words = words_for(env_id, answer, decoy, place)
            text = reply.fill(words)
            if position.kind == "program":
                # The replies have Python; the answer may be in another language.
                first = re.escape(words["answer"].splitlines()[0])
                text = re.sub(rf"```python(\r?\n{first})", rf"{answer.splitlines()[0]}\1", text)
            result = outcome(env, position, text)
            refused = kind != "none" or result[4]["action_error"] is not None
            if not (alike(env, result, bare) if kind == "right" else refused and not alike(env, result, bare)):
                wrong.append(f"{reply.where}: {text!r}, expected {kind} with {answer!r}")
    return wrong


@every_id
def test_right_replies_are_right(env_id: str):
    assert not misread(env_id, "right")


@every_id
def test_wrong_answers_are_wrong_however_they_are_written_and_whatever_was_said_before(env_id: str):
    assert not misread(env_id, "right", swapped=True)


@every_id
def test_what_holds_no_answer_is_refused(env_id: str):
    assert not misread(env_id, "none")
    assert not misread(env_id, "unanswered")


def takes_answers(env_id: str) -> bool:
    env: Any = gym.make(env_id, disable_env_checker=True).unwrapped
    return isinstance(env, Question) and env.answer_form != "program"


@pytest.mark.parametrize("env_id", [name for name in IDS if takes_answers(name)])
def test_a_hedge_is_never_right(env_id: str):
    env, (position, *_) = positions(env_id)
    replies = [hedge.replace("{r}", position.answer).replace("{w}", position.decoy) for hedge in HEDGES]
    assert [reply for reply in replies if outcome(env, position, reply)[4]["is_success"]] == []


@every_id
def test_replies_that_are_cut_off_before_the_answer_is_complete_are_never_right(env_id: str):
    env, found = positions(env_id)
    right = []
    for position in found[:1]:
        bare = outcome(env, position, env.write_action(position.answer))
        for place, reply in played(env_id, env, position):
            if reply.kind != "right":
                continue
            words = words_for(env_id, position.answer, position.decoy, place)
            for text in cut_off(reply, words):
                if alike(env, outcome(env, position, text), bare):
                    right.append(f"{reply.where}: {text!r}")
    assert not right


def cut_off(reply: Reply, words: Mapping[str, str]) -> Iterator[str]:
    """A reply that ends too early: in the words before the answer, in the middle of it, or before a thought's end."""
    before = reply.fill(words, reply.before)
    after = reply.text[len(reply.before) :]
    for share in (0.5, 1.0):
        yield before[: int(share * len(before))]
    first = reply.fill(words, re.match(r"@\w+", after)[0]) if after else ""
    if len(words["answer"]) > 1:
        yield before + first[: len(first) // 2]
    if "</think" in after:
        yield reply.fill(words, reply.text[: reply.text.rindex("</think")])


MARKS = {"boxed": r"\boxed{", "tag": "<answer>"}


@pytest.mark.parametrize("answer_format", MARKS)
@every_id
def test_a_strict_format_reads_its_own_form_and_refuses_every_other(env_id: str, answer_format: str):
    default, found = positions(env_id)
    if default.answer_format != "any" or default.answer_form == "program":
        return
    env: Any = gym.make(env_id, difficulty=0.3, answer_format=answer_format, disable_env_checker=True).unwrapped
    position = found[0]
    bare = outcome(env, position, env.write_action(position.answer))
    wrong = []
    for place, reply in played(env_id, default, position):
        words = words_for(env_id, position.answer, position.decoy, place)
        result = outcome(env, position, text := reply.fill(words))
        visible = re.split("</think(?:ing)?>", text)[-1]
        if reply.kind == "right" and MARKS[answer_format] in visible:
            fine = alike(env, result, bare)
        else:
            fine = not result[4]["is_success"] and result[4]["action_error"] is not None
        if not fine:
            wrong.append(f"{reply.where}: {text!r}")
    assert not wrong


def test_the_table_is_large_and_plain():
    assert all(len(replies) >= 60 for replies in TABLE.values())
    texts = [reply.text for replies in TABLE.values() for reply in replies]
    assert len(texts) >= 420
    for name, replies in TABLE.items():
        assert {reply.kind for reply in replies} == set(KINDS)
        assert len({(reply.text, reply.tags) for reply in replies}) == len(replies), name
        for reply in replies:
            assert reply.kind != "right" or reply.before != reply.text, reply.where


def test_every_reply_of_the_table_is_played():
    seen = set()
    for env_id in IDS:
        env, found = positions(env_id)
        for position in found:
            seen |= {reply.where for _, reply in played(env_id, env, position)}
    assert seen == {reply.where for replies in TABLE.values() for reply in replies}
