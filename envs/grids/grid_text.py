"""`GridText`, the text twin of a family of gridworlds: the native environment's levels, observed and acted on in words.

Its arguments are for language agents: the form of observations, the vocabulary, the actions per turn, the number of
earlier turns shown again, and the number of unreadable actions that ends an episode.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar, NamedTuple

import gymnasium as gym
import numpy as np

from ...errors import InputError, unknown_name
from ..game import Game, Transition
from ..unicode import Unicode
from .descriptions import describe_map, describe_view, describe_words, legend_of
from .grid_measures import SUPPLIES, measure_worlds
from .grid_planner import find_action, find_distance
from .grid_rules import GridRules
from .grid_world import DIRECTIONS, World
from .level_reset import LevelReset, check_horizon
from .partial_view import VIEW, Viewer
from .tiles import draw_grid, draw_view
from .vocabulary import Vocabulary, check_vocabulary, make_vocabulary

Describe = Callable[[World, Viewer, Vocabulary], str]
DESCRIPTIONS: dict[str, Describe] = {
    "map": describe_map,
    "view": describe_view,
    "words": describe_words,
    "image": lambda world, viewer, vocabulary: f"You face {DIRECTIONS[world.facing]}.",
}
TILE = 16
"""Pixels of a cell in pictures for agents."""
MOST_ACTIONS = 20
_BETWEEN = re.compile(r"\s*(?:[,;\n]|\bthen\b|\|\|)\s*")


class GridTurn(NamedTuple):
    """A state of a text grid.

    Args:
        world: the state of the world.
        first: True for the first turn, whose observation states the mission and the actions.
        words: seed of the episode's vocabulary.
        past: observations and actions of earlier turns that are shown again (``look_back``).
    """

    world: World
    first: bool = True
    words: int = 0
    past: tuple[str, ...] = ()

    def __deepcopy__(self, memo: object) -> GridTurn:
        """Return the turn itself, which is immutable."""
        return self


class GridText(LevelReset, Game):
    """Base of text grids; `define_family` makes one of a `GridRules`.

    Args:
        observation: "map" is all cells, "view" the agent's 7 x 7 cells, rotated so that it faces up, "words" the same
            in sentences, and "image" a picture of them, uint8[112, 112, 3], beside the text in a dict. The default is
            the map, or the view if the mission is to find or remember something.
        vocabulary: "plain"; "synonyms" or "invented" draw words for each episode; or a mapping of plain words to
            others, ``{"key": "token"}``.
        actions_per_turn: maximum number of comma-separated actions in one reply. Actions after the end of the episode,
            or after an unreadable one, are ignored.
        look_back: number of last turns shown again with the actions taken.
        patience: the episode ends after more than this many unreadable actions in a row; None never ends it.
        max_steps: turns after which an episode is truncated; None for the family's limit.
        **kwargs: the family's own arguments, and those of all environments.

    Raises:
        InputError: an argument is out of range or unknown.
    """

    rules_class: ClassVar[type[GridRules]] = GridRules
    legend: ClassVar[str] = ""
    coloured: ClassVar[bool] = True
    supplies = SUPPLIES
    keeps_states = True
    arrow_keys: ClassVar = {"up": "go forward\n", "left": "turn left\n", "right": "turn right\n"}

    def __init__(
        self,
        *,
        observation: str | None = None,
        vocabulary: str | Mapping[str, str] = "plain",
        actions_per_turn: int = 1,
        look_back: int = 0,
        patience: int | None = None,
        max_steps: int | None = None,
        **kwargs: Any,
    ):
        own = {name: kwargs.pop(name) for name in self.rules_class.arguments if name in kwargs}
        super().__init__(**kwargs)
        self.rules = self.rules_class(**own)
        self.return_range = self.rules.return_range
        observation = observation or ("view" if self.rules.hidden else "map")
        if observation not in DESCRIPTIONS:
            raise unknown_name("observation", str(observation), DESCRIPTIONS)
        for name, value, low, high in (
            ("actions_per_turn", actions_per_turn, 1, MOST_ACTIONS),
            ("look_back", look_back, 0, 50),
            ("patience", 0 if patience is None else patience, 0, 1000),
        ):
            if isinstance(value, bool) or not isinstance(value, int) or not low <= value <= high:
                raise InputError(f"{name} must be a whole number from {low} to {high}, not {value!r}.")
        self.observation, self.actions_per_turn, self.look_back = observation, actions_per_turn, look_back
        self.patience, self._horizon = patience, check_horizon(max_steps)
        chosen = check_vocabulary(vocabulary)
        self._choice = tuple(sorted(chosen.items())) if isinstance(chosen, dict) else chosen
        self._draws_words = chosen in ("synonyms", "invented")
        self._describe = DESCRIPTIONS[observation]
        self.viewer = Viewer(self.sees_through())
        self._errors = 0
        self._shown: tuple[GridTurn | None, str] = None, ""
        if observation == "image":
            picture = gym.spaces.Box(0, 255, (VIEW * TILE, VIEW * TILE, 3), np.uint8)
            self.observation_space = gym.spaces.Dict({"image": picture, "text": Unicode(self.max_observation)})

    def start(self, rng: np.random.Generator, params: dict[str, Any]) -> GridTurn:
        world = self.draw_world(rng, params)
        return GridTurn(world, words=int(rng.integers(1 << 31)) if self._draws_words else 0)

    def last_world(self) -> World | None:
        return None if self._state is None else self._state.world

    def content_of(self, episode: GridTurn) -> str:
        return self.rules.content(episode.world)

    def split_key(self, episode: GridTurn) -> str:
        return self.rules.split_key(episode.world)

    def trace_of(self, state: GridTurn) -> World:
        return state.world

    def measure_states(self, states: Sequence[World], name: str) -> Any:
        return measure_worlds(self.rules, states, name)

    def turn_limit(self, state: GridTurn) -> int:
        return self._horizon or self.rules.turns(state.world)

    def vocabulary_of(self, state: GridTurn) -> Vocabulary:
        """Return the words of an episode."""
        return make_vocabulary(self._choice, state.words, self.coloured)

    def observe(self, state: GridTurn) -> str:
        # An unreadable action leaves the state unchanged.
        if state is not self._shown[0]:
            self._shown = state, self.compose(state)
        return self._shown[1]

    def compose(self, state: GridTurn) -> str:
        """Return the text of a state, without the cache of `observe`."""
        words = self.vocabulary_of(state)
        scene = self._describe(state.world, self.viewer, words)
        if state.past:
            scene = "\n".join([*state.past, "Now:", scene])
        return f"{self.introduce(state, words)}\n{scene}" if state.first else scene

    def introduce(self, state: GridTurn, words: Vocabulary) -> str:
        """Return the text shown once: mission, signs, actions and the number of turns."""
        mission = words.rephrase(self.rules.mission(state.world)) or "look around: there is no mission"
        shown = {
            "map": f" On the map {legend_of(state.world.cells, words)}; you are > v < or ^.",
            "view": f" You see the cells before you, yourself as ^: {legend_of(state.world.cells, words)}, ? unseen.",
        }.get(self.observation, "")
        legend = self.legend if self.observation == "map" and not words.changed else ""
        advice = f" {self.rules.advice}".format(**words.words) if self.rules.advice else ""
        legend = legend or f"{mission[0].upper()}{mission[1:]}.{advice}{shown}"
        several = f", up to {self.actions_per_turn} a turn, with commas between" if self.actions_per_turn > 1 else ""
        allowed = ", ".join(words.actions[: self.rules.actions])
        rest = f"{words.glossary()} You have {self.turn_limit(state)} turns."
        if self.prompt == "terse":
            return f"{legend} Actions: {allowed}{several}.{rest}"
        how = f"one or more actions{several}" if several else "one action a turn"
        if self.rules.actions > 3:
            take, drop, toggle = words.actions[3:6]
            rest = f" {take.capitalize()}, {drop} and {toggle} act on the cell ahead; {toggle} opens it.{rest}"
        return f"{legend} Answer with {how}: {allowed}.{rest}"

    def act(self, state: GridTurn, action: str) -> Transition:
        words, rules = self.vocabulary_of(state), self.rules
        world, done, success, error = state.world, False, False, None
        flags = rules.flags(world)
        parts = _BETWEEN.split(action)[: self.actions_per_turn + 1] if self.actions_per_turn > 1 else (action,)
        for place, part in enumerate(parts):
            number = words.read(part) if place < self.actions_per_turn else None
            if number is None or number >= rules.actions:
                error = f"An action must be one of: {', '.join(words.actions[: rules.actions])}."
                if self.actions_per_turn > 1:
                    error = f"Action {place + 1} was not taken, as it must be one of the known ones, at most " + (
                        f"{self.actions_per_turn} a turn: {', '.join(words.actions[: rules.actions])}."
                    )
                break
            before, world = world, rules.advance(world, number)
            flags = rules.flags(world)
            success = flags[-1]
            done = success or rules.fails(before, number, world)
            if done:
                break
        progress = rules.progress(flags)
        if error and world is state.world:
            return Transition(state, progress=progress, action_error=error)
        if success:
            error = None
        past = state.past
        if self.look_back:
            scene = self._describe(state.world, self.viewer, words)
            past = (*past, f"{scene}\nYou chose: {' '.join(action[:80].split())}.")[-self.look_back :]
        terms = {"failure": rules.penalty} if done and not success and rules.penalty else {}
        feedback = "" if world is not state.world else "Nothing happened."
        return Transition(
            GridTurn(world, False, state.words, past), done, success, progress, terms, error, feedback=feedback
        )

    def _act_on_reply(self, action: Any) -> Transition:
        result = super()._act_on_reply(action)
        self._errors = self._errors + 1 if result.action_error else 0
        if self.patience is not None and self._errors > self.patience:
            result.done, result.feedback = True, "Too many actions in a row could not be read."
        return result

    def oracle(self, state: GridTurn) -> str:
        words, world, said = self.vocabulary_of(state), state.world, []
        for _ in range(self.actions_per_turn):
            number = self.rules.steer(world, find_action(self.rules, world))
            said.append(words.actions[number])
            world = self.rules.advance(world, number)
            if self.rules.flags(world)[-1]:
                break
        return ", ".join(said)

    def random_action(self, episode: GridTurn, rng: np.random.Generator) -> str:
        return self.vocabulary_of(episode).actions[int(rng.integers(self.rules.actions))]

    def solver_cost(self, episode: GridTurn) -> float:
        """Return the length of a shortest solution."""
        return float(find_distance(self.rules, episode.world))

    def draw(self, episode: GridTurn) -> np.ndarray:
        return draw_grid(episode.world, self.viewer)

    # Pictures for agents, and the count of errors in snapshots.

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Any, dict[str, Any]]:
        self._errors = 0
        text, info = super().reset(seed=seed, options=options)
        return self._add_picture(text), info

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        text, reward, terminated, truncated, info = super().step(action)
        return self._add_picture(text), reward, terminated, truncated, info

    def _add_picture(self, text: str) -> Any:
        if self.observation != "image":
            return text
        return {"image": draw_view(self.here().world, self.viewer, TILE), "text": text}

    def get_state(self) -> dict[str, Any]:
        return {**super().get_state(), "errors": self._errors}

    def set_state(self, state: Mapping[str, Any]) -> None:
        super().set_state(state)
        self._errors = state["errors"]
