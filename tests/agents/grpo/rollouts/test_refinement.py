"""The best sample is written again with what the rewards found missing in it."""

from __future__ import annotations

from dataclasses import replace

import pytest
from palaestra.agents.grpo.batch.trajectory import Origin
from palaestra.agents.grpo.objective.objective import Objective
from palaestra.agents.grpo.recipes import RECIPES
from palaestra.agents.grpo.rollouts.episode_player import EpisodePlayer
from palaestra.agents.grpo.rollouts.refinement import RefineTree, RubricRefine
from palaestra.errors import InputError

from .conftest import ARITHMETIC, WORDS, answer_of, read_rows, row_of, steps_of  # isort: skip

RETRY = "does not meet these criteria:"


def judged(world, says, **options):
    """A world whose player adds the rewards of RGR-GRPO."""
    w = world(WORDS, says, **options)
    w.player.judge = Objective(RECIPES["rgr_grpo"], extras=w.environments.supplies).add_rewards
    return w


def test_the_best_sample_is_written_again_with_the_criteria_that_it_misses(world):
    steps = steps_of(world(WORDS, ""))
    samples = ["0", "\n".join([*steps[:2], "0"]), steps[0]]
    w = judged(world, lambda s, text: "\n".join(steps) if RETRY in text else samples[s % 3], samples=3)
    (group,) = RubricRefine().play([w.task], w.player)
    # Four results of a point each, and four points for the right answer.
    assert [t.outcome for t in group.trajectories] == pytest.approx([0, 2 / 8, 1 / 8, 1])
    prompt = w.texts(w.sampler.requests[3].ids)
    attempt, _, critique = prompt.partition("earlier answer:\n")[2].partition(RETRY)
    assert attempt.startswith(samples[1])
    assert [steps[i] in critique for i in range(4)] == [False, False, True, True]
    assert "gives the right answer" in critique


def test_a_new_row_is_a_teachers_and_its_trained_context_has_no_critique(world):
    steps = steps_of(world(WORDS, ""))
    w = judged(world, lambda s, text: "\n".join(steps) if RETRY in text else "0")
    (group,) = RubricRefine().play([w.task], w.player)
    new = group.trajectories[-1]
    assert set(new.turns[0].origins) == {Origin.TEACHER}
    assert RETRY not in w.texts(row_of(new)) + new.episode.prompt
    assert new.turns[0].obs_ids == group.trajectories[0].turns[0].obs_ids


def test_a_group_whose_best_sample_meets_every_criterion_stays_as_it_is(world):
    steps = steps_of(world(WORDS, ""))
    w = judged(world, lambda s, text: "\n".join(steps) if s == 0 else "0")
    (group,) = RubricRefine().play([w.task], w.player)
    assert len(w.sampler.requests) == len(group.trajectories) == 2


def test_only_a_better_row_may_take_the_place_of_a_failure(world):
    for written, expected in (("0", ["0", "0"]), (right := answer_of(world(WORDS, "")), [right, "0"])):
        w = judged(world, lambda s, text, new=written: new if RETRY in text else "0")
        (group,) = RubricRefine(keep="better", merge="failures").play([w.task], w.player)
        assert [t.turns[0].action for t in group.trajectories] == expected


def test_without_remarks_of_rewards_the_environment_criticises(world):
    w = world(WORDS, "pear")
    (group,) = RubricRefine().play([w.task], w.player)
    assert group.trajectories[0].turns[0].feedback in w.texts(w.sampler.requests[2].ids)


def test_a_template_without_its_places_is_refused():
    with pytest.raises(InputError, match="critique"):
        RubricRefine(template="{attempt}")


def test_a_run_of_rgr_grpo_adds_a_row_to_each_group(train):
    (row,) = read_rows(train(WORDS, "--axis", "steps=2", "--recipe", "rgr_grpo", "--prompts", "2"), "metrics")
    assert row["episodes"] == 6
    assert row["shaping/rubric"] >= 0


# Trees of refinements


def refining(world, says, right: str, **options):
    """Return the groups and failed answers of a tree of refinements; ``says(failed answers)`` is the next answer."""
    seen: list[str] = []

    def script(session, text):
        failed = text.partition("An earlier answer:\n")[2].partition("\nIt is not right.")[0]
        seen.append(failed)
        return says(failed)

    w = world(ARITHMETIC, script, samples=1)
    groups = RefineTree(**options).play([w.task], w.player)
    return groups, seen


def test_judgements_of_the_majority_are_preferred_to_those_of_the_minority(world):
    """Of five judgements of the answer three say no, so it fails and is refined; the refinement passes by five of five,
    which leave nothing to prefer."""
    replies = iter(["no", "yes: it adds up", "no", "yes", "no"])

    def script(session, text):
        if "Is this answer right?" in text:
            return "yes" if "Turn 1: 2" in text else next(replies)
        return "2" if "An earlier answer" in text else "1"

    w = world(ARITHMETIC, script, samples=1)
    answers, judged = RefineTree(judge="policy", train_judge=True).play([w.task], w.player)
    assert [t.turns[0].action for t in answers.trajectories] == ["2", "1"]
    assert [(t.role, t.turns[0].action, t.outcome) for t in judged.trajectories] == [
        ("judge", "no", 1.0),
        ("judge", "yes: it adds up", 0.0),
    ]
    assert judged.proposal == -1
    assert "Is this answer right?" in w.texts(judged.trajectories[0].turns[0].obs_ids)
    with pytest.raises(InputError, match="trains the judge 'policy', and judge is 'verdict'"):
        RefineTree(train_judge=True)


@pytest.mark.parametrize(
    ("order", "asked"), [("breadth", ["", "0", "0", "1", "1", "2"]), ("depth", ["", "0", "1", "2", "2", "1"])]
)
def test_refinements_are_searched_breadth_or_depth_first(world, order, asked):
    numbers = iter("0123456789")
    groups, seen = refining(world, lambda failed: next(numbers), "", order=order, most=5)
    assert seen == asked
    assert groups[0].trajectories == ()


def test_the_first_refinement_that_passes_is_preferred_to_the_original(world):
    right = answer_of(world(ARITHMETIC, ""))
    numbers = iter(["0", "1", right])
    groups, seen = refining(world, lambda failed: next(numbers), right)
    assert seen == ["", "0", "0"]  # breadth first, the fewest refinements
    better, worse = groups[0].trajectories
    assert (better.turns[0].action, better.outcome, better.success) == (right, 1.0, True)
    assert (worse.turns[0].action, worse.outcome, worse.success) == ("0", 0.0, False)
    assert better.turns[0].obs_ids == worse.turns[0].obs_ids
    assert set(better.turns[0].origins) == {Origin.TEACHER}


def test_a_sample_that_passes_makes_no_pair(world):
    right = answer_of(world(ARITHMETIC, ""))
    groups, seen = refining(world, lambda failed: right, right)
    assert seen == [""]
    assert groups[0].trajectories == ()


@pytest.mark.parametrize(("yes", "refined"), [(3, 0), (2, 6)])
def test_the_majority_of_the_policys_judgements_decides(world, yes, refined):
    asked: list[str] = []

    def script(session, text):
        if "Is this answer right?" not in text:
            return "7"
        asked.append(text)
        return "yes, it is" if len(asked) % 5 < yes else "no"

    w = world(ARITHMETIC, script, samples=1)
    RefineTree(judge="policy").play([w.task], w.player)
    assert len(asked) == 5 * (1 + refined)


def test_what_a_refinement_needs_is_checked():
    with pytest.raises(InputError, match="must contain"):
        RefineTree(template="Again.")
    with pytest.raises(InputError, match="width"):
        RefineTree(width=0)


def test_a_run_learns_from_judgements(train, monkeypatch):
    """The untrained model's replies count as yes and no in turn."""
    ask = EpisodePlayer.ask

    def answer(self, questions, most=None):
        found = ask(self, questions, most)
        return [turn and replace(turn, action=("yes", "no")[n % 2]) for n, turn in enumerate(found)]

    monkeypatch.setattr(EpisodePlayer, "ask", answer)
    words = ["--rollout", "refine_tree(judge='policy', train_judge=True, votes=4, most=1)", "--max-new-tokens", "3"]
    run = train(ARITHMETIC, "--recipe", "spar", "--prompts", "2", *words)
    # Two of four say yes, which is no majority: nothing passes, and all groups of the update are judgements.
    (row,) = read_rows(run, "metrics")
    assert row["grad_norm"] > 0
    roles = [trajectory.get("role") for trajectory in read_rows(run, "trajectories")]
    assert roles
    assert set(roles) == {"judge"}
