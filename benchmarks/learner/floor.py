"""Decoding and training of a model of real size compared with a floor, in turns in one process and in processor time.

The floor is the work that no implementation can avoid: the matrix products of the model's layers and of its output
head, at the shapes of a decoding step or of a training pass (one product forward and two backward each), and in
decoding reading all keys and values once. Activations, norms, attention's softmax, drawing of tokens and the loss come
on top.
"""

from __future__ import annotations

import statistics
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Any

from ..gpu.setup import SHAPES
from ..harness import Side, Spread, compare, format_markdown, processor_seconds, write_json
from ..ready_made import make_batch

SMOLLM2 = "smollm2-shape"
"""Name of the shape of SmolLM2-135M, with random weights."""
_SHAPE = dict(SHAPES["smollm2-135m"].model)


@dataclass(frozen=True)
class FloorSizes:
    """Numbers of rows that are sampled and trained together.

    Attributes:
        prompts, samples: number of prompts, and of answers to each.
        prompt_tokens, new_tokens: number of tokens of a prompt and of an answer.
    """

    prompts: int = 4
    samples: int = 4
    prompt_tokens: int = 64
    new_tokens: int = 32

    @property
    def rows(self) -> int:
        return self.prompts * self.samples


def load_model(name: str) -> Any:
    """Return the model of a folder, or one of the shape `SMOLLM2` with random weights, in single precision."""
    import torch

    if name != SMOLLM2:
        from ...agents.language.model import LanguageModel

        return LanguageModel.load(name).model
    from transformers import LlamaConfig, LlamaForCausalLM

    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        return LlamaForCausalLM(LlamaConfig(**_SHAPE)).eval()


def report_floor(name: str, threads: int, quick: bool, json_file: Path | None) -> str:
    """Compare a model with its floor, and return the table in Markdown.

    Args:
        name: a model's folder, or `SMOLLM2`.
        quick: one round of a few tokens, to try the benchmark out.
        json_file: file for all figures, if given.
    """
    import torch

    before = torch.get_num_threads()
    torch.set_num_threads(threads)
    try:
        sizes = FloorSizes(1, 2, 4, 4) if quick else FloorSizes()
        rows = compare_with_floor(load_model(name), sizes, 1 if quick else 5)
    finally:
        torch.set_num_threads(before)
    write_json(json_file, {"model": name, **asdict(sizes), "rows": rows})
    return format_floor(name, sizes, rows)


def compare_with_floor(model: Any, sizes: FloorSizes, rounds: int) -> list[dict[str, Any]]:
    """Time decoding and training in turns with their floors.

    Returns:
        One entry each for decoding and training: name, median processor seconds of either side, and the ratio floor /
        ours within each round as median and quartiles.
    """
    found = []
    for name, (ours, floor) in {
        "decoding, a step": (_decoding(model, sizes), _decoding_floor(model, sizes)),
        "forward and backward": (_training(model, sizes), _training_floor(model, sizes)),
    }.items():
        sides = {"ours": ours, "floor": floor}
        times = compare([Side(side, lambda number, time=time: time(), time) for side, time in sides.items()], rounds)
        share = Spread.of_ratios(times["floor"], times["ours"]).to_json()
        medians = {"seconds": statistics.median(times["ours"]), "floor_s": statistics.median(times["floor"])}
        found.append({"name": name, **medians, "share": share})
    return found


def format_floor(model: str, sizes: FloorSizes, rows: Sequence[dict[str, Any]]) -> str:
    """Format the entries of `compare_with_floor` as a table in Markdown."""
    shape = f"{sizes.rows} rows, prompt {sizes.prompt_tokens}, answer {sizes.new_tokens}"
    cells = []
    for row in rows:
        median, quartiles = Spread(**row["share"]).show(".0%")
        times = (f"{1e3 * row[side]:.1f}" for side in ("seconds", "floor_s"))
        cells.append((row["name"], *times, f"**{median}** ({quartiles})"))
    head = (f"{model}, {shape}", "processor time, ms", "floor, ms", "floor's share")
    return format_markdown(head, cells) + "\n"


def _prompts(model: Any, sizes: FloorSizes) -> list[list[int]]:
    import torch

    generator = torch.Generator().manual_seed(0)
    shape = (sizes.prompts, sizes.prompt_tokens)
    ids = torch.randint(5, model.config.vocab_size, shape, generator=generator).tolist()
    return [prompt for prompt in ids for _ in range(sizes.samples)]


def _decoding(model: Any, sizes: FloorSizes) -> Callable[[], float]:
    """Return a function that measures the processor seconds of a decoding step of the engine, without the prompts."""
    from ...agents.engines.sampler import Request
    from ...agents.engines.torch_engine import TorchEngine

    length = sizes.prompt_tokens + sizes.new_tokens
    engine = TorchEngine(model, (), model.config.vocab_size, slots=sizes.rows, max_length=length)

    def decode() -> float:
        for session, ids in enumerate(_prompts(model, sizes)):
            engine.submit(Request(session, ids, sizes.new_tokens))
        engine.step(lambda: True)
        found: list[Any] = []

        def finish() -> None:
            while len(found) < sizes.rows:
                found.extend(engine.step())

        seconds = processor_seconds(finish)
        for session in range(sizes.rows):
            engine.close(session)
        return seconds / (sizes.new_tokens - 1)

    return decode


def _decoding_floor(model: Any, sizes: FloorSizes) -> Callable[[], float]:
    """Return a function that measures the processor seconds of a step's products and reads, half way through
    answers."""
    import torch

    config, like = model.config, model.lm_head.weight
    length = sizes.prompt_tokens + sizes.new_tokens // 2
    dim = config.hidden_size // config.num_attention_heads
    held = like.new_ones((config.num_hidden_layers, 2 * sizes.rows * config.num_key_value_heads * length * dim))
    products = [partial(_product, x, w) for x, w in zip(*_inputs(model, sizes.rows, sizes.rows), strict=True)]

    def step() -> None:
        for product in products:
            product()
        for layer in held:
            layer.sum()

    @torch.inference_mode()
    def several() -> float:
        return processor_seconds(lambda: [step() for _ in range(8)]) / 8

    return several


def _training(model: Any, sizes: FloorSizes) -> Callable[[], float]:
    """Return a function that measures the processor seconds of forward and backward of all answers."""
    from ...agents.grpo.batch.passes import Passes

    batch = _batch(model, sizes)
    slope = batch.action / batch.action.sum()
    passes = Passes()

    def train() -> float:
        seconds = processor_seconds(lambda: passes.backward(model, batch, slope))
        model.zero_grad()
        return seconds

    return train


def _training_floor(model: Any, sizes: FloorSizes) -> Callable[[], float]:
    """Return a function that measures the processor seconds of the products of a forward and a backward pass."""
    import torch

    from ...agents.grpo.batch.logprobs import CHUNK_BYTES
    from ...agents.grpo.batch.passes import Passes

    batch, head = _batch(model, sizes), model.lm_head.weight
    chunk = max(1, CHUNK_BYTES["cpu"] // (4 * len(head)))
    passes, slopes = [], dict[tuple[int, int], Any]()
    for micro in Passes().micro_batches(batch, range(batch.episodes)):
        for x, w in zip(*_inputs(model, len(micro.ids), len(micro.scored)), strict=True):
            # The head is computed in chunks of tokens, as in training.
            for part in x.split(chunk) if w is head else (x,):
                slope = slopes.setdefault((len(part), len(w)), w.new_ones((len(part), len(w))))
                passes.append((part, w, slope))

    def products() -> None:
        for x, w, slope in passes:
            _product(x, w)
            _product(slope, w.t())
            _product(slope.t(), x.t())

    @torch.no_grad()
    def train() -> float:
        return processor_seconds(products)

    return train


def _inputs(model: Any, tokens: int, scored: int) -> tuple[list[Any], list[Any]]:
    """Return inputs and weights of the products of a forward pass."""
    import torch

    linear = [each.weight for each in model.model.layers.modules() if isinstance(each, torch.nn.Linear)]
    known: dict[int, Any] = {}
    inputs = [known.setdefault(w.shape[1], torch.randn(tokens, w.shape[1], dtype=w.dtype)) for w in linear]
    head = model.lm_head.weight
    return [*inputs, torch.randn(scored, head.shape[1], dtype=head.dtype)], [*linear, head]


def _product(x: Any, weight: Any) -> Any:
    return x @ weight.t()


def _batch(model: Any, sizes: FloorSizes) -> Any:
    """Make a batch of random answers to the prompts."""
    import torch

    generator = torch.Generator().manual_seed(1)
    answers = torch.randint(5, model.config.vocab_size, (sizes.rows, sizes.new_tokens), generator=generator).tolist()
    rows = zip(_prompts(model, sizes), answers, strict=True)
    return make_batch([(p, a, [-1.0] * len(a), float(i % 2)) for i, (p, a) in enumerate(rows)], sizes.samples)
