"""``palaestra eval``: play an agent on an environment, and print success by difficulty with confidence intervals.

examples:
  palaestra eval palaestra/Arithmetic-v0 --agent random --episodes 200
  palaestra eval palaestra/Arithmetic-v0 --agent oracle --axis digits=1:2 terms=3
  palaestra eval palaestra/GuessNumber-v0 --agent human --episodes 3
  palaestra eval palaestra/Countdown-v0 --agent my_module:my_function --json scores.json
  palaestra eval palaestra/Countdown-v0 --agent openai:MODEL --base-url http://localhost:8000/v1 --concurrency 16
  palaestra eval palaestra/Countdown-v0 --agent openai:MODEL --cache replies --samples 4 --agent-option retries=8
  palaestra eval palaestra/SQLExplorer-v0 --agent openai:MODEL --tools native --greedy --out played.jsonl
  palaestra eval palaestra/PythonTool-v0 --agent openai:MODEL --tools react --agent-option api=completions
  palaestra eval palaestra/Arithmetic-v0 --agent runs/first --out trajectories.jsonl
  palaestra eval palaestra/Wordle-v0 --agent my_module:ask --concurrency 16 --out played.jsonl --resume --retries 2
  palaestra eval palaestra/Arithmetic-v0 --agent runs/first --episodes 50 --samples 8
  palaestra eval palaestra/Sokoban-v0 --agent oracle --episodes 5 --replay replays
  palaestra eval runs/first --checkpoint best --greedy
  palaestra eval runs/first --search "mcts(budget=1024, value='votes')"
  palaestra eval runs/kuhn --against equilibrium runs/other@best --episodes 200
  palaestra eval palaestra/Arithmetic-v0 --agent hf:models/mine --engine vllm
  palaestra eval palaestra/Shop-v0 --agent runs/shop --history "notes(keep=2)"
  palaestra eval --suite core --agent my_module:ask --concurrency 16 --out played --json scores.json
  palaestra eval --sweep sweep.toml --out runs/sweep --format markdown
  palaestra eval palaestra/Sudoku-v0 palaestra/Zebra-v0 --agent runs/first --figure a.pdf --format latex > a.tex
  palaestra eval palaestra/GSM8K-v0 --agent Qwen/Qwen2.5-0.5B-Instruct --env-option source=my.jsonl --max-new-tokens 512
  palaestra eval palaestra/Dataset-v0 --agent openai:MODEL --env-option source=test.csv --rows 200 --out played.jsonl
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Annotated, Any, Literal

import gymnasium as gym
import tyro

from ..agents import AGENTS, Agent, AgentError
from ..agents.atomic import check_output, write_atomically
from ..agents.evaluation import (
    EvaluationStopped,
    Format,
    Report,
    SuiteReport,
    environment_spec,
    evaluate,
    evaluate_all,
    find_suite,
    format_rows,
    suite_names,
)
from ..agents.evaluation.environment_spec import names_no_folder
from ..agents.evaluation.figures import check_figure, draw_figure
from ..agents.evaluation.matches import Tournament
from ..agents.evaluation.requirements import check_requirements
from ..agents.evaluation.rows import parse_rows
from ..agents.grpo.config import TrainConfig
from ..agents.grpo.run.folder import DEFAULT_LEARNER
from ..agents.grpo.run.mixture import environment_of
from ..agents.language.language_agent import read_run_settings
from ..agents.learners import learner_of, load_player
from ..agents.lookup import find_agent
from ..envs.tools.tool_function import functions_of
from ..errors import InputError, MissingExtra, needs_extra
from .axes import parse_axes_of
from .eval_sweep import Sweep, rows_of, run_sweep, table_of, write_page
from .match import play_against
from .options import parse_options
from .stopping import exit_code


@dataclass(frozen=True)
class EvalOptions:
    env: tyro.conf.Positional[tuple[str, ...]] = ()
    """Environment id, or several; "module:id" imports the module first. The folder of a run stands for the environment,
    axes and options that the run was trained on, with the run as the agent."""
    suite: str | None = None
    """Suite, in place of environments: fixed held-out tasks of many; see palaestra list suites. --out is a folder."""
    sweep: Path | None = None
    """TOML file with several agents and environments (keys agents, environments, settings), in place of both. --out is
    the folder for the episodes, results.csv and sweep.html; the same call again resumes a stopped sweep."""
    agent: str | None = None
    """A registered agent, with arguments if any, as in "chat(model='m', retries=8)"; openai:MODEL, a model of an
    OpenAI-compatible endpoint, or the endpoint's address, http://localhost:8000/v1, for the only model that it serves;
    module:name (an agent or any function of the observation or of messages); the folder of a run or of a model, a
    registered model (palaestra list models), a GGUF file, or a hub id, optionally as hf:NAME. By default random."""
    base_url: str | None = None
    """Address of the endpoint of openai:MODEL; by default the environment variable OPENAI_BASE_URL or, if that is not
    set, OpenAI's address. The key is read from OPENAI_API_KEY."""
    agent_option: tyro.conf.UseAppendAction[tuple[tuple[str, ...], ...]] = ()
    """Further arguments of a registered agent or a model: name=value; a value may be JSON. For an endpoint, among
    others: model=NAME (if --agent is an address), prices=[0.15,0.6] (of a million prompt and completion tokens),
    requests_per_minute=60, retries=8, timeout=600, api=completions, resend_reasoning=true,
    extra={"reasoning_effort":"low"}."""
    search: str | None = None
    """Search over the steps of a language model's answers: mcts, beam, best_first and others, with options, as in
    "mcts(budget=4096, value='votes')"; the budget is the number of tokens that the model may write for a task, and
    independent(budget=4096) samples whole answers for as many. See palaestra list searches values."""
    against: tuple[str, ...] = ()
    """Other players of a game of two seats: its scripted players, or agents. Each pair plays --episodes deals, each of
    them in both seats; three players or more get ratings. See palaestra match."""
    tools: Literal["native", "react"] | None = None
    """Form of tool calls of an endpoint's model: native uses the endpoint's function calls, react uses text (thought,
    action, observation); by default the form that the environment's prompt describes."""
    cache: Path | None = None
    """Folder that caches the replies of an endpoint: a request repeated in the same episode, sample and turn is
    answered from the cache, also for other runs."""
    episodes: int | None = None
    """Number of episodes; by default 100."""
    rows: str | None = None
    """Rows of a data set, in place of episodes: all, a number of rows from the beginning, or a file with one id per
    line. Each row is played once, in the order of the source, with answer options in their original order. Default all
    if --env-option names a source and none of --episodes, --split, --difficulty and --axis is given."""
    seed: int = 0
    """Seed of the episodes; the same seed plays the same episodes."""
    split: Literal["train", "test", "all"] | None = None
    """Split of the tasks; by default test."""
    difficulty: tuple[float, ...] = ()
    """Difficulties from 0 to 1, which the episodes get in turn; by default spread evenly."""
    axis: tyro.conf.UseAppendAction[tuple[tuple[str, ...], ...]] = ()
    """Restrict axes: name=value, name=low:high or name=choice,choice."""
    env_option: tyro.conf.UseAppendAction[tuple[tuple[str, ...], ...]] = ()
    """Further arguments of the environment: name=value, such as source=questions.jsonl; a value may be JSON."""
    checkpoint: str | None = None
    """Checkpoint of a run: newest (the default), best (of its evaluations), a step, another policy of --policies by its
    name (critic), or a past copy of a league (past-40). Elsewhere such an agent is called RUN@CHECKPOINT."""
    greedy: bool = False
    """Take a model's likeliest tokens instead of sampling."""
    temperature: float | None = None
    """Sampling temperature of a model; by default that of the run's training; for another model 1, for an endpoint the
    endpoint's default."""
    system: str | None = None
    """System prompt of a model; by default that of the run's training; for another model none."""
    chat_option: tyro.conf.UseAppendAction[tuple[tuple[str, ...], ...]] = ()
    """Arguments of a model's chat template: name=value, such as enable_thinking=false, or date=2026-01-05 for a
    template that writes a date. By default those of the run's training; for another model none, and today's date."""
    max_new_tokens: Annotated[int | None, tyro.conf.arg(aliases=["--max-tokens"])] = None
    """Longest action of a model in tokens; by default that of the run's training; for another model 64, or up to 1024
    if it has more than 50 million weights; 4096 for an endpoint."""
    max_episode_tokens: int | None = None
    """Most action tokens of a model in an episode; by default that of the run's training; for another model no
    limit."""
    context: int | None = None
    """Longest conversation of a model in tokens; by default that of the run's training; for another model 1024, or 4096
    if it has more than 50 million weights."""
    engine: str | None = None
    """Engine that samples from a model, such as vllm; by default torch. See palaestra list engines."""
    engine_option: tyro.conf.UseAppendAction[tuple[tuple[str, ...], ...]] = ()
    """Arguments of the engine: name=value."""
    history: str | None = None
    """View of a long episode that the agent gets, such as "pages(keep=2)"; see palaestra list histories. By default
    that of the run's training; for another agent the whole episode."""
    shots: int | None = None
    """Number of worked examples before each question (training tasks with the same parameters), for a model that has
    not learned to answer; a model without a chat template must then answer in one line. By default that of the run's
    training; for another agent none."""
    bins: int = 5
    """Number of difficulty bins in the table."""
    samples: int = 1
    """Number of plays of each task; above 1 the table has pass@k, and its intervals are over tasks."""
    num_envs: int = 32
    """Most environments played at the same time; does not change the result."""
    concurrency: int | None = None
    """Number of concurrent requests, such as to an endpoint; a plain function is then called in that many threads. By
    default --num-envs requests, and a plain function is called in one thread."""
    json: Path | None = None
    """Write the report to this file as JSON, also for palaestra compare."""
    format: Format = "table"
    """Form of the output: a table for the terminal; csv, markdown, latex (with booktabs) or json."""
    figure: Path | None = None
    """Draw success with its intervals into this file, .svg, .pdf or .png."""
    out: Path | None = None
    """Write the trajectories to this file, one JSON object per line. Until the end the file is called OUT.partial, to
    which each episode is appended as soon as it has ended."""
    resume: bool = False
    """Resume from the episodes of OUT.partial, or of OUT."""
    retries: int = 0
    """Number of times that an episode is replayed if the agent raised or the environment failed."""
    replay: Path | None = None
    """Write each episode into this folder as a page to step through, which needs no network."""


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command and return its exit code."""
    config = tyro.cli(EvalOptions, args=argv, prog="palaestra eval", description=__doc__)
    several = config.suite is not None or config.sweep is not None or len(config.env) != 1
    check_output(config.json, "--json")
    check_figure(config.figure)
    check_output(config.out, "--out", folder=several)
    check_output(config.replay, "--replay", folder=True)
    check_output(config.cache, "--cache", folder=True)
    if config.sweep is not None:
        return _sweep(config)
    if several:
        return _evaluate_several(config)
    texts = [text for group in config.axis for text in group]
    env_id, agent, axes, options, history, shots = config.env[0], config.agent, None, {}, None, 0
    if names_no_folder(env_id):
        raise InputError(f"there is no run folder {env_id!r}, and no environment of that id; see palaestra list envs.")
    if Path(env_id).is_dir():
        own = read_run_settings(env_id)
        if "env" not in own:
            raise InputError(f"{env_id!r} is a folder without a run; give an environment id or the folder of a run.")
        agent, history, shots = agent or env_id, own.get("history"), own.get("shots", 0)
        trained = {name: own[name] for name in ("env", "axes", "env_options", "env_weights") if name in own}
        env_id, options = environment_of(TrainConfig(**trained))
        axes = options.pop("axes", None)
    given = parse_options((text for group in config.env_option for text in group), "an environment")
    options = options | given
    axes = parse_axes_of(env_id, options, texts) if texts else axes
    if config.tools is not None:
        env = gym.make(environment_spec(env_id), disable_env_checker=True, **options)
        functions = functions_of(env)
        env.close()
        if not functions:
            raise InputError(f"{env_id!r} offers no tools; leave --tools out.")
    if config.against:
        return _report(config, play_against(config, env_id, agent, axes, options, _find_agent))
    shared = _shared(config)
    shared["history"] = config.history or history
    shared["shots"] = shots if config.shots is None else config.shots
    return _report(
        config,
        lambda: evaluate(
            _find_agent(agent or "random", config),
            env_id,
            episodes=100 if config.episodes is None else config.episodes,
            seed=config.seed,
            split=config.split or "test",
            rows=_choose_rows(config, given),
            difficulties=config.difficulty or None,
            axes=axes or None,
            env_kwargs=options,
            out=config.out,
            bins=config.bins,
            **shared,
        ),
    )


def _choose_rows(config: EvalOptions, given: Mapping[str, Any]) -> Literal["all"] | int | list[str] | None:
    """Return the value of --rows for `evaluate`; by default "all" if the user's environment options ``given`` name a
    source, and None (random tasks) otherwise, as a run may know rows of the source that it was trained on."""
    text = config.rows
    drawn = [name for name in ("episodes", "split", "difficulty", "axis") if getattr(config, name)]
    if text is None:
        return "all" if "source" in given and not drawn else None
    if drawn:
        raise InputError(f"--rows asks rows as they are; leave --{drawn[0]} out.")
    return parse_rows(text)


def _shared(config: EvalOptions) -> dict[str, Any]:
    """Return the settings of `evaluate` that apply to one environment and to several."""
    names = ("num_envs", "samples", "history", "replay", "concurrency", "resume", "retries")
    return {name: getattr(config, name) for name in names} | {"progress": True, "shots": config.shots or 0}


def _evaluate_several(config: EvalOptions) -> int:
    """Evaluate on a suite or on several environments; return the exit code."""
    if config.suite is not None and config.env:
        raise InputError(f"--suite {config.suite} has its own environments; leave {config.env[0]} out.")
    if config.suite is None and not config.env:
        raise InputError(f"give an environment id, or --suite with one of {', '.join(suite_names())}.")
    own = {"episodes": None, "rows": None, "seed": 0, "split": None, "difficulty": (), "axis": (), "env_option": ()}
    given = [name for name, default in own.items() if getattr(config, name) != default]
    single = given if config.suite is not None else [name for name in given if name in ("rows", "axis", "env_option")]
    if single:
        whose = "the suite" if config.suite is not None else "a single environment"
        raise InputError(f"--{single[0].replace('_', '-')} belongs to {whose}; leave it out.")
    for env in config.env:
        if Path(env).is_dir():
            raise InputError(
                f"{env!r} is a folder, which stands alone for its run's environment; give one folder, or environments "
                f"and --agent {env}."
            )
    settings = _shared(config)
    if config.suite is None:
        settings |= {"episodes": config.episodes or 100, "seed": config.seed, "split": config.split or "test"}
        settings |= {"difficulties": config.difficulty or None, "bins": config.bins}
    envs = config.suite if config.suite is not None else config.env
    try:
        agent = _find_agent(config.agent or "random", config)
    except MissingExtra as error:
        tasks = [(env, {}) for env in config.env] if config.suite is None else find_suite(config.suite).tasks()
        check_requirements(tasks, settings, (str(config.agent), error))
        raise
    return _report(config, lambda: evaluate_all(agent, envs, out=config.out, **settings))


def _sweep(config: EvalOptions) -> int:
    """Evaluate the agents of a sweep's file on its environments; return the exit code."""
    assert config.sweep is not None
    if config.env or config.agent or config.suite or config.out is None:
        raise InputError("--sweep names agents and environments in its file, and needs a folder by --out.")

    def find(text: str, options: Mapping[str, Any]) -> Agent:
        known = {item.name for item in fields(EvalOptions)}
        own = {name: value for name, value in options.items() if name in known}
        further = tuple(f"{name}={json.dumps(value)}" for name, value in options.items() if name not in known)
        return _find_agent(text, replace(config, **own, agent_option=(further,) if further else ()))

    reports = run_sweep(Sweep.read(config.sweep), config.out, find)
    rows = rows_of(reports)
    write_atomically(config.out / "results.csv", format_rows(rows, "csv"))
    write_page(reports, config.out / "sweep.html")
    _print(rows, table_of(reports, f"also in {config.out / 'sweep.html'}"), config)
    return 0


def _report(config: EvalOptions, play: Callable[[], Report | SuiteReport | Tournament]) -> int:
    """Play, print the report (after Ctrl-C or a signal, that of the episodes so far), and return the exit code."""
    from rich.console import Console

    try:
        report = play()
    except EvaluationStopped as stopped:
        if stopped.report is not None:
            Console().print(stopped.report.table())
        kept = f"; {stopped.log} holds what was played, go on with --resume" if stopped.log else ""
        Console(stderr=True).print(f"stopped before the end{kept}", highlight=False, soft_wrap=True)
        return exit_code(stopped)
    except AgentError as error:
        if error.__cause__ is not None:  # a defect of the agent, whose place the traceback shows
            raise
        raise InputError(str(error)) from error
    if config.json is not None:
        write_atomically(config.json, json.dumps(report.to_json(results=True), indent=2) + "\n")
    _print(report.rows(), report.table(), config)
    return 0


def _print(rows: Sequence[Mapping[str, Any]], table: Any, config: EvalOptions) -> None:
    from rich.console import Console

    if config.format == "table":
        Console().print(table)
    else:
        print(format_rows(rows, config.format), end="")
    if config.figure is not None:
        draw_figure(rows, config.figure)


def _find_agent(text: str, config: EvalOptions) -> Agent:
    """Find the agent that ``text`` names, with the search of the command line, if any."""
    agent = _find_player(text, config)
    if config.search is None:
        return agent
    with needs_extra("a search", "train"):
        from ..agents.search.search_agent import SearchAgent
    return SearchAgent(agent, config.search)


def _find_player(text: str, config: EvalOptions) -> Agent:
    """Find the agent that ``text`` names, with the settings of a model or an endpoint from the command line."""
    names = ("checkpoint", "temperature", "system", "max_new_tokens", "max_episode_tokens", "context", "engine")
    settings = {name: value for name in names if (value := getattr(config, name)) is not None}
    if given := [each for group in config.engine_option for each in group]:
        settings["engine_options"] = parse_options(given, "an engine")
    if given := [each for group in config.chat_option for each in group]:
        settings["chat_options"] = parse_options(given, "a chat")
    options = parse_options((each for group in config.agent_option for each in group), "an agent")
    if config.greedy:
        if config.temperature:
            raise InputError(f"--greedy takes the likeliest tokens; leave --temperature {config.temperature} out.")
        settings["temperature"] = 0.0
    if text.startswith(("openai:", "http://", "https://")):
        return _find_endpoint(text, config, settings, options)
    for name in ("base_url", "tools", "cache"):
        if getattr(config, name) is not None:
            raise InputError(
                f"{_flag_of(name)} is for an endpoint, --agent openai:MODEL, not for {text!r}; leave it out."
            )
    if text in AGENTS and not settings:
        return AGENTS.make(text, **options)
    text = text.removeprefix("hf:")
    if not settings and not options:
        return find_agent(text)
    if text in AGENTS or ":" in text or text.endswith(")"):
        flag = _flag_of(next(iter(settings), "agent_option"))
        raise InputError(
            f"the agent {text!r} is no model, so that it takes no {flag}; leave it out, or give the folder of a run or "
            "of a model."
        )
    name = learner_of(text)
    refused = sorted(settings.keys() - {"checkpoint", "temperature"})
    if name != DEFAULT_LEARNER and refused:
        flag = _flag_of(refused[0])
        raise InputError(f"{text!r} is a run of the learner {name!r}, which takes no {flag}; leave it out.")
    if name == DEFAULT_LEARNER:
        AGENTS.check_options("language", options)
    return load_player(text, **settings, **options)


def _flag_of(setting: str) -> str:
    """Return the command-line option that gives a setting of an agent."""
    return f"--{setting.removesuffix('s') if setting.endswith('_options') else setting}".replace("_", "-")


def _find_endpoint(text: str, config: EvalOptions, settings: dict[str, Any], options: dict[str, Any]) -> Agent:
    for name in ("checkpoint", "max_episode_tokens", "context", "engine", "engine_options", "chat_options"):
        if name in settings:
            raise InputError(f"an endpoint takes no {_flag_of(name)}; leave it out.")
    if "max_new_tokens" in settings:
        settings["max_tokens"] = settings.pop("max_new_tokens")
    if text.startswith("openai:"):
        settings |= {"model": text.removeprefix("openai:"), "base_url": config.base_url}
    else:
        settings["base_url"] = text
    settings |= {"seed": config.seed, "tools": config.tools, "cache": config.cache}
    return AGENTS.make("chat", **(settings | options))


if __name__ == "__main__":
    from .cli import run_guarded

    sys.exit(run_guarded(main, sys.argv[1:]))
