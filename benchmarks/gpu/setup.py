"""Models, sizes and device of the GPU benchmark, and the floors for its figures.

A floor is the least accepted value of a figure. Floors of decoding are 60 % of the estimated speed of an H200 on a
model of Qwen2.5-0.5B's shape, scaled to other GPUs. The estimate uses memory bandwidth and arithmetic (matrix products
limited by 80 % of the bandwidth or by 50 % of 990 TFLOP/s, attention by 70 % of the bandwidth, plus sampling and gaps
between graphs). No floor has been compared with a GPU yet.
"""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ...errors import InputError

SHARE_OF_ESTIMATE = 0.6
TIMES_GENERATE = 5.0
UTILISATION = 0.25
TIMES_TRL = 2.0
GAP_HALF, GAP_SINGLE = 0.05, 1e-3
"""Largest accepted mean difference of log-probabilities of sampler and trainer, nats per token, by precision."""
KERNEL_HALF, KERNEL_SINGLE = 3e-2, 1e-4
"""Largest accepted difference from the reference, as a share of the largest value, by precision."""

_PEAK = {"H200": 989.0, "H100": 989.0, "A100": 312.0}
"""Dense bfloat16 TFLOP/s by a part of the device's name (NVIDIA's data sheets, SXM)."""
_SCALE = {"H200": 1.0, "H100": 0.70}
"""Memory bandwidth as a share of an H200's 4.8 TB/s."""


@dataclass(frozen=True)
class Shape:
    """Sizes of the model and of the work.

    Attributes:
        family: family of the model: "qwen2" or "llama".
        model: fields of the model's configuration.
        batches: conversations decoded at once -> estimated tokens per second of an H200, 0 without an estimate.
        prompt, new: number of tokens of a prompt and of an answer in decoding.
        packed: number of tokens of the training pass, in rows of ``row`` tokens.
        prompts, samples: number of prompts and of samples per prompt in a GRPO step, with the lengths of decoding.
        repeats: number of timed passes; the median is reported.
    """

    family: str
    model: Mapping[str, Any]
    batches: Mapping[int, float]
    prompt: int
    new: int
    packed: int
    row: int
    prompts: int
    samples: int
    repeats: int


def _model(
    vocabulary: int, hidden: int, intermediate: int, layers: int, heads: tuple[int, int], longest: int
) -> dict[str, Any]:
    """Return the fields of a model's configuration; ``heads``: number of attention heads, and of key-value heads."""
    return {
        "vocab_size": vocabulary,
        "hidden_size": hidden,
        "intermediate_size": intermediate,
        "num_hidden_layers": layers,
        "num_attention_heads": heads[0],
        "num_key_value_heads": heads[1],
        "max_position_embeddings": longest,
        "tie_word_embeddings": True,
    }


_QWEN2 = _model(151_936, 896, 4864, 24, (14, 2), 32_768)
_SMOLLM2 = _model(49_152, 576, 1536, 30, (9, 3), 8192)
_TINY = _model(512, 64, 128, 2, (4, 2), 256)
# Conversations of 256 to 512 tokens, 384 on average.
_WORK = {"prompt": 256, "new": 256, "packed": 8192, "row": 1024, "prompts": 16, "samples": 8, "repeats": 5}
_TINY_WORK = {"prompt": 8, "new": 8, "packed": 128, "row": 32, "prompts": 2, "samples": 4, "repeats": 2}
SHAPES = {
    "qwen2.5-0.5b": Shape("qwen2", _QWEN2, {256: 182e3, 512: 218e3, 1024: 242e3}, **_WORK),
    "smollm2-135m": Shape("llama", _SMOLLM2, {256: 0.0}, **_WORK),
    "tiny-qwen2": Shape("qwen2", _TINY, {4: 0.0, 8: 0.0}, **_TINY_WORK),
    "tiny-llama": Shape("llama", _TINY, {4: 0.0}, **_TINY_WORK),
}
PAIRS = {"cuda": ("qwen2.5-0.5b", "smollm2-135m"), "cpu": ("tiny-qwen2", "tiny-llama")}
"""Larger and smaller shape for each kind of device; on a CPU the command is only tried out."""


@dataclass(frozen=True)
class Figure:
    """A figure of the table.

    Attributes:
        name: measured quantity.
        value: result; None if it is missing.
        unit: unit of value and floor.
        floor: smallest accepted value, or the largest if ``most`` is set; None: no bound.
        most: True if ``floor`` is an upper bound.
        note: method of the measurement, or the reason of a missing value.
        rounds: the repeated measurements, in order; ``value`` is their median.
    """

    name: str
    value: float | None = None
    unit: str = ""
    floor: float | None = None
    most: bool = False
    note: str = ""
    rounds: Sequence[float] = ()

    @property
    def met(self) -> bool | None:
        """True if the floor is met; None without a value or a floor."""
        if self.value is None or self.floor is None:
            return None
        return self.value <= self.floor if self.most else self.value >= self.floor

    def to_json(self) -> dict[str, Any]:
        return {**dataclasses.asdict(self), "met": self.met}


@dataclass(frozen=True)
class Setup:
    """Setup that every row receives.

    Attributes:
        device: a GPU with its number, "cuda:1", or "cpu".
        shape: name in `SHAPES`.
        folder: folder in which a row may leave files.
    """

    device: str
    shape: str
    folder: str = "."

    @property
    def sizes(self) -> Shape:
        return SHAPES[self.shape]

    @property
    def cuda(self) -> bool:
        return self.device.startswith("cuda")

    @property
    def half(self) -> bool:
        """True if weights are bfloat16, which they are on a GPU."""
        return self.cuda

    @property
    def floors_count(self) -> bool:
        """True if floors of speed apply: for the larger shape on a GPU."""
        return self.cuda and self.shape == PAIRS["cuda"][0]

    def make_model(self) -> Any:
        """Make the model with random weights, in evaluation mode."""
        import torch
        from transformers import LlamaConfig, LlamaForCausalLM, Qwen2Config, Qwen2ForCausalLM

        from ...agents.language.precision import cast_weights

        families = {"llama": (LlamaForCausalLM, LlamaConfig), "qwen2": (Qwen2ForCausalLM, Qwen2Config)}
        kind, config = families[self.sizes.family]
        torch.manual_seed(0)
        with torch.device(self.device):
            model: Any = kind(config(**self.sizes.model))
        return cast_weights(model, torch.bfloat16 if self.half else torch.float32).eval()

    def make_engine(
        self, model: Any, slots: int, prompt: int | None = None, stops: Sequence[int] = (), **options: Any
    ) -> Any:
        """Make the torch engine for conversations that only ``stops`` can end early; ``prompt`` is by default the
        shape's prompt length."""
        from ...agents.engines.torch_engine import TorchEngine

        sizes = self.sizes
        longest = (sizes.prompt if prompt is None else prompt) + sizes.new
        return TorchEngine(model, stops, sizes.model["vocab_size"], slots, longest, **options)

    def make_prompts(self, count: int, seed: int = 0, times: int = 1) -> list[list[int]]:
        """Make prompts of random tokens, ``times`` times as long as the shape's."""
        import numpy as np

        rng = np.random.default_rng(seed)
        return rng.integers(5, self.sizes.model["vocab_size"], (count, times * self.sizes.prompt)).tolist()

    def enter(self) -> None:
        """Make the GPU the current one of this process, on which graphs are captured."""
        import torch

        if self.cuda:
            torch.cuda.set_device(self.device)

    def wait(self) -> None:
        """Wait until the device has finished all work."""
        import torch

        if self.cuda:
            torch.cuda.synchronize(self.device)

    def seconds(self, work: Any) -> float:
        """Return the seconds of ``work()``, including its work on the device."""
        self.wait()
        begun = time.perf_counter()
        work()
        self.wait()
        return time.perf_counter() - begun

    def begin_peak(self) -> None:
        """Reset the largest memory so far."""
        import torch

        if self.cuda:
            torch.cuda.reset_peak_memory_stats(self.device)

    def peak_gb(self) -> float | None:
        """Return the largest memory that torch allocated on the GPU since `begin_peak`, in GB; None on a CPU."""
        import torch

        return torch.cuda.max_memory_allocated(self.device) / 1e9 if self.cuda else None

    def scale(self) -> tuple[float, str]:
        """Return the speed relative to an H200 for the floors of decoding, and a note on its source."""
        import torch

        name = torch.cuda.get_device_name(self.device)
        for part, factor in _SCALE.items():
            if part in name:
                return factor, f"{name}: {factor:g} of an H200"
        source = torch.empty(1 << 28, dtype=torch.float32, device=self.device)
        target = torch.empty_like(source)
        took = min(self.seconds(lambda: target.copy_(source)) for _ in range(5))
        rate = 2 * source.numel() * 4 / took
        return rate / (0.85 * 4.8e12), f"{name}: copies at {rate / 1e12:.2f} TB/s, an H200 at about 4.1"

    def peak_flops(self) -> tuple[float, str]:
        """Return the peak arithmetic of the device for utilisation, in FLOP/s, and a note on its source."""
        import torch

        name = torch.cuda.get_device_name(self.device) if self.cuda else "this CPU"
        for part, tera in _PEAK.items():
            if part in name:
                return tera * 1e12, f"{tera:g} TFLOP/s of the data sheet"
        size = 8192 if self.cuda else 512
        x = torch.ones(size, size, device=self.device, dtype=torch.bfloat16 if self.half else torch.float32)
        took = min(self.seconds(lambda: x @ x) for _ in range(5))
        return 2 * size**3 / took, f"{2e-12 * size**3 / took:.3g} TFLOP/s of its own product of matrices"


def choose_device(device: str) -> str:
    """Return the device with its number, which some functions of torch require: "cuda" is "cuda:0"; "auto" is "cuda:0",
    or "cpu" without a GPU.

    Raises:
        InputError: a GPU is asked for and there is none.
    """
    import torch

    there = torch.cuda.is_available()
    if device == "auto":
        device = "cuda" if there else "cpu"
    if device.startswith("cuda") and not there:
        raise InputError(f"--device {device}: there is no GPU that torch can use here; take auto or cpu to try it out.")
    return "cuda:0" if device == "cuda" else device
