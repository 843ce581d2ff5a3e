"""A sweep over options of training runs, by the hypervolume of several objectives."""

from __future__ import annotations

import json
import shlex

import pytest
from palaestra.benchmarks.recipes import RecipesOptions, combinations, main, points_of, sweep
from palaestra.errors import InputError
from palaestra.rewards.terms.adaptive_weights import hypervolume, pareto_front


def test_every_combination_of_the_varied_options_is_a_line():
    assert combinations(["recipe=grpo|dapo", "masks=first_turns(turns=2)"]) == [
        "--recipe grpo --masks first_turns(turns=2)",
        "--recipe dapo --masks first_turns(turns=2)",
    ]
    with pytest.raises(InputError, match=r"not 'recipe'"):
        combinations(["recipe"])


def test_points_are_means_over_windows_and_a_dominated_one_adds_no_volume():
    steps = [{"right": a, "length": b} for a, b in ((0, 4), (2, -10), (2, -2), (3, -1), (1, -1))]
    points = points_of(steps, ["right", "length:-"], 2)
    assert points == [(1.0, 3.0), (2.5, 1.5), (1.0, 1.0)]
    assert hypervolume(pareto_front([(1, 3), (2, 2), (3, 1)]), (0, 0)) == 6
    assert hypervolume(pareto_front([(1, 3), (2, 2), (3, 1), (1, 1)]), (0, 0)) == 6
    assert hypervolume(points, (0.0, 0.0)) == hypervolume(points[:2], (0.0, 0.0)) == 1.0 * 3.0 + 1.5 * 1.5
    with pytest.raises(InputError, match=r"'wrong'; metrics\.jsonl has right, length"):
        points_of(steps, ["wrong"], 2)


def test_combinations_are_compared_by_seeds_and_the_best_is_tried_with_others(monkeypatch, tmp_path):
    seen = []

    def train(line, folder):
        words = shlex.split(line)
        kind, seed = words[words.index("--recipe") + 1], int(words[-1])
        seen.append((kind, seed))
        return [{"success": {"grpo": 0.5, "dapo": 0.6}[kind] + 0.1 * seed, "length": 8.0}]

    monkeypatch.setattr("palaestra.benchmarks.recipes._train", train)
    options = RecipesOptions(vary=("recipe=grpo|dapo",), reference=(0.0, -10.0))
    first, second = sweep(options, tmp_path, lambda text: None)
    assert seen == [("grpo", 0), ("grpo", 1), ("dapo", 0), ("dapo", 1), ("dapo", 2), ("dapo", 3)]
    assert (first["options"], first["utility"]) == ("--recipe dapo", pytest.approx(0.65 * 2))
    assert first["validation"] == pytest.approx(0.85 * 2)
    assert second["utility"] == pytest.approx(0.55 * 2)
    assert "validation" not in second


def test_a_sweep_trains_and_writes_its_figures(small, tmp_path, capsys):
    small.save(tmp_path / "model")
    line = (
        f"palaestra/Arithmetic-v0 --axis digits=1 terms=2 --model {tmp_path / 'model'} --steps 2 --prompts 2 "
        "--samples 2 --max-new-tokens 4 --teacher random --eval-every 0 --final-episodes 1 --threads 1 --track"
    )
    words = ["--line", line, "--vary", "lr=1e-3|1e-2", "--seeds", "1", "--validation", "0", "--window", "1"]
    assert main([*words, "--json", str(tmp_path / "found.json")]) == 0
    rows = json.loads((tmp_path / "found.json").read_text())
    assert {row["options"] for row in rows} == {"--lr 1e-3", "--lr 1e-2"}
    assert all(1 <= len(row["fronts"][0]) <= 2 for row in rows)
    assert "mean hypervolume" in capsys.readouterr().out
    with pytest.raises(InputError, match="1 values for 2 objectives"):
        main(["--reference", "0"])
