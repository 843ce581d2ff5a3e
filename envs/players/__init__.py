"""Games of two seats, solved exactly: cards and dice with hidden hands, and boards in full view.

`table_game` has the rules of a game (`TableGame`, the same for an environment of one seat, for PettingZoo and for
solvers), `hidden_game` games with hidden hands, their best responses and equilibria, and `seat_env` the environment in
which an agent has one seat.
"""

from __future__ import annotations

from ..registration import import_families

import_families(__name__, __path__)
