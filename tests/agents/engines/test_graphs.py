"""Decoding with static shapes and captured steps, recorded on the CPU by the rules of CUDA graphs."""

from __future__ import annotations

import copy
import gc
import random
import weakref
from typing import Any

import pytest
import torch
from palaestra.agents.engines import torch_engine
from palaestra.agents.engines.decoding import BLOCK
from palaestra.agents.engines.graphs import NoCapture
from palaestra.agents.engines.sampler import Completion, Request
from palaestra.agents.engines.torch_engine import TorchEngine
from palaestra.agents.language.model import LanguageModel

from .conversations import play
from .step_recorder import StepRecorder, count_reads


def engine_of(small, slots: int = 6, capture: Any = StepRecorder, max_length: int = 512, **options) -> TorchEngine:
    stops = range(0, len(small.tokenizer), 25)
    return TorchEngine(small.model, stops, len(small.tokenizer), slots, max_length, capture=capture, **options)


def requests(count: int = 14) -> list[Request]:
    rng = random.Random(4)
    return [
        Request(
            session,
            rng.choices(range(5, 100), k=rng.randint(1, 9)),
            rng.randint(1, 30),
            rng.choice((0.0, 0.7, 1.0)),
            session % 3 == 0,
            forced=rng.choices(range(5, 100), k=session % 4 // 2),
            top=session % 5,
        )
        for session in range(count)
    ]


def same(one: dict, other: dict) -> None:
    assert {key: completion.ids for key, completion in one.items()} == {k: c.ids for k, c in other.items()}
    for key, completion in one.items():
        assert completion.finish == other[key].finish
        assert completion.logps == pytest.approx(other[key].logps, abs=2e-6)
        assert completion.entropies == pytest.approx(other[key].entropies, abs=1e-5)
        assert [[i for i, _ in each] for each in completion.top] == [[i for i, _ in each] for each in other[key].top]


def test_samples_depend_on_neither_slots_nor_order_nor_captured_steps(small):
    expected = play(engine_of(small, 1, None), requests())
    assert len(expected) == 28
    assert {completion.finish for completion in expected.values()} == {"stop", "length"}
    for slots in (3, 40):
        same(play(engine_of(small, slots, None), requests()), expected)
        same(play(engine_of(small, slots, None), requests()[::-1]), expected)
    before = StepRecorder.replays
    for slots in (2, 6):
        same(play(engine_of(small, slots, StepRecorder), requests()[::-1]), expected)
    assert StepRecorder.replays > before
    same(play(engine_of(small, 40, NoCapture), requests()), expected)
    alone = {}
    for request in requests():
        alone |= play(engine_of(small, 2, NoCapture), [request])
    same(alone, expected)


def test_each_shape_is_captured_once_and_anew_when_weights_have_moved(small):
    engine = engine_of(small, 4)
    asked = [Request(session, [5, 6], 12) for session in range(4)]
    before = StepRecorder.captured
    play(engine, asked, turns=1)
    captured = StepRecorder.captured - before
    assert captured >= 1
    play(engine, asked, turns=1)
    assert StepRecorder.captured - before == captured
    weight = small.model.model.norm.weight
    kept = weight.data
    try:
        with torch.no_grad():
            weight.mul_(1.5)  # an update in place is seen by the steps that were captured
        changed = play(engine, asked, turns=1)
        assert StepRecorder.captured - before == captured
        same(changed, play(engine_of(small, 4, None), asked, turns=1))
        weight.data = kept.clone() / 1.5
        moved = play(engine, asked, turns=1)
        assert StepRecorder.captured - before > captured
        same(moved, play(engine_of(small, 4, None), asked, turns=1))
    finally:
        with torch.no_grad():
            kept.div_(1.5)
        weight.data = kept


def test_the_host_reads_a_few_times_a_block_whatever_the_number_of_rows_and_tokens(small):
    def reads(rows: int, tokens: int) -> int:
        engine = TorchEngine(small.model, [], len(small.tokenizer), rows, 128, capture=NoCapture)
        for session in range(rows):
            engine.submit(Request(session, [5 + session], tokens))
        with count_reads() as found:
            assert len(engine.step()) == rows
        return len(found)

    assert reads(12, 3 * BLOCK) == reads(2, 3 * BLOCK)
    assert reads(2, 5 * BLOCK) - reads(2, 3 * BLOCK) <= 2 * 2


def test_a_conversation_without_a_row_is_encoded_again_and_goes_on_as_it_would_have(small):
    def talk(slots: int) -> list[list[tuple[int, ...]]]:
        engine, said = engine_of(small, slots, None), [[], [], [], []]
        for turn in range(3):
            # All answer, then all go on: with fewer rows than conversations, none could decode otherwise.
            for session in range(4):
                engine.submit(Request(session, [7 + session, 30 + turn], 5))
            while completions := engine.step():
                for completion in completions:
                    said[completion.session].append(completion.ids)
        return said

    assert talk(1) == talk(2) == talk(4)


def test_rows_that_fill_up_a_bucket_keep_what_their_conversations_hold(small):
    def talk(capture) -> dict[tuple[int, int], Completion]:
        # One conversation waits, in the fourth row, while three decode in a bucket of four; then it goes on.
        engine, said = TorchEngine(small.model, [], 90, 6, 128, capture=capture), {}
        for session in range(4):
            engine.submit(Request(session, [7 + session, 30, 31], 3 if session == 1 else 20))
        for turn in range(2):
            while completions := engine.step():
                said |= {(completion.session, turn): completion for completion in completions}
            if turn == 0:
                engine.submit(Request(1, [8], 6))
        return said

    same(talk(NoCapture), talk(None))


@pytest.mark.parametrize("capture", [NoCapture, StepRecorder])
def test_an_engine_that_slept_goes_on_with_its_conversations(small, capture):
    def talk(sleep: bool) -> list[tuple[int, ...]]:
        engine, said = engine_of(small, 3, capture), []
        for turn in range(2):
            for session in range(3):
                engine.submit(Request(session, [7 + session, 30 + turn], 9))
            engine.sleep()  # with requests in flight nothing is given back
            while completions := engine.step():
                said += [completion.ids for completion in sorted(completions, key=lambda each: each.session)]
            if sleep:
                engine.sleep()
                assert sum(x.numel() for x in (engine._cache._keys, engine._cache._values)) == 0
        return said

    assert talk(True) == talk(False)


def test_a_small_cache_and_its_graphs_stay_while_the_policy_is_trained(small, monkeypatch):
    asked = [Request(session, [5, 6, 7], 12) for session in range(3)]

    def run(stays: float) -> tuple[list[Any], int]:
        monkeypatch.setattr(torch_engine, "staying_bytes", lambda device: stays)
        own = LanguageModel.of(copy.deepcopy(small.model), small.tokenizer)
        engine, found, before = engine_of(own, 4, share_above=0), [], StepRecorder.captured
        for version in range(3):
            engine.load_weights(version)
            engine.seed(0)
            found.append(play(engine, asked, turns=1))
            engine.sleep()
            with torch.no_grad():
                for weight in own.model.parameters():
                    weight.mul_(1.05)  # in place, as an optimiser does
        return found, StepRecorder.captured - before

    (awake, few), (asleep, many) = run(1e9), run(0.0)
    assert 3 * few == many
    assert few >= 1
    for one, other in zip(awake, asleep, strict=True):
        same(one, other)
    assert awake[0][0, 0].logps != awake[1][0, 0].logps


def test_a_limit_of_memory_limits_the_conversations_that_are_held(small):
    # 2 x 2 layers x 2 heads x 8 x 4 bytes = 256 bytes a token; 101 tokens, rounded up.
    one = 256 * 112 / 1e9
    engine = engine_of(small, 64, None, 100, cache_gb=3.5 * one)
    assert engine._cache.rows == 3
    assert len(play(engine, [Request(session, [5 + session], 4) for session in range(9)])) == 18
    with pytest.raises(ValueError, match=r"holds no conversation of 100 tokens, which takes 2.87e-05 GB"):
        engine_of(small, 64, None, 100, cache_gb=0.9 * one)


@pytest.mark.parametrize("capture", [None, NoCapture, StepRecorder])
def test_an_engine_that_nobody_holds_gives_its_memory_back_at_once(small, capture):
    engine = engine_of(small, 4, capture, share_above=0)
    play(engine, [Request(session, [5, 6, 7], 6) for session in range(6)])
    left = weakref.ref(engine._cache)
    gc.collect()
    gc.disable()
    try:
        del engine
        assert left() is None
    finally:
        gc.enable()
