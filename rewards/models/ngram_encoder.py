"""Default text encoder, small enough to train in seconds: a bag of hashed word and character n-grams.

Needs torch.
"""

from __future__ import annotations

import itertools
import re
import zlib
from collections.abc import Sequence

import torch
from torch import Tensor, nn

from ...checks import check_count

MAX_CHARACTERS = 20_000
_WORD = re.compile(r"[A-Za-z]+|[0-9]|[^A-Za-z0-9\s]")


class NgramEncoder(nn.Module):
    """Mean embedding of the words, word pairs and character trigrams of a text, each hashed into a bucket.

    Args:
        dim: width of the encoding.
        buckets: number of rows of the embedding table.
    """

    def __init__(self, dim: int = 64, buckets: int = 1 << 14):
        super().__init__()
        self.dim = check_count("dim", dim, 1)
        self.buckets = check_count("buckets", buckets, 1)
        self.table = nn.EmbeddingBag(buckets, dim, mode="mean")
        nn.init.normal_(self.table.weight, std=0.1)

    def encode(self, texts: Sequence[str]) -> Tensor:
        """Encode texts as [n, dim]; only the last 20,000 characters of each are read."""
        ids, offsets = [], []
        for text in texts:
            offsets.append(len(ids))
            ids += features(text, self.buckets)
        device = self.table.weight.device
        return self.table(torch.tensor(ids, device=device), torch.tensor(offsets, device=device))


def features(text: str, buckets: int) -> list[int]:
    """Return the bucket of each n-gram of ``text``. The empty n-gram is always included, so the list is never empty."""
    text = text[-MAX_CHARACTERS:].lower()
    words = _WORD.findall(text)
    grams = ["", *(f"w{word}" for word in words), *(f"b{one} {two}" for one, two in itertools.pairwise(words))]
    grams += [f"c{text[i : i + 3]}" for i in range(max(0, len(text) - 2))]
    return [zlib.crc32(gram.encode("utf-8", "replace")) % buckets for gram in grams]
