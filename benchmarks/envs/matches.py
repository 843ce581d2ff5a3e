"""Lines of ``palaestra bench envs``: pairs of our task and a peer's task, with the guarantees of each."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

GAMES = tuple(
    f"palaestra/{name}-v0" for name in ("GuessNumber", "Mastermind", "Hangman", "TwentyQuestions", "Bandit", "2048")
)


@dataclass(frozen=True)
class PeerTask:
    """A peer's task: the peer, the task's name in it, the configuration, and the peer's guarantees."""

    peer: str
    name: str
    config: Mapping[str, Any] = field(default_factory=dict)
    promise: str = ""


@dataclass(frozen=True)
class Match:
    """One kind of task at one size: our environment with its options and guarantees, and the peers' tasks."""

    name: str
    env_id: str
    options: Mapping[str, Any]
    promise: str
    peers: tuple[PeerTask, ...]


def _match(name: str, family: str, options: Mapping[str, Any], promise: str, *peers: PeerTask) -> Match:
    return Match(name, f"palaestra/{family}-v0", options, promise, peers)


def _reasoning_gym(name: str, promise: str, **config: Any) -> PeerTask:
    return PeerTask("reasoning-gym", name, config, promise)


def _gem(name: str, promise: str) -> PeerTask:
    return PeerTask("gem", f"game:{name}", {}, promise)


MATCHES = (
    _match(
        *("sudoku", "Sudoku", {"size": 9, "shown": 0.3}),
        "one solution; moved by symmetries from a table of minimal puzzles",
        _reasoning_gym("sudoku", "one solution", min_empty=40, max_empty=40),
        _gem("Sudoku-v0-hard", "one solution"),
    ),
    _match(
        *("sudoku-4", "Sudoku", {"size": 4, "shown": 0.0}, "one solution"),
        _reasoning_gym("mini_sudoku", "one solution", min_empty=10, max_empty=12),
    ),
    _match(
        *("zebra", "Zebra", {"houses": 4, "attributes": 4, "clues": "varied", "spare": 0}),
        "one solution, no clue too many",
        _reasoning_gym("zebra_puzzles", "one solution", num_people=4, num_characteristics=4),
    ),
    _match(
        *("sokoban", "Sokoban", {"boxes": 3, "pushes": 5, "size": 9}, "solvable, solved by its own search"),
        _reasoning_gym("sokoban", "solvable", min_w=9, max_w=9, min_h=9, max_h=9, min_boxes=3, max_boxes=3),
        _gem("Sokoban-v0-easy", "solvable"),
    ),
    _match(
        *("countdown", "Countdown", {"count": 6, "largest": 100}, "solvable, target up to 1,000"),
        _reasoning_gym("countdown", "solvable, target 100 to 999", min_numbers=6, max_numbers=6),
    ),
    _match(
        *("twenty-four", "TwentyFour", {"largest": 10, "target": 24}, "solvable, every number used once"),
        _reasoning_gym("puzzle24", "solvable; the answer's numbers are not compared with those given"),
    ),
    _match(
        *("polynomial product", "PolynomialExpand", {"factors": 2, "terms": 3, "variables": 1}, "exact"),
        _reasoning_gym(
            "polynomial_multiplication", "exact", max_polynomials=2, min_terms=3, max_terms=3, variables=["x"]
        ),
    ),
    _match(
        *("polynomial roots", "PolynomialRoots", {"roots": 2, "kind": "integers"}, "all roots rational"),
        _reasoning_gym("polynomial_equations", "real roots, to three decimals", min_degree=2, max_degree=2),
    ),
    _match(
        *("maze", "Maze", {"size": 5, "loops": 0.0}),
        "solvable; the way, of 22 moves on the average, is checked",
        _reasoning_gym(
            *("maze", "solvable; the length of the way, 14 on the average, is asked"),
            **{"min_grid_size": 11, "max_grid_size": 11, "min_dist": 12, "max_dist": 36},
        ),
    ),
    _match(
        *("knights and knaves", "KnightsKnaves", {"people": 4}, "one solution"),
        _reasoning_gym("knights_knaves", "one solution", n_people=4),
    ),
    _match(
        *("queens", "NQueens", {"size": 8, "given": 4}, "solvable, any completion is right"),
        _reasoning_gym("n_queens", "solvable, any completion is right", n=8, min_remove=4, max_remove=4),
    ),
    _match(
        *("graph colouring", "GraphColouring", {"vertices": 10, "colours": 3}, "solvable, any colouring is right"),
        _reasoning_gym("graph_color", "solvable, any colouring is right", min_num_vertices=10, max_num_vertices=10),
    ),
    _match(
        *("hanoi", "TowerOfHanoi", {"disks": 5}, "any two arrangements, at most the fewest moves and the slack"),
        _reasoning_gym("tower_of_hanoi", "from tower to tower", min_disks=5, max_disks=5, max_pegs=3),
    ),
    _match(
        *("arithmetic", "Arithmetic", {"terms": 4, "digits": 3, "operations": "+-"}, "exact"),
        _reasoning_gym("chain_sum", "exact", min_terms=4, max_terms=4, min_digits=3, max_digits=3),
    ),
    _match(
        *("decimals", "DecimalArithmetic", {"terms": 4, "places": 3}, "exact"),
        _reasoning_gym("decimal_arithmetic", "to 12 digits", min_terms=4, max_terms=4),
    ),
    _match(
        *("linear equation", "LinearEquation", {}, "one solution"), _reasoning_gym("simple_equations", "one solution")
    ),
    _match(
        *("gcd", "GcdLcm", {"count": 2, "ask": "gcd", "largest": 1000}, "exact, never one of the numbers"),
        _reasoning_gym("gcd", "exact"),
    ),
    _match(
        *("bases", "BaseConversion", {"largest": 1000, "direction": "between"}, "exact"),
        _reasoning_gym("base_conversion", "exact"),
    ),
    _match(
        *("prime factors", "PrimeFactors", {"factors": 3, "prime": 47}, "all prime, in any order"),
        _reasoning_gym("prime_factorization", "all prime, in ascending order", min_value=100, max_value=100_000),
    ),
    _match(
        *("number sequence", "Sequences", {"rules": "growing", "ahead": 1}),
        "the stated rules leave one continuation",
        _reasoning_gym("number_sequence", "none: other rules may fit"),
    ),
    _match(
        *("integral", "Integral", {"terms": 3, "rule": "powers"}),
        "exact, any constant, no unevaluated integral",
        _reasoning_gym("simple_integration", "exact; an unevaluated integral is accepted", min_terms=3, max_terms=3),
    ),
    _match(
        *("shortest path", "ShortestPath", {"places": 10, "degree": 3, "longest": 20}),
        "solvable, any shortest path is right; on a graph with weights",
        _reasoning_gym("shortest_path", "perhaps no way; on a grid"),
    ),
    _match(
        *("word problem", "WordProblem", {}, "exact, the steps of the story are drawn"),
        _reasoning_gym("gsm_symbolic", "exact, one of 100 stories with other numbers"),
    ),
    _match(
        *("rush hour", "RushHour", {"moves": 10}, "exactly so many moves from the end; boards from a table"),
        _reasoning_gym(
            "rush_hour", "exactly so many moves from the end; boards from a table", min_moves=10, max_moves=10
        ),
    ),
    _match(
        *("guess number", "GuessNumber", {"bits": 6}, "bisection wins within the turns"),
        _gem("GuessTheNumber-v0-hard", "1 to 50 in 7 turns, in which bisection wins"),
    ),
    _match(
        *("mastermind", "Mastermind", {"pegs": 4, "colours": 8}, "a solver wins within the turns, whatever the code"),
        _gem("Mastermind-v0-hard", "none"),
    ),
    _match(
        *("sliding tiles", "SlidingTiles", {"size": 4, "distance": 12}),
        "the goal at an exact distance, checked by a search",
        _gem("FifteenPuzzle-v0-hard", "solvable"),
    ),
    _match(
        *("minesweeper", "Minesweeper", {"size": 8, "rules": "single"}, "can be solved without guessing"),
        _gem("Minesweeper-v0-hard", "none"),
    ),
    _match(
        *("2048", "2048", {"goal": 64}, "a solver reaches the goal within the turns"), _gem("Game2048-v0-hard", "none")
    ),
)
