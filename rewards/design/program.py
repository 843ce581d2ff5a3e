"""Grammar of reward programs: Python texts that define ``reward(episode)``, checked by their syntax tree.

The check gives authors a sentence that they can act on, and keeps programs deterministic and without memory of other
episodes. It is no protection: programs run in a sandbox (see `program_values`).
"""

from __future__ import annotations

import ast
import builtins
import warnings
from collections.abc import Iterator
from dataclasses import dataclass

from ...errors import InputError
from ..measures import MEASURES

MODULES = ("collections", "functools", "itertools", "math", "re", "statistics")
"""Modules that a program may import."""

MOST_CHARACTERS = 20_000

EPISODE_KEYS = {
    "success": "bool; the environment's word on whether the task was solved",
    "progress": "float in [0, 1]; the share of the task that was done at the end",
    "truncated": "bool; a limit on turns or tokens cut the episode off",
    "params": "dict; the parameters of the task",
    "turns": 'list of dicts, one a turn: "observation" (text that the agent saw), "action" (text that it wrote), '
    '"reward" (float), "error" (text; why the environment could not use the action, else None), "feedback" (text)',
}
"""Key -> description, for the entries of an episode that every program can read in any environment."""
_TURN_KEYS = frozenset({"observation", "action", "reward", "error", "feedback"})

_BUILTINS = {
    *("abs", "all", "any", "bool", "dict", "divmod", "enumerate", "filter", "float", "frozenset", "int", "isinstance"),
    *("len", "list", "map", "max", "min", "pow", "range", "reversed", "round", "set", "slice", "sorted", "str", "sum"),
    *("tuple", "zip", "ArithmeticError", "AttributeError", "Exception", "IndexError", "KeyError", "LookupError"),
    *("OverflowError", "TypeError", "ValueError", "ZeroDivisionError"),
}
_REFUSED = {
    ast.ClassDef: "a class",
    ast.Global: "global",
    ast.Nonlocal: "nonlocal",
    ast.With: "with",
    ast.Yield: "yield",
    ast.YieldFrom: "yield",
    ast.AsyncFunctionDef: "async",
    ast.Await: "await",
}


@dataclass(frozen=True, slots=True)
class RewardProgram:
    """Reward program that passed the check.

    Attributes:
        text: source of the program.
        needs: names of the measures that the program reads, such as "goal_distance"; see `palaestra.rewards.measures`.
    """

    text: str
    needs: frozenset[str]


def read_program(text: str) -> RewardProgram:
    """Check a text by the grammar of reward programs.

    The text must define ``reward(episode)``, and may import `MODULES`. Refused are classes, names with two leading
    underscores, attributes with one, assignment to attributes, and builtins that plain data does not need.

    Raises:
        InputError: the first fault, with its line.
    """
    tree = parse_program(text, "reward", "the episode")
    return RewardProgram(text, frozenset(_keys_read(tree)) & set(MEASURES) - _TURN_KEYS)


def parse_program(text: str, function: str, argument: str) -> ast.Module:
    """Parse a program that must define ``function`` of one argument, and check it by the grammar.

    Raises:
        InputError: the first fault, with its line.
    """
    if len(text) > MOST_CHARACTERS:
        raise InputError(f"a {function} program has at most {MOST_CHARACTERS} characters, not {len(text)}; shorten it.")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            tree = ast.parse(text)
            compile(tree, f"{function}.py", "exec")
    except SyntaxError as error:
        raise InputError(f"line {error.lineno or 0} is no Python: {error.msg}.") from None
    except (ValueError, RecursionError, MemoryError) as error:
        raise InputError(f"the program cannot be read: {error or 'it is nested too deeply'}.") from None
    for line, fault in sorted(_faults(tree)):
        raise InputError(f"line {line}: {fault}.")
    found = [node for node in tree.body if isinstance(node, ast.FunctionDef) and node.name == function]
    if not found:
        shown = argument.removeprefix("the ")
        raise InputError(f"the program defines no function {function}({shown}) at its top level.")
    arguments = found[-1].args
    plain = [*arguments.posonlyargs, *arguments.args]
    required = len(plain) - len(arguments.defaults) + sum(default is None for default in arguments.kw_defaults)
    if not plain or required > 1:
        raise InputError(f"line {found[-1].lineno}: {function} must take one argument, {argument}.")
    return tree


def _faults(tree: ast.Module) -> Iterator[tuple[int, str]]:
    own = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)}
    own |= {node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)}
    own |= {node.arg for node in ast.walk(tree) if isinstance(node, ast.arg)}
    allowed = f"a program may import {', '.join(MODULES)}"
    for node in ast.walk(tree):
        line = getattr(node, "lineno", 0)
        if what := _REFUSED.get(type(node)):
            yield line, f"{what} is not part of reward programs; write functions of plain data"
        elif isinstance(node, ast.Import):
            for alias in node.names:
                if alias.name not in MODULES or (alias.asname or "").startswith("_"):
                    yield line, f"the import of {alias.name!r} is refused; {allowed}"
        elif isinstance(node, ast.ImportFrom):
            names = [alias.asname or alias.name for alias in node.names]
            if node.level or node.module not in MODULES or any(name[0] in "_*" for name in names):
                yield line, f"the import from {'.' * node.level + (node.module or '')!r} is refused; {allowed}"
        elif isinstance(node, ast.Attribute):
            if node.attr.startswith("_"):
                yield line, f"the attribute {node.attr!r} is refused, as it begins with an underscore"
            elif not isinstance(node.ctx, ast.Load):
                yield line, f"assignment to the attribute {node.attr!r} is refused; keep values in variables"
        elif isinstance(node, ast.Name) and node.id.startswith("__"):
            yield line, f"the name {node.id!r} is refused"
        elif isinstance(node, ast.Name) and node.id not in own | _BUILTINS and hasattr(builtins, node.id):
            yield line, f"the builtin {node.id!r} is refused; programs read the episode and return numbers"


def _keys_read(tree: ast.Module) -> Iterator[str]:
    """Yield the constant keys that a program reads, by ``x["key"]`` or ``x.get("key")``."""
    for node in ast.walk(tree):
        key = None
        if isinstance(node, ast.Subscript) and isinstance(node.ctx, ast.Load):
            key = node.slice
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "get":
            key = node.args[0] if node.args else None
        if isinstance(key, ast.Constant) and isinstance(key.value, str):
            yield key.value
