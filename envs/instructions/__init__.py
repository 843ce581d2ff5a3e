"""Tasks that ask for a certain conduct: texts that keep instructions on their form, calls of the right tools, and
requests of which a policy forbids some."""

from __future__ import annotations

from ..registration import import_families

import_families(__name__, __path__)
