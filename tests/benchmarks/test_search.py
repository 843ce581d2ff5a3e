"""``palaestra bench search``: a small run of it, and its table from figures that are written down here."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from palaestra.agents.grpo.run_parts import check_config
from palaestra.benchmarks.search import FAMILIES, SEARCHES, policy_config, summarise
from palaestra.scripts.cli import main


def test_the_lead_over_best_of_n_has_an_interval_over_seeds():
    runs = [
        {"family": "sums", "seed": n, "solved": {"best of n": 0.5, "beam": beam}, "tokens": {"best of n": 9, "beam": 8}}
        for n, beam in enumerate((0.6, 0.7))
    ]
    best, beam = summarise(runs)
    assert best == ("sums", "best of n", "50%", "9", "")
    assert beam[2:4] == ("65%", "8")
    assert beam[4] == "+15.0 (-49 to +79)"  # 12.71 standard errors of 5 points, with one degree of freedom
    assert summarise(runs[:1])[1][4] == "+10.0"


@pytest.mark.parametrize("family", FAMILIES)
def test_the_policy_of_every_family_is_a_valid_run(family: str):
    assert check_config(policy_config(FAMILIES[family], 1, 10)).name == "sft"


def test_every_search_spends_its_budget_on_the_same_tasks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(tmp_path)
    words = "--seeds 1 --families sums --tasks 2 --budget 40 --steps 1 --questions 8 --model-steps 1 --json found.json"
    assert main(["bench", "search", *words.split()]) == 0
    (run,) = json.loads(Path("found.json").read_text())
    assert set(run["solved"]) == set(run["tokens"]) == set(SEARCHES)
    assert all(0 < tokens <= 104 for tokens in run["tokens"].values())  # the last answer may go on for 64 tokens
    assert main(["bench", "search", "--families", "riddles"]) == 2
