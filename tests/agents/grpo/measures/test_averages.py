"""The moving average of the policy: its weights, its state, and what it says of episodes."""

from __future__ import annotations

import copy
import json
from dataclasses import replace

import pytest
import torch
from palaestra.agents.grpo.config import StageOverrides
from palaestra.agents.grpo.learner import Learner
from palaestra.agents.grpo.measures.averages import AverageCopy, NoThinkLogps, TeacherAnswer, cross_labels
from palaestra.agents.grpo.run.folder import newest_checkpoint
from palaestra.errors import InputError

from ..conftest import group  # isort: skip


@pytest.fixture
def moved(small):
    """A copy of the small model whose weights are all one higher."""
    model = copy.deepcopy(small.model)
    with torch.no_grad():
        for weight in model.parameters():
            weight += 1.0
    return model


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_the_average_moves_by_a_share_of_the_way_however_small(dtype, small, moved):
    average = AverageCopy(decay=0.999)
    model = copy.deepcopy(small.model).to(dtype)
    average.attach(model)
    for _ in range(100):
        average.follow(moved.to(dtype))
    way = 1 - 0.999**100
    for start, now in zip(small.model.parameters(), average.model.parameters(), strict=True):
        assert (now.float() - start).mean().item() == pytest.approx(way, rel=0.05)


def test_its_state_restores_it(small, moved):
    one, other = AverageCopy(decay=0.5), AverageCopy(decay=0.5)
    one.attach(small.model)
    one.follow(moved)
    other.attach(moved)
    other.load(one.state())
    assert all(a.equal(b) for a, b in zip(one.model.parameters(), other.model.parameters(), strict=True))


def test_before_the_first_update_the_average_scores_as_the_policy_does(instruments, two_turns):
    told = [group(replace(two_turns, extras={"reference": "2"}))]
    base = NoThinkLogps()
    base.attach(instruments.language.model)
    (row,) = base(told, instruments)[0]
    (scored,) = instruments.score_texts([two_turns.turns[0].obs_ids], [instruments.encode("2")])
    assert row["base_logps"] == pytest.approx(scored.logps.tolist(), abs=1e-6)


def test_the_teacher_answers_what_most_of_its_samples_say(instruments, two_turns, monkeypatch):
    teacher = TeacherAnswer(samples=3)
    teacher.attach(instruments.language.model)
    assert teacher._vote(["so \\boxed{5}", "\\boxed{4}", "\\boxed{5}"]) == "5"
    assert teacher._vote(["", " "]) is None
    one_turn = replace(two_turns, turns=two_turns.turns[:1])
    ((row,),) = teacher([group(one_turn)], instruments)
    assert set(row) == {"teacher_answer"}
    with pytest.raises(InputError, match="several turns"):
        teacher([group(two_turns)], instruments)


def test_pairs_exchange_their_labels():
    assert cross_labels(["1", "2", "3", None], ["x", "y", "x", "y"]) == ["3", None, "1", "2"]
    assert cross_labels(["1", "2"], ["x", None]) == [None, None]


@pytest.mark.parametrize("recipe", ["co_rewarding", "co_rewarding_ema", "co_rewarding_both"])
def test_recipes_without_labels_label_their_own_answers(recipe, train):
    step = train({"recipe": recipe, "max_new_tokens": 1})
    assert 0 <= step.metrics[0]["shaping/co-rewarding"] <= 1
    groups = step.learner.parts.collector.collect(2).groups
    paired, labelled = recipe != "co_rewarding_ema", recipe != "co_rewarding"
    assert len(groups) == (6 if paired else 3)
    told = [t.extras for group in groups for t in group.valid]
    assert all(("pair" in extras, "teacher_answer" in extras) == (paired, labelled) for extras in told)


def test_the_decay_of_the_slow_copy_is_an_option_of_a_run(small, train):
    learner = train({"lr_warmup": 1}, shaping="rlp", measures="base_logps(decay=0.25)").learner
    (copied,) = learner.parts.objective.copies
    state = copied.target.state()
    pairs = zip(small.model.parameters(), learner.language.model.parameters(), strict=True)
    for (start, end), average in zip(pairs, state["weights"], strict=True):
        assert torch.allclose(average, 0.25 * start + 0.75 * end, atol=1e-6)
    assert copied.target.decay == 0.25


@pytest.mark.parametrize(
    ("shaping", "measures"),
    [
        ("co-rewarding(view='teacher') + rlp", "teacher_answer(decay=0.5, samples=3)"),
        ("mrt + shapley + consistency + subgoals", "none"),
        ("renorm + annealed-process + multi-agent-evolve + trusted-thinking + lsc", "none"),
    ],
    ids=["averages", "probers", "judges"],
)
def test_a_run_that_measures_continues_bit_for_bit(shaping, measures, config, tmp_path):
    config = replace(config, stages=StageOverrides(shaping=shaping, measures=measures), steps=3, checkpoint_every=1)
    Learner.start(tmp_path / "whole", config).run()
    learner = Learner.start(tmp_path / "halves", config)
    learner.run(lambda progress: learner.stop() if progress.phase == "train" and progress.step == 1 else None)
    assert Learner.resume(tmp_path / "halves").run()
    for name in ("metrics.jsonl", "trajectories.jsonl"):
        assert (tmp_path / "whole" / name).read_bytes() == (tmp_path / "halves" / name).read_bytes()
    saved = [newest_checkpoint(tmp_path / run) for run in ("whole", "halves")]
    for name in ("model.safetensors", *(file.name for file in saved[0].glob("measures.pt"))):
        assert (saved[0] / name).read_bytes() == (saved[1] / name).read_bytes()
    last = json.loads((tmp_path / "whole" / "metrics.jsonl").read_text().splitlines()[-1])
    assert {f"shaping/{name.partition('(')[0]}" for name in shaping.split(" + ")} <= set(last)


@pytest.mark.parametrize("changes", [{"lora": 2}, {"dtype": "bfloat16"}], ids=["lora", "bfloat16"])
def test_adapters_and_half_precision_are_averaged_and_measured(changes, train):
    shaping = ["co-rewarding(view='teacher')", "rlp", "gradient-novelty", "repexp(embedder='reference')"]
    step = train({**changes, "steps": 2, "max_new_tokens": 2}, shaping=" + ".join([*shaping, "gradient-influence"]))
    assert {"shaping/rlp", "shaping/repexp", "shaping/gradient-novelty"} <= set(step.metrics[-1])
    trained = sum(weight.numel() for weight in step.learner.language.model.parameters() if weight.requires_grad)
    for state in (part.target.state() for part in step.learner.parts.objective.copies):
        assert sum(weight.numel() for weight in state["weights"]) == trained
        assert all(weight.dtype == torch.float32 for weight in state["weights"])
