"""Where memory runs out, micro-batches are cut smaller and computed again: the same gradient, nothing twice."""

from __future__ import annotations

import copy
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from palaestra.agents.grpo.batch import passes as passes_module
from palaestra.agents.grpo.batch.batch import collate
from palaestra.agents.grpo.batch.micro_batches import MemoryLimit, is_out_of_memory
from palaestra.agents.grpo.batch.passes import Passes
from palaestra.agents.grpo.config import TrainConfig
from palaestra.agents.grpo.objective.loss import accumulate_gradients
from palaestra.agents.grpo.objective.objective import Objective
from palaestra.agents.grpo.optimizers import widen_gradients
from palaestra.agents.grpo.recipes import RECIPES
from palaestra.agents.grpo.update import Update
from palaestra.errors import InputError

from ..conftest import group, trajectory  # isort: skip

WHOLE = 10_000
PLACES = ("forward", "backward")


def fail_above(monkeypatch, tokens: int, place: str) -> list[int]:
    """Let the allocator fail for micro-batches of more tokens: in the forward pass, or when the backward pass has
    arrived at the first layer, so that weights of the others have their gradients. Return the sizes that failed.
    """
    failed: list[int] = []
    true = passes_module.hidden_states

    def fail(size: int) -> None:
        failed.append(size)
        raise torch.OutOfMemoryError(f"CUDA out of memory. Tried to allocate {size} MiB.")

    def states(model, ids, *others, **options):
        if len(ids) > tokens and place == "forward":
            fail(len(ids))
        out = true(model, ids, *others, **options)
        if len(ids) > tokens and place == "backward" and torch.is_grad_enabled():

            def arrive(gradient):
                hook.remove()
                fail(len(ids))

            hook = model.model.layers[0].mlp.gate_proj.weight.register_hook(arrive)
        return out

    monkeypatch.setattr(passes_module, "hidden_states", states)
    return failed


def gradient(model) -> torch.Tensor:
    return torch.cat([(0 * w if w.grad is None else w.grad).flatten() for w in model.parameters()])


def train(small, ragged, passes: Passes, *, before: float = 0.0, recipe: str = "grpo"):
    """Gradient and statistics of a batch, in double precision, on top of a gradient that was there ``before``."""
    model = copy.deepcopy(small.model).double()
    if before:
        for weight in model.parameters():
            weight.grad = torch.full_like(weight, before)
    weighted = Objective(RECIPES[recipe]).rollout_terms.weigh(collate(ragged))
    reference = copy.deepcopy(small.model).double()
    return gradient_of(model, weighted, passes, reference)


def gradient_of(model, weighted, passes, reference):
    if "logp_ref" in weighted.loss.needs:
        weighted = replace(
            weighted, batch=weighted.batch.with_(logp_ref=passes.measure(reference, weighted.batch).logp)
        )
    tally = accumulate_gradients(model, weighted, passes, reference=reference)
    return gradient(model), tally.means()


@pytest.mark.parametrize("before", [0.0, 0.5], ids=["from nothing", "on top of a gradient"])
@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("recipe", ["grpo", "dpo"], ids=["loss of tokens", "loss of the batch"])
def test_the_gradient_is_the_same_wherever_memory_ran_out(small, ragged, monkeypatch, recipe, place, before):
    expected, statistics = train(small, ragged, Passes(budget=WHOLE), before=before, recipe=recipe)
    passes = Passes(budget=120)
    failed = fail_above(monkeypatch, 60, place)
    found, again = train(small, ragged, passes, before=before, recipe=recipe)
    assert failed, "memory never ran out"
    assert max(failed) > 60 >= passes.memory.budget
    assert (found - expected).abs().max() < 1e-9 * max(1.0, float(expected.abs().max()))
    assert again == pytest.approx(statistics, abs=1e-9)


@pytest.mark.parametrize("before", [0.0, 0.5], ids=["from nothing", "on top of a gradient"])
def test_half_precision_weights_get_the_gradient_of_the_smaller_pieces_in_single_precision(
    small, ragged, monkeypatch, before
):
    weighted = Objective(RECIPES["dr_grpo"]).rollout_terms.weigh(collate(ragged))
    found = []
    for budget in (120, None):
        if budget is not None:
            passes, failed = Passes(budget=budget), fail_above(monkeypatch, 60, "backward")
        else:
            passes = Passes(budget=passes.memory.budget)
            monkeypatch.undo()
        model = copy.deepcopy(small.model).bfloat16()
        widen_gradients(model.parameters())
        if before:
            for weight in model.parameters():
                weight.grad = torch.full_like(weight, before, dtype=torch.float32)
        found.append(gradient_of(model, weighted, passes, None)[0])
    assert failed, "memory never ran out"
    assert found[0].dtype == torch.float32
    assert torch.equal(*found)


def test_a_measurement_is_the_same_in_smaller_pieces(small, ragged, monkeypatch):
    batch = collate(ragged)
    expected = Passes(budget=WHOLE).measure(small.model, batch, hidden=True)
    prompts = Passes(budget=WHOLE).measure_prompts(small.model, batch)
    failed = fail_above(monkeypatch, 40, "forward")
    found = Passes(budget=WHOLE).measure(small.model, batch, hidden=True)
    for name in ("logp", "entropy", "hidden"):
        torch.testing.assert_close(getattr(found, name), getattr(expected, name), rtol=1e-4, atol=1e-5)
    torch.testing.assert_close(Passes(budget=WHOLE).measure_prompts(small.model, batch), prompts, rtol=1e-4, atol=1e-5)
    assert len(failed) >= 2


def test_an_episode_that_does_not_fit_alone_is_an_error_with_its_length_and_a_remedy(small, ragged, monkeypatch):
    fail_above(monkeypatch, 12, "forward")
    with pytest.raises(InputError, match=r"one episode of \d\d tokens .*CUDA out of memory.*--gradient-checkpointing"):
        train(small, ragged, Passes(budget=WHOLE))
    with pytest.raises(InputError, match="--context") as caught:
        train(small, ragged, Passes(budget=WHOLE, checkpoint=True))
    assert "--gradient-checkpointing" not in str(caught.value)


def test_other_errors_and_processes_that_must_stay_together_are_left_alone(small, ragged, monkeypatch):
    passes = Passes(budget=WHOLE, memory=MemoryLimit(splits=False))
    fail_above(monkeypatch, 60, "forward")
    with pytest.raises(torch.OutOfMemoryError):
        train(small, ragged, passes)
    assert passes.memory.budget is None
    assert not is_out_of_memory(RuntimeError("expected scalar type Float but found Half"))
    assert is_out_of_memory(RuntimeError("CUDA error: out of memory"))


def test_a_component_that_remembers_is_taken_back_before_the_batch_begins_anew(small, ragged, monkeypatch):
    weighted = Objective(RECIPES["dr_grpo"]).rollout_terms.weigh(collate(ragged))
    surrogate = weighted.loss.surrogate

    class Counts:
        component, needs, seen = surrogate.component, frozenset(), 0

        def __call__(self, scored):
            self.seen += scored.episodes
            return surrogate(scored)

        def state_dict(self):
            return {"seen": self.seen}

        def load_state_dict(self, state):
            self.seen = state["seen"]

    counts = Counts()
    weighted.loss.parts = [counts if part is surrogate else part for part in weighted.loss.parts]
    weighted.loss.surrogate = counts
    fail_above(monkeypatch, 60, "backward")
    model = copy.deepcopy(small.model)
    accumulate_gradients(model, weighted, Passes(budget=120))
    assert counts.seen == len(weighted.episodes)


def test_the_update_says_once_that_the_budget_fell_and_keeps_it(small, ragged, monkeypatch):
    config = TrainConfig(recipe="dr_grpo", minibatches=1, epochs=1, token_budget=120)
    objective = Objective(RECIPES["dr_grpo"])
    objective.advance(1, 2)
    update = Update(config, objective, copy.deepcopy(small.model), None, None)
    failed = fail_above(monkeypatch, 60, "backward")
    update.run(ragged, [], rate=1e-4)
    (sentence,) = update.passes.memory.take_notices()
    assert f"{failed[0]} tokens" in sentence
    assert f"at most {update.passes.memory.budget} tokens" in sentence
    times = len(failed)
    update.run(ragged, [], rate=1e-4)
    assert len(failed) == times
    assert update.passes.memory.take_notices() == []


def test_a_limit_of_the_machine_itself_is_lived_with(small, tmp_path):
    rng = np.random.default_rng(0)
    rows = [trajectory(float(i % 2), [([5] * 8, rng.integers(5, 100, 120).tolist())]) for i in range(64)]
    batch = collate([group(*rows)])
    slope = torch.where(batch.action, torch.linspace(-1, 1, len(batch.ids)), 0.0)
    file, script = tmp_path / "pass.pt", Path(__file__).with_name("little_memory.py")
    torch.save((small.model, batch, slope), file)
    subprocess.run([sys.executable, str(script), str(file)], check=True, timeout=300)
    budget, limited, plain = torch.load(file)
    assert budget is not None
    torch.testing.assert_close(limited, plain, rtol=1e-3, atol=1e-3)
