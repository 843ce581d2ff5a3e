"""TRL's own ``GRPOTrainer`` trains on environments, on single answers and under a teacher: short, real runs.

The model is tiny and made here. Its vocabulary has whole tool calls, so that one sampled token is a turn.
"""

from __future__ import annotations

import inspect
import json
import os
import pickle
from pathlib import Path
from typing import Any

import palaestra
import pytest
from palaestra import teachers
from palaestra.envs import Game, IntAxis, ParamSpace, Transition
from palaestra.errors import InputError
from palaestra.integrations import trl as ours
from palaestra.integrations.core import make_text_env

from ..extras import needs

pytestmark = [needs("torch", "trl"), pytest.mark.filterwarnings("ignore")]

GUESS = "palaestra/GuessNumber-v0"
CHOICE = "palaestra/MultipleChoice-v0"
CALLS = [
    f'<tool_call>\n{{"name": "guess", "arguments": {{"number": {number}}}}}\n</tool_call>' for number in range(1, 5)
]


class Spoiled(Game):
    """A step raises, or is not valid: the machinery's fault, never the player's."""

    param_space = ParamSpace([IntAxis("goal", 2, 9)])

    def start(self, rng, params):
        return int(rng.integers(2, params["goal"] + 1))

    def observe(self, state):
        return f"{state}"

    def act(self, state, action):
        if action == "raise":
            raise OSError("the machine is gone")
        return Transition(state, done=True, valid=False)


@pytest.fixture(scope="module")
def tokenizer() -> Any:
    import trl
    from palaestra.agents.language.tokenizer import character_tokenizer

    tokenizer = character_tokenizer()
    tokenizer.add_special_tokens({"additional_special_tokens": ["<|im_start|>", "<|im_end|>"]})
    tokenizer.eos_token = "<|im_end|>"
    tokenizer.add_tokens(CALLS)
    templates = Path(inspect.getfile(trl)).parent / "chat_templates"
    tokenizer.chat_template = (templates / "qwen3.jinja").read_text(encoding="utf-8")
    return tokenizer


def make_trainer(folder: Path, tokenizer: Any, tokens: list[str], rewards: Any = None, args: Any = (), **options: Any):
    """A trainer with a new model that says one of ``tokens`` and stops."""
    from palaestra.agents.language.tiny import TinyShape, tiny_model
    from trl import GRPOConfig, GRPOTrainer

    os.environ["TRL_EXPERIMENTAL_SILENCE"] = "1"
    shape = TinyShape(hidden=16, layers=1, heads=2, kv_heads=1, head_dim=8, intermediate=16, context=8192)
    model, _ = tiny_model(0, shape, tokenizer)
    said = tokenizer.convert_tokens_to_ids(tokens)
    config = GRPOConfig(
        **{
            "output_dir": str(folder),
            "per_device_train_batch_size": 8,
            "num_generations": 4,
            "max_completion_length": 2000,
            "max_steps": 2,
            "learning_rate": 1e-2,
            "logging_steps": 1,
            "report_to": [],
            "use_cpu": True,
            "disable_tqdm": True,
            "save_strategy": "no",
            "seed": 0,
            "gradient_checkpointing": False,
            "generation_kwargs": {
                "suppress_tokens": sorted(set(range(len(tokenizer))) - set(said)),
                "eos_token_id": said,
            },
            **dict(args),
        }
    )
    return GRPOTrainer(model, rewards, args=config, processing_class=tokenizer, **options)


def history(trainer: Any, name: str) -> list[float]:
    return [float(line[name]) for line in trainer.state.log_history if name in line]


def test_a_game_is_trained_on_with_its_actions_as_tools(tmp_path: Path, tokenizer):
    trainer = make_trainer(
        tmp_path,
        tokenizer,
        CALLS,
        args={"max_tool_calling_iterations": 2},
        train_dataset=ours.dataset(GUESS, 8, axes={"bits": [1, 2]}),
        environment_factory=ours.environment(GUESS),
    )
    assert [tool.__name__ for tool in trainer.tools] == ["guess"]
    before = {name: value.clone() for name, value in trainer.model.named_parameters()}
    trainer.train()
    assert trainer.state.global_step == 2
    assert max(history(trainer, "reward")) > 0
    assert history(trainer, "reward") == history(trainer, "rewards/GuessNumber/mean")
    assert max(history(trainer, "grad_norm")) > 0
    assert any((value != before[name]).any() for name, value in trainer.model.named_parameters())
    results = [environment._result() for environment in trainer.environments]
    assert all(result.turns > 0 for result in results)
    # A group meets one task, another group another.
    tasks = [result.task_id for result in results]
    assert [len(set(tasks[:4])), len(set(tasks[4:])), len(set(tasks))] == [1, 1, 2]


def test_single_answers_are_rewarded_and_logged(tmp_path: Path, tokenizer):
    data = ours.dataset(CHOICE, 8, difficulty=0.0)
    trainer = make_trainer(
        tmp_path, tokenizer, list("ABCD"), ours.reward(CHOICE), {"max_completion_length": 1}, train_dataset=data
    )
    trainer.train()
    rewards = history(trainer, "rewards/MultipleChoice-v0/mean")
    assert max(rewards) > 0
    assert history(trainer, "MultipleChoice-v0/success") == pytest.approx(rewards)


def test_a_teacher_hears_of_every_group_two_batches_later_and_goes_on_from_a_checkpoint(tmp_path: Path, tokenizer):
    seen: list[tuple[int, int]] = []  # proposals and outcomes at each draw
    options = {"max_completion_length": 1, "shuffle_dataset": False, "save_strategy": "steps", "save_steps": 3}

    def run(steps: int, **more: Any) -> tuple[ours.Curriculum, Any]:
        curriculum = ours.Curriculum(CHOICE, "alp-gmm", seed=1)
        propose = curriculum.teacher.propose

        def recorded(k: int) -> Any:
            metrics = curriculum.teacher.metrics()
            seen.append((int(metrics["proposed"]), int(metrics["observed"])))
            return propose(k)

        curriculum.teacher.propose = recorded  # type: ignore[method-assign]
        return curriculum, make_trainer(
            tmp_path,
            tokenizer,
            list("ABCD"),
            curriculum.reward,
            {**options, "max_steps": steps, **more},
            train_dataset=curriculum.dataset(),
            callbacks=[curriculum.callback()],
        )

    curriculum, trainer = run(3)
    trainer.train()
    assert curriculum.teacher.metrics()["observed"] == 6
    # Two groups a batch: the rewards of a batch are known when the next but one is drawn.
    assert seen[:8] == [(0, 0), (1, 0), (2, 0), (3, 0), (4, 2), (5, 2), (6, 4), (7, 4)]
    assert max(history(trainer, "reward")) > 0
    assert history(trainer, "teacher/observed")[-1] == 6

    saved = json.loads((tmp_path / "checkpoint-3" / "teacher.json").read_text())
    assert saved["teacher"]["counts"]["observed"] == 6
    seen.clear()
    curriculum, trainer = run(4, ignore_data_skip=True)
    trainer.train(resume_from_checkpoint=str(tmp_path / "checkpoint-3"))
    assert seen[0] == (saved["teacher"]["next_id"], 6)
    assert curriculum.teacher.metrics()["observed"] == 8
    _, trainer = run(4)
    with pytest.raises(InputError, match="ignore_data_skip=True"):
        trainer.train(resume_from_checkpoint=str(tmp_path / "checkpoint-3"))
    _, trainer = run(4, shuffle_dataset=True)
    with pytest.raises(InputError, match="shuffle_dataset=False"):
        trainer.train()


def test_a_teacher_of_a_game_hears_of_what_the_environments_gave(tmp_path: Path, tokenizer):
    curriculum = ours.Curriculum(GUESS, "alp-gmm", seed=0, axes={"bits": [1, 2]})
    trainer = make_trainer(
        tmp_path,
        tokenizer,
        CALLS,
        curriculum.reward,
        {"max_tool_calling_iterations": 1, "shuffle_dataset": False, "max_steps": 1},
        train_dataset=curriculum.dataset(),
        environment_factory=ours.environment(GUESS),
        callbacks=[curriculum.callback()],
    )
    trainer.train()
    assert curriculum.teacher.metrics()["observed"] == 2


def test_nothing_but_the_actions_is_a_tool_and_the_end_is_told():
    made = ours.environment("palaestra/GuessNumber-v0", difficulty=0.0)
    environment = pickle.loads(pickle.dumps(made))()
    public = {name for name, _ in inspect.getmembers(type(environment), inspect.isfunction) if name[0] != "_"}
    assert public == {"reset", "get_reward", "guess"}
    row = ours.dataset("palaestra/GuessNumber-v0", 1, difficulty=0.0)[0]
    assert environment.reset(**row).startswith("Guess my number")
    assert environment.get_reward() == 0.0
    with pytest.raises(InputError, match="must be a whole number, not 'many'"):
        environment.guess("many")
    with pytest.raises(InputError, match="guess was called wrongly"):
        environment.guess(secret=3)
    text = environment.guess(number=int(environment._episode.env.unwrapped.oracle()))
    while "The episode is over" not in text:
        text = environment.guess(int(environment._episode.env.unwrapped.oracle()))
    assert text.endswith("The episode is over: solved.")
    assert environment.get_reward() == 1.0
    with pytest.raises(InputError, match="The episode is over; nothing more"):
        environment.guess(1)
    assert environment.get_reward() == 1.0


@pytest.mark.parametrize("action", ["raise", "spoil"])
def test_a_failure_of_the_machinery_has_no_reward(action: str):
    palaestra.envs.register("integrations/Spoiled-v0", Spoiled)
    environment = ours.environment("integrations/Spoiled-v0")()
    environment.reset(seed=0)
    if action == "raise":
        with pytest.raises(OSError, match="gone"):
            environment.act(action)
    else:
        environment.act(action)
    assert environment.get_reward() is None


def test_rows_that_do_not_fit_are_refused_and_those_of_other_ids_have_no_reward():
    environment = ours.environment(GUESS)()
    with pytest.raises(InputError, match="no 'seed', so that a group would mix tasks"):
        environment.reset(prompt=[])
    with pytest.raises(InputError, match="came to the environment 'palaestra/GuessNumber-v0'"):
        environment.reset(env="palaestra/Wordle-v0", seed=0)
    with pytest.raises(InputError, match="several turns; use environment_factory"):
        ours.reward(GUESS)
    with pytest.raises(InputError, match="no column 'seed'"):
        ours.reward(CHOICE)(["A"])
    score = ours.reward("palaestra/Arithmetic-v0")
    row = ours.dataset("palaestra/Arithmetic-v0", 1, digits=1)[0]
    columns = {name: [row[name]] * 2 for name in ("seed", "kwargs", "options")}
    assert score(["no idea", [{"role": "assistant", "content": ""}]], env=[row["env"], CHOICE], **columns) == [
        0.0,
        None,
    ]


def test_a_teacher_that_needs_more_than_trl_gives_is_refused():
    with make_text_env(CHOICE) as env:
        teacher = teachers.make("alp-gmm", env.unwrapped.param_space)  # type: ignore[attr-defined]
    teacher.needs = frozenset({"value_error"})
    with pytest.raises(InputError, match="needs value_error, which TRL does not give"):
        ours.Curriculum(CHOICE, teacher)
    teacher.needs = frozenset()
    with pytest.raises(InputError, match="options are for a teacher that is made by name"):
        ours.Curriculum(CHOICE, teacher, options={"window": 5})
    with pytest.raises(InputError, match="several turns, so it needs tools"):
        ours.Curriculum(GUESS, "random", tools=False)


def test_a_teacher_is_told_what_the_environment_can_earn():
    env = "palaestra/MovingObstaclesText-v0"
    assert ours.Curriculum(env, "sec").teacher.return_range == (-1.0, 1.0)
    assert ours.Curriculum(env, "sec", options={"return_range": (-2, 2)}).teacher.return_range == (-2.0, 2.0)
