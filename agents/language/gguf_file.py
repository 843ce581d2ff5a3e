"""Conversion of GGUF files, the format of llama.cpp, to model folders of transformers with dequantised weights.

transformers implements the architectures, tokenizers and quantisations. It reads a file's vocabulary of up to 250,000
entries about five times; `_QuickReader` reduces the time for that from minutes to seconds.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import gguf
import numpy as np
from gguf import GGMLQuantizationType, GGUFReader, GGUFValueType

from ...errors import InputError

Report = Callable[[int, int], None]
"""Progress callback ``report(done, total)``: number of tensors read so far, and of all tensors."""
_BYTE_LEVEL = ("", "default", "gpt-2", "gpt2", "olmo", "phi-2", "mpt", "jina-es", "jina-de", "roberta-bpe")
"""GGUF's names of pre-tokenizers that are equal to transformers' fallback for unknown names."""
_SINGLE_DIGITS = ("smollm", "starcoder", "refact", "command-r", "codeshell", "exaone")
"""GGUF's names of the same pre-tokenizer with single digits, which transformers does not know."""
_lock = threading.Lock()


def measure_weights(path: Path) -> int:
    """Check a GGUF file and return its number of weights.

    Raises:
        InputError: the file is not a GGUF file, or does not hold a whole, readable model.
    """
    try:
        reader = _QuickReader(path)
    except (ValueError, KeyError, IndexError, UnicodeDecodeError) as error:
        raise InputError(f"{str(path)!r} is no GGUF file, or a damaged one ({error}); fetch it again.") from error
    architecture = _text(reader, "general.architecture")
    from transformers.integrations.gguf.gguf_config_mapping import GGUF_CONFIG_ARCHS
    from transformers.integrations.gguf.gguf_tokenizer_mapping import GGUF_PRE_TOKENIZER_SPLITS
    from transformers.modeling_gguf_pytorch_utils import GGUF_SUPPORTED_ARCHITECTURES

    if architecture not in {*GGUF_SUPPORTED_ARCHITECTURES, *GGUF_CONFIG_ARCHS}:
        raise InputError(
            f"{str(path)!r} has the architecture {architecture!r}, which transformers cannot read from a GGUF file; "
            "give the model's folder or hub id."
        )
    parts = reader.fields.get("split.count")
    if parts is not None and int(parts.contents()) > 1:
        raise InputError(
            f"{str(path)!r} is one of {int(parts.contents())} parts; join them with llama-gguf-split --merge first."
        )
    kinds = {tensor.tensor_type: tensor.data for tensor in reader.tensors}
    for kind, data in kinds.items():
        try:
            gguf.dequantize(data.reshape(-1, data.shape[-1])[:1], kind)
        except NotImplementedError as error:
            raise InputError(
                f"{str(path)!r} has weights of type {GGMLQuantizationType(kind).name}, which cannot be dequantised; "
                "take a file of Q4_K_M, Q8_0, F16 or F32."
            ) from error
    split, known = _text(reader, "tokenizer.ggml.pre"), (*_BYTE_LEVEL, *GGUF_PRE_TOKENIZER_SPLITS, *_SINGLE_DIGITS)
    if _text(reader, "tokenizer.ggml.model") == "gpt2" and split not in known:
        raise InputError(
            f"the tokenizer of {str(path)!r} splits text by the rules {split!r}, which are not known here; give the "
            "model's folder or hub id."
        )
    return sum(int(tensor.n_elements) for tensor in reader.tensors)


def convert_gguf(path: Path, folder: Path, report: Report = lambda done, total: None) -> None:
    """Convert the model of a GGUF file to a folder: configuration, float32 weights, tokenizer.

    Args:
        path: a file that `measure_weights` accepts.
        folder: an empty folder.
        report: progress callback.

    Raises:
        InputError: transformers cannot read the whole model.
        OSError: the folder cannot be written.
    """
    import torch
    from transformers import AutoModelForCausalLM

    with _report_instead_of_bars(report):
        model, tokenizer = _read(path)
        for name in ("quantization_config", "_model_name_or_path"):
            model.config.__dict__.pop(name, None)
        with torch.device("meta"):
            # The loaded model is marked as quantised and would not be saved as plain weights.
            fresh = AutoModelForCausalLM.from_config(model.config, dtype=torch.float32)
        fresh.load_state_dict(model.state_dict(), assign=True)
        fresh.tie_weights()
        fresh.generation_config = model.generation_config
        fresh.save_pretrained(folder)
        tokenizer.save_pretrained(folder)


def _read(path: Path) -> tuple[Any, Any]:
    """Load the model and the tokenizer of a GGUF file by transformers."""
    import torch
    from transformers import AutoModelForCausalLM, AutoTokenizer

    place = {"pretrained_model_name_or_path": str(path.parent), "gguf_file": path.name, "local_files_only": True}
    try:
        tokenizer = AutoTokenizer.from_pretrained(**place)
        loaded: Any = AutoModelForCausalLM.from_pretrained(**place, dtype=torch.float32, output_loading_info=True)
    except Exception as error:  # whatever a file's odd contents lead to
        raise InputError(
            f"transformers cannot read {str(path)!r} ({type(error).__name__}: {error}); give the model's folder or hub "
            "id."
        ) from error
    model, found = loaded
    absent = sorted(found["missing_keys"]) + sorted(str(key) for key in found["mismatched_keys"])
    if absent:
        raise InputError(
            f"{str(path)!r} lacks {len(absent)} weights of a {model.config.model_type}, such as {absent[0]}; give the "
            "model's folder or hub id."
        )
    if _text(_QuickReader(path), "tokenizer.ggml.pre") in _SINGLE_DIGITS:
        from tokenizers import pre_tokenizers

        tokenizer.backend_tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
            [pre_tokenizers.Digits(individual_digits=True), pre_tokenizers.ByteLevel(add_prefix_space=False)]
        )
    return model, tokenizer


def _text(reader: GGUFReader, key: str) -> str:
    field = reader.fields.get(key)
    return "" if field is None else str(field.contents())


class _QuickReader(GGUFReader):
    """Faster version of gguf's reader: it slices plain memory instead of a memory map, which takes a tenth of the time,
    and splits lists in one loop, where gguf makes three slices and four objects per token."""

    def __setattr__(self, name: str, value: Any) -> None:
        super().__setattr__(name, value.view(np.ndarray) if isinstance(value, np.memmap) else value)

    def _get_field_parts(self, orig_offs: int, raw_type: int) -> Any:
        if raw_type != GGUFValueType.ARRAY:
            return super()._get_field_parts(orig_offs, raw_type)
        inner, length = self._get(orig_offs, np.uint32), self._get(orig_offs + 4, np.uint64)
        kind, count, offset = GGUFValueType(int(inner[0])), int(length[0]), orig_offs + 12
        parts: list[Any] = [inner, length]
        if kind == GGUFValueType.STRING and self.byte_order == "I":
            memory: Any = self.data.data  # the bytes themselves
            for _ in range(count):
                end = offset + 8 + int.from_bytes(memory[offset : offset + 8], "little")
                if end > len(memory):
                    raise ValueError("it ends within a list of texts")
                parts.append(memory[offset + 8 : end])
                offset = end
        elif kind in self.gguf_scalar_to_np:
            values = self._get(offset, self.gguf_scalar_to_np[kind], count)
            if len(values) < count:
                raise ValueError("it ends within a list of numbers")
            parts += list(values[:, None])
            offset += values.nbytes
        else:
            return super()._get_field_parts(orig_offs, raw_type)
        return offset - orig_offs, parts, list(range(2, 2 + count)), [GGUFValueType.ARRAY, kind]


@contextmanager
def _report_instead_of_bars(report: Report) -> Iterator[None]:
    """Patch transformers within the context: it reads each file once, by `_QuickReader`, and calls ``report`` instead
    of drawing progress bars."""
    from transformers import modeling_gguf_pytorch_utils
    from transformers.utils import logging

    loading: Any = modeling_gguf_pytorch_utils
    readers: dict[str, _QuickReader] = {}

    def open_reader(path: Any, *_: Any) -> _QuickReader:
        if str(path) not in readers:
            readers[str(path)] = _QuickReader(path)
        return readers[str(path)]

    def follow(tensors: Iterable[Any], **_: Any) -> Iterator[Any]:
        every = list(tensors)
        for done, tensor in enumerate(every):
            report(done, len(every))
            yield tensor
        report(len(every), len(every))

    with _lock:
        before, shown = (gguf.GGUFReader, loading.tqdm), logging.is_progress_bar_enabled()
        gguf.GGUFReader, loading.tqdm = open_reader, follow  # type: ignore[assignment, misc]
        logging.disable_progress_bar()
        try:
            yield
        finally:
            gguf.GGUFReader, loading.tqdm = before
            if shown:
                logging.enable_progress_bar()
