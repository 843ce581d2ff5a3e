"""The published level buffers as settings of `LevelTeacher`, with their papers' defaults.

If a paper has several settings, the presets follow its maze experiments. Level buffers were published with an
actor-critic student; if its measurements are missing, scores are computed from returns (see `scores`).
"""

from __future__ import annotations

from ..registration import Preset
from .replay import LevelTeacher

# Procgen, section 4 of the paper; every level is trained on from the first. The released code replays nothing until all
# levels were seen unless configured otherwise; the paper's rule has no such threshold.
_PLR = {
    "score": "value_l1",
    "temperature": 0.1,
    "staleness": 0.1,
    "replay_rule": "proportionate",
    "replay_prob": 1.0,
    "min_fill": 0.0,
    "train_on_new": True,
}
# Mazes of 60 blocks in dcd.
_ACCEL = {"replay_prob": 0.8, "edits": 5}

Preset("plr", LevelTeacher, "Prioritized level replay by mean |GAE|.", "2010.03934", **_PLR)
Preset(
    "plr-td",
    LevelTeacher,
    "Prioritized level replay by one-step TD error.",
    "2010.03934",
    **{**_PLR, "score": "one_step_td"},
)
Preset(
    "plr-entropy",
    LevelTeacher,
    "Prioritized level replay by the policy's entropy.",
    "2010.03934",
    **{**_PLR, "score": "policy_entropy"},
)
Preset(
    "plr-least-confidence",
    LevelTeacher,
    "Prioritized level replay by 1 - max pi.",
    "2010.03934",
    **{**_PLR, "score": "least_confidence"},
)
Preset(
    "plr-min-margin",
    LevelTeacher,
    "Prioritized level replay by how close the two likeliest actions are.",
    "2010.03934",
    **{**_PLR, "score": "min_margin"},
)
Preset(
    "robust-plr",
    LevelTeacher,
    "Prioritized level replay that learns on replayed levels only (PLR-perp).",
    "2110.02439",
)
Preset(
    "plr-maxmc",
    LevelTeacher,
    "Robust level replay by the best return minus the expected one.",
    "2110.02439",
    score="max_mc",
    temperature=0.1,
)
Preset("accel", LevelTeacher, "Robust level replay that edits its easiest levels.", "2203.01302", **_ACCEL)
# SFL, single-agent JaxNav: 5 x 1000 levels evaluated, 100 kept, every 50 updates of 256 environments. The number of
# episodes per evaluation is not fixed there (1000 steps each); 8 is chosen here.
Preset(
    "sfl",
    LevelTeacher,
    "Sampling for learnability: half of all tasks from the best by p (1 - p) of a large sample.",
    "2408.15099",
    score="learnability",
    transform="constant",
    temperature=1.0,
    staleness=0.0,
    priority="score",
    capacity=100,
    min_fill=0.0,
    resample=(5000, 12_800),
    rollouts=8,
)
# Meta-learning trains on new levels too. The released code replays as soon as a batch of levels was scored.
Preset(
    "groove",
    LevelTeacher,
    "Level replay by the return that an antagonist gets and the student does not.",
    "2310.02782",
    score="regret",
    temperature=1.0,
    staleness=0.0,
    priority="score",
    min_fill=0.0,
    train_on_new=True,
)
Preset(
    "traced",
    LevelTeacher,
    "ACCEL by value loss and the loss of a model of transitions, with co-learnability.",
    "2506.19997",
    **_ACCEL,
    score="traced",
    co_learnability=1.0,
)
Preset(
    "mna",
    LevelTeacher,
    "Robust level replay by maximised negative advantage.",
    "2601.14957",
    score="mna",
    temperature=1.0,
    capacity=8000,
)
