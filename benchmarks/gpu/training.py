"""Rows of the GPU benchmark on the training pass: utilisation, memory, attention and the gap to the sampler."""

from __future__ import annotations

import copy
import statistics
from typing import Any

from ..ready_made import make_batch
from .decoding import sample
from .setup import GAP_HALF, GAP_SINGLE, KERNEL_HALF, KERNEL_SINGLE, UTILISATION, Figure, Setup


def measure_training(setup: Setup) -> list[Figure]:
    """Measure the model FLOP utilisation of forward and backward on packed rows, and speed and memory of training."""
    import torch

    from ...agents.grpo.batch.budget import training_memory
    from ...agents.grpo.batch.passes import Passes
    from ...agents.grpo.optimizers import make_optimizer, widen_gradients

    sizes = setup.sizes
    model = setup.make_model()
    widen_gradients(model.parameters())
    optimizer = make_optimizer(model.parameters(), lr=1e-6)
    rows = setup.make_prompts(sizes.packed // sizes.row, seed=1)
    tokens = [(row * (sizes.row // len(row) + 1))[: sizes.row] for row in rows]
    batch = make_batch([(row[:1], row[1:], [0.0] * (sizes.row - 1), 1.0) for row in tokens])
    slope = torch.where(batch.action, 1.0 / sizes.packed, 0.0)
    passes = Passes(packer="plain", budget=sizes.packed)

    def step() -> None:
        passes.backward(model, batch, slope)
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        optimizer.zero_grad()

    for _ in range(2):
        step()
    held = torch.cuda.memory_allocated(setup.device) if setup.cuda else 0
    setup.begin_peak()
    timed = []
    for _ in range(sizes.repeats):
        timed.append(setup.seconds(lambda: passes.backward(model, batch, slope)))
        optimizer.zero_grad()  # a pass that adds to gradients would keep a copy of them
    seconds, peak = statistics.median(timed), setup.peak_gb()
    whole = statistics.median(setup.seconds(step) for _ in range(sizes.repeats))
    flops = count_flops(model, batch)
    most, source = setup.peak_flops()
    floor = UTILISATION if setup.floors_count else None
    note = f"{flops / sizes.packed / 1e9:.2f} GFLOP a token, against {source}"
    name = f"utilisation of forward and backward, {sizes.packed} tokens"
    lines = [
        Figure(name, flops / seconds / most, "", floor, note=note),
        Figure("training, with the optimiser step", sizes.packed / whole, "tokens/s"),
    ]
    if peak is not None:
        need = training_memory(model, passes)
        state = sum(w.numel() for w in model.parameters()) * 12
        said = (need.per_token * sizes.packed + need.fixed - state) / 1e9
        used = peak - held / 1e9
        planned = "memory of a pass as the token budget plans it"
        lines.append(Figure("peak memory of training", peak, "GB"))
        lines.append(Figure(planned, said / used, "of what it takes", note=f"{used:.2f} GB"))
    return lines


def count_flops(model: Any, batch: Any) -> float:
    """Count the FLOP of forward and backward: 6 per weight of the layers and token, 6 per entry of the output matrix
    and scored token, and 12 x layers x heads x dim per pair of a token and one that it attends to."""
    config = model.config
    layers = sum(w.numel() for w in model.model.layers.parameters())
    tokens, scored = len(batch.ids), int(batch.action.sum())
    dim = config.hidden_size // config.num_attention_heads
    pairs = float((batch.position + 1).double().sum())
    attention = 12 * config.num_hidden_layers * config.num_attention_heads * dim * pairs
    return 6 * layers * tokens + 6 * config.vocab_size * config.hidden_size * scored + attention


def measure_gap(setup: Setup) -> list[Figure]:
    """Measure the difference of log-probabilities between the sampler and the trainer before any update."""
    from ...agents.grpo.batch.passes import Passes

    model, count = setup.make_model(), min(64, *setup.sizes.batches)
    prompts = [prompt for prompt in setup.make_prompts(count // 4) for _ in range(4)]
    lines = []
    for fp32 in (False, True) if setup.half else (False,):
        engine = setup.make_engine(model, count, fp32_head=fp32)
        found = sample(setup, engine, prompts, setup.sizes.new)
        batch = make_batch([(prompt, c.ids, c.logps, 0.0) for prompt, c in zip(prompts, found, strict=True)], 4)
        logp = Passes(fp32_head=fp32).measure(model, batch).logp
        gap = (logp - batch.logp_mu)[batch.action].abs()
        most = GAP_HALF if setup.half else GAP_SINGLE
        name = "gap of sampler and trainer at step 0" + (", fp32 head" if fp32 else "")
        note = f"largest {float(gap.max()):.2g}, root mean square {float(gap.square().mean().sqrt()):.2g}"
        lines.append(Figure(name, float(gap.mean()), "nats a token", most, most=True, note=note))
    return lines


def compare_attention(setup: Setup) -> list[Figure]:
    """Compare the variable-length kernel with the reference, forward and backward, with shared prompts and a window."""
    import torch

    from ...agents.grpo.batch.packing import PACKERS
    from ...agents.grpo.batch.ragged import Kernel, ragged_reference

    sizes, generator = setup.sizes, torch.Generator().manual_seed(0)
    prompts = [prompt for prompt in setup.make_prompts(2) for _ in range(3)]
    pairs = [(prompt, prompt[: 3 + 2 * i]) for i, prompt in enumerate(prompts)]
    answers = [(prompt, answer, [0.0] * len(answer), 0.0) for prompt, answer in pairs]
    (micro,) = PACKERS["shared_prefix"](make_batch(answers, 3), range(len(answers)), 10**9)
    there = micro.to(torch.device(setup.device))
    heads, kv = sizes.model["num_attention_heads"], sizes.model["num_key_value_heads"]
    dim = sizes.model["hidden_size"] // heads
    dtype = torch.bfloat16 if setup.half else torch.float32
    shapes = [(len(micro.ids), n, dim) for n in (heads, kv, kv, heads)]
    tensors = [torch.randn(shape, generator=generator).to(setup.device, dtype) for shape in shapes]
    kind = "variable-length kernel" if setup.half else "padded attention"
    most = KERNEL_HALF if setup.half else KERNEL_SINGLE
    lines = []
    for window in (None, 4):
        results = []
        for reference in (True, False):
            q, k, v = (x.clone().requires_grad_() for x in tensors[:3])
            if reference:
                mixed = there.ragged.attend(q, k, v, window, kernel=Kernel.of(ragged_reference))
            else:
                mixed = there.attend(0, q, k, v, window=window)
            results.append([mixed.detach(), *torch.autograd.grad((mixed * tensors[3]).sum(), (q, k, v))])
        worst = max(float((a - b).abs().max() / a.abs().max()) for a, b in zip(*results, strict=True))
        name = f"{kind} against the reference" + ("" if window is None else f", window {window}")
        lines.append(Figure(name, worst, "of the largest value", most, most=True, note="output and three gradients"))
    return lines


def compare_short_memory(setup: Setup) -> list[Figure]:
    """Compare the gradient of a batch that does not fit into memory with the gradient of small micro-batches."""
    import torch

    from ...agents.grpo.batch.passes import Passes
    from ...agents.grpo.optimizers import widen_gradients

    name = "gradient after memory ran out, difference"
    if not setup.cuda:
        return [Figure(name, note="missing: torch limits the memory of GPUs alone; the tests limit a CPU's")]
    sizes, model = setup.sizes, setup.make_model()
    prompts = setup.make_prompts(max(2, 4 * sizes.packed // (2 * sizes.prompt)))
    batch = make_batch([(prompt, prompt, [0.0] * len(prompt), 0.0) for prompt in prompts])
    slope = torch.where(batch.action, torch.linspace(-1, 1, len(batch.ids)) / len(batch.ids), 0.0)
    gradients = []
    total = torch.cuda.mem_get_info(setup.device)[1]
    several = (Passes(packer="plain", budget=sizes.packed // 4), Passes(packer="plain", budget=10**9))
    for passes in several:
        own = copy.deepcopy(model)
        widen_gradients(own.parameters())
        setup.begin_peak()
        passes.backward(own, batch, slope)
        gradients.append(torch.cat([w.grad.flatten().float().cpu() for w in own.parameters()]))
        # Limit the second pass to one and a half times the memory of the first.
        taken, own = torch.cuda.max_memory_allocated(setup.device), None
        torch.cuda.empty_cache()
        torch.cuda.set_per_process_memory_fraction(min(1.0, 1.5 * taken / total), setup.device)
    torch.cuda.set_per_process_memory_fraction(1.0, setup.device)
    size = float(gradients[0].norm())
    worst = float((gradients[0] - gradients[1]).norm()) / size
    if several[1].memory.budget is None:
        note = f"missing: {len(batch.ids)} tokens fitted into the limit, so that nothing was tested"
        return [Figure(name, note=note)]
    note = f"from one pass of {len(batch.ids)} tokens down to {several[1].memory.budget}"
    return [Figure(name, worst, "of its norm", KERNEL_HALF, most=True, note=note)]
