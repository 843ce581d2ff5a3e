"""A step of a real chat model whose tokens are sampled by vLLM, in vLLM's own environment."""

from __future__ import annotations

import json
import os
import shutil
import subprocess

TOLERANCE = 2e-2
"""Mean difference of log-probabilities from torch on the same weights, in nats, before the only update."""
LINE = (
    "train palaestra/Arithmetic-v0 --axis digits=1 terms=2 --model smollm2-135m --engine vllm --recipe tis --steps 1 "
    "--prompts 2 --samples 2 --minibatches 1 --max-new-tokens 8 --max-episode-tokens 8 --context 256 "
    "--regularisers entropy_bonus --warmup.steps 0 --threads 1 --lr-warmup 0 --eval-every 0 --final-episodes 1 "
    "--teacher random"
)


def test_vllm_samples_a_registered_model_with_our_log_probabilities(real_models, vllm_python, tmp_path):
    settings = {"VLLM_CPU_KVCACHE_SPACE": "1", "TORCHDYNAMO_DISABLE": "1", "PALAESTRA_CACHE": str(real_models)}
    command = [str(vllm_python), "-m", "palaestra.scripts.cli", *LINE.split(), "--out", str(tmp_path / "run")]
    done = subprocess.run(command, env=os.environ | settings, capture_output=True, text=True, timeout=1200, check=False)
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-4000:]
    (row,) = [json.loads(line) for line in (tmp_path / "run" / "metrics.jsonl").read_text().splitlines()]
    assert row["updates"] == 1
    assert 0 < row["sampler_gap"] < TOLERANCE
    shutil.rmtree(tmp_path / "run")
