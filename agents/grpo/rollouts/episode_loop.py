"""One episode in progress, between the sampler that writes its actions and the environment that they step.

An action with inserted tokens takes several requests to the sampler. Token ids, origins and log-probabilities are
recorded exactly as sampled. The context that is trained may leave out a hint that the sampler saw.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any, Literal

import gymnasium

from ....rewards import Recording
from ...engines.sampler import Completion, Request
from ...language.renderer import Renderer
from ...language.soft_tokens import SoftToken
from ...oracle import worked_action
from ..batch.trajectory import Origin, Trajectory, Turn, last_context
from .environments import snapshot
from .episode_starts import Conditions, Insert, Moment, Start, TokenLimits


@dataclass(eq=False)
class _Action:
    """Unfinished action of at most ``room`` tokens."""

    obs_ids: tuple[int, ...]
    observation: str
    room: int
    inserts: deque[Insert]
    ids: list[int] = field(default_factory=list)
    logps: list[float] = field(default_factory=list)
    origins: list[int] = field(default_factory=list)
    entropies: list[float] = field(default_factory=list)
    thought: tuple[SoftToken, ...] = ()
    finish: Literal["stop", "length"] | None = None


class EpisodeLoop:
    """Episode in progress: one start, played in one environment."""

    def __init__(
        self,
        start: Start,
        env: gymnasium.Env[Any, Any],
        observation: str,
        info: dict[str, Any],
        renderer: Renderer,
        limits: TokenLimits,
        temperature: float,
        version: int,
        states: bool,
        entropies: bool,
        timed: bool = False,
    ):
        self.env, self.start, self.over = env, start, False
        # True if the first observation left no context for an action.
        self.overlong = False
        self.moments: list[Moment] = []
        self._info, self._renderer, self._limits = info, renderer, limits
        self._recording = Recording(observation, info)
        self._temperature, self._version, self._states, self._entropies = temperature, version, states, entropies
        self._turns = list(start.moment.turns) if start.moment else []
        # True if the context restarts with the current observation; `begins_anew` says so of the next request.
        self._fresh = start.moment is not None and start.moment.fresh
        self.begins_anew = False
        self._unsent: list[int] = [i for turn in last_context(self._turns) for i in (*turn.obs_ids, *turn.act_ids)]
        self._used = len(self._unsent)
        self._tokens = sum(len(turn.act_ids) for turn in self._turns)
        self._before = len(self._turns)
        self._action: _Action | None = None
        # Result of the environment's step, if `prepare_step` has taken it already.
        self._stepped: tuple[Any, ...] | None = None
        self._timed, self._seconds = timed, 0.0
        self._failed, self._truncated, self._stripped, self._error = False, False, False, ""
        self._guided = max(start.guided, start.conditions.guided)

    def advance(self, session: int, inline: bool = True) -> Request | None:
        """Play until the sampler is needed. Return the request for it, or None once the episode is over.

        If the request restarts the context, ``begins_anew`` is True, and the request needs a new session.

        Args:
            inline: step the environment in this call; if False, None is also returned when the environment must step,
                with ``over`` False, and the function from `prepare_step` must be called next.

        Raises:
            InputError: the environment lacks the oracle that the start needs.
            Exception: any exception of the environment.
        """
        self.begins_anew = False
        while not self.over:
            if self._action is None:
                self._open_action()
            elif self._action.finish is not None:
                if self._stepped is None and not inline:
                    return None
                self._step_environment(self._action)
            else:
                action = self._action
                until = min(action.room, action.inserts[0].at if action.inserts else action.room)
                unsent, self._unsent = tuple(self._unsent), []
                room, thinks = until - len(action.ids), not action.ids
                return Request(session, unsent, room, self._temperature, self._entropies, thinks=thinks)
        return None

    def prepare_step(self) -> Callable[[], None] | None:
        """Return a function that steps the environment, to be called in any thread before `advance`; None if the action
        is not complete."""
        text = self.complete_action
        if text is None:
            return None

        def step() -> None:
            self._stepped = self._call_step(text)

        return step

    @property
    def complete_action(self) -> str | None:
        """Text of the action that waits for the result of its step; None if no action is complete."""
        waits = not self.over and self._action is not None and self._action.finish is not None
        return self._renderer.action(self._action.ids) if waits and self._action is not None else None

    def take_result(self, result: tuple[Any, ...]) -> None:
        """Take the result of the complete action's step from someone else than the environment, before `advance`."""
        self._stepped = result

    def receive(self, completion: Completion) -> None:
        """Append the sampler's tokens to the action."""
        action = self._action
        assert action is not None
        action.thought = action.thought or completion.thought
        action.ids += completion.ids
        action.logps += completion.logps
        action.origins += [int(Origin.POLICY)] * len(completion.ids)
        action.entropies += completion.entropies
        if completion.finish == "stop" or not action.inserts or len(action.ids) >= action.room:
            action.finish = completion.finish
        else:
            self._insert(action)

    def trajectory(self) -> Trajectory:
        """Return the trajectory of the turns played so far."""
        sampled = any(o in (Origin.POLICY, Origin.COPY) for turn in self._turns for o in turn.token_origins)
        played, error = self._recording, self._error
        if not played.valid and not error:
            step = played.steps[-1] if played.steps else None
            said = (step.action_error or step.feedback) if step is not None else ""
            error = f"the environment could not judge it: {said or 'it gave no reason'}"
        return Trajectory(
            task_id=played.task_id,
            params=played.params or dict(self.start.task.params),
            difficulty=played.difficulty or 0.0,
            turns=tuple(self._turns),
            success=bool(played.success),
            progress=played.progress or 0.0,
            truncated=self._truncated,
            valid=played.valid and not self._failed,
            error=error,
            max_tokens=self._limits.episode,
            seed=self.start.task.seed,
            role=self.start.role,
            version=self._version if sampled else -1,
            rescore=self._stripped,
            guided=self._guided,
            system=self.start.conditions.system,
        )

    def invalidate(self, error: Exception) -> None:
        """End the episode as invalid after a failure that is not the agent's."""
        self.over = self._failed = True
        self._error = f"the environment failed: {type(error).__name__}: {error}"

    # Within a turn ---------------------------------------------------------------------------------------------------

    def _open_action(self) -> None:
        """Begin the next action; end the episode if the token budgets leave none."""
        played = len(self._turns) - self._before
        if self._states:
            observation, info = self._recording.observation, dict(self._info)
            self.moments.append(Moment(snapshot(self.env), observation, info, tuple(self._turns), self._fresh))
        if self._fresh:
            self._unsent, self._used, self.begins_anew = [], 0, True
        conditions = Conditions() if self._turns else self.start.conditions
        text = conditions.show(self._recording.observation)
        if conditions.hint:
            hinted = f"{text}\n{conditions.hint}"
            if self._room(self._render(hinted)) > 0:
                text = hinted
            else:  # A hint that would leave no context for an action is left out.
                conditions = replace(conditions, guided=0.0)
                self._guided = self.start.guided
        seen = bare = self._render(text)
        if self.start.hint and played == 0:
            hinted = f"{text}\n{self.start.hint}"
            if self._room(with_hint := self._render(hinted)) > 0:
                seen = with_hint
                self._stripped = not self.start.keep_hint
                text = text if self._stripped else hinted
            else:
                self._guided = conditions.guided
        room = self._room(seen)
        if room <= 0 and not self._turns:
            # Invalid, as no action was played that could be attributed to the policy.
            self.over = self._failed = self.overlong = True
            return
        if room <= 0:
            self.over = self._truncated = True
            return
        inserts = deque((self.start.inserts if played == 0 else ()) or conditions.inserts)
        written_turns = max(len(self.start.actions), self.start.oracle_turns)
        if played < written_turns or len(self._turns) < self.start.conditions.oracle_turns:
            written = self.start.actions[played:] or (worked_action(self.env, self._info),)
            ids = self._renderer.action_ids(written[0])
            inserts = deque([Insert.of(0, ids, self.start.oracle_origin)])
        self._unsent += seen
        self._used += len(seen)
        self._action = _Action(bare if self._stripped and played == 0 else seen, text, room, inserts)
        self._insert(self._action)

    def _render(self, text: str) -> tuple[int, ...]:
        stopped = not self._turns or self._turns[-1].finish == "stop"
        return self._renderer.observation(text, first=self._fresh or not self._turns, stopped=stopped)

    def _room(self, ids: tuple[int, ...]) -> int:
        limits = self._limits
        return min(limits.action, limits.episode - self._tokens, limits.context - self._used - len(ids))

    def _insert(self, action: _Action) -> None:
        """Append the inserts that are due at this length of the action."""
        while action.inserts and action.inserts[0].at <= len(action.ids):
            insert = action.inserts.popleft()
            ids = insert.ids[: action.room - len(action.ids)]
            action.ids += ids
            action.logps += insert.logps[: len(ids)]
            action.origins += insert.origins[: len(ids)]
            action.entropies += (insert.entropies or (0.0,) * len(ids))[: len(ids)]
            self._unsent += ids
        if action.ids and action.ids[-1] in self._renderer.stop_ids:
            action.finish = "stop"
        elif len(action.ids) >= action.room:
            action.finish = "length"

    def _step_environment(self, action: _Action) -> None:
        """Step the environment with the complete action."""
        assert action.finish is not None
        text = self._renderer.action(action.ids)
        result, self._stepped = self._stepped or self._call_step(text), None
        step = self._recording.add(text, result)
        origins, told = tuple(action.origins), step.extras.get("seconds")
        self._turns.append(
            Turn(
                obs_ids=action.obs_ids,
                act_ids=tuple(action.ids),
                logps=tuple(action.logps),
                finish=action.finish,
                reward=step.reward,
                observation=action.observation,
                action=text,
                reward_terms=step.terms,
                extras=step.extras,
                action_error=step.action_error,
                feedback=step.feedback,
                origins=origins if any(origins) else (),
                entropies=tuple(action.entropies) if self._entropies else (),
                fresh=self._fresh,
                seconds=(self._seconds if told is None else float(told)) if self._timed else 0.0,
                solved=bool(self._recording.success or step.extras.get("solved")),
                thought=action.thought,
            )
        )
        self._fresh = bool(result[4].get("fresh"))
        self._tokens += len(action.ids)
        self._used += len(action.ids)
        self._action = None
        self.over = self._recording.over
        self._truncated = self.over and (self._recording.truncated or action.finish == "length")

    def _call_step(self, text: str) -> tuple[Any, ...]:
        begun = time.perf_counter()
        result = self.env.step(text)
        self._seconds = time.perf_counter() - begun
        return result
