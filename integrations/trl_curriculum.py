"""Data set for TRL whose rows a teacher draws while the model trains; see `Curriculum`."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from .. import teachers
from ..agents.atomic import write_atomically
from ..checks import check_count
from ..errors import InputError, needs_extra
from ..teachers.messages import Outcome, Proposal
from ..teachers.protocol import Teacher
from .core import EpisodeResult, EpisodeRow, TextEpisode, has_one_answer, make_text_env, write_object
from .trl_rows import judge, prompt_of

STATE = "teacher.json"
"""Name of the file with the teacher's state in a checkpoint folder."""


class Curriculum:
    """Curriculum for ``GRPOTrainer``: a teacher chooses the tasks.

        curriculum = trl.Curriculum("palaestra/Countdown-v0", "alp-gmm", seed=0)
        GRPOTrainer(model, curriculum.reward, args=GRPOConfig("out", max_steps=200, shuffle_dataset=False),
                    train_dataset=curriculum.dataset(), callbacks=[curriculum.callback()]).train()

    With tools, also give ``environment_factory=trl.environment(env_id)``: the environment gives the reward, and
    `reward` only reports to the teacher. TRL prefetches one generation batch, so the first two batches are drawn before
    any reward, and each later batch with the rewards up to the last batch but one. The callback saves the teacher with
    every checkpoint, and restores it in ``train(resume_from_checkpoint=...)``, which needs
    ``GRPOConfig(ignore_data_skip=True)``. Training must run in a single process, as several would each have a separate
    teacher.

    Args:
        env_id: an id with text observations and actions.
        teacher: a registered name, or a teacher over the environment's parameters.
        seed: seed of a teacher given by name, and of the episodes.
        tools: see `palaestra.integrations.trl.dataset`.
        options: options of a teacher given by name.
        **kwargs: arguments of the environment.

    Raises:
        InputError: an unknown id or teacher, or a teacher whose ``needs`` or ``asks`` TRL cannot meet: measurements of
            the model, rewritten prompts, numbers of rollouts.
    """

    def __init__(
        self,
        env_id: str,
        teacher: str | Teacher,
        *,
        seed: int = 0,
        tools: bool | None = None,
        options: Mapping[str, Any] | None = None,
        **kwargs: Any,
    ):
        check_count("seed", seed)
        with make_text_env(env_id, kwargs) as env:
            space: Any = env.unwrapped.param_space  # type: ignore[attr-defined]
            single = has_one_answer(env)
            declared = teachers.range_options(env)
        if isinstance(teacher, str):
            teacher = teachers.make(teacher, space, seed=seed, **{**declared, **(options or {})})
        elif options:
            raise InputError("options are for a teacher that is made by name; make yours with them.")
        if teacher.needs or teacher.asks:
            wishes = ", ".join(sorted(teacher.needs | teacher.asks))
            raise InputError(
                f"{type(teacher).__name__} needs {wishes}, which TRL does not give; choose another teacher."
            )
        if tools is False and not single:
            raise InputError(f"an episode of {env_id} has several turns, so it needs tools; leave tools=False out.")
        self.env_id, self.teacher = env_id, teacher
        self._kwargs, self._tools = write_object("kwargs", kwargs), not single if tools is None else tools
        self._seed, self._episode = seed, TextEpisode()
        self._waiting: dict[int, Proposal] = {}

    def dataset(self) -> Any:
        """Make the endless ``datasets.IterableDataset``, for GRPOConfig with ``max_steps`` and
        ``shuffle_dataset=False``."""
        with needs_extra("a data set", "datasets"):
            from datasets import Features, IterableDataset, List, Value
        text = Value("string")
        columns = {
            "prompt": List({"role": text, "content": text}),
            **{name: text for name in ("env", "kwargs", "options")},
            **{name: Value("int64") for name in ("seed", "proposal")},
            "train": Value("bool"),
        }
        return IterableDataset.from_generator(self._draw, features=Features(columns))

    def reward(
        self,
        completions: Sequence[Any],
        environments: Sequence[Any] | None = None,
        log_metric: Any = None,
        **columns: Any,
    ) -> list[float | None]:
        """Report the groups of a generation batch to the teacher; a reward function of ``GRPOTrainer``.

        Returns:
            The reward of each completion; None for all if TRL takes the rewards from environments.
        """
        if "proposal" not in columns:
            raise InputError("the rows were not drawn by a teacher; train on Curriculum.dataset().")
        if environments is None:
            results = list(judge(self._episode, self.env_id, self._kwargs, completions, columns))
        else:
            results = [environment._result() for environment in environments]
        groups: dict[int, list[EpisodeResult]] = {}
        for id, result in zip(columns["proposal"], results, strict=True):
            groups.setdefault(id, []).extend([result] if result is not None and result.reward_valid else [])
        outcomes = [self._outcome(self._waiting.pop(id), group) for id, group in groups.items() if id in self._waiting]
        self.teacher.observe([outcome for outcome in outcomes if outcome.returns])
        if log_metric is not None:
            for name, value in self.teacher.metrics().items():
                log_metric(f"teacher/{name}", value)
        if environments is not None:
            return [None] * len(results)
        return [
            result.score if result is not None and train else None for result, train in zip(results, columns["train"])
        ]

    def callback(self) -> Any:
        """Make the callback that saves and restores the teacher with TRL's checkpoints."""
        from transformers import TrainerCallback

        curriculum = self

        class SaveTeacher(TrainerCallback):
            """Callback that saves and restores the teacher of a curriculum."""

            def on_save(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
                if state.is_world_process_zero:
                    curriculum.save(Path(args.output_dir, f"checkpoint-{state.global_step}", STATE))

            def on_train_begin(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
                if args.world_size > 1:
                    raise InputError(
                        f"a curriculum runs in one process, not in {args.world_size}: each would have its own teacher."
                    )
                if args.shuffle_dataset:
                    raise InputError(
                        "GRPOConfig needs shuffle_dataset=False with a curriculum: to shuffle, it would draw a "
                        "thousand tasks before the first reward."
                    )
                if not state.global_step:
                    return
                if not args.ignore_data_skip:
                    raise InputError(
                        "GRPOConfig needs ignore_data_skip=True to resume a curriculum: otherwise the rows of all "
                        "earlier steps would be drawn from the teacher again."
                    )
                folder = args.resume_from_checkpoint
                if not isinstance(folder, str):
                    folder = os.path.join(args.output_dir, f"checkpoint-{state.global_step}")
                curriculum.restore(Path(folder, STATE))

        return SaveTeacher()

    def save(self, path: Path) -> None:
        """Write the teacher's state, without the proposals that have no reward yet."""
        write_atomically(
            path, json.dumps({"env": self.env_id, "seed": self._seed, "teacher": self.teacher.state_dict()})
        )

    def restore(self, path: Path) -> None:
        """Continue from a state written by `save`.

        Raises:
            InputError: the file is missing, or belongs to another teacher or environment.
        """
        if not path.is_file():
            raise InputError(
                f"{path} is missing, so the teacher cannot go on; was the callback in the run that saved it?"
            )
        saved = json.loads(path.read_text(encoding="utf-8"))
        if saved["env"] != self.env_id:
            raise InputError(f"{path} is the state of a teacher of {saved['env']}, not of {self.env_id}.")
        self.teacher.load_state_dict(saved["teacher"])
        self._seed = int(saved["seed"])
        self._waiting.clear()

    def _draw(self) -> Iterator[dict[str, Any]]:
        if self.teacher.is_copy:
            raise InputError(
                "the teacher was copied to another process, where no reward reaches it; set dataloader_num_workers=0."
            )
        episode = TextEpisode()
        while True:
            proposal = self.teacher.propose(1)[0]
            if proposal.meta or proposal.n is not None:
                raise InputError(
                    f"{type(self.teacher).__name__} asks for {dict(proposal.meta) or f'{proposal.n} rollouts'}, which "
                    "TRL does not do; choose another teacher."
                )
            params, own = teachers.instance(proposal.task)
            seed, self._seed = (self._seed, self._seed + 1) if own is None else (own, self._seed)
            self._waiting[proposal.id] = proposal
            while len(self._waiting) > self.teacher.max_in_flight:
                del self._waiting[next(iter(self._waiting))]
            row = EpisodeRow(self.env_id, seed, self._kwargs, write_object("options", {"params": dict(params)}))
            yield {
                "prompt": prompt_of(episode, row, self._tools),
                **row.plain(),
                "proposal": proposal.id,
                "train": proposal.train,
            }

    @staticmethod
    def _outcome(proposal: Proposal, group: Sequence[EpisodeResult]) -> Outcome:
        successes = [bool(result.is_success) for result in group if result.is_success is not None]
        return Outcome(
            proposal.id,
            proposal.task,
            [result.reward for result in group],
            successes if len(successes) == len(group) else None,
        )
