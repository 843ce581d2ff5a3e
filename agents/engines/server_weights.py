"""Weights for a vLLM server, which reloads them in place from a folder that both the server and the run can access.

A folder is used because vLLM's weight transfer has no CPU backend. If the server was started for adapters of their
rank, only adapters are transferred, each time under a new name, so that nothing cached with earlier adapters is used.
"""

from __future__ import annotations

import math
import shutil
import time
import uuid
from pathlib import Path
from typing import Any

from ...errors import InputError
from .checkpoint import adapter_rank, write_adapters, write_config, write_weights
from .server_process import ServerError, send

ADAPTER_ROUTE = "/v1/load_lora_adapter"
_EMPTYING = 60.0
"""Longest wait until cancelled requests have left the server's cache, in seconds."""
_MARK = ".palaestra"
"""File that marks a folder whose weights may be replaced."""


class ServerWeights:
    """Weights of a run, in ``folder`` and on the server.

    Args:
        folder: folder for the weights, which the server can read.
        room: largest rank of adapters that the server accepts; None: adapters are merged into the weights.
        patience: time limit for the server to load weights, in seconds.

    Attributes:
        name: unique id of the run.
        label: id of the weights now loaded on the server, unique over all runs.
        adapters: name of the adapters now loaded on the server; None without adapters.
    """

    def __init__(self, folder: Path, room: int | None, patience: float):
        self.folder = folder
        self.name = uuid.uuid4().hex[:12]
        self.label = ""
        self.adapters: str | None = None
        self._room, self._patience = room or 0, patience
        self._base: Any = None  # the policy whose weights are in the folder without its adapters
        self._reloads = True
        self._loaded: str | None = None  # name of the adapters on the server

    def write(self, language: Any, version: int) -> None:
        """Write a policy into the folder; only its adapters, if the weights below them are already there.

        Raises:
            InputError: the files cannot be written.
        """
        self.label = f"{self.name}-{version}"
        apart = (adapter_rank(language) or math.inf) <= self._room
        try:
            if not (apart and self._base is language):
                self._base, self._reloads = None, True
                self.folder.mkdir(parents=True, exist_ok=True)
                (self.folder / _MARK).touch()
                write_config(language, self.folder)
                write_weights(language, self.folder, merge=not apart)
                self._base = language if apart else None
            for old in self.folder.glob("adapters-*"):
                shutil.rmtree(old)
            self.adapters = f"adapters-{self.label}" if apart else None
            if self.adapters is not None:
                write_adapters(language, self.folder / self.adapters)
        except OSError as error:
            raise InputError(
                f"the weights for the vLLM server cannot be written to {self.folder} ({error}); make room there, or "
                "name another folder with --engine-option folder=FOLDER, and go on with --resume."
            ) from error

    def load(self, url: str, new: bool) -> None:
        """Make a server load the weights in the folder and drop its prefix cache.

        During the load, and after a failure half-way, the server's weights have a label that no run accepts in an
        answer.

        Args:
            new: True if the server may have no weights of this run yet.

        Raises:
            ServerError: the server cannot load the weights; or, like the other errors of `server_process.LOST`, the
                server is gone.
            ValueError: the server refuses the weights.
        """

        def ask(path: str, body: Any) -> Any:
            return send(url, path, body, self._patience)

        ask("/update_weight_version", {"new_version": f"{self.label}, unfinished"})
        if new or self._reloads:
            self._reloads = True
            ask("/collective_rpc", {"method": "reload_weights", "kwargs": {"weights_path": str(self.folder)}})
            until = time.monotonic() + _EMPTYING
            while not ask("/reset_prefix_cache", {})["success"]:
                if time.monotonic() > until:
                    raise ServerError("its prefix cache cannot be emptied; does another run use it?")
                time.sleep(0.05)
            self._reloads = False
        if new:
            self._loaded = None
        if self.adapters is not None:
            path = str(self.folder / self.adapters)
            ask(ADAPTER_ROUTE, {"lora_name": self.adapters, "lora_path": path, "load_inplace": True})
        if self._loaded not in (None, self.adapters):
            self.unload(url)
        self._loaded = self.adapters
        ask("/update_weight_version", {"new_version": self.label})

    def unload(self, url: str) -> None:
        """Unload the run's adapters from the server, if it has any."""
        if self._loaded is not None:
            send(url, "/v1/unload_lora_adapter", {"lora_name": self._loaded}, self._patience)
            self._loaded = None


def check_folder(folder: Path) -> None:
    """Raise InputError for a folder that holds files but was not made by a run, as its weights would be replaced."""
    if folder.exists() and not folder.is_dir():
        raise InputError(f"the engine option folder must name a folder, and {folder} is a file.")
    if folder.is_dir() and not (folder / _MARK).exists() and (files := sorted(path.name for path in folder.iterdir())):
        raise InputError(
            f"the engine option folder must name a new or an empty folder, as the weights in it are replaced at each "
            f"update; {folder} holds {files[0]}."
        )
