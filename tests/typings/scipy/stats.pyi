from typing import Any

t: Any
