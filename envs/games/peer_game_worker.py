"""Worker process of palaestra/TextArena-v0 or palaestra/GEM-v0, with many running games of TextArena or GEM.

The process runs under the interpreter that has the package, answers requests as lines of JSON (see `envs.peer_worker`),
and imports nothing of palaestra. The games draw from the global random generators. The state of the generators is saved
for each game and restored before each turn of the game, so that a game depends only on its seed and the actions, not on
other games.
"""

from __future__ import annotations

import importlib
import json
import os
import random
import re
import sys
from typing import Any

_CHARACTERS = 60_000


class TextArenaGame:
    """A game of TextArena. The observation is the messages since the player's last turn."""

    def __init__(self, name: str, seed: int, players: int):
        textarena, registry = import_textarena()
        # The plain game with only the wrappers that read actions: the others repeat the whole conversation at each
        # turn.
        self.game = textarena.make(f"{name}-raw" if f"{name}-raw" in registry else name)
        for wrapper in registry[name].default_wrappers or ():
            if issubclass(wrapper, textarena.ActionWrapper):
                self.game = wrapper(self.game)
        self.game.reset(num_players=players, seed=seed)
        self.kinds = textarena.ObservationType

    def begin(self) -> dict[str, Any]:
        player, messages = self.game.get_observation()
        plain = isinstance(messages, str)
        refusals = [] if plain else [text for _, text, kind in messages if kind is self.kinds.GAME_ADMIN]
        text = messages if plain else self.write(player, messages)
        return {"player": player, "text": text, "refusal": "\n".join(refusals)}

    def step(self, action: str, seat: int) -> dict[str, Any]:
        state = self.game.state
        mover = state.current_player_id
        done, _ = self.game.step(action)
        if not done:
            again = getattr(state, "error_count", 0) > 0 and state.current_player_id == mover
            answer = self.begin()
            return {**answer, "done": False, "refusal": answer["refusal"] if again else "", "reward": 0.0}
        rewards, about = self.game.close()
        told, said = about[seat], state.observations[seat]
        reward, reason = rewards[seat], str(told.get("reason") or "")
        if isinstance(reward, str):  # some games hand over reward and reason in the wrong order
            reward, reason = reason.removeprefix("Invalid Move: "), reward
        refusal = reason if told.get("invalid_move") and mover == seat else ""
        text = "\n".join(filter(None, (self.write(seat, said), reason)))
        return {
            "player": seat,
            "text": text,
            "done": True,
            "refusal": refusal,
            "reward": float(reward),
            "reason": reason,
        }

    def write(self, player: int, messages: Any) -> str:
        roles = self.game.state.role_mapping
        lines = []
        for sender, text, kind in messages:
            if not isinstance(sender, int):
                continue  # some games hand over a player's action with its parts in the wrong order
            if sender == player and kind is self.kinds.PLAYER_ACTION:
                continue  # the player knows its own actions
            lines.append(
                f"[{roles.get(sender, f'Player {sender}')}] {text}" if sender in roles and sender != -1 else text
            )
        return "\n".join(lines).strip()


class GemGame:
    """A game of GEM. The observation ends with the suffix from GEM's ``info``."""

    def __init__(self, name: str, seed: int, players: int):
        self.game = import_gem()[0].make(name)
        self.constants = importlib.import_module("gem.utils.constants").LanguageGameReward
        self.first = self.game.reset(seed=seed)

    def begin(self) -> dict[str, Any]:
        return {"player": 0, "text": self.write(*self.first)}

    def step(self, action: str, seat: int) -> dict[str, Any]:
        text, reward, terminated, truncated, info = self.game.step(action)
        done = bool(terminated or truncated)
        unreadable = float(reward) == self.constants.format_error_reward
        said = "" if "TERMINAL_STATE" in text else text
        shown = said if done else self.write(text, info)
        answer = {"player": 0, "text": shown, "done": done, "reward": float(reward), "reason": said}
        return {**answer, "truncated": bool(truncated), "refusal": said if unreadable else ""}

    def write(self, text: str, info: dict[str, Any]) -> str:
        return "\n".join(filter(None, (text, info.get("suffix"))))


def import_textarena() -> tuple[Any, dict[str, Any]]:
    """Import TextArena. Return (the module, its registry of games by name)."""
    forbid_downloads()
    textarena = importlib.import_module("textarena")
    return textarena, importlib.import_module("textarena.envs.registration").ENV_REGISTRY


def import_gem() -> tuple[Any, dict[str, Any]]:
    """Import GEM. Return (the module, its registry of games by name)."""
    forbid_downloads()
    gem = importlib.import_module("gem")
    importlib.import_module("gem.envs")
    return gem, importlib.import_module("gem.envs.registration").ENV_REGISTRY


def forbid_downloads() -> None:
    """Disable downloads of NLTK, which games would start whenever a game is made; local word lists still work."""
    nltk: Any = importlib.import_module("nltk")
    nltk.download = lambda *_, **__: False


class SeededGame:
    """A game with its own states of the global random generators of Python and NumPy."""

    def __init__(self, kind: Any, name: str, seed: int, players: int):
        self.numpy = importlib.import_module("numpy").random
        self.generators: Any = None
        random.seed(seed)
        self.numpy.seed(seed)
        self.game = kind(name, seed, players)
        self.keep()

    def keep(self) -> None:
        self.generators = (random.getstate(), self.numpy.get_state())

    def play(self, action: str, seat: int) -> dict[str, Any]:
        random.setstate(self.generators[0])
        self.numpy.set_state(self.generators[1])
        try:
            return self.game.step(action, seat)
        finally:
            self.keep()


class Games:
    """Running games of one package, by number."""

    def __init__(self, package: str):
        kinds = {"textarena": (TextArenaGame, import_textarena), "gem": (GemGame, import_gem)}
        self.kind, self.load = kinds[package]
        self.running: dict[int, SeededGame] = {}

    def respond(self, request: dict[str, Any]) -> dict[str, Any]:
        """Answer a request by its field "do": "names" returns the names of all games, "reset" makes game "number" from
        a seed, and "step" plays one action in this game. Games listed in "ended" are dropped first."""
        for number in request.get("ended", ()):
            self.running.pop(number, None)
        if request["do"] == "names":
            return {"names": sorted(self.load()[1])}
        if request["do"] == "reset":
            self.running.pop(request["number"], None)
            made = SeededGame(self.kind, request["game"], request["seed"], request["players"])
            self.running[request["number"]] = made
            answer = made.game.begin()
            made.keep()
            return answer
        answer = self.running[request["number"]].play(request["action"], request["seat"])
        return {**answer, "text": answer["text"][:_CHARACTERS]}


def main() -> None:
    """Answer requests from standard input, one JSON line each, until it ends."""
    # Send text printed by games to standard error, so that it does not mix with the answers.
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    games = Games(sys.argv[1])
    for line in sys.stdin:
        try:
            answer = games.respond(json.loads(line))
        except Exception as error:
            lines = re.sub(r"\x1b\[[0-9;]*m", "", str(error)).splitlines()
            said = next((line.strip() for line in lines if line.strip(" *")), "")
            answer = {"failure": f"{type(error).__name__}: {said[:300]}"}
        print(json.dumps(answer), file=answers, flush=True)


if __name__ == "__main__":
    main()
