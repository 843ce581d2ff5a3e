"""Rows of a step's logs, for synthetic groups."""

from __future__ import annotations

import json

import pytest
from palaestra.agents.evaluation import Report, mean_interval, share_interval, wilson_interval
from palaestra.agents.evaluation.pass_at_k import pass_at_ks
from palaestra.agents.grpo.batch.trajectory import Group, Origin, Trajectory, Turn
from palaestra.agents.grpo.run.logs import (
    evaluation_row,
    overlapped_rates,
    phase_rates,
    step_summary,
    token_ages,
    trajectory_row,
)


def played(success: bool, tokens: int = 1, **changes) -> Trajectory:
    turn = Turn((5,), (6,) * tokens, (-1.0,) * tokens, "stop", float(success))
    fields = {"task_id": "t", "params": {}, "difficulty": 0.0, "turns": (turn,), "success": success, "progress": 0.0}
    return Trajectory(**{**fields, "truncated": False, "valid": True, "max_tokens": 64, **changes})


def group(*members: Trajectory, **changes) -> Group:
    return Group(0, members, **changes)


RIGHT, WRONG = played(True), played(False)


def test_a_trajectory_has_feedback_shaping_and_the_reference_as_text():
    turn = Turn(
        (5,), (6,), (-1.0,), "stop", 0.0, extras={"reference": 42}, feedback="Too low.", shaping_terms={"s": 0.5}
    )
    row = trajectory_row(3, played(False, turns=(turn,)))
    assert (row["step"], row["reference"]) == (3, "42")
    assert (row["turns"][0]["feedback"], row["turns"][0]["shaping_terms"]) == ("Too low.", {"s": 0.5})
    assert trajectory_row(3, WRONG)["reference"] is None


class TestPassAtK:
    def test_it_is_the_mean_over_tasks_with_its_interval(self):
        summary = step_summary([group(RIGHT, WRONG, WRONG, WRONG), group(RIGHT, RIGHT, RIGHT, RIGHT)])
        # Of the first group: 1/4, 1 - C(3,2)/C(4,2) = 1/2, and 1; of the second 1.
        assert [summary[f"pass@{k}"] for k in (1, 2, 4)] == [0.625, 0.75, 1.0]
        interval = share_interval([0.5, 1.0])
        assert (summary["pass@2_low"], summary["pass@2_high"]) == (interval.low, interval.high)
        assert "pass@8" not in summary

    def test_smaller_groups_are_left_out_and_counted(self):
        summary = step_summary([group(WRONG, WRONG), group(RIGHT)])
        assert (summary["pass@1"], summary["pass@1_left_out"]) == (0.5, 0)
        assert (summary["pass@2"], summary["pass@2_left_out"]) == (0.0, 1)

    def test_an_invalid_sample_is_no_failure_and_the_row_keeps_its_names(self):
        summary = step_summary([group(RIGHT, played(False, valid=False))])
        assert (summary["pass@1"], summary["pass@2_left_out"]) == (1.0, 1)
        assert "pass@2" not in summary

    @pytest.mark.parametrize("changes", [{"guided": 0.5}, {"version": -1}], ids=["hinted", "given"])
    def test_what_was_hinted_or_given_is_not_the_policys_doing(self, changes):
        summary = step_summary([group(WRONG, WRONG, played(True, **changes))])
        assert summary["pass@1"] == summary["pass@2"] == 0.0

    def test_a_selection_says_nothing_of_all_that_was_sampled(self):
        summary = step_summary([group(RIGHT, WRONG, drawn=(1.0, 0.0, 0.0, 0.0)), group(WRONG, WRONG)])
        assert (summary["pass@2"], summary["pass@2_left_out"]) == (0.0, 1)

    def test_roles_are_tasks_of_their_own(self):
        solvers = [played(False, role="solver") for _ in range(2)]
        summary = step_summary([group(played(True, role="proposer"), *solvers)])
        assert summary["pass@1"] == 0.5
        assert (summary["pass@2"], summary["pass@2_left_out"]) == (0.0, 1)


class TestMeans:
    def test_success_by_role_where_there_are_roles(self):
        members = [played(won, role=role) for won, role in ((True, "b"), (False, "b"), (True, "a"))]
        summary = step_summary([group(*members)])
        assert (summary["success/a"], summary["success/b"]) == (1.0, 0.5)
        assert not [name for name in step_summary([group(RIGHT)]) if name.startswith("success/")]

    def test_lengths_are_told_by_mean_quantiles_and_maximum(self):
        summary = step_summary([group(*(played(True, tokens) for tokens in (1, 2, 3, 4, 10)))])
        # The 0.9 quantile lies 0.6 of the way from the fourth (4) to the fifth (10).
        shown = [summary[name] for name in ("length", "length_median", "length_p90", "length_max")]
        assert shown == [4.0, 3.0, pytest.approx(7.6), 10.0]

    def test_groups_all_right_and_all_wrong_are_told_apart(self):
        groups = [group(RIGHT, RIGHT), group(WRONG, WRONG), group(RIGHT, WRONG), group(WRONG)]
        summary = step_summary(groups)
        assert (summary["solved_share"], summary["failed_share"]) == (0.25, 0.5)
        assert summary["zero_variance_share"] == 0.75

    def test_a_group_without_a_valid_episode_is_neither_solved_nor_failed(self):
        summary = step_summary([group(RIGHT), group(played(False, valid=False))])
        assert (summary["solved_share"], summary["failed_share"], summary["invalid_episodes"]) == (1.0, 0.0, 1)

    def test_the_hinted_are_counted_among_the_episodes(self):
        assert step_summary([group(RIGHT, played(True, guided=0.3), WRONG, WRONG)])["hinted_share"] == 0.25

    def test_what_the_policy_did_not_play_enters_no_mean(self):
        summary = step_summary([group(WRONG, played(True, 9, version=-1))])
        assert (summary["success"], summary["length"], summary["hinted_share"]) == (0.0, 1.0, 0.0)
        assert (summary["episodes"], summary["invalid_episodes"]) == (2, 0)

    def test_of_nothing_every_mean_is_zero(self):
        summary = step_summary([])
        assert set(summary.values()) == {0}

    def test_two_runs_write_the_same_bytes(self):
        def row() -> str:
            members = [played(i % 3 == 0, i + 1, role="ab"[i % 2], shaping={"z": 0.1 * i, "a": 0.2}) for i in range(7)]
            return json.dumps(step_summary([group(*members[:4]), group(*members[4:])], [group(*members)]))

        assert row() == row()


class TestReplay:
    def test_age_is_counted_in_versions_behind_the_newest_that_played(self):
        fresh = [group(played(True, version=10), played(False, version=10))]
        old = group(played(True, version=4), played(False, version=8))
        summary = step_summary(fresh, [*fresh, old])
        assert (summary["replayed_share"], summary["replayed_age"]) == (0.5, 4.0)

    def test_without_replay_the_age_is_zero(self):
        groups = [group(RIGHT, WRONG)]
        assert step_summary(groups, groups)["replayed_share"] == step_summary(groups, groups)["replayed_age"] == 0.0

    def test_demonstrations_have_no_age(self):
        summary = step_summary([group(played(True, version=3))], [group(played(True, version=-1))])
        assert (summary["replayed_share"], summary["replayed_age"]) == (0.0, 0.0)


class TestTokenAges:
    def test_each_token_counts_by_the_updates_since_its_policy(self):
        # Before step 6 there were 5 updates: one token of age 1, three of age 4.
        groups = [group(played(True, version=4)), group(played(True, tokens=3, version=1))]
        assert token_ages(6, groups) == {"token_age": 13 / 4, "token_age_max": 4.0}

    def test_only_tokens_of_the_policy_count(self):
        given = Turn((5,), (6, 7), (-1.0, 0.0), "stop", 1.0, origins=(Origin.POLICY, Origin.TEACHER))
        others = [played(True, version=-1), played(True, version=0, valid=False)]
        assert token_ages(3, [group(played(True, turns=(given,), version=1), *others)])["token_age"] == 1.0
        assert token_ages(3, [group(*others)]) == {}


class TestTimings:
    def test_each_phase_has_a_rate_of_its_own(self):
        rates = phase_rates(600, 300, 2.0, 3.0, score_s=1.0)
        assert rates == {
            "seconds": 6.0,
            "rollout_s": 2.0,
            "train_s": 3.0,
            "score_s": 1.0,
            "rollout_tokens_per_s": 300.0,
            "train_tokens_per_s": 100.0,
            "tokens_per_s": 100.0,
        }

    def test_a_step_beside_the_next_rollouts_takes_its_wait_and_its_update(self):
        rates = overlapped_rates(600, 300, 4.0, 3.0, update_wait_s=1.0, collection_wait_s=2.0)
        assert rates == {
            "seconds": 4.0,
            "rollout_s": 4.0,
            "train_s": 3.0,
            "update_wait_s": 1.0,
            "collection_wait_s": 2.0,
            "rollout_tokens_per_s": 150.0,
            "train_tokens_per_s": 100.0,
            "tokens_per_s": 150.0,
        }

    def test_a_phase_without_time_has_no_rate(self):
        assert phase_rates(0, 0, 0.0, 0.0)["tokens_per_s"] == 0.0


class TestEvaluations:
    def report(self, **changes) -> Report:
        won, one = wilson_interval(8, 10), mean_interval([1.0, 1.0])
        return Report("e", "a", "test", 0, 10, 0, 0.0, won, one, one, one, **changes)

    def test_a_row_has_pass_at_k_where_tasks_were_played_several_times(self):
        row = evaluation_row(3, self.report(samples=2, pass_at_k=pass_at_ks([(2, 1), (2, 2)])))
        assert [(item["k"], item["value"], item["tasks"]) for item in row["pass_at_k"]] == [(1, 0.75, 2), (2, 1.0, 2)]

    def test_a_row_of_tasks_played_once_has_none(self):
        assert "pass_at_k" not in evaluation_row(3, self.report())


def test_measures_that_are_asked_for_have_a_mean_and_their_values():
    rows = [played(False, extras={"consistency": value, "steps": [1.0, 2.0]}) for value in (0.5, 1.0, None)]
    summary = step_summary([group(*rows)], measures={"consistency", "steps", "unknown"})
    assert {name: value for name, value in summary.items() if name.startswith("measure/")} == {
        "measure/consistency": 0.75,
        "measure/steps": 1.5,
    }
    assert trajectory_row(1, rows[0], {"consistency", "unknown"})["measures"] == {"consistency": 0.5}
    assert "measures" not in trajectory_row(1, rows[0])
