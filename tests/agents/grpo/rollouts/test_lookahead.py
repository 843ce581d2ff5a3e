"""Look-ahead trees: where they branch, which branches they drop, and the likeliest tokens that engines return."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch
from palaestra.agents.engines.sampler import Request
from palaestra.agents.engines.scripted import ScriptedSampler
from palaestra.agents.grpo.objective.binding import Clock, bind
from palaestra.agents.grpo.recipes import RECIPES
from palaestra.agents.grpo.recipes.stages import ROLLOUTS
from palaestra.agents.grpo.rollouts.environments import Environments
from palaestra.agents.grpo.rollouts.episode_player import EpisodePlayer
from palaestra.agents.grpo.rollouts.episode_starts import RolloutTask, Start, TokenLimits
from palaestra.agents.grpo.rollouts.lookahead import METRICS, Lookahead, LookaheadTree
from palaestra.errors import InputError

from .conftest import ARITHMETIC  # isort: skip

STOP = 0


def top(**probabilities: float):
    """``top(a=.45, b=.35)``: ids 1, 2, ... for the letters, with log-probabilities."""
    return tuple((ord(name) - ord("a") + 1, math.log(p)) for name, p in probabilities.items())


SURE = top(a=0.9, b=0.08, c=0.02)
UNSURE = top(a=0.45, b=0.35, c=0.20)


def grown(rules: Lookahead, capacity: int, says, room: int = 60) -> tuple[LookaheadTree, list[int]]:
    """A complete tree and how many branches it had after each step; ``says(ids so far, number of own tokens, place of
    the branch in its tree) -> (token, likeliest)``.
    """
    tree = LookaheadTree(rules, (9,), capacity, room, (STOP,))
    step, sizes = tree._step, []
    tree._step = lambda: (step(), sizes.append(len(tree.branches)))[0]
    while wanting := tree.branches_to_draw():
        for branch in wanting:
            token, likeliest = says(branch.ids, branch.age, tree.branches.index(branch))
            branch.ahead.append((token, dict(likeliest).get(token, -9.0), likeliest))
    return tree, sizes


# Where a branch opens ------------------------------------------------------------------------------------------------


def test_one_branch_opens_at_an_uncertain_token_and_none_at_a_sure_one():
    # .35 > .15 and .45 - .35 = .10 < .25; the third token is not looked at. Second case: .08 < .15.
    rules = Lookahead()
    assert rules.candidates(UNSURE) == [(1, (2, math.log(0.35)))]
    assert rules.candidates(SURE) == []


def test_thresholds_hold_exactly_and_each_by_itself():
    half = top(a=0.5, b=0.25, c=0.25)
    assert Lookahead(tau_abs=0.25).candidates(half) == []
    assert Lookahead(tau_rel=0.25).candidates(half) == []
    assert len(Lookahead(tau_abs=0.24, tau_rel=0.26).candidates(half)) == 1
    assert [rank for rank, _ in Lookahead(tau_abs=0.24, tau_rel=0.26, width=3).candidates(half)] == [1, 2]


def test_a_branch_that_is_left_goes_on_greedily_whatever_was_drawn():
    tree, _ = grown(Lookahead(), 2, lambda ids, age, row: (2, UNSURE) if not ids else (3, SURE), room=3)
    assert [branch.ids for branch in tree.branches] == [[1, 3, 3], [2, 3, 3]]
    assert tree.branches[0].logps[0] == math.log(0.45)
    assert tree.branches[1].logps[0] == math.log(0.35)


def test_without_room_for_another_branch_what_was_drawn_stays():
    # The second place is as uncertain as the first, but both branches are there.
    tree, _ = grown(Lookahead(ages=(1,)), 2, lambda ids, age, row: (3, UNSURE), room=3)
    drawn = [[*b.ids, *(token for token, _, _ in b.ahead)] for b in tree.branches]
    assert drawn[0][0] == 1
    assert drawn[1][0] == 2
    assert all(token == 3 for ids in drawn for token in ids[1:])


def test_likelier_candidates_come_first_and_then_earlier_branches():
    even = top(a=0.34, b=0.33, c=0.33)
    three = Lookahead(width=3, threshold=1.0)
    # Rank 1 takes the only place. Of five places three are taken at once, and then three branches compete for two.
    assert [b.ids for b in grown(three, 2, lambda ids, age, row: (1, even), room=1)[0].branches] == [[1], [2]]
    tree, _ = grown(three, 5, lambda ids, age, row: (1, even), room=2)
    assert [b.ids for b in tree.branches] == [[1, 1], [2, 1], [3, 1], [1, 2], [2, 2]]


# What is dropped -----------------------------------------------------------------------------------------------------


def test_a_child_alike_its_parent_is_dropped_at_age_twenty():
    def says(ids, age, row):
        return (5, UNSURE) if not ids else (5, SURE)

    tree, sizes = grown(Lookahead(), 2, says)
    assert sizes[18] == 2
    assert sizes[19] == 1  # after twenty tokens of its own
    assert len(tree.branches) == 1


def test_its_place_is_taken_by_the_next_branch():
    def says(ids, age, row):
        if len(ids) in (0, 25):
            return 5, UNSURE
        return (5 + (age if row else 0), SURE) if len(ids) > 25 else (5, SURE)

    tree, sizes = grown(Lookahead(), 2, says, room=200)
    assert sizes[:19] + sizes[19:26] == [2] * 19 + [1] * 6 + [2]
    assert [len(branch.ids) for branch in tree.branches] == [75, 75]  # 25 and then fifty of the branch's own
    assert tree.branches[1].ids[25] == 2


@pytest.mark.parametrize(
    ("metric", "kept", "dropped"),
    [
        ("edit", "aaaaaaaabbbbbbbbbbbb", "aaaaaaabbbbbbbbbbbbb"),  # 8/20 is not below .4, 7/20 is
        ("suffix", "aaaaaaaaaaaaaaaabbbb", "aaaaaaaaaaaaaaabbbbb"),  # 4/20 is not above .2
        ("rouge_l", "aaaaaaaaaabbbbbbbbbb", "aaaaaaaaabbbbbbbbbbb"),  # 10/20 is not above .5
    ],
)
def test_the_bounds_of_the_metrics(metric, kept, dropped):
    alike, bound = METRICS[metric]
    ids = [list(map(ord, text)) for text in (kept, dropped, "b" * 20)]
    assert not alike(ids[0], ids[2], bound)
    assert alike(ids[1], ids[2], bound)


def test_metrics_on_words():
    kitten, sitting = map(list, (b"kitten!", b"sitting"))
    lookahead = Lookahead(metric="edit", threshold=0.43)
    assert lookahead.are_alike(kitten, sitting)  # k-s, e-i, !-g: 3/7
    assert not Lookahead(metric="edit", threshold=0.42).are_alike(kitten, sitting)
    assert Lookahead(metric="rouge_l", threshold=0.57).are_alike(kitten, sitting)  # ittn: 4/7
    assert not Lookahead(metric="rouge_l", threshold=0.58).are_alike(kitten, sitting)


def test_what_has_ended_is_kept():
    def parent_ends(ids, age, row):
        return (5, UNSURE) if not ids else (STOP if row == 0 and len(ids) == 18 else 5, SURE)

    def child_ends(ids, age, row):
        return (5, UNSURE) if not ids else (STOP if row == 1 and len(ids) == 19 else 5, SURE)

    for says in (parent_ends, child_ends):
        tree, _ = grown(Lookahead(), 3, says)
        assert len(tree.branches) == 2


def test_the_child_of_a_dropped_branch_is_compared_with_the_one_that_branch_left():
    # Branch 1 says what the root says, and dies at 20. Its child, born at place 5, differs from it but not from the
    # root, and dies at its own age of 20.
    def says(ids, age, row):
        if not ids or (row == 1 and len(ids) == 5):
            return 5, UNSURE
        return 5, SURE

    tree, sizes = grown(Lookahead(), 3, says)
    assert sizes[18:26] == [3, 2, 2, 2, 2, 2, 1, 1]
    assert len(tree.branches) == 1


def test_branches_never_exceed_the_capacity_and_the_tree_always_ends():
    rng = np.random.default_rng(0)

    def says(ids, age, row):
        return int(rng.integers(0 if rng.random() < 0.02 else 1, 3)), UNSURE if rng.random() < 0.5 else SURE

    for capacity in (2, 3, 8):
        for _ in range(5):
            tree, sizes = grown(Lookahead(ages=(4, 8)), capacity, says, room=40)
            assert max(sizes) == capacity
            assert min(sizes) >= 1
            for branch in tree.branches:
                assert len(branch.ids) <= 40
                assert branch.parent is None or branch.parent in tree.branches


# Played --------------------------------------------------------------------------------------------------------------


def test_a_group_from_a_scripted_policy(world):
    # Uncertain at the first character of the answer: 1 or 2. What follows differs, so both branches live; two more
    # samples are independent.
    w = world(ARITHMETIC, lambda session, text: "1234567", samples=4)
    one, two = (w.renderer.action_ids(text)[0] for text in "12")
    prompt = len(w.player.play([Start(w.task)])[0].trajectory.turns[0].obs_ids)

    def beliefs(context):
        first = len(context) == prompt
        return ((one, math.log(0.45)), (two, math.log(0.35))) if first else ((context[-1], 0.0),)

    w.player.sampler = w.sampler.__class__(w.sampler._script, w.renderer.stop_ids)
    w.player.sampler._beliefs = beliefs
    (group,) = Lookahead().play([w.task], w.player)
    assert [t.turns[0].action for t in group.trajectories] == ["1234567", "21234567", "1234567", "1234567"]
    assert group.trajectories[1].turns[0].logps[0] == math.log(0.35)
    assert not any(t.turns[0].origins for t in group.trajectories)  # all of it is the policy's


def test_a_group_from_a_real_model_branches_where_the_model_says(small):
    # Every second-likeliest token opens a branch, and nothing is dropped: the four branches are the two likeliest
    # tokens, each followed by its two likeliest.
    environments = Environments(ARITHMETIC)
    limits = TokenLimits(action=6, episode=6, context=500)
    player = EpisodePlayer(environments, small.engine(8, 512), small.renderer, limits, 1.0, np.random.default_rng(0))
    rules = Lookahead(tau_abs=0.0, tau_rel=1.0, ages=(2,), metric="edit", threshold=0.0)
    (group,) = rules.play([RolloutTask(environments.param_space.at(0.0), 5, 5)], player)
    prompt = list(group.trajectories[0].turns[0].obs_ids)

    def two(ids):
        with torch.no_grad():
            logits = small.model(torch.tensor([prompt + ids])).logits[0, -1, : len(small.tokenizer)]
        return logits.topk(2).indices.tolist()

    a, b = two([])
    expected = [[a, two([a])[0]], [b, two([b])[0]], [a, two([a])[1]], [b, two([b])[1]]]
    assert [list(t.turns[0].act_ids[:2]) for t in group.trajectories[:4]] == expected
    assert len(group.trajectories) == 5


def test_the_tree_makes_the_share_of_the_group_that_the_schedule_says(world):
    clock = Clock()
    rollout = bind(ROLLOUTS, RECIPES["latr"].rollout, clock)
    for step, branches in ((0, 8), (99, 8), (100, 6), (200, 4), (300, 2), (1000, 2)):
        clock.step = step
        w = world(ARITHMETIC, "1", samples=8)
        assert rollout.refresh()._make_tree(w.task, w.player).capacity == branches


def test_nothing_is_asked_ahead_of_a_group_of_one(world):
    w = world(ARITHMETIC, "1", samples=1)
    Lookahead().play([w.task], w.player)
    assert [request.top for request in w.sampler.requests] == [0]


@pytest.mark.parametrize(
    "wrong", [{"share": 1.5}, {"tau_abs": -0.1}, {"ages": ()}, {"ages": (0, 3)}, {"metric": "bleu"}]
)
def test_wrong_parameters_are_refused(wrong):
    with pytest.raises(InputError):
        Lookahead(**wrong)


# What engines tell ---------------------------------------------------------------------------------------------------


def test_the_likeliest_tokens_are_those_of_the_model_at_each_temperature(small):
    engine = small.engine(slots=5, max_length=64)
    asked = {0: ((), 1.0, 3), 1: ((), 0.5, 2), 2: ((11, 12), 1.5, 4), 3: ((11, 12), 1.5, 1), 4: ((11, 12), 1.5, 4)}
    for session, (forced, temperature, count) in asked.items():
        engine.submit(Request(session, [7, 9], 5, temperature, forced=forced, top=count))
    said = {}
    while completions := engine.step():
        said |= {completion.session: completion for completion in completions}
    for session, (_, temperature, count) in asked.items():
        completion = said[session]
        with torch.no_grad():
            logits = small.model(torch.tensor([[7, 9, *completion.ids]])).logits[0, 1:-1, : len(small.tokenizer)]
        values, places = (logits / temperature).log_softmax(-1).topk(count)
        assert [[token for token, _ in likeliest] for likeliest in completion.top] == places.tolist()
        got = [[logp for _, logp in likeliest] for likeliest in completion.top]
        assert np.allclose(got, values, atol=2e-5)


def test_likeliest_tokens_come_only_on_request_and_never_more_than_there_are(small):
    engine = small.engine(slots=2, max_length=64)
    engine.submit(Request(0, [7], 3))
    engine.submit(Request(1, [7], 1, top=1000))
    said = {}
    while completions := engine.step():
        said |= {completion.session: completion for completion in completions}
    assert said[0].top == ()
    assert len(said[1].top[0]) == len(small.tokenizer)


def test_a_script_is_certain_unless_it_says_otherwise():
    sampler = ScriptedSampler(lambda session, context: [3, 4], stop_ids=[4])
    sampler.submit(Request(0, [1], 5, forced=(2,), top=2))
    assert sampler.step()[0].top == (((2, 0.0),), ((3, 0.0),), ((4, 0.0),))
    sampler = ScriptedSampler(lambda session, context: [3, 4], [4], lambda context: ((len(context), -1.0), (9, -2.0)))
    sampler.submit(Request(0, [1], 5, forced=(2,), top=1))
    assert sampler.step()[0].top == (((1, -1.0),), ((2, -1.0),), ((3, -1.0),))


def test_a_request_for_a_negative_number_is_refused():
    with pytest.raises(ValueError, match="top must not be negative, got -1"):
        Request(0, [1], 1, top=-1)
