"""Extending from outside the repository: each piece is one file that uses the public API, run in a process of its own.

Where another program must find the piece (``palaestra train --recipe mine``), the package that holds it declares an
entry point; here a folder with an ``entry_points.txt`` stands for that package.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from .warm_python import run_script

ENV = '''
"""Doubling a number, from another package."""
import gymnasium as gym
import palaestra
from palaestra.envs import IntAxis, ParamSpace, Question, Task


class Doubling(Question):
    """Double a number."""

    param_space = ParamSpace([IntAxis("high", 10, 1000)])
    verifier = "integer"

    def generate(self, rng, params):
        n = int(rng.integers(1, params["high"] + 1))
        return Task(f"2 * {n} = ?", reference=2 * n)


palaestra.envs.register("mine/Doubling-v0", Doubling)
'''

GAME = '''
import palaestra
from palaestra.envs import Game, IntAxis, ParamSpace, Transition


class Count(Game):
    """Count to a goal."""

    param_space = ParamSpace([IntAxis("goal", 2, 9)])

    def start(self, rng, params):
        return (int(rng.integers(2, params["goal"] + 1)), int(rng.integers(100)))

    def observe(self, state):
        return f"{state[0]} to go."

    def act(self, state, action):
        to_go, salt = state
        if action != str(to_go - 1):
            return Transition(state, action_error=f"Say {to_go - 1}.")
        return Transition((to_go - 1, salt), done=to_go == 1, success=to_go == 1, progress=1 / to_go)

    def oracle(self, state):
        return str(state[0] - 1)


palaestra.envs.register("mine/Count-v0", Count)
'''

TEACHER = '''
import numpy as np
from palaestra.teachers import Teacher, register
from palaestra.teachers.protocol import Draw
from palaestra.teachers.spaces import as_cube


@register("mine-teacher")
class Middle(Teacher):
    """Always the middle of every axis."""

    def __init__(self, space, *, seed=0):
        self.cube = as_cube(space)
        super().__init__(self.cube.signature, seed=seed)

    def _draw(self, k):
        return [Draw(None, self.cube.decode(np.full(self.cube.dimension, 0.5))) for _ in range(k)]

    def _record(self, task):
        self.cube.encode(task)

    def _learn(self, evidence):
        pass
'''

REWARD = '''
from palaestra.rewards import Reward, Verdict, register


@register("mine-letters")
class Letters(Reward):
    """Depends on every letter of the first action, so that hardly two actions are worth the same."""

    def __call__(self, episode):
        value = sum(map(ord, episode.steps[0].action)) % 17 / 17
        return Verdict(value, success=episode.success, terms={"letters": value})
'''

RECIPE = """
from palaestra.agents.grpo import Credit, Recipe, c, register_recipe

mine = register_recipe(
    Recipe(
        name="mine-recipe",
        paper="none",
        summary="leave-one-out on outcomes, token mean",
        credit=(Credit(baseline=c("leave_one_out"), scale=c("none")),),
        reduction=c("token_mean"),
    )
)
"""

LETTERS_RECIPE = """
from palaestra.agents.grpo import Recipe, c, register_recipe

mine = register_recipe(
    Recipe(name="mine-letters-recipe", paper="none", summary="the letters count as well", shaping=(c("mine-letters"),))
)
"""

AGENT = '''
from palaestra.agents import Agent, register


@register("mine-agent")
class Zero(Agent):
    """Says 0, whatever it is asked."""

    name = "mine-agent"

    def act(self, observations, infos):
        return ["0"] * len(observations)
'''

ENTRY_POINTS = {
    "teachers": "mine-teacher = mine_teacher:Middle",
    "rewards": "mine-letters = mine_reward:Letters",
    "recipes": "mine-letters-recipe = mine_letters_recipe:mine",
    "agents": "mine-agent = mine_agent:Zero",
}

FILES = {
    "mine_env": ENV,
    "mine_game": GAME,
    "mine_teacher": TEACHER,
    "mine_reward": REWARD,
    "mine_recipe": RECIPE,
    "mine_letters_recipe": LETTERS_RECIPE,
    "mine_agent": AGENT,
}

# A model and batches so small that a run takes seconds.
TINY = ["--steps", "2", "--prompts", "2", "--samples", "3", "--warmup.steps", "2", "--max-new-tokens", "4"]
TINY += ["--eval-every", "0", "--eval-episodes", "4", "--final-episodes", "4", "--threads", "1"]
COMMAND = "import sys\nfrom palaestra.scripts.cli import main\nsys.exit(main(sys.argv[1:]))\n"


def run(folder: Path, *command: str) -> str:
    """Run a command in ``folder``, whose modules can be imported; its standard output."""
    environment = {**os.environ, "PYTHONPATH": str(folder)}
    done = subprocess.run([sys.executable, *command], cwd=folder, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout


def train(folder: Path, script: str, *words: str) -> None:
    """Run a script that trains, in a process that has loaded PyTorch already and nothing of ``folder``."""
    (folder / "script.py").write_text(script)
    code, _, errors = run_script([str(folder / "script.py"), *words], folder, strict=False)
    assert code == 0, errors


def with_files(folder: Path, *names: str) -> Path:
    for name in names:
        (folder / f"{name}.py").write_text(FILES[name])
    return folder


@pytest.fixture
def package(tmp_path: Path) -> Path:
    """A folder that importlib.metadata takes for an installed package with entry points of every group."""
    info = tmp_path / "mine-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: mine\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(
        "\n".join(f"[palaestra.{group}]\n{line}" for group, line in ENTRY_POINTS.items())
    )
    return with_files(tmp_path, *FILES)


def rows(file: Path) -> list[dict]:
    return [json.loads(line) for line in file.read_text().splitlines()]


@pytest.mark.parametrize(("module", "env_id"), [("mine_env", "mine/Doubling-v0"), ("mine_game", "mine/Count-v0")])
def test_an_env_family_is_one_file(tmp_path: Path, module: str, env_id: str):
    code = f"""
import gymnasium as gym, palaestra, {module}
from gymnasium.utils.env_checker import check_env
check_env(gym.make("{env_id}").unwrapped, skip_render_check=True)
env = gym.make("{env_id}", split="test", difficulty=1.0)
obs, info = env.reset(seed=3)
done = False
while not done:
    obs, reward, terminated, truncated, info = env.step(env.unwrapped.oracle())
    done = terminated or truncated
assert info["is_success"] and reward == 1.0, info
assert gym.make(gym.envs.registration.EnvSpec.from_json(env.spec.to_json())).reset(seed=1)
report = palaestra.evaluate("oracle", "{env_id}", episodes=20)
assert report.success.mean == 1.0 and "{env_id}" in palaestra.envs.ids()
"""
    run(with_files(tmp_path, module), "-c", code)


def test_an_env_of_a_module_can_be_named_on_the_command_line(tmp_path: Path):
    report = tmp_path / "report.json"
    arguments = ["eval", "mine_env:mine/Doubling-v0", "--agent", "oracle", "--episodes", "5", "--json", str(report)]
    run(with_files(tmp_path, "mine_env"), "-m", "palaestra.scripts.cli", *arguments)
    assert json.loads(report.read_text())["success"] == 1.0


def test_a_teacher_is_one_file(tmp_path: Path):
    code = """
import gymnasium as gym, palaestra, mine_teacher
from palaestra.teachers import TeacherWrapper, make
env = TeacherWrapper(gym.make("palaestra/Arithmetic-v0"), "mine-teacher")
obs, info = env.reset(seed=0)
assert info["params"] == {"terms": 4, "digits": 4, "operations": "+-"}, info
env.step(env.unwrapped.oracle())
assert env.teacher.metrics()["observed"] == 1
"""
    run(with_files(tmp_path, "mine_teacher"), "-c", code)


def test_an_agent_is_one_file(tmp_path: Path):
    code = """
import palaestra, mine_agent
report = palaestra.evaluate("mine-agent", "palaestra/Arithmetic-v0", episodes=10)
assert report.agent == "mine-agent" and report.episodes == 10 and report.success.mean < 0.5
"""
    run(with_files(tmp_path, "mine_agent"), "-c", code)


def test_a_recipe_and_a_reward_are_one_file_each_whether_imported_or_named_with_their_modules(tmp_path: Path):
    code = """
import mine_recipe
from pathlib import Path
from palaestra.agents.grpo import Learner, RECIPES, TrainConfig
from palaestra.agents.grpo.config import WarmUp
from palaestra.agents.grpo.recipes import StageOverrides
outside = {"teacher": "mine_teacher:mine-teacher", "stages": StageOverrides(shaping="mine_reward:Letters")}
for name, recipe, more in ("imported", "mine-recipe", {}), ("named", "mine_recipe:mine", outside):
    config = TrainConfig(
        recipe=recipe, steps=2, prompts=2, samples=3, warmup=WarmUp(steps=2, batch=4), max_new_tokens=4,
        eval_every=0, eval_episodes=4, final_episodes=4, threads=1, **more,
    )
    learner = Learner.start(Path(name), TrainConfig.from_json(config.to_json()))
    assert learner.recipe.name == "mine-recipe" and learner.run()
assert RECIPES["mine_recipe:mine"] is RECIPES["mine-recipe"]
"""
    train(with_files(tmp_path, "mine_recipe", "mine_reward", "mine_teacher"), code)
    assert [row["step"] for row in rows(tmp_path / "imported" / "metrics.jsonl")] == [1, 2]
    # Where every episode fails alike there is nothing to learn, unless the reward from outside tells them apart.
    assert [row["updates"] for row in rows(tmp_path / "imported" / "metrics.jsonl")] == [0, 0]
    assert [row["updates"] for row in rows(tmp_path / "named" / "metrics.jsonl")] == [1, 1]


def test_palaestra_train_finds_teacher_reward_and_recipe_by_their_entry_points(package: Path):
    arguments = ["--teacher", "mine-teacher", "--recipe", "mine-letters-recipe", "--out", "first", *TINY]
    train(package, COMMAND, "train", "palaestra/Arithmetic-v0", *arguments)
    config = json.loads((package / "first" / "config.json").read_text())
    assert (config["teacher"], config["recipe"]) == ("mine-teacher", "mine-letters-recipe")
    assert {json.dumps(row["params"]) for row in rows(package / "first" / "proposals.jsonl")} == {
        '{"terms": 4, "digits": 4, "operations": "+-"}'
    }


def test_palaestra_eval_finds_an_agent_by_its_entry_point(package: Path):
    arguments = ["palaestra/Arithmetic-v0", "--agent", "mine-agent", "--episodes", "5", "--json", "report.json"]
    run(package, "-m", "palaestra.scripts.cli", "eval", *arguments)
    assert json.loads((package / "report.json").read_text())["agent"] == "mine-agent"


def test_palaestra_list_shows_what_entry_points_bring(package: Path):
    tables = json.loads(run(package, "-m", "palaestra.scripts.cli", "list", "--format", "json"))
    listed = {row["name"] for kind in ENTRY_POINTS for row in tables[kind]}
    assert {"mine-teacher", "mine-letters", "mine-letters-recipe", "mine-agent"} <= listed
