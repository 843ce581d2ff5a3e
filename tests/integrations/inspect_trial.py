"""Tasks of a file, as Inspect's users write them: episodes that the machinery cannot judge, a game that a limit of
Inspect's cuts short, a game that nobody plays, and a question with a solver of the user's."""

from __future__ import annotations

from inspect_ai import Task, task
from inspect_ai.solver import generate, system_message
from palaestra.integrations import inspect_tasks


@task
def odd_weights() -> Task:
    return inspect_tasks.task("odd_weights:trial/OddWeightGame-v0", n=6, split="all")


@task
def message_limit() -> Task:
    made = inspect_tasks.task("palaestra/RushHour-v0", n=1, difficulty=0.0)
    made.message_limit = 4
    return made


@task
def nobody_plays() -> Task:
    made = inspect_tasks.task("palaestra/RushHour-v0", n=1)
    return Task(dataset=made.dataset, solver=generate(), scorer=made.scorer)


@task
def own_solver() -> Task:
    made = inspect_tasks.task("palaestra/Countdown-v0", n=2, seed=3, difficulty=0.0)
    return Task(dataset=made.dataset, solver=[system_message("Be brief."), generate()], scorer=made.scorer)
