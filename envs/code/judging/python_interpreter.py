"""The tool "python": a program in a reply runs in the sandbox, and its output is the observation."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from ....rewards.answers import MAX_PROGRAM
from ...question import Question, Task
from ...sandbox import Limits, check_backend, run
from ...tools.tool import TOOLS, Arguments, Tool, ToolResult
from .outputs import describe_output, keep_ends
from .tool_calls import extract_program

# Maximum characters of a program's output in an observation; the middle is left out.
SHOWN = 1_000


@TOOLS.register("python")
class PythonInterpreter(Tool):
    """Tool that runs a Python program in the sandbox; nothing is kept from earlier calls.

    Args:
        seconds: the time limit of a run.
        backend: the sandbox, by its name in `sandbox.BACKENDS`.
        preload: modules that are in memory before a program starts, such as ("numpy",); see `sandbox.Job`.
        packages: a folder of further packages that programs may import; see `sandbox.Job`.

    Raises:
        InputError: there is no such backend or folder.
        MachineryError: this machine cannot provide the sandbox.
        MissingExtra: the package of the backend 'docker' is not installed.
    """

    name = "python"
    deed = "run Python"
    usage = "write one program between ```python and ```, and what it prints comes back. Each program starts afresh."
    form = "a block of Python"
    needs_sandbox = True
    purpose = "run a Python program and return what it prints; each program starts afresh"
    parameters: ClassVar = {"code": {"type": "string", "description": "the program"}}

    def __init__(self, seconds: float = 2.0, backend: str = "local", preload: Sequence[str] = (), packages: str = ""):
        self.limits = Limits(seconds=seconds)
        self.backend, self.preload, self.packages = backend, tuple(preload), packages
        check_backend(backend, packages)

    def parse(self, action: str) -> Arguments | None:
        program = extract_program(action)
        # Normalise line ends, so that the same program has the same text.
        return None if program is None else {"code": program.replace("\r\n", "\n").strip("\n")}

    def refuse(self, arguments: Arguments) -> str | None:
        program = arguments["code"]
        if not program.strip():
            return "The block of Python is empty; write a program in it."
        if len(program) > MAX_PROGRAM:
            return f"The program has {len(program)} characters; at most {MAX_PROGRAM} are run."
        return None

    def run(self, arguments: Arguments, question: Question, task: Task) -> ToolResult:
        kept = {"backend": self.backend, "preload": self.preload, "packages": self.packages}
        result = run(arguments["code"], limits=self.limits, **kept)  # type: ignore[arg-type]
        output = keep_ends(describe_output(result, self.limits) or "(nothing was printed)", SHOWN)
        return ToolResult(output, failed=not result.ok, valid=result.valid)
