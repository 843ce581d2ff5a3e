from __future__ import annotations

import hashlib

import pytest
from palaestra.envs.splits import check_split, split_of
from palaestra.errors import InputError


def test_split_is_the_first_eight_bytes_of_the_hash_below_a_fifth():
    for content in ("17 + 25", "", "\u4e2d", "\ud800"):
        digest = hashlib.blake2b(content.encode("utf-8", "surrogatepass"), digest_size=8).digest()
        assert (split_of(content) == "test") == (int.from_bytes(digest, "big") / 2**64 < 0.2)


def test_a_fifth_of_all_contents_is_test():
    # Binomial with n = 10,000 and p = 0.2: four standard deviations are 160.
    assert 1840 <= sum(split_of(str(i)) == "test" for i in range(10_000)) <= 2160


@pytest.mark.parametrize("split", ["tests", "val", ["train"]])
def test_an_unknown_split_is_answered_with_all_there_are(split):
    with pytest.raises(InputError, match="split must be 'train', 'test' or 'all', not "):
        check_split(split)
