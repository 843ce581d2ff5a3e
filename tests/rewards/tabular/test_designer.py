"""Designers of rewards on tables: what they do to the optimal policies, and to how soon a step tells good from bad."""

from __future__ import annotations

import json

import numpy as np
import pytest
from palaestra.errors import InputError
from palaestra.rewards.audit.mdp import TabularMDP, gridworld, optimal_policy, policy_values
from palaestra.rewards.tabular import DESIGNERS, RewardProblem, make_designer
from palaestra.rewards.tabular.adaptive import adaptive_weights
from palaestra.rewards.tabular.bilevel import SoftmaxReturns, implicit_gradient
from palaestra.rewards.tabular.explicable import horizon_values, informativeness, shortfalls
from palaestra.rewards.tabular.exploration import self_shaping_step

QUICK = {"exprd": {"budget": 2, "horizons": (1, 4)}, "barfi": {"steps": 8}}


@pytest.fixture(scope="module")
def problem() -> RewardProblem:
    """A 4 x 4 grid whose last cell is the goal."""
    return RewardProblem(*gridworld(4, 0.1, 0.9))


def corridor(length: int = 4) -> RewardProblem:
    """Cells in a row; action 0 leads left, 1 right, and from the last cell to the end with a reward of 1."""
    chances = np.zeros((length + 1, 2, length + 1))
    for cell in range(length):
        chances[cell, 0, max(cell - 1, 0)] = chances[cell, 1, cell + 1] = 1.0
    chances[length, :, length] = 1.0
    reward = np.zeros((length + 1, 2))
    reward[length - 1, 1] = 1.0
    return RewardProblem(TabularMDP(chances, 0.5), reward)


def test_what_follows_from_a_problem_by_hand():
    found = corridor(3)
    # V = 1/4, 1/2, 1; to go left loses a quarter of that at the wall, and from there on 3/8 and 3/4.
    assert found.values.max(1).tolist() == [0.25, 0.5, 1.0, 0.0]
    assert found.gaps.tolist() == [0.125, 0.375, 0.75, 0.0]
    assert found.terminal.tolist() == [False, False, False, True]
    assert found.policy[:3].tolist() == [1, 1, 1]


@pytest.mark.parametrize("name", [name for name in DESIGNERS if "leaves" in DESIGNERS[name].effect])
def test_a_designer_that_says_so_leaves_an_optimal_policy_and_adds_none(name, problem):
    reward = make_designer(name, **QUICK.get(name, {})).design(problem)
    assert not np.allclose(reward, problem.primary)
    new = optimal_policy(problem.mdp, reward)
    assert (new <= problem.optimal).all()
    if "the optimal policies as they are" in DESIGNERS[name].effect:
        assert (new == problem.optimal).all()


@pytest.mark.parametrize("name", list(DESIGNERS))
def test_each_says_what_it_does_to_the_optimal_policies_and_where_it_is_from(name):
    assert "optimal" in DESIGNERS[name].effect
    assert DESIGNERS[name].paper


def test_the_optimal_potential_makes_one_step_enough(problem):
    reward = make_designer("pbrs").design(problem)
    alive = ~problem.terminal
    greedy = reward >= reward.max(1, keepdims=True) - 1e-9
    assert (greedy[alive] == problem.optimal[alive]).all()
    assert reward[alive].max(1) == pytest.approx(np.zeros(int(alive.sum())), abs=1e-9)


# ExpRD.


def test_horizon_values_by_hand():
    found = corridor(3)
    one = found.primary[:, :, None]
    assert horizon_values(found, one, 1)[:3, :, 0].tolist() == [[0, 0], [0, 0], [0, 1]]
    # Two steps: from the last but one, the reward after the next step, discounted by a half.
    assert horizon_values(found, one, 2)[:3, :, 0].tolist() == [[0, 0], [0, 0.5], [0, 1]]
    assert horizon_values(found, one, None)[:, :, 0] == pytest.approx(found.values)


def test_shortfalls_by_hand():
    # Within one step only the last cell tells right from left.
    assert shortfalls(corridor(3), corridor(3).primary, [1])[0].tolist() == pytest.approx(
        [0.125, 0.375, 0, 0], abs=1e-4
    )


def test_explicable_rewards_are_sparse_and_tell_more_within_few_steps(problem):
    goal = np.flatnonzero((problem.primary != 0).any(1))
    plain = before = informativeness(problem, problem.primary, (1, 4))
    for budget in (0, 2, 4):
        reward = make_designer("exprd", budget=budget, horizons=(1, 4)).design(problem)
        changed = np.flatnonzero((reward != 0).any(1))
        assert len(set(changed) - set(goal)) <= budget
        assert np.abs(reward).max() <= np.abs(problem.primary).max() + 1e-9
        after = informativeness(problem, reward, (1, 4))
        assert after >= before - 1e-9
        before = after
    assert before > 0.9 * plain


def test_a_bound_that_is_too_small_is_refused(problem):
    with pytest.raises(InputError, match="raise the bound"):
        make_designer("exprd", bound=1e-3).design(problem)


# ExpAdaRD.


def test_the_adaptive_reward_is_the_most_informative_for_the_learner(problem):
    rng = np.random.default_rng(0)
    learner = rng.dirichlet(np.ones(4), problem.mdp.states)
    designer = make_designer("expadard")
    first, second = designer.design(problem), designer.redesign(problem, learner, [])
    assert second is not None
    weights = adaptive_weights(problem, learner)
    assert (weights * second).sum() >= (weights * first).sum() - 1e-9
    assert (weights * second).sum() > (weights * problem.primary).sum()
    assert (optimal_policy(problem.mdp, second) <= problem.optimal).all()
    assert not np.allclose(first, second)


def test_a_learner_that_is_the_teacher_has_nothing_to_be_told(problem):
    teacher = np.eye(4)[problem.policy]
    assert np.abs(adaptive_weights(problem, teacher)).max() == pytest.approx(0.0, abs=1e-12)


# ExploRS.


def test_the_bonus_for_a_state_fades_as_written():
    designer = make_designer("explors", explore=0.2, most=0.1)
    designer.design(corridor(3))
    # lambda / sqrt((lambda / most)^2 + visits)
    assert [designer.visit(1) for _ in range(3)] == pytest.approx([0.2 / 4**0.5, 0.2 / 5**0.5, 0.2 / 6**0.5])
    assert designer.visit(3) == 0.0


def test_without_a_bonus_no_visit_is_paid():
    designer = make_designer("explors", explore=0.0)
    designer.design(corridor(3))
    assert [designer.visit(1) for _ in range(2)] == [0.0, 0.0]


def test_the_learned_reward_stays_within_its_bound_however_many_episodes_it_learns_from():
    found, policy = corridor(3), np.full((4, 2), 0.5)
    walk = ([0, 1, 2], [1, 1, 1], [0.0, 0.0, 1.0])
    largest = {}
    for bound in (0.01, None):
        designer = make_designer("explors", **({} if bound else {"bound": None}))
        designer.design(found)
        for _ in range(100):
            reward = designer.redesign(found, policy, [walk])
        assert reward is not None
        largest[bound] = np.abs(reward - found.primary).max()
    assert largest[0.01] == pytest.approx(0.01)
    assert largest[None] > 0.2, "so large that a circle through it earns as much as the end"
    with pytest.raises(InputError, match="bound"):
        make_designer("explors", bound=0.0)


def test_self_shaping_raises_what_did_better_than_expected():
    policy = np.array([[0.25, 0.75]])
    # pi(a) A (1[a] - pi): 0.25 * 2 * (0.75, -0.75).
    assert self_shaping_step(policy, [0], [0], [2.0]) == pytest.approx(np.array([[0.375, -0.375]]))


def test_the_learned_reward_follows_the_episodes_and_goes_on_exactly():
    found, policy = corridor(3), np.full((4, 2), 0.5)
    walk = ([0, 1, 2], [1, 1, 1], [0.0, 0.0, 1.0])
    designer, other = (make_designer("explors", rate=1.0, bound=None) for _ in range(2))
    designer.design(found)
    reward = designer.redesign(found, policy, [walk])
    # Returns 1/4, 1/2 and 1; half of them to the action taken, half of that off each action.
    assert reward is not None
    assert (reward - found.primary)[:3] == pytest.approx(np.array([[-1, 1], [-2, 2], [-4, 4]]) / 16)
    designer.visit(2)
    other.load_state_dict(json.loads(json.dumps(designer.state_dict())))
    assert (other.design(found) == designer.design(found)).all()
    assert other.visit(2) == designer.visit(2)


def test_a_fresh_exploration_bonus_changes_the_optimal_policies():
    found = corridor(3)
    # All cells pay alike until the cell at the goal has been worn out: to stay then has more value than to end.
    extra = np.array([0.1, 0.1, 0.9, 0.0])
    shaped = found.primary * 0.1 + found.mdp.transitions @ extra
    assert not (optimal_policy(found.mdp, shaped) == found.optimal).all()


# BARFI.


@pytest.mark.parametrize(("method", "terms"), [("cg", 5), ("neumann", 400)])
def test_the_implicit_gradient_of_a_quadratic_is_the_analytic_one(method, terms):
    # J_in = -1/2 theta' H theta + theta' B phi has theta* = H^-1 B phi; J_out = c' theta.
    rng = np.random.default_rng(1)
    root, mix, slope = rng.normal(size=(3, 3)), rng.normal(size=(3, 2)), rng.normal(size=3)
    hessian = root @ root.T + 0.5 * np.eye(3)
    found = implicit_gradient(slope, lambda v: hessian @ v, lambda v: v @ mix, method, terms)
    assert found == pytest.approx(slope @ np.linalg.solve(hessian, mix), abs=1e-6)


def test_the_policy_gradient_is_the_slope_of_the_return(problem):
    policies, rng = SoftmaxReturns(problem), np.random.default_rng(2)
    logits, way = rng.normal(size=problem.primary.shape), rng.normal(size=problem.primary.shape)
    slope = (policies.slope(logits, problem.primary) * way).sum()
    ends = [policies.value(logits + sign * 1e-5 * way, problem.primary) for sign in (1, -1)]
    assert slope == pytest.approx((ends[0] - ends[1]) / 2e-5, rel=1e-6)
    uniform = policy_values(problem.mdp, problem.primary)
    assert policies.value(np.zeros_like(logits), problem.primary) == pytest.approx(uniform[~problem.terminal].mean())


def test_a_harmful_heuristic_is_used_less_and_the_primary_return_is_kept(problem):
    harmful = np.zeros_like(problem.primary)
    harmful[:2] = 0.3  # pays for staying in the first two cells
    misled = make_designer("barfi", steps=0)
    misled.design(RewardProblem(problem.mdp, problem.primary, harmful))
    plain = make_designer("barfi", steps=0)
    plain.design(problem)
    designer = make_designer("barfi")
    reward = designer.design(RewardProblem(problem.mdp, problem.primary, harmful))
    assert misled.returns[0] < 0.1 < plain.returns[0]  # type: ignore[attr-defined]
    assert max(designer.returns) >= plain.returns[0] - 1e-3  # type: ignore[attr-defined]
    assert np.abs(designer.weights["auxiliary"][:2]).max() < 0.7  # type: ignore[attr-defined]
    assert not (optimal_policy(problem.mdp, problem.primary + harmful) <= problem.optimal).all()
    assert np.isfinite(reward).all()


def test_a_problem_without_a_reward_and_unknown_names_are_refused(problem):
    with pytest.raises(InputError, match="0 everywhere"):
        make_designer("exprd").design(RewardProblem(problem.mdp, np.zeros_like(problem.primary)))
    with pytest.raises(InputError, match="did you mean 'exprd'"):
        make_designer("expdr")
    with pytest.raises(InputError, match="budgte"):
        make_designer("exprd", budgte=1)
