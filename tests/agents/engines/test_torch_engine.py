"""The in-process engine against transformers' own forward pass."""

from __future__ import annotations

import random

import pytest
import torch
from palaestra.agents.engines import cache, torch_engine
from palaestra.agents.engines.graphs import NoCapture
from palaestra.agents.engines.sampler import Completion, Request
from palaestra.agents.engines.torch_engine import TorchEngine, default_cache_gb

TEMPERATURES = (1.0, 0.5, 1.5)


def converse(
    engine: TorchEngine, sessions: int, turns: int, seed: int = 0
) -> dict[int, list[tuple[list[int], Completion]]]:
    """Random conversations of ``turns`` turns; session i is sampled at TEMPERATURES[i % 3]."""
    rng = random.Random(seed)
    script = {s: [rng.choices(range(5, 100), k=rng.randint(1, 12)) for _ in range(turns)] for s in range(sessions)}
    said: dict[int, list[tuple[list[int], Completion]]] = {s: [] for s in range(sessions)}
    for session in script:
        engine.submit(Request(session, script[session][0], 9, TEMPERATURES[session % 3]))
    while completions := engine.step():
        for completion in completions:
            session = completion.session
            said[session].append((script[session][len(said[session])], completion))
            if len(said[session]) < turns:
                ids = script[session][len(said[session])]
                engine.submit(Request(session, ids, 9, TEMPERATURES[session % 3]))
            else:
                engine.close(session)
    return said


def run(engine: TorchEngine, *requests: Request, close: bool = False) -> dict[int, Completion]:
    """Everything that ``requests`` bring, by session; with ``close``, a session is closed as soon as it is answered."""
    for request in requests:
        engine.submit(request)
    done = {}
    while completions := engine.step():
        done |= {completion.session: completion for completion in completions}
        for completion in completions if close else ():
            engine.close(completion.session)
    return done


def rescored(model, ids: list[int], start: int, vocabulary: int, temperature: float) -> torch.Tensor:
    """Log-probabilities [len(ids) - start, V] of what may follow each prefix from ``start`` on, by a plain forward."""
    with torch.no_grad():
        logits = model(torch.tensor([ids])).logits[0, start - 1 : -1, :vocabulary]
    return (logits / temperature).log_softmax(-1)


@pytest.mark.parametrize("scores", [cache._SCORE_BYTES, 1])
@pytest.mark.parametrize("long", [cache.LONG_PROMPT, 1])
@pytest.mark.parametrize("slots", [1, 3, 64])
def test_logps_equal_a_rescoring_of_the_whole_conversation_at_each_temperature(small, slots, long, scores, monkeypatch):
    monkeypatch.setattr(cache, "LONG_PROMPT", long)  # at 1, all prompts go through the fused kernel
    monkeypatch.setattr(cache, "_SCORE_BYTES", scores)  # at 1, a row at a time does
    # Seven conversations of three turns on few slots: rows are refilled, paused and moved all the time.
    said = converse(small.engine(slots, 512), sessions=7, turns=3)
    worst = 0.0
    for session, turns in said.items():
        assert len(turns) == 3
        ids = [token for observed, completion in turns for token in (*observed, *completion.ids)]
        with torch.no_grad():
            logits = small.model(torch.tensor([ids])).logits[0, :, : len(small.tokenizer)]
        logps = (logits / TEMPERATURES[session % 3]).log_softmax(-1)
        place = 0
        for observed, completion in turns:
            place += len(observed)
            for token, logp in zip(completion.ids, completion.logps, strict=True):
                worst = max(worst, abs(logps[place - 1, token].item() - logp))
                place += 1
    assert worst < 2e-5


@pytest.mark.parametrize("waiting", [0, 1, 2])
def test_a_conversation_goes_on_while_others_wait_for_their_environment(small, waiting):
    # Three conversations get one token each; then one stays silent while the other two go on, in either order.
    engine = small.engine(slots=3)
    history = {session: [7 + session, 9] for session in range(3)}
    for session, ids in history.items():
        engine.submit(Request(session, ids, 1))
    while completions := engine.step():
        for completion in completions:
            history[completion.session] += completion.ids
    for session in {2, 1, 0} - {waiting}:
        engine.submit(Request(session, [30 + session], 4))
        history[session].append(30 + session)
    answered = []
    while completions := engine.step():
        for completion in completions:
            with torch.no_grad():
                ids = torch.tensor([history[completion.session] + list(completion.ids)])
                logits = small.model(ids).logits[0, :, : len(small.tokenizer)]
            start = len(history[completion.session])
            expected = [logits[start - 1 + i].log_softmax(-1)[token].item() for i, token in enumerate(completion.ids)]
            assert completion.logps == pytest.approx(expected, abs=2e-5)
            answered.append(completion.session)
    assert sorted(answered) == sorted({0, 1, 2} - {waiting})


def test_every_request_is_answered_when_there_are_more_than_slots(small):
    engine = small.engine(slots=4)
    for session in range(30):
        engine.submit(Request(session, [5 + session], 3))
    answered = []
    while completions := engine.step():
        for completion in completions:
            answered.append(completion.session)
            engine.close(completion.session)
    assert sorted(answered) == list(range(30))


def test_a_short_answer_returns_before_a_long_one_is_complete(small):
    engine = small.engine(slots=2)
    engine.submit(Request(0, [7], 50))
    engine.submit(Request(1, [8], 1))
    assert [completion.session for completion in engine.step()] == [1]


@pytest.mark.parametrize("capture", [None, NoCapture])
def test_every_answer_ends_with_its_own_budget_or_stop_token(small, capture):
    stops = range(0, len(small.tokenizer), 9)
    engine = TorchEngine(small.model, stops, len(small.tokenizer), slots=5, max_length=64, capture=capture)
    budgets = {session: 1 + 3 * session % 17 for session in range(20)}
    done = run(engine, *(Request(session, [7, 8], budget) for session, budget in budgets.items()), close=True)
    assert {completion.finish for completion in done.values()} == {"stop", "length"}
    for session, completion in done.items():
        *before, last = completion.ids
        assert not set(before) & set(stops)
        assert completion.finish == ("stop" if last in stops else "length")
        assert len(completion.ids) == budgets[session] or last in stops


def test_the_stop_token_ends_the_answer_and_is_part_of_it(small):
    # Every id stops: each answer is exactly one token.
    engine = TorchEngine(small.model, range(len(small.tokenizer)), len(small.tokenizer), slots=2)
    engine.submit(Request(0, [9, 10], 5))
    (completion,) = engine.step()
    assert len(completion.ids) == 1
    assert completion.finish == "stop"


def test_sampled_frequencies_follow_the_model(small):
    engine = small.engine(slots=500)
    engine.seed(11)
    counts = torch.zeros(len(small.tokenizer))
    for repeat in range(8):
        for session in range(500):
            engine.submit(Request(repeat * 500 + session, [40, 41, 42], 1, 0.7))
        while completions := engine.step():
            for completion in completions:
                counts[completion.ids[0]] += 1
                engine.close(completion.session)
    with torch.no_grad():
        expected = (small.model(torch.tensor([[40, 41, 42]])).logits[0, -1, : len(counts)] / 0.7).softmax(-1) * 4000
    chi_square = ((counts - expected) ** 2 / expected).sum().item()
    # 100 degrees of freedom: mean 100, standard deviation 14; seeded, so this cannot flicker.
    assert chi_square < 160


def test_temperature_zero_takes_the_most_likely_token(small):
    engine = small.engine(slots=1)
    engine.submit(Request(0, [20, 21], 1, 0.0))
    with torch.no_grad():
        expected = small.model(torch.tensor([[20, 21]])).logits[0, -1, : len(small.tokenizer)].argmax().item()
    assert engine.step()[0].ids == (expected,)


def test_ids_beyond_the_tokenizer_are_never_sampled(small):
    # Trap 15: a padded vocabulary. Only ids below 3 exist here.
    engine = TorchEngine(small.model, [], vocabulary=3, slots=8)
    for session in range(8):
        engine.submit(Request(session, [5], 20))
    tokens = set()
    while completions := engine.step():
        for completion in completions:
            tokens |= set(completion.ids)
            engine.close(completion.session)
    assert tokens <= {0, 1, 2}
    assert tokens


def test_generation_leaves_the_weights_where_and_as_they_are(small):
    # Trap 16: a generator that casts the trained weights in place.
    before = [(weight.data_ptr(), weight.dtype, weight.requires_grad) for weight in small.model.parameters()]
    converse(small.engine(4), sessions=3, turns=2)
    assert before == [(weight.data_ptr(), weight.dtype, weight.requires_grad) for weight in small.model.parameters()]


def test_the_same_seed_gives_the_same_tokens_and_another_one_does_not(small):
    runs = []
    for seed in (5, 5, 6):
        engine = small.engine(4)
        engine.seed(seed)
        runs.append({s: [c.ids for _, c in turns] for s, turns in converse(engine, 6, 2).items()})
    assert runs[0] == runs[1] != runs[2]


def test_a_conversation_past_the_limit_is_refused_with_both_numbers(small):
    engine = small.engine(slots=1, max_length=20)
    with pytest.raises(ValueError, match=r"would reach 25 tokens; the limit is 20"):
        engine.submit(Request(0, [5] * 15, 10))


def test_closing_a_session_cancels_its_request(small):
    engine = small.engine(slots=2)
    engine.submit(Request(0, [5], 5))
    engine.submit(Request(1, [6], 5))
    engine.close(0)
    sessions = []
    while completions := engine.step():
        sessions += [completion.session for completion in completions]
    assert sessions == [1]


@pytest.mark.parametrize("temperature", TEMPERATURES)
def test_entropies_are_those_of_the_distribution_that_was_drawn_from(small, temperature):
    done = run(small.engine(slots=2), *(Request(s, [7, 8, 9 + s], 12, temperature, entropies=True) for s in range(4)))
    for session, completion in done.items():
        logps = rescored(small.model, [7, 8, 9 + session, *completion.ids], 3, len(small.tokenizer), temperature)
        assert completion.entropies == pytest.approx((-(logps.exp() * logps).sum(-1)).tolist(), abs=2e-5)


def test_entropies_are_left_out_unless_asked_for(small):
    assert run(small.engine(), Request(0, [5], 3))[0].entropies == ()


@pytest.mark.parametrize("slots", [1, 8])
def test_forced_ids_open_the_answer_with_the_policys_log_probabilities(small, slots):
    # Two prefixes of different length and three samples of each, at two temperatures, at once and one after another.
    forced = {session: [20, 21, 22] if session % 2 else [30] for session in range(6)}
    temperature = {session: 0.5 if session == 3 else 1.0 for session in range(6)}
    engine = small.engine(slots)
    done = {}
    for session in range(6):
        engine.submit(Request(session, [6, 7], 4, temperature[session], True, forced[session]))
    while completions := engine.step():
        for completion in completions:
            done[completion.session] = completion
            engine.close(completion.session)
    assert len(done) == 6
    for session, completion in done.items():
        ids = completion.ids
        assert list(ids[: len(forced[session])]) == forced[session]
        assert len(ids) == len(forced[session]) + 4 or completion.finish == "stop"
        logps = rescored(small.model, [6, 7, *ids], 2, len(small.tokenizer), temperature[session])
        assert completion.logps == pytest.approx(logps.gather(-1, torch.tensor(ids)[:, None])[:, 0].tolist(), abs=2e-5)
        assert completion.entropies == pytest.approx((-(logps.exp() * logps).sum(-1)).tolist(), abs=2e-5)


def test_forced_ids_that_end_with_a_stop_token_are_scored_and_nothing_is_sampled(small):
    stop = small.renderer.stop_ids[0]
    engine = small.engine(slots=1)
    engine.submit(Request(0, [6, 7], 5, forced=[40, stop]))
    (completion,) = engine.step()
    assert (completion.ids, completion.finish) == ((40, stop), "stop")
    # The conversation goes on from there, over what is cached.
    engine.submit(Request(0, [50], 3))
    (completion,) = engine.step()
    logps = rescored(small.model, [6, 7, 40, stop, 50, *completion.ids], 5, len(small.tokenizer), 1.0)
    expected = logps.gather(-1, torch.tensor(completion.ids)[:, None])[:, 0]
    assert completion.logps == pytest.approx(expected.tolist(), abs=2e-5)


def test_a_budget_of_zero_only_scores_what_is_forced(small):
    completion = run(small.engine(), Request(0, [6, 7], 0, forced=[40, 41]))[0]
    logps = rescored(small.model, [6, 7, 40, 41], 2, len(small.tokenizer), 1.0)
    assert (completion.ids, completion.finish) == ((40, 41), "length")
    assert completion.logps == pytest.approx([logps[0, 40].item(), logps[1, 41].item()], abs=2e-5)


def test_forced_ids_that_the_tokenizer_does_not_have_are_refused(small):
    with pytest.raises(ValueError, match=r"forced ids must lie in \[0, 3\), got \[1, 3\]"):
        TorchEngine(small.model, [], vocabulary=3).submit(Request(0, [5], 5, forced=[1, 3]))


def test_on_a_gpu_the_cache_takes_half_of_what_is_free_beside_what_the_run_will_take(monkeypatch):
    monkeypatch.setattr(torch.cuda, "mem_get_info", lambda device: (9_000_000_000, 10_000_000_000))
    monkeypatch.setattr(torch.cuda, "memory_reserved", lambda device: 3_000_000_000)
    monkeypatch.setattr(torch.cuda, "memory_allocated", lambda device: 2_000_000_000)
    gpu = torch.device("cuda")
    assert [default_cache_gb(gpu, spare) for spare in (0, 4 * 10**9, 11 * 10**9)] == [5.0, 3.0, 0.0]
    assert default_cache_gb(torch.device("cpu"), 10**9) is None


def test_an_engine_that_is_served_leaves_what_it_is_told_to(small, monkeypatch):
    told = []
    monkeypatch.setattr(torch_engine, "default_cache_gb", lambda device, spare=0: told.append(spare))
    TorchEngine.serve(small, 2, 64, spare=7)
    assert told == [7]
