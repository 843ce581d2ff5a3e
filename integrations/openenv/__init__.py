"""OpenEnv's protocol: our environments behind a server, and any such server as an environment.

    palaestra serve palaestra/Sokoban-v0 palaestra/Wordle-v0        # ws://127.0.0.1:8000/ws, for OpenEnv's clients

    from palaestra.integrations.openenv import connect

    env = connect("http://127.0.0.1:8000")                          # a Gymnasium environment, ours or not
    observation, info = env.reset(seed=7)

`server` and `client` each have one end of the conversation.
"""

from .client import OpenEnvClient, connect

__all__ = ["OpenEnvClient", "connect"]
