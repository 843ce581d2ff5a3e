"""``palaestra export``: write a run's policy as a plain model folder, which transformers loads.

examples:
  palaestra export runs/first --out models/first
  palaestra export runs/with-lora --merge --checkpoint best
  palaestra export smollm2-135m --out models/smollm2
  palaestra export runs/first --blend smollm2-135m --weight 0.7
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import tyro

from ..agents.atomic import check_output
from ..agents.language.model_cache import is_model_name
from ..errors import InputError, needs_extra
from .options import parse_options


@dataclass(frozen=True)
class ExportOptions:
    run: tyro.conf.Positional[Path]
    """Folder of a run, or a model: a folder (also of adapters), a registered model, or a GGUF file."""
    merge: bool = False
    """Merge low-rank adapters into the weights; by default a policy with adapters is written as adapters, for peft."""
    out: Path | None = None
    """Folder to write, new or empty; by default RUN/export, if RUN is a folder."""
    checkpoint: str = "newest"
    """Policy to export: newest, best (of the run's evaluations), or a step."""
    blend: str | None = None
    """Second model, of the same architecture: the written weights are between the two (parameter-space merging)."""
    weight: float = 0.5
    """Share of the exported policy in a blend, in [0, 1]."""
    chat_option: tyro.conf.UseAppendAction[tuple[tuple[str, ...], ...]] = ()
    """Arguments of the chat template, name=value, that are built into the written template, in addition to the
    arguments of the run's training."""


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command and return its exit code."""
    options = tyro.cli(ExportOptions, args=argv, prog="palaestra export", description=__doc__)
    chat_options = parse_options((each for group in options.chat_option for each in group), "a chat")
    if options.out is None and is_model_name(str(options.run)):
        raise InputError(f"{str(options.run)!r} is no folder to write to; give --out.")
    out = options.out or options.run / "export"
    blend = None if options.blend is None else (options.blend, options.weight)
    print(export(options.run, out, options.merge, options.checkpoint, chat_options, blend))
    return 0


def export(
    run: Path,
    out: Path,
    merge: bool = False,
    checkpoint: str = "newest",
    chat_options: Mapping[str, Any] | None = None,
    blend: tuple[str, float] | None = None,
) -> Path:
    """Write the policy of a run to ``out`` and return that path; nothing is left there if writing fails.

    Args:
        run: folder of a run, or a model.
        out: folder to write, new or empty.
        merge: True merges adapters into the weights.
        checkpoint: "newest", "best" or a step.
        chat_options: arguments of the chat template, which extend or override the run's. The written template has all
            of them built in as defaults, except the date.
        blend: a second model, and the share of the policy's weights in the written ones.

    Raises:
        InputError: there is no such run or checkpoint, or ``out`` is not empty.
        MissingExtra: torch, transformers or peft is not installed.
    """
    if not run.is_dir() and not is_model_name(str(run)):
        raise InputError(f"{str(run)!r} is no folder; give the folder of a run or a model (palaestra list models).")
    if out.exists() and (not out.is_dir() or any(out.iterdir())):
        raise InputError(f"{str(out)!r} exists and is not empty; choose another --out, or remove it.")
    check_output(out, "--out", folder=True)
    with needs_extra("a language model", "train"):
        from ..agents.grpo.run.folder import RunFolder, find_checkpoint, write_folder
        from ..agents.grpo.run.models import load_policy
        from ..agents.language.average_copy import blend_weights
        from ..agents.language.chat_options import with_defaults
        from ..agents.language.language_agent import load_model, load_run_model
    if (run / "checkpoints").is_dir():
        config = replace(RunFolder.reopen(run)[1], device="cpu")
        config = replace(config, chat_options={**config.chat_options, **(chat_options or {})})
        language = load_policy(config, find_checkpoint(run, checkpoint))
    else:
        language = load_model(run, checkpoint=checkpoint, chat_options=chat_options)
    if blend is not None:
        blend_weights(language.model, load_run_model(blend[0]).model, blend[1])
    tokenizer, options = language.tokenizer, language.renderer.options
    if options:
        tokenizer.chat_template = with_defaults(tokenizer.get_chat_template(), options)
    out.parent.mkdir(parents=True, exist_ok=True)
    with write_folder(out) as place:
        language.save(place, merge=merge)
    return out
