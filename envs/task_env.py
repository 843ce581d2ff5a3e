"""The base of all environments: choice of the next task, the common part of ``info``, and snapshots.

`Question`, `Game` and the gridworlds build on `TaskEnv`. It turns the user's request (difficulty, fixed axes, narrowed
axes, split, reset options) into parameters, draws tasks until one belongs to the split, and keeps the ``info``
contract:

* always ``task_id``, ``params``, ``difficulty`` and ``extras``, further data for rewards and guidance (the reference,
  the worked solution, ...) under the names in ``supplies``, computed when somebody reads them; an agent must not see
  them;
* at each step also ``reward_terms`` (summing to the reward), ``reward_valid``, ``action_error``, ``feedback``,
  ``is_success`` and ``progress``. Before the end of the episode ``is_success`` is False and ``progress`` is the
  progress so far, so that a time-limit wrapper that cuts the episode can read both.
"""

from __future__ import annotations

import functools
import hashlib
import inspect
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import gymnasium as gym
import numpy as np

from ..errors import InputError, shorten, unknown_name
from ..rewards.answers import THOUGHTS, Form, check_format, check_thoughts, present
from ..rewards.answers.readings import readings_up_to
from .extras import Extras
from .param_space import ParamSpace
from .splits import check_split, split_of

# Characters of a reply, thoughts included, unless `max_action` says otherwise.
MAX_ACTION = 1_000_000
MAX_TRIES = 2_000


class TaskEnv(gym.Env[Any, Any]):
    """Base of all environments.

    A subclass sets ``param_space`` (to set it for one instance only, before it calls ``super().__init__``) and
    implements `generate_episode` and `content_of`; see `Question` and `Game`. One that can draw its episodes also has
    ``draw(self, episode) -> uint8[height, width, 3]``, and with it the render mode "rgb_array".

    Attributes:
        blind_loops: cycles of actions that a player might repeat without looking at observations.
        blind_twin: a family of the same tasks and steps that makes no observations, on which baseline players are
            measured where observations are slow to make.
        answer_form: the layout of an answer, which decides how a reply is read: on one "line", as several "values", on
            several "lines", as a "program", as the "move" of a game or as several "moves"; see
            `rewards.answers.readings`.
        max_answer: the most characters that an answer may have; the text around it in a reply does not count.
        strips_marks: whether Markdown marks, a full stop and words such as "The answer is" are removed from a reply,
            as `rewards.answers.bare` does; False where they may belong to an answer.
        content_identifies: whether tasks of the same content are one task, whatever their parameters; True where these
            only choose among the records of a data set.
        arrow_keys: for a person at a terminal, what the keys "up", "down", "left" and "right" type where actions are
            directions; a text that ends in a line break is sent at once.
        return_range: the least and the most that an episode can earn, which teachers are told.
        prompts: the forms in which observations can be worded.
        takes_difficulty: whether a difficulty may be chosen; False where an argument has chosen every task's.
        supplies: the names in ``info["extras"]``, whose values are None until they are known. A subclass lists the
            names that it adds to those of its bases.

    Args:
        difficulty: from 0 (easiest) to 1 (hardest), or beyond, up to ``param_space.max_difficulty``; with None the
            parameters are drawn uniformly at each reset.
        split: "train", "test" (a fifth of all tasks, by content) or "all".
        axes: new ranges of axes, ``{"digits": [1, 2]}`` (see `ParamSpace.restrict`); one may exceed the default range
            up to the axis's limits. Difficulty 0 to 1 then runs over the new ranges.
        answer_format: the format in which the answer is read from a reply; see `answers.extract`.
        max_action: the most characters that a reply may have, thoughts included.
        thoughts: names of the tags around the thoughts of a reasoning model, ``["think", "[THINK]"]``. The reply up to
            the last closing tag is dropped; where a thought is not closed, there is no answer.
        prompt: the form of observations, one of ``prompts``: "sentences", which say what is asked and how to answer, or
            "terse", for models of characters; the same tasks under the same ids. A family whose sentences are as short
            has one form under both names.
        render_mode: None, or one of ``metadata["render_modes"]``.
        **fixed: any axis by name, fixed to one value.

    Raises:
        InputError: for any of these out of range or unknown.
    """

    metadata: dict[str, Any] = {"render_modes": ["ansi"], "render_fps": 4}  # noqa: RUF012  # gymnasium declares it so
    param_space: ParamSpace = ParamSpace(())
    default_answer_format: ClassVar[str] = "any"
    blind_loops: ClassVar[tuple[tuple[Any, ...], ...]] = ()
    blind_twin: ClassVar[type[TaskEnv] | None] = None
    answer_form: Form = "line"
    max_answer: ClassVar[int] = 4096
    strips_marks: ClassVar[bool] = True
    content_identifies: bool = False
    arrow_keys: ClassVar[Mapping[str, str]] = {}
    return_range: tuple[float, float] = (0.0, 1.0)
    prompts: ClassVar[tuple[str, ...]] = ("sentences", "terse")
    takes_difficulty: bool = True
    supplies: frozenset[str] = frozenset({"feedback"})

    @classmethod
    def option_names(cls) -> set[str]:
        """The names of the arguments that are no axes."""
        bases = (base for base in cls.__mro__ if issubclass(base, TaskEnv) and "__init__" in base.__dict__)
        parameters = (each for base in bases for each in inspect.signature(base.__init__).parameters.values())
        return {each.name for each in parameters if each.kind is each.KEYWORD_ONLY}

    def __init_subclass__(cls, **kwargs: Any):
        """Let ``oracle()`` without argument use the current episode where a family implements ``oracle(self, task)``,
        add the render mode "rgb_array" to a family that implements ``draw``, and the bases' names to ``supplies``."""
        super().__init_subclass__(**kwargs)
        cls.supplies = frozenset().union(*(getattr(base, "supplies", ()) for base in cls.__mro__))
        if "draw" in cls.__dict__ and "rgb_array" not in cls.metadata["render_modes"]:
            cls.metadata = {**cls.metadata, "render_modes": [*cls.metadata["render_modes"], "rgb_array"]}
        solver = cls.__dict__.get("oracle")
        if solver is not None and solver.__code__.co_argcount == 2:

            @functools.wraps(solver)
            def oracle(self: TaskEnv, task: Any = None) -> Any:
                return self.write_action(solver(self, self.here())) if task is None else solver(self, task)

            cls.oracle = oracle

    def __init__(
        self,
        *,
        difficulty: float | None = None,
        split: str = "train",
        axes: Mapping[str, Any] | None = None,
        answer_format: str | None = None,
        max_action: int = MAX_ACTION,
        thoughts: Sequence[str] = THOUGHTS,
        prompt: str = "sentences",
        render_mode: str | None = None,
        **fixed: Any,
    ):
        family = self.param_space
        for name in fixed:
            if name not in family.names:
                raise unknown_name(f"argument of {type(self).__name__}", name, [*self.option_names(), *family.names])
        if axes is not None and not isinstance(axes, Mapping):
            raise InputError(f"axes must map axis names to ranges, such as {{'{family.names[0]}': ...}}, not {axes!r}.")
        if twice := sorted(fixed.keys() & (axes or {}).keys()):
            are = "is" if len(twice) == 1 else "are"
            raise InputError(f"{' and '.join(twice)} {are} given twice, in axes and by name; leave one of the two out.")
        if render_mode is not None and render_mode not in self.metadata["render_modes"]:
            raise unknown_name("render mode", str(render_mode), self.metadata["render_modes"])
        singles = {name: family[name].ask(value) for name, value in fixed.items()}
        self.param_space = family.restrict(**(axes or {})).restrict(**singles)
        self.difficulty = None if difficulty is None else self.param_space.check_difficulty(difficulty)
        self.split = check_split(split)
        self.answer_format = check_format(self.default_answer_format if answer_format is None else answer_format)
        if isinstance(max_action, bool) or not isinstance(max_action, int) or max_action < 1:
            raise InputError(f"max_action must be a whole number of characters, at least 1, not {max_action!r}.")
        self.max_action = max_action
        self.thoughts = check_thoughts(thoughts)
        if prompt == "full" and "compact" in self.prompts:
            prompt = "sentences"  # which was called "full" before
        if prompt not in self.prompts:
            raise unknown_name("form of a prompt", str(prompt), self.prompts)
        self.prompt = prompt
        self._is_move = self.answer_form in ("move", "moves")
        self.render_mode = render_mode
        self._params: dict[str, Any] = {}
        self._task_difficulty = 0.0
        self._task_id = ""
        self._ended = True

    # Implemented by families.

    def generate_episode(self, rng: np.random.Generator, params: dict[str, Any]) -> Any:
        """Draw a task or start state. All randomness comes from ``rng``."""
        raise NotImplementedError

    def content_of(self, episode: Any) -> str:
        """Return text that identifies this task; equal tasks have equal content in every process."""
        raise NotImplementedError

    def split_key(self, episode: Any) -> str:
        """Return text that is shared by tasks of one origin (a table entry, a board) and keeps them in one split; empty
        where the content decides the split."""
        return ""

    def oracle(self, *args: Any, **kwargs: Any) -> Any:
        """Return the next action of a scripted solver, ready for ``step``; following it ends with ``is_success``
        True, unless its measured ``solver_rates`` say otherwise."""
        raise NotImplementedError(f"{type(self).__name__} has no oracle.")

    def random_action(self, episode: Any, rng: np.random.Generator) -> Any:
        """Return a random legal action, or a well-formed answer to another question; None where the family has
        neither."""
        return None

    def guess_action(self, episode: Any, known: Mapping[str, Any], rng: np.random.Generator) -> Any:
        """Return the action of a player who has mastered tasks up to the parameters ``known`` and guesses the rest;
        unless overridden, everything is guessed, as by `random_action`."""
        return self.random_action(episode, rng)

    def heuristic_action(self, episode: Any) -> Any:
        """Return the action of a player that looks one step ahead; None where the family has no such player."""
        return None

    def solver_cost(self, episode: Any) -> float | None:
        """Return the work of a plain solver on this task or start state (nodes visited, moves of the shortest plan), as
        a measure of difficulty; None where the length of question and answer measures it."""
        return None

    def draw(self, episode: Any) -> np.ndarray:
        """Draw a picture of the task or state, uint8[height, width, 3]."""
        raise NotImplementedError(f"{type(self).__name__} has no pictures.")

    # Drawing a task.

    def begin(self, seed: int | None, options: dict[str, Any] | None) -> Any:
        """Seed, choose the parameters, and draw tasks until one belongs to the split.

        Returns:
            the task or start state that `generate_episode` made.

        Raises:
            InputError: bad options, or no task of the split in 2,000 draws.
        """
        gym.Env.reset(self, seed=seed)
        rng = self.np_random
        params = self._choose_params(rng, options)
        for _ in range(MAX_TRIES):
            episode = self.generate_episode(rng, params)
            content = self.content_of(episode)
            if self.belongs(self.split_key(episode) or content):
                break
        else:
            raise InputError(
                f"{type(self).__name__} with {params} has no {self.split} task in {MAX_TRIES} draws; "
                "use wider parameters, or split='all'."
            )
        self._params = params
        self._task_difficulty = self.param_space.difficulty(params)
        identity = f"{type(self).__name__}\0{'' if self.content_identifies else params}\0{content}"
        self._task_id = hashlib.blake2b(identity.encode("utf-8", "surrogatepass"), digest_size=8).hexdigest()
        self._ended = False
        return episode

    def belongs(self, key: str) -> bool:
        """Check that tasks with this split key, or content, are in the environment's split."""
        return self.split == "all" or split_of(key) == self.split

    def _choose_params(self, rng: np.random.Generator, options: dict[str, Any] | None) -> dict[str, Any]:
        given: dict[str, Any] = {}
        difficulty = self.difficulty
        if options is not None and not isinstance(options, Mapping):
            raise InputError(f"reset options must be a mapping such as {{'difficulty': 0.5}}, not {options!r}.")
        if options:
            for name in options:
                if name not in ("difficulty", "params"):
                    raise unknown_name("reset option", str(name), ["difficulty", "params"])
            if options.get("params") is not None:
                given = self.param_space.ask(options["params"])
            if options.get("difficulty") is not None:
                difficulty = options["difficulty"]
        return self.param_space.complete(given, rng, difficulty)

    # The info of resets and steps.

    def task_info(self, subject: Any = None, extras: dict[str, Any] | None = None) -> dict[str, Any]:
        """Return the part of ``info`` that is always there, in new objects at each call.

        Args:
            subject: the first argument of `compute_extra`: the task, or what a game keeps of the episode so far.
            extras: the values that are known at once.
        """
        return {
            "task_id": self._task_id,
            "params": dict(self._params),
            "difficulty": self._task_difficulty,
            "extras": Extras(self.supplies, extras, self.compute_extra, subject),
        }

    def step_info(
        self,
        subject: Any,
        terms: Mapping[str, float],
        *,
        success: bool,
        progress: float,
        valid: bool = True,
        error: str | None = None,
        feedback: str = "",
        extras: Mapping[str, Any] | None = None,
    ) -> dict[str, Any]:
        """Return the ``info`` of a step; ``subject`` and ``extras`` as in `task_info`."""
        info = self.task_info(subject, {"feedback": feedback, **extras} if extras else {"feedback": feedback})
        info["reward_terms"] = terms
        info["reward_valid"] = valid
        info["action_error"] = error
        info["feedback"] = feedback
        info["is_success"] = success
        info["progress"] = progress
        return info

    def compute_extra(self, subject: Any, name: str) -> Any:
        """Compute the value of one of the names in ``supplies``; None where it is not known.

        It may be called after the episode has ended and from another thread, and so depends on its arguments alone.
        """
        return None

    # Actions in text.

    def read_action(self, action: Any, form: Form | None = None) -> tuple[list[str], str | None]:
        """Return the possible readings of the answer in a reply, the plainest first, and None; or no readings and an
        error.

        The first reading that has the required form is the answer. ``form`` is the layout of the answer to this task,
        where it differs from ``answer_form``. Never raises, whatever the action is.
        """
        if not isinstance(action, str):
            return [], f"The action must be text, not {type(action).__name__}."
        if len(action) > self.max_action:
            return [], f"The action has {len(action)} characters; at most {self.max_action} are read."
        # Most actions are plain words or numbers.
        if action.isalnum() and self.answer_format in ("any", "last_line") and len(action) <= self.max_answer:
            return [action] if not self._is_move else [action, action.lower()], None
        found, longer = readings_up_to(
            *(self.max_answer, action, self.answer_format, form or self.answer_form, self.thoughts),
            marks=not self.strips_marks,
        )
        if found:
            return found, None
        if longer:
            return [], f"The answer has {longer} characters; at most {self.max_answer} are read."
        where = {"boxed": " in \\boxed{}", "tag": " in <answer></answer>"}.get(self.answer_format, "")
        return [], f"There is no answer{where}."

    def write_action(self, answer: Any) -> Any:
        """Write an oracle's bare answer as an action that `read_action` reads back."""
        return present(answer, self.answer_format) if isinstance(answer, str) else answer

    # Snapshots.

    def here(self) -> Any:
        """Return the current task or state. Raise ResetNeeded before the first reset."""
        raise NotImplementedError

    def get_state(self) -> dict[str, Any]:
        """Return a picklable snapshot of the episode, the random generator included.

        Raises:
            gymnasium.error.ResetNeeded: before the first reset.
        """
        self.here()
        return {
            "family": type(self).__name__,
            "params": dict(self._params),
            "difficulty": self._task_difficulty,
            "task_id": self._task_id,
            "ended": self._ended,
            "rng": self.np_random.bit_generator.state,
        }

    def set_state(self, state: Mapping[str, Any]) -> None:
        """Restore a snapshot, taken of this environment or of another one of the same family.

        Raises:
            InputError: the snapshot is of another family.
        """
        if not isinstance(state, Mapping) or state.get("family") != type(self).__name__:
            given = repr(state.get("family") if isinstance(state, Mapping) else state)
            raise InputError(f"set_state needs a snapshot by get_state of {type(self).__name__}, not {shorten(given)}.")
        self._params = dict(state["params"])
        self._task_difficulty = state["difficulty"]
        self._task_id = state["task_id"]
        self._ended = state["ended"]
        self.np_random.bit_generator.state = state["rng"]

    def require_running(self) -> None:
        """Raise ResetNeeded unless an episode is running."""
        if self._ended:
            why = "reset() has not been called yet" if not self._task_id else "the episode is over"
            raise gym.error.ResetNeeded(f"cannot step {type(self).__name__}: {why}; call reset() first.")
