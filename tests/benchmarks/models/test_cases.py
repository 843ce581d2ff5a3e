"""The cases of `palaestra bench models` are words that `palaestra train` takes."""

from __future__ import annotations

import shlex

import pytest
from palaestra.benchmarks.models.cases import CASES, ModelCase
from palaestra.scripts.train import read_config


@pytest.mark.parametrize("name", CASES)
def test_every_case_is_a_run_that_train_accepts(name):
    config = read_config([word for word in CASES[name].arguments("tiny", 3)])
    assert config.env == CASES[name].env
    assert (config.seed, config.teacher, config.warmup.steps) == (3, "random", 0)


def test_words_of_a_case_take_the_place_of_the_usual_ones_and_arguments_that_of_both():
    case = ModelCase("x", "", "palaestra/Arithmetic-v0 --axis digits=1 terms=2 --steps 7 --lr 1e-3")
    words = case.arguments("m", 0)
    assert (words.count("--steps"), words[words.index("--lr") + 1]) == (1, "1e-3")
    words = case.arguments("m", 0, teacher="sec", steps=9)
    assert words[words.index("--steps") + 1] == "9"
    assert words[words.index("--teacher") + 1] == "sec"
    assert words[words.index("--axis") + 1 :][:2] == ["digits=1", "terms=2"]
    assert shlex.split(shlex.join(words)) == words
