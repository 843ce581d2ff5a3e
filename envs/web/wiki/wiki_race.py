"""palaestra/WikiRace-v0: go from one article of a made-up encyclopaedia to another, by links alone."""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

import numpy as np

from ....rewards.answers import readings
from ...code.programs.dice import Dice
from ...game import Game, Transition
from ...param_space import IntAxis, ParamSpace
from ...registration import register
from .corpus import Corpus, make_corpus
from .wiki_commands import read_command
from .wiki_reading import SIZE, check_worlds, count_articles, draw_world, world_key

# Number of goals that are drawn before a start at a smaller distance is accepted.
_TRIES = 12


@dataclass(frozen=True, slots=True)
class RaceState:
    """State of an episode: seed and number of ``articles`` of the corpus; ``goal`` and ``at``, the numbers of the
    article to reach and of the open one, of which ``part`` is shown (from 1); ``distance``, the links of a shortest
    path from the start to the goal; ``spare``, the turns allowed beyond ``distance``."""

    seed: int
    articles: int
    goal: int
    at: int
    part: int
    distance: int
    spare: int

    @property
    def corpus(self) -> Corpus:
        return make_corpus(self.seed, self.articles)


class WikiRace(Game):
    """Go from one article of a made-up encyclopaedia to another, by links alone.

    Description:
        A world is drawn, and two articles of its encyclopaedia. The agent goes from article to article by following
        links. A fifth of the worlds is in the test split.

    Parameters:
        distance (2 to 6, on request 1 to 12): links on a shortest path; if none of 12 goals has a start so far away,
            the largest distance found.
        size (0 to 4, on request up to 7): the encyclopaedia has 40 * 2 ** size articles.
        spare (12 to 2, harder downwards, on request 0 to 60): turns beyond the links on a shortest path.

    Observation:
        The goal, the title of the open article, and its text with links as ``[[title]]`` or ``[[title|text]]``, in
        parts if it is long.

    Actions:
        ``open[title]`` for a link of the article, in whichever part it is, or the title alone; ``next[]`` for the next
        part.

    Reward:
        1 for reaching the goal, 0 otherwise. The extra ``goal_distance`` is the distance to the goal in links after
        each turn, and ``potentials`` is minus this distance as a share of the distance at the start. A player who
        follows random links reaches 0.29 of the easiest goals and none of the hardest; a player who looks at the
        articles behind all links, and takes the one that shares most words with the goal's article, 0.8 and 0.02.

    Termination:
        At the goal. Truncated ``spare`` turns after as many turns as a shortest path has links. An action that names no
        link of the article is an ``action_error`` and uses up a turn. ``info["progress"]`` is 1 - d / D for the
        distances d now and D at the start, and at least 0.

    Source:
        The Wikipedia race (West and Leskovec, "Human wayfinding in information networks", 2012), on articles made here.

    Args:
        worlds: number of different encyclopaedias of each size.
        **kwargs: arguments of `TaskEnv`.
    """

    param_space = ParamSpace(
        [
            IntAxis("distance", 2, 6, limits=(1, 12)),
            SIZE,
            IntAxis("spare", 2, 12, harder="down", limits=(0, 60)),
        ]
    )
    answer_form = "program"
    default_answer_format = "whole"
    supplies = frozenset({"goal_distance", "potentials"})
    keeps_states = True
    max_observation = 8_192

    def __init__(self, *, worlds: int = 20, **kwargs: Any):
        self.worlds = check_worlds(worlds)
        super().__init__(**kwargs)

    def start(self, rng: np.random.Generator, params: dict[str, Any]) -> RaceState:
        dice = Dice(rng)
        seed, size = draw_world(dice, self.worlds, self.split), count_articles(params["size"])
        best: tuple[int, int, int] = (0, 0, 0)
        for _ in range(_TRIES):
            goal = dice.below(size)
            distances = measure_distances(seed, size, goal)
            furthest = min(params["distance"], max(distances.values()))
            if furthest > best[0]:
                best = furthest, goal, dice.one([page for page, far in distances.items() if far == furthest])
            if furthest == params["distance"]:
                break
        distance, goal, start = best
        return RaceState(seed, size, goal, start, 1, distance, params["spare"])

    def turn_limit(self, state: RaceState) -> int:
        return state.distance + state.spare

    def content_of(self, episode: RaceState) -> str:
        return repr(replace(episode, spare=0))

    def split_key(self, episode: RaceState) -> str:
        return world_key(episode.seed)

    def observe(self, state: RaceState) -> str:
        corpus = state.corpus
        page, goal = corpus.articles[state.at], corpus.title(state.goal)
        if state.at == state.goal:
            return f"You reached {goal}."
        parts = page.parts
        more = f" (part {state.part} of {len(parts)}; next[] goes on)" if len(parts) > state.part else ""
        text = " ".join(sentence.text for sentence in parts[state.part - 1])
        asked = f"Go to the article {goal!r} by links alone: [[TITLE]] and [[TITLE|text]] are links"
        how = ", and open[TITLE] follows one." if self.prompt == "terse" else ". Answer with open[TITLE] to follow one."
        return f"{asked}{how}\n\n{page.title}{more}\n{text}"

    def act(self, state: RaceState, action: str) -> Transition:
        corpus = state.corpus
        page = corpus.articles[state.at]
        # A bare title counts as the command to open it.
        command = read_command(action) or ("open", next(readings(action), ""))
        if command[0] == "next":
            if state.part < len(page.parts):
                return self._move_to(replace(state, part=state.part + 1))
            return self._refuse(state, "This is the last part of the article.")
        number = corpus.find(re.sub(r"^\[*([^\[\]|]*).*", r"\1", command[1][:400], flags=re.DOTALL))
        if number is None or number not in corpus.links[state.at]:
            return self._refuse(
                state, f"{page.title!r} has no link to {command[1][:60]!r}; write open[TITLE] for a link."
            )
        return self._move_to(replace(state, at=number, part=1))

    def _move_to(self, state: RaceState) -> Transition:
        won = state.at == state.goal
        return Transition(state, done=won, success=won, progress=self.progress_of(state))

    def _refuse(self, state: RaceState, error: str) -> Transition:
        return Transition(state, progress=self.progress_of(state), action_error=error)

    def progress_of(self, state: RaceState) -> float:
        return max(0.0, 1.0 - self.distance_of(state) / state.distance)

    def distance_of(self, state: RaceState) -> int:
        """Return the distance in links from the open article to the goal; the number of articles plus 1 if the goal is
        unreachable."""
        return measure_distances(state.seed, state.articles, state.goal).get(state.at, state.articles + 1)

    def oracle(self, state: RaceState) -> str:
        corpus = state.corpus
        distances = measure_distances(state.seed, state.articles, state.goal)
        nearest = min(corpus.links[state.at], key=lambda page: distances.get(page, state.articles + 1))
        return f"open[{corpus.articles[nearest].title}]"

    def random_action(self, episode: RaceState, rng: np.random.Generator) -> str:
        """Return the command to follow a random link."""
        links = episode.corpus.links[episode.at]
        return f"open[{episode.corpus.articles[links[int(rng.integers(len(links)))]].title}]"

    def heuristic_action(self, episode: RaceState) -> str:
        """Return the command to follow the link to the goal if there is one, else the link to the article that shares
        most words with the goal's article."""
        corpus = episode.corpus
        goal = set(re.findall(r"\w+", corpus.articles[episode.goal].text))
        links = corpus.links[episode.at]
        best = max(
            links,
            key=lambda page: (page == episode.goal, len(goal & set(re.findall(r"\w+", corpus.articles[page].text)))),
        )
        return f"open[{corpus.articles[best].title}]"

    def solver_cost(self, episode: RaceState) -> float:
        """Return the number of articles that are nearer to the goal than the start is."""
        distances = measure_distances(episode.seed, episode.articles, episode.goal)
        return float(sum(far < episode.distance for far in distances.values()))

    def measure_states(self, states: Sequence[RaceState], name: str) -> Any:
        distances = [self.distance_of(state) for state in states]
        if name == "potentials":
            return [-far / states[0].distance for far in distances]
        return distances if name == "goal_distance" else super().measure_states(states, name)


@lru_cache(maxsize=512)
def measure_distances(seed: int, articles: int, goal: int) -> dict[int, int]:
    """Return article -> distance to the goal in links, for all articles from which the goal can be reached."""
    linked_from = make_corpus(seed, articles).linked_from
    distances = {goal: 0}
    queue = deque([goal])
    while queue:
        page = queue.popleft()
        for before in linked_from[page]:
            if before not in distances:
                distances[before] = distances[page] + 1
                queue.append(before)
    return distances


register("palaestra/WikiRace-v0", f"{__name__}:WikiRace")
