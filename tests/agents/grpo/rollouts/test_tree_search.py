"""Searches as rollouts: their groups, credit and pairs."""

from __future__ import annotations

import pytest
import torch
from palaestra.agents.grpo import Learner, StageOverrides, TrainConfig, WarmUp
from palaestra.agents.grpo.batch.batch import collate
from palaestra.agents.grpo.batch.trajectory import Group, Node, Origin
from palaestra.agents.grpo.recipes.stages import BASELINES, MASKS, RETURNS, SCALES
from palaestra.agents.grpo.rollouts.tree_search import SearchPairs, TreeSearch
from palaestra.errors import InputError

from ..conftest import trajectory  # isort: skip
from .conftest import ARITHMETIC, GUESS, answer_of, read_rows  # isort: skip


def nodes(group):
    return [[(node.key, node.tokens) for node in t.nodes] for t in group.trajectories]


def test_the_group_is_the_whole_tree(world):
    w = world(ARITHMETIC, lambda session, text: "c" if text.endswith("a\n") else f"{'ax'[session % 2]}\nb", samples=3)
    (group,) = TreeSearch("mcts(children=2, leaves=1)").play([w.task], w.player)
    assert [t.turns[-1].action for t in group.trajectories] == ["a\nb", "x\nb", "a\nc"]
    assert nodes(group) == [[("0:0", 2), ("0:2", 2)], [("1:0", 4)], [("0:0", 2), ("2:2", 2)]]
    batch = collate([group])
    assert int(batch.written_by(Origin.POLICY).sum()) == 4 + 4 + 2


def test_a_solved_task_is_searched_on(world):
    w = world(ARITHMETIC, "", samples=6)
    right = answer_of(w)
    w.sampler._script = lambda session, context: w.renderer.action_ids(right)
    (group,) = TreeSearch("mcts(leaves=2)").play([w.task], w.player)
    assert [t.success for t in group.trajectories] == [True] * 6


def test_a_budget_of_tokens_ends_a_search_before_its_samples(world):
    w = world(ARITHMETIC, "123456789", samples=50)
    (group,) = TreeSearch("independent(budget=40, leaves=1)").play([w.task], w.player)
    assert len(group.trajectories) == 4


def test_copies_can_be_trained_in_each_episode(world):
    w = world(GUESS, lambda session, text: str(session + 1), samples=4)
    for copies, trained in (("once", False), ("each", True)):
        (group,) = TreeSearch("best_first(children=1, leaves=1, at='turn')", copies).play([w.task], w.player)
        first = group.trajectories[-1].turns[0].token_origins
        assert (Origin.COPY not in first) == trained


def credit(outcomes, paths):
    """Advantages of the last token of each node, normalised among siblings as in V-STAR."""
    group = [trajectory(r, [([1], [5] * 4)], nodes=path) for r, path in zip(outcomes, paths, strict=True)]
    batch = collate([Group(0, tuple(group))])
    units = RETURNS["node_return"](batch)
    centred = units.with_value(units.value - BASELINES["group_mean"](units, batch, by="siblings"))
    scaled = SCALES["group_std"](centred, batch, ddof=0, eps=1e-9, by="siblings")
    return torch.split(units.expand(scaled)[batch.action], 4), batch


def test_siblings_are_compared_with_each_other():
    # V-STAR: children a with outcomes 1, 0 and b with 0, 0 have means .5 and 0, so their advantages are 1 and -1.
    a, b = Node("a", 2), Node("b", 2)
    paths = [(a, Node("a0", 2)), (a, Node("a1", 2)), (b, Node("b0", 2)), (b, Node("b1", 2))]
    rows, _ = credit((1.0, 0.0, 0.0, 0.0), paths)
    assert [round(row[0].item(), 4) for row in rows] == [1.0, 1.0, -1.0, -1.0]
    assert [round(row[2].item(), 4) for row in rows] == [1.0, -1.0, 0.0, 0.0]


def test_pruning_changes_what_is_trained_and_nothing_else():
    # BranchGRPO: leaves (1, 0, 0, 0) of two splits.
    a, b = Node("a", 2), Node("b", 2)
    paths = [(a, Node("a0", 2)), (a, Node("a1", 2)), (b, Node("b0", 2)), (b, Node("b1", 2))]
    _, batch = credit((1.0, 0.0, 0.0, 0.0), paths)
    advantage = torch.zeros(len(batch.ids))

    def kept(name, **options):
        return [row.tolist() for row in torch.split(MASKS[name](batch, advantage, **options)[batch.action], 4)]

    yes, no = [True, True], [False, False]
    assert kept("pruned_depths", first=0) == [no + yes] * 4
    assert kept("pruned_depths", first=1, count=3) == [yes + no] * 4
    assert kept("pruned_depths", first=2) == [yes + yes] * 4
    assert kept("pruned_width", keep="half") == [yes + yes, yes + no, yes + yes, yes + yes]  # the last two tie
    assert kept("pruned_width", keep="extremes") == [yes + yes] * 4
    _, batch = credit((1.0, 0.5, 0.0, 0.5), paths)
    assert kept("pruned_width", keep="extremes") == [yes + yes, yes + no, yes + yes, yes + no]
    with pytest.raises(InputError, match="keep='best'"):
        kept("pruned_width", keep="best")


def test_pairs_are_groups_of_steps(world):
    w = world(ARITHMETIC, "", samples=4)
    right = answer_of(w)
    w.sampler._script = lambda session, context: w.renderer.action_ids(f"a\n{right if session % 2 else '0'}")
    groups = SearchPairs("independent", each=1).play(w.tasks(4, 4), w.player)
    assert [g.proposal for g in groups] == [0, 1]
    winner, loser = groups[0].trajectories
    assert (winner.outcome, loser.outcome) == (1.0, 0.0)
    assert winner.success
    assert winner.turns[0].origins[:2] == (Origin.HINT, Origin.HINT)


def test_tasks_without_a_difference_have_empty_groups(world):
    w = world(ARITHMETIC, "0", samples=3)
    (group,) = SearchPairs().play([w.task], w.player)
    assert group.trajectories == ()


def test_mistakes_in_the_search_are_named():
    with pytest.raises(InputError, match="did you mean 'mcts'"):
        TreeSearch("mtcs")
    with pytest.raises(InputError, match="copies"):
        TreeSearch(copies="twice")


@pytest.mark.parametrize("recipe", ["alpha_llm", "v_star", "branch_grpo_pruned", "rstar_math", "med_s3"])
def test_the_command_line_trains_on_searches(train, recipe):
    run = train(ARITHMETIC, "--recipe", recipe, "--axis", "terms=2", "digits=1", "--max-new-tokens", "2")
    assert read_rows(run, "metrics")


def test_a_run_that_was_stopped_goes_on_with_the_same_trees(tmp_path):
    config = TrainConfig(
        env=ARITHMETIC,
        axes={"terms": 2, "digits": 1, "operations": ["+"]},
        stages=StageOverrides(rollout="search(by='epsilon_greedy(leaves=2)')"),
        teacher="random",
        warmup=WarmUp(steps=0),
        steps=3,
        prompts=2,
        samples=4,
        max_new_tokens=3,
        eval_every=0,
        final_episodes=1,
        checkpoint_every=1,
        keep_trajectories=8,
        threads=1,
        track=(),
    )
    Learner.start(tmp_path / "whole", config).run()
    learner = Learner.start(tmp_path / "stopped", config)
    learner.run(lambda progress: learner.stop() if progress.phase == "train" and progress.step == 1 else None)
    Learner.resume(tmp_path / "stopped").run()
    whole, stopped = ((tmp_path / name / "trajectories.jsonl").read_bytes() for name in ("whole", "stopped"))
    assert whole == stopped
