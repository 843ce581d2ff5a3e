"""AdamW for weights of any precision: half-precision parameters get master copies in single precision.

A bfloat16 number has eight bits of mantissa, so a step of 1e-6 on a weight of 0.02 is rounded away. `make_optimizer`
accepts parameters of any floating type and returns a `torch.optim.Optimizer`: torch's fused AdamW if all parameters are
in single or double precision, else an optimiser that steps single-precision masters and rounds them into the weights.
`widen_gradients` makes gradients sum over micro-batches in single precision.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import torch
from torch import Tensor
from torch.autograd.graph import increment_version

from ...errors import InputError
from ...schedules import Schedule

_HALF = (torch.bfloat16, torch.float16)


def make_optimizer(
    parameters: Iterable[Tensor], lr: float, betas: tuple[float, float] = (0.9, 0.999), weight_decay: float = 0.0
) -> torch.optim.Optimizer:
    """Make AdamW (Loshchilov & Hutter, arXiv 1711.05101, algorithm 2) over the parameters that require gradients.

    Args:
        parameters: weights, of any floating type and on any device; those without ``requires_grad`` are ignored.
        lr: step size; the ``"lr"`` of the returned optimiser's ``param_groups`` may be changed between steps.
        betas: decay of the first and second moment.
        weight_decay: decoupled; each step multiplies weights by 1 - lr * weight_decay.

    Raises:
        InputError: no parameter requires a gradient.
    """
    trained = [parameter for parameter in parameters if parameter.requires_grad]
    if not trained:
        raise InputError("0 of the parameters require a gradient; unfreeze the model or give it adapters.")
    optimizer: torch.optim.Optimizer
    if any(parameter.dtype in _HALF for parameter in trained):
        optimizer = MasterAdamW(trained, lr, betas, weight_decay)
    else:
        optimizer = torch.optim.AdamW(trained, lr=lr, betas=betas, weight_decay=weight_decay, fused=True)
    # torch's fused steps do not increment the version counters of weights, by which holders of copies see changes.
    optimizer.register_step_post_hook(lambda *_: increment_version(trained))
    return optimizer


def widen_gradients(parameters: Iterable[Tensor]) -> None:
    """Make later backward passes sum the gradients of half-precision weights in single precision.

    Otherwise each sum over micro-batches is rounded to eight bits. A ``.grad`` that is set by hand must then be float32
    too. Weights of other types, frozen weights and weights that have a gradient are left unchanged. No effect before
    torch 2.10, where a gradient must have the type of its weight.
    """
    for parameter in parameters:
        narrow = parameter.requires_grad and parameter.dtype in _HALF and parameter.grad is None
        if narrow and hasattr(parameter, "grad_dtype"):
            parameter.grad_dtype = torch.float32


def gradient_dtype(parameter: Tensor) -> torch.dtype:
    """Return the type of a weight's gradient, also if there is none yet."""
    return getattr(parameter, "grad_dtype", None) or parameter.dtype


def state_bytes(parameters: Iterable[Tensor]) -> int:
    """Return the bytes of state that an optimiser of `make_optimizer` allocates for ``parameters``.

    The state is two moments, in at least single precision, and a master for each half-precision weight. Of a weight
    that is sharded over processes, only this process's shard counts.
    """
    total = 0
    for weight in parameters:
        if weight.requires_grad:
            part = getattr(weight, "_local_tensor", weight)  # this process's shard of a DTensor
            total += part.numel() * (12 if part.dtype in _HALF else 2 * part.element_size())
    return total


def pending_bytes(optimizer: torch.optim.Optimizer) -> int:
    """Return the bytes that an optimiser of `make_optimizer` will allocate at its first step; 0 after that step."""
    begun = optimizer.begun if isinstance(optimizer, MasterAdamW) else bool(optimizer.state)
    return 0 if begun else state_bytes(weight for group in optimizer.param_groups for weight in group["params"])


def learning_rate(step: int, steps: int, lr: float, warmup: int, schedule: Schedule) -> float:
    """Return the learning rate of a step: a linear rise over ``warmup`` steps, then ``lr`` times a schedule.

    Args:
        step: from 1 to ``steps``.
        schedule: factor of ``lr``; its updates are counted from the end of the rise.
    """
    rate = lr * min(1.0, step / max(1, warmup))
    return rate * schedule(max(0, step - 1 - warmup), max(1, steps - warmup))


class MasterAdamW(torch.optim.Optimizer):
    """Fused AdamW over single-precision masters of half-precision parameters.

    Gradients are read from the parameters (so clip the parameters' gradients), converted to single precision, and
    applied to the masters; each parameter is then set to its master's value, rounded. Each half-precision gradient is
    freed when it has been converted, so both copies never exist for all weights at once. Parameters of other types are
    stepped in place. Masters are copied from the parameters at the first step. ``state_dict`` contains masters and
    moments, so a resumed run is exact.
    """

    def __init__(
        self,
        parameters: Iterable[Tensor],
        lr: float,
        betas: tuple[float, float] = (0.9, 0.999),
        weight_decay: float = 0.0,
    ):
        super().__init__(parameters, {"lr": lr, "betas": betas, "weight_decay": weight_decay})
        self._masters: list[Tensor] | None = None
        self._inner: torch.optim.AdamW | None = None

    @property
    def begun(self) -> bool:
        """True if masters and moments have been allocated."""
        return self._masters is not None

    @property
    def _parameters(self) -> list[Tensor]:
        return [parameter for group in self.param_groups for parameter in group["params"]]

    def _begin(self) -> torch.optim.AdamW:
        """Return the optimiser over the masters; create it from the current weights at the first call."""
        if self._inner is None:
            self._masters = [p.detach().float() if p.dtype in _HALF else p for p in self._parameters]
            masters = iter(self._masters)
            groups = [{**group, "params": [next(masters) for _ in group["params"]]} for group in self.param_groups]
            self._inner = torch.optim.AdamW(groups, fused=True)
        return self._inner

    @torch.no_grad()
    def step(self, closure: Callable[[], Any] | None = None) -> Any:  # type: ignore[override]
        """Take one AdamW step; ``closure``, if given, is evaluated before, as in torch's optimisers."""
        loss = None
        if closure is not None:
            with torch.enable_grad():
                loss = closure()
        inner = self._begin()
        assert self._masters is not None
        for ours, theirs in zip(self.param_groups, inner.param_groups, strict=True):
            theirs |= {name: value for name, value in ours.items() if name != "params"}
        pairs = [(p, m) for p, m in zip(self._parameters, self._masters, strict=True) if p is not m]
        for parameter, master in pairs:
            master.grad = None if parameter.grad is None else parameter.grad.float()
            if parameter.grad is not master.grad:
                parameter.grad = None
        inner.step()
        for parameter, master in pairs:
            if master.grad is not None:
                parameter.copy_(master)
                master.grad = None
        return loss

    def state_dict(self) -> dict[str, Any]:
        """Return ``{"masters": [...], "inner": state of AdamW, "param_groups": ...}``; tensors are not copied."""
        inner = self._begin()
        assert self._masters is not None
        masters = [
            None if master is parameter else master
            for parameter, master in zip(self._parameters, self._masters, strict=True)
        ]
        return {"masters": masters, "inner": inner.state_dict(), "param_groups": super().state_dict()["param_groups"]}

    @torch.no_grad()
    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Load masters, moments and settings; parameters are set to their masters' values.

        Raises:
            InputError: the state belongs to another optimiser or another list of parameters.
        """
        if "masters" not in state_dict:
            raise InputError("the optimiser state has no masters: it was saved by a run whose weights were float32.")
        parameters = self._parameters
        if len(state_dict["masters"]) != len(parameters):
            raise InputError(
                f"the optimiser state is of {len(state_dict['masters'])} parameters, this model has {len(parameters)}."
            )
        inner = self._begin()
        assert self._masters is not None
        for parameter, master, saved in zip(parameters, self._masters, state_dict["masters"], strict=True):
            if saved is not None:
                master.copy_(saved)
                parameter.copy_(master)
        inner.load_state_dict(state_dict["inner"])
        for group, saved in zip(self.param_groups, state_dict["param_groups"], strict=True):
            group |= {name: value for name, value in saved.items() if name != "params"}
