"""Soft tokens of the in-process engine."""

from __future__ import annotations

import math

import pytest
import torch
from palaestra.agents.engines.graphs import NoCapture
from palaestra.agents.engines.sampler import Completion, Request
from palaestra.agents.engines.soft_thinking import SoftThinking
from palaestra.agents.engines.torch_engine import TorchEngine

WARM = SoftThinking(temperature=0.7, tokens=5)
SHARE = torch.tensor([0.4, 0.3, 0.15, 0.1, 0.04, 0.01], dtype=torch.float64)


def drawn(thinking: SoftThinking, count: int = 40_000, greedy: bool = False):
    noise = torch.rand(count, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    return thinking.draw((SHARE.log() + 2.0).expand(count, -1), noise, torch.full((count,), greedy))


def test_the_mixtures_likeliest_token_is_distributed_as_the_policys_tokens():
    soft = drawn(SoftThinking(6, 1.0, 1e-3, -100.0, 100.0))
    deviation = (SHARE * (1 - SHARE) / len(soft.token)).sqrt()
    for mean in (torch.bincount(soft.token, minlength=6) / len(soft.token), soft.weights.double().mean(0)):
        assert ((mean - SHARE).abs() < 4 * deviation).all()
    # The mean of -n - exp(-n) over Gumbel noise n is minus its entropy: -(1 + Euler's constant).
    assert soft.logp.mean().item() == pytest.approx(-1.5772, abs=0.02)


def test_candidates_are_the_nucleus_of_the_likeliest_and_the_noise_is_clamped():
    soft = drawn(SoftThinking(top_k=4, top_p=0.85), 2_000)
    assert soft.candidates.unique().tolist() == [3]  # 0.4, 0.3, 0.15 of 0.95
    logps = (SHARE[:3] / SHARE[:3].sum()).log()
    noise = soft.values[:, :3] - logps
    assert -1.5 - 1e-9 <= noise.min() < -1.4
    assert 2.9 < noise.max() <= 3 + 1e-9
    assert (soft.weights[:, 3] == 0).all()
    assert torch.allclose(soft.weights[:, :3], (soft.values[:, :3] / 0.1).softmax(-1))
    assert torch.allclose(soft.logp, (-noise - (-noise).exp()).mean(-1))
    few = drawn(SoftThinking(top_k=6, top_p=1.0, least=-1.5), 9)
    assert few.kept.unique().tolist() == [2]
    assert drawn(SoftThinking(top_k=6, least=0.0), 9).kept.unique().tolist() == [1]
    plain = drawn(SoftThinking(temperature=1.0, top_p=1.0), 9, greedy=True)
    assert torch.allclose(plain.weights, (SHARE[:5] / SHARE[:5].sum()).expand(9, -1))


def play(language, thinking: SoftThinking | None, slots: int = 4, **options) -> list[Completion]:
    """Answers of two turns in six sessions, of which the last does not think, and another begins with a given token."""
    engine = TorchEngine(language.model, language.renderer.stop_ids, len(language.tokenizer), slots, 128, **options)
    engine.thinking = thinking
    found = []
    for turn in range(2):
        for number in range(6):
            ids = language.renderer.observation(f"{number}+2?", first=turn == 0)
            forced = (30,) if number == 4 else ()
            more = {"entropies": number % 2 == 0, "top": number % 3, "forced": forced, "thinks": number != 5}
            engine.submit(Request(number, ids, 12, float(number != 3), seed=10 * turn + number, **more))
        done = []
        while finished := engine.step():
            done += finished
        found += sorted(done, key=lambda each: each.session)
    return found


@pytest.fixture(scope="module")
def soft(small) -> list[Completion]:
    return play(small, WARM)


def same(one: Completion, other: Completion) -> bool:
    soft = zip(one.thought, other.thought, strict=True)
    return one.ids == other.ids and all(
        math.isclose(a, b, abs_tol=1e-4)
        for mine, theirs in [(one.logps, other.logps), *((x.weights, y.weights) for x, y in soft)]
        for a, b in zip(mine, theirs, strict=True)
    )


def test_a_thought_has_its_tokens_and_does_not_depend_on_the_rows_of_the_engine(small, soft):
    plain = play(small, None)
    assert [len(answer.thought) for answer in plain] == [0] * 12
    assert [len(answer.thought) for answer in soft] == [5, 5, 5, 5, 0, 0] * 2
    assert [a == b for a, b in zip(plain[:6], soft[:6], strict=True)] == [False] * 4 + [True] * 2
    # With four slots, conversations are encoded again in the second turn, mixtures included.
    others = play(small, WARM, slots=8), play(small, WARM, capture=lambda: NoCapture())
    assert all(map(same, soft + soft, others[0] + others[1]))
    for answer in soft[:4]:
        for token, i, logp in zip(answer.thought, answer.ids, answer.logps, strict=False):
            assert token.ids[token.weights.index(max(token.weights))] == i
            assert sum(token.weights) == pytest.approx(1.0)
            assert logp <= -1 + 1e-6


def test_the_likeliest_tokens_end_a_thought_where_they_spell_its_end(small, soft):
    whole = soft[0]
    for size in (1, 2):
        end = whole.ids[2 : 2 + size]
        ended = play(small, SoftThinking(temperature=0.7, end_ids=end))[0]
        place = next(i for i in range(len(whole.ids)) if whole.ids[i : i + size] == end)
        assert len(ended.thought) == place + size
        assert ended.ids[: place + size] == whole.ids[: place + size]
        assert ended.thought == whole.thought[: place + size]
