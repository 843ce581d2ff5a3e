"""The warm-up: which tasks it shows, guesses at the others, and what it says of a policy that is too certain."""

from __future__ import annotations

import copy
import dataclasses
import json
from collections import Counter

import gymnasium
import numpy as np
import pytest
import torch
from palaestra.agents.grpo import warmup
from palaestra.agents.grpo.config import TrainConfig, WarmUp
from palaestra.agents.grpo.learner import Learner
from palaestra.agents.grpo.rollouts.environments import Environments
from palaestra.agents.grpo.rollouts.episode_starts import TokenLimits
from palaestra.agents.grpo.run.folder import newest_checkpoint
from palaestra.agents.grpo.warmup import Syllabus, Variance, demonstrate, supervised_step
from palaestra.agents.language.language_agent import LanguageAgent
from palaestra.agents.language.model import LanguageModel
from palaestra.agents.oracle import has_solver
from palaestra.envs.task_env import TaskEnv
from palaestra.errors import InputError
from palaestra.scripts.cli import main
from palaestra.scripts.train import read_config

CODE = "palaestra/SecretCode-v0"


def code(**options) -> Environments:
    return Environments(CODE, axes={"symbols": [8, 30], "length": 4, "newest": 0.5}, **options)


def test_solutions_are_of_the_part_that_axes_name_and_guesses_of_the_rest():
    syllabus, rng = Syllabus(code(), WarmUp(axes={"symbols": [8, 12]}, explore=0.25)), np.random.default_rng(0)
    drawn = [syllabus.draw(rng) for _ in range(2000)]
    assert {params["symbols"] for params, guessed in drawn if not guessed} == set(range(8, 13))
    assert {params["symbols"] for params, guessed in drawn if guessed} == set(range(13, 31))
    # 500 expected; five standard deviations are 97.
    assert abs(sum(guessed for _, guessed in drawn) - 500) < 97


def test_a_guess_knows_what_was_shown(small):
    environments, rng = code(), np.random.default_rng(0)
    syllabus = Syllabus(environments, WarmUp(axes={"symbols": 8}, explore=0.5))
    env = environments.take()
    params = {"symbols": 9, "length": 4, "newest": 0.5}
    right = demonstrate(env, small, 3, params, 200)
    guesses = [
        demonstrate(env, small, 3, params, 200, lambda env: syllabus.guess(env, rng)).turns[0].action for _ in range(60)
    ]
    unknown = env.unwrapped.here().content.split().index("i")
    changed = Counter(i for g in guesses for i in range(4) if g[i] != right.turns[0].action[i])
    assert set(changed) == {unknown}
    assert len({guess[unknown] for guess in guesses}) == 8


def test_guesses_within_a_mixture_are_those_of_its_environments():
    blend = [{"id": CODE, "axes": {"length": 4}}, "palaestra/Arithmetic-v0"]
    environments = Environments("palaestra/Mixture-v0", envs=blend)
    syllabus = Syllabus(environments, WarmUp(axes={"SecretCode.symbols": 8, "Arithmetic.digits": 1}, explore=0.5))
    env, rng = gymnasium.make("palaestra/Mixture-v0", envs=blend), np.random.default_rng(0)
    own = {"SecretCode.symbols": 8, "SecretCode.length": 4, "SecretCode.newest": 0.5}
    env.reset(seed=0, options={"params": {"env": "SecretCode", **own}})
    assert {syllabus.guess(env, rng) for _ in range(5)} == {env.unwrapped.oracle()}


def test_without_a_solver_there_is_nothing_to_show(monkeypatch: pytest.MonkeyPatch):
    environments = code()
    family = type(environments.take().unwrapped)
    assert has_solver(environments.take())
    monkeypatch.setattr(family, "oracle", TaskEnv.oracle)
    with pytest.raises(InputError, match=r"no solver .* --warmup\.steps 0"):
        Syllabus(environments, WarmUp())


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"explore": 0.3}, "hardly any"),
        ({"axes": {"symbols": [8, 30]}, "explore": 0.3}, "--warmup.axis"),
        ({"axes": {"symbol": 8}}, "symbols"),
        ({"axes": {"symbols": 50}}, "50"),
    ],
)
def test_a_part_that_cannot_be_shown_is_refused(settings, words):
    with pytest.raises(InputError, match=words):
        Syllabus(code(), WarmUp(**settings))


def test_environments_without_random_answers_are_refused():
    with pytest.raises(InputError, match="ProgramDebugging has no random answers"):
        Syllabus(Environments("palaestra/ProgramDebugging-v0"), WarmUp(axes={"steps": 1}, explore=0.3))


@pytest.mark.parametrize("explore", [-0.1, 1.0, float("nan")])
def test_a_share_of_guesses_out_of_range_is_refused(explore):
    with pytest.raises(InputError, match=r"warmup\.explore"):
        TrainConfig(warmup=WarmUp(explore=explore))


@pytest.mark.parametrize("prompts", [-0.1, float("inf"), float("nan")])
def test_a_weight_of_prompts_out_of_range_is_refused(prompts):
    with pytest.raises(InputError, match=r"warmup\.prompts"):
        TrainConfig(warmup=WarmUp(prompts=prompts))


def test_prompts_of_a_weight_add_the_mean_loss_of_every_other_token(small):
    """Against the log-probabilities of each row alone, by the model itself; the loss that is told is the answers'."""
    environments = code()
    env = environments.take()
    episodes = [demonstrate(env, small, seed, environments.param_space.at(0.0), 200) for seed in range(3)]
    answers, others = [], []
    for turn in (turn for episode in episodes for turn in episode.turns):
        ids = torch.tensor([*turn.obs_ids, *turn.act_ids])
        logps = small.model(ids[None]).logits[0, :-1].log_softmax(-1).gather(1, ids[1:, None])[:, 0]
        answers.append(logps[len(turn.obs_ids) - 1 :])
        others.append(logps[: len(turn.obs_ids) - 1])
    assert all(len(episode.turns) == 1 for episode in episodes)
    expected = -torch.cat(answers).mean() - 0.3 * torch.cat(others).mean()
    weights = list(small.model.parameters())
    right = torch.autograd.grad(expected, weights)
    small.model.zero_grad()
    told = supervised_step(small.model, episodes, prompts=0.3).means()["loss"]
    assert told == pytest.approx(-float(torch.cat(answers).detach().mean()), abs=1e-5)
    assert all(torch.allclose(weight.grad, slope, atol=1e-5) for weight, slope in zip(weights, right, strict=True))
    small.model.zero_grad()


def test_a_certain_policy_and_a_perfect_one_are_reported_with_the_remedy():
    settings = WarmUp(target=0.9)
    (certain,) = Variance(32, 8, mixed=1, success=0.5, entropy=0.01).describe(settings)
    assert "1 had both" in certain
    assert "--warmup.target (now 0.9)" in certain
    (perfect,) = Variance(32, 8, mixed=0, success=1.0, entropy=0.4).describe(settings)
    assert "none had both" in perfect
    assert "--axis" in perfect
    # 2 of 32 are more than a twentieth; and what fails in many ways is for the teacher to avoid.
    assert Variance(32, 8, mixed=2, success=0.9, entropy=0.01).describe(settings) == []
    assert Variance(32, 8, mixed=0, success=0.0, entropy=0.7).describe(settings) == []


def test_a_warm_up_to_certainty_is_reported_by_the_run(small, tmp_path):
    small.save(tmp_path / "model")
    config = TrainConfig(
        env="palaestra/GuessNumber-v0",
        axes={"bits": 1, "slack": 0},
        model=str(tmp_path / "model"),
        warmup=WarmUp(steps=75, target=1.0, batch=8, lr=1e-2),
        **{"steps": 0, "samples": 4, "final_episodes": 1, "max_new_tokens": 2, "context": 128, "threads": 1},
    )
    told: list[str] = []
    learner = Learner.start(tmp_path / "run", config)
    learner.run(notify=told.append)
    assert any("The warm-up left little to learn from" in sentence for sentence in told)
    rows = [json.loads(line) for line in (tmp_path / "run" / "notices.jsonl").read_text().splitlines()]
    assert {"step": 0, "kind": "health"}.items() <= rows[-1].items()


def test_the_part_and_the_guesses_are_typed_on_the_command_line_and_survive_a_resume(small, tmp_path):
    small.save(tmp_path / "model")
    line = f"""{CODE} --model {tmp_path / "model"} --axis newest=0.5 --env-option code=3 --steps 1 --prompts 2
        --samples 2 --final-episodes 1 --max-new-tokens 6 --threads 1
        --warmup.steps 2 --warmup.batch 4 --warmup.axis symbols=8:9 length=4 --warmup.explore 0.5"""
    Learner.start(tmp_path / "run", read_config(line.split())).run()
    assert main(["train", "--resume", str(tmp_path / "run"), "--steps", "2"]) == 0
    config = json.loads((tmp_path / "run" / "config.json").read_text())
    assert config["warmup"]["axes"] == {"symbols": [8, 9], "length": 4}
    assert config["warmup"]["explore"] == 0.5
    assert config["steps"] == 2


def test_a_vocabulary_is_learned_from_solutions_and_kept_with_the_run(tmp_path):
    options = {"steps": 1, "prompts": 2, "samples": 2, "final_episodes": 2, "max_new_tokens": 6, "threads": 1}
    config = TrainConfig(env="palaestra/BaseConversion-v0", vocabulary=320, warmup=WarmUp(steps=1, batch=2), **options)
    learner = Learner.start(tmp_path / "run", config)
    # The observation's words are tokens; and the same run learns the same ones.
    assert {"base", "decimal"} & {token.strip("Ġ") for token in learner.language.tokenizer.get_vocab()}
    again = Learner.start(tmp_path / "again", config).language.tokenizer
    assert again.get_vocab() == learner.language.tokenizer.get_vocab()
    learner.run()
    assert Learner.resume(tmp_path / "run").language.tokenizer.get_vocab() == again.get_vocab()
    agent = LanguageAgent(str(tmp_path / "run"))
    assert agent.language.tokenizer.get_vocab() == again.get_vocab()


@pytest.mark.parametrize("changes", [{"vocabulary": 260}, {"vocabulary": 400, "model": "some/model"}])
def test_a_vocabulary_that_cannot_be_learned_is_refused(changes):
    with pytest.raises(InputError, match="vocabulary is for the model 'tiny' and at least 261"):
        TrainConfig(env="palaestra/Arithmetic-v0", **changes)


class Killed(BaseException):
    """In place of a kill: nothing of ours handles it."""


@pytest.fixture(scope="module")
def config(small, tmp_path_factory):
    folder = tmp_path_factory.mktemp("models") / "small"
    small.save(folder)
    return TrainConfig(
        axes={"digits": 1, "terms": 2},
        model=str(folder),
        warmup=WarmUp(steps=5, batch=2),
        **{"steps": 0, "samples": 2, "final_episodes": 1, "max_new_tokens": 2, "threads": 1, "track": ()},
    )


def cut(path, config, step):
    """Start a run that is cut off after a step of the warm-up, or resume it."""

    def watch(progress):
        if progress.step == step:
            raise Killed

    learner = Learner.resume(path) if path.exists() else Learner.start(path, config)
    with pytest.raises(Killed):
        learner.run(watch, lambda sentence: None)


def contents(run):
    place = newest_checkpoint(run)
    return {file.name: file.read_bytes() for file in place.iterdir() if file.is_file()}


@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
def test_a_warm_up_that_was_cut_off_twice_gives_the_same_bytes(dtype, config, tmp_path, monkeypatch):
    monkeypatch.setattr(warmup, "_LEAST", 0.0)
    monkeypatch.setattr(warmup, "_SHARE", 1e9)
    config = dataclasses.replace(config, dtype=dtype)
    seen = []
    Learner.start(tmp_path / "whole", config).run(notify=lambda sentence: None)
    cut(tmp_path / "cut", config, 3)
    cut(tmp_path / "cut", config, 4)
    Learner.resume(tmp_path / "cut").run(lambda progress: seen.append((progress.phase, progress.step)))
    # The step at which it was cut off had not been saved yet.
    assert [step for phase, step in seen if phase == "warmup"] == [4, 5]
    assert contents(tmp_path / "cut") == contents(tmp_path / "whole")
    assert not (tmp_path / "cut" / "warmup").exists()


def test_a_warm_up_that_had_met_its_target_takes_no_further_step(config, tmp_path):
    learner = Learner.start(tmp_path / "run", config)
    with learner.folder.warm_up_checkpoint(3) as partial:
        learner.language.save(partial)
        optimizer = warmup.make_optimizer(learner.language.model.parameters(), lr=1e-3)
        warmup.torch.save(optimizer.state_dict(), partial / "optimizer.pt")
        (partial / "state.json").write_text(json.dumps({"step": 3, "loss": 1.0, "success": 0.5}))
    seen = []
    assert learner.run(lambda progress: seen.append(progress.phase), lambda sentence: None)
    assert "warmup" not in seen


def test_a_run_that_is_stopped_in_its_warm_up_has_saved_it(config, tmp_path):
    learner = Learner.start(tmp_path / "run", config)
    assert not learner.run(lambda progress: learner.stop(), lambda sentence: None)
    assert learner.folder.newest_warm_up().name == "step-000001"


def test_answers_are_shown_in_the_forms_that_are_named(small, monkeypatch):
    line = "palaestra/Arithmetic-v0 --axis digits=1 --warmup.batch 40 --warmup.formats boxed tag"
    config = read_config(line.split(" "))
    assert config.warmup.formats == ("boxed", "tag")
    assert TrainConfig.from_json(json.loads(json.dumps(config.to_json()))) == config
    shown, train = list[str](), supervised_step
    monkeypatch.setattr(
        warmup,
        "supervised_step",
        lambda model, episodes, *rest: (shown.extend(e.turns[0].action for e in episodes), train(model, episodes))[1],
    )
    environments = Environments("palaestra/Arithmetic-v0", axes={"digits": 1})
    language = LanguageModel.of(copy.deepcopy(small.model), small.tokenizer)
    next(warmup.warm_up(language, environments, config.warmup, 1, 0, TokenLimits(16, 16, 200)))
    boxes = sum(text.startswith("\\boxed{") for text in shown)
    assert boxes + sum(text.startswith("<answer>") for text in shown) == 40
    assert 8 <= boxes <= 32  # 20 expected; four standard deviations are 12.6


def test_forms_that_an_environment_does_not_read_are_refused():
    with pytest.raises(InputError, match="reads them as 'tag' alone"):
        Syllabus(Environments("palaestra/Arithmetic-v0", answer_format="tag"), WarmUp(formats=("boxed",)))
    with pytest.raises(InputError, match="'box'"):
        TrainConfig(warmup=WarmUp(formats=("box",)))
