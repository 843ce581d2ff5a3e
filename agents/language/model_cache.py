"""Cache of converted models: registered models and GGUF files are converted to model folders once and kept.

The folders are in ``$PALAESTRA_CACHE/models`` (``$PALAESTRA_CACHE`` is by default ``$XDG_CACHE_HOME/palaestra`` or
``~/.cache/palaestra``), named by the model and the start of its file's SHA-256, and written atomically. If file sizes
have changed since a folder was written, the model is converted again.
"""

from __future__ import annotations

import errno
import functools
import hashlib
import importlib.util
import json
import os
import re
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from ...errors import InputError, MissingExtra, find_near, unknown_name
from .registered_models import MODELS, RegisteredModel

CONVERSION = 1
"""Version of the conversion; models in folders of another version are converted again."""
_RECORD = "conversion.json"
_SPARE = 50_000_000
"""Disk space that a conversion needs in addition to the weights (tokenizer files and a reserve), in bytes."""


def cache_folder() -> Path:
    """Return the path of the cache folder. Its contents may be deleted at any time."""
    own = os.environ.get("PALAESTRA_CACHE")
    if own:
        return Path(own).expanduser()
    general = os.environ.get("XDG_CACHE_HOME")
    return (Path(general) if general else Path.home() / ".cache") / "palaestra"


def is_model_name(text: str) -> bool:
    """Return True if a text names a registered model or a GGUF file, and there is no folder of this name."""
    return not Path(text).is_dir() and (_is_gguf(text) or text in MODELS)


def find_model(source: str | Path) -> str | Path:
    """Return the folder of a registered model or a GGUF file, after converting it on first use.

    Other sources are returned unchanged, also a folder with the name of a registered model.

    Raises:
        InputError: the model is not installed, its file is damaged or cannot be read, or the cache cannot be written.
        MissingExtra: the model must be converted, and a package for the conversion is absent.
    """
    text = str(source)
    if Path(source).is_dir():
        return source
    if _is_gguf(text):
        path = Path(source).expanduser()
        if not path.is_file():
            raise InputError(f"there is no file {text!r}; give the path of a GGUF file.")
        return _open(path.stem, _hash_file(path), lambda scratch: path)
    if Path(source).is_file():
        raise InputError(
            f"{text!r} is a file, not a model; give a model's folder, a GGUF file, a name of palaestra list models or "
            f"a hub id (a file of questions is an option of its environment: --env-option source={text})."
        )
    if "/" not in text and text not in MODELS and find_near(text, MODELS):
        raise unknown_name("model", text, MODELS, MODELS.table)
    if text not in MODELS:
        return source
    model = MODELS[text]
    if not model.sha256:
        return _locate(text, model, Path())
    return _open(text, model.sha256, lambda scratch: _locate(text, model, scratch))


def converted_folder(name: str, sha256: str) -> Path:
    """Return the path of the converted model of a file, whether or not it exists."""
    plain = re.sub(r"[^\w-]+", "-", name)
    return cache_folder() / "models" / f"{plain}-{sha256[:16]}"


def is_converted(folder: Path) -> bool:
    """Return True if a folder holds a complete converted model of the current version."""
    try:
        record = json.loads((folder / _RECORD).read_text(encoding="utf-8"))
        sizes = {name: (folder / name).stat().st_size for name in record["sizes"]}
    except (OSError, ValueError, KeyError, TypeError):
        return False
    return record.get("conversion") == CONVERSION and sizes == record["sizes"]


def find_reader() -> None:
    """Raise MissingExtra if a package that reads GGUF files is not installed: Transformers needs accelerate as well."""
    if any(importlib.util.find_spec(name) is None for name in ("gguf", "accelerate")):
        raise MissingExtra("a GGUF file", "gguf")


def _is_gguf(text: str) -> bool:
    return text.lower().endswith(".gguf")


def _locate(name: str, model: RegisteredModel, scratch: Path) -> Path:
    """Return the path of the files of a registered model. Raises InputError if they are not installed."""
    try:
        place = model.locate(scratch)
        if not place.exists():
            raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), str(place))
    except (ImportError, FileNotFoundError) as error:
        raise InputError(f"the model {name!r} is not installed ({error}): {model.install}.") from error
    except ValueError as error:
        raise InputError(f"the files of the model {name!r} are damaged ({error}): {model.install}.") from error
    return place


def _open(name: str, sha256: str, locate: Callable[[Path], Path]) -> Path:
    """Return the folder of a converted model; convert it first if it is missing.

    Args:
        locate: returns the GGUF file with this hash; it may write into the folder that it is given.
    """
    folder = converted_folder(name, sha256)
    if is_converted(folder):
        return folder
    try:
        find_reader()
    except MissingExtra:
        if name in MODELS:
            raise InputError(f"the model {name!r} is not installed: {MODELS[name].install}.") from None
        raise
    from filelock import FileLock

    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        # The lock file is not deleted: that would let a third process in.
        with FileLock(folder.with_suffix(".lock")):
            if not is_converted(folder):
                _convert(name, sha256, locate, folder)
    except OSError as error:
        if error.errno in (errno.ENOSPC, errno.EDQUOT):
            raise InputError(_describe_full_disk(name, folder.parent)) from error
        raise InputError(
            f"the model {name!r} cannot be converted in {str(folder.parent)!r} ({error.strerror or error}); name "
            "another folder in the environment variable PALAESTRA_CACHE."
        ) from error
    return folder


def _convert(name: str, sha256: str, locate: Callable[[Path], Path], folder: Path) -> None:
    from ..grpo.run.folder import write_folder
    from .gguf_file import convert_gguf, measure_weights

    with _scratch_folder(folder.with_suffix(".source")) as scratch, _bar(name) as report:
        path = locate(scratch)
        if (found := _hash_file(path)) != sha256:
            raise InputError(
                f"{str(path)!r} is not the file of the model {name!r}: its SHA-256 is {found}, not {sha256}; install "
                "it again."
            )
        needed = 4 * measure_weights(path) + _SPARE
        if shutil.disk_usage(folder.parent).free < needed:
            raise InputError(_describe_full_disk(name, folder.parent, needed))
        with write_folder(folder) as place:
            convert_gguf(path, place, report)
            sizes = {file.name: file.stat().st_size for file in sorted(place.iterdir())}
            record = {"name": name, "sha256": sha256, "conversion": CONVERSION, "sizes": sizes}
            (place / _RECORD).write_text(json.dumps(record, indent=2) + "\n", encoding="utf-8")


@contextmanager
def _scratch_folder(place: Path) -> Iterator[Path]:
    """Make an empty folder at a path and delete it afterwards; a folder left by a killed process is replaced."""
    shutil.rmtree(place, ignore_errors=True)
    place.mkdir()
    try:
        yield place
    finally:
        shutil.rmtree(place, ignore_errors=True)


def _describe_full_disk(name: str, folder: Path, needed: int = 0) -> str:
    wanted = f"the model {name!r} needs {needed / 1e9:.1f} GB" if needed else f"there is no room for the model {name!r}"
    left = shutil.disk_usage(folder).free / 1e9
    return (
        f"{wanted} in {str(folder)!r}, whose disk has {left:.1f} GB left; free some, or name another "
        "folder in the environment variable PALAESTRA_CACHE."
    )


def _hash_file(path: Path) -> str:
    status = path.stat()
    return _hash_once(path.resolve(), status.st_size, status.st_mtime_ns)


@functools.lru_cache(maxsize=64)
def _hash_once(path: Path, size: int, changed: int) -> str:
    """Return the SHA-256 of a file. Size and modification time are keys of the cache of results."""
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


@contextmanager
def _bar(name: str) -> Iterator[Callable[[int, int], None]]:
    """Draw a progress bar on standard error; yield the function ``report(done, total)`` that updates it."""
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(f"converting {name}, once", total=None)
        yield lambda done, total: bar.update(task, completed=done, total=total)
