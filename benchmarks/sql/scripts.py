"""Error rates of the grader of scripts, on statements made from those of SQLChange and SQLSchema."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any

import gymnasium as gym

from ...envs.sql.engines import QueryLimits, grade_script, make_engine
from ...envs.sql.engines.dialects import translate_statement
from ..harness import require, track
from .labels import LabelledQuery
from .verdicts import Verdicts, count_verdict

# PostgreSQL's time is that of the clock: a busy machine must not make a right script late.
_LIMITS = QueryLimits(60.0)
FAMILIES = ("SQLChange", "SQLSchema")


def grade_scripts(
    engines: tuple[str, ...], tasks: int, contents: int, seed: int, difficulties: tuple[float, ...]
) -> tuple[list[Verdicts], Counter[str]]:
    """Let the grader judge the scripts of all tasks. Return its counts for each family and engine, and the number of
    scripts that count neither as right nor as wrong, by the way they were made."""
    require("'palaestra bench sql'", "sql", "sqlglot")
    undecided: Counter[str] = Counter()
    found = []
    for family in FAMILIES:
        for engine in engines:
            verdicts = Verdicts(f"{family}, {engine}")
            env: Any = gym.make(
                f"palaestra/{family}-v0", engine=engine, split="all", disable_env_checker=True
            ).unwrapped
            for place in track(range(tasks), f"grading {family}"):
                # Half of the tasks have a difficulty, and half of them are drawn from all kinds.
                asked = {"difficulty": difficulties[place % len(difficulties)]} if place % 2 else {}
                env.reset(seed=seed + place, options=asked)
                known, gold = env.here().data, env.here().reference
                skipped = undecided if engine == engines[0] else Counter()
                for one in _label(family, known, gold, engine, contents, skipped):
                    schema = known.schema.ddl_for(make_engine(engine).dialect)
                    verdict = grade_script(one.text, known.cases, engine=engine, schema=schema, limits=_LIMITS)
                    count_verdict(verdicts, one, verdict.success, gold)
            found.append(verdicts)
    return found, undecided


def _label(
    family: str, known: Any, gold: str, engine: str, contents: int, undecided: Counter[str]
) -> Iterator[LabelledQuery]:
    dialect = make_engine(engine).dialect
    if family == "SQLSchema":
        from .schema_variants import label_definitions

        yield from label_definitions(known.definition, gold.removesuffix(";").split(";\n"), dialect)
        return
    from .change_variants import label_changes

    for one in label_changes(known, contents, undecided):
        text = ";\n".join(translate_statement(part, dialect) for part in one.text.split(";\n"))
        yield LabelledQuery(one.made, text, one.right)
