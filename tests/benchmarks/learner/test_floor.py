"""Decoding and training beside their floor, of a small model."""

from __future__ import annotations

import json

import pytest
from palaestra.benchmarks.learner import floor
from palaestra.scripts.cli import main

SIZES = floor.FloorSizes(prompts=1, samples=2, prompt_tokens=4, new_tokens=3)


@pytest.fixture
def little(monkeypatch):
    """A shape of few weights in place of SmolLM2's."""
    for name, value in {"hidden_size": 36, "intermediate_size": 24, "num_hidden_layers": 2, "vocab_size": 60}.items():
        monkeypatch.setitem(floor._SHAPE, name, value)


def test_the_floor_has_the_products_of_every_layer_and_of_the_head(little):
    model = floor.load_model(floor.SMOLLM2)
    inputs, weights = floor._inputs(model, 6, 4)
    # Queries, keys, values and output, gate, up and down.
    assert len(weights) == 2 * 7 + 1
    assert sum(w.numel() for w in weights) == sum(w.numel() for w in model.parameters() if w.ndim == 2)
    assert [len(x) for x in inputs] == [6] * 14 + [4]
    assert all(x.shape[1] == w.shape[1] for x, w in zip(inputs, weights, strict=True))


def test_a_share_is_the_floor_over_our_time_in_the_same_round(little, monkeypatch):
    ours, least = iter([9.0, 4.0, 2.0, 5.0]), iter([9.0, 1.0, 1.0, 4.0])  # the first of each warms up
    sides = {
        "_decoding": ours,
        "_decoding_floor": least,
        "_training": iter([1.0] * 4),
        "_training_floor": iter([0.5] * 4),
    }
    for name, values in sides.items():
        monkeypatch.setattr(floor, name, lambda model, sizes, values=values: lambda: next(values))
    decoding, training = floor.compare_with_floor(None, SIZES, 3)
    assert decoding["share"] == {"median": 0.5, "low": 0.375, "high": 0.65}
    assert (decoding["seconds"], decoding["floor_s"]) == (4.0, 1.0)
    assert training["share"]["median"] == 0.5


def test_the_command_times_both_parts_of_a_model_and_writes_the_figures(little, tmp_path, capsys):
    out = tmp_path / "floor.json"
    argv = ["bench", "learner", "--floor", "smollm2-shape", "--quick", "--threads", "1", "--json", str(out)]
    assert main(argv) == 0
    shown = capsys.readouterr().out
    assert "| decoding, a step |" in shown
    assert "| forward and backward |" in shown
    assert [row["name"] for row in json.loads(out.read_text())["rows"]] == ["decoding, a step", "forward and backward"]
    assert all(row["seconds"] > 0 and row["floor_s"] > 0 for row in json.loads(out.read_text())["rows"])
