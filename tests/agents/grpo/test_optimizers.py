"""Small steps on half-precision weights."""

from __future__ import annotations

import copy
import io
from types import SimpleNamespace

import pytest
import torch
from palaestra.agents.grpo.config import TrainConfig
from palaestra.agents.grpo.optimizers import (
    MasterAdamW,
    gradient_dtype,
    learning_rate,
    make_optimizer,
    pending_bytes,
    widen_gradients,
)
from palaestra.errors import InputError
from palaestra.schedules import read_schedule


def weight(dtype: torch.dtype = torch.bfloat16, value: float = 0.02) -> torch.nn.Parameter:
    return torch.nn.Parameter(torch.full((4,), value, dtype=dtype))


def push(parameter: torch.Tensor, optimizer: torch.optim.Optimizer, steps: int, gradient: float = 1.0) -> None:
    for _ in range(steps):
        parameter.grad = torch.full_like(parameter, gradient)
        optimizer.step()
        optimizer.zero_grad()


def test_steps_of_a_millionth_move_half_precision_weights_once_they_add_up():
    # Trap 25. bfloat16 numbers near 0.02 are 2^-13 = 1.2e-4 apart, so that a step of 1e-6 rounds to nothing; with a
    # constant gradient Adam's step is lr, and 100 of them come to 1e-4, which is past half of that distance.
    alone, ours = weight(), weight()
    before = alone.detach().clone()
    push(alone, torch.optim.AdamW([alone], lr=1e-6, weight_decay=0.0), 100)
    assert torch.equal(alone, before)
    optimizer = make_optimizer([ours], lr=1e-6)
    push(ours, optimizer, 100)
    assert ours.detach().float().tolist() == pytest.approx([before[0].item() - 2**-13] * 4)
    assert optimizer.state_dict()["masters"][0].tolist() == pytest.approx([before[0].item() - 1e-4] * 4, rel=1e-5)


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_masters_take_the_steps_that_single_precision_weights_would(dtype):
    torch.manual_seed(0)
    start, gradients = torch.randn(5, 3).to(dtype), [torch.randn(5, 3).to(dtype) for _ in range(6)]
    half, single = torch.nn.Parameter(start.clone()), torch.nn.Parameter(start.float())
    ours = make_optimizer([half], lr=0.01, betas=(0.8, 0.95), weight_decay=0.1)
    theirs = torch.optim.AdamW([single], lr=0.01, betas=(0.8, 0.95), weight_decay=0.1)
    for step, gradient in enumerate(gradients):
        for optimizer in (ours, theirs):  # a schedule changes the settings between steps
            optimizer.param_groups[0]["lr"] = 0.01 / (step + 1)
        half.grad, single.grad = gradient.clone(), gradient.float()
        ours.step()
        theirs.step()
    assert torch.allclose(ours.state_dict()["masters"][0], single, rtol=1e-6, atol=1e-7)
    assert torch.equal(half, ours.state_dict()["masters"][0].to(dtype))
    assert half.dtype == dtype


def test_single_precision_weights_get_torchs_own_fused_optimiser():
    optimizer = make_optimizer([weight(torch.float32)], lr=0.1, betas=(0.8, 0.9), weight_decay=0.2)
    assert type(optimizer) is torch.optim.AdamW
    group = optimizer.param_groups[0]
    assert (group["lr"], group["betas"], group["weight_decay"], group["fused"]) == (0.1, (0.8, 0.9), 0.2, True)


def test_a_run_resumed_from_a_saved_state_is_exact():
    # The weight is rounded at the checkpoint; only the master knows where it really stood.
    through, first = weight(), weight()
    long, short = make_optimizer([through], lr=1e-5), make_optimizer([first], lr=1e-5)
    for gradient in (0.3, -0.1, 0.7):
        push(through, long, 1, gradient)
        push(first, short, 1, gradient)
    file = io.BytesIO()
    torch.save(short.state_dict(), file)
    file.seek(0)
    second = torch.nn.Parameter(first.detach().clone())
    resumed = make_optimizer([second], lr=9.0)
    resumed.load_state_dict(torch.load(file, weights_only=True))
    for gradient in (0.2, 0.9, -0.4) * 20:
        push(through, long, 1, gradient)
        push(second, resumed, 1, gradient)
    assert torch.equal(through, second)
    assert torch.equal(long.state_dict()["masters"][0], resumed.state_dict()["masters"][0])
    assert resumed.param_groups[0]["lr"] == 1e-5


def test_saving_and_loading_keep_masters_in_single_precision():
    # torch's own loading casts a state to the type of its parameter.
    parameter = weight()
    optimizer = make_optimizer([parameter], lr=1e-6)
    push(parameter, optimizer, 3)
    state = copy.deepcopy(optimizer.state_dict())
    optimizer.load_state_dict(state)
    assert optimizer.state_dict()["masters"][0].dtype == torch.float32
    assert torch.equal(optimizer.state_dict()["masters"][0], state["masters"][0])


def test_clipping_the_gradients_of_the_weights_bounds_the_step_of_the_masters():
    # The first moment after one step is (1 - beta1) times the gradient that was applied.
    parameter = weight()
    optimizer = make_optimizer([parameter], lr=1e-3, betas=(0.9, 0.999))
    parameter.grad = torch.full_like(parameter, 4.0)  # norm 8
    torch.nn.utils.clip_grad_norm_([parameter], 1.0)
    optimizer.step()
    assert optimizer.state_dict()["inner"]["state"][0]["exp_avg"].tolist() == pytest.approx([0.05] * 4, rel=1e-2)


def test_single_precision_weights_among_half_precision_ones_need_no_master():
    half, single = weight(), weight(torch.float32)
    optimizer = make_optimizer([half, single], lr=1e-3)
    assert isinstance(optimizer, MasterAdamW)
    half.grad, single.grad = torch.ones_like(half), torch.ones_like(single)
    optimizer.step()
    assert optimizer.state_dict()["masters"][1] is None
    assert single.tolist() == pytest.approx([0.019] * 4)


def test_a_half_precision_gradient_goes_as_the_masters_gradient_comes():
    # Only one of the weights has both at a time, so that a step takes four bytes a weight for gradients and not six.
    parameters = [weight() for _ in range(3)]
    for parameter in parameters:
        parameter.grad = torch.ones_like(parameter)
    optimizer = make_optimizer(parameters, lr=1e-3)
    seen = []
    optimizer.state_dict()  # makes the inner optimiser
    optimizer._inner.register_step_pre_hook(lambda *_: seen.extend(p.grad for p in parameters))
    optimizer.step()
    assert seen == [None] * 3
    assert all(master.grad is None for master in optimizer.state_dict()["masters"])


def test_gradients_of_many_passes_are_summed_in_single_precision():
    # In bfloat16 a sum of ones stops to grow at 256: the next number is 258.
    rounded, exact, single, frozen = weight(), weight(), weight(torch.float32), weight().requires_grad_(False)
    widen_gradients([exact, single, frozen])
    for parameter in (rounded, exact):
        for _ in range(300):
            parameter.sum().backward()
    assert rounded.grad is not None
    assert exact.grad is not None
    assert rounded.grad.tolist() == [256.0] * 4
    assert exact.grad.tolist() == [300.0] * 4
    assert [gradient_dtype(p) for p in (rounded, exact, single)] == [torch.bfloat16, torch.float32, torch.float32]
    before = exact.detach().clone()
    make_optimizer([exact], lr=0.01).step()
    assert exact.grad.tolist() == [300.0] * 4
    assert not torch.equal(exact, before)


def test_gradients_stay_half_precision_where_torch_knows_no_other():
    old = SimpleNamespace(requires_grad=True, dtype=torch.bfloat16, grad=None)
    widen_gradients([old])  # type: ignore[list-item]
    assert vars(old) == {"requires_grad": True, "dtype": torch.bfloat16, "grad": None}
    assert gradient_dtype(old) == torch.bfloat16  # type: ignore[arg-type]
    begun = weight()
    begun.grad = torch.ones_like(begun)
    widen_gradients([begun])
    assert gradient_dtype(begun) == torch.bfloat16


def test_a_weight_without_a_gradient_stays():
    still, moved = weight(), weight()
    optimizer = make_optimizer([still, moved], lr=0.1, weight_decay=0.5)
    push(moved, optimizer, 2)
    assert torch.equal(still, weight())
    assert not torch.equal(moved, weight())


def test_frozen_weights_are_passed_over_and_a_frozen_model_is_refused():
    frozen = weight().requires_grad_(False)
    assert len(make_optimizer([frozen, weight()], lr=0.1).param_groups[0]["params"]) == 1
    with pytest.raises(InputError, match="0 of the parameters require a gradient; unfreeze the model"):
        make_optimizer([frozen], lr=0.1)


def test_a_state_without_masters_or_of_another_model_is_refused():
    optimizer = make_optimizer([weight()], lr=0.1)
    with pytest.raises(InputError, match="saved by a run whose weights were float32"):
        optimizer.load_state_dict(make_optimizer([weight(torch.float32)], lr=0.1).state_dict())
    with pytest.raises(InputError, match="is of 2 parameters, this model has 1"):
        optimizer.load_state_dict(make_optimizer([weight(), weight()], lr=0.1).state_dict())


# Learning-rate schedules ---------------------------------------------------------------------------------------------


def rates(text: str, end: float = 0.0, steps: int = 6, warmup: int = 2) -> list[float]:
    return [learning_rate(step, steps, 2.0, warmup, read_schedule(text, end)) for step in range(1, steps + 1)]


def test_rates_rise_linearly_and_then_follow_their_schedule():
    assert rates("constant") == [1.0, 2.0, 2.0, 2.0, 2.0, 2.0]
    assert rates("linear") == [1.0, 2.0, 2.0, 1.5, 1.0, 0.5]
    assert rates("linear", end=0.5) == [1.0, 2.0, 2.0, 1.75, 1.5, 1.25]
    # Halfway down, cos(pi / 2) = 0: the middle between 2 and the end, 0.2.
    assert rates("cosine", end=0.1)[4] == pytest.approx(1.1)
    assert rates('{"kind": "step-decay", "start": 1, "factor": 0.5, "every": 2}') == [1.0, 2.0, 2.0, 2.0, 1.0, 1.0]


@pytest.mark.parametrize("text", ["cosinus", "{", '{"kind": "nothing"}', '{"kind": "linear"}'])
def test_what_is_no_schedule_is_refused_with_its_name(text):
    with pytest.raises(InputError):
        TrainConfig(lr_schedule=text)


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_each_step_counts_as_a_change_of_the_weights(dtype):
    weights = [torch.nn.Parameter(torch.ones(3, dtype=dtype)) for _ in range(2)]
    optimizer = make_optimizer(weights, lr=0.1)
    for _ in range(2):
        before = [weight._version for weight in weights]
        for weight in weights:
            weight.grad = torch.ones_like(weight)
        optimizer.step()
        assert all(weight._version > old for weight, old in zip(weights, before, strict=True))


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float32, torch.float64])
def test_before_its_first_step_an_optimiser_says_what_it_will_keep(dtype):
    weights = [torch.ones(30, 40, dtype=dtype, requires_grad=True), torch.ones(7, dtype=dtype, requires_grad=True)]
    frozen = torch.ones(1000, dtype=dtype)
    optimizer = make_optimizer([*weights, frozen], lr=0.1)
    said = pending_bytes(optimizer)
    for weight in weights:
        weight.grad = torch.ones_like(weight)
    optimizer.step()
    state = optimizer.state_dict()
    inner, masters = state.get("inner", state), state.get("masters", [])
    kept = [*masters, *(tensor for entry in inner["state"].values() for tensor in entry.values() if tensor.dim())]
    assert said == sum(tensor.nbytes for tensor in kept) > 0
    assert pending_bytes(optimizer) == 0
