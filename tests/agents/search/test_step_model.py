"""Process reward models that learn from trees, and searches that use them."""

from __future__ import annotations

from typing import Any

from palaestra.agents.grpo.rollouts.tree_search import TreeSearch
from palaestra.agents.search.step_model import first_error_pairs
from palaestra.agents.search.values import Grown, ModelValue

from ..grpo.rollouts.conftest import ARITHMETIC, answer_of
from .conftest import tree_of


class _Letters:
    """A player whose renderer reads tokens as letters."""

    class renderer:
        @staticmethod
        def action(ids):
            return "".join(map(chr, ids))


LETTERS: Any = _Letters


def test_a_pair_is_a_first_wrong_step_and_the_best_step_or_the_prefix_before_it():
    def pairs(*answers, rewards):
        return [(one.chosen, one.rejected) for one in first_error_pairs(tree_of(*answers, rewards=rewards), LETTERS)]

    # After "a", "b" succeeds always, "c" half of the time, "d" never; what follows "d" is not the first error.
    answers, rewards = ("abx", "acx", "acy", "adx", "ady"), (1.0, 1.0, 0.0, 0.0, 0.0)
    assert pairs(*answers, rewards=rewards) == [("ab", "ad"), ("acx", "acy")]
    # Without a right step, the prefix is the better one, unless it is empty; one failure tells of no prefix.
    assert pairs("ab", "abx", "aby", rewards=(1.0, 0.0, 0.0)) == [("ab", "abx"), ("ab", "aby")]
    assert pairs("ax", "bx", rewards=(1.0, 0.0)) == []
    assert pairs("ax", "bx", "by", rewards=(1.0, 0.0, 0.0)) == [("a", "b")]


def test_a_model_of_omegas_trees_values_the_steps_of_a_search(world, tmp_path):
    """Answers with "good" in their first line are right, those with "bad" wrong, whatever the task."""
    w = world(ARITHMETIC, "", samples=12)
    tasks = w.tasks(12)
    right, wrong = answer_of(w, tasks[0]), "-77"

    def says(session, context):
        text = w.texts(context)
        if "good" in text or "bad" in text:
            return w.renderer.action_ids(right if "good" in text else wrong)
        word = ("good", "bad")[session % 2]
        return w.renderer.action_ids(f"{word} step\n{right if word == 'good' else wrong}")

    w.sampler._script = says
    file = tmp_path / "steps.safetensors"
    rollout = TreeSearch("omega(samples=2, leaves=2)", model=str(file))
    for _ in range(3):
        rollout.play(tasks, w.player)
    assert rollout.metrics()["step_model/pairs"] > 0
    assert rollout.metrics()["step_model/accuracy"] == 1.0
    # The saved model tells the two apart in a new tree, and the state is exact.
    (found,) = rollout.grow_trees(tasks, w.player, trained=False)
    nodes = list(found.tree.root.walk())[1:]
    (scores,) = ModelValue(str(file))([Grown(found.tree, range(len(found.tree.members)), nodes)], w.player)
    firsts = {w.renderer.action(node.ids).split()[0]: scores.steps[node] for node in found.tree.root.children}
    assert firsts["good"] > firsts["bad"]
    again = TreeSearch("omega(samples=2, leaves=2)", model=str(tmp_path / "again.safetensors"))
    again.load_state_dict(rollout.state_dict())
    assert again.state_dict() == rollout.state_dict()


def test_without_a_first_error_nothing_is_learned(world, tmp_path):
    w = world(ARITHMETIC, "0", samples=4)
    rollout = TreeSearch("independent", model=str(tmp_path / "steps.safetensors"))
    rollout.play([w.task], w.player)
    assert rollout.metrics() == {"step_model/pairs": 0.0}
    assert not (tmp_path / "steps.safetensors").exists()
