"""``palaestra bench models``: small pretrained models before and after GRPO on a dozen environments.

Each case is a run of `palaestra train` in a folder under --out; the command is printed first. When the benchmark is
started again, interrupted runs are resumed and finished ones only read, so that a table can be made in several
sittings. The table has success on held-out tasks before and after training, sampled and greedy, with 95 % intervals,
and the processor time of each run; the figure has the curves. A run in which no group of samples had different outcomes
for twelve steps ends there, and its row says so. With --suite a suite is played before and after the cases, to show
their effect on tasks that were not trained on. With --teachers every case is trained under each of the teachers, and
the table compares held-out success at equal numbers of sampled tokens, paired by seed.

examples:
  palaestra bench models
  palaestra bench models --models smollm2-135m --cases sums expressions --out runs/models --markdown table.md
  palaestra bench models --cases sums --seeds 1 --steps 20      # a short trial
  palaestra bench models --models smollm2-135m --cases sums --suite core
  palaestra bench models --models smollm2-135m --cases digits --teachers random palaestra alp-gmm sec rlve --seeds 3
"""

from __future__ import annotations

import itertools
import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from ...agents.atomic import write_atomically
from ...checks import check_count
from ...errors import InputError
from ...teachers.benchmarks.table import UNIFORM
from ..harness import check_names, read_options, write_json
from .case_runs import CaseRun, read_case, train_case
from .case_tables import draw_curves, format_answers, format_cases, format_suite, format_teachers
from .cases import CASES

MODELS = ("smollm2-135m", "gemma3-270m")
SUITE_LIMITS = {"temperature": 0.0, "max_new_tokens": 64, "max_episode_tokens": 256, "context": 1024}
"""Limits of a suite's episodes, enough for models that answer at once and affordable on a CPU."""


@dataclass(frozen=True)
class ModelBenchOptions:
    models: tuple[str, ...] = MODELS
    """Models: registered names, folders, hub ids or .gguf files."""
    cases: tuple[str, ...] = ()
    """Names of cases; all by default."""
    seeds: int | None = None
    """Number of seeds, 0 to N-1, of every case, instead of the case's own number."""
    steps: int | None = None
    """Number of steps of every run, instead of the case's own."""
    threads: int = 0
    """Number of threads of a run; 0 takes torch's default."""
    out: Path = Path("runs/models")
    """Folder of the folders of the runs."""
    teachers: tuple[str, ...] = ()
    """Teachers under which every case is trained; by default only uniform choice."""
    read: bool = False
    """Train nothing; make the tables of existing runs."""
    answers: int = 5
    """Number of held-out tasks of each case whose answers before and after are shown; 0 shows none."""
    suite: str | None = None
    """Suite that each model plays before and after the cases, such as core; by default none."""
    markdown: Path | None = None
    """Write the tables here as Markdown."""
    figure: Path | None = None
    """Write the curves here as SVG."""

    def __post_init__(self) -> None:
        check_names("case", self.cases, CASES)
        if not self.models:
            raise InputError("--models needs at least one model, such as smollm2-135m.")
        for name in ("seeds", "steps"):
            if (value := getattr(self, name)) is not None:
                check_count(name, value, 1)
        check_count("threads", self.threads, 0)
        check_count("answers", self.answers, 0)


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command and return its exit code."""
    options = read_options(ModelBenchOptions, "models", argv, __doc__)
    runs: list[CaseRun] = []
    for model, name in itertools.product(options.models, options.cases or CASES):
        case = CASES[name]
        for seed, teacher in itertools.product(range(options.seeds or case.seeds), options.teachers or (UNIFORM,)):
            folder = options.out / Path(model).name / f"{name}-{teacher}-{seed}"
            if not options.read:
                train_case(case.arguments(model, seed, teacher, options.steps), folder, options.threads)
            if (run := read_case(case, model, teacher, seed, folder, options.answers)) is not None:
                runs.append(run)
                print(format_cases([run]), flush=True)
    texts = [format_cases(runs), *(format_answers(run) for run in runs if run.answers)]
    if options.teachers:
        texts.append(format_teachers(runs))
    if options.suite is not None:
        texts.append(format_suite(options.suite, play_suite(options.suite, runs)))
    print("\n\n".join(texts))
    if options.markdown is not None:
        write_atomically(options.markdown, "\n\n".join(texts) + "\n")
    if options.figure is not None:
        write_atomically(options.figure, draw_curves(runs))
    return 0


def play_suite(suite: str, runs: Sequence[CaseRun]) -> dict[str, dict[str, float]]:
    """Play the suite with each model and each trained policy (seed 0, uniform teacher), and keep results in their
    folders.

    Returns:
        Player -> environment -> mean success.
    """
    from ...agents.evaluation import evaluate_all
    from ...agents.language.language_agent import LanguageAgent

    players: dict[str, tuple[str, Path]] = {}
    for run in runs:
        if run.seed == 0 and run.teacher == UNIFORM:
            players.setdefault(run.model, (run.model, run.folder.parent / "untrained"))
            players[f"{run.model} after {run.case.name}"] = (str(run.folder), run.folder)
    scores = {}
    for player, (source, folder) in players.items():
        place = folder / f"suite-{suite.rpartition('/')[2]}.json"
        if not place.is_file():
            place.parent.mkdir(parents=True, exist_ok=True)
            agent = LanguageAgent(source, **SUITE_LIMITS)
            report = evaluate_all(agent, suite, progress=True)
            write_json(place, {one.env: one.success.mean for one in report.reports})
        scores[player] = json.loads(place.read_text(encoding="utf-8"))
    return scores
