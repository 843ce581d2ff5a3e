"""Run by the tests of the vLLM engine in vLLM's own environment: ``vllm_trial.py FOLDER [CACHE]``.

vLLM takes long to load, so that everything is tried in one process. It writes what it has seen to FOLDER/seen.json,
and the tests say what must hold of it. With CACHE, a folder for PALAESTRA_CACHE that has smollm2-135m, a step of this
model is trained as well.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import sys
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

# Without the last one two small functions would be compiled before the first token, for 16 seconds.
os.environ |= {"HF_HUB_OFFLINE": "1", "VLLM_CPU_KVCACHE_SPACE": "1", "TORCHDYNAMO_DISABLE": "1"}

import torch
from palaestra.agents.engines import checkpoint, vllm_engine
from palaestra.agents.engines.engine import ENGINES
from palaestra.agents.engines.gap import measure_gap
from palaestra.agents.engines.policy_engine import PolicyEngine
from palaestra.agents.engines.sampler import Completion, Request
from palaestra.agents.language.model import LanguageModel
from palaestra.agents.language.tokenizer import character_tokenizer
from palaestra.errors import InputError
from palaestra.scripts import report
from palaestra.scripts.cli import main

SIZES = {
    "hidden_size": 32,
    "intermediate_size": 48,
    "num_hidden_layers": 2,
    "num_attention_heads": 2,
    "num_key_value_heads": 1,
    "head_dim": 32,
    "max_position_embeddings": 256,
}
FAMILIES: dict[str, tuple[str, dict[str, Any]]] = {
    "llama": ("llama", {"tie_word_embeddings": False}),
    "qwen": ("qwen3", {"tie_word_embeddings": True}),
    "gemma": ("gemma3_text", {"sliding_window": 16, "query_pre_attn_scalar": 32}),
}
CONTEXT = 250
PAGE = Path(checkpoint.__file__).parents[2] / "docs/how-to/vllm.md"
LINE = (
    "palaestra/GuessNumber-v0 --recipe tis --regularisers entropy_bonus --steps 2 --prompts 2 --samples 3 "
    f"--max-new-tokens 4 --max-episode-tokens 24 --context {CONTEXT} --teacher random --minibatches 1 --threads 1 "
    "--final-episodes 3 --eval-every 0 --checkpoint-every 1 --lr 0.01 --lr-warmup 1 --keep-trajectories 6 --track"
)
REAL_LINE = (
    "palaestra/Arithmetic-v0 --axis digits=1 terms=2 --model smollm2-135m --engine vllm --recipe tis --steps 1 "
    "--prompts 2 --samples 2 --minibatches 1 --max-new-tokens 8 --max-episode-tokens 8 --context 256 "
    "--regularisers entropy_bonus --warmup.steps 0 --threads 1 --lr-warmup 0 --eval-every 0 --final-episodes 1 "
    "--teacher random"
)


def build(family: str, **sizes: int) -> LanguageModel:
    """A model with random weights, and rows of the output matrix for ids that its tokenizer does not have."""
    from transformers import AutoConfig, AutoModelForCausalLM

    kind, changes = FAMILIES[family]
    tokenizer = character_tokenizer()
    ids = {"bos_token_id": None, "eos_token_id": tokenizer.eos_token_id, "pad_token_id": tokenizer.pad_token_id}
    config = AutoConfig.for_model(kind, **{**SIZES, **ids, "vocab_size": len(tokenizer) + 27, **changes, **sizes})
    torch.manual_seed(1)
    model = AutoModelForCausalLM.from_config(config).eval()
    move(model, 0.2)
    return LanguageModel.of(model, tokenizer)


def move(model: Any, far: float) -> None:
    """Move every weight that is trained at random."""
    with torch.no_grad():
        for weight in model.parameters():
            if weight.requires_grad:
                weight += far * torch.randn_like(weight)


def converse(engine: Any, temperature: float, sessions: int = 5, seed: int = 3) -> list[list[Completion]]:
    """Two turns in each of several conversations."""
    engine.seed(seed)
    turns: list[list[Completion]] = [[] for _ in range(sessions)]
    for turn in range(2):
        for session in range(sessions):
            engine.submit(Request(session, prompt(session, turn), 6, temperature, top=3))
        while any(len(done) == turn for done in turns):
            for completion in engine.step():
                turns[completion.session].append(completion)
    for session in range(sessions):
        engine.close(session)
    return turns


def prompt(session: int, turn: int) -> list[int]:
    return [7 + session, 8, *range(20 + turn, 24 + turn)]


def replay(language: LanguageModel, turns: list[list[Completion]], temperature: float) -> float:
    """Play recorded conversations again with the torch engine: the largest difference of log-probabilities, nats."""
    engine = language.engine(len(turns), CONTEXT)
    worst = 0.0
    for session, recorded in enumerate(turns):
        for turn, one in enumerate(recorded):
            engine.submit(Request(session, prompt(session, turn), 0, temperature, forced=one.ids, top=3))
            (again,) = engine.step()
            worst = max(worst, *(abs(a - b) for a, b in zip(one.logps, again.logps, strict=True)))
            for mine, theirs in zip(one.top, again.top, strict=True):
                worst = max(worst, *(abs(a[1] - b[1]) for a, b in zip(mine, theirs, strict=True)))
    return worst


def conform(engine: Any, language: LanguageModel) -> dict[str, Any]:
    """What the engine does, beside the torch engine on the same weights."""
    own = language.engine(5, CONTEXT)
    greedy = converse(engine, 0.0)
    sampled = converse(engine, 1.0)
    recorded = {0.0: greedy, 0.7: converse(engine, 0.7), 1.0: sampled}
    seen: dict[str, Any] = {
        "same greedy tokens": [c.ids for t in greedy for c in t] == [c.ids for t in converse(own, 0.0) for c in t],
        "difference": {t: replay(language, turns, t) for t, turns in recorded.items()},
        "repeats": converse(engine, 1.0) == sampled,
        "other seed repeats": converse(engine, 1.0, seed=4) == sampled,
        "alone as in company": converse(engine, 1.0, sessions=1)[0] == sampled[0],
        "highest id": max(i for turns in sampled for c in turns for i in c.ids),
        "finishes": sorted({c.finish for turns in sampled for c in turns}),
    }
    forced = Request(9, [7, 8, 9], 3, 1.0, forced=[20, 21], top=2)
    pair = []
    for sampler in (engine, own):
        sampler.seed(1)
        sampler.submit(forced)
        (opened,) = sampler.step()
        sampler.submit(Request(9, [10], 0, 1.0, forced=[22]))
        (scored,) = sampler.step()
        sampler.close(9)
        pair.append((opened, scored))
    (opened, scored), (their_opened, _) = pair
    seen["forced"] = [opened.ids[:2], len(opened.ids), len(scored.ids), scored.finish]
    seen["forced difference"] = max(abs(a - b) for a, b in zip(opened.logps[:2], their_opened.logps[:2], strict=True))
    engine.submit(Request(0, [7, 8], 40))
    engine.submit(Request(1, [7, 8], 2))
    engine.close(0)
    seen["after a cancelled one"] = [[c.session for c in engine.step()], engine.step()]
    return seen


def update(engine: Any, language: LanguageModel, vocabulary: int) -> dict[str, float]:
    """The gap as the weights move."""
    move(language.model, 0.1)
    seen = {"not told": measure_gap(engine, language, vocabulary)}
    engine.load_weights(0)
    seen["told of the same version"] = measure_gap(engine, language, vocabulary)
    engine.load_weights(1)
    return seen | {"told of a new version": measure_gap(engine, language, vocabulary)}


def swap(engine: Any, adapted: LanguageModel, vocabulary: int) -> dict[str, Any]:
    """The gap as a policy's adapters move, and how far each moves the policy."""
    engine.follow(adapted)
    seen: dict[str, Any] = {"gaps": [], "moved": []}
    for version in range(3):
        move(adapted.model, 0.1)
        if version:
            seen["moved"].append(measure_gap(engine, adapted, vocabulary))
        engine.load_weights(version)
        seen["gaps"].append(measure_gap(engine, adapted, vocabulary))
    return seen


def without_reports() -> None:
    """Let runs write no report, which takes some seconds each and is of no interest here."""
    report.write_report = lambda folder: folder / "report.html"


def train(line: str) -> int:
    """The exit code of ``palaestra train LINE``."""
    return main(["train", *line.split()])


def rows(run: Path, name: str = "metrics") -> list[dict[str, Any]]:
    return [json.loads(text) for text in (run / f"{name}.jsonl").read_text().splitlines()]


def gaps(run: Path) -> list[float]:
    return [row["sampler_gap"] for row in rows(run)]


def refuse(call: Callable[[], Any]) -> str:
    """The sentence with which a call is refused."""
    try:
        call()
    except InputError as error:
        return str(error)
    return ""


def try_engine(folder: Path, seen: dict[str, Any]) -> None:
    """Everything that the engine in process does; the runs of one family share an engine, as it takes long to load."""
    served: dict[str, Any] = {}  # by the model's type
    opened: list[str] = []
    real_open = PolicyEngine.open

    def open_once(self: PolicyEngine, language: LanguageModel, *sizes: Any) -> Any:
        if self.name != "vllm":
            return real_open(self, language, *sizes)
        family = language.model.config.model_type
        if self._kept is None:
            opened.append(family)
            if family not in served:
                served[family] = ENGINES["vllm"].serve(language, 8, CONTEXT, cache_gb=0.1)
            self._kept = served[family]
        return real_open(self, language, *sizes)

    for family in FAMILIES:
        build(family).save(folder / family)
    language = LanguageModel.load(folder / "qwen")
    engine = ENGINES["vllm"].serve(language, 8, CONTEXT, cache_gb=0.1)
    engine.load_weights(0)
    seen["conformance"] = conform(engine, language)
    seen["update"] = update(engine, language, checkpoint.vocabulary_of(language))
    adapted = LanguageModel.load(folder / "qwen").with_lora(2)
    move(adapted.model, 0.1)
    engine.follow(adapted)
    engine.load_weights(1)
    seen["adapters"] = measure_gap(engine, adapted, checkpoint.vocabulary_of(adapted))
    # Weights that do not arrive are noticed.
    whole = vllm_engine.checkpoint_weights
    vllm_engine.checkpoint_weights = lambda policy, merge: {
        n: w for n, w in whole(policy, merge).items() if "mlp" not in n
    }
    move(adapted.model, 0.5)
    seen["incomplete weights"] = refuse(lambda: engine.load_weights(2))
    vllm_engine.checkpoint_weights = whole
    served["qwen3"] = engine
    PolicyEngine.open = open_once  # type: ignore[method-assign]
    (shown,) = re.findall(r"/palaestra train (.* --engine vllm .*) --out .*", PAGE.read_text())
    small = f"{LINE.removeprefix('palaestra/GuessNumber-v0')} --engine-option cache_gb=0.1"

    def train_small(family: str, run: Path, more: str = "") -> int:
        return train(f"{shown.replace('FOLDER', str(folder / family))} {small}{more} --out {run}")

    run = folder / "run-qwen"
    seen["train qwen"], seen["gaps qwen"] = train_small("qwen", run), gaps(run)
    seen["other engine"] = [train(f"--resume {run} --steps 3 --engine torch"), gaps(run), len(opened)]
    run = folder / "run-llama"
    seen["train llama"], seen["gaps llama"] = train_small("llama", run), gaps(run)
    # The third family trains adapters, which are swapped beside weights that stay.
    whole_updates: list[bool] = []

    def count(policy: Any, merge: bool = True) -> Any:
        whole_updates.append(merge)
        return whole(policy, merge)

    vllm_engine.checkpoint_weights = count
    run = folder / "run-gemma"
    seen["train gemma"], seen["gaps gemma"] = train_small("gemma", run, " --lora 2"), gaps(run)
    vllm_engine.checkpoint_weights = whole
    seen["whole updates with adapters"] = whole_updates
    PolicyEngine.open = real_open  # type: ignore[method-assign]


def try_real_model(folder: Path, seen: dict[str, Any], cache: str) -> None:
    """A step of a real chat model."""
    os.environ["PALAESTRA_CACHE"] = cache
    run = folder / "run-real"
    seen["train smollm2-135m"], seen["rows smollm2-135m"] = train(f"{REAL_LINE} --out {run}"), rows(run)
    shutil.rmtree(run)


if __name__ == "__main__":
    where, record = Path(sys.argv[1]), {}
    without_reports()
    try:
        try_engine(where, record)
        for place in sys.argv[2:]:
            try_real_model(where, record, place)
    except BaseException:
        record["error"] = traceback.format_exc()
    record["seconds of processor"] = sum(os.times()[:4])
    (where / "seen.json").write_text(json.dumps(record, indent=1))
