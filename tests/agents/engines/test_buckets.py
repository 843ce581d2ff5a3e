from __future__ import annotations

from palaestra.agents.engines.buckets import bucket_of, span_of


def test_buckets_hold_what_is_asked_and_are_few():
    rows = [bucket_of(count, 5000) for count in range(1, 5000)]
    assert all(bucket >= count for count, bucket in enumerate(rows, 1))
    assert len(set(rows)) == 19
    assert bucket_of(5, 6) == 6
    spans = [span_of(length, 4000) for length in range(1, 4001)]
    assert all(span >= length for length, span in enumerate(spans, 1))
    assert sorted(set(spans)) == [256, 384, 512, 768, 1024, 1536, 2048, 3072, 4000]
