from __future__ import annotations

import numpy as np
from palaestra.agents.engines.buckets import bucket_of, padded_batches, span_of


def test_buckets_hold_what_is_asked_and_are_few():
    rows = [bucket_of(count, 5000) for count in range(1, 5000)]
    assert all(bucket >= count for count, bucket in enumerate(rows, 1))
    assert len(set(rows)) == 19
    assert bucket_of(5, 6) == 6
    spans = [span_of(length, 4000) for length in range(1, 4001)]
    assert all(span >= length for length, span in enumerate(spans, 1))
    assert sorted(set(spans)) == [256, 384, 512, 768, 1024, 1536, 2048, 3072, 4000]


def test_batches_hold_every_list_once_within_their_size_and_without_much_padding():
    rng = np.random.default_rng(3)
    for _ in range(200):
        lengths = (2 ** rng.uniform(0, 11, rng.integers(1, 40))).astype(int).tolist()
        batches = padded_batches(lengths, 4000)
        assert sorted(number for batch in batches for number in batch) == list(range(len(lengths)))
        for batch in batches:
            tokens = [lengths[number] for number in batch]
            padded = max(tokens) * len(batch)
            assert len(batch) == 1 or padded <= 4000
            assert padded - sum(tokens) <= sum(tokens) + 512


def test_equal_lists_and_short_ones_are_one_batch():
    assert padded_batches([]) == []
    assert len(padded_batches([64] * 512)) == 1
    assert len(padded_batches([1, 40, 3, 30])) == 1
    assert [len(batch) for batch in padded_batches([1900, *[16] * 63])] == [1, 63]
