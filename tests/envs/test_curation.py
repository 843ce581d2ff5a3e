"""The largest set of mutually different texts, found exactly."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from palaestra.envs.curation import maximum_clique, most_different, word_overlap
from palaestra.scripts import dataset

from ..extras import needs  # isort: skip


def test_overlap_is_shared_trigrams_over_all():
    # a b c d: abc, bcd; a b c e: abc, bce: one of three.
    assert word_overlap(["a b c d", "a b c e"])[0, 1] == pytest.approx(1 / 3)
    assert word_overlap(["x", "x"])[0, 1] == 1.0


def test_a_clique_is_as_large_as_the_largest_found_by_trying_all():
    rng = np.random.default_rng(0)
    for size, density in itertools.product((1, 6, 10), (0.2, 0.5, 0.8)):
        adjacent = np.triu(rng.random((size, size)) < density, 1)
        adjacent |= adjacent.T

        def is_clique(nodes, adjacent=adjacent):
            return all(adjacent[pair] for pair in itertools.combinations(nodes, 2))

        subsets = (s for n in range(size, 0, -1) for s in itertools.combinations(range(size), n))
        found = maximum_clique(adjacent)
        assert is_clique(found)
        assert len(found) == len(next(filter(is_clique, subsets)))


def test_the_middle_of_a_chain_is_left_out_where_greed_would_keep_it():
    chain = ["p q r s t u", "p q r s v w x y", "v w x y z a b"]  # the middle one overlaps both ends
    assert most_different([chain[1], chain[0], chain[2]], below=0.1) == [1, 2]


@needs("datasets")
def test_a_data_set_of_distinct_tasks_has_none_alike_and_its_card_says_how(tmp_path):
    from datasets import Dataset

    line = "palaestra/StreamPrediction-v0 --n 12 --test 0 --axis domain=lists --distinct 0.35 --out"
    assert dataset.main([*line.split(" "), str(tmp_path / "d")]) == 0
    prompts = Dataset.from_parquet(str(tmp_path / "d/train.parquet"), cache_dir=str(tmp_path))["prompt"]
    assert 1 < len(prompts) < 12
    assert word_overlap(list(prompts))[np.tril_indices(len(prompts), -1)].max() < 0.35
    assert ', 12, "train", seed=0, distinct=0.35, axes=' in (tmp_path / "d/README.md").read_text()
