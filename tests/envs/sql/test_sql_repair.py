"""SQLRepair: what is shown is wrong as the prompt says, and the right query is right."""

from __future__ import annotations

from collections import Counter
from typing import Any

import gymnasium as gym
import pytest
from palaestra.envs.sql.outcomes import describe_rows, try_query

from .engines.engines import env_or_skip, every_engine


@every_engine
@pytest.mark.parametrize("fault", ["error", "result"])
def test_the_query_shown_is_wrong_in_the_way_that_the_prompt_tells(fault: str, engine: str):
    """The error or the rows are those of the engine itself."""
    env = env_or_skip(engine, "SQLRepair", fault=fault, split="train")
    mistakes = Counter()
    number = 40 if engine == "sqlite" else 12
    for seed in range(number):
        prompt, info = env.reset(seed=seed, options={"difficulty": 0.2 + seed / number / 2})
        known = env.here().data
        assert f"```sql\n{known.wrong}\n```\n{known.outcome}\n" in prompt
        outcomes = [try_query(known.wrong, env.load(known, database)) for database, _ in known.witnesses.expected]
        if fault == "error":
            assert outcomes[0].error == known.outcome
        else:
            shown = {describe_rows(outcome.rows, 3) for outcome in outcomes if outcome.rows is not None}
            assert known.outcome.removeprefix("It runs, but its result is wrong. On one database: ") in shown
        mistakes[info["extras"]["solution_steps"][0]] += 1
        state = env.get_state()
        for right, query in ((False, known.wrong), (True, env.gold_query(env.here()))):
            env.set_state(state)
            assert env.step(f"```sql\n{query}\n```")[4]["is_success"] is right
    assert len(mistakes) > 3


@every_engine
def test_an_error_is_told_in_the_words_of_the_engine(engine: str):
    env = env_or_skip(engine, "SQLRepair", fault="error", difficulty=0.0)
    told = {"sqlite": "no such", "duckdb": "does not exist!", "postgres": "relation"}
    assert any(told[engine] in env.reset(seed=seed)[0] for seed in range(12))


def test_long_prompts_leave_the_sample_rows_out():
    env: Any = gym.make("palaestra/SQLRepair-v0", disable_env_checker=True, difficulty=0.6).unwrapped
    prompts = [env.reset(seed=seed)[0] for seed in range(30)]
    with_rows = [len(prompt) for prompt in prompts if "\n-- 1, " in prompt]
    assert 0 < len(with_rows) < len(prompts)
    assert max(with_rows) <= 2_000


@pytest.mark.parametrize("construct", ["self", "children", "recursive", "view", "note", "dirty"])
def test_mistakes_of_constructs_are_shown_and_told(construct: str):
    env: Any = gym.make("palaestra/SQLRepair-v0", constructs=construct, fault="result", split="all").unwrapped
    mistakes = set()
    for seed in range(40):
        env.reset(seed=seed, options={"difficulty": 0.2})
        state = env.get_state()
        mistakes.add(env.here().data.mistake)
        assert not env.step(f"```sql\n{env.here().data.wrong}\n```")[4]["is_success"]
        env.set_state(state)
        assert env.step(env.oracle())[4]["is_success"]
    own = {"self": "other rows", "children": "several times", "recursive": "hierarchy", "dirty": "tidy"}
    assert any(own.get(construct, construct) in mistake for mistake in mistakes)
