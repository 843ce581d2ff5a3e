"""Producers of measures: measurements of an episode for rewards and teachers (see `producer`).

One file per kind. A producer of one number from one trajectory is a function under `measure_of`. A producer that
queries the policy, another model or a judge is registered with `produces`. A producer that owns weights is a class
with `attach`, `follow`, `state` and `load` (see `averages`). A reward sets options of the producers that it needs by
`Reward.measure_options`; ``--measures`` sets them for a run. `influence` measures a whole training batch instead.
"""
