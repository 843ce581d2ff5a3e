"""Every quantity that any registered piece reads or makes is a row of the table of measures, and has a source."""

from __future__ import annotations

import pytest
from palaestra.agents.grpo.batch.scored import needs_of
from palaestra.agents.grpo.recipes.stages import PRODUCERS, STAGES
from palaestra.errors import InputError
from palaestra.rewards import REWARDS
from palaestra.rewards.measures import MEASURES
from palaestra.scripts.list_measures import _environments, _list_all, _teachers
from palaestra.teachers.levels.scores import LEVEL_SCORES


@pytest.fixture(scope="module")
def rows():
    return {row["name"]: row for row in _list_all()}


def test_every_measure_has_a_supplier_or_says_what_must_be_brought(rows):
    assert [name for name, row in rows.items() if row["supplied by"] == ["the caller"]] == []
    assert rows["token_episode"]["supplied by"] == ["to be brought: a reward model with tokens of its own, prm="]
    assert REWARDS["implicit-process"].user_supplies == "a reward model with tokens of its own, prm="
    brought = {name: measure.user_supplies for name, measure in MEASURES.items() if measure.user_supplies}
    assert {name: rows[name]["supplied by"] for name in brought} == {
        n: [f"to be brought: {w}"] for n, w in brought.items()
    }


def test_what_can_be_trained_at_once_is_supplied_by_the_learner_or_an_environment(rows):
    for name in ("logps_without_prompt", "gradient_features", "token_confidence", "base_logps", "transition_loss"):
        assert rows[name]["supplied by"] == [f"measures {name}"]
    assert rows["pair"]["supplied by"] == ["rollout paired_rephrase"]
    assert rows["gradient_influence"]["needed by"] == ["reward gradient-influence"]


@pytest.mark.parametrize("name", sorted(REWARDS))
def test_what_a_reward_reads_is_in_the_table(name):
    try:
        reward = REWARDS.make(name)
    except InputError:  # it needs arguments: a composite has the needs of its parts
        return
    assert {*reward.needs, *reward.update_measures, *reward.measure_options} <= set(MEASURES)


def test_what_anything_else_names_is_in_the_table():
    named = {f"level score {name}": score.needs for name, score in LEVEL_SCORES.items()}
    for stage, registry in STAGES.items():
        for name, target in registry.items():
            provided = getattr(target, "provides", ())
            named[f"{stage} {name}"] = {*needs_of(target), *(provided if isinstance(provided, frozenset) else ())}
    unknown = {who: missing for who, names in named.items() if (missing := set(names) - set(MEASURES))}
    assert unknown == {}


def test_environments_and_teachers_name_rows_of_the_table():
    unknown = {
        who: missing for who, names in (*_environments(), *_teachers()) if (missing := set(names) - set(MEASURES))
    }
    assert unknown == {}


def test_one_producer_makes_a_measure_or_the_one_of_its_name_comes_first():
    makers: dict[str, list[str]] = {}
    for name, producer in PRODUCERS.items():
        for measure in producer.provides:
            makers.setdefault(measure, []).append(name)
    assert {measure: names for measure, names in makers.items() if len(names) > 1 and measure not in names} == {}
