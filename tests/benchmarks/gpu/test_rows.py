"""Cheap rows of the GPU benchmark in their CPU form, in this process."""

from __future__ import annotations

import pytest
from palaestra.benchmarks.gpu import decoding
from palaestra.benchmarks.gpu.profiles import format_kernels
from palaestra.benchmarks.gpu.rows import rows_of
from palaestra.benchmarks.gpu.setup import Setup

from types import SimpleNamespace  # isort: skip


def measure(name: str, tmp_path) -> dict:
    row = rows_of("cpu")[name]
    lines = row.measure(Setup("cpu", "tiny-llama" if row.smaller else "tiny-qwen2", str(tmp_path)))
    return {line.name: line for line in lines}


@pytest.mark.parametrize("name", ["attention", "kernels", "gap", "captured"])
def test_what_is_compared_agrees_on_a_cpu(name, tmp_path):
    lines = measure(name, tmp_path).values()
    assert all(line.value is not None for line in lines)
    assert {line.met for line in lines} <= {True, None}
    assert any(line.met for line in lines)


@pytest.mark.parametrize("name", ["decode-4", "step", "ragged", "turns", "shared-prompts"])
def test_speeds_are_measured_on_a_cpu_without_floors(name, tmp_path):
    lines = measure(name, tmp_path).values()
    assert all(line.value > 0 and line.met is None for line in lines)


def test_a_profile_is_a_table_of_what_took_longest(tmp_path):
    lines = measure("profile-decoding", tmp_path)
    text = (tmp_path / "profile-decoding.txt").read_text().splitlines()
    assert lines["profile of 8 decoding steps of 4 rows"].value > 0
    assert len(text) == 3 + 25 + 1
    assert text[0].startswith("8 decoding steps of 4 rows: ")
    kernels = [(f"kernel {number}", 30.0 - number, 2) for number in range(30)]
    lines = format_kernels("work", 0.001, kernels).splitlines()
    assert lines[3].split() == ["6.5%", "0.030", "2", "kernel", "0"]
    assert lines[-1].split() == ["3.2%", "0.015", "10", "5", "others"]


def test_captured_tokens_are_compared_until_they_differ():
    one = [SimpleNamespace(ids=[1, 2, 3], logps=[-1.0, -2.0, -3.0]), SimpleNamespace(ids=[4], logps=[-1.0])]
    other = [SimpleNamespace(ids=[1, 9, 9], logps=[-1.5, -9.0, -9.0]), SimpleNamespace(ids=[4], logps=[-1.0])]
    tokens, logps = decoding.compare_completions("one and other", one, other, most=0.3)
    assert (tokens.value, tokens.met) == (0.5, None)  # a number, no demand
    assert tokens.note == "2 of 4 tokens, in 1 of 2 conversations"
    assert (logps.value, logps.met) == (0.25, True)
    nothing = decoding.compare_completions("one and other", one[:1], [SimpleNamespace(ids=[7, 8, 9], logps=[])], 0.3)
    assert nothing[1].value is None


def test_a_ratio_is_the_median_of_the_rounds_and_lies_within_its_quartiles():
    figure = decoding.ratio_of("times", [5.0, 6.0, 4.0], [2.0, 2.0, 1.0], floor=2.0)
    assert figure.value == 3.0
    assert figure.note == "2.75 to 3.5"
