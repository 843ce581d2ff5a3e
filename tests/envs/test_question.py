from __future__ import annotations

from typing import Any

import gymnasium as gym
import numpy as np
import palaestra
import pytest
from gymnasium.envs.registration import EnvSpec
from gymnasium.utils.env_checker import check_env
from palaestra.envs import IntAxis, ParamSpace, Question, Task
from palaestra.errors import InputError, MachineryError
from palaestra.rewards import Verdict


class Doubling(Question):
    """The example of the module's docstring."""

    param_space = ParamSpace([IntAxis("high", 10, 1000)])
    verifier = "integer"

    def generate(self, rng: np.random.Generator, params: dict[str, Any]) -> Task:
        n = int(rng.integers(1, params["high"] + 1))
        return Task(f"What is 2 * {n}? Answer with an integer only.", reference=2 * n)


class Judged(Doubling):
    """A question whose verdict the test chooses."""

    verdict = Verdict(0.0, False)

    def verify(self, task: Task, answer: str) -> Verdict:
        return self.verdict


def answered(env: gym.Env[Any, Any], action: Any) -> tuple[float, dict[str, Any]]:
    env.reset(seed=0)
    _, reward, terminated, truncated, info = env.step(action)
    assert terminated
    assert not truncated
    return float(reward), info


@pytest.mark.parametrize("entry_point", [Doubling, f"{__name__}:Doubling", lambda **kwargs: Doubling(**kwargs)])
@pytest.mark.parametrize("through", [gym.register, palaestra.envs.register])
def test_a_family_from_outside_registers_by_class_string_or_function(entry_point: Any, through: Any):
    through(id="outside/Doubling-v0", entry_point=entry_point)
    try:
        env = gym.make("outside/Doubling-v0", difficulty=0.5)
        check_env(env.unwrapped)
        env.reset(seed=1)
        assert env.step(env.unwrapped.oracle())[4]["is_success"]  # type: ignore[attr-defined]
        assert ("outside/Doubling-v0" in palaestra.envs.ids()) == (through is palaestra.envs.register)
    finally:
        del gym.registry["outside/Doubling-v0"]
        palaestra.envs.registration._ids[:] = [i for i in palaestra.envs.ids() if i != "outside/Doubling-v0"]


def test_a_registered_class_keeps_a_spec_that_json_can_hold():
    palaestra.envs.register("outside/Again-v0", Doubling)
    try:
        env = gym.make("outside/Again-v0", high=20)
        assert env.spec is not None
        assert gym.make(EnvSpec.from_json(env.spec.to_json())).reset(seed=0) == env.reset(seed=0)
    finally:
        del gym.registry["outside/Again-v0"]
        palaestra.envs.registration._ids.remove("outside/Again-v0")


def test_a_malformed_id_is_refused():
    with pytest.raises(InputError, match="no good"):
        palaestra.envs.register("no good", Doubling)


def test_right_wrong_and_malformed_answers_are_told_apart():
    env = Doubling(high=10)
    env.reset(seed=0)
    gold = env.oracle()
    reward, info = answered(env, gold)
    assert (reward, info["is_success"], info["progress"], info["action_error"]) == (1.0, True, 1.0, None)
    assert info["reward_terms"] == {"answer": 1.0}
    reward, info = answered(env, "-1")
    assert (reward, info["is_success"], info["progress"], info["action_error"]) == (0.0, False, 0.0, None)
    reward, info = answered(env, "seven")
    assert (reward, info["is_success"], info["action_error"]) == (0.0, False, info["feedback"])
    assert "integer" in info["action_error"]


def test_failed_machinery_is_flagged_and_no_success():
    env = Judged()
    env.verdict = Verdict(0.0, False, valid=False, feedback="The sandbox is down.")
    _, info = answered(env, "1")
    assert info["reward_valid"] is False
    assert info["is_success"] is False


def test_machinery_that_raises_is_flagged_too():
    class Broken(Doubling):
        def verify(self, task: Task, answer: str) -> Verdict:
            raise MachineryError("the judge is out of order.")

    reward, info = answered(Broken(split="all"), "4")
    assert (reward, info["reward_valid"], info["is_success"], info["action_error"]) == (0.0, False, False, None)
    assert info["feedback"] == "the judge is out of order."


def test_partial_credit_is_no_success():
    env = Judged()
    env.verdict = Verdict(0.5, False, terms={"answer": 0.5, "length": -0.25})
    reward, info = answered(env, "1")
    assert reward == 0.25
    assert info["reward_terms"] == {"answer": 0.5, "length": -0.25}
    assert info["is_success"] is False
    assert info["progress"] == 0.5


@pytest.mark.parametrize(
    ("answer_format", "asked", "template"),
    [
        ("boxed", "\\boxed{}", "\\boxed{%s}"),
        ("tag", "<answer>", "<answer>%s</answer>"),
        ("last_line", "last line", "So:\n%s"),
    ],
)
def test_prompt_asks_for_the_format_that_is_read(answer_format: str, asked: str, template: str):
    env = Doubling(answer_format=answer_format)
    assert asked in env.reset(seed=0)[0]
    bare = str(env.here().reference)
    assert answered(env, template % bare)[0] == 1.0
    env.reset(seed=0)
    assert env.step(env.oracle())[1] == 1.0
    if answer_format != "last_line":
        assert answered(env, bare)[1]["action_error"]


def test_oracle_answers_the_task_it_is_given():
    env = Doubling(answer_format="boxed")
    env.reset(seed=0)
    assert env.oracle(Task("?", 12)) == "12"
    assert env.oracle(Task("?", 12, solution="twelve")) == "twelve"
    assert env.oracle() == f"\\boxed{{{env.here().reference}}}"


def test_an_answer_longer_than_the_action_space_is_not_read():
    env = Doubling()
    _, info = answered(env, "0" * 4096 + "1")
    assert "4097 characters" in info["action_error"]


def test_a_split_without_tasks_ends_in_one_sentence():
    class Single(Doubling):
        def generate(self, rng: np.random.Generator, params: dict[str, Any]) -> Task:
            return Task("Always the same.", "same")

    kept, missing = Single(split="train"), Single(split="test")
    if palaestra.envs.splits.split_of("Always the same.") == "test":
        kept, missing = missing, kept
    kept.reset(seed=0)
    with pytest.raises(InputError, match="split='all'"):
        missing.reset(seed=0)


@pytest.mark.parametrize(
    "options", [{"digits": 3}, {"difficulty": 2}, {"params": {"higher": 3}}, {"params": 3}, 5, ["difficulty"]]
)
def test_wrong_reset_options_are_refused(options: dict[str, Any]):
    with pytest.raises(InputError):
        Doubling().reset(options=options)


def test_task_id_is_the_same_for_the_same_task_only():
    env = Doubling()
    first = env.reset(seed=1)[1]["task_id"]
    assert env.reset(seed=1)[1]["task_id"] == first
    assert len({env.reset(seed=seed, options={"difficulty": 1.0})[1]["task_id"] for seed in range(50)}) > 40


def test_render_shows_the_prompt_in_ansi_mode_only():
    env = Doubling(render_mode="ansi")
    prompt, _ = env.reset(seed=0)
    assert env.render() == prompt
    with pytest.raises(InputError, match="'ansi'"):
        Doubling(render_mode="rgb_array")


def test_the_terse_prompt_is_another_wording_of_the_same_task():
    class Sum(Question):
        verifier = "integer"

        def generate(self, rng, params):
            number = int(rng.integers(1000))
            return Task(f"What is 1 + {number}? Answer with an integer only.", 1 + number, terse=f"1+{number}")

    envs = {form: Sum(prompt=form) for form in ("sentences", "terse")}
    shown = {form: env.reset(seed=3) for form, env in envs.items()}
    assert shown["sentences"][0].replace("What is 1 + ", "1+").partition("?")[0] == shown["terse"][0]
    # A family that gets sentences keeps the ids and splits of its terse prompts.
    assert shown["sentences"][1]["task_id"] == shown["terse"][1]["task_id"]
    assert envs["sentences"].content_of(envs["sentences"].here()) == shown["terse"][0]
    with pytest.raises(InputError, match="'brief'"):
        Sum(prompt="brief")


@pytest.mark.parametrize(
    ("env_id", "options"),
    [
        ("MultipleChoice", {"of": "palaestra/Arithmetic-v0"}),
        ("Cloze", {"of": "palaestra/Arithmetic-v0"}),
        ("HintPrefix", {"of": "palaestra/Arithmetic-v0"}),
        ("Formats", {"of": "palaestra/Arithmetic-v0"}),
        ("Rephrased", {"of": "palaestra/Arithmetic-v0", "changes": 1}),
        ("ToolUse", {"of": "palaestra/Arithmetic-v0"}),
        ("Chained", {"families": ["palaestra/Arithmetic-v0"]}),
        ("Mixture", {"envs": ["palaestra/Arithmetic-v0"]}),
    ],
)
def test_environments_made_of_others_hand_the_form_of_prompts_on(env_id, options):
    name = f"palaestra/{env_id}-v0"
    texts = {form: gym.make(name, prompt=form, **options).reset(seed=1)[0] for form in ("sentences", "terse")}
    assert " = ? (integer)" in texts["terse"]
    assert "Answer with an integer only." not in texts["terse"]
    assert "Answer with an integer only." in texts["sentences"]
    if "of" in options:
        inner = gym.make(name, prompt="terse", **options, of_kwargs={"prompt": "sentences"}).reset(seed=1)[0]
        assert inner == texts["sentences"]
