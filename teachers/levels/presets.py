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

Preset(
    "plr",
    LevelTeacher,
    "Prioritized level replay by mean |GAE|.",
    "2010.03934",
    when="Generated levels of mixed difficulty, a critic, and a generalisation gap: levels on which the critic errs "
    "are replayed.",
    **_PLR,
)
Preset(
    "plr-td",
    LevelTeacher,
    "Prioritized level replay by one-step TD error.",
    "2010.03934",
    when="To compare with: one-step errors of the critic as the score, which followed regret worst in our table of "
    "scores.",
    **{**_PLR, "score": "one_step_td"},
)
Preset(
    "plr-entropy",
    LevelTeacher,
    "Prioritized level replay by the policy's entropy.",
    "2010.03934",
    when="Level replay without a critic: it replays where the policy is undecided.",
    **{**_PLR, "score": "policy_entropy"},
)
Preset(
    "plr-least-confidence",
    LevelTeacher,
    "Prioritized level replay by 1 - max pi.",
    "2010.03934",
    when="Level replay without a critic: it replays where the likeliest action is least likely.",
    **{**_PLR, "score": "least_confidence"},
)
Preset(
    "plr-min-margin",
    LevelTeacher,
    "Prioritized level replay by how close the two likeliest actions are.",
    "2010.03934",
    when="Level replay without a critic: it replays where two actions compete.",
    **{**_PLR, "score": "min_margin"},
)
Preset(
    "robust-plr",
    LevelTeacher,
    "Prioritized level replay that learns on replayed levels only (PLR-perp).",
    "2110.02439",
    when="Levels for a policy that must hold in the worst case: it learns on replayed levels only, at the price of "
    "episodes that are only evaluated.",
)
Preset(
    "plr-maxmc",
    LevelTeacher,
    "Robust level replay by the best return minus the expected one.",
    "2110.02439",
    when="Level replay with rare rewards: the best return so far stands for the optimum. A poor critic makes it "
    "prefer levels without anything to gain.",
    score="max_mc",
    temperature=0.1,
)
Preset(
    "accel",
    LevelTeacher,
    "Robust level replay that edits its easiest levels.",
    "2203.01302",
    when="Levels that small edits make harder, such as mazes, and a critic: difficulty grows from easy levels "
    "without a generator of hard ones.",
    **_ACCEL,
)
# SFL, single-agent JaxNav: 5 x 1000 levels evaluated, 100 kept, every 50 updates of 256 environments. The number of
# episodes per evaluation is not fixed there (1000 steps each); 8 is chosen here.
Preset(
    "sfl",
    LevelTeacher,
    "Sampling for learnability: half of all tasks from the best by p (1 - p) of a large sample.",
    "2408.15099",
    when="Success is yes or no and rollouts are cheap: it screens thousands of levels for those that are solved "
    "about half of the time.",
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
    when="A second student is trained beside the first, so that the gap between the two can be measured.",
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
    when="As `accel`, with a model of transitions to measure, where practice on one level helps on others.",
    **_ACCEL,
    score="traced",
    co_learnability=1.0,
)
Preset(
    "mna",
    LevelTeacher,
    "Robust level replay by maximised negative advantage.",
    "2601.14957",
    when="As `robust-plr`, where values are noisy: it scores a level by the largest negative advantage, which "
    "followed exact regret best in our table.",
    score="mna",
    temperature=1.0,
    capacity=8000,
)
