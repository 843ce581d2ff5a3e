"""``palaestra new``: write a package of your own, with a working example to replace, tests, entry point and README.

The example is an environment, teacher, reward, recipe or agent. After the ``pip install`` that is shown at the end, all
commands and registries know it by its name, and ``pytest`` in the folder tests it; an environment must pass the tests
of all environments.

examples:
  palaestra new env word-sums          # gym.make("word_sums/WordSums-v0")
  palaestra new teacher edge-climber --path ~/projects
  palaestra new recipe my_recipe
"""

from __future__ import annotations

import importlib.util
import json
import keyword
import re
import shlex
import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path
from typing import Literal

import tyro

from ..agents.agent import AGENTS
from ..envs.registration import ids
from ..errors import InputError
from ..rewards import REWARDS
from ..teachers import TEACHERS
from .new_pieces import write_pieces


@dataclass(frozen=True)
class NewOptions:
    kind: tyro.conf.Positional[Literal["env", "teacher", "reward", "recipe", "agent"]]
    """Kind of object in the package."""
    name: tyro.conf.Positional[str]
    """Name of the object: letters, digits, - and _, beginning with a letter."""
    path: Path = Path()
    """Parent folder of the new package's folder."""


def main(argv: Sequence[str] | None = None) -> int:
    """Write the package; return 0."""
    options = tyro.cli(NewOptions, args=argv, prog="palaestra new", description=__doc__)
    module = re.sub("[-_]+", "_", options.name).lower()
    if not re.fullmatch("[a-z][a-z0-9_]*[a-z0-9]", module) or keyword.iskeyword(module) or not options.name.isascii():
        raise InputError(
            f"a name has letters, digits, - and _, begins with a letter and is no word of Python, unlike "
            f"{options.name!r}; take one such as word-sums."
        )
    title = "".join(word.capitalize() for word in module.split("_"))
    registered = {"env": f"{module}/{title}-v0", "recipe": module}.get(options.kind, module.replace("_", "-"))
    if registered in _taken(options.kind):
        raise InputError(f"the {options.kind} name {registered!r} is registered already; take another name.")
    if importlib.util.find_spec(module) is not None:
        raise InputError(f"a module {module!r} is installed already, which this one would hide; take another name.")
    place = options.path.expanduser() / options.name
    source = find_source()
    write_package(place, write_pieces(options.kind, options.name.lower(), module, registered, title, source))
    folder, first = shlex.quote(str(place)), f"{source} " if source else ""
    print(f"{place}: {registered}, in {module}.py\n\nnext:\n  pip install {first}-e {folder}\n  pytest {folder}")
    return 0


def find_source() -> str:
    """Return the arguments of pip that install Palaestra as it is installed here: ``-e CHECKOUT``, or the address of a
    repository or a wheel; "" if it came from an index. Given together with a package that depends on it, pip asks no
    index for it."""
    checkout = Path(__file__).resolve().parents[1]
    if (checkout / "pyproject.toml").is_file():
        return f"-e {shlex.quote(str(checkout))}"
    try:
        text = distribution("palaestra").read_text("direct_url.json")
    except PackageNotFoundError:
        return ""
    origin = json.loads(text or "{}")
    if "vcs_info" in origin:
        version = origin["vcs_info"]
        return shlex.quote(f"palaestra @ {version['vcs']}+{origin['url']}@{version['commit_id']}")
    return shlex.quote(f"palaestra @ {origin['url']}") if origin else ""


def _taken(kind: str) -> Sequence[str]:
    if kind == "env":
        return ids()
    if kind == "recipe":
        try:
            from ..agents.grpo.recipes import RECIPES
        except ImportError:  # without torch there are no recipes to clash with
            return ()
        return list(RECIPES)
    return list({"teacher": TEACHERS, "reward": REWARDS, "agent": AGENTS}[kind])


def write_package(place: Path, files: dict[str, str]) -> None:
    """Write files (path -> text) into a new folder, all or none.

    Raises:
        InputError: the folder exists, or cannot be written.
    """
    if place.exists():
        raise InputError(f"{str(place)!r} exists already, and nothing in it is changed; take another name or --path.")
    partial = place.with_name(f".{place.name}.partial")
    try:
        shutil.rmtree(partial, ignore_errors=True)  # left by a process that was killed
        for path, text in files.items():
            (partial / path).parent.mkdir(parents=True, exist_ok=True)
            (partial / path).write_text(text, encoding="utf-8")
        partial.rename(place)
    except OSError as error:
        shutil.rmtree(partial, ignore_errors=True)
        raise InputError(f"{str(place)!r} cannot be written: {error.strerror}; take another --path.") from error
