"""Signs that a run cannot learn: each ends it when its patience is used up, and never before."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest
from palaestra.agents.grpo.batch.trajectory import Group, Trajectory, Turn
from palaestra.agents.grpo.config import Patience, TrainConfig
from palaestra.agents.grpo.objective.objective import Objective
from palaestra.agents.grpo.recipes import RECIPES
from palaestra.agents.grpo.run.health import Health, StepSigns
from palaestra.agents.grpo.update import Update
from palaestra.errors import InputError

WELL = StepSigns(skipped=False, nonfinite=False, no_signal=False, cut=0.0, success=0.5)
ILL = {
    "skipped": replace(WELL, skipped=True),
    "nonfinite": replace(WELL, nonfinite=True),
    "no_signal": replace(WELL, no_signal=True, success=0.0),
    "truncated": replace(WELL, cut=0.97),
}


@pytest.mark.parametrize("name", ILL)
class TestEverySign:
    def test_it_ends_the_run_after_its_patience_of_steps_in_a_row(self, name):
        health = Health(Patience(**{**dict.fromkeys(ILL, 0), name: 3}))
        for signs in (ILL[name], ILL[name], WELL, ILL[name], ILL[name]):
            health.observe(signs)
            assert health.verdict(last=False) is None
        health.observe(ILL[name])
        ended, sentence = health.verdict(last=False)
        assert ended == name
        assert "the last 3 steps" in sentence
        assert f"--patience.{name.replace('_', '-')} is 3" in sentence

    def test_a_patience_of_0_never_ends_it_but_the_sign_is_said_once(self, name):
        health = Health(Patience(**dict.fromkeys(ILL, 0)))
        said = [sentence for _ in range(40) for sentence in health.observe(ILL[name])]
        assert len(said) == 1
        assert health.verdict(last=True) is None

    def test_its_count_outlives_an_interruption(self, name):
        patience = Patience(**{name: 3})
        health, resumed = Health(patience), Health(patience)
        health.observe(ILL[name])
        health.observe(ILL[name])
        resumed.load_state_dict(health.state_dict())
        resumed.observe(ILL[name])
        assert resumed.verdict(last=False)[0] == name


def test_a_last_step_without_finite_gradients_is_no_success():
    health = Health(Patience())
    health.observe(ILL["nonfinite"])
    assert health.verdict(last=False) is None
    assert health.verdict(last=True)[0] == "nonfinite"


def test_a_run_that_solves_everything_has_not_failed():
    health = Health(Patience(no_signal=2))
    said = [sentence for _ in range(9) for sentence in health.observe(replace(WELL, no_signal=True, success=1.0))]
    assert health.verdict(last=True) is None
    assert "as all of them succeeded" in said[0]
    assert "harder tasks" in said[0]


def test_a_run_whose_rewards_never_told_anything_apart_says_so_at_its_end():
    health = Health(Patience())
    health.observe(ILL["no_signal"])
    (sentence,) = health.conclude()
    assert "learned nothing from rewards" in sentence
    assert "as all of them failed" in sentence
    health.observe(WELL)
    assert health.conclude() == []


def test_only_failures_by_a_token_budget_count_as_cut_off():
    def played(finish: str, **changes) -> Trajectory:
        turn = Turn((5,), (6, 7), (-1.0, -1.0), finish, 0.0)
        fields = {"task_id": "t", "params": {}, "difficulty": 0.0, "turns": (turn,), "success": False}
        return Trajectory(**{**fields, "progress": 0.0, "truncated": True, "valid": True, "max_tokens": 9, **changes})

    members = (
        played("length"),
        played("length", success=True),
        played("stop"),  # by the turn limit of the environment
        played("stop", max_tokens=2),
        played("length", valid=False),
    )
    signs = StepSigns.of([Group(0, members)], {"skipped_updates": 2, "updates": 0, "loss": math.nan}, signal=False)
    assert signs == StepSigns(skipped=True, nonfinite=True, no_signal=True, cut=0.5, success=0.25, invalid=0.2)


def test_what_made_episodes_invalid_is_said_at_the_first_step_and_when_it_is_all_of_them():
    health = Health(Patience())
    some = replace(WELL, invalid=0.25, error="the judge gave no reply: 500.")
    everything = replace(some, invalid=1.0, no_signal=True, success=math.nan)
    assert health.observe(WELL) == []
    (sentence,) = health.observe(some)
    assert sentence.startswith(
        "Only 75% of the episodes of the last step could be judged; the others count for nothing"
    )
    assert "the first error: the judge gave no reply: 500; mend the judge" in sentence
    assert health.observe(some) == []
    (sentence,) = health.observe(everything)
    assert sentence.startswith("No episode of the last step could be judged; the first error: the judge gave no reply")
    restored = Health(Patience())
    restored.load_state_dict(health.state_dict())
    assert restored.observe(everything) == []


def test_a_run_without_any_valid_episode_is_advised_to_mend_what_failed():
    health = Health(Patience())
    health.observe(replace(ILL["no_signal"], success=math.nan, invalid=1.0, error="the judge is down"))
    (sentence,) = health.conclude()
    assert "as no episode was valid (the judge is down); mend the judge, reward, verifier or environment" in sentence
    assert "easier" not in sentence


def test_a_negative_patience_is_refused():
    with pytest.raises(InputError, match=r"patience.truncated must be .* not -1"):
        Patience(truncated=-1).check()


@pytest.mark.parametrize("recipe", ["grpo", "dapo", "kl_cov", "dpo"])
def test_a_step_whose_episodes_all_fail_alike_has_no_signal_whatever_the_penalties(small, recipe):
    objective = Objective(RECIPES[recipe])
    reference = small.copy().model
    for rewards, signal in (([0.0, 0.0], False), ([1.0, 0.0], True)):
        model = small.copy().model.requires_grad_(True)
        update = Update(TrainConfig(recipe=recipe, lr=1e-9, prompts=1), objective, model, reference, None)
        members = tuple(
            Trajectory("t", {}, 0.0, (Turn((5, 6), (7, 8 + i), (-4.0, -4.0), "stop", r),), r > 0, 0.0, False, True, 8)
            for i, r in enumerate(rewards)
        )
        update.run([Group(0, members)], [], 1e-9)
        assert update.has_signal == signal
