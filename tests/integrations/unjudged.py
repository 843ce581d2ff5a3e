"""A game of one turn that the machinery can judge for even weights only, for the trials of other projects."""

from __future__ import annotations

from palaestra.envs import Game, IntAxis, ParamSpace, Transition
from palaestra.envs.registration import register


class Unjudged(Game):
    """Ends at once, solved."""

    param_space = ParamSpace([IntAxis("goal", 2, 9)])

    def start(self, rng, params):
        return params["goal"], int(rng.integers(1000))

    def observe(self, state):
        return f"the goal is {state[0]}, the weight {state[1]}"

    def act(self, state, action):
        return Transition(state, done=True, success=True, valid=state[1] % 2 == 0)


register("trial/Unjudged-v0", Unjudged)
