"""The tables' own parts: what names a teacher, intervals, and the figures that T2, T3 and T4 report."""

from __future__ import annotations

import math

import numpy as np
import pytest
from palaestra.errors import InputError
from palaestra.estimates import MeanEstimate
from palaestra.teachers import TEACHERS, make
from palaestra.teachers.benchmarks import categories, cost, hypercube, irregular, regret, selection, statistics, table
from palaestra.teachers.random import RandomTeacher
from palaestra.teachers.students import CategoryStudent, ItemStudent

TABLES = (hypercube.TABLE, cost.TABLE, categories.TABLE, selection.TABLE, regret.TABLE, irregular.TABLE)


def test_a_name_is_followed_by_options():
    assert table.parse_teacher("alp-gmm history=250 components=[3] x=text") == (
        "alp-gmm",
        {"history": 250, "components": [3], "x": "text"},
    )
    with pytest.raises(InputError, match="option=value"):
        table.parse_teacher("alp-gmm 250")


def test_the_options_of_a_record_are_those_of_the_constructor_and_those_given():
    found = table.resolve_options("sec tau=0.2")
    assert (found["tau"], found["alpha"], found["absent"]) == (0.2, 0.5, "hold")
    assert "seed" not in found


@pytest.mark.parametrize("name", ["no_such_module:X", "palaestra.teachers:Nothing", "palaestra.teachers:__doc__"])
def test_what_cannot_be_imported_or_called_is_one_sentence(name):
    with pytest.raises(InputError, match=name.partition(":")[0]):
        table.find_factory(name)


@pytest.mark.parametrize("each", TABLES, ids=lambda each: each.name)
def test_every_default_teacher_is_there_and_fits(each):
    names = each.teachers()
    assert names[0] == "random"
    assert len(set(names)) == len(names)
    for name in names:
        assert each.fits(name)
        if table.parse_teacher(name)[0] not in each.own:
            TEACHERS.check_options(*table.parse_teacher(name))


@pytest.mark.parametrize("each", TABLES, ids=lambda each: each.name)
def test_a_table_says_in_two_sentences_what_it_measures(each):
    assert each.about.count(". ") == 1
    assert each.about.endswith(".")


@pytest.mark.parametrize("each", TABLES, ids=lambda each: each.name)
def test_a_table_explains_its_settings_and_rows(each):
    assert list(each.notes) == list(each.settings)
    for name in {table.parse_teacher(name)[0] for name in each.teachers()}:
        assert each.rows.get(name) or (name in TEACHERS and TEACHERS[name].__doc__), name


def test_the_interval_of_an_interquartile_mean_lies_within_the_scores():
    scores = [9.0, 0.0, 1.0, 2.0, 100.0, 3.0, 4.0, 5.0, 7.0, 6.0]
    e = statistics.estimate_interquartile_mean(scores)
    assert (e.mean, e.n) == (4.5, 10)
    assert 1 < e.low < 4.5 < e.high < 40
    assert math.isnan(statistics.estimate_interquartile_mean([1.0]).low)


def test_the_bootstrap_draws_each_setting_by_itself():
    # Within the settings nothing varies; across them, it would.
    e = statistics.estimate_interquartile_mean([1.0] * 4, [5.0] * 4)
    assert (e.mean, e.low, e.high, e.n) == (3.0, 3.0, 3.0, 8)


def test_settings_are_joined_for_teachers_that_ran_in_all_of_them():
    rows = [{**record("a", s, s), "setting": place} for s in range(4) for place in ("x", "y", "other")]
    found = statistics.summarise_settings([*rows, {**record("b", 0, 9.0), "setting": "x"}], ("x", "y"))
    assert set(found) == {"a"}
    assert found["a"].mean == 1.5
    assert found["a"].n == 8


def test_columns_are_summed_up_as_the_score_is():
    rows = [record("random", s, score) for s, score in enumerate((0.0, 1.0, 2.0, 90.0))]
    (line,) = statistics.summarise_records(rows, "interquartile mean", ["m"])
    assert line.columns == {"m": line.score}
    assert line.score.mean == 1.5
    assert line.measures == {"m": 23.25}


def record(teacher, seed, score):
    return {
        "setting": "a",
        "teacher": teacher,
        "seed": seed,
        "score": score,
        "measures": {"m": score},
        "calls": {},
        "curve": [[0, 1], [0, score]],
    }


def test_the_gain_is_paired_by_seed():
    # Seeds differ by 10, the gain is 1 on each: paired, it is certain.
    rows = [record("random", s, 10.0 * s) for s in range(3)] + [record("mine", s, 10.0 * s + 1) for s in range(3)]
    random, mine = statistics.summarise_records(rows)
    assert random.gain is None
    assert mine.gain == MeanEstimate(1.0, 1.0, 1.0, 3)
    assert mine.measures == {"m": 11.0}


def test_a_run_may_score_several_contestants():
    rows = statistics.expand_records([{**record("random", s, 0.1), "also": {"other": 0.1 + s}} for s in range(2)])
    uniform, other = statistics.summarise_records(rows)
    assert (uniform.teacher, other.teacher) == ("random", "other")
    assert (other.score.mean, other.gain.mean) == pytest.approx((0.6, 0.5))


def test_scores_of_levels_are_compared_with_a_random_one():
    result = regret.TABLE.run(regret.TABLE.settings["novice"], "random", 0, 12)
    assert {"learnability", "value_l1", "max_mc"} <= set(result.also)
    assert all(regret.TABLE.rows[name] for name in result.also)
    assert all(-1 <= value <= 1 for value in (result.score, *result.also.values()))
    assert not regret.TABLE.fits("plr")


def test_a_mean_curve_goes_through_the_mean():
    x, mean, low, high = statistics.mean_curve([record("a", 0, 1.0), record("a", 1, 3.0)])
    assert x.tolist() == [0, 1]
    assert mean.tolist() == [0.0, 2.0]
    assert low[1] == pytest.approx(2 - math.tan(math.pi * 0.475))  # t of 1 degree: Cauchy's quantile
    assert high[1] == pytest.approx(2 + math.tan(math.pi * 0.475))


def test_the_variance_oracle_knows_coins():
    student = CategoryStudent(4, coins=[2])
    built = categories.VarianceOracle(student.space, student=student)
    p = student.rates()
    weights = p * (1 - p) * [1, 1, 0, 1]
    assert built.distribution() == pytest.approx(weights / weights.sum())


def test_three_categories_runs_differ_in_what_they_waste():
    options = {"arms": 4, "coins": [1], "rate": 0.01}
    uniform, oracle = (categories._run(options, name, 0, 10) for name in ("random", "oracle"))
    assert oracle.measures["rollouts on what cannot be learned"] == 0
    assert uniform.measures["rollouts on what cannot be learned"] == pytest.approx(0.25, abs=0.06)
    assert np.array(uniform.heat["slices"]).shape == (1, 4, 10)
    assert oracle.score > uniform.score


def test_the_item_oracle_takes_the_learnable_items_nearest_to_one_half():
    student = ItemStudent(50, coins=0.2, mean=0.0)
    tasks = {p.task for p in selection.NearestOracle(student.space, student=student).propose(5)}
    distance = np.where(student.scored, np.abs(student.rates() - 0.5), 9)
    assert tasks == set(np.argsort(distance)[:5].tolist())


@pytest.mark.parametrize("teacher", ["random", "mopps", "lilo", "random+knapsack", "random+drop-flat", "oracle"])
def test_every_rollout_counts_whether_it_trains_or_not(teacher):
    options = {"items": 300, "mean": 0.0, "rate": 0.5}
    result = selection._run(options, teacher, 0, 4000)
    share = result.measures["rollouts for looking only"]
    assert share > 0.5 if teacher == "lilo" else share == 0
    assert 0 < result.measures["rollouts in groups with a gradient"] <= 1
    assert ("AUC of predicted success" in result.measures) == (teacher == "mopps")


def test_a_run_that_does_not_get_there_counts_as_its_budget():
    assert selection._run({"items": 100, "mean": 5.0}, "random", 0, 2000).score == 2000.0
    # Easy from the start: seen after the first batch of 64 groups of 8.
    assert selection._run({"items": 100, "mean": -5.0}, "random", 0, 2000).score == 512.0


def test_groups_that_looked_are_joined_to_those_that_train():
    student = ItemStudent(300, mean=0.0)
    teacher = make("speed", student.space, seed=0)
    count, looked = selection.RolloutCount(), {}
    sizes = set()
    for _ in range(10):
        _, groups = selection._batch(student, teacher, count, looked, 100_000, drop_flat=False)
        sizes |= {len(group) for group in groups}
    assert max(sizes) == teacher.screen + teacher.n


def test_the_area_is_that_of_all_pairs():
    rates, won, played = np.array([0.2, 0.5, 0.5, 0.9]), np.array([1, 1, 2, 3]), np.array([4, 2, 2, 4])
    up = np.repeat(rates, won)[:, None]
    down = np.repeat(rates, played - won)[None]
    expected = ((up > down) + 0.5 * (up == down)).mean()
    assert selection._measure_auc([(rates, won, played)]) == pytest.approx(expected)
    assert selection._measure_auc([]) is None
    assert selection._measure_auc([(rates, played, played)]) is None


def test_costs_are_measured_at_each_size():
    result = cost._run({"dimensions": 3}, "alp-gmm", 0, 1200)
    assert result.curve[0] == [1000.0, 1200.0]
    assert result.measures["kB at 1,200"] > result.measures["kB at 1,000"]
    assert result.score > 0


@pytest.mark.parametrize(
    ("run", "options", "length", "outcomes"),
    [
        (hypercube.TABLE.run, {"dimensions": 2, "cubes": 3}, 20, 20),
        (cost.TABLE.run, {"dimensions": 2}, 20, 20),
        (categories.TABLE.run, {"arms": 4}, 2, 128),  # batches of 64
        (selection.TABLE.run, {"items": 100}, 512, 64),  # groups of 8
    ],
)
def test_a_teacher_learns_how_long_the_run_is(run, options, length, outcomes, monkeypatch):
    expected: list[int] = []
    monkeypatch.setattr(RandomTeacher, "_expect", lambda self, outcomes: expected.append(outcomes))
    run(options, "random", 0, length)
    assert expected == [outcomes]


def test_over_all_settings_a_teacher_has_a_worst_rank_and_is_level_where_the_first_lies_in_its_interval():
    def line(setting, teacher, mean, half):
        score = MeanEstimate(mean, mean - half, mean + half, 5)
        return statistics.Line(setting, teacher, score, None, {}, {})

    lines = [line("a", "x", 0.9, 0.1), line("a", "y", 0.85, 0.06), line("a", "z", 0.5, 0.1)]
    lines += [line("b", "x", 0.2, 0.1), line("b", "y", 0.4, 0.1), line("b", "z", 0.4, math.nan)]
    found = {each.teacher: each for each in statistics.compare_over_settings(lines, lower=False)}
    assert list(found) == ["y", "x", "z"]
    assert (found["x"].worst, found["x"].mean, found["x"].level, found["x"].settings) == (3, 2.0, 1, 2)
    assert (found["y"].worst, found["y"].level) == (2, 2)
    assert (found["z"].worst, found["z"].level) == (3, 1)
    assert statistics.rank_lines(lines, lower=True) == {"x": [3, 1], "y": [2, 2.5], "z": [1, 2.5]}
