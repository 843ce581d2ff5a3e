"""Selection rules: their formulas, and what they select in small trees."""

from __future__ import annotations

import math

import numpy as np
import pytest
from palaestra.agents.search.searches import (
    SEARCHES,
    optimistic_score,
    parse_search,
    puct_score,
    uct_score,
)
from palaestra.errors import InputError

from .conftest import node_at, tree_of  # isort: skip

RNG = np.random.default_rng(0)


def selected(text: str, tree) -> str:
    """The prefix that a search selects, as text."""
    node = parse_search(text).select(tree, np.random.default_rng(0))
    return "none" if node is None else "".join(chr(each.ids[0]) for each in node.path()[1:])


def test_uct_adds_the_exploration_term():
    # AlphaLLM: 10 visits of the parent, 2 of the node with one win.
    assert uct_score(1.0, 2, 10) == pytest.approx(0.5 + math.sqrt(math.log(10) / 2)) == pytest.approx(1.5730, abs=1e-4)


def test_a_node_without_visits_comes_first():
    assert uct_score(0.0, 0, 10) == math.inf > uct_score(10.0, 10, 10)


def test_puct_follows_the_prior_until_visits_take_over():
    assert puct_score(0.0, 0.9, 0, 4) == 1.8
    assert puct_score(0.0, 0.9, 3, 4) < puct_score(0.0, 0.6, 0, 4)


def test_an_optimist_prefers_the_less_visited_of_equal_values():
    assert optimistic_score(0.0, 0) == pytest.approx(0.5 + math.sqrt(0.25 / 3))
    assert optimistic_score(0.5, 2) > optimistic_score(0.5, 20)


def test_mcts_fills_a_prefix_before_it_goes_down_to_the_better_child():
    assert selected("mcts(children=3)", tree_of("ab", "xb", width=3, rewards=(0.0, 1.0))) == ""
    assert selected("mcts(children=2)", tree_of("ab", "xb", width=2, rewards=(0.0, 1.0))) == "x"


def test_exploration_leads_mcts_away_from_the_best_child():
    tree = tree_of("ab", "xb", "xc", "xd", width=4, rewards=(0.0, 1.0, 1.0, 0.0))
    assert selected("mcts(c=0.1)", tree) == "x"
    assert selected("mcts(c=10.0)", tree) == "a"


def test_running_continuations_count_as_losses():
    tree = tree_of("ab", "xb", width=2, rewards=(0.5, 0.6))
    assert selected("mcts(c=0.0)", tree) == "x"
    tree.begin(node_at(tree, "x"))
    assert selected("mcts(c=0.0)", tree) == "a"
    assert selected("best_first", tree) == "a"


def test_best_first_goes_on_from_the_best_prefix_of_any_length():
    assert selected("best_first", tree_of("abc", "xyz", rewards=(0.9, 0.2))) == "a"


def test_estimates_of_prefixes_replace_mean_values():
    tree = tree_of("abc", "xyz", rewards=(0.9, 0.2))
    node_at(tree, "xy").estimate = 0.95
    assert selected("best_first", tree) == "xy"


def test_a_beam_keeps_the_best_prefixes_of_each_length():
    tree = tree_of("abc", "xyz", "klm", width=3, rewards=(0.9, 0.2, 0.5))
    assert selected("beam(width=1)", tree) == "a"
    for _ in range(2):
        tree.begin(node_at(tree, "a"))
    assert selected("beam(width=2)", tree) == "k"
    assert selected("beam(width=1)", tree) == "none"  # waits for the running continuations


@pytest.mark.parametrize(("order", "prefix"), [("breadth", ""), ("depth", "ab")])
def test_a_traversal_takes_the_shortest_or_the_longest_prefix(order, prefix):
    assert selected(f"traversal(order='{order}')", tree_of("abc", "x", rewards=(0.5, 0.9))) == prefix


def test_a_traversal_leaves_out_prefixes_of_little_value():
    tree = tree_of("abc", "xy", width=2, rewards=(0.1, 0.9))
    assert selected("traversal(floor=0.5)", tree) == "x"


def test_epsilon_is_the_share_of_random_choices():
    search = parse_search("epsilon_greedy(epsilon=0.5)")
    tree, rng = tree_of("abc", "xyz", rewards=(0.9, 0.2)), np.random.default_rng(0)
    chosen = [search.select(tree, rng) for _ in range(400)]
    # Of five open prefixes, the best is chosen greedily or by one random choice in five.
    best = sum(node is node_at(tree, "a") for node in chosen) / 400
    assert 0.5 < best < 0.7


def test_independent_samples_only_continue_the_beginning():
    tree = tree_of("ab", "cd")
    assert selected("independent", tree) == ""
    assert parse_search("independent(episodes=7)").children == 7


@pytest.mark.parametrize("name", list(SEARCHES))
def test_every_search_selects_an_open_prefix(name):
    tree = tree_of("ab", "ac", "xb", width=4)
    node = parse_search(name).select(tree, RNG)
    assert node is not None
    assert tree.is_open(node)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("mcst", "did you mean 'mcts'"),
        ("mcts(bugdet=3)", "did you mean 'budget'"),
        ("mcts(budget=0)", "budget must be"),
        ("mcts(at='word')", "unknown at: 'word'"),
        ("mcts(c=-1.0)", "c must be"),
        ("beam(width=0)", "width must be"),
        ("mcts(value='vote')", "did you mean 'votes'"),
        ("mcts(", "is not a component"),
    ],
)
def test_a_mistake_is_named(text, message):
    with pytest.raises(InputError, match=message.replace("(", r"\(")):
        parse_search(text)
