"""Games of memory: texts arrive one by one, the agent keeps a memory, and questions at the end are answered from it."""

from __future__ import annotations

from ..registration import import_families

import_families(__name__, __path__)
