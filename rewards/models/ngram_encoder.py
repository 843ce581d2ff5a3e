"""Default text encoder, small enough to train in seconds: a bag of hashed word and character n-grams.

Needs torch.
"""

from __future__ import annotations

import itertools
import re
import zlib
from collections import Counter
from collections.abc import Mapping, Sequence

import torch
from torch import Tensor, nn

from ...checks import check_count
from ...errors import InputError
from ..answers import extract

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
        return self.embed([features(text, self.buckets) for text in texts])

    def settings(self) -> dict[str, int]:
        """Return the arguments of the constructor."""
        return {"dim": self.dim, "buckets": self.buckets}

    @classmethod
    def from_settings(cls, settings: Mapping[str, int]) -> NgramEncoder:
        """Make an encoder with random weights from the result of `settings`."""
        return cls(**settings)

    def embed(self, bags: Sequence[Sequence[int]]) -> Tensor:
        """Average the embeddings of the buckets in each bag, [n, dim]; 0 for an empty bag."""
        ids: list[int] = []
        offsets = []
        for bag in bags:
            offsets.append(len(ids))
            ids += bag
        device = self.table.weight.device
        return self.table(torch.tensor(ids, device=device), torch.tensor(offsets, device=device))


def features(text: str, buckets: int) -> list[int]:
    """Return the bucket of each n-gram of ``text``. The empty n-gram is always included, so the list is never empty."""
    text = text[-MAX_CHARACTERS:].lower()
    words = _WORD.findall(text)
    grams = ["", *(f"w{word}" for word in words), *(f"b{one} {two}" for one, two in itertools.pairwise(words))]
    grams += [f"c{text[i : i + 3]}" for i in range(max(0, len(text) - 2))]
    return [zlib.crc32(gram.encode("utf-8", "replace")) % buckets for gram in grams]


REFERENCE = "\x1e"
"""Mark between a prompt and the reference answer that belongs to it; see `with_reference`."""


def with_reference(prompt: str, reference: str) -> str:
    """Return a prompt that carries its reference answer, for a `ReferenceEncoder`."""
    return f"{prompt}{REFERENCE}{reference}"


class ReferenceEncoder(nn.Module):
    """Encoder of a response and of how its answer differs from a reference answer, in the manner of VerifyRM.

    Three bags of n-grams are encoded side by side: those of the response, those of its answer that the reference has
    too, and those of either that the other one lacks. Texts are ``with_reference(prompt, reference)``, a blank line and
    the response, as `RewardModel` joins them.

    Args:
        dim: width of the encoding, a multiple of 3.
        buckets: number of rows of the embedding table.
    """

    def __init__(self, dim: int = 48, buckets: int = 1 << 12):
        super().__init__()
        if check_count("dim", dim, 3) % 3:
            raise InputError(f"the width of a reference encoder must be a multiple of 3, not {dim}.")
        self.dim, self.buckets = dim, buckets
        self.bag = NgramEncoder(dim // 3, buckets)

    def encode(self, texts: Sequence[str]) -> Tensor:
        """Encode texts as [n, dim].

        Raises:
            InputError: a text without a reference.
        """
        bags: list[list[int]] = []
        for text in texts:
            _, mark, rest = text.partition(REFERENCE)
            if not mark:
                raise InputError("a reference encoder needs prompts made by with_reference(prompt, reference).")
            reference, _, response = rest.partition("\n\n")
            answer = extract(response) or response
            one, two = (Counter(features(part.strip(), self.buckets)) for part in (answer, reference))
            bags += [
                features(response, self.buckets),
                [*(one & two).elements()],
                [*((one - two) + (two - one)).elements()],
            ]
        return self.bag.embed(bags).reshape(len(texts), self.dim)
