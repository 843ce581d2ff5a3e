"""The base of all environments: choice of the next task, the common part of ``info``, and snapshots.

`Question`, `Game` and the gridworlds derive from `TaskEnv`, which turns the user's request (difficulty, fixed axes,
narrowed axes, split, reset options) into parameters, draws tasks until one belongs to the split, and fills ``info``:

* at resets and steps, ``task_id``, ``params``, ``difficulty`` and ``extras``: further data for rewards and guidance
  (the reference, the worked solution, ...) under the names in ``supplies``, computed when they are first read. An agent
  must not see the extras;
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

# Default of `max_action`: the most characters of a reply, thoughts included.
MAX_ACTION = 1_000_000
MAX_TRIES = 2_000


class TaskEnv(gym.Env[Any, Any]):
    """Base of all environments.

    A subclass sets ``param_space`` (as a class attribute, or on the instance before ``super().__init__``) and
    implements `generate_episode` and `content_of`; see `Question` and `Game`. A subclass that implements
    ``draw(self, episode) -> uint8[height, width, 3]`` also gets the render mode "rgb_array".

    Attributes:
        blind_loops: cycles of actions that the baseline player "loop" repeats (see `envs.baselines`).
        blind_twin: a class with the same tasks and steps but without observations, on which baseline players are
            measured because observations are slow to make; None: the class itself.
        answer_form: the layout of an answer, which decides how a reply is read: on one "line", as several "values", on
            several "lines", as a "program", as the "move" of a game or as several "moves"; see
            `rewards.answers.readings`.
        max_answer: the most characters that an answer may have; the text around it in a reply does not count.
        strips_marks: True if Markdown marks, a full stop and words such as "The answer is" are removed from a reply,
            as `rewards.answers.bare` does; False if they may belong to an answer.
        content_identifies: True if tasks with the same content are the same task (have the same id) whatever their
            parameters, which only choose among the records of a data set.
        arrow_keys: for a person who plays at a terminal: key "up", "down", "left" or "right" -> the text that it types.
            A text that ends in a line break is sent at once.
        return_range: (least, most) sum of rewards of an episode, for teachers.
        prompts: the accepted values of the argument ``prompt``.
        takes_difficulty: False if a constructor argument has already fixed the difficulty of every task.
        tags: tags that the class does not show, such as purposes, for environments of other packages; see `envs.tags`.
        supplies: the names in ``info["extras"]``; a value that is not known yet is None. A subclass lists only the
            names that it adds to those of its bases.

    Args:
        difficulty: from 0 (easiest) to 1 (hardest), or beyond, up to ``param_space.max_difficulty``. None: parameters
            are drawn uniformly at each reset.
        split: "train", "test" (a fifth of all tasks, by content) or "all".
        axes: new ranges of axes, ``{"digits": [1, 2]}`` (see `ParamSpace.restrict`). A range may exceed the default one
            up to the axis's limits. Difficulty 0 to 1 then runs over the new ranges.
        answer_format: the format in which the answer is read from a reply; see `answers.extract`.
        max_action: the most characters that a reply may have, thoughts included.
        thoughts: names of the tags around the thoughts of a reasoning model, ``["think", "[THINK]"]``. The reply up to
            the last closing tag is dropped; if a thought is not closed, there is no answer.
        prompt: the wording of observations, one of ``prompts``: "sentences", which say what is asked and how to answer,
            or "terse", for small models that read single characters. Both have the same tasks under the same ids; in
            some families they are the same text.
        render_mode: None, or one of ``metadata["render_modes"]``.
        **fixed: any axis by name, fixed to one value.

    Raises:
        InputError: an argument is unknown or out of range.
    """

    metadata: dict[str, Any] = {"render_modes": ["ansi"], "render_fps": 4}  # noqa: RUF012  # gymnasium declares it so
    param_space: ParamSpace = ParamSpace(())
    default_answer_format: ClassVar[str] = "any"
    blind_loops: ClassVar[tuple[tuple[Any, ...], ...]] = ()
    blind_twin: ClassVar[type[TaskEnv] | None] = None
    answer_form: Form = "line"
    max_answer: int = 4096
    strips_marks: ClassVar[bool] = True
    content_identifies: bool = False
    arrow_keys: ClassVar[Mapping[str, str]] = {}
    return_range: tuple[float, float] = (0.0, 1.0)
    prompts: ClassVar[tuple[str, ...]] = ("sentences", "terse")
    takes_difficulty: bool = True
    tags: ClassVar[tuple[str, ...]] = ()
    supplies: frozenset[str] = frozenset({"feedback"})

    @classmethod
    def option_names(cls) -> set[str]:
        """Return the names of the constructor arguments that are not axes."""
        bases = (base for base in cls.__mro__ if issubclass(base, TaskEnv) and "__init__" in base.__dict__)
        parameters = (each for base in bases for each in inspect.signature(base.__init__).parameters.values())
        return {each.name for each in parameters if each.kind is each.KEYWORD_ONLY}

    def __init_subclass__(cls, **kwargs: Any):
        """Complete a new subclass: add the names of its bases to ``supplies``; if it implements ``draw``, add the
        render mode "rgb_array"; if it implements ``oracle(self, task)``, let ``oracle()`` without argument return the
        action for the current task."""
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
            prompt = "sentences"  # "full" is the former name
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
        """Return a new task or start state. All randomness must come from ``rng``."""
        raise NotImplementedError

    def content_of(self, episode: Any) -> str:
        """Return text that identifies this task; equal tasks have equal content in every process."""
        raise NotImplementedError

    def split_key(self, episode: Any) -> str:
        """Return text shared by tasks of one origin (a table entry, a board), so that they lie in the same split. Empty
        (the default): `content_of` decides."""
        return ""

    def oracle(self, *args: Any, **kwargs: Any) -> Any:
        """Return the next action of a scripted solver, ready for ``step``. An episode played by the solver must end
        with ``is_success`` True, or at the rate in ``Measured.solver_rates`` if that is below 1."""
        raise NotImplementedError(f"{type(self).__name__} has no oracle.")

    def random_action(self, episode: Any, rng: np.random.Generator) -> Any:
        """Return a random legal action, or a well-formed answer to another question; None if the family has neither."""
        return None

    def guess_action(self, episode: Any, known: Mapping[str, Any], rng: np.random.Generator) -> Any:
        """Return the action of a player who has mastered tasks up to the parameters ``known`` and guesses the rest.
        Default: everything is guessed, by `random_action`."""
        return self.random_action(episode, rng)

    def heuristic_action(self, episode: Any) -> Any:
        """Return the action of a player that looks one step ahead; None if the family has no such player."""
        return None

    def solver_cost(self, episode: Any) -> float | None:
        """Return the work of a plain solver on this task or start state (nodes visited, moves of the shortest plan), as
        a measure of difficulty. None (the default): the length of question and answer is the measure."""
        return None

    def draw(self, episode: Any) -> np.ndarray:
        """Draw a picture of the task or state, uint8[height, width, 3]."""
        raise NotImplementedError(f"{type(self).__name__} has no pictures.")

    # Drawing a task.

    def begin(self, seed: int | None, options: dict[str, Any] | None) -> Any:
        """Seed the generator, choose the parameters, and draw tasks until one belongs to the split.

        Returns:
            the task or start state that `generate_episode` made.

        Raises:
            InputError: invalid options, or no task of the split in `MAX_TRIES` draws.
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
        """Return True if tasks with this split key (or content, if the split key is empty) are in the environment's
        split."""
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
        """Return the part of ``info`` that resets and steps have in common, in new objects at each call.

        Args:
            subject: the first argument of `compute_extra`: the task, or the `Past` of a game.
            extras: the extras that are known at once.
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
        """Return the extra ``name``, one of ``supplies``; None if it is not known.

        May be called after the episode has ended and from another thread, and so must depend on its arguments alone.
        """
        return None

    # Actions in text.

    def read_action(self, action: Any, form: Form | None = None) -> tuple[list[str], str | None]:
        """Return (readings, None) or ([], error): the possible readings of the answer in a reply, the plainest first.

        Callers must take the first reading that has the required form as the answer. Never raises, whatever the action
        is.

        Args:
            form: the layout of the answer to this task; None: ``answer_form``.
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
        """Return the action in ``answer_format`` from which `read_action` reads ``answer``; a value that is no text is
        returned unchanged."""
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
        """Restore a snapshot of this environment or of another one of the same family.

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
