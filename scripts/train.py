"""``palaestra train``: train a language model, or a small student of array observations, under a teacher.

examples:
  palaestra train palaestra/Arithmetic-v0 --axis digits=1 terms=2:4 --out runs/first
  palaestra train palaestra/Arithmetic-v0 palaestra/GSM8K-v0 --env-weight 1 2 --axis Arithmetic.digits=1:2
  palaestra train palaestra/Countdown-v0 --teacher sec --recipe dapo --steps 500 --seed 3
  palaestra train palaestra/Countdown-v0 --teacher mine:Narrowing --shaping "mine:brevity(rate=0.01)"    # of mine.py
  palaestra train palaestra/GuessNumber-v0 --model Qwen/Qwen2.5-0.5B-Instruct --lora 16 --max-new-tokens 64
  palaestra train palaestra/GSM8K-v0 --env-option source=questions.jsonl --lr-schedule cosine --lr-end 0.1
  palaestra train palaestra/GSM8K-v0 --model models/mine --engine vllm --engine-option cache_gb=4
  palaestra train palaestra/ProgramDebugging-v0 --env-workers 32 --staleness 1    # environments that wait
  palaestra train palaestra/Sudoku-v0 --env-processes 4 --env-seconds 60    # environments that may crash or hang
  palaestra train palaestra/GSM8K-v0 --model models/mine --ray HEAD:6379 --workers 8    # or --ray local
  palaestra train palaestra/GSM8K-v0 --rollout debate --model MODEL --lora 16 --policies critic=MODEL:lora
  palaestra train --resume runs/first
  palaestra train palaestra/Arithmetic-v0 --recipe dpo --preferences pairs.jsonl --model runs/first    # offline
  palaestra train --stages stages.toml --out runs/staged    # imitation, preferences, reinforcement, one from another
  palaestra train palaestra/GSM8K-v0 --model models/mine --nproc 2 --max-restarts 3
  palaestra train palaestra/GSM8K-v0 --model models/mine --nproc 4 --shard    # weights and optimiser in four parts
  torchrun --nnodes 2 --nproc-per-node 8 -m palaestra.scripts.train palaestra/GSM8K-v0 --model models/mine
  palaestra train palaestra/DoorKey-v0 --learner ppo --axis size=5 obstacles=0 --steps 200000
  palaestra train palaestra/DoorKey-v0 --learner ppo --teacher alp-gmm --bonus subgoals --memory 64
  palaestra train palaestra/DeceptiveMaze-v0 --learner go-explore --axis pockets=3 depth=7 --levels 8
  palaestra train palaestra/DoorKey-v0 --learner hand-over --axis size=6 obstacles=0 --demonstrations 5 --t1 4096
  palaestra train palaestra/Arithmetic-v0 --learner reward-model --model ngrams --out runs/scorer
  palaestra train --learner reward-model --pairs runs/first/trajectories.jsonl --model models/mine --freeze
  palaestra train palaestra/DoorKey-v0 --learner ppo --help-all    # its own options, as with every --learner
"""

from __future__ import annotations

import argparse
import dataclasses
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import tyro

from ..agents.grpo.config import TrainConfig
from ..agents.grpo.run.folder import DEFAULT_LEARNER, RunFolder, read_learner
from ..agents.learners import LEARNERS
from ..errors import InputError, needs_extra
from . import train_ranks
from .axes import parse_axes
from .option_groups import list_options, make_form, named_options, read_form, refuse_other_names
from .options import parse_options
from .stopping import stop_after_step
from .train_progress import ProgressBars, show_bars
from .train_stages import train_stages

Texts = tuple[tuple[str, ...], ...]
_OWN: dict[str, tuple[Any, Any, str]] = {
    "learner": (
        str,
        DEFAULT_LEARNER,
        "Learner: grpo trains a language model; ppo, q, go-explore, novelty-search and hand-over train students with "
        "array observations; reward-model trains a reward model. Each learner has its own options.",
    ),
    "axis": (
        tyro.conf.UseAppendAction[Texts],
        (),
        "Restrict axes of the environment: name=value, name=low:high or name=choice,choice. With several environments, "
        "the environment's name comes first: Arithmetic.digits=1:2.",
    ),
    "env_weight": (
        tuple[str, ...],
        (),
        "With several environments, one weight each, in proportion to which they are drawn: a number, start:end for a "
        "linear schedule over the run, or a schedule as JSON.",
    ),
    "env_option": (
        tyro.conf.UseAppendAction[Texts],
        (),
        "Constructor arguments of the environment: name=value, such as source=questions.jsonl; a value may be JSON. "
        "With several environments, the environment's name comes first: GSM8K.source=questions.jsonl.",
    ),
    "chat_option": (tyro.conf.UseAppendAction[Texts], (), "Arguments of the chat template: name=value."),
    "engine_option": (tyro.conf.UseAppendAction[Texts], (), "Arguments of the engine: name=value."),
    "teacher_option": (tyro.conf.UseAppendAction[Texts], (), "Arguments of the teacher: name=value."),
    "policies": (
        tyro.conf.UseAppendAction[Texts],
        (),
        "Policies of roles of the rollout strategy: role=MODEL[:lora[=RANK]][:frozen][:lr=RATE][:recipe=NAME], "
        "role=OTHER_ROLE, or role=policy, which is the run's own policy and that of all other roles.",
    ),
    "warmup_axis": (
        Annotated[tyro.conf.UseAppendAction[Texts], tyro.conf.arg(name="warmup.axis")],
        (),
        "Axes of the tasks that the warm-up shows solutions of and measures its target on, given as for --axis; by "
        "default those of the run.",
    ),
    "preferences": (
        str | None,
        None,
        "Recorded replies to learn from in place of samples, by --recipe dpo, kto, ...: a file, folder or hub data set "
        "with prompt, chosen and rejected, or prompt, completion and label. The environment serves evaluations alone.",
    ),
    **train_ranks.OPTIONS,
    "out": (
        Path | None,
        None,
        "Folder for the run, new or empty; by default runs/ENV-TEACHER-RECIPE-SEED, for a student with the learner in "
        "place of the recipe.",
    ),
    "stage_file": (
        Annotated[Path | None, tyro.conf.arg(name="stages")],
        None,
        "File of stages to train in order, each from the model of an earlier one; goes with --out alone. The same call "
        "again continues.",
    ),
    "resume": (
        Path | None,
        None,
        "Continue the run in this folder from its newest checkpoint. Options allowed with it: --steps, to train "
        "longer, --patience, --collapse, --engine, --ray, --workers and --env-processes.",
    ),
}
"""Options that are not part of the configuration: name -> (type, default, help)."""
_LANGUAGE_ONLY = (
    "env_weight",
    "chat_option",
    "engine_option",
    "policies",
    "warmup_axis",
    "preferences",
    *train_ranks.OPTIONS,
)


@dataclass(frozen=True)
class TrainOptions:
    """Parsed command line: the options in `_OWN`, and the configuration made of the others."""

    learner: str
    axis: Texts
    env_option: Texts
    teacher_option: Texts
    out: Path | None
    resume: Path | None
    config: Any
    stage_file: Path | None = None
    env_weight: tuple[str, ...] = ()
    chat_option: Texts = ()
    engine_option: Texts = ()
    policies: Texts = ()
    warmup_axis: Texts = ()
    preferences: str | None = None
    nproc: int = 1
    shard: bool = False
    max_restarts: int = 0
    rank_timeout: float = 10.0


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command and return its exit code."""
    arguments = list(sys.argv[1:] if argv is None else argv)
    if any(word.partition("=")[0] == "--stages" for word in arguments):
        return train_stages(arguments, main)
    name = _find_learner(arguments)
    learner = LEARNERS[name]  # raises for an unknown name before the options are parsed
    _refuse_options_of_others(arguments, name)
    options = _parse(arguments, learner.config())
    language = name == DEFAULT_LEARNER
    processes = train_ranks.RunProcesses(**{name: getattr(options, name) for name in train_ranks.OPTIONS})
    processes.check(language)
    if options.nproc == train_ranks.world_size() == 1:
        return train(_open_run(arguments, name, options))
    config = _build_config(options) if options.resume is None else RunFolder.reopen(options.resume)[1]
    if options.shard and options.resume is None:
        train_ranks.check_split(config)
    cuda = train_ranks.check_gpus(config.device, options.nproc)
    folder = options.resume or options.out or _default_folder(config)
    if train_ranks.world_size() == 1:
        return train_ranks.launch(main, arguments, processes, cuda, folder)
    again = train_ranks.restarts() > 0
    return train_ranks.take_part(
        processes, cuda, folder, lambda ranks: train(_open_run(arguments, name, options, again, ranks=ranks))
    )


def _open_run(arguments: Sequence[str], name: str, options: TrainOptions, again: bool = False, **ranks: Any) -> Any:
    """Start the run of a command line, or resume one with --resume. With ``again``, after a restart of processes,
    resume the run if the folder already has it."""
    kind = LEARNERS[name]
    if options.resume is not None:
        if options.out is not None:
            raise InputError(
                f"--out {options.out} cannot be given with --resume, which goes on in the run's own folder."
            )
        saved = RunFolder.reopen(options.resume, kind.config)[1]
        options = _parse(arguments, saved)
        if isinstance(saved, TrainConfig) and options.config.engine != saved.engine:
            # The options of the earlier engine do not apply to the new one.
            options = dataclasses.replace(options, config=dataclasses.replace(options.config, engine_options={}))
        return kind.load_run().resume(options.resume, _build_config(options), **ranks)
    config = _build_config(_choose_defaults(arguments, options))
    out = options.out or _default_folder(config)
    if again and (out / "config.json").is_file():
        return kind.load_run().resume(out, config, **ranks)
    return kind.load_run().start(out, config, **ranks)


def read_config(arguments: Sequence[str]) -> TrainConfig:
    """Return the configuration of a new run of a language model from a command line."""
    return _build_config(_choose_defaults(arguments, _parse(arguments, TrainConfig())))


def _find_learner(arguments: Sequence[str]) -> str:
    """Return the name of the learner of a command line: that of --learner, or of the run to resume."""
    parser = argparse.ArgumentParser(add_help=False, allow_abbrev=False)
    for option in ("--learner", "--resume"):
        parser.add_argument(option, nargs="?")
    given = parser.parse_known_args(arguments)[0]
    named, resumed = given.learner, given.resume
    if resumed is None:
        return named or DEFAULT_LEARNER
    found = read_learner(Path(resumed))
    if named not in (None, found):
        raise InputError(f"{resumed!r} is a run of the learner {found!r}; resume it without --learner {named}.")
    return found


def _refuse_options_of_others(arguments: Sequence[str], name: str) -> None:
    """Raise InputError for an option that only other learners have, or that has another library's name."""
    options = {other: list_options(kind.config()) for other, kind in LEARNERS.items()}
    options[DEFAULT_LEARNER] |= {option.replace("_", "-") for option in _LANGUAGE_ONLY} | {"warmup.axis"}
    common = {option.replace("_", "-") for option in _OWN if option not in _LANGUAGE_ONLY}
    refuse_other_names(arguments, options[name] | common)
    for word in arguments:
        option = word[2:].partition("=")[0].replace("_", "-") if word.startswith("--") else ""
        # Every flag has a negation, such as --no-anneal.
        known = {option, option.removeprefix("no-")}
        owners = [other for other, theirs in options.items() if known & theirs]
        if owners and name not in owners and option not in common:
            raise InputError(
                f"the learner {name!r} has no --{option}, which belongs to {' and '.join(map(repr, owners))}; leave it "
                "out, or choose that with --learner."
            )


def _choose_defaults(arguments: Sequence[str], options: TrainOptions) -> TrainOptions:
    """Return the options of a new run; for a language model other than tiny, with defaults that depend on the model."""
    config = options.config
    if not isinstance(config, TrainConfig) or config.model == "tiny":
        return options
    with needs_extra("training", "train"):
        from ..agents.grpo.run.defaults import choose_defaults
    chosen = choose_defaults(config.model, config.lora, config.device)
    given = {word[2:].partition("=")[0].replace("-", "_") for word in arguments if word.startswith("--")}
    values = {name: value for name, value in chosen.values.items() if name not in given}
    return dataclasses.replace(options, config=dataclasses.replace(config, **values))


def train(learner: Any) -> int:
    """Run to the end with progress on the terminal, then write the report.

    Returns:
        0; 1 if the run ended because it could not learn; 128 + the number of a signal that stopped it, 130 for Ctrl-C.
    """
    from rich.console import Console

    console = Console(stderr=True)
    folder = learner.folder.path
    config = learner.config
    parts = [" + ".join(config.envs), *([f"teacher {config.teacher}"] if config.teacher else ())]
    means = f"recipe {config.recipe}" if isinstance(config, TrainConfig) else f"learner {config.learner}"
    console.print(" · ".join([*parts, means, str(folder)]))
    from ..agents.grpo.run.health import DeadRun
    from .report import write_report

    try:
        with stop_after_step(learner.stop, console.print) as stopped, show_bars(console) as bars:
            finished = learner.run(ProgressBars(bars), lambda sentence: bars.console.print(sentence, highlight=False))
    except DeadRun:
        report = write_report(folder)
        console.print(
            f"ended at step {learner.step} of {learner.config.steps}, as the run could not learn; report in {report}",
            soft_wrap=True,
        )
        return 1
    finally:
        learner.close()
    report = write_report(folder)
    if not finished:
        # Do not wrap the line: the command is meant to be copied.
        split = getattr(getattr(learner, "ranks", None), "splits", False)
        again = train_ranks.resume_command(folder, split)
        console.print(f"stopped after step {learner.step}; continue with: {again}", soft_wrap=True)
        return stopped()
    what = getattr(learner, "product", "model" if isinstance(learner.config, TrainConfig) else "policy")
    console.print(f"{what} and logs in {folder}, report in {report}", soft_wrap=True)
    return 0


def _parse(arguments: Sequence[str], config: Any) -> TrainOptions:
    language = isinstance(config, TrainConfig)
    own = {name: row for name, row in _OWN.items() if language or name not in _LANGUAGE_ONLY}
    short = not {"-h", "--help"}.isdisjoint(arguments)
    about = f"{__doc__}\n--help-all shows all options; those below are what most runs set." if short else __doc__
    arguments = ["--help" if word == "--help-all" else word for word in arguments]
    known = {option.replace("-", "_") for option in list_options(config)}
    form_type = make_form(config, own, short, named_options(arguments, own.keys() | known))
    form = tyro.cli(form_type, args=arguments, prog="palaestra train", description=about)
    values = {name: getattr(form, name, default) for name, (_, default, _) in own.items()}
    return TrainOptions(**values, config=read_form(form, config))


def _build_config(options: TrainOptions) -> Any:
    """Return the configuration with the options outside it (axes, options of environment, teacher, ...) applied."""
    config = options.config
    changes: dict[str, Any] = {}
    if options.env_weight:
        config = dataclasses.replace(config, env_weights=tuple(map(_parse_weight, options.env_weight)))
    if texts := [text for group in options.env_option for text in group]:
        config = dataclasses.replace(config, env_options=parse_options(texts, "an environment"))
    if texts := [text for group in options.axis for text in group]:
        config = dataclasses.replace(config, axes={})
        config = dataclasses.replace(config, axes=_parse_axes(texts, config))
    if texts := [text for group in options.warmup_axis for text in group]:
        changes["warmup"] = dataclasses.replace(config.warmup, axes=_parse_axes(texts, config))
    if texts := [text for group in options.policies for text in group]:
        changes["role_policies"] = {name: str(value) for name, value in parse_options(texts, "a policies").items()}
    if options.preferences is not None:
        if config.stages.rollout is not None:
            raise InputError(f"--preferences takes the place of --rollout {config.stages.rollout}; give one of them.")
        changes["stages"] = dataclasses.replace(config.stages, rollout=f"preferences(file={options.preferences!r})")
    for part, what in (("teacher", "a teacher"), ("chat", "a chat"), ("engine", "an engine")):
        if texts := [text for group in getattr(options, f"{part}_option") for text in group]:
            if not hasattr(config, f"{part}_options"):
                raise InputError(f"the learner {options.learner!r} has no --{part}-option; leave it out.")
            changes[f"{part}_options"] = parse_options(texts, what)
    return dataclasses.replace(config, **changes)


def _parse_axes(texts: Sequence[str], config: Any) -> dict[str, Any]:
    """Parse axes of the configuration's environment, with lists instead of tuples, as in JSON."""
    from ..agents.evaluation import environment_spec
    from ..agents.grpo.run.mixture import environment_of
    from ..envs.param_env import make_task_env

    env_id, arguments = environment_of(TrainConfig(env=config.envs, env_options=config.env_options))
    env = make_task_env(environment_spec(env_id), **arguments)
    space = getattr(env.unwrapped, "param_space", None)
    env.close()
    if space is None:
        raise InputError(f"{env_id!r} has no axes; leave --axis out.")
    axes = parse_axes(texts, space)
    return {name: list(value) if isinstance(value, tuple | list) else value for name, value in axes.items()}


def _parse_weight(text: str) -> Any:
    """Parse a weight to a schedule's data: a number, ``start:end`` (linear over the run), or a schedule as JSON."""
    import json

    try:
        if ":" in text and not text.lstrip().startswith("{"):
            start, end = map(float, text.split(":"))
            return {"kind": "linear", "start": start, "end": end}
        return json.loads(text)
    except ValueError:
        raise InputError(
            f"a weight is a number such as 2, a line start:end such as 1:0.5, or a schedule as JSON, not {text!r}."
        ) from None


def _default_folder(config: Any) -> Path:
    env = "+".join(env_id.rpartition("/")[2] for env_id in config.envs)
    parts = [env, config.teacher, config.recipe if isinstance(config, TrainConfig) else config.learner, config.seed]
    return Path("runs") / "-".join(str(part).replace(":", ".") for part in parts if part is not None)


if __name__ == "__main__":
    from .cli import run_guarded

    sys.exit(run_guarded(main, sys.argv[1:]))
