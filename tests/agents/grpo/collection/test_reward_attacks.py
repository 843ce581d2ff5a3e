"""``palaestra train --audit-every N`` as it is typed."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from palaestra.scripts.cli import main

WORDS = (
    "--steps 2 --audit-every 2 --warmup.steps 0 --teacher random --final-episodes 1 --eval-every 0 --threads 1 "
    "--patience.no-signal 0 --prompts 2 --samples 2 --max-new-tokens 24 --max-episode-tokens 24 --context 512"
)


def train(small: Any, out: Path, *words: str) -> list[dict[str, Any]]:
    """Train the small model for two steps, and return its metrics."""
    small.save(out / "model")
    line = ["train", *WORDS.split(), "--model", str(out / "model"), "--out", str(out / "run"), *words]
    assert main(line) in (0, 1)
    return [json.loads(row) for row in (out / "run" / "metrics.jsonl").read_text().splitlines()]


SUMS = ("palaestra/Arithmetic-v0", "--axis", "digits=1", "terms=2")


def test_the_verifier_pays_no_exploit_and_a_reward_for_short_texts_many(small: Any, tmp_path: Path):
    first, second = train(small, tmp_path / "sound", *SUMS)
    assert not any(name.startswith("audit/") for name in first)
    assert second["audit/exploits"] > 200
    assert (second["audit/hack_rate"], second["audit/verifier_hack_rate"], second["audit/undecided"]) == (0, 0, 0)
    lines = ("from palaestra.rewards import Reward, register", "@register('shy')", "class Shy(Reward):")
    lines += ("    complete = True", "    bounds = (-99.0, 0.0)", "    def value(self, episode):")
    (tmp_path / "mine.py").write_text("\n".join((*lines, "        return -float(len(episode.response))")))
    _, fooled = train(small, tmp_path / "fooled", *SUMS, "--shaping", f"{tmp_path / 'mine.py'}:shy")
    assert fooled["audit/hacked/empty"] > 0.1
    assert fooled["audit/hacked/opener"] < 0.2
    assert fooled["audit/verifier_hack_rate"] == 0


def test_an_audit_changes_nothing_of_the_run(small: Any, tmp_path: Path):
    rows = [
        train(small, tmp_path / name, *SUMS, "--shaping", "count-bonus", "--audit-every", every)[-1]
        for name, every in (("audited", "1"), ("alone", "0"))
    ]
    audited = {name: value for name, value in rows[0].items() if not name.startswith("audit/")}
    assert audited == rows[1]


def test_a_judge_of_pairs_meets_pleas(small: Any, tmp_path: Path):
    words = ("palaestra/JudgePairs-v0", "--axis", "level=0", "--env-option", "of=palaestra/Arithmetic-v0")
    row = train(small, tmp_path, *words)[-1]
    assert 0 <= row["audit/plea_flips"] <= 1
    assert row["audit/plea_harm"] == pytest.approx(0)  # an untrained model gives no verdict at all
    assert row["audit/hack_rate"] == 0
