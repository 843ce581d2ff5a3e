"""OpenEnv's protocol: Palaestra's environments behind a server, and any OpenEnv server as an environment.

    palaestra serve palaestra/Sokoban-v0 palaestra/Wordle-v0        # ws://127.0.0.1:8000/ws, for OpenEnv's clients

    from palaestra.integrations.openenv import connect

    env = connect("http://127.0.0.1:8000")                          # a Gymnasium environment, ours or not
    observation, info = env.reset(seed=7)

`server` and `client` implement the two ends of a connection; `session` plays one episode after another for a server.
"""

from .client import OpenEnvClient, connect

__all__ = ["OpenEnvClient", "connect"]
