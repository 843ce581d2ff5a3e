"""SQLRepair: what is shown is wrong as the prompt says, and the right query is right."""

from __future__ import annotations

from collections import Counter
from typing import Any

import gymnasium as gym
import pytest
from palaestra.envs.sql.outcomes import describe_rows, try_query
from palaestra.errors import InputError


@pytest.mark.parametrize("fault", ["error", "result"])
def test_the_query_shown_is_wrong_in_the_way_that_the_prompt_tells(fault: str):
    env: Any = gym.make("palaestra/SQLRepair-v0", disable_env_checker=True, fault=fault).unwrapped
    mistakes = Counter()
    for seed in range(40):
        prompt, info = env.reset(seed=seed, options={"difficulty": 0.2 + seed / 80})
        known = env.here().data
        assert f"```sql\n{known.wrong}\n```\n{known.outcome}\n" in prompt
        outcomes = [try_query(known.wrong, database) for database, _ in known.witnesses.expected]
        if fault == "error":
            assert outcomes[0].error == known.outcome
        else:
            shown = {describe_rows(outcome.rows, 3) for outcome in outcomes if outcome.rows is not None}
            assert known.outcome.removeprefix("It runs, but its result is wrong. On one database: ") in shown
        mistakes[info["extras"]["solution_steps"][0].split(" ")[-1]] += 1
        state = env.get_state()
        for right, query in ((False, known.wrong), (True, known.query.sql())):
            env.set_state(state)
            assert env.step(f"```sql\n{query}\n```")[4]["is_success"] is right
    assert len(mistakes) > 3


def test_long_prompts_leave_the_sample_rows_out():
    env: Any = gym.make("palaestra/SQLRepair-v0", disable_env_checker=True, difficulty=1.0).unwrapped
    prompts = [env.reset(seed=seed)[0] for seed in range(12)]
    with_rows = [len(prompt) for prompt in prompts if "\n-- 1, " in prompt]
    assert 0 < len(with_rows) < len(prompts)
    assert max(with_rows) <= 2_000


def test_other_engines_are_refused_with_the_reason():
    with pytest.raises(InputError, match="engine must be 'sqlite', not 'duckdb'"):
        gym.make("palaestra/SQLRepair-v0", engine="duckdb")
    with pytest.raises(InputError, match="engine must be 'sqlite', not 'duckdb'"):
        gym.make("palaestra/SQLExplorer-v0", of_kwargs={"engine": "duckdb"})
