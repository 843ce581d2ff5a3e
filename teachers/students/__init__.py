"""Students to test and compare teachers on: simulated ones, whose dynamics are known and cost nothing, and small real
ones that play environments."""

from __future__ import annotations

from .categories import CategoryStudent
from .hypercube import HypercubeStudent
from .items import ItemStudent
from .ppo import PPOStudent
from .tabular import TabularStudent

__all__ = ["CategoryStudent", "HypercubeStudent", "ItemStudent", "PPOStudent", "TabularStudent"]
