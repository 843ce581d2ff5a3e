"""Shared prompts: what is sampled with them equals what is sampled with copies, and places are given back."""

from __future__ import annotations

import copy
import math
import random
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest
import torch
from palaestra.agents.engines import cache
from palaestra.agents.engines.cache import LONG_PROMPT, fused_prefill
from palaestra.agents.engines.decoding import BLOCK
from palaestra.agents.engines.graphs import NoCapture
from palaestra.agents.engines.prompts import SharedPrompts, places_for
from palaestra.agents.engines.runner import ModelRunner
from palaestra.agents.engines.sampler import Completion, Request
from palaestra.agents.engines.sequence import TokenSequence
from palaestra.agents.engines.torch_engine import TorchEngine
from palaestra.agents.language.decoder import attention_shape

from . import conversations
from .step_recorder import StepRecorder, count_reads

VOCABULARY = 90
ALWAYS, NEVER = 0.0, math.inf
CAPTURES = [None, NoCapture, StepRecorder]


@pytest.fixture(scope="module")
def gemma() -> Any:
    """Grouped heads, softcaps low enough to bend, and windows of 7 in every other layer."""
    from transformers import Gemma2Config, Gemma2ForCausalLM

    torch.manual_seed(1)
    sizes: dict[str, Any] = {
        "vocab_size": 101,
        "hidden_size": 32,
        "intermediate_size": 48,
        "num_hidden_layers": 2,
        "num_attention_heads": 4,
        "num_key_value_heads": 2,
        "head_dim": 8,
        "query_pre_attn_scalar": 32,
    }
    config = Gemma2Config(**sizes, sliding_window=7, attn_logit_softcapping=0.5, max_position_embeddings=128)
    model = Gemma2ForCausalLM(config).eval()
    with torch.no_grad():
        for weight in model.parameters():
            weight += 0.1 * torch.randn_like(weight)
    return model


def engine_of(model: Any, share_above: float, slots: int = 8, capture: Any = None, **options) -> TorchEngine:
    return TorchEngine(
        model, range(0, 90, 25), VOCABULARY, slots, 128, capture=capture, share_above=share_above, **options
    )


def prompt_of(number: int, length: int = 20) -> list[int]:
    return random.Random(number).choices(range(5, 90), k=length)


def group(sessions: Iterable[int], prompt: list[int], **options) -> list[Request]:
    """One prompt, budgets that differ, temperatures too."""
    return [Request(s, prompt, 2 + 5 * s % 17, (1.0, 0.7, 0.0)[s % 3], **options) for s in sessions]


def play(engine: TorchEngine, asked: list[Request], turns: int = 2) -> dict[tuple[int, int], Completion]:
    """Answers by session and turn; later turns are of different lengths."""
    return conversations.play(engine, asked, turns, lambda session: prompt_of(session, 1 + session % 4))


def same(one: dict, other: dict) -> None:
    assert {key: completion.ids for key, completion in one.items()} == {k: c.ids for k, c in other.items()}
    for key, completion in one.items():
        assert completion.logps == pytest.approx(other[key].logps, abs=1e-5)
        assert completion.entropies == pytest.approx(other[key].entropies, abs=1e-5)


def two_groups_and_lone_rows() -> list[Request]:
    lone = [Request(100 + number, prompt_of(50 + number, 3 + 12 * number), 9) for number in range(3)]
    return [*group(range(7), prompt_of(1)), lone[0], *group(range(7, 12), prompt_of(2, 33)), *lone[1:]]


@contextmanager
def count_encoded() -> Iterator[list[int]]:
    """The tokens of each forward pass inside that is no decoding step."""
    fed: list[int] = []
    feed = ModelRunner._feed

    def counted(self: Any, pending: Any, *args: Any) -> Any:
        fed.extend(len(ids) for ids in pending)
        return feed(self, pending, *args)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ModelRunner, "_feed", counted)
        yield fed


@pytest.mark.parametrize("capture", CAPTURES)
@pytest.mark.parametrize("slots", [12, 40])
@pytest.mark.parametrize("kind", ["small", "gemma"])
def test_samples_are_those_of_copied_prompts(small, gemma, kind, slots, capture):
    # Rows finish at different times; with twelve slots members come later, when a row is free.
    model = small.model if kind == "small" else gemma
    asked = two_groups_and_lone_rows()
    engine = engine_of(model, ALWAYS, slots, capture)
    expected = play(engine_of(model, NEVER, slots), asked)
    assert len(expected) == 2 * len(asked)
    with count_encoded() as fed:
        same(play(engine, asked), expected)
    # Two shared prompts and the long ones of the lone rows: once each, also for members that come later.
    assert sorted(length for length in fed if length > 8) == [15, 20, 27, 33]
    assert engine._prompts.members == 0


def test_rows_that_go_on_from_a_shared_prompt_are_encoded_one_at_a_time_where_memory_is_short(gemma, monkeypatch):
    asked = two_groups_and_lone_rows()
    expected = play(engine_of(gemma, ALWAYS, 40), asked)
    monkeypatch.setattr(cache, "_SCORE_BYTES", 1)
    same(play(engine_of(gemma, ALWAYS, 40), asked), expected)


def test_log_probabilities_equal_a_rescoring_of_the_whole_conversation(small):
    asked = group(range(6), prompt_of(1))
    said = play(engine_of(small.model, ALWAYS), asked)
    for request in asked:
        first, second = said[request.session, 0], said[request.session, 1]
        start = len(request.ids) + len(first.ids) + 1 + request.session % 4
        ids = [*request.ids, *first.ids, *prompt_of(request.session, 1 + request.session % 4), *second.ids]
        with torch.no_grad():
            logps = small.model(torch.tensor([ids])).logits[0, start - 1 : -1, :VOCABULARY].log_softmax(-1)
        expected = logps.gather(-1, torch.tensor(second.ids)[:, None])[:, 0]
        assert second.logps == pytest.approx(expected.tolist(), abs=2e-5)


@pytest.mark.parametrize("start", [ALWAYS, NEVER])
def test_forced_ids_are_part_of_what_is_shared(small, start):
    asked = [Request(s, prompt_of(1), 5, 1.0, True, forced=[20, 21, 22] if s % 2 else [30], top=2) for s in range(6)]
    # The same tokens, none of them forced.
    asked += [Request(s, [*prompt_of(1), 30], 5, 1.0, True, top=2) for s in (6, 7)]
    with count_encoded() as fed:
        said = play(engine_of(small.model, start, slots=16), asked, turns=1)
    assert sorted(fed) == [21, 21, 23]
    same(said, play(engine_of(small.model, NEVER, slots=1), asked, turns=1))


def test_half_precision_rounds_as_copies_do(small):
    model = copy.deepcopy(small.model).bfloat16()
    asked = [Request(s, prompt_of(1), 12, forced=prompt_of(9 + s, 6)) for s in range(4)]
    asked += [Request(4 + s, [*prompt_of(1), *prompt_of(9 + s, 6)], 12) for s in range(4)]
    one, other = (play(engine_of(model, start), asked, turns=1) for start in (ALWAYS, NEVER))
    gaps = [abs(a - b) for key in one for a, b in zip(one[key].logps[:7], other[key].logps[:7])]
    assert sum(gaps) / len(gaps) < 0.02


@pytest.mark.parametrize("capture", CAPTURES)
@pytest.mark.parametrize("sizes", [(9, 1, 1, 1, 1), (1, 1, 7, 5, 1, 1), (2, 3, 2)])
def test_groups_of_any_sizes_read_little_more_than_their_prompts(small, sizes, capture, monkeypatch):
    seen = []
    arrange = SharedPrompts.arrange

    def noted(self, sequences):
        seen.append(arrange(self, sequences))
        return seen[-1]

    # The first of each group answers at length, and of the largest group all do.
    asked = []
    for number, size in enumerate(sizes):
        budgets = [40] * size if size == max(sizes) else [40, *[2] * 5]
        asked += [Request(len(asked) + s, prompt_of(number, 20 + 3 * number), n) for s, n in enumerate(budgets)]

    def engine(start: float, capture: Any = None) -> TorchEngine:
        return TorchEngine(small.model, [], VOCABULARY, 64, 128, capture=capture, share_above=start, cache_gb=1)

    expected = play(engine(NEVER), asked, turns=1)
    monkeypatch.setattr(SharedPrompts, "arrange", noted)
    same(play(engine(ALWAYS, capture), asked, turns=1), expected)
    last = seen[-1]
    assert len(last.tiers) == 2 if max(sizes) > 5 else 1
    # Static sizes are rounded up to powers of two.
    most = 4 * (4 if capture else 1)
    assert sum(tier.places * tier.members for tier in last.tiers) <= most * (max(sizes) + len(sizes))
    assert all(tier.span == 20 + 3 * (len(sizes) - 1) for tier in last.tiers[1:]) or capture


def test_a_prompt_is_held_for_a_member_that_still_waits(small):
    asked = [Request(0, prompt_of(1, 9), 30), Request(1, prompt_of(2, 9), 30), *group((2, 3), prompt_of(3))]
    with count_encoded() as fed:
        said = play(engine_of(small.model, ALWAYS, slots=3), asked, turns=1)
    assert fed == [20, 9, 9]
    same(said, play(engine_of(small.model, NEVER, slots=3), asked, turns=1))


@pytest.mark.parametrize("capture", [NoCapture, StepRecorder])
def test_conversations_go_on_after_a_sleep_without_what_they_shared(small, capture):
    def talk(start: float) -> dict[tuple[int, int], Completion]:
        engine, said = engine_of(small.model, start, capture=capture), {}
        for turn in range(2):
            for session in range(3):
                engine.submit(Request(session, prompt_of(turn), 9))
            engine.sleep()  # with requests in flight nothing is given back
            while completions := engine.step():
                said |= {(completion.session, turn): completion for completion in completions}
            engine.sleep()
            assert engine._prompts.members == 0
        return said

    same(talk(ALWAYS), talk(NEVER))


def test_prompts_are_held_once_where_that_saves_enough_reading(small):
    def members(count: int, length: int, slots: int = 64, max_length: int = 512) -> int:
        engine = TorchEngine(small.model, [], VOCABULARY, slots, max_length)
        for session in range(count):
            engine.submit(Request(session, prompt_of(1, length), 1 + session))
        engine.step()
        sharing = engine._prompts.members
        # Once some prompt is shared, another one costs next to nothing.
        for session in (100, 101):
            engine.submit(Request(session, prompt_of(2, 9), 1))
        engine.step()
        assert engine._prompts.members == (sharing + 2 if sharing else 0)
        return sharing

    # 128 bytes a token and layer: 1.5 MB are 11,718.75 tokens.
    assert members(31, 390) == 0
    assert members(31, 391) == 31
    assert members(31, 391, slots=33) == 31
    assert members(31, 391, slots=16) == 0  # at most sixteen at once
    # Here no prompt could be long enough, so no place is kept.
    assert TorchEngine(small.model, [], VOCABULARY, 64, 186)._prompts.memory.rows == 0
    assert TorchEngine(small.model, [], VOCABULARY, 64, 187)._prompts.memory.rows == 32


def test_a_long_prompt_beside_shared_ones_has_a_place_too(small):
    asked = [*group(range(3), prompt_of(1)), Request(3, prompt_of(2, 11), 9), Request(4, prompt_of(3, 10), 9)]
    engine = engine_of(small.model, ALWAYS)
    for request in asked:
        engine.submit(request)
    engine.step(lambda: True)
    assert [engine._sequences[session].base for session in range(5)] == [20, 20, 20, 11, 0]


def test_a_prompt_whose_place_was_given_away_is_not_joined(small):
    prompts = SharedPrompts(attention_shape(small.model), 1, 4, 64, small.model.lm_head.weight.detach())

    def assign(number: int) -> tuple[list[TokenSequence], list[Any]]:
        pair = [TokenSequence(session) for session in range(2)]
        for sequence in pair:
            sequence.start(Request(sequence.id, prompt_of(number), 5))
        return pair, prompts.assign(pair, (), lambda: "weights")

    _, ((prompt, members),) = assign(1)
    prompts.hold(prompt, members, torch.zeros(1, 32))
    joined, new = assign(1)
    assert new == []
    for sequence in (*members, *joined):
        assert sequence.prompt is prompt
        sequence.drop()
    assert len(assign(2)[1]) == 1  # and the pass that would encode it is lost
    assert len(assign(1)[1]) == 1


def test_prompts_are_copied_where_not_all_have_a_place(small):
    asked = [*group(range(3), prompt_of(1)), *group(range(3, 6), prompt_of(2))]
    for slots, members in ((5, 0), (6, 6)):
        engine = engine_of(small.model, ALWAYS, slots, cache_gb=1)
        assert len(engine._prompts._places) == slots - 4
        for request in asked:
            engine.submit(request)
        engine.step(lambda: True)
        assert engine._prompts.members == members
    same(play(engine_of(small.model, ALWAYS, 5, cache_gb=1), asked), play(engine_of(small.model, NEVER), asked))


@contextmanager
def restored(weight: torch.Tensor) -> Iterator[None]:
    kept = weight.detach().clone()
    yield
    weight.data.copy_(kept)


@pytest.mark.parametrize("told", ["counted", "announced", "idle"])
def test_a_prompt_of_older_weights_is_not_joined(small, told):
    def talk(start: float) -> dict[int, Completion]:
        engine, said = engine_of(small.model, start), {}
        for session in range(3):
            engine.submit(Request(session, prompt_of(1), 3 if session < 2 else 30))
        waits = (lambda: False) if told == "idle" else (lambda: True)
        while len(said) < (3 if told == "idle" else 2):
            said |= {completion.session: completion for completion in engine.step(waits)}
        if told == "counted":
            with torch.no_grad():
                weight.mul_(-1.5)  # what an optimiser does
        else:
            weight.data.mul_(-1.5)  # what torch does not count
        if told == "announced":
            engine.load_weights(1)
        for session in range(3, 6):
            engine.submit(Request(session, prompt_of(1), 9))
        while completions := engine.step():
            said |= {completion.session: completion for completion in completions}
        return said

    weight = small.model.model.layers[0].self_attn.v_proj.weight
    with restored(weight):
        old = talk(ALWAYS)
    with restored(weight):
        same(old, talk(NEVER))
    with restored(weight):
        weight.data.mul_(-1.5)
        fresh = play(engine_of(small.model, ALWAYS), [Request(s, prompt_of(1), 9) for s in range(3, 6)], turns=1)
        same({s: old[s] for s in range(3, 6)}, {s: fresh[s, 0] for s in range(3, 6)})


def test_the_host_reads_as_seldom_as_without_shared_prompts(small):
    def reads(rows: int, tokens: int) -> int:
        engine = TorchEngine(small.model, [], VOCABULARY, 16, 128, capture=NoCapture, share_above=ALWAYS)
        for session in range(rows):
            engine.submit(Request(session, prompt_of(session % 2), tokens))
        with count_reads() as found:
            assert len(engine.step()) == rows
        assert engine._prompts.members == rows
        return len(found)

    assert reads(12, 3 * BLOCK) == reads(4, 3 * BLOCK)
    assert reads(4, 5 * BLOCK) - reads(4, 3 * BLOCK) <= 2 * 2


def test_the_limit_of_memory_counts_shared_prompts(small):
    for limit in (3e-4, 1e-3, 2.9e-3):
        engine = engine_of(small.model, ALWAYS, 64, NoCapture, cache_gb=limit)
        play(engine, two_groups_and_lone_rows())
        memories = (engine._cache, engine._prompts.memory)
        taken = sum(x.nbytes for memory in memories for x in (memory._keys, memory._values)) / 1e9
        assert limit * 0.8 < taken <= limit
        assert memories[1].rows == places_for(memories[0].rows, limited=True) > 0
        engine.sleep()
        assert sum(x.nbytes for memory in memories for x in (memory._keys, memory._values)) == 0


@pytest.mark.parametrize(("slots", "options"), [(6, {}), (6, {"capture": NoCapture}), (9, {"capture": NoCapture})])
def test_no_place_is_lost_whatever_is_opened_and_closed(small, slots, options):
    rng = random.Random(slots)
    engines = engine_of(small.model, ALWAYS, slots, **options), engine_of(small.model, NEVER, slots, **options)
    busy: set[int] = set()
    tokens: dict[int, int] = {}
    sessions = iter(range(1000))
    for _ in range(200):
        what = rng.random()
        if what < 0.3:  # a group
            prompt = prompt_of(rng.randrange(4), 8 + rng.randrange(3))
            for session in [next(sessions) for _ in range(rng.randint(1, 4))]:
                tokens[session] = 0
                for engine in engines:
                    engine.submit(Request(session, prompt, 1 + session % 7))
                busy.add(session)
        elif what < 0.5 and (idle := sorted(tokens.keys() - busy)):
            session = rng.choice(idle)
            tokens[session] += 1
            for engine in engines:
                engine.submit(Request(session, prompt_of(session, 1 + session % 3), 1 + session % 5))
            busy.add(session)
        elif what < 0.65 and tokens:
            session = rng.choice([s for s in sorted(tokens) if tokens[s] > 3] or sorted(tokens))
            del tokens[session]
            busy.discard(session)
            for engine in engines:
                engine.close(session)
        elif what < 0.7:
            for engine in engines:
                engine.sleep()
        else:
            interrupt = rng.choice((lambda: False, lambda: True))
            one, other = ({c.session: c for c in engine.step(interrupt)} for engine in engines)
            same(one, other)
            busy -= one.keys()
        held = engines[0]._prompts
        assert held.members == sum(each.prompt is not None for each in engines[0]._sequences.values())
        assert [prompt.place for prompt in held._places] == list(range(len(held._places)))
    assert held.members > 0
    for session in tokens:
        engines[0].close(session)
    assert held.members == 0


@pytest.mark.parametrize(
    ("device", "dtype", "width", "new", "flash", "kernel"),
    [
        ("cpu", torch.float32, LONG_PROMPT, True, False, "causal"),
        ("cpu", torch.float32, LONG_PROMPT, False, False, "masked"),
        ("cpu", torch.float32, LONG_PROMPT - 1, True, False, None),
        ("cpu", torch.bfloat16, 5000, True, False, None),
        ("cuda", torch.bfloat16, 3, True, True, "causal"),
        ("cuda", torch.float16, 5000, True, True, "causal"),
        ("cuda", torch.bfloat16, 5000, False, True, None),
        ("cuda", torch.float32, 5000, True, True, None),
        ("cuda", torch.bfloat16, 5000, True, False, None),
    ],
)
def test_prompts_are_encoded_by_the_kernel_of_the_device(device, dtype, width, new, flash, kernel):
    assert fused_prefill(device, dtype, width, new, flash) == kernel
