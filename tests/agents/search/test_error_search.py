"""Binary search for first wrong steps."""

from __future__ import annotations

import numpy as np
import pytest
from palaestra.agents.grpo.rollouts.episode_starts import Start, TokenLimits
from palaestra.agents.search.error_search import (
    Halving,
    Labelling,
    prefix_exploration,
    probed_prefixes,
    rollout_priority,
)
from palaestra.agents.search.searches import parse_search
from palaestra.agents.search.waves import TaskSearch, play_out

from ..grpo.rollouts.conftest import ARITHMETIC, answer_of  # isort: skip


def test_priority_of_a_continuation():
    # OmegaPRM: 1 for a certain prefix and no tokens, alpha for a hopeless one, beta for each `length` tokens.
    assert rollout_priority(1.0, 0) == 1.0
    assert rollout_priority(0.0, 0) == 0.5
    assert rollout_priority(1.0, 500) == pytest.approx(0.9)
    assert rollout_priority(0.5, 1000) == pytest.approx(0.5**0.5 * 0.81)


def test_exploration_of_a_prefix():
    assert prefix_exploration(0, 16) == 0.125 * 4
    assert prefix_exploration(3, 16) == 0.125


@pytest.mark.parametrize("wrong", range(1, 17))
def test_the_first_of_sixteen_wrong_steps_takes_four_probes(wrong):
    halving, probes = Halving(0, 16), []
    while not halving.over:
        probes.append(halving.middle)
        halving.report(halving.middle < wrong)
    assert halving.high == wrong
    assert len(probes) <= 4


def scripted(w, steps: int, wrong: int):
    """A solver of ``steps`` lines that cannot be right once line ``wrong`` is written as "bad"; before, every other
    continuation is right."""
    right = answer_of(w)

    def script(session, text):
        written = text.rpartition("\x01")[2] if "\x01" in text else text
        begun = [line for line in written.split("\n") if line.startswith(("ok", "bad"))]
        good = session % 2 == 1 and "bad" not in begun
        lines = [f"ok{n}" if good or n < wrong else "bad" for n in range(len(begun) + 1, steps)]
        return "\n".join([*lines, right if good else "0"])

    return script


def test_steps_before_the_first_wrong_one_can_still_succeed(world):
    w = world(ARITHMETIC, "", TokenLimits(200, 1000, 4000))
    script = scripted(w, 16, 7)
    w.sampler._script = lambda session, context: w.renderer.action_ids(
        script(session, w.renderer.tokenizer.decode(list(context)))
    )
    search = parse_search("omega(samples=2, leaves=2, episodes=12, at='line')")
    task = TaskSearch(search, Start(w.task), np.random.default_rng(0), episodes=12)
    play_out([task], w.player)
    tree = task.tree
    state = tree.memory["omega"]
    rates = {node.depth: rate for node, rate in probed_prefixes(tree).items()}
    assert list(rates)[:5] == [0, 8, 4, 6, 7]  # the root, then four probes
    assert [rates[depth] > 0 for depth in (0, 8, 4, 6, 7)] == [True, False, True, True, False]
    assert isinstance(state, Labelling)
    assert len(state.halved) >= 1


def test_probed_prefixes_are_not_probed_again(world):
    w = world(ARITHMETIC, "", TokenLimits(200, 1000, 4000))
    script = scripted(w, 8, 3)
    w.sampler._script = lambda session, context: w.renderer.action_ids(
        script(session, w.renderer.tokenizer.decode(list(context)))
    )
    search = parse_search("omega(samples=4, leaves=4, episodes=40, at='line')")
    task = TaskSearch(search, Start(w.task), np.random.default_rng(0), episodes=40)
    play_out([task], w.player)
    probed = probed_prefixes(task.tree)
    state = task.tree.memory["omega"]
    assert isinstance(state, Labelling)
    assert len(state.halved) > 1
    assert all(task.tree.started_at(node) == 4 for node in probed)


def test_a_task_without_a_mixed_prefix_has_no_error_to_find(world):
    w = world(ARITHMETIC, "1\n0")
    task = TaskSearch(parse_search("omega(samples=3)"), Start(w.task), np.random.default_rng(0))
    play_out([task], w.player)
    assert list(probed_prefixes(task.tree).values()) == [0.0]
    assert len(task.tree.members) == 3
