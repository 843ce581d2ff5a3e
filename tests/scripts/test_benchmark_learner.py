"""The learner benchmark: who takes which turn, what the figures mean, and that both sides are given the same work."""

from __future__ import annotations

import json
import subprocess
import sys

import gymnasium as gym
import pytest
from palaestra.errors import InputError
from palaestra.scripts import benchmark_learner as benchmark
from palaestra.scripts.benchmark_learner_trl import lower_case_share

STAND_IN = """\
import json, sys
print(json.dumps({"event": "ready", "versions": {}, "peak_mb": 1.0}), flush=True)
for line in sys.stdin:
    print(json.dumps({"event": "step", "heard": line.strip()}), flush=True)
"""


def report(seconds: float, reward: float = 0.0, peak_mb: float = 1.0) -> dict[str, float]:
    return {
        "seconds": seconds,
        "rollout_s": seconds / 4,
        "train_s": seconds * 3 / 4,
        "tokens": 100,
        "reward": reward,
        "peak_mb": peak_mb,
    }


class Recorded:
    """A side whose steps are numbered, and which writes every turn into a shared log."""

    def __init__(self, name: str, log: list[str]):
        self.name, self._log, self._count = name, log, 0

    def step(self) -> dict[str, float]:
        self._log.append(self.name)
        self._count += 1
        return {"seconds": float(self._count)}


def settings(folder, **changes) -> benchmark.Settings:
    fields = {"prompts": 2, "samples": 2, "new_tokens": 6, "prompt_tokens": 7, "threads": 1, "packer": "shared_prefix"}
    return benchmark.Settings(str(folder), **{**fields, **changes})


class TestFigures:
    def test_sides_take_turns_and_the_order_is_reversed_every_other_round(self):
        log: list[str] = []
        benchmark.take_turns([Recorded("a", log), Recorded("b", log)], warmup=1, steps=2)
        assert log == ["a", "b", "b", "a", "a", "b"]

    def test_warm_up_rounds_are_dropped(self):
        reports = benchmark.take_turns([Recorded("a", [])], warmup=3, steps=2)
        assert reports == {"a": [{"seconds": 4.0}, {"seconds": 5.0}]}

    def test_a_spread_is_the_median_and_the_quartiles(self):
        assert benchmark.Spread.of([5.0, 1.0, 2.0, 4.0, 3.0]) == benchmark.Spread(3.0, 2.0, 4.0)

    def test_speedup_is_the_ratio_of_medians_with_the_quartiles_of_paired_rounds(self):
        ours = [report(1.0), report(2.0), report(4.0)]
        theirs = [report(3.0), report(2.0), report(16.0)]
        # medians 2 and 3; rounds 3, 1 and 4
        assert benchmark.speedup(ours, theirs) == benchmark.Spread(1.5, 2.0, 3.5)

    def test_a_summary_takes_the_highest_peak_and_tokens_at_the_median_step(self):
        steps = [report(2.0, 0.1, 7.0), report(4.0, 0.2, 9.0), report(9.0, 0.6, 8.0)]
        summary = benchmark.summarise(steps)
        assert summary["peak_mb"] == 9.0
        assert summary["tokens_per_s"] == 100 / 4.0
        assert (summary["reward_first"], summary["reward_last"]) == (0.1, 0.6)
        assert summary["train_s"] == {"median": 3.0, "low": 2.25, "high": 4.875}


class TestTask:
    def test_the_reward_is_lower_case_letters_per_token(self):
        assert lower_case_share("aB c1z", 6) == 0.5
        assert lower_case_share("", 6) == 0.0

    def test_a_prompt_has_the_asked_length_and_the_end_token_has_no_output(self, tmp_path):
        from palaestra.agents.language.model import LanguageModel

        benchmark.register()
        benchmark.prepare(settings(tmp_path))
        language = LanguageModel.load(tmp_path / "model")
        prompts = json.loads((tmp_path / "prompts.json").read_text())
        assert {len(prompt["ids"]) for prompt in prompts} == {7}
        assert len({prompt["text"] for prompt in prompts}) > 900
        assert language.tokenizer(prompts[0]["text"]).input_ids == prompts[0]["ids"]
        assert language.renderer.stop_ids[0] >= language.model.lm_head.weight.shape[0]

    def test_both_sides_score_a_completion_alike(self, tmp_path):
        benchmark.register()
        env = gym.make(benchmark.ENV, disable_env_checker=True, axes=benchmark.axes(settings(tmp_path)))
        env.reset(seed=0)
        assert env.step("aB\nc1z")[1] == lower_case_share("aB\nc1z", 6)


class TestProcesses:
    def test_a_worker_sends_a_command_and_receives_a_report(self, tmp_path):
        worker = benchmark.Worker("stand-in", [sys.executable, "-c", STAND_IN], settings(tmp_path))
        assert worker.step() == {"event": "step", "heard": "step"}
        worker.close()

    def test_a_worker_that_dies_tells_what_it_said_last(self, tmp_path):
        code = "import sys; sys.exit('no more memory')"
        with pytest.raises(RuntimeError, match="exit code 1:\nno more memory"):
            benchmark.Worker("stand-in", [sys.executable, "-c", code], settings(tmp_path))

    def test_without_trl_one_sentence_says_so_and_our_own_figures_come(self, tmp_path, capfd):
        missing, out = tmp_path / "none" / "bin" / "python", tmp_path / "figures.json"
        shape = {"prompts": 2, "samples": 2, "new-tokens": 6, "prompt-tokens": 7}
        options = {**shape, "steps": 2, "warmup": 0, "threads": 1, "trl-python": missing, "json": out}
        assert benchmark.main([f"--{name}={value}" for name, value in options.items()]) == 0
        printed = " ".join(capfd.readouterr().out.split())
        assert "TRL is left out; create its environment with" in printed
        figures = json.loads(out.read_text())
        assert list(figures["sides"]) == ["ours"]
        assert figures["speedup"] is None
        # 2 prompts x 2 samples, none of them stopped early
        assert [step["tokens"] for step in figures["sides"]["ours"]["steps"]] == [24, 24]

    def test_the_script_of_trl_needs_nothing_of_this_package(self):
        path = benchmark.benchmark_learner_trl.__file__
        code = f"import runpy, sys; runpy.run_path({path!r}); print([m for m in sys.modules if 'palaestra' in m])"
        done = subprocess.run([sys.executable, "-I", "-S", "-c", code], capture_output=True, text=True, check=True)
        assert done.stdout.strip() == "[]"


@pytest.mark.parametrize(
    ("option", "sentence"),
    [
        ({"steps": 1}, "--steps must be at least 2"),
        ({"prompt_tokens": 4}, "--prompt-tokens"),
        ({"packers": ()}, "--packers"),
    ],
)
def test_settings_that_cannot_be_measured_are_refused(option, sentence):
    with pytest.raises(InputError, match=sentence):
        benchmark.Config(**option)
