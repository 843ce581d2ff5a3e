"""The table of ``palaestra bench processes``, and the episodes that it trains on."""

from __future__ import annotations

import pytest
from palaestra.benchmarks.processes import ProcessesBenchOptions, draw_groups, format_table, take_turn
from palaestra.errors import InputError
from palaestra.scripts.train_ranks import run_in_processes


def test_ratios_are_those_of_equal_updates_and_memory_is_the_largest():
    times = {
        "one process": [(2.0, 2.0), (4.0, 4.0), (9.0, 6.0)],
        "2 processes": [(1.0, 1.0), (2.5, 1.0), (3.0, 2.0)],
        "2 processes, --shard": [(4.0, 4.0), (5.0, 8.0), (9.0, 8.0)],
    }
    memory = {"one process": [[80.0]] * 3, "2 processes": [[90.0, 40.0], [100.0, 50.0], [80.0, 60.0]]}
    memory["2 processes, --shard"] = [[40.0, 20.0]] * 3
    rows = [
        {"side": side, "round": turn, "seconds": seconds, "leader_cpu_s": used, "memory_mib": memory[side][turn]}
        for side, values in times.items()
        for turn, (seconds, used) in enumerate(values)
    ]
    training, used, first, others = format_table(ProcessesBenchOptions(), rows).splitlines()[2:]
    assert training == "| training, ms | 4,000 | 2,500 | **2.00** (1.80 to 2.50) |"
    assert used == "| the leader's processor time, ms | 4,000 | 1,000 | **3.00** (2.50 to 3.50) |"
    assert first == "| memory of the first process, MiB | 80 | 100 | 0.80 |"
    assert others == "| the largest of the others, MiB | | 60 | 1.33 |"
    heading, rule, training, *_, others = format_table(ProcessesBenchOptions(shard=True), rows).splitlines()
    assert heading.endswith("| one process | 2 processes | ratio | 2 processes, --shard | ratio |")
    assert rule.count("---:") == 5
    assert training.endswith("| 5,000 | **0.80** (0.65 to 0.90) |")
    assert others == "| the largest of the others, MiB | | 60 | 1.33 | 20 | 4.00 |"


def test_two_processes_take_updates_of_a_model_that_is_split():
    sizes = {"prompts": 2, "samples": 2, "prompt_tokens": 4, "new_tokens": 4, "layers": 1, "hidden": 64}
    options = ProcessesBenchOptions(shard=True, updates=2, warmup=0, **sizes)
    rows = run_in_processes(take_turn, (options, "2 processes, --shard"), 2)
    assert len(rows) == 2
    assert all(row["seconds"] > 0 and row["leader_cpu_s"] > 0 for row in rows)
    assert [len(row["memory_mib"]) for row in rows] == [2, 2]
    assert min(rows[0]["memory_mib"]) > 1.0


def test_every_group_has_something_to_learn_from():
    groups = draw_groups(ProcessesBenchOptions(prompts=3, samples=4, prompt_tokens=5, new_tokens=6))
    assert [len(group.trajectories) for group in groups] == [4, 4, 4]
    for group in groups:
        assert len({trajectory.turns[0].obs_ids for trajectory in group.trajectories}) == 1
        assert sorted(trajectory.turns[0].reward for trajectory in group.trajectories) == [0.0, 0.25, 0.5, 0.75]
        assert {len(trajectory.turns[0].act_ids) for trajectory in group.trajectories} == {6}


def test_one_process_alone_is_refused():
    with pytest.raises(InputError, match=r"processes.* 2.*1"):
        ProcessesBenchOptions(processes=1)
    with pytest.raises(InputError, match="hidden must be a multiple of 64, not 100"):
        ProcessesBenchOptions(hidden=100)
