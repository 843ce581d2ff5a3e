"""Questions made from other questions: the same task in another form. `transform.Transform` is their base class.

env = gym.make("palaestra/MultipleChoice-v0", of="palaestra/Sudoku-v0", of_kwargs={"size": 4}, options=4)
env = gym.make("palaestra/HintPrefix-v0", of="palaestra/WordProblem-v0", split="test", hint=0.5)
"""

from __future__ import annotations

from ..registration import import_families

import_families(__name__, __path__)
