import pytest
import torch
from palaestra.agents.engines.joint import HIDDEN_LOGIT
from palaestra.agents.grpo.batch.logprobs import JoinedLogits, token_logps
from palaestra.agents.grpo.components.logits import LaggedNucleus, MixedLogits, ShiftedLogits
from palaestra.errors import InputError


def logits(*rows):
    return torch.tensor(rows, dtype=torch.float64).log()


def test_guidance_extrapolates_from_the_reference_to_the_tuned_model():
    reference, tuned = logits([0.5, 0.3, 0.2]), logits([0.7, 0.2, 0.1])
    expected = torch.tensor([[0.8424, 0.1146, 0.0430]], dtype=torch.float64)
    assert torch.allclose(MixedLogits("", weight=2.0)(tuned, [reference]).softmax(-1), expected, atol=5e-5)
    for weight, policy in ((0.0, reference), (1.0, tuned)):
        found = MixedLogits("", weight=weight)(tuned + 3.0, [reference - 2.0]).softmax(-1)
        assert torch.allclose(found, policy.exp())  # constants do not matter


def test_a_small_models_shift_is_added_to_a_large_one():
    large, tuned, base = logits([0.6, 0.3, 0.1]), logits([0.1, 0.2, 0.7]), logits([0.2, 0.2, 0.6])
    shift = ShiftedLogits("", "")
    assert torch.allclose(shift(large, [base, base]), large)
    assert torch.allclose(shift(base, [tuned, base]).softmax(-1), tuned.exp())
    assert torch.allclose(shift(large + 1, [tuned - 2, base]).softmax(-1), shift(large, [tuned, base]).softmax(-1))


def test_the_nucleus_is_that_of_the_mask_policy():
    mask = logits([0.15, 0.5, 0.3, 0.05], [0.25, 0.25, 0.25, 0.25])
    assert LaggedNucleus(top_p=0.9, least=1).allowed(mask).tolist() == [[True, True, True, False], [True] * 4]
    assert LaggedNucleus(top_p=0.5, least=1).allowed(mask)[0].tolist() == [False, True, False, False]
    assert LaggedNucleus(top_p=0.5, least=3).allowed(mask)[0].tolist() == [True, True, True, False]
    assert LaggedNucleus(top_p=1.0, least=1).allowed(mask).all()
    masked = LaggedNucleus(top_p=0.5, least=1)(torch.ones(2, 4, dtype=torch.float64), [mask])
    assert masked[0].tolist() == [HIDDEN_LOGIT, 1.0, HIDDEN_LOGIT, HIDDEN_LOGIT]
    with pytest.raises(InputError, match="top_p"):
        LaggedNucleus(top_p=0.0)


def test_the_mask_policy_changes_at_refreshes_only(small):
    rule, policy = LaggedNucleus(every=2), small.copy()
    policy.model.requires_grad_(True)
    rule.open(policy)
    (held,) = rule.models
    first = next(held.parameters()).clone()
    moved = []
    for _ in range(3):
        with torch.no_grad():
            for weight in policy.model.parameters():
                weight += 1.0
        rule.follow(policy.model)
        moved.append(float((next(held.parameters()) - first).mean()))
    assert moved == pytest.approx([0.0, 2.0, 2.0], abs=1e-5)
    again = LaggedNucleus(every=2)
    again.open(policy)
    again.load(rule.state())
    again.follow(policy.model)  # the fourth update
    assert torch.equal(next(again.model.parameters()), next(policy.model.parameters()))


def test_the_gradient_is_that_of_the_joined_distribution():
    torch.manual_seed(0)
    hidden, head = torch.randn(5, 3, dtype=torch.float64), torch.randn(4, 3, dtype=torch.float64)
    other, targets = torch.randn(5, 4, dtype=torch.float64), torch.tensor([0, 1, 2, 3, 0])
    weight = torch.randn(5, 2, dtype=torch.float64)
    for rule in (MixedLogits("", weight=2.5), LaggedNucleus(top_p=0.999, least=1)):
        results = []
        for by_hand in (True, False):
            h, w = hidden.clone().requires_grad_(), head.clone().requires_grad_()
            if by_hand:
                logps = (rule(h @ w.T, [other]) / 0.7).log_softmax(-1)
                found = logps.gather(-1, targets[:, None])[:, 0], -(logps.exp() * logps).sum(-1)
            else:
                joined = JoinedLogits(lambda part, own, rule=rule: rule(own, [other[part]]), rule.slope)
                found = token_logps(h, w, targets, 0.7, entropy_grad=True, joined=joined)
            (torch.stack(found, -1) * weight).sum().backward()
            results.append((*(each.detach() for each in found), h.grad, w.grad))
        for mine, theirs in zip(*results, strict=True):
            assert torch.allclose(mine, theirs)
