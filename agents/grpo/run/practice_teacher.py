"""The teacher that chooses the tasks of a run: the one that its configuration names, over its environments."""

from __future__ import annotations

from typing import Any

from .... import teachers
from ...lookup import find_agent
from ..config import TrainConfig


def make_practice_teacher(config: TrainConfig, environments: Any, **range_options: Any) -> teachers.Teacher:
    """Make the teacher of a run.

    Args:
        environments: environments of the training split, a `rollouts.environments.Environments`.
        range_options: ``return_range``, if it differs from the environments' declaration. An option of the
            configuration overrides both.

    Raises:
        InputError: the teacher is unknown, or an option or the space of tasks does not suit it.
    """
    space = environments.param_space
    tasks = teachers.fixed_pool(config.teacher, space, config.pool, config.seed) if config.pool else space
    options = {**environments.range_options, **range_options, **config.teacher_options}
    if isinstance(options.get("generator"), str):  # an agent that writes tasks
        options["generator"] = find_agent(options["generator"])
    teacher = teachers.make(config.teacher, tasks, seed=config.seed, **options)
    teacher.expect(max(config.steps, 1) * config.prompts)  # one outcome per group
    return teacher
