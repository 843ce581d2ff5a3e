"""Students on which teachers are tested and compared: simulated students, whose dynamics are known and cheap to
compute, and small real learners that play environments."""

from __future__ import annotations

from .categories import CategoryStudent
from .hypercube import HypercubeStudent
from .items import ItemStudent
from .ppo import PPOStudent
from .tabular import TabularStudent

__all__ = ["CategoryStudent", "HypercubeStudent", "ItemStudent", "PPOStudent", "TabularStudent"]
