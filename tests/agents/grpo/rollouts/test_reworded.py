"""Tasks in two wordings: the groups, what they have in common, their labels for each other, and their credit."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest
from palaestra.agents.grpo.config import TrainConfig, WarmUp
from palaestra.agents.grpo.learner import Learner
from palaestra.agents.grpo.objective.objective import Objective
from palaestra.agents.grpo.recipes import RECIPES, StageOverrides
from palaestra.agents.grpo.rollouts.reworded import PairedRephrase, PerturbedTwin
from palaestra.errors import InputError

from .conftest import ARITHMETIC, ROOM  # isort: skip


def texts(group):
    return {trajectory.turns[0].observation for trajectory in group.trajectories}


def test_the_second_group_has_the_same_question_in_other_words(world):
    w = world(ARITHMETIC, "5")
    plain, other, twin, second = PairedRephrase().play(w.tasks(2, 3), w.player)
    for original, reworded, size in ((plain, twin, 2), (other, second, 3)):
        ((before,), (after,)) = texts(original), texts(reworded)
        assert before != after
        assert before.split(" Answer")[0] in after
        assert len(original.trajectories) == len(reworded.trajectories) == size
        both = (*original.trajectories, *reworded.trajectories)
        assert len({t.task_id for t in both}) == len({t.extras["pair"] for t in both}) == 1
        assert original.trajectories[0].extras["twin_prompt"] == list(reworded.trajectories[0].turns[0].obs_ids)
        assert reworded.trajectories[0].extras["twin_prompt"] == list(original.trajectories[0].turns[0].obs_ids)
    assert plain.trajectories[0].extras["pair"] != other.trajectories[0].extras["pair"]
    assert (plain.proposal, other.proposal, twin.proposal, second.proposal) == (0, 1, -1, -1)
    assert sorted(w.player.attempts) == [0, 1]


def test_the_majority_of_one_wording_is_the_label_of_the_other(world):
    # Sessions 0 to 2 see the original, 3 to 5 the rewording: (4, 4, 5) and (5, 5, 4).
    w = world(ARITHMETIC, lambda session, text: "445554"[session])
    objective = Objective(RECIPES["co_rewarding"])
    w.player.judge = objective.add_rewards
    plain, twin = PairedRephrase().play(w.tasks(3), w.player)
    assert [t.outcome for t in plain.trajectories] == [0, 0, 1]
    assert [t.outcome for t in twin.trajectories] == [0, 0, 1]
    assert all(t.judged for t in (*plain.trajectories, *twin.trajectories))


def test_a_task_whose_rewording_does_not_fit_is_played_alone_and_cannot_be_judged(world):
    w = world(ARITHMETIC, "5")
    (prompt,) = texts(PairedRephrase().play(w.tasks(1), w.player)[0])
    used = len(w.renderer.observation(prompt, first=True))
    w.player.limits = replace(ROOM, context=used + ROOM.action)
    w.player.judge = Objective(RECIPES["co_rewarding"]).add_rewards
    (alone,) = PairedRephrase().play(w.tasks(2), w.player)
    assert [t.valid for t in alone.trajectories] == [False, False]
    assert alone.trajectories[0].extras["twin_prompt"] is None


def test_the_number_of_changes_is_at_least_one():
    with pytest.raises(InputError, match="changes"):
        PairedRephrase(changes=0)


def learner(tmp_path, steps: int = 2, **stages) -> Learner:
    config = TrainConfig(
        recipe="vogue",
        axes={"digits": 1, "terms": 2},
        warmup=WarmUp(steps=0),
        steps=steps,
        prompts=2,
        samples=3,
        max_new_tokens=4,
        eval_every=0,
        final_episodes=1,
        threads=1,
        track=(),
        stages=StageOverrides(shaping="cosine-length", **stages),
    )
    return Learner.start(tmp_path / "run", config)


def test_every_task_is_played_again_at_first_and_none_where_the_branch_is_shut(tmp_path):
    rows = []
    for name, stages in (("open", {}), ("shut", {"rollout": "perturbed_twin(start=0.0)"})):
        assert learner(tmp_path / name, steps=1, **stages).run()
        rows.append(json.loads((tmp_path / name / "run" / "metrics.jsonl").read_text()))
    assert [row["episodes"] for row in rows] == [12, 6]


def test_the_branch_fades_out(tmp_path):
    made = learner(tmp_path, steps=4)
    made.run()
    rows = [json.loads(line) for line in (tmp_path / "run" / "metrics.jsonl").read_text().splitlines()]
    played = [row["episodes"] for row in rows]
    assert played[0] == 12
    assert set(played) <= {6, 9, 12}
    assert sum(played[2:]) < 24


def test_the_other_wording_is_trained_and_knows_the_first(tmp_path):
    made = learner(tmp_path, steps=1)
    made.run()
    collected = made.parts.collector.collect(1)
    *plain, one, two = collected.trainable
    assert [len(group.trajectories) for group in (*plain, one, two)] == [3, 3, 3, 3]
    for group, twin in zip(plain, (one, two), strict=True):
        shown, again = group.trajectories[0].turns[0], twin.trajectories[0].turns[0]
        assert shown.observation != again.observation
        assert shown.observation.split("Answer")[0].strip() in again.observation
        assert twin.trajectories[0].extras["twin_prompt"] == list(shown.obs_ids)
        assert twin.trajectories[0].judged
    weighted = made.parts.update.weigh(collected.trainable)
    divergence = weighted.batch.measurement("prompt_divergence")
    twins = weighted.batch.per_token(weighted.batch.group_of >= 2) & weighted.batch.action
    assert (divergence[twins] > 0).all()
    assert (divergence[~twins] == 0).all()


def test_more_rewordings_than_there_are_is_refused():
    with pytest.raises(InputError, match="changes=6 of a prompt must be at most 5"):
        PerturbedTwin(changes=6)
