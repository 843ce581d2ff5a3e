"""Recorded preferences: what a file's rows become, what a run on them learns, and TRL's losses on the same tokens."""

from __future__ import annotations

import copy
import json
import math
from pathlib import Path
from typing import Any

import pytest
import torch
from palaestra.agents.grpo.batch.batch import collate
from palaestra.agents.grpo.batch.passes import Passes
from palaestra.agents.grpo.batch.trajectory import Group, Origin
from palaestra.agents.grpo.learner import Learner
from palaestra.agents.grpo.objective.loss import accumulate_gradients
from palaestra.agents.grpo.objective.objective import Objective
from palaestra.agents.grpo.recipes import RECIPES
from palaestra.errors import InputError
from palaestra.scripts import train

from ....extras import needs

PAIRS = [
    {"prompt": f"{a}+{b}=", "chosen": str(a + b), "rejected": f"{a + b + 1}!"} for a in range(1, 5) for b in range(1, 5)
]
LABELLED = [
    {"prompt": row["prompt"], "completion": row[side], "label": side == "chosen"}
    for row in PAIRS
    for side in ("chosen", "rejected")
]
TALK = {
    "messages": [
        {"role": "system", "content": "be kind"},
        {"role": "user", "content": "1+1="},
        {"role": "assistant", "content": "2"},
        {"role": "user", "content": "and 2+2="},
    ],
    "chosen": "4",
    "rejected": "5",
    "margin": 0.5,
}
LINE = (
    "palaestra/Arithmetic-v0 --axis digits=1 terms=2 --steps 4 --lr 1e-3 --lr-warmup 1 --warmup.steps 0 --teacher "
    "random --final-episodes 1 --eval-every 0 --threads 1 --prompts 6 --context 64 --checkpoint-every 2 --track"
)


@pytest.fixture
def start(small, tmp_path):
    small.save(tmp_path / "model")

    def make(rows: list[Any], words: str = "--recipe dpo", out: str = "run") -> Learner:
        file = tmp_path / "pairs.jsonl"
        file.write_text("".join(f"{json.dumps(row)}\n" for row in rows))
        line = f"{LINE} {words} --model {tmp_path / 'model'} --preferences {file}"
        return Learner.start(tmp_path / out, train.read_config(line.split()))

    return make


def collect(learner: Learner) -> list[Group]:
    learner._prepare()
    return learner.parts.collector.collect(1).groups


def logps(model: Any, groups: list[Group]) -> list[float]:
    """Log-probability of the trained tokens of each reply, nats."""
    batch = collate(groups)
    with torch.no_grad():
        found = Passes().measure(model, batch).logp * batch.written_by(Origin.TEACHER)
    return batch.sum_by_episode(found).tolist()


def metrics(learner: Learner) -> list[dict[str, Any]]:
    return list(map(json.loads, (learner.folder.path / "metrics.jsonl").read_text().splitlines()))


def test_rows_become_conversations_of_which_the_replies_are_trained(start):
    learner = start([TALK, {"prompt": "x" * 70, "chosen": "a", "rejected": "b"}])
    groups = collect(learner)
    renderer = learner.language.renderer.with_system("be kind")
    # Two rows in three passes; one is too long for the context.
    assert sorted(len(group.trajectories) for group in groups) == [0, 0, 0, 2, 2, 2]
    chosen, rejected = next(group.trajectories for group in groups if group.trajectories)
    assert [turn.action for turn in chosen.turns + rejected.turns] == ["2", "4", "2", "5"]
    assert chosen.turns[0].obs_ids == renderer.observation("1+1=", first=True)
    assert chosen.turns[1].obs_ids == renderer.observation("and 2+2=", first=False)
    assert [set(turn.token_origins) for turn in chosen.turns] == [{Origin.HINT}, {Origin.TEACHER}]
    assert (chosen.outcome, rejected.outcome) == (0.75, 0.25)


def test_every_pass_has_each_row_once_in_another_order(start):
    learner = start(PAIRS[:4])
    drawn = [group.trajectories[0].turns[0].observation for group in collect(learner)]
    more = [group.trajectories[0].turns[0].observation for group in learner.parts.collector.collect(2).groups]
    passes = [(drawn + more)[n : n + 4] for n in (0, 4, 8)]
    assert all(sorted(one) == sorted(row["prompt"] for row in PAIRS[:4]) for one in passes)
    assert len(set(map(tuple, passes))) > 1


def test_a_run_prefers_the_chosen_replies_and_continues_to_the_byte(start, small, tmp_path):
    words = f"--rollout preferences(file='{tmp_path / 'pairs.jsonl'}',held_out=0.25,every=2) --recipe dpo"
    with pytest.raises(InputError, match="takes the place of --rollout"):
        start(PAIRS, words)
    config = train.read_config(f"{LINE} {words} --model {tmp_path / 'model'}".split())
    whole = Learner.start(tmp_path / "whole", config)
    whole.run()
    groups = whole.parts.collector.collect(1).groups
    before, after = logps(small.model, groups), logps(whole.language.model, groups)
    rows = metrics(whole)
    assert rows[0]["loss"] == pytest.approx(math.log(2), rel=1e-5)
    assert sum(after[::2]) - sum(after[1::2]) > sum(before[::2]) - sum(before[1::2])
    assert rows[-1]["preferences/held_out_gain"] > 0
    assert rows[-1]["preferences/held_out_accuracy"] > 0.5
    assert "preferences/held_out_gain" not in rows[0]

    part = Learner.start(tmp_path / "part", config)
    part.run(lambda progress: part.stop() if progress.step == 2 else None)
    part.close()
    resumed = Learner.resume(tmp_path / "part")
    resumed.run()
    assert metrics(resumed) == rows
    weights = [learner.language.model.state_dict() for learner in (whole, resumed)]
    assert all(torch.equal(value, weights[1][name]) for name, value in weights[0].items())
    (tmp_path / "pairs.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in PAIRS[1:]))
    with pytest.raises(InputError, match="has changed since the run began"):
        Learner.resume(tmp_path / "part")


def test_labelled_replies_train_kto_and_a_step_of_one_label_has_a_signal(start):
    learner = start(LABELLED[::2], "--recipe kto --steps 1")
    groups = collect(learner)
    before = logps(learner.language.model, groups)
    learner.run()
    assert metrics(learner)[0]["loss"] == pytest.approx(-0.5, rel=1e-5)
    assert learner.parts.update.has_signal
    assert sum(logps(learner.language.model, groups)) > sum(before)


@pytest.mark.parametrize("recipe", ["t_reg", "rrhf", "srum"])
def test_other_losses_of_pairs_learn_from_the_file(start, recipe):
    learner = start(PAIRS, f"--recipe {recipe} --steps 1 --context 512")
    learner.run()
    (row,) = metrics(learner)
    assert row["updates"] == 1
    assert row["grad_norm"] > 0
    assert {t.version for group in collect(learner) for t in group.trajectories} == {-1}


def test_a_row_that_cannot_be_read_is_named_by_its_line_before_anything_is_written(start, tmp_path):
    with pytest.raises(InputError, match=r"pairs.jsonl, line 2: .*'rejected' is empty"):
        start([PAIRS[0], {**PAIRS[1], "rejected": ""}])
    with pytest.raises(InputError, match=r"pairs.jsonl, line 1: the margin of a pair must be above 0, not -1"):
        start([{**PAIRS[0], "margin": -1}])
    with pytest.raises(InputError, match="0 rows to learn from"):
        start([{**PAIRS[0], "rejected": PAIRS[0]["chosen"]}])
    assert not (tmp_path / "run").exists()


TRL_LOSSES = {
    "sigmoid": ("dpo", "dpo(beta=0.1)", 0.1),
    "sigmoid_norm": ("ln_dpo", "dpo(beta=5.0,normalised=True)", 5.0),
    "ipo": ("ipo_pairs", "ipo_pairs(beta=0.1,normalised=True)", 0.1),
}
"""Loss of TRL -> recipe, surrogate and beta."""


@needs("trl")
@pytest.mark.filterwarnings("ignore")
def test_losses_and_gradients_on_a_file_are_those_of_trl(start, small, tmp_path: Path):
    from datasets import Dataset
    from trl.trainer.dpo_config import DPOConfig
    from trl.trainer.dpo_trainer import DataCollatorForPreference, DPOTrainer

    learner = start(PAIRS)
    groups = collect(learner)
    reference = copy.deepcopy(small.model).eval()
    policy = copy.deepcopy(small.model).eval()
    torch.manual_seed(0)
    with torch.no_grad():
        for weight in policy.parameters():
            weight += 0.02 * torch.randn_like(weight)
    config = DPOConfig(
        output_dir=str(tmp_path / "trl"), report_to=[], use_cpu=True, gradient_checkpointing=False, bf16=False
    )
    tokenizer = small.tokenizer
    shown = Dataset.from_list([{"prompt": "1", "chosen": "2", "rejected": "3"}])
    trainer = DPOTrainer(policy, reference, args=config, train_dataset=shown, processing_class=tokenizer)
    examples = [
        {
            "prompt_ids": list(chosen.turns[0].obs_ids),
            "chosen_ids": list(chosen.turns[0].act_ids),
            "rejected_ids": list(rejected.turns[0].act_ids),
        }
        for chosen, rejected in (group.trajectories for group in groups)
    ]
    inputs = DataCollatorForPreference(pad_token_id=tokenizer.pad_token_id)(examples)
    batch = collate(groups)
    batch = batch.with_(logp_ref=Passes().measure(reference, batch).logp)
    for loss, (recipe, surrogate, beta) in TRL_LOSSES.items():
        trainer.loss_types, trainer.loss_weights, trainer.beta = [loss], [1.0], beta
        policy.zero_grad()
        theirs = trainer.compute_loss(policy, inputs)
        theirs.backward()
        wanted = {name: weight.grad.clone() for name, weight in policy.named_parameters()}
        policy.zero_grad()
        weighted = Objective(RECIPES[recipe].with_(surrogate=surrogate)).rollout_terms.weigh(batch)
        tally = accumulate_gradients(policy, weighted, Passes())
        assert tally.means()["loss"] == pytest.approx(theirs.item(), rel=1e-5), loss
        largest = max(float(grad.abs().max()) for grad in wanted.values())
        for name, weight in policy.named_parameters():
            assert (weight.grad - wanted[name]).abs().max() < 1e-5 * max(largest, 1.0), (loss, name)
