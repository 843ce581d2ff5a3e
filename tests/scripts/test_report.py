"""A run's report, made from a run that is written here line by line as the learner would."""

from __future__ import annotations

import json
import math
import re
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pytest
from palaestra.errors import InputError
from palaestra.scripts import report
from palaestra.scripts.report import pick_evenly, repeated_tasks, sample_episodes, write_report
from palaestra.scripts.report_plots import PANELS, _smooth, curves, evaluation_lines, sampled_heats, training_heat

STEPS = 60


def write_rows(path: Path, rows) -> None:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))


def write_run(run: Path, steps: int = STEPS) -> Path:
    """A student that improves, and a teacher that moves from easy to hard."""
    rng = np.random.default_rng(0)
    run.mkdir()
    config = {"env": "palaestra/Arithmetic-v0", "teacher": "alp-gmm", "recipe": "grpo", "seed": 0, "steps": steps}
    (run / "config.json").write_text(json.dumps(config | {"axes": {"digits": [1, 2]}, "model": "tiny", "lr": 1e-3}))
    metrics, timings, proposals, evaluations, trajectories = [], [], [], [], []
    for step in range(1, steps + 1):
        skill = step / steps
        metrics.append(
            {
                "step": step,
                "success": 0.3 + 0.6 * skill,
                "reward": 0.3 + 0.6 * skill + 0.05 * rng.standard_normal(),
                "length": 6 - 2 * skill + 0.3 * rng.standard_normal(),
                "entropy": 1.2 * math.exp(-2 * skill) + 0.02 * rng.standard_normal(),
                "loss": math.nan if step == 3 else 0.1 * rng.standard_normal(),
                "grad_norm": None if step == 3 else 0.8 + 0.2 * rng.random(),
                "zero_variance_share": 0.5 * skill,
                "solved_share": 0.4 * skill,
                "failed_share": 0.1 * skill,
                "length_p90": 9.0,
                "length_max": 12.0,
                "kl": 0.01 * skill,
                "clip_fraction": 0.02,
                "ess": 0.97,
                "episodes": 128,
                "tokens": 700,
            }
        )
        for k in (1, 2, 4, 8):
            value = 1 - (0.7 - 0.6 * skill) ** k
            bounds = {f"pass@{k}_low": max(0.0, value - 0.2), f"pass@{k}_high": min(1.0, value + 0.2)}
            metrics[-1] |= {f"pass@{k}": value, **bounds, f"pass@{k}_left_out": 0}
        phases = {"rollout_s": 0.4, "train_s": 0.4, "rollout_tokens_per_s": 1750.0, "train_tokens_per_s": 1600.0}
        timings.append({"step": step, "seconds": 0.8, **phases, "tokens_per_s": 900.0})
        for group in range(16):
            unit = np.clip(skill + 0.25 * rng.standard_normal(3), 0, 1)
            difficulty = float(unit.mean())
            params = {
                "terms": 2 + int(unit[0] * 4.999),
                "digits": 1 + int(unit[1] * 3.999),
                "operations": ["+", "+-", "+-*"][int(unit[2] * 2.999)],
            }
            success = float(np.clip(skill + 0.5 - difficulty, 0, 1))
            proposals.append(
                {
                    "step": step,
                    "task_id": f"{step}-{group}",
                    "params": params,
                    "unit": unit.tolist(),
                    "difficulty": difficulty,
                    "origin": "explore",
                    "n": 8,
                    "success": success,
                    "reward": success,
                    "length": 5.0,
                }
            )
        if step % 10 == 0:
            rows = []
            for low in (0.0, 0.25, 0.5, 0.75):
                success = float(np.clip(skill + 0.6 - low, 0, 1))
                ci = [max(0, success - 0.1), min(1, success + 0.1)]
                rows.append({"low": low, "high": low + 0.25, "episodes": 50, "success": success, "ci": ci})
            mean = sum(row["success"] for row in rows) / 4
            line = {"step": step, "split": "test", "episodes": 200, "success": mean, "ci": [mean - 0.07, mean + 0.07]}
            evaluations.append(line | {"by_difficulty": rows})
        for won in (True, False):
            turn = {
                "observation": f"Compute 17 + {step}. Answer with an integer.",
                "action": str(17 + step) if won else "<script>alert('x')</script>\nso \ud800 9",
                "reward": float(won),
                "reward_terms": {"outcome": float(won)},
                "action_error": None if won else "The answer must be an integer.",
            }
            trajectories.append(
                {
                    "step": step,
                    "task_id": f"{step}",
                    "params": {"terms": 2, "digits": 2, "operations": "+"},
                    "difficulty": 0.25,
                    "turns": [turn],
                    "return": float(won),
                    "is_success": won,
                    "progress": float(won),
                    "truncated": False,
                    "reward_valid": True,
                }
            )
    for name in ("metrics", "timings", "proposals", "evaluations", "trajectories"):
        write_rows(run / f"{name}.jsonl", locals()[name])
    return run


@pytest.fixture(scope="module")
def run(tmp_path_factory) -> Path:
    run = write_run(tmp_path_factory.mktemp("runs") / "first")
    write_report(run)
    return run


@pytest.fixture(scope="module")
def page(run) -> str:
    return (run / "report.html").read_text()


@pytest.fixture
def bare(tmp_path) -> Path:
    (tmp_path / "config.json").write_text('{"env": "palaestra/Arithmetic-v0"}')
    return tmp_path


class Tags(HTMLParser):
    def __init__(self, page: str):
        super().__init__()
        self.found: list[tuple[str, dict]] = []
        self.text: list[str] = []
        self.feed(page)

    def handle_starttag(self, tag, attrs):
        self.found.append((tag, dict(attrs)))

    def handle_data(self, data):
        self.text.append(data)


def test_each_policy_of_a_run_has_a_line_and_a_column():
    policy = {"episodes": 4, "success": 0.25, "ci": [0.0, 0.6]}
    rows = [{"step": step, "episodes": 8, "success": 0.5, "policies": {"critic": policy}} for step in (0, 9)]
    assert ">critic<" in evaluation_lines(rows)
    table = report.evaluation_table(rows)
    assert table["bins"] == ["critic"]
    assert [cells[1][0] for cells in (row["cells"] for row in table["rows"])] == ["25 %", "25 %"]
    metrics = [{"step": step, "entropy": 1.0, "policy/critic/entropy": 2.0} for step in (1, 2)]
    (plot,) = curves(metrics)
    assert all(f">{label}<" in plot for label in ("own policy", "critic"))


def test_attempts_at_the_same_task_are_put_in_order():
    rows = [
        {
            "step": step,
            "task_id": task,
            "is_success": action == "7",
            "turns": [{"observation": "3 + 4", "action": action}],
        }
        for step, task, action in (
            (9, "a", "7"),
            (2, "a", "34"),
            (5, "a", "8"),
            (3, "b", "1"),
            (4, "c", "2"),
            (6, "c", "7"),
        )
    ]
    longest, second = repeated_tasks(rows)
    shown = [(one["step"], one["action"], one["outcome"]) for one in longest["attempts"]]
    assert shown == [(2, "34", "failure"), (5, "8", "failure"), (9, "7", "success")]
    assert [one["step"] for one in second["attempts"]] == [4, 6]


class TestThePage:
    def test_it_names_the_run_and_its_configuration(self, page):
        for word in ("first", "palaestra/Arithmetic-v0", "alp-gmm", "grpo", "&#34;lr&#34;: 0.001"):
            assert word in page

    def test_it_holds_every_plot(self, page):
        # Held-out success, success in training and pass@k; difficulty and three axes; a panel for each measurement.
        assert page.count("<svg") == 3 + 4 + len(PANELS)

    def test_its_contents_lead_to_sections(self, page):
        tags = Tags(page).found
        targets = [attrs["href"][1:] for tag, attrs in tags if tag == "a" and attrs.get("href", "").startswith("#")]
        assert {"held-out", "training", "learning", "episodes"} <= set(targets)
        assert set(targets) <= {attrs.get("id") for _, attrs in tags}

    def test_held_out_and_training_success_are_told_apart(self, page):
        headings = re.findall(r"<h2[^>]*>([^<]+)</h2>", page)
        assert {"Held-out success, by difficulty", "Training success, by difficulty"} <= set(headings)
        tiles = re.findall(r'<div class="what">([^<]*success[^<]*)</div>', page)
        assert tiles == ["held-out success, last evaluation", "held-out success, first evaluation", "training success"]

    def test_it_names_the_page_of_all_episodes(self, run, page):
        assert f"<code>palaestra view {run}</code>" in page

    def test_every_measurement_of_the_learner_has_a_panel(self, page):
        words = set(re.findall(r">([^<>]+)</text>", page))
        assert set(PANELS) <= words
        assert {"90 % below", "solved", "rollout", "training"} <= words

    def test_pass_at_k_has_a_line_for_each_k(self, page):
        assert re.findall(r">(pass@\d+)</text>", page) == ["pass@8", "pass@4", "pass@2", "pass@1"]

    def test_it_loads_nothing_from_a_network(self, page):
        tags = Tags(page).found
        assert not [tag for tag, _ in tags if tag in ("script", "link", "iframe")]
        sources = [attrs.get("src") or attrs.get("xlink:href") or attrs.get("href") for _, attrs in tags]
        assert all(source.startswith(("data:", "#")) for source in sources if source)
        assert "url(http" not in page

    def test_what_an_episode_says_is_text_and_never_markup(self, page):
        tags = Tags(page)
        assert "<script>alert('x')</script>" in "".join(tags.text)
        assert "script" not in {tag for tag, _ in tags.found}

    def test_the_evaluation_table_has_every_interval(self, page):
        # Step 10: skill 1/6, so bins have 0.77, 0.52, 0.27, 0.02 and a mean of 0.39 (0.32 … 0.46).
        text = " ".join(page.split())
        assert '<td>10</td><td>200</td> <td class="all">39 %<small>[32, 46]</small></td>' in text
        assert "<td>2 %<small>[0, 12]</small></td>" in text

    def test_it_counts_episodes_tokens_and_time(self, page):
        # 60 steps of 128 episodes, 700 tokens and 0.8 s.
        assert "7,680" in page
        assert "42,000 tokens, 60 steps" in page
        assert "48 s" in page

    def test_the_time_of_warm_up_and_evaluations_counts(self):
        timings = [{"step": 1, "seconds": 2.0, "tokens_per_s": 9.0}, {"step": 1, "evaluation_s": 60.0}]
        found = report.tiles([], [], report.by_step([{"step": 0, "warmup_s": 30.0}, *timings]))
        assert found == [("time", "1 min 32 s", "30 s warm-up; 1 min 00 s evaluation; median 9 tokens/s")]

    def test_there_are_ten_episodes_and_half_are_successes(self, page):
        assert page.count("<article>") == 10
        assert page.count('class="outcome success"') == 5

    def test_every_axis_that_varies_has_a_map(self, page):
        words = set(re.findall(r">([^<>]+)</text>", page))
        assert {"difficulty", "terms", "digits", "operations", "+-*"} <= words

    def test_two_writings_of_one_run_are_the_same_bytes(self, run, page):
        write_report(run)
        assert (run / "report.html").read_text() == page


class TestUnfinishedRuns:
    def test_a_run_with_only_a_configuration_has_a_page_that_says_so(self, bare):
        page = write_report(bare).read_text()
        for sentence in ("No step is finished", "No evaluation has been made", "No episode has been kept"):
            assert sentence in page
        assert "<svg" not in page

    def test_figures_that_some_rows_lack_are_drawn_from_the_others(self, bare):
        rows = [
            {"step": 1, "reward": 0.1, "pass@1": 0.1, "pass@1_low": 0.0, "pass@1_high": 0.3, "pass@2_left_out": 9},
            {"step": 2, "kl": 0.2, "pass@1": None, "pass@2_left_out": 9},
            {"step": 3, "reward": 0.3, "pass@1": 0.2, "pass@1_low": 0.1, "pass@1_high": 0.4, "pass@2_left_out": 9},
        ]
        write_rows(bare / "metrics.jsonl", rows)
        page = write_report(bare).read_text()
        words = re.findall(r">([^<>]+)</text>", page)
        assert {"pass@1", "reward of an episode", "KL divergence (nats a token or action)"} <= set(words)
        assert not {"pass@2", "entropy (nats a token or action)", "tokens/s by phase"} & set(words)

    def test_an_episode_that_does_not_count_says_what_failed(self, bare):
        row = {"step": 1, "turns": [], "return": 0.0, "reward_valid": False, "error": "<sandbox> is down"}
        write_rows(bare / "trajectories.jsonl", [row])
        page = write_report(bare).read_text()
        assert 'class="outcome invalid"' in page
        assert "&lt;sandbox&gt; is down" in page

    def test_a_run_without_pass_at_k_has_no_heading_for_it(self, bare):
        write_rows(bare / "metrics.jsonl", [{"step": 1, "reward": 0.1}])
        assert "pass@k" not in write_report(bare).read_text()

    def test_a_line_cut_in_the_middle_is_left_out(self, bare):
        (bare / "metrics.jsonl").write_text('{"step": 1, "episodes": 5, "tokens": 7}\n{"step": 2, "epis')
        assert "7 tokens, 1 steps" in write_report(bare).read_text()

    def test_a_cut_that_leaves_valid_json_of_another_kind_is_left_out(self, bare):
        (bare / "metrics.jsonl").write_text('{"step": 1, "episodes": 5, "tokens": 7}\n4')
        assert "7 tokens, 1 steps" in write_report(bare).read_text()

    def test_a_broken_line_in_the_middle_is_an_input_error_that_names_it(self, bare):
        (bare / "metrics.jsonl").write_text('{"step": 1}\n{"step"\n{"step": 3}\n')
        with pytest.raises(InputError, match=r"line 2 of .*metrics.jsonl"):
            write_report(bare)
        assert not (bare / "report.html").exists()

    def test_a_step_done_again_after_a_resume_counts_once(self, bare):
        write_rows(
            bare / "metrics.jsonl", [{"step": s, "episodes": n, "tokens": 0} for s, n in ((1, 1), (2, 9), (2, 3))]
        )
        assert '<div class="value">4</div>' in write_report(bare).read_text()

    def test_one_step_is_enough_for_every_plot(self, tmp_path):
        # All but the evaluations', of which there is none, and an axis that has one value in its only step.
        page = write_report(write_run(tmp_path / "short", steps=1)).read_text()
        assert page.count("<svg") == 2 + 3 + len(PANELS)

    def test_a_folder_without_a_run_is_an_input_error(self, tmp_path):
        with pytest.raises(InputError, match=r"is no run: it has no config.json"):
            write_report(tmp_path)

    def test_a_configuration_that_is_no_json_is_an_input_error(self, tmp_path):
        (tmp_path / "config.json").write_text("{")
        with pytest.raises(InputError, match="is not JSON"):
            write_report(tmp_path)

    def test_nothing_but_the_report_is_left_behind(self, bare):
        write_report(bare)
        assert sorted(path.name for path in bare.iterdir()) == ["config.json", "report.html"]


def ticks(svg: str) -> list[str]:
    return re.findall(r"<text[^>]*>([^<>]+)</text>", svg)


class TestPlots:
    def metrics(self, **figures) -> list[str]:
        rows = [{"step": step, **{name: draw(step) for name, draw in figures.items()}} for step in range(1, 20)]
        return curves(rows)

    def test_an_effective_sample_size_of_nearly_all_is_drawn_as_all(self):
        (svg,) = self.metrics(ess=lambda step: 1 - 1e-8 * (step % 3))
        assert [text for text in ticks(svg) if "%" in text] == ["0%", "20%", "40%", "60%", "80%", "100%"]
        assert not any("e" in text and text[0].isdigit() for text in ticks(svg))

    @pytest.mark.parametrize("name", ["ess", "success", "clip_fraction", "zero_variance_share"])
    def test_no_share_has_an_axis_below_zero(self, name):
        (svg,) = self.metrics(**{name: lambda step: 0.0})
        shares = [text for text in ticks(svg) if "%" in text]
        assert shares[0].strip("0.%") == ""
        assert not [text for text in shares if text.startswith(("-", "−"))]

    def test_one_difficulty_gives_a_line_in_place_of_a_map_of_one_row(self):
        rows = [{"step": step, "difficulty": 0.3, "success": 0.5, "params": {"n": 4}} for step in (1, 2, 3)]
        drawn = training_heat(rows)
        assert drawn["is_map"] is False
        assert "success at difficulty 0.3" in ticks(drawn["svg"])
        assert "<image" not in drawn["svg"]
        assert sampled_heats(rows) == []

    def test_few_difficulties_have_a_row_each(self):
        rows = [{"step": 1, "difficulty": value, "success": 0.5, "params": {}} for value in (0.0, 0.25, 1.0)]
        drawn = training_heat(rows)
        assert [text for text in ticks(drawn["svg"]) if text in ("0", "0.25", "1")][-3:] == ["0", "0.25", "1"]

    def test_plots_have_no_ground_of_their_own(self):
        (svg,) = self.metrics(reward=float)
        assert "#ffffff" not in svg


class TestSmoothing:
    def test_a_constant_stays_one_to_the_last_digit(self):
        assert set(_smooth(np.full(90, 0.1)).tolist()) == {0.1}

    def test_each_point_is_the_mean_of_its_neighbourhood(self):
        # 80 points: two neighbours on either side, and as many as there are at the ends.
        values = np.arange(80.0) ** 2
        smooth = _smooth(values)
        assert smooth[40] == pytest.approx(np.mean(values[38:43]))
        assert (smooth[0], smooth[-1]) == (pytest.approx(np.mean(values[:3])), pytest.approx(np.mean(values[-3:])))


class TestChoosing:
    def episodes(self, won: int, lost: int) -> list[dict]:
        return [{"step": s, "is_success": True} for s in range(won)] + [
            {"step": s, "is_success": False} for s in range(lost)
        ]

    @pytest.mark.parametrize(
        ("won", "lost", "expected"),
        [(50, 50, (5, 5)), (2, 50, (2, 8)), (50, 1, (9, 1)), (3, 2, (3, 2)), (0, 0, (0, 0))],
    )
    def test_half_succeed_where_there_are_enough_of_both(self, won, lost, expected):
        chosen = sample_episodes(self.episodes(won, lost))
        assert (sum(e["is_success"] for e in chosen), sum(not e["is_success"] for e in chosen)) == expected

    def test_episodes_are_spread_over_the_run_and_in_order(self):
        steps = [episode["step"] for episode in sample_episodes(self.episodes(101, 0))]
        assert (steps[0], steps[-1]) == (0, 100)
        assert steps == sorted(steps)

    def test_spread_keeps_both_ends(self):
        assert pick_evenly(range(101), 5) == [0, 25, 50, 75, 100]

    @pytest.mark.parametrize(
        ("seconds", "shown"), [(48.2, "48 s"), (200, "3 min 20 s"), (7505, "2 h 05 min"), (59.9, "1 min 00 s")]
    )
    def test_durations_read_as_people_say_them(self, seconds, shown):
        assert report.format_duration(seconds) == shown
