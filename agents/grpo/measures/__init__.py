"""Producers of measures: measurements of an episode that rewards and teachers read (see `producer`).

One file per kind. A function that computes one number from one trajectory is registered with `measure_of`; one that
queries the policy, another model or a judge with `produces`. A producer that owns weights is a class with `attach`,
`follow`, `state` and `load` (see `averages`). A reward sets options of the producers that it needs by
`Reward.measure_options`; ``--measures`` sets them for a run. `influence` measures a whole training batch instead.
"""
