"""``palaestra design``: let a language model design the reward of an environment, as a Python program.

The author is shown the task and the quantities that the environment supplies, and writes a program. A critic rejects a
reply that is no program, fails on recorded episodes or contradicts success; the reason goes back to the author. With
options of ``palaestra train`` after ``--``, every accepted program trains a policy, and an analyser's report on that
run is in the next round's prompt (Auto MC-Reward, arXiv 2312.09238). With --candidates several programs are trained in
each round, and the one with the highest success is improved further (Eureka, arXiv 2310.12931). With --what factors the
author writes features of steps from which a network redistributes returns over steps (LaRe, arXiv 2412.11120).

examples:
  palaestra design palaestra/DoorKeyText-v0 --author "chat(model='m', base_url='http://localhost:8000/v1')"
  palaestra design palaestra/DoorKeyText-v0 --author scripted:reward.py
  palaestra design palaestra/DoorKeyText-v0 --author Qwen/Qwen2.5-7B-Instruct --rounds 3 -- --steps 50
  palaestra design palaestra/DoorKeyText-v0 --author my_module:write --rounds 5 --candidates 4 -- --steps 50
  palaestra design palaestra/DoorKeyText-v0 --author my_module:write --run runs/first
  palaestra train palaestra/DoorKeyText-v0 --shaping "program(file='designs/DoorKeyText-v0/reward.py')"
  palaestra design palaestra/DoorKey-v0 --what factors --author openai:MODEL --axis size=5
  palaestra train palaestra/DoorKey-v0 --learner ppo --bonus "lare(factors='designs/DoorKey-v0/factors.py')"
"""

from __future__ import annotations

import json
import shlex
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import tyro

from ..agents import AGENTS, Agent, LanguageAgent
from ..agents.atomic import check_output, write_atomically
from ..agents.lookup import find_agent
from ..agents.reward_design import (
    Attempt,
    DesignTask,
    ScriptedAuthor,
    analyse,
    design_factors,
    design_program,
    read_rows,
    rows_of,
)
from ..errors import InputError
from ..rewards import Episode
from ..rewards.design import RewardProgram
from . import train
from .options import parse_options

Texts = tyro.conf.UseAppendAction[tuple[tuple[str, ...], ...]]


@dataclass(frozen=True)
class DesignOptions:
    env: tyro.conf.Positional[str]
    """Environment id; "module:id" imports the module first."""
    author: str
    """Agent that writes the programs: a registered agent such as "chat(model='m')", the address of a chat endpoint
    that serves one model (http://localhost:8000/v1), a model as for palaestra eval, any
    callable prompt -> reply as module:attribute, or scripted:FILE,FILE for replies that are read from files."""
    what: Literal["reward", "factors"] = "reward"
    """Kind of program: a reward of whole episodes, or factors of single steps for the reward and the bonus "lare".
    Factors are verified only on the recorded episodes, in one round."""
    critic: str | None = None
    """Agent that reviews a program that has passed all checks, as for --author; "none" for no review. By default the
    author, or none for a scripted author."""
    analyser: str | None = None
    """Agent that reads failed episodes between rounds; values as for --critic."""
    rounds: int = 1
    """Number of rounds; each improves the program of the previous one."""
    attempts: int = 3
    """Most replies in a round until the critic accepts one."""
    candidates: int = 1
    """Programs per round; above 1, options for training are required after --, as success after training decides."""
    run: Path | None = None
    """Folder of a trained run; its episodes, and its reward program if it has one, are in the first round's prompt."""
    players: tuple[str, ...] = ("oracle", "random")
    """Agents that record the episodes on which programs are tested; some should succeed and some should fail."""
    episodes: int = 8
    """Recorded episodes of each player, spread over the difficulties."""
    axis: Texts = ()
    """Restrict axes: name=value, name=low:high or name=choice,choice."""
    env_option: Texts = ()
    """Further arguments of the environment: name=value, such as source=questions.jsonl; a value may be JSON."""
    seed: int = 0
    """Seed of the recorded episodes."""
    max_new_tokens: int = 2048
    """Longest reply of a model in tokens."""
    context: int = 16384
    """Longest prompt and reply of a model in tokens."""
    out: Path | None = None
    """Folder for programs, prompts and runs, new or empty; by default designs/ENV."""


@dataclass(frozen=True)
class Candidate:
    """Accepted program, rows of the episodes played with it, and its fitness, the success of the trained policy."""

    program: RewardProgram
    rows: Sequence[Mapping[str, Any]]
    fitness: float


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command.

    Returns:
        0; 1 if no program was accepted; 128 + the number of a signal that stopped a training run.
    """
    arguments = list(sys.argv[1:] if argv is None else argv)
    end = arguments.index("--") if "--" in arguments else None
    config = tyro.cli(DesignOptions, args=arguments[:end], prog="palaestra design", description=__doc__)
    return Design(config, None if end is None else arguments[end + 1 :]).run()


class Design:
    """One call of the command.

    Args:
        config: the options of the command.
        words: arguments of ``palaestra train``; None trains nothing, and the analyser reads the recorded episodes.

    Raises:
        InputError: an option cannot be used; nothing was written.
    """

    def __init__(self, config: DesignOptions, words: Sequence[str] | None = None):
        from rich.console import Console

        self.config = config
        for name in ("rounds", "attempts", "candidates", "episodes"):
            if getattr(config, name) < 1:
                raise InputError(f"--{name} must be at least 1, not {getattr(config, name)}.")
        if config.candidates > 1 and words is None:
            raise InputError(f"--candidates {config.candidates} are chosen among by training; add -- --steps 50.")
        if config.what == "factors" and (words is not None or config.rounds > 1 or config.run is not None):
            raise InputError("factors are designed in one round without training; leave --rounds, --run and -- out.")
        self.words = None if words is None else [config.env, *self._environment_words(), *words]
        own = {"--shaping", "--out", "--resume", "--axis", "--env-option"}
        if taken := sorted(own & {word.partition("=")[0] for word in words or ()}):
            raise InputError(f"palaestra design sets {taken[0]} of the training itself; leave it out after --.")
        if self.words is not None:
            train.read_config(self.words)  # raises before anybody is asked
        self.out = config.out or Path("designs") / config.env.rpartition("/")[2]
        if self.out.exists() and (not self.out.is_dir() or any(self.out.iterdir())):
            raise InputError(f"the folder {str(self.out)!r} exists and is not empty; choose another --out.")
        check_output(self.out, "--out", folder=True)
        self.author = self._find_agent(config.author)
        nobody = "none" if isinstance(self.author, ScriptedAuthor) else config.author
        self.critic = self._find_reader(config.critic or nobody)
        self.analyser = self._find_reader(config.analyser or nobody)
        self.task, self.recorded = self._record()
        self.previous, self.analysis = "", ""
        if config.run is not None:
            from ..agents.grpo.recipes.recipe import Component
            from ..agents.language.language_agent import read_run_settings

            shaping = (read_run_settings(config.run).get("stages") or {}).get("shaping") or "none"
            files = [Path(part.params["file"]) for part in Component.parse_all(shaping) if part.name == "program"]
            if files and files[0].is_file():
                self.previous = files[0].read_text(encoding="utf-8").rstrip()
            self.analysis = analyse(read_rows(config.run), self.analyser)
        self.console = Console()
        self._log: list[dict[str, Any]] = []

    def run(self) -> int:
        """Run all rounds and return the exit code; ``reward.py`` of the folder always has the best program so far."""
        if self.config.what == "factors":
            return self._design_factors()
        best: Candidate | None = None
        for number in range(1, self.config.rounds + 1):
            tried: list[Candidate] = []
            for place in range(1, self.config.candidates + 1):
                folder = self.out / f"round-{number}"
                if self.config.candidates > 1:
                    folder = folder / f"candidate-{place}"
                candidate = self._try(folder)
                if isinstance(candidate, int):
                    return candidate
                tried += [candidate] if candidate is not None else []
            if not tried:
                continue
            chosen = max(tried, key=lambda candidate: candidate.fitness)
            if best is None or chosen.fitness >= best.fitness:
                best = chosen
                write_atomically(self.out / "reward.py", chosen.program.text + "\n")
            if number < self.config.rounds:
                self.previous, self.analysis = chosen.program.text, analyse(chosen.rows, self.analyser)
        if best is None:
            self._say(f"no program was accepted; prompts, replies and reasons are in {self.out / 'design.jsonl'}")
            return 1
        shaping = f"program(file='{self.out / 'reward.py'}')"
        words = shlex.join(["palaestra", "train", self.config.env, *self._environment_words()])
        self._say(f'train with: {words} --shaping "{shaping}"')
        return 0

    def _design_factors(self) -> int:
        """Let the author write a factor program to ``factors.py`` of the folder; return the exit code."""
        made = design_factors(self.author, self.task, self.recorded, self.config.attempts)
        for number, attempt in enumerate(made, 1):
            critique = attempt.critique
            said = f"accepted, with {', '.join(critique.names)}" if critique.program else f"rejected: {critique.text}"
            self._say(f"attempt {number}: {said}")
            self._note("factors", attempt)
        program = made[-1].critique.program
        if program is None:
            self._say(f"no program was accepted; prompts, replies and reasons are in {self.out / 'design.jsonl'}")
            return 1
        file = self.out / "factors.py"
        write_atomically(file, program + "\n")
        words = shlex.join(["palaestra", "train", self.config.env, *self._environment_words()])
        text = isinstance(self.recorded[0].steps[0].observation, str)
        option = "--shaping" if text else "--learner ppo --bonus"
        self._say(f"train with: {words} {option} \"lare(factors='{file}')\"")
        return 0

    def _try(self, folder: Path) -> Candidate | int | None:
        """Let the author write a program, and train with it. Return None if no program was accepted, and the exit code
        of a training that a signal stopped."""
        made = design_program(
            self.author,
            self.task,
            self.recorded,
            attempts=self.config.attempts,
            previous=self.previous,
            analysis=self.analysis,
            critic=self.critic,
        )
        name = str(folder.relative_to(self.out))
        for number, attempt in enumerate(made, 1):
            accepted = attempt.critique.program is not None
            self._say(f"{name}, attempt {number}: {'accepted' if accepted else f'rejected: {attempt.critique.text}'}")
            self._note(name, attempt)
        critique = made[-1].critique
        if critique.program is None:
            return None
        file = folder / "reward.py"
        write_atomically(file, critique.program.text + "\n")
        if self.words is None:
            return Candidate(critique.program, rows_of(self.recorded, critique.values), 0.0)
        shaping = f"program(file={str(file.resolve())!r})"
        code = train.main([*self.words, "--shaping", shaping, "--out", str(folder / "run")])
        if code >= 128:
            return code
        fitness = _newest_success(folder / "run")
        self._say(f"{name}: success {fitness:.0%} after training")
        return Candidate(critique.program, read_rows(folder / "run"), fitness)

    def _environment_words(self) -> list[str]:
        words = []
        for option in ("axis", "env_option"):
            if texts := [text for group in getattr(self.config, option) for text in group]:
                words += [f"--{option.replace('_', '-')}", *texts]
        return words

    def _record(self) -> tuple[DesignTask, list[Episode]]:
        """Return the description of the environment, and the recorded episodes of the players."""
        import gymnasium

        from ..agents.evaluation import environment_spec
        from ..agents.evaluation.episodes import EpisodePlan
        from ..agents.evaluation.playing import play_episodes
        from .axes import parse_axes

        config = self.config
        options = parse_options((text for group in config.env_option for text in group), "an environment")
        spec = environment_spec(config.env)
        env = gymnasium.make(spec, disable_env_checker=True, **options)
        space = getattr(env.unwrapped, "param_space", None)
        if space is None:
            raise InputError(f"{config.env!r} says nothing of its tasks and their success; choose an id of palaestra.")
        axes = parse_axes([text for group in config.axis for text in group], space)
        episodes: list[Episode] = []
        for name in config.players:
            player = find_agent(name)
            player.bind([env])
            plan = EpisodePlan(env, config.env, config.episodes, config.seed, None, axes)
            records = play_episodes(player, [env], plan, keep_turns=True)
            episodes += [record.episode for record in records if record.episode is not None and record.valid]
        if not episodes:
            raise InputError(f"no episode of {', '.join(config.players)} is valid; name other --players.")
        task = DesignTask.of(env, config.env, episodes[0])
        env.close()
        return task, episodes

    def _find_reader(self, text: str) -> Agent | None:
        if text == "none":
            return None
        return self.author if text == self.config.author else self._find_agent(text)

    def _find_agent(self, text: str) -> Agent:
        """Find an agent; a model gets the token limits of the command's options."""
        if text.startswith("scripted:"):
            return ScriptedAuthor(text.removeprefix("scripted:").split(","))
        if text not in AGENTS and ":" not in text and "(" not in text:
            return LanguageAgent.load(text, max_new_tokens=self.config.max_new_tokens, context=self.config.context)
        return find_agent(text)

    def _note(self, name: str, attempt: Attempt) -> None:
        self._log.append(
            {
                "round": name,
                "prompt": attempt.prompt,
                "reply": attempt.reply,
                "accepted": attempt.critique.program is not None,
                "critique": attempt.critique.text,
            }
        )
        self.out.mkdir(parents=True, exist_ok=True)
        write_atomically(self.out / "design.jsonl", (json.dumps(row) + "\n" for row in self._log))

    def _say(self, text: str) -> None:
        self.console.print(text, soft_wrap=True, highlight=False, markup=False)


def _newest_success(run: Path) -> float:
    """Return the success rate in a run's newest evaluation."""
    return float(json.loads((run / "evaluations.jsonl").read_text(encoding="utf-8").splitlines()[-1])["success"])
