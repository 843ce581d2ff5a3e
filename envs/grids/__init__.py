"""Gridworlds of MiniGrid, and the same worlds in text. MiniGrid is imported only when one of its own is made."""

from __future__ import annotations

from ..registration import register

register("palaestra/DoorKey-v0", f"{__name__}.door_key:DoorKey")
register("palaestra/DoorKeyText-v0", f"{__name__}.door_key_text:DoorKeyText")
