from __future__ import annotations

import json
import pickle

import pytest
import torch
from palaestra.rewards.models.saved_tensors import pack_tensors, unpack_tensors


def test_a_state_survives_json():
    state = {"net": {"weight": torch.arange(6.0).reshape(2, 3)}, "waiting": None, "rows": [torch.tensor([1, 2])]}
    found = unpack_tensors(json.loads(json.dumps(pack_tensors(state))))
    assert torch.equal(found["net"]["weight"], state["net"]["weight"])
    assert torch.equal(found["rows"][0], state["rows"][0])
    assert found["waiting"] is None
    assert pack_tensors(found) == pack_tensors(state)


class Other:
    """No tensor."""


def test_nothing_but_tensors_and_plain_data_is_read():
    with pytest.raises(pickle.UnpicklingError):
        unpack_tensors(pack_tensors(Other()))
