"""The table of ``palaestra bench processes``, and the episodes that it trains on."""

from __future__ import annotations

import pytest
from palaestra.errors import InputError
from palaestra.scripts.bench.processes import ProcessesBenchOptions, format_table, make_groups


def test_ratios_are_those_of_the_medians():
    times = {"one process": [(2.0, 2.0), (4.0, 4.0), (9.0, 6.0)], "2 processes": [(1.0, 1.0), (2.5, 1.0), (3.0, 2.0)]}
    rows = [
        {"side": side, "round": turn, "seconds": seconds, "leader_cpu_s": used}
        for side, values in times.items()
        for turn, (seconds, used) in enumerate(values)
    ]
    training, used = format_table(ProcessesBenchOptions(), rows).splitlines()[2:]
    assert training == "| training, ms | 4,000 | 2,500 | **1.60** (1.80 to 2.50) |"
    assert used == "| the leader's processor time, ms | 4,000 | 1,000 | **4.00** (2.50 to 3.50) |"


def test_every_group_has_something_to_learn_from():
    groups = make_groups(ProcessesBenchOptions(prompts=3, samples=4, prompt_tokens=5, new_tokens=6))
    assert [len(group.trajectories) for group in groups] == [4, 4, 4]
    for group in groups:
        assert len({trajectory.turns[0].obs_ids for trajectory in group.trajectories}) == 1
        assert sorted(trajectory.turns[0].reward for trajectory in group.trajectories) == [0.0, 0.25, 0.5, 0.75]
        assert {len(trajectory.turns[0].act_ids) for trajectory in group.trajectories} == {6}


def test_one_process_alone_is_refused():
    with pytest.raises(InputError, match=r"processes.* 2.*1"):
        ProcessesBenchOptions(processes=1)
