"""MiniGrid's ids: the family that plays each of them, and the axes of the family that describe its levels."""

from __future__ import annotations

from typing import Any

_MAZES = {"1D": "one door", "2D": "two doors", "1Q": "quarter", "2Q": "half", "Full": "full"}


_WAVES = ("MazeSimple", "DungeonMazeScaled", "RoomsFabric", "ObstaclesBlackdots", "ObstaclesAngular", "ObstaclesHogs3")
_BABY_LEVELS = """
GoToRedBallGrey-v0 GoToRedBall-v0 GoToRedBallNoDists-v0 GoToRedBlueBall-v0 GoToObj-v0 GoToObjS4-v0 GoToObjS6-v1 GoTo-v0
GoToOpen-v0 GoToObjMaze-v0 GoToObjMazeOpen-v0 GoToObjMazeS4R2-v0 GoToObjMazeS4-v0 GoToObjMazeS5-v0 GoToObjMazeS6-v0
GoToObjMazeS7-v0 GoToImpUnlock-v0 GoToSeq-v0 GoToSeqS5R2-v0 GoToDoor-v0 GoToObjDoor-v0
Open-v0 OpenRedDoor-v0 OpenDoor-v0 OpenDoorDebug-v0 OpenDoorColor-v0 OpenDoorLoc-v0 OpenTwoDoors-v0 OpenRedBlueDoors-v0
OpenRedBlueDoorsDebug-v0 OpenDoorsOrderN2-v0 OpenDoorsOrderN4-v0 OpenDoorsOrderN2Debug-v0 OpenDoorsOrderN4Debug-v0
Pickup-v0 UnblockPickup-v0 PickupLoc-v0 PickupDist-v0 PickupDistDebug-v0 PickupAbove-v0
PutNextS4N1-v0 PutNextS5N1-v0 PutNextS5N2-v0 PutNextS6N3-v0 PutNextS7N4-v0 PutNextS5N2Carrying-v0 PutNextS6N3Carrying-v0
PutNextS7N4Carrying-v0 MoveTwoAcrossS5N2-v0 MoveTwoAcrossS8N9-v0
Unlock-v0 UnlockLocal-v0 UnlockLocalDist-v0 KeyInBox-v0 UnlockPickup-v0 UnlockPickupDist-v0 BlockedUnlockPickup-v0
UnlockToUnlock-v0 ActionObjDoor-v0 FindObjS5-v0 FindObjS6-v0 FindObjS7-v0
KeyCorridor-v0 KeyCorridorS3R1-v0 KeyCorridorS3R2-v0 KeyCorridorS3R3-v0 KeyCorridorS4R3-v0 KeyCorridorS5R3-v0
KeyCorridorS6R3-v0 OneRoomS8-v0 OneRoomS12-v0 OneRoomS16-v0 OneRoomS20-v0
Synth-v0 SynthS5R2-v0 SynthLoc-v0 SynthSeq-v0 MiniBossLevel-v0 BossLevel-v0 BossLevelNoUnlock-v0
"""
"""BabyAI ids whose levels our axes cannot describe."""


def _list_ids() -> dict[str, tuple[str, dict[str, Any]]]:
    found: dict[str, tuple[str, dict[str, Any]]] = {"FourRooms-v0": ("FourRooms", {"size": 19})}
    found |= {f"DoorKey-{n}x{n}-v0": ("DoorKey", {"size": n, "obstacles": 0}) for n in (5, 6, 8, 16)}
    found |= {f"LavaGapS{n}-v0": ("LavaGap", {"size": n, "rivers": 1, "hazard": "lava"}) for n in (5, 6, 7)}
    for size, rivers in ((9, 1), (9, 2), (9, 3), (11, 5)):
        for name, hazard in (("Lava", "lava"), ("Simple", "wall")):
            axes = {"size": size, "rivers": rivers, "hazard": hazard}
            found[f"{name}CrossingS{size}N{rivers}-v0"] = "LavaGap", axes
    found |= {f"DistShift{n}-v0": ("DistShift", {"width": 9, "row": row}) for n, row in ((1, 2), (2, 5))}
    # MiniGrid's N4-S5-v0 has six rooms; its v1 has four.
    for name, rooms, size in (("N2-S4-v0", 2, 4), ("N4-S5-v0", 6, 5), ("N4-S5-v1", 4, 5), ("N6-v0", 6, 10)):
        found[f"MultiRoom-{name}"] = "MultiRoom", {"rooms": rooms, "room_size": size}
    for name, task in (("Unlock", "open"), ("UnlockPickup", "pickup"), ("BlockedUnlockPickup", "blocked")):
        found[f"{name}-v0"] = "Unlock", {"task": task, "room_size": 6, "distractors": 0}
    for size, rows in ((3, 1), (3, 2), (3, 3), (4, 3), (5, 3), (6, 3)):
        found[f"KeyCorridorS{size}R{rows}-v0"] = "KeyCorridor", {"rows": rows, "room_size": size}
    for name, half in (("7", 3), ("9", 4), ("11", 5), ("13", 6), ("13Random", 6), ("17Random", 8)):
        length = "random" if name.endswith("Random") else "fixed"
        found[f"MemoryS{name}-v0"] = "HallwayMemory", {"half": half, "length": length}
    for size, balls in (("5x5", 2), ("Random-5x5", 2), ("6x6", 3), ("Random-6x6", 3), ("8x8", 4), ("16x16", 8)):
        axes = {"size": int(size.split("x")[-1]), "obstacles": balls}
        found[f"Dynamic-Obstacles-{size}-v0"] = "MovingObstacles", axes
    names = ("1Dl-v0", "1Dlh-v0", "1Dlhb-v0", "2Dl-v0", "2Dlh-v0")
    for name in (*names, *(f"{kind}-{v}" for kind in ("2Dlhb", "1Q", "2Q", "Full") for v in ("v0", "v1"))):
        kind = name.split("-")[0]
        boxed, blocked = ("h" in kind, "b" in kind) if kind[1] == "D" else (True, True)
        axes = {"maze": _MAZES[kind if kind == "Full" else kind[:2]], "keys": "boxed" if boxed else "open"}
        found[f"ObstructedMaze-{name}"] = "ObstructedMaze", {**axes, "doors": "blocked" if blocked else "clear"}
    for size in (5, 6, 8, 16):
        found[f"Empty-{size}x{size}-v0"] = "EmptyRoom", {"size": size}
    found |= {f"Empty-Random-{n}x{n}-v0": ("EmptyRoom", {"size": n}) for n in (5, 6)}
    for family, name, size, things in (
        *(("Fetch", "Fetch", size, things) for size, things in ((5, 2), (6, 2), (8, 3))),
        *(("GoToObject", "GoToObject", size, 2) for size in (6, 8)),
        *(("PutNear", "PutNear", size, things) for size, things in ((6, 2), (8, 3))),
    ):
        found[f"{name}-{size}x{size}-N{things}-v0"] = family, {"size": size, "things": things}
    found |= {f"GoToDoor-{n}x{n}-v0": ("GoToDoor", {"size": n}) for n in (5, 6, 8)}
    found |= {f"RedBlueDoors-{n}x{n}-v0": ("RedBlueDoors", {"size": n}) for n in (6, 8)}
    found |= {"LockedRoom-v0": ("LockedRoom", {"size": 19}), "Playground-v0": ("Playground", {})}
    found |= {f"WFC-{name}-v0": ("BlockMaze", {}) for name in _WAVES}
    found = {f"MiniGrid-{name}": row for name, row in found.items()}
    sizes = ((5, 2), (6, 2), (6, 3), (6, 4), (7, 4), (7, 5), *((8, n) for n in range(2, 8)))
    local = [("GoToLocal", f"S{size}N{things}", size, things) for size, things in sizes]
    local += [("PutNextLocal", f"S{size}N{things}", size, things) for size, things in ((5, 3), (6, 4))]
    local += [("GoToLocal", "", 8, 8), ("PutNextLocal", "", 8, 8)]
    for name, label, size, things in local:
        axes = {"kind": name.removesuffix("Local").lower(), "clauses": 1, "rooms": 1}
        found[f"BabyAI-{name}{label}-v0"] = "BabyAI", {**axes, "room_size": size, "distractors": things}
    return found | {f"BabyAI-{name}": ("BabyAI", {}) for name in _BABY_LEVELS.split()}


MINIGRID_IDS = _list_ids()
"""MiniGrid id -> (our family, values of its axes); the axes are empty if they cannot describe the id's levels."""
ONE_LEVEL = (
    *("MiniGrid-DistShift1-v0", "MiniGrid-DistShift2-v0"),
    *(f"MiniGrid-Empty-{size}x{size}-v0" for size in (5, 6, 8, 16)),
)
"""Ids with a single level, independent of the seed."""
