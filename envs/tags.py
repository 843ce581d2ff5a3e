"""Tags of environments, and the search for an environment by tags and words.

A tag is derived from the environment's class where that is possible: turns, tools, modality, the need of a sandbox or
of a data file. The rest (purpose, horizon, extras) is stated in `STATED`, by part of the package and by id. A family
outside the package states such tags in a class attribute ``tags``.
"""

from __future__ import annotations

import inspect
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any

import gymnasium as gym
from gymnasium.envs.registration import load_env_creator

from ..errors import unknown_name
from .grids.grid_env import GridEnv
from .question import Question
from .registration import ids, unknown_environment
from .task_env import TaskEnv
from .text_twin import TextTwin
from .tools.tool_function import OffersFunctions

_ROOT = __name__.partition(".")[0]

LONG_HORIZON = 20
"""Least mean number of the solver's actions, on tasks of difficulty 1, of an environment with a long horizon."""

FACETS: Mapping[str, Mapping[str, str]] = {
    "turns": {
        "single-turn": "one answer ends the episode",
        "multi-turn": "actions and observations alternate",
    },
    "tools": {"tools": "functions that an agent may call by name"},
    "modality": {
        "text": "observations and actions are text",
        "grid": "observations are arrays of cells, as in MiniGrid, and actions are numbers",
        "continuous": "observations and actions are vectors of real numbers",
        "image": 'states have pictures: render_mode="rgb_array"; of web pages, also backend="chromium"',
    },
    "horizon": {
        "short-horizon": f"the solver takes fewer than {LONG_HORIZON} actions on the hardest tasks",
        "long-horizon": f"the solver takes {LONG_HORIZON} actions or more on the hardest tasks",
    },
    "needs": {
        "needs-bwrap": "runs programs: Linux and the program bwrap, or another sandbox by backend=",
        "needs-data": "asks some questions made here, until source= names the file or hub id of the data set",
        "needs-box2d": "extra [box2d]",
        "needs-math": "extra [math]",
        "needs-reasoning-gym": "extra [reasoning-gym]",
        "needs-web": "extra [web]",
    },
    "purpose": {
        "coding": "write, mend, complete or predict programs and queries",
        "control": "move a body under the laws of mechanics",
        "curriculum": "compare teachers: tasks that are learned only in order",
        "databases": "read and query tables",
        "dialogue": "talk with a scripted person",
        "exploration": "find by trying what is rewarded, or what is worth a look; rewards are sparse",
        "games": "play a game with rules of its own",
        "induction": "infer a rule from examples",
        "instruction-following": "do what a sentence asks, and nothing else",
        "judging": "say whether a solution is right, and where it is wrong",
        "language": "predict how a text goes on",
        "logic": "deduce an answer from conditions or clues",
        "math": "compute, solve and transform expressions",
        "memory": "use later what was seen before",
        "multi-agent": "another player or person, who is scripted, acts as well",
        "navigation": "find a way from place to place",
        "partially-observable": "an observation shows a part of the state",
        "planning": "find actions whose order matters",
        "published-data": "questions in the layout of a published data set",
        "puzzles": "solve a known kind of puzzle",
        "retrieval": "look for facts in texts, and combine them",
        "reward-hacking": "a reward that can be raised without doing the task, which is measured",
        "robustness": "known questions in other forms",
        "safety": "hazards and temptations, which an agent should leave alone",
        "spatial": "turn, move and compare shapes and pictures",
        "web": "work with web pages",
    },
}
"""Facet -> tag -> meaning. An environment has one tag or more of turns, modality, horizon and purpose."""

TAGS: Mapping[str, str] = {tag: meaning for tags in FACETS.values() for tag, meaning in tags.items()}

STATED: Mapping[str, str] = {
    # Parts of this package, by the names of modules.
    "code": "coding",
    "datasets": "published-data",
    "gameable": "reward-hacking safety",
    "games": "games",
    "grids": "navigation partially-observable",
    "induction": "induction",
    "instructions": "instruction-following",
    "judging": "judging robustness",
    "ladders": "curriculum",
    "math": "math",
    "memory": "memory",
    "mixture": "curriculum",
    "players": "games multi-agent planning",
    "puzzles": "puzzles",
    "sql": "coding databases",
    "text": "language",
    "walkers": "control continuous needs-box2d",
    "web.site_tasks": "instruction-following partially-observable planning web needs-web",
    "web.wiki": "retrieval",
    # Environments. A gridworld's twin in text has the row of the gridworld.
    "2048": "planning long-horizon",
    "AIME": "math",
    "APPS": "published-data",
    "AskQuestion": "language retrieval",
    "BIRD": "published-data",
    "BabyAI": "instruction-following planning long-horizon",
    "Bandit": "exploration partially-observable long-horizon",
    "BlindAuction": "partially-observable math",
    "BlockMaze": "exploration planning",
    "Blocksworld": "planning",
    "Cloze": "robustness math",
    "CombinationLock": "exploration long-horizon",
    "ConnectFour": "planning multi-agent",
    "Countdown": "math planning",
    "DeceptiveMaze": "exploration long-horizon",
    "DistShift": "safety",
    "DoorKey": "exploration planning long-horizon",
    "Fetch": "instruction-following",
    "Formats": "robustness math instruction-following",
    "AllowedRequests": "safety",
    "FourRooms": "exploration",
    "GSM8K": "math",
    "GameableFlattery": "dialogue",
    "GameableOpinion": "dialogue",
    "GoToDoor": "instruction-following",
    "GoToObject": "instruction-following",
    "GraphColouring": "logic",
    "GridTransformations": "spatial",
    "GuessNumber": "exploration logic partially-observable",
    "HallwayMemory": "memory",
    "Hangman": "logic partially-observable",
    "HiddenKey": "exploration long-horizon",
    "HintPrefix": "robustness math",
    "HumanEval": "published-data",
    "Inventory": "planning math",
    "Jigsaw": "spatial",
    "KuhnPoker": "partially-observable",
    "LeducPoker": "partially-observable",
    "LiarsDice": "partially-observable",
    "KeyCorridor": "exploration planning long-horizon",
    "KnightsKnaves": "logic",
    "LavaGap": "safety long-horizon",
    "LiveCodeBench": "published-data",
    "LockedRoom": "exploration planning long-horizon",
    "MATH": "math needs-math",
    "MBPP": "published-data",
    "MaskedSpan": "exploration partially-observable needs-web",
    "Mastermind": "logic partially-observable",
    "Maze": "navigation planning spatial",
    "MemoryStores": "partially-observable retrieval",
    "Minesweeper": "logic partially-observable",
    "MovingObstacles": "safety long-horizon",
    "MultiRoom": "exploration long-horizon",
    "MultipleChoice": "robustness math",
    "NQueens": "logic",
    "NoisyTV": "exploration",
    "ObstructedMaze": "exploration planning long-horizon",
    "PatchFit": "spatial",
    "Playground": "exploration long-horizon",
    "PutNear": "instruction-following planning",
    "PythonTool": "math",
    "ReasoningGym": "logic math puzzles needs-reasoning-gym",
    "Recurring": "exploration memory partially-observable long-horizon",
    "RedBlueDoors": "memory",
    "Rephrased": "robustness math",
    "Reversed": "robustness math",
    "Rotation": "spatial",
    "RushHour": "planning",
    "SQLExplorer": "exploration partially-observable",
    "Satisfiability": "logic",
    "SecretCode": "memory",
    "Shop": "long-horizon",
    "ShortestPath": "navigation planning",
    "SlidingTiles": "planning long-horizon",
    "Sokoban": "planning spatial long-horizon",
    "Spider": "published-data",
    "StumpTracks": "long-horizon",
    "Sudoku": "logic",
    "SupplyChain": "planning math",
    "TemporalLogic": "logic",
    "ToolUse": "databases math needs-bwrap",
    "TowerOfHanoi": "planning",
    "TutorDialogue": "dialogue multi-agent math partially-observable",
    "TwentyFour": "math",
    "TwentyQuestions": "exploration logic partially-observable",
    "Unlock": "planning long-horizon",
    "WebLong": "long-horizon",
    "WebTraps": "safety",
    "WikiRace": "navigation partially-observable planning",
    "WikiSearch": "exploration partially-observable needs-web",
    "Wordle": "logic partially-observable",
    "Zebra": "logic",
}
"""Tags that no class shows: part of ``palaestra.envs`` or name of an id -> tags. The rows of an environment add up."""

SYNONYMS: Mapping[str, str] = {
    "agentic": "multi-turn",
    "alignment": "safety",
    "benchmark": "published-data",
    "browser": "web",
    "chat": "dialogue",
    "code": "coding",
    "combinatorial": "puzzles",
    "computer use": "web",
    "conversation": "dialogue",
    "data file": "needs-data",
    "database": "databases",
    "deduction": "logic",
    "critique": "judging",
    "few-shot": "induction",
    "function calling": "tools",
    "gridworld": "navigation",
    "grading": "judging",
    "hard exploration": "exploration",
    "hidden information": "partially-observable",
    "imperfect information": "partially-observable",
    "inductive": "induction",
    "locomotion": "control",
    "mathematics": "math",
    "maths": "math",
    "mechanics": "control",
    "multimodal": "image",
    "opponent": "multi-agent",
    "paraphrase": "robustness",
    "physics": "control",
    "picture": "image",
    "pomdp": "partially-observable",
    "program": "coding",
    "programming": "coding",
    "reward model": "judging",
    "reward tampering": "reward-hacking",
    "robotics": "control",
    "sandbox": "needs-bwrap",
    "sparse": "exploration",
    "sparse reward": "exploration",
    "sql": "databases",
    "sycophancy": "reward-hacking",
    "teacher": "curriculum",
    "tool": "tools",
    "tool use": "tools",
    "two-player": "multi-agent",
    "vision": "image",
    "verification": "judging",
    "visual": "image",
}
"""Word of a search -> tag that it stands for, beside the texts in which it occurs."""

ABSENT: Mapping[str, str] = {
    "calibration": "confidence is judged by rewards: palaestra list rewards confidence",
    "negotiation": "TextArena has games of negotiation: palaestra/TextArena-v0, with the extra [textarena]",
    "self-play": "opponents are scripted here; palaestra.integrations.pettingzoo has both seats of games",
}
"""Word of a search for which nothing is registered -> the nearest thing that there is."""


_PHRASES = {key for key in SYNONYMS if " " in key} | {tag.replace("-", " ") for tag in TAGS if "-" in tag}


def find(*words: str, tags: Collection[str] = ()) -> list[str]:
    """Return the ids of the environments that have all tags and fit all words, in alphabetical order.

    Args:
        words: each is part of the id, of the name of its part of the package ("puzzles") or of the docstring's first
            line, or stands for a tag (`matches`): ``find("planning")``.
        tags: names in `TAGS`, or tags of another package's environments: ``find(tags=["multi-turn", "safety"])``.

    Raises:
        InputError: no environment has a tag of that name.
    """
    check_tags(tags)
    found = []
    for env_id in ids():
        family, own = load_family(env_id), tags_of(env_id)
        text = " ".join([env_id, group_of(family), *(family.__doc__ or "").strip().splitlines()[:1]])
        if set(tags) <= set(own) and all(matches(word, text, own) for word in join_phrases(words)):
            found.append(env_id)
    return found


def tags_of(env_id: str) -> tuple[str, ...]:
    """Return the tags of an environment, in the order of `FACETS`; tags of another package are last.

    Raises:
        InputError: the id is unknown.
    """
    family = load_family(env_id)
    found = {"short-horizon", *_derive(family), *getattr(family, "tags", ())}
    if family.__module__.partition(".")[0] == _ROOT:
        name = env_id.rpartition("/")[2].rpartition("-v")[0]
        parts = _parts_of(family)
        rows = (*(".".join(parts[: end + 1]) for end in range(len(parts))), name, name.removesuffix("Text"))
        found.update(tag for row in rows for tag in STATED.get(row, "").split())
    if "long-horizon" in found:
        found.remove("short-horizon")
    if "continuous" in found:
        found.discard("text")
    return (*(tag for tag in TAGS if tag in found), *sorted(found - TAGS.keys()))


def load_family(env_id: str) -> Any:
    """Return the class of an environment without making one. Raises InputError for an unknown id."""
    try:
        entry_point = gym.spec(env_id).entry_point
    except gym.error.Error:
        raise unknown_environment(env_id) from None
    return load_env_creator(entry_point) if isinstance(entry_point, str) else entry_point


def group_of(family: Any) -> str:
    """Return the part of the package that has a class: "math" for ``palaestra.envs.math.arithmetic``. For a class of
    another package, it is the name of that package."""
    return _parts_of(family)[0]


def _parts_of(family: Any) -> list[str]:
    return family.__module__.removeprefix(f"{_ROOT}.envs.").split(".")


def _derive(family: Any) -> Iterator[str]:
    """Yield the tags that a class shows."""
    if not isinstance(family, type):  # a function that makes environments
        return
    yield "single-turn" if issubclass(family, Question) else "multi-turn"
    if issubclass(family, OffersFunctions):
        yield "tools"
    if issubclass(family, GridEnv):
        yield "grid"
    elif issubclass(family, TaskEnv | TextTwin):
        yield "text"
    if "rgb_array" in getattr(family, "metadata", {}).get("render_modes", ()):
        yield "image"
    options = {
        name: parameter.default
        for base in family.__mro__
        if "__init__" in base.__dict__
        for name, parameter in inspect.signature(base.__init__).parameters.items()
    }
    if "source" in options:
        yield "needs-data"
    if options.get("backend") == "local":
        yield "needs-bwrap"


def check_tags(tags: Iterable[str]) -> None:
    """Raise InputError, with similar names, for a tag that no environment has."""
    if not (unknown := [tag for tag in tags if tag not in TAGS]):
        return
    known = TAGS.keys() | {tag for env_id in ids() for tag in tags_of(env_id)}
    for tag in unknown:
        if tag not in known:
            raise unknown_name("tag", tag, known, "tags")


def join_phrases(words: Sequence[str]) -> list[str]:
    """Join words that follow each other and stand for a tag together: ["long", "horizon"] -> ["long horizon"]."""
    joined, rest = [], list(words)
    while rest:
        size = next((n for n in (3, 2) if " ".join(rest[:n]).lower().removesuffix("s") in _PHRASES), 1)
        joined.append(" ".join(rest[:size]))
        del rest[:size]
    return joined


def matches(word: str, text: str, tags: Iterable[str]) -> bool:
    """Return True if a word of a search fits: it is in the text, it is a tag or one of a tag's words, or `SYNONYMS` has
    a tag for it."""
    word = word.lower()
    if word in text.lower():
        return True
    name = word.replace(" ", "-")
    meant = {SYNONYMS.get(word), SYNONYMS.get(word.removesuffix("s"))}
    return any(tag in meant or f"-{name}-" in f"-{tag}-" for tag in tags)
