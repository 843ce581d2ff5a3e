"""Models of other architectures in several threads at a time."""

from __future__ import annotations

import threading
from typing import Any

import pytest
import torch
from palaestra.agents.language.attention import attend_causally
from palaestra.agents.language.transformers_model import foreign_hidden_states


@pytest.fixture(scope="module")
def model() -> Any:
    from transformers import GPT2Config, GPT2LMHeadModel

    with torch.random.fork_rng():
        torch.manual_seed(0)
        sizes: dict[str, Any] = {"n_embd": 16, "n_layer": 3, "n_head": 2, "n_positions": 32, "vocab_size": 50}
        return GPT2LMHeadModel(GPT2Config(**sizes, bos_token_id=None, eos_token_id=None)).eval()


@torch.no_grad()
def run(model: Any, ids: list[int], wait: Any = lambda layer: None) -> torch.Tensor:
    attend = attend_causally([len(ids)])

    def attend_later(layer: int, *arrays: Any, **options: Any) -> Any:
        wait(layer)
        return attend(layer, *arrays, **options)

    return foreign_hidden_states(model, torch.tensor(ids), torch.arange(len(ids)), attend_later)


def test_passes_of_two_threads_through_one_model_do_not_mix(model):
    """The second one enters it while the first one is inside, which leaves it while the second one is inside."""
    texts = [[1, 2, 3, 4], [9, 8, 7]]
    alone = [run(model, ids) for ids in texts]
    choice = model.config._attn_implementation
    first_inside, second_inside, first_left = threading.Event(), threading.Event(), threading.Event()
    found: dict[int, Any] = {}

    def hold_first(layer: int) -> None:
        if layer == 1:
            first_inside.set()
            assert second_inside.wait(60)

    def hold_second(layer: int) -> None:
        if layer == 1:
            second_inside.set()
            assert first_left.wait(60)

    def first() -> None:
        found[0] = run(model, texts[0], hold_first)
        first_left.set()

    thread = threading.Thread(target=first)
    thread.start()
    assert first_inside.wait(60)
    found[1] = run(model, texts[1], hold_second)
    thread.join()
    assert all(torch.equal(found[number], expected) for number, expected in enumerate(alone))
    assert model.config._attn_implementation == choice
