"""The names of mpmath that this project uses: its source states no types."""

from typing import Any

mp: Any
