"""Stream sources of solutions that the policy did not write: from the environment's oracle, or a larger model."""

from __future__ import annotations

from dataclasses import replace

from .....checks import check_choice, check_count
from ...batch.scored import needs
from ...batch.trajectory import Group
from ...recipes.stages import SOURCES
from .supply import StreamSource, Supply, require_teacher

TASKS = ("step", "uniform")


class _Demonstrations(StreamSource):
    """Base class of sources that play the tasks of the step, or tasks drawn uniformly from the parameter space.

    Args:
        tasks: "step" or "uniform".
        count: number of tasks; None: as many as the step has.
    """

    def __init__(self, tasks: str = "step", count: int | None = None):
        self.tasks = check_choice("tasks", tasks, TASKS)
        self.count = None if count is None else check_count("count", count, 1, "tasks")

    def _tasks(self, supply: Supply) -> list[object]:
        count = len(supply.tasks) if self.count is None else self.count
        return list(supply.tasks[:count]) if self.tasks == "step" else supply.new_tasks(count)


@SOURCES.register("oracle")
class Oracle(_Demonstrations):
    """Solutions of the environment's oracle, one demonstration per task, as in supervised fine-tuning.

    If the task has a worked solution, its steps precede the answer. Demonstrations that the verifier rejects are left
    out, such as one cut off by the context limit.
    """

    def draw(self, supply: Supply) -> list[Group]:
        right = [t for t in supply.demonstrate(self._tasks(supply)) if t.valid and t.success]
        return [Group(-1, (trajectory.attributed_to_teacher(),)) for trajectory in right]


@SOURCES.register("teacher_model")
@needs("logp_teacher")
class TeacherModel(_Demonstrations):
    """Samples of the model to distil from (sequence-level distillation, Kim and Rush, arXiv 1606.07947, section 3.2).

    Args:
        samples: number of episodes per task.
        correct: keep only successes.
    """

    def __init__(self, tasks: str = "step", count: int | None = None, samples: int = 1, correct: bool = False):
        super().__init__(tasks, count)
        self.samples = check_count("samples", samples, 1, "episodes")
        self.correct = correct

    def draw(self, supply: Supply) -> list[Group]:
        asked = [replace(task, samples=self.samples) for task in self._tasks(supply)]  # type: ignore[type-var]
        played = require_teacher(supply)(asked)
        kept = [tuple(t for t in group.valid if t.success or not self.correct) for group in played]
        return [Group(-1, tuple(t.attributed_to_teacher() for t in members)) for members in kept if members]
