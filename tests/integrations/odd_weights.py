"""A game of one turn and a question that the machinery can judge for even weights only, for the trials of other
projects."""

from __future__ import annotations

from palaestra.envs import Game, IntAxis, ParamSpace, Question, Task, Transition
from palaestra.envs.registration import register
from palaestra.rewards import Verdict


class OddWeightGame(Game):
    """Ends at once, solved."""

    param_space = ParamSpace([IntAxis("goal", 2, 9)])

    def start(self, rng, params):
        return params["goal"], int(rng.integers(1000))

    def observe(self, state):
        return f"the goal is {state[0]}, the weight {state[1]}"

    def act(self, state, action):
        return Transition(state, done=True, success=True, valid=state[1] % 2 == 0)


class OddWeightQuestion(Question):
    """Any answer is right."""

    param_space = ParamSpace([IntAxis("goal", 2, 9)])

    def generate(self, rng, params):
        weight = int(rng.integers(1000))
        return Task(f"the weight is {weight}", reference=weight)

    def verify(self, task, answer):
        judged = task.reference % 2 == 0
        return Verdict(float(judged), success=judged, valid=judged)


register("trial/OddWeightGame-v0", OddWeightGame)
register("trial/OddWeightQuestion-v0", OddWeightQuestion)
