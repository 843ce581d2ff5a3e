"""Producers of measures: what the learner finds out about an episode for rewards and teachers (see `instruments`).

One file a kind. A producer of one number from one trajectory is a function under `measure_of`; one that asks the
policy, another model or a judge is registered with `produces`. One that owns weights is a class with `attach`,
`follow`, `state` and `load` (see `averages`). A reward sets options of the producers that it needs by
`Reward.measure_options`; ``--measures`` sets them for a run. `influence` measures a whole training batch instead.
"""
