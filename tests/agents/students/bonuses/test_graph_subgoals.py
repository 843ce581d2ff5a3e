"""The graph of a line of places, and the codes that an encoder learns of it."""

from __future__ import annotations

import json

import numpy as np
import pytest
from palaestra.agents.students.bonuses.graph_subgoals import GraphEncoder, GraphSubgoalBonus, StateGraph
from palaestra.rewards import Step


def place(bonus: GraphSubgoalBonus, x: int) -> float:
    extras = {"positions": [[x, 0]], "waypoints": [[6, 0]]}
    if not bonus.memory:
        bonus.begin(0, extras)
        return 0.0
    return bonus.step_reward_now(Step(0, 0, 0.0, {"env": 0.0}, 1, extras=extras), 0, False)


def test_a_state_far_from_all_nodes_is_one_and_else_its_edge_grows():
    graph = StateGraph(threshold=1.0, share=0.5)
    node = graph.add((0, 0))
    for state in ((1, 0), (2, 0), (4, 0), (2, 0), (0, 0)):
        node = graph.add(state, node)
    # (1, 0) is at the threshold of (0, 0), not beyond it.
    assert graph.nodes == [(0, 0), (2, 0), (4, 0)]
    assert graph.weights.tolist() == [[0, 2, 0], [2, 0, 2], [0, 2, 0]]
    assert graph.changes == 4


def test_the_encoder_learns_anew_when_changes_exceed_their_share_of_the_pairs():
    graph = StateGraph(threshold=0.5, share=0.5)  # of 3 nodes: more than 0.5 * (9 - 3) = 3 changes
    node = graph.add((0, 0))
    seen = []
    for state in ((1, 0), (2, 0), (1, 0), (2, 0)):
        node = graph.add(state, node)
        seen.append(graph.changed_much)
    assert seen == [False, False, False, True]
    assert graph.settle().max() == 1
    assert not graph.changed_much


def test_products_of_codes_learn_the_weights_as_shares_of_the_largest():
    nodes = [(0.0, 0.0), (0.5, 0.0), (1.0, 0.0), (0.5, 0.5)]
    weights = np.array([[0, 4, 0, 0], [4, 0, 2, 1], [0, 2, 0, 0], [0, 1, 0, 0]]) / 4
    encoder = GraphEncoder(steps=600)
    assert encoder.fit(nodes, weights) < 1e-3
    codes = encoder.encode(nodes)
    pairs = ~np.eye(4, dtype=bool)
    np.testing.assert_allclose((codes @ codes.T)[pairs], weights[pairs], atol=0.05)


def test_the_low_level_reward_is_similarity_less_squared_distance():
    bonus = GraphSubgoalBonus(1.0, 0.9, form="plain", similarity=0.5, unit=2.0, share=100.0)
    place(bonus, 0)
    reward = place(bonus, 3)
    here, goal = bonus.encoder.encode([(1.5, 0.0), (3.0, 0.0)])
    assert reward == pytest.approx(0.5 * float(here @ goal) - 1.5**2)


def test_what_is_often_passed_together_with_the_subgoal_becomes_similar_to_it():
    bonus = GraphSubgoalBonus(1.0, 0.9, share=0.5)
    for x in [*range(7), *([6, 5, 4, 5] * 40)]:
        place(bonus, x)
    near, far, goal = bonus.encoder.encode([(4 / 8, 0.0), (0.0, 0.0), (6 / 8, 0.0)])
    assert float(near @ goal) > 0.5 > float(far @ goal)


def test_a_state_that_was_saved_goes_on_to_the_same_numbers():
    bonus, other = (GraphSubgoalBonus(1.0, 0.9, share=0.3) for _ in range(2))
    path = [0, 1, 2, 3, 2, 3, 4, 5, 4, 3, 4, 5, 6, 5, 4, 5, 4, 3, 2, 1]
    for x in path:
        place(bonus, x)
    other.load_state_dict(json.loads(json.dumps(bonus.state_dict())))
    assert [place(other, x) for x in path * 3] == [place(bonus, x) for x in path * 3]
    assert other.state_dict() == bonus.state_dict()
