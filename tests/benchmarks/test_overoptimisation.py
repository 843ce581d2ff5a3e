"""``palaestra bench overoptimisation``: the table and the figure, from curves that are written down here."""

from __future__ import annotations

from pathlib import Path

import pytest
from palaestra.agents.grpo.run_parts import check_config
from palaestra.benchmarks.overoptimisation import (
    VARIANTS,
    OveroptimisationOptions,
    draw,
    judge_config,
    policy_config,
    smooth,
    summarise,
)
from palaestra.scripts.cli import main

RISE_AND_FALL = {
    "variant": "one",
    "seed": 0,
    "true": [0.2, 0.4, 0.6, 0.8, 0.3, 0.1],
    "proxy": [0.5, 0.5, 0.6, 0.6, 0.8, 1.0],
    "kl": [0.0, 0.0, 1.0, 2.0, 4.0, None],
}


def test_windows_do_not_overlap_and_the_rest_is_left_out():
    assert smooth([1, 3, 5, 7, 100], 2).tolist() == [2.0, 6.0]


def test_the_peak_of_the_true_reward_is_found_with_its_step_and_its_divergence():
    (row,) = summarise([RISE_AND_FALL], 2)
    assert row == ("one", "30%", "70%", "3", "1.50", "20%", "0.50", "0.90")
    later = {**RISE_AND_FALL, "true": [0.2, 0.2, 0.2, 0.2, 0.7, 0.7]}
    (row,) = summarise([RISE_AND_FALL, later], 2)
    assert row[3] == "4"  # steps 3 and 5
    assert row[4] == ""  # of the second seed the divergence is not known


def test_the_figure_has_a_panel_for_each_variant(tmp_path: Path):
    draw([RISE_AND_FALL, {**RISE_AND_FALL, "variant": "renewed"}], 2, tmp_path / "curve.svg")
    assert (tmp_path / "curve.svg").read_text().count("axes_") == 2


@pytest.mark.parametrize("variant", VARIANTS)
def test_the_configurations_of_every_variant_work(variant: str):
    members = VARIANTS[variant].get("members", 1)
    judge = judge_config(Path("policy"), OveroptimisationOptions(), 1, members)
    assert (judge.player, judge.model, judge.members) == ("policy", "policy", members)
    config = policy_config("policy", 1, 10, 0.4, "verifiable")
    assert check_config(config).name == "grpo"
    assert config.warmup.most_steps(config.model) == 0


@pytest.mark.parametrize("arguments", [["--only", "two"], ["--seeds", "0"]])
def test_bad_input_is_one_sentence(capsys: pytest.CaptureFixture[str], arguments: list[str]):
    assert main(["bench", "overoptimisation", *arguments]) == 2
    assert len(capsys.readouterr().err.strip().splitlines()) == 1
