"""The stages of a recipe together: from groups to weighted tokens, and recipes that are refused."""

from __future__ import annotations

import math
from dataclasses import replace

import palaestra
import pytest
import torch
from palaestra.agents.grpo.batch.batch import collate
from palaestra.agents.grpo.batch.scored import Scored
from palaestra.agents.grpo.batch.trajectory import Origin, Turn
from palaestra.agents.grpo.components.credit.units import reward_by_token
from palaestra.agents.grpo.components.filters import mixed_outcomes
from palaestra.agents.grpo.components.masks import untruncated
from palaestra.agents.grpo.components.reductions import constant, sequence_mean, sequence_sum, token_mean
from palaestra.agents.grpo.objective.objective import Objective
from palaestra.agents.grpo.recipes import RECIPES, Component, Credit, Stream, c, schedule
from palaestra.agents.grpo.recipes.stages import (
    ADJUSTMENTS,
    BASELINES,
    CORRECTORS,
    REGULARISERS,
    RETURNS,
    SCALES,
    SURROGATES,
)
from palaestra.errors import InputError

from ..components.tokens import scored_of  # isort: skip

from ..conftest import group, trajectory  # isort: skip

clip, reinforce = SURROGATES["clip"], SURROGATES["reinforce"]
kl_k2, kl_k3 = (REGULARISERS[name] for name in ("kl_k2", "kl_k3"))
truncated_is = CORRECTORS["truncated_is"]


def batch_of(*outcomes_by_group: list[float], lengths: list[int] | None = None):
    counts = iter(lengths or [2] * sum(map(len, outcomes_by_group)))
    return collate([group(*(trajectory(r, [([5, 6], [7] * next(counts))]) for r in rs)) for rs in outcomes_by_group])


def scored(logp: list[float], old: list[float], advantage: list[float], ref: list[float] | None = None) -> Scored:
    at = torch.tensor(logp, requires_grad=True)
    others = {"logp_ref": torch.tensor(ref)} if ref else {}
    return scored_of(at, torch.tensor(old), torch.tensor(advantage), **others)


def centred(batch, baseline):
    units = RETURNS["outcome"](batch)
    return units.with_value(units.value - baseline(units, batch))


def test_grpo_advantages_of_two_successes_in_eight():
    batch = batch_of([1, 1, 0, 0, 0, 0, 0, 0])
    units = centred(batch, BASELINES["group_mean"])
    # mean 1/4, deviation with ddof 1 is sqrt(8 * 3/16 / 7) = 0.46291
    assert SCALES["group_std"](units, batch, ddof=1, eps=0.0)[0].item() == pytest.approx(0.75 / 0.46291, abs=1e-5)
    # with ddof 0 it is sqrt(3/16), so sqrt(8/7) = 1.069 times as much
    assert SCALES["group_std"](units, batch, ddof=0, eps=0.0)[0].item() == pytest.approx(math.sqrt(3), abs=1e-5)


def test_leave_one_out_equals_the_scaled_centred_return():
    # G/(G-1) (R - mean) with mean 0.4375
    expected = [4 / 3 * (r - 0.4375) for r in (1.0, 0.0, 0.5, 0.25)]
    assert centred(batch_of([1.0, 0.0, 0.5, 0.25]), BASELINES["leave_one_out"]).value.tolist() == pytest.approx(
        expected
    )


def test_groups_of_unequal_size_do_not_mix():
    # Trap 20.
    batch = batch_of([1, 0, 0], [1, 1], [0.5])
    assert BASELINES["group_mean"](RETURNS["outcome"](batch), batch).tolist() == pytest.approx(
        [1 / 3] * 3 + [1, 1] + [0.5]
    )


@pytest.mark.parametrize("baseline", [BASELINES["group_mean"], BASELINES["leave_one_out"]])
@pytest.mark.parametrize("scale", [SCALES["none"], SCALES["group_std"]])
def test_a_group_of_one_and_a_constant_group_get_advantage_zero(baseline, scale):
    # Trap 11: no NaN from the deviation of a single value.
    batch = batch_of([0.7], [0.3, 0.3])
    assert scale(centred(batch, baseline), batch).tolist() == pytest.approx([0, 0, 0], abs=1e-6)


def test_reductions_of_two_rows_with_one_and_three_tokens():
    batch = batch_of([1, 0], lengths=[1, 3])
    keep = batch.action
    on = lambda weight: weight[keep].tolist()  # noqa: E731
    assert on(token_mean(batch, keep)) == pytest.approx([1 / 4] * 4)
    assert on(sequence_mean(batch, keep)) == pytest.approx([1 / 2, 1 / 6, 1 / 6, 1 / 6])
    assert on(sequence_sum(batch, keep)) == pytest.approx([1 / 2] * 4)
    # the token budget of an episode is 16 in these tests
    assert on(constant(batch, keep)) == pytest.approx([1 / 32] * 4)
    assert on(constant(batch, keep, length=10)) == pytest.approx([1 / 20] * 4)
    for reduction in (token_mean, sequence_mean, sequence_sum, constant):
        assert not reduction(batch, keep)[~keep].any()


def test_clip_takes_the_pessimistic_side():
    # ratios 1.5, 1.5, 0.5, 0.5 with advantages +1, -1, +1, -1 and bounds [0.8, 1.28]
    term = clip(scored([math.log(1.5)] * 2 + [math.log(0.5)] * 2, [0.0] * 4, [1, -1, 1, -1]), low=0.2, high=0.28)
    assert term.value.tolist() == pytest.approx([1.28, -1.5, 0.5, -0.8])
    assert term.stats["clip_fraction"] == (2, 4)


def test_clip_at_ratio_one_has_the_gradient_of_reinforce():
    for advantage in (1.3, -0.7):
        at_one, plain = scored([-2.0], [-2.0], [advantage]), scored([-2.0], [-2.0], [advantage])
        clip(at_one).value.sum().backward()
        reinforce(plain).value.sum().backward()
        assert at_one.logp.grad.item() == pytest.approx(plain.logp.grad.item()) == pytest.approx(advantage)


def test_kl_estimates_of_a_known_gap():
    s = scored([-1.0], [-1.0], [0.0], ref=[-1.5])  # d = -0.5
    assert kl_k3(s, 1.0).value.item() == pytest.approx(math.exp(-0.5) + 0.5 - 1)
    assert kl_k2(s, 2.0).value.item() == pytest.approx(2 * 0.125)


def test_there_is_no_penalty_of_k1_whose_gradient_has_mean_zero():
    # Trap 10.
    with pytest.raises(InputError, match="'kl_k1'; did you mean 'kl_k"):
        Objective(replace(RECIPES["grpo"], regularisers=(c("kl_k1"),)))


def corrected(gaps: list[float]) -> Scored:
    """Tokens whose log-probability under the anchor exceeds the sampler's by these amounts."""
    zero = torch.zeros(len(gaps))
    return scored_of(zero.clone().requires_grad_(), torch.tensor(gaps), torch.ones(len(gaps)), logp_mu=zero)


def test_truncated_importance_weights_have_no_gradient():
    factor = truncated_is(corrected([0.0, 1.0]), cap=2.0)
    assert factor.tolist() == pytest.approx([1.0, 2.0])
    assert not factor.requires_grad


def test_no_row_is_dropped_for_its_length_by_a_product_of_ratios():
    # Trap 7: with a sequence product, 200 tokens of ratio 1.05 would make e^9.8; per token the factor stays 1.05.
    assert truncated_is(corrected([math.log(1.05)] * 200), cap=2.0).tolist() == pytest.approx([1.05] * 200)


def test_dynamic_sampling_keeps_the_groups_with_variance():
    groups = [group(*(trajectory(r, [([5], [6])]) for r in rs)) for rs in ([1, 1], [1, 0], [0, 0])]
    assert mixed_outcomes(groups) == [groups[1]]


def test_truncated_episodes_can_be_masked():
    rows = group(trajectory(1, [([5], [6, 7])]), trajectory(0, [([5], [6])], truncated=True))
    batch = collate([rows])
    assert untruncated(batch, torch.zeros(5)).tolist() == [True] * 3 + [False] * 2


def test_an_invalid_episode_leaves_baseline_batch_and_denominators():
    # A failure of the machinery is not a reward of 0.
    lost = trajectory(0, [([5], [6, 6, 6])], valid=False)
    with_lost = collate([group(trajectory(1, [([5], [6])]), lost, trajectory(0, [([5], [7])]))])
    without = collate([group(trajectory(1, [([5], [6])]), trajectory(0, [([5], [7])]))])
    assert with_lost.ids.tolist() == without.ids.tolist()
    assert BASELINES["group_mean"](RETURNS["outcome"](with_lost), with_lost).tolist() == [0.5, 0.5]


def test_groups_without_any_valid_episode_are_dropped():
    lost = group(trajectory(0, [([5], [6])], valid=False))
    assert Objective(RECIPES["grpo"]).filter_groups([lost]) == []


def test_a_judge_that_fails_makes_the_episode_invalid_and_is_no_reward_of_zero():
    from palaestra.rewards import REWARDS, Reward, Verdict

    class Failing(Reward):
        def __call__(self, episode):
            return Verdict(0.0, False, valid=False)

    if "failing-for-test" not in REWARDS:
        REWARDS.add("failing-for-test", Failing)
    objective = Objective(replace(RECIPES["grpo"], shaping=(c("failing-for-test"),)))
    (shaped,) = objective.add_rewards([group(trajectory(1, [([5], [6])]))])
    assert shaped.valid == ()


def test_dapo_punishes_length_softly():
    # budget 16, cache a fifth of it = 3: 13 tokens are free, 16 cost 1
    objective = Objective(RECIPES["dapo"])
    rows = [trajectory(1, [([5], [6] * n)]) for n in (13, 14, 16)]
    (shaped,) = objective.add_rewards([group(*rows)])
    assert [t.outcome for t in shaped.trajectories] == pytest.approx([1, 1 - 1 / 3, 0])


def test_a_complete_reward_takes_the_place_of_the_environments_and_a_term_is_added():
    rows = group(trajectory(1, [([5], [6] * 16)]), trajectory(0, [([5], [6])]))
    doubled = c("weighted", child=c("outcome"), weight=2.0)
    (replaced,) = Objective(replace(RECIPES["grpo"], shaping=(doubled,))).add_rewards([rows])
    assert [t.outcome for t in replaced.trajectories] == [2.0, 0.0]
    (both,) = Objective(replace(RECIPES["grpo"], shaping=(doubled, c("overlong")))).add_rewards([rows])
    assert [t.outcome for t in both.trajectories] == [1.0, 0.0]


def test_two_rewards_with_a_term_of_one_name_both_count():
    rows = group(trajectory(1, [([5], [6] * 16)]))
    (shaped,) = Objective(replace(RECIPES["grpo"], shaping=(c("overlong"), c("overlong")))).add_rewards([rows])
    assert shaped.trajectories[0].outcome == 1 - 2


def test_rewards_see_the_log_probabilities_as_sampled():
    from palaestra.rewards import REWARDS, Episode, Reward

    class Sampled(Reward):
        name = "sampled-for-test"
        needs = frozenset({"logps"})

        def value(self, episode: Episode) -> float:
            return sum(episode.logps)

    if "sampled-for-test" not in REWARDS:
        REWARDS.add("sampled-for-test", Sampled)
    objective = Objective(replace(RECIPES["grpo"], shaping=(c("sampled-for-test"),)))
    (shaped,) = objective.add_rewards([group(trajectory(0, [([5], [6, 7])], logps=[[-0.25, -0.5]]))])
    assert shaped.trajectories[0].outcome == -0.75


def test_rewards_that_compare_the_groups_of_a_step_see_them_all():
    from palaestra.rewards import REWARDS, BatchReward

    class Count(BatchReward):
        name = "count-for-test"

        def values(self, groups):
            return [[float(len(groups))] * len(group) for group in groups]

    if "count-for-test" not in REWARDS:
        REWARDS.add("count-for-test", Count)
    objective = Objective(replace(RECIPES["grpo"], shaping=(c("count-for-test"),)))
    shaped = objective.add_rewards([group(trajectory(0, [([5], [6])])) for _ in range(3)])
    assert [g.trajectories[0].outcome for g in shaped] == [3.0, 3.0, 3.0]


def test_episodes_of_advantage_zero_skip_the_forward_pass_but_stay_in_the_denominator():
    # Trap 18.
    groups = [group(*(trajectory(r, [([5], [6, 7])]) for r in rs)) for rs in ([1, 0], [1, 1])]
    weighted = Objective(RECIPES["dr_grpo"]).rollout_terms.weigh(collate(groups))
    assert weighted.episodes == [0, 1]
    assert weighted.weight[weighted.batch.action][0].item() == pytest.approx(1 / (4 * 16))


def test_a_regulariser_keeps_episodes_of_advantage_zero_in_the_forward_pass():
    groups = [group(*(trajectory(r, [([5], [6, 7])]) for r in (1, 1)))]
    assert Objective(RECIPES["grpo"]).rollout_terms.weigh(collate(groups)).episodes == [0, 1]


def test_credit_terms_add_up_with_their_coefficients():
    doubled = replace(RECIPES["rloo"], credit=(Credit(scale=c("none")), Credit(scale=c("none"), coefficient=2.0)))
    weighted = Objective(doubled).rollout_terms.weigh(collate([group(*(trajectory(r, [([5], [6])]) for r in (1, 0)))]))
    assert weighted.advantage[weighted.batch.action].tolist() == pytest.approx([1.5, -1.5])


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"surrogate": Component("clipp")}, "unknown surrogate 'clipp'; did you mean 'clip'"),
        ({"reduction": c("token_mean", length=3)}, "the reduction 'token_mean' has no options, but was given 'length'"),
        ({"surrogate": c("clip", lwo=3)}, "unknown option of the surrogate 'clip': 'lwo'; did you mean 'low'"),
        ({"shaping": (c("overlnog"),)}, "unknown reward 'overlnog'; did you mean 'overlong'"),
    ],
)
def test_a_recipe_with_an_unknown_part_is_refused_by_name(changes, words):
    with pytest.raises(InputError, match=words.replace("(", r"\(")):
        Objective(replace(RECIPES["grpo"], **changes))


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        (
            {"corrector": c("truncated_is")},
            "which the anchor 'sampler' leaves in the ratio; set the anchor to 'policy'",
        ),
        ({"anchor": "polcy"}, "unknown anchor 'polcy'; did you mean 'policy'"),
        ({"origins": ("environment",)}, "unknown origin of trained tokens 'environment'"),
        ({"rollout_share": 0}, "gives its rollouts no weight and has no stream"),
        ({"credit": (Credit(coefficient=c("outcome")),)}, "a number or a schedule is wanted"),
        ({"credit": (Credit(coefficient=schedule("linaer", start=0, end=1)),)}, "unknown kind of schedule 'linaer'"),
        ({"streams": (Stream(c("nowhere")),)}, "unknown stream source 'nowhere'"),
    ],
)
def test_a_recipe_that_contradicts_itself_is_refused_in_one_sentence(changes, words):
    with pytest.raises(InputError, match=words.replace("(", r"\(")) as caught:
        Objective(replace(RECIPES["grpo"], **changes))
    assert str(caught.value).count(". ") == 0


# Text and back -------------------------------------------------------------------------------------------------------


# Schedules, origins, contexts ----------------------------------------------------------------------------------------


def test_only_tokens_of_the_named_origins_are_trained():
    origins = (Origin.HINT, Origin.POLICY, Origin.TEACHER)
    turn = Turn((5,), (6, 7, 8), (0.0, -1.0, 0.0), "stop", 1.0, origins=tuple(map(int, origins)))
    made = group(replace(trajectory(1, [([5], [6])]), turns=(turn,)), trajectory(0, [([5], [9])]))
    batch = collate([made])
    for names, expected in ((("policy",), [0, 1, 0]), (("policy", "teacher"), [0, 1, 1])):
        weighted = Objective(replace(RECIPES["dr_grpo"], origins=names)).rollout_terms.weigh(batch)
        assert (weighted.weight[batch.action][:3] != 0).long().tolist() == expected


def test_an_episode_is_judged_once_by_rewards_with_memory():
    objective = Objective(replace(RECIPES["grpo"], shaping=(c("count-bonus"),)))
    walks = [trajectory(0.0, [([5], [7]), ([5], [7])]) for _ in range(2)]
    (shaped,) = objective.add_rewards([group(*walks)])
    first = shaped.trajectories[0]
    assert sum(turn.shaping for turn in first.turns) == pytest.approx(first.shaping["count-bonus"])
    assert first.turns[0].shaping == 1.0
    assert first.stepwise
    state = objective.state_dict()
    (again,) = objective.add_rewards([shaped])
    assert again == shaped
    assert objective.state_dict() == state


def test_group_rewards_of_turns_are_those_of_the_group():
    objective = Objective(replace(RECIPES["grpo"], shaping=(c("thoughts"),)), extras={"step_labels"})
    told = {"extras": {"step_labels": [1, 0, 1]}}
    turns = [([5], [7])] * 3
    rows = [trajectory(reward, turns, **told) for reward in (1.0, 0.0)]
    (shaped,) = objective.add_rewards([group(*rows)])
    assert [turn.shaping for turn in shaped.trajectories[0].turns] == pytest.approx([0.5, -0.5, 0.0])
    assert [turn.shaping for turn in shaped.trajectories[1].turns] == pytest.approx([-1.0, 1.0, 0.0])
    # By the name of its term, too: the wrong step of the success loses what the group's success rate makes of it.
    batch = collate([shaped])
    adjusted = ADJUSTMENTS["thoughts"](torch.ones(len(batch.ids)), batch, term="thoughts", alpha=1.0)
    assert adjusted[batch.action].tolist()[:3] == pytest.approx([1.0, 0.5, 0.5])


def test_composites_hand_rewards_of_turns_to_the_learner():
    weighted = c("weighted", child=c("count-bonus"), weight=2.0)
    objective = Objective(replace(RECIPES["grpo"], shaping=(weighted,)))
    (shaped,) = objective.add_rewards([group(trajectory(0.0, [([5], [7]), ([6], [7])]))])
    assert [turn.shaping for turn in shaped.trajectories[0].turns] == [2.0, 2.0]


def test_process_rewards_stay_apart_from_the_outcome():
    # PURE on process rewards .5 .8 -.2 of an episode with outcome 1, beside .4 .6 with outcome 0.
    def with_process(outcome, process):
        made = trajectory(outcome, [([5], [7])] * len(process), stepwise=True)
        turns = tuple(replace(turn, shaping=r) for turn, r in zip(made.turns, process, strict=True))
        return replace(made, turns=turns, shaping={"process": sum(process)})

    batch = collate([group(with_process(1.0, [0.5, 0.8, -0.2]), with_process(0.0, [0.4, 0.6]))])
    assert batch.process_reward.tolist() == pytest.approx([0.5, 0.8, -0.2, 0.4, 0.6])
    assert batch.turn_reward.tolist() == pytest.approx([0.5, 0.8, 0.8, 0.4, 0.6])
    units = RETURNS["min_form"](batch, temperature=1e-6)
    assert units.value.tolist() == pytest.approx([-0.2, -0.2, -0.2, 0.4, 0.0], abs=1e-4)


def test_rewards_of_parts_of_an_action_lie_at_their_last_tokens():
    made = trajectory(1.0, [([5], [7, 7, 7, 7])])
    turn = replace(made.turns[0], spans=((2, 0.25), (4, 0.5)))
    batch = collate([group(replace(made, turns=(turn,), shaping={"parts": 0.75}))])
    assert reward_by_token(batch).tolist() == pytest.approx([0.0, 0.25, 0.0, 1.5])


def test_a_need_that_nothing_supplies_is_one_sentence():
    with pytest.raises(InputError, match=r"reward 'toolrl' needs 'expected_calls' of every episode, which neither"):
        Objective(replace(RECIPES["grpo"], shaping=(c("toolrl"),)))


def test_a_reward_that_fails_makes_episodes_invalid_and_is_named():
    class Fails(palaestra.rewards.Reward):
        name = "fails"

        def value(self, episode):
            return 1 / (episode.reward - 1.0)

    class FailsAsAWhole(Fails):
        def batch(self, groups):
            raise KeyError("answer")

    objective = Objective(RECIPES["grpo"])
    for reward, valid in ((Fails(), [False, True]), (FailsAsAWhole(), [False, False])):
        objective.rewards = [reward]
        (shaped,) = objective.add_rewards([group(trajectory(1.0, [([5], [6])]), trajectory(0.0, [([5], [6])]))])
        assert [t.valid for t in shaped.trajectories] == valid
        assert "'fails'" in shaped.trajectories[0].error
