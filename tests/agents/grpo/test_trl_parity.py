"""The losses give the gradients that TRL 1.16 gives on the same rollouts.

What TRL computed was recorded by ``tools/trl_vectors.py``: sixteen ragged completions in four groups, one of
them without variance, with ratios beyond the clipping range on both sides. Here they go through the public types and a
recipe. A case named ``.../2`` was accumulated by TRL over two micro-batches; ours sees the whole batch at once.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from palaestra.agents.grpo.batch.batch import Batch, collate  # noqa: E402
from palaestra.agents.grpo.batch.passes import Outputs, Passes  # noqa: E402
from palaestra.agents.grpo.batch.tally import Tally  # noqa: E402
from palaestra.agents.grpo.batch.trajectory import Group, Trajectory, Turn  # noqa: E402
from palaestra.agents.grpo.objective.loss import WeightedBatch, accumulate_gradients, make_scored  # noqa: E402
from palaestra.agents.grpo.objective.objective import Objective  # noqa: E402
from palaestra.agents.grpo.recipes import RECIPES, Recipe  # noqa: E402

HERE = Path(__file__).parent / "trl"
RECORD: dict[str, Any] = json.loads((HERE / "vectors.json").read_text(encoding="utf-8"))
with np.load(HERE / "vectors.npz") as loaded:
    ARRAYS: dict[str, np.ndarray] = dict(loaded)
NEAR = 1e-5

GRPO = RECIPES["grpo"].with_(shaping="none", filters="none", regularisers="none")
SEQUENCE = "gspo(low=0.005, high=0.02)"
WIDER = "clip(low=0.2, high=0.28)"

RECIPE_OF: dict[str, Recipe] = {
    "grpo": GRPO,
    "grpo_batch_std": GRPO.with_(scale="batch_std(eps=1e-4)"),
    # TRL multiplies the KL penalty by the ratio unless it is told not to.
    "grpo_kl": GRPO.with_(regularisers="kl_k3_unbiased(coefficient=0.1)"),
    "grpo_kl_unweighted": GRPO.with_(regularisers="kl_k3(coefficient=0.1)"),
    "grpo_two_sided": GRPO.with_(surrogate="two_sided(delta=1.3)"),
    "grpo_untruncated": GRPO.with_(masks="untruncated"),
    "grpo_turns": GRPO,
    "dr_grpo": GRPO.with_(scale="none", reduction="constant"),
    "dapo": GRPO.with_(surrogate=WIDER, reduction="token_mean"),
    "dapo_turns": GRPO.with_(surrogate=WIDER, reduction="token_mean"),
    # For this loss alone, epsilon_high is the cap itself.
    "cispo": GRPO.with_(surrogate="cispo(cap=1.15)", reduction="token_mean"),
    "gspo": GRPO.with_(surrogate=SEQUENCE),
    "sapo": GRPO.with_(surrogate="sapo(tau_positive=1.0, tau_negative=1.05)"),
    "luspo": GRPO.with_(surrogate=SEQUENCE, reduction="sequence_sum"),
    "vespo": GRPO.with_(surrogate="vespo", reduction="token_mean"),
}
"""Case of the record -> our recipe with TRL's settings."""


def fields(case: str) -> dict[str, np.ndarray]:
    """What TRL computed in a case, by name."""
    return {key.rsplit("/", 1)[1]: value for key, value in ARRAYS.items() if key.startswith(f"{case}/")}


def turns(prompt: list[int], ids: list[int], sampled: list[int], logps: list[float], reward: float) -> tuple[Turn, ...]:
    """The turns of a completion in which the environment wrote the tokens that were not sampled."""
    result: list[Turn] = []
    observed, low = list(prompt), 0
    while low < len(ids):
        high = low
        while high < len(ids) and sampled[high]:
            high += 1
        last = high == len(ids)
        finish = "stop" if last and ids[-1] == RECORD["end"] else "length"
        result.append(Turn(tuple(observed), tuple(ids[low:high]), tuple(logps[low:high]), finish, last * reward))
        low = high
        while low < len(ids) and not sampled[low]:
            low += 1
        observed = ids[high:low]
    return tuple(result)


def groups(case: str) -> list[Group]:
    """The rollouts that TRL was given, with the log-probabilities that it took ratios against."""
    rollouts = RECORD["rollouts"][RECORD["cases"][case]["rollouts"]]
    old = fields(case)["logp_old"]
    trajectories = []
    for row, ids in enumerate(rollouts["completions"]):
        reward = rollouts["rewards"][row]
        parts = turns(rollouts["prompts"][row], ids, rollouts["sampled"][row], old[row].tolist(), reward)
        end = {"success": reward == 1, "progress": reward, "truncated": ids[-1] != RECORD["end"], "valid": True}
        trajectories.append(Trajectory(str(row), {}, 0.0, parts, max_tokens=RECORD["length"], **end))
    size = RECORD["samples"]
    return [Group(-1, tuple(trajectories[low : low + size])) for low in range(0, len(trajectories), size)]


def places(case: str) -> tuple[np.ndarray, np.ndarray]:
    """Row and column, in TRL's padded tensors, of each sampled token in the order of our batch."""
    rollouts = RECORD["rollouts"][RECORD["cases"][case]["rollouts"]]
    found = [(row, at) for row, mask in enumerate(rollouts["sampled"]) for at, one in enumerate(mask) if one]
    rows, columns = zip(*found, strict=True)
    return np.array(rows), np.array(columns)


def weigh(case: str, recipe: Recipe) -> tuple[Objective, WeightedBatch]:
    """The batch of a case, weighed by the recipe; a reference is measured as TRL measured it."""
    objective = Objective(recipe)
    batch = collate(groups(case))
    recorded = fields(case)
    if "logp_ref" in recorded:
        batch = batch.with_(logp_ref=spread(batch, recorded["logp_ref"][places(case)]))
    return objective, objective.rollout_terms.weigh(batch)


def spread(batch: Batch, sampled: np.ndarray) -> torch.Tensor:
    """Values of the sampled tokens at their places in the batch."""
    return torch.zeros(len(batch.ids)).masked_scatter(batch.action, torch.tensor(sampled))


def slopes(objective: Objective, weighted: WeightedBatch, logp: np.ndarray) -> tuple[float, np.ndarray]:
    """Loss, and its derivative with respect to the log-probability of each sampled token."""
    batch = weighted.batch
    at = batch.action.nonzero()[:, 0]
    leaf = torch.tensor(logp, requires_grad=True)
    everyone = torch.arange(batch.episodes)
    scored = make_scored(weighted, at, batch.episode_of[at], everyone, Outputs(leaf, torch.zeros_like(leaf)))
    loss = objective.rollout_terms.loss(scored, Tally())
    loss.backward()
    assert leaf.grad is not None
    return loss.item(), leaf.grad.numpy()


def model() -> Any:
    """The model of the record."""
    from transformers import Qwen3Config, Qwen3ForCausalLM

    built = Qwen3ForCausalLM(Qwen3Config(**RECORD["shape"])).eval()
    flat = torch.tensor(ARRAYS["weights"])
    with torch.no_grad():
        for _, weight in sorted(built.named_parameters()):
            weight.copy_(flat[: weight.numel()].view_as(weight))
            flat = flat[weight.numel() :]
    assert not len(flat)
    return built


RECORDED = [case for case in RECORD["cases"] if case.split("/")[0] in RECIPE_OF]


@pytest.mark.parametrize("case", RECORDED)
def test_advantages_are_those_of_trl(case):
    weighted = weigh(case, RECIPE_OF[case.split("/")[0]])[1]
    rows, _ = places(case)
    ours = weighted.advantage[weighted.batch.action].numpy()
    np.testing.assert_allclose(ours, fields(case)["advantages"][rows], rtol=0, atol=1e-6)


@pytest.mark.parametrize("case", RECORDED)
def test_the_loss_and_its_slope_at_every_token_are_those_of_trl(case):
    recorded = fields(case)
    objective, weighted = weigh(case, RECIPE_OF[case.split("/")[0]])
    loss, ours = slopes(objective, weighted, recorded["logp"][places(case)])
    theirs = recorded["grad_logp"][places(case)]
    assert np.abs(theirs).max() > 100 * NEAR
    assert np.abs(ours - theirs).max() < NEAR * np.abs(theirs).max()
    assert loss == pytest.approx(float(recorded["loss"]), abs=NEAR)


@pytest.mark.parametrize("packer", ["plain", "shared_prefix"])
@pytest.mark.parametrize("case", RECORDED)
def test_the_gradient_of_the_weights_is_that_of_trl_however_the_batch_is_cut(case, packer):
    _, weighted = weigh(case, RECIPE_OF[case.split("/")[0]])
    language = model()
    accumulate_gradients(language, weighted, Passes(packer, budget=60))
    ours = torch.cat([weight.grad.flatten() for _, weight in sorted(language.named_parameters())]).numpy()
    theirs = fields(case)["grad_weights"]
    assert np.abs(theirs).max() > 100 * NEAR
    assert np.abs(ours - theirs).max() < NEAR


def test_the_record_clips_on_both_sides():
    recorded, at = fields("grpo/1"), places("grpo/1")
    advantage = recorded["advantages"][at[0]]
    still = recorded["grad_logp"][at] == 0
    assert (still & (advantage > 0)).any()
    assert (still & (advantage < 0)).any()


def test_bnpo_of_trl_is_the_mean_over_micro_batches_of_our_token_mean():
    recipe = GRPO.with_(reduction="token_mean")
    for case in ("bnpo/1", "bnpo/2"):
        recorded, count = fields(case), RECORD["cases"][case]["parts"]
        logp = recorded["logp"][places(case)]
        whole = groups(case)
        size = len(whole) // count
        parts = []
        for low in range(0, len(whole), size):
            objective = Objective(recipe)
            weighted = objective.rollout_terms.weigh(collate(whole[low : low + size]))
            taken = int(weighted.batch.action.sum())
            parts.append(slopes(objective, weighted, logp[:taken])[1] / count)
            logp = logp[taken:]
        theirs = recorded["grad_logp"][places(case)]
        assert np.abs(np.concatenate(parts) - theirs).max() < NEAR * np.abs(theirs).max()


def test_bnpo_of_trl_changes_with_the_cut_into_micro_batches():
    one, two = (fields(f"bnpo/{parts}")["grad_logp"] for parts in (1, 2))
    assert np.abs(one - two).max() > 100 * NEAR
