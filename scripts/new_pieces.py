"""Files of the package that ``palaestra new`` writes: a small working example with its test.

In each template ``$name`` is the registered name, ``$module`` the module and ``$Class`` the class.
"""

from __future__ import annotations

from string import Template
from typing import NamedTuple

PYPROJECT = """\
[build-system]
requires = ["setuptools>=77"]
build-backend = "setuptools.build_meta"

[project]
name = "$project"
version = "0.1.0"
description = "$title for Palaestra."
requires-python = ">=3.11"
dependencies = ["palaestra$extra"]

[project.optional-dependencies]
test = ["pytest>=8"]

[project.entry-points."palaestra.$group"]
"$name" = "$module:$attribute"

[tool.setuptools]
py-modules = ["$module"]

[tool.pytest.ini_options]
testpaths = ["tests"]
"""

README = """\
# $title

$what for Palaestra, in `$module.py`.

```bash
pip install $source-e '.[test]'
pytest                # $tested
$try_it
```

The name is announced to Palaestra in `pyproject.toml`, under `[project.entry-points."palaestra.$group"]`; install again
after changing it there.
"""

ENV = '''\
"""$name: an example, which doubles numbers. Put your own task in its place; the headings of the docstring stay."""

from __future__ import annotations

from typing import Any

import numpy as np
from palaestra.envs import IntAxis, ParamSpace, Question, Task, register


class $Class(Question):
    """Double a number: the example that stands here until the task is written.

    Description:
        A whole number is to be doubled. For several turns derive from `palaestra.envs.Game` instead.

    Parameters:
        digits (3 to 12): digits of the number.

    Observation:
        Text such as ``What is 2 * 512? Answer with an integer only.``

    Actions:
        Text with one integer.

    Reward:
        1 for the exact product, 0 otherwise.

    Termination:
        After the first answer.

    Source:
        Made here.
    """

    param_space = ParamSpace([IntAxis("digits", 3, 12)])
    verifier = "integer"

    def generate(self, rng: np.random.Generator, params: dict[str, Any]) -> Task:
        least = 10 ** (params["digits"] - 1)
        number = int(rng.integers(least, 10 * least))
        return Task(f"What is 2 * {number}? Answer with an integer only.", reference=2 * number, data=number)

    def solution_steps(self, task: Task) -> list[str]:
        """The worked solution, a line for each digit that is not 0, and the answer at the end."""
        text = str(task.data)
        parts = [int(digit) * 10 ** (len(text) - place) for place, digit in enumerate(text, start=1)]
        return [*(f"2 * {part} = {2 * part}" for part in parts if part), self.oracle(task)]


register("$name", $Class)
'''

ENV_TEST = '''\
"""The contract of every environment, for `$name`: about thirty tests, none of which has to be written."""

import pytest

pytest.register_assert_rewrite("palaestra.envs.testing")
import $module  # noqa: E402, F401  # registers the id
from palaestra.envs.testing import *  # noqa: E402, F403

IDS = ["$name"]
'''

TEACHER = '''\
"""$name: a teacher that follows the edge of what is mastered. Replace `_draw` and `_learn` by your own."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from palaestra.teachers import Draw, Evidence, Teacher, as_cube, option, register


@register("$name")
class $Class(Teacher):
    """Climb a level when its tasks are solved, and step down when they are not."""

    space: Any = option(kw_only=False, saved=False, says="a `ParamSpace`, a bounded `Box` or a `Discrete`.")
    step: float = option(default=0.02, above=0, high=1, says="change of the level, from 0 to 1, by an outcome.")

    def setup(self) -> None:
        self.cube, self.level = as_cube(self.space), 0.0
        self.begin(self.cube.signature)

    def _draw(self, k: int) -> list[Draw]:
        """Choose ``k`` tasks: here, around the level on every axis."""
        points = np.clip(self.level + 0.1 * self._rng.standard_normal((k, self.cube.dimension)), 0.0, 1.0)
        return [Draw(point.tolist(), self.cube.decode(point)) for point in points]

    def _record(self, task: Any) -> Any:
        """Keep of a task that was not drawn here what `_learn` needs; raise InputError for one outside the space."""
        return self.cube.encode(task).tolist()

    def _learn(self, evidence: list[Evidence]) -> None:
        """Take in outcomes, in the order in which they were reported."""
        for one in evidence:
            gain = self.step * (2 * float(np.mean(one.returns)) - 1)  # returns lie in [0, 1] here
            self.level = min(max(self.level + gain, 0.0), 1.0)

    def _metrics(self) -> dict[str, float]:
        """Figures for the logs of a run."""
        return {"level": self.level}

    def _save(self) -> dict[str, Any]:
        """What the next choices depend on, as JSON."""
        return {"level": self.level}

    def _restore(self, own: Mapping[str, Any]) -> None:
        self.level = float(own["level"])
'''

TEACHER_TEST = '''\
"""`$name` chooses from the space, goes on exactly where it was saved, and climbs."""

import json

import $module  # noqa: F401  # registers the name
import gymnasium as gym
import palaestra  # noqa: F401  # registers the environments
from palaestra.teachers import Outcome, make

SPACE = gym.make("palaestra/Arithmetic-v0").unwrapped.param_space


def practise(teacher, times, success):
    tasks = []
    for _ in range(times):
        (proposal,) = teacher.propose(1)
        tasks.append(SPACE.validate(proposal.task))
        teacher.observe([Outcome(proposal.id, proposal.task, [float(success)], [success])])
    return tasks


def test_it_is_a_function_of_its_seed_and_goes_on_where_it_was_saved():
    one, two = make("$name", SPACE, seed=1), make("$name", SPACE, seed=1)
    assert practise(one, 20, True) == practise(two, 20, True)
    later = make("$name", SPACE, seed=2)
    later.load_state_dict(json.loads(json.dumps(one.state_dict())))
    assert practise(later, 20, False) == practise(one, 20, False)


def test_it_climbs_where_all_is_solved():
    teacher = make("$name", SPACE, seed=0)
    tasks = practise(teacher, 100, True)
    assert SPACE.difficulty(tasks[-1]) > SPACE.difficulty(tasks[0])
'''

REWARD = '''\
"""$name: a reward of short answers. Replace `value` by your own."""

from __future__ import annotations

from palaestra.rewards import Episode, Reward, option, register


@register("$name")
class $Class(Reward):
    """Share that is left of a budget of characters, where the episode is a success; else 0. It is added to the
    environment's own reward."""

    bounds = (0.0, 1.0)
    budget: int = option(default=200, low=1, says="characters of all actions at which nothing is left.")

    def value(self, episode: Episode) -> float:
        written = sum(len(str(step.action)) for step in episode.steps)
        return float(episode.success) * max(0.0, 1.0 - written / self.budget)
'''

REWARD_TEST = '''\
"""`$name` pays short successes, and nothing else."""

import $module  # noqa: F401  # registers the name
import gymnasium as gym
import palaestra  # noqa: F401  # registers the environments
import pytest
from palaestra.rewards import RewardWrapper, make


def earn(action, budget=200):
    env = RewardWrapper(gym.make("palaestra/Arithmetic-v0"), make("$name", budget=budget))
    env.reset(seed=0)
    action = action.replace("RIGHT", env.unwrapped.oracle())
    info = env.step(action)[4]
    return info["reward_terms"].get("$name", 0.0), len(action)


def test_a_short_success_is_worth_more_than_a_long_one():
    short, written = earn("RIGHT")
    long, _ = earn("It took me some time, but now I am certain: RIGHT")
    assert short == pytest.approx(1 - written / 200)
    assert 0 < long < short


def test_failures_and_answers_beyond_the_budget_are_worth_nothing():
    assert earn("0")[0] == 0
    assert earn("RIGHT", budget=1)[0] == 0
'''

RECIPE = '''\
"""$name: a row of stages for the learner. `palaestra list components` shows what each stage can be."""

from __future__ import annotations

from palaestra.agents.grpo import Credit, Recipe, c, register_recipe

$module = register_recipe(
    Recipe(
        name="$name",
        paper="none",
        summary="advantages over the mean of the other answers, a mean over all tokens",
        credit=(Credit(baseline=c("leave_one_out"), scale=c("none")),),
        reduction=c("token_mean"),
    )
)
'''

RECIPE_TEST = '''\
"""`$name` is a recipe that can work: a step of a tiny model is taken by it."""

import math

import $module  # noqa: F401  # registers the name
from palaestra.agents.grpo import Learner, Objective, RECIPES, TrainConfig
from palaestra.agents.grpo.config import WarmUp


def test_its_stages_fit_together():
    Objective(RECIPES["$name"])  # raises, in one sentence, where they do not


def test_a_tiny_model_takes_a_step_by_it(tmp_path):
    config = TrainConfig(
        recipe="$name",
        axes={"terms": 2, "digits": 1, "operations": "+"},
        steps=1,
        prompts=4,
        samples=4,
        warmup=WarmUp(steps=4, batch=16),
        max_new_tokens=4,
        eval_every=0,
        final_episodes=4,
        threads=1,
        track=(),
    )
    learner = Learner.start(tmp_path / "run", config)
    assert learner.run()
    assert all(math.isfinite(weight) for weight in next(learner.language.model.parameters()).flatten()[:10].tolist())
'''

AGENT = '''\
"""$name: an agent. Replace `act` by your own."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from palaestra.agents import Agent, register


@register("$name")
class $Class(Agent):
    """Answers with the sum of the numbers that it reads.

    Args:
        largest: numbers above it are left out.
    """

    name = "$name"

    def __init__(self, largest: int = 10**6):
        self.largest = largest

    def act(self, observations: Sequence[Any], infos: Sequence[Mapping[str, Any]]) -> list[Any]:
        """Return one action for each observation; the environments are independent of each other."""
        found = [map(int, re.findall(r"\\d+", str(observation))) for observation in observations]
        return [str(sum(number for number in numbers if number <= self.largest)) for numbers in found]
'''

AGENT_TEST = '''\
"""`$name` is found by its name, and adds up."""

import $module
import palaestra

SUMS = {"operations": "+", "terms": [2, 3], "digits": [1, 2]}


def test_it_solves_sums():
    assert palaestra.evaluate("$name", "palaestra/Arithmetic-v0", episodes=30, axes=SUMS).success.mean == 1.0


def test_its_option_counts():
    report = palaestra.evaluate($module.$Class(largest=0), "palaestra/Arithmetic-v0", episodes=30, axes=SUMS)
    assert report.success.mean == 0.0
'''


class Piece(NamedTuple):
    """Example of one kind: entry-point group, texts of README, code and test, commands to try, and required extra."""

    group: str
    what: str
    code: str
    test: str
    tested: str
    try_it: str
    extra: str = ""


_TABLE = "palaestra bench teachers --tables T1 --settings 2d --seeds 2 --teachers random $name"
_TRAIN = "palaestra train {} $name --steps 20"
_EVAL = "palaestra eval palaestra/Arithmetic-v0 --agent $name"
_PLAY = "palaestra play $name\npalaestra eval $name --agent oracle"
_PARTS = "that its stages fit together, and a step of a tiny model"
KINDS: dict[str, Piece] = {
    "env": Piece("envs", "An environment", ENV, ENV_TEST, "the contract of every environment", _PLAY),
    "teacher": Piece("teachers", "A teacher", TEACHER, TEACHER_TEST, "seeds, saving, and that it climbs", _TABLE),
    "reward": Piece("rewards", "A reward", REWARD, REWARD_TEST, "what it pays", _TRAIN.format("--shaping"), "[train]"),
    "recipe": Piece("recipes", "A recipe", RECIPE, RECIPE_TEST, _PARTS, _TRAIN.format("--recipe"), "[train]"),
    "agent": Piece("agents", "An agent", AGENT, AGENT_TEST, "that it is found, and what it solves", _EVAL),
}


def write_pieces(kind: str, project: str, module: str, name: str, title: str, source: str = "") -> dict[str, str]:
    """Return the files of a package, as path -> text.

    Args:
        kind: one of `KINDS`.
        project: name of the distribution.
        module: name of the module.
        name: registered name.
        title: name of the class.
        source: arguments of pip that install Palaestra itself; "" if an index has it.
    """
    piece = KINDS[kind]
    words = {"project": project, "module": module, "name": name, "Class": title, "title": title}
    words |= {"attribute": module if kind == "recipe" else title, "group": piece.group, "what": piece.what}
    words |= {"tested": piece.tested, "extra": piece.extra, "try_it": Template(piece.try_it).substitute(words)}
    words["source"] = f"{source} " if source else ""
    texts = {
        "pyproject.toml": PYPROJECT,
        "README.md": README,
        f"{module}.py": piece.code,
        f"tests/test_{module}.py": piece.test,
    }
    return {path: Template(text).substitute(words) for path, text in texts.items()}
