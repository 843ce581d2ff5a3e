"""Gridworlds: MiniGrid's, and the same worlds in words. MiniGrid is imported only when an env of its own is made."""

from __future__ import annotations

from ..registration import register

register("palaestra/DoorKey-v0", f"{__name__}.door_key:DoorKey")
register("palaestra/DoorKeyText-v0", f"{__name__}.door_key_text:DoorKeyText")
