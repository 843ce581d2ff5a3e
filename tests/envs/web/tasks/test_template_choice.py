"""Choice of templates: every template alone, and every two together, have tasks at every difficulty."""

from __future__ import annotations

import itertools
from typing import Any

import gymnasium as gym
import palaestra  # noqa: F401  # registers the ids
import pytest
from palaestra.envs.axes import ChoiceAxis, IntAxis
from palaestra.envs.param_space import ParamSpace
from palaestra.envs.web.tasks.template import TEMPLATES
from palaestra.envs.web.tasks.template_choice import narrowed_axes, nearest_values
from palaestra.errors import InputError

SITES = {"shop": "Shop", "wiki": "WikiSite", "across": "WebAcross"} | {
    name: name.title() for name in ("admin", "booking", "forum", "tracker")
}
NAMES = {site: [one.name for _, one in TEMPLATES.items() if one.site == site and not one.on_request] for site in SITES}
TWO, THREE = (TEMPLATES[f"across/{name}"] for name in ("report-named-price", "buy-ticket-product"))


def make(site: str, templates: list[str], **kwargs: Any) -> Any:
    return gym.make(f"palaestra/{SITES[site]}-v0", templates=templates, disable_env_checker=True, **kwargs).unwrapped


@pytest.mark.parametrize("site", SITES)
def test_each_template_alone_has_solvable_tasks_at_every_difficulty(site: str):
    for name in NAMES[site]:
        env = make(site, [name])
        for difficulty in (0.0, 0.3, 0.6, 1.0):
            env.reset(seed=3, options={"difficulty": difficulty})
            assert env.here().task.template == name
            reward, done = 0.0, False
            while not done:
                _, reward, terminated, truncated, _ = env.step(env.oracle())
                done = terminated or truncated
            assert reward == 1.0, (name, difficulty)
        env.close()


def test_two_templates_that_differ_in_several_axes_have_tasks():
    for pair in itertools.combinations(NAMES["across"], 2):
        env = make("across", list(pair))
        for seed in range(3):
            _, info = env.reset(seed=seed, options={"difficulty": 0.6})
            assert env.here().task.template in pair
            assert TEMPLATES[f"across/{env.here().task.template}"].axes.items() <= info["params"].items()


def test_difficulty_and_requests_are_kept_where_templates_leave_a_choice():
    names = [TWO.name, THREE.name]
    for difficulty, name in ((0.0, TWO.name), (1.0, THREE.name)):
        env = make("across", names, difficulty=difficulty)
        for seed in range(6):
            env.reset(seed=seed)
            assert env.here().task.template == name
    env = make("across", names, difficulty=1.0)
    env.reset(seed=0, options={"params": {"intent": "report"}})
    assert env.here().task.template == TWO.name
    with pytest.raises(InputError, match="no template of AcrossTasks fits"):
        env.reset(seed=0, options={"params": {"intent": "report", "sites": 3}})


def test_axes_are_narrowed_to_the_values_of_templates_and_values_move_to_the_nearest():
    family = ParamSpace([IntAxis("sites", 2, 3), ChoiceAxis("intent", ("act", "report"), harder=None)])
    assert narrowed_axes([TWO], family) == {"intent": ["report"], "sites": (2, 2)}
    assert narrowed_axes([TWO, THREE], family) == {"intent": ["act", "report"], "sites": (2, 3)}
    params = {"sites": 3, "intent": "report"}
    assert nearest_values(params, {}, [TWO, THREE], family) == {"sites": 3, "intent": "act"}
    assert nearest_values(params, {"intent": "report"}, [TWO, THREE], family) == {"sites": 2, "intent": "report"}
    assert nearest_values(params, params, [TWO, THREE], family) == {}
    assert nearest_values(params, {}, [TWO, THREE], family.restrict(sites=2)) == {"sites": 2, "intent": "report"}
