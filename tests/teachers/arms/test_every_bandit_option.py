"""Options out of range of the bandits dump, exp3, exp3.s, odm and thompson."""

from __future__ import annotations

import gymnasium as gym
import pytest
from palaestra.errors import InputError
from palaestra.teachers import make


def arms(name, n=2, **options):
    return make(name, gym.spaces.Discrete(n), **options)


@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("dump", {"window": 0}),
        ("dump", {"tau": 0.0}),
        ("dump", {"counts": "tokens"}),
        ("exp3.s", {"eta": -1.0}),
        ("exp3.s", {"sharing": 1.5}),
        ("exp3.s", {"importance": "none"}),
        ("exp3.s", {"payoff": "loss"}),
        ("exp3", {"reservoir": 1}),
        ("odm", {"alpha": 1.1}),
        ("odm", {"group": 1}),
        ("thompson", {"target": 1.2}),
        ("thompson", {"prior": (0.0, 1.0)}),
        ("thompson", {"decay": 0.0}),
        ("thompson-progress", {"gamma": 0.0}),
        ("thompson-progress", {"scale": 0.0}),
    ],
)
def test_options_out_of_range_are_refused(name, options):
    with pytest.raises(InputError, match=next(iter(options))):
        arms(name, **options)
