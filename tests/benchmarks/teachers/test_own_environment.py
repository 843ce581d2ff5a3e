"""T9: students on environments of one's own under teachers."""

from __future__ import annotations

import pytest
from palaestra.benchmarks.teachers import command, own_environment
from palaestra.errors import InputError

OWN = """
import gymnasium as gym
import palaestra
from palaestra.envs import FloatAxis, IntAxis, ParamEnv, ParamSpace

def make(**kwargs):
    return ParamEnv("CartPole-v1", [FloatAxis("gravity", 5, 20)], return_range=(0, 500), **kwargs)

class Line(gym.Env):
    param_space = ParamSpace([IntAxis("length", 2, 6)])
    observation_space = gym.spaces.Discrete(10)
    action_space = gym.spaces.Discrete(2)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.left, self.turns = (options or {"params": {"length": 6}})["params"]["length"], 0
        return self.left, {}

    def step(self, action):
        self.left, self.turns = min(9, self.left + (1 if action else -1)), self.turns + 1
        return self.left, float(not self.left), not self.left, self.turns == 12, {"is_success": not self.left}

palaestra.envs.register("own-bench/Cart-v0", make)
gym.register("own-bench/Line-v0", Line)
"""


@pytest.fixture
def own(monkeypatch: pytest.MonkeyPatch, tmp_path):
    monkeypatch.setattr(own_environment, "ON_THE_WAY", 2)
    monkeypatch.setattr(own_environment, "AT_THE_END", 6)
    (tmp_path / "own_bench.py").write_text(OWN)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.chdir(tmp_path)
    yield
    command.load_table(command.TABLES["T9"]).settings.clear()


def test_learners_on_an_environment_of_ones_own_are_settings(own, capsys):
    words = ["--env", "own_bench:own-bench/Line-v0", "--learner", "q rate=0.5", "--teachers", "alp-gmm"]
    assert command.main([*words, "--seeds", "1", "--episodes", "4000", "--jobs", "1", "--format", "csv"]) == 0
    header, *rows, page = capsys.readouterr().out.splitlines()
    assert header.startswith("table,setting,teacher,seeds,score,")
    setting = "own_bench:own-bench/Line-v0 learner=q rate=0.5"
    assert [row.split(",")[:5] for row in rows] == [
        ["T9", setting, teacher, "1", "1.0"] for teacher in ("random", "alp-gmm")
    ]
    assert page.endswith("report.html")


def test_a_return_counts_by_its_place_in_the_declared_range_where_no_success_is_told(own):
    with pytest.raises(InputError, match="did you mean 'rate'"):
        own_environment.check_setting("own_bench:own-bench/Line-v0 learner=q rat=0.5")
    setting = own_environment.OwnSettings()["own_bench:own-bench/Cart-v0 learner=sb3"]
    pytest.importorskip("stable_baselines3")
    found = own_environment.train(setting, "random", 0, 512)
    assert found.curve[0] == [0.0, 128.0, 256.0, 384.0, 512.0]  # in whole rollouts of 64 steps
    assert found.score == found.measures["return in its range"]
    assert 0.01 < found.score < 0.5


def test_misspelt_requests_are_refused_before_any_run(own):
    for words, reason in [
        (["--env", "CartPole-v1"], "has no parameters for a teacher to choose"),
        (["--env", "own_bench:own-bench/Line-v0", "--learner", "qq"], "did you mean 'q'"),
        (["--learner", "q"], "--learner is for an environment; give --env"),
        (["--tables", "T9"], "T9 is for an environment"),
    ]:
        with pytest.raises(InputError, match=reason):
            command.main(words)
    assert command.add_environments(command.TeacherBenchOptions()) == command.TeacherBenchOptions()
