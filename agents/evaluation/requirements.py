"""Check, before the first episode of several environments, that all of them can be played on this machine.

All that is missing is one error, with the command that installs it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from ...envs.registration import ids
from ...envs.tags import tags_of
from ...errors import InputError, MachineryError, MissingExtra, has_extra
from .environment_spec import make_envs

FEW = 3
"""Largest number of environments that are named for one missing part."""
Task = tuple[Any, Mapping[str, Any]]
"""Environment, as for `palaestra.evaluate`, and its own settings."""


def check_requirements(
    tasks: Iterable[Task], settings: Mapping[str, Any], agent: tuple[str, MissingExtra] | None = None
) -> None:
    """Make every environment that is given by its id.

    Args:
        tasks: environments with their settings.
        settings: settings of all environments.
        agent: the name of the agent and what it lacks, if it could not be made.

    Raises:
        MissingExtra, MachineryError: one part is missing, of one environment or of the agent.
        InputError: several parts are missing, or an environment cannot be made for another reason.
    """
    lacks: list[tuple[str, MissingExtra | MachineryError]] = [] if agent is None else [agent]
    for env, own in tasks:
        if isinstance(env, str) and (error := _find_lack(env, {**settings, **own})):
            lacks.append((env.rpartition("/")[2], error))
    if len(lacks) == 1:
        raise lacks[0][1]
    if lacks:
        raise InputError(_describe(lacks))


def _find_lack(env: str, given: Mapping[str, Any]) -> MissingExtra | MachineryError | None:
    try:
        (made,), _ = make_envs(env, 1, given.get("split", "test"), dict(given.get("env_kwargs") or {}))
        made.close()
    except (MissingExtra, MachineryError) as error:
        return error
    # Some environments load a package only when an action needs it.
    for tag in tags_of(env) if env in ids() else ():
        extra = tag.removeprefix("needs-")
        if extra != tag and not has_extra(extra):
            return MissingExtra(env, extra)
    return None


def _describe(lacks: list[tuple[str, MissingExtra | MachineryError]]) -> str:
    """Return one sentence on what is missing for whom, with one command for all of it."""
    parts: dict[str, list[str]] = {}
    extras, programs = set(), set()
    for name, error in lacks:
        if isinstance(error, MissingExtra):
            extras.add(error.name)
            parts.setdefault(f"the extra [{error.name}]", []).append(name)
        else:
            programs.add(error.install)
            what = error.install.rpartition(" ")[2] or f"what its error says ({str(error).rstrip('.')})"
            parts.setdefault(what, []).append(name)
    wanted = []
    for what, names in parts.items():
        rest = f" and {len(names) - FEW} more" if len(names) > FEW else ""
        wanted.append(f"{what} (for {', '.join(names[:FEW])}{rest})")
    pip = [f"pip install 'palaestra[{','.join(sorted(extras))}]'"] if extras else []
    command = " && ".join([*pip, *sorted(programs - {""})])
    return f"{len(lacks)} parts of this evaluation need {' and '.join(wanted)}{f': {command}' if command else ''}."
