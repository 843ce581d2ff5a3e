"""T6: box teachers on random spaces: hypercube students of random dimension, grain, speed and defects.

`draw_space` draws one from a seed. The table has seeds 0 to `SPACES` - 1; teachers must be tuned on other seeds, so
that none is fitted to a row of the table. The teacher "palaestra" was tuned on spaces 1000 to 1030 with student seed
100, and on the same student seed with the settings of T1.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from ..students import HypercubeStudent
from ..students.hypercube import UNLOCK
from . import hypercube
from .table import OURS, Table, keep_registered

SPACES = 18
MOST_CUBES = 1000  # except with 5 or 6 axes, whose 4 cells each already make 1024 or 4096
MOST_EPISODES = 40_000  # larger spaces get a faster student
ROOM = 2.5  # episodes of a run, in multiples of what an omniscient teacher needs
GAINS = (1, 2, 5, 10, 25)
NOISES = ("none", "none", "gaussian", "bernoulli")


def draw_space(seed: int) -> dict[str, Any]:
    """Return random options of a `HypercubeStudent`, with the "length" of its run in episodes, and in one of six cases
    "forget_after", a share of the run.

    1 to 6 axes in turn, each cut into 4 to 20 cells; 0 to 6 idle axes; 0 to 30 % of the cubes unlearnable (none on a
    single axis, which they would cut in two), scattered or in one box, returning 0 or coin flips; normal noise of
    standard deviation 0.05 to 0.15 in one of four, returns of 0 or 1 in another; students that master a cube in 76, 38,
    16, 8 or 4 tasks.
    """
    rng = np.random.default_rng([6, seed])
    dimensions = 1 + seed % 6
    cubes = [4] * dimensions
    for axis in rng.permutation(dimensions):
        most = max(4.0, min(20.0, 4 * MOST_CUBES / math.prod(cubes)))
        cubes[axis] = round(4 * (most / 4) ** float(rng.random()))
    share = float(rng.uniform(0.0, 0.3)) if dimensions > 1 else 0.0
    unlearnable: Any = round(share, 2)
    if dimensions > 1 and rng.random() < 0.5:
        side = share ** (1 / dimensions)
        low = rng.uniform(0.0, 1.0 - side, dimensions)
        unlearnable = [[np.round(low, 2).tolist(), np.round(low + side, 2).tolist()]]
    options: dict[str, Any] = {
        "dimensions": dimensions,
        "cubes": cubes,
        "irrelevant": int(rng.integers(0, 7)),
        "unlearnable": unlearnable,
        "unlearnable_return": str(rng.choice(["zero", "coin"])),
        "noise": str(rng.choice(NOISES)),
        "scale": round(float(rng.uniform(0.05, 0.15)), 2),
    }
    slowest, forgets = int(rng.choice(GAINS[:3])), bool(rng.random() < 1 / 6)
    reachable = HypercubeStudent(**options, seed=seed).reachable
    lengths = {gain: ROOM * reachable * (UNLOCK // gain + 1) for gain in GAINS}
    gain = next((g for g in GAINS if g >= slowest and lengths[g] <= MOST_EPISODES), GAINS[-1])
    options |= {"gain": gain, "length": round(lengths[gain])}
    return options | ({"forget_after": 0.4} if forgets else {})


def describe_space(options: Mapping[str, Any]) -> str:
    """Return one line of text on a space."""
    cubes, share = " x ".join(map(str, options["cubes"])), options["unlearnable"]
    parts = [f"{cubes} cells" if options["dimensions"] > 1 else f"a line of {cubes} cells"]
    if options["irrelevant"]:
        parts.append(f"{options['irrelevant']} idle ax{'is' if options['irrelevant'] == 1 else 'es'}")
    if share:
        kind = "a box of" if isinstance(share, list) else f"{share:.0%} scattered"
        parts.append(f"{kind} unlearnable cells returning {options['unlearnable_return']}")
    if options["noise"] != "none":
        parts.append("returns of 0 or 1" if options["noise"] == "bernoulli" else f"normal noise of {options['scale']}")
    parts.append(f"{UNLOCK // options['gain'] + 1} tasks a cell, {options['length']:,} in all")
    return "; ".join(parts) + ("; all is forgotten after 40 %" if "forget_after" in options else "")


SETTINGS = {f"space-{number:02}": draw_space(number) for number in range(SPACES)}

TABLE = Table(
    name="T6",
    title="Students on irregular spaces",
    about=(
        "As in T1, tasks are points of a space cut into cells that open up one after the other; but the spaces were "
        "drawn by chance (1 to 6 axes of 4 to 20 cells, idle axes, cells that are never learned, noise, forgetting, "
        "students of different speed), and a run has 2.5 times the episodes that an omniscient teacher needs, some "
        "hundred to forty thousand. The score is the share of the learnable cells mastered at the end, of which the "
        "oracle, which looks into the student, reaches all."
    ),
    settings=SETTINGS,
    notes={name: describe_space(options) for name, options in SETTINGS.items()},
    run=hypercube.TABLE.run,
    teachers=lambda: [*hypercube.TEACHERS, *keep_registered(OURS), "oracle"],
    kinds=hypercube.TABLE.kinds,
    length="episodes",
    score="cells mastered",
    x="episodes",
    curve="cells mastered",
    seeds=5,
    own=hypercube.TABLE.own,
    rows=hypercube.TABLE.rows,
    further=hypercube.TABLE.further,
)
