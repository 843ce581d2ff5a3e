"""palaestra/StreamCompletion-v0: fill the gap in a script so that it writes the given output and error output."""

from __future__ import annotations

import re
import textwrap
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from ...checks import check_share
from ...rewards import Verdict
from ...rewards.answers import fenced, program_in
from ...rewards.verifiers.registry import rejected
from ..param_space import ChoiceAxis, IntAxis, ParamSpace
from ..question import Task
from ..registration import register
from ..sandbox import run
from .code_completion import GAP, GUESSES, fill_gap, find_spans, shift_by_indent
from .judging.program_question import ProgramQuestion
from .programs.dice import Dice
from .programs.grammar import DOMAINS, write_source
from .programs.stream_scripts import StreamScript, draw_script
from .stream_prediction import judge_streams, write_streams

_FORMS = {"expression": ("an expression", "len(values) + 1"), "line": ("one or more statements", "values = other + 1")}


class ScriptGap(NamedTuple):
    """Data of a task: the script, the text of its function before and after the gap, the missing code, its kind
    ("expression" or "line"), the block with the gap, and that block's code before and after it."""

    script: StreamScript
    before: str
    after: str
    missing: str
    masked: str
    place: int
    block: tuple[str, str]

    def fill(self, code: str) -> str:
        """Return the whole script with this code in the gap."""
        return self.script.write(fill_gap(self.before, code, self.after, self.masked))

    def body(self, code: str) -> tuple[str, ...]:
        """Return the blocks of the function with this code in the gap."""
        filled = fill_gap(self.block[0], code, self.block[1], self.masked)
        return (*self.script.body[: self.place], filled, *self.script.body[self.place + 1 :])


class StreamCompletion(ProgramQuestion):
    """Fill the gap in a Python script so that it writes what is shown to stdout and to stderr.

    Description:
        The scripts are those of `StreamPrediction`; an expression or a line of the function is missing. Any code that
        makes the script write the same is right, whatever it looks like. Constants and single variables never do.

    Parameters:
        steps (1 to 4, on request up to 12): number of operations that the function applies one after the other.
        calls (2 to 5, on request up to 10): number of calls.
        domain ("numbers", "strings", "lists"): the type of the function's argument.
        masked ("expression", "line"): the kind of the missing code.
        augmented (constructor, 0 to 1, default 0.3): share of augmented functions, see `StreamPrediction`.

    Observation:
        Text: the script with a gap, and what it writes without the gap.

    Actions:
        Text with the missing part, in a fenced block of Python or alone; the last block counts. The whole reply is
        read, unless ``answer_format`` says otherwise.

    Reward:
        1 if both streams are right when the script runs in the sandbox (lines of stderr in any order), 0 otherwise;
        with ``graded=True`` the share as in `StreamPrediction`, which is also ``info["progress"]``.

    Termination:
        After the first answer.

    Source:
        The backward task of CodeBoost (Wang et al., arXiv 2508.05242), on generated scripts.
    """

    supplies = frozenset({"output_streams"})
    param_space = ParamSpace(
        [
            IntAxis("steps", 1, 4, limits=(1, 12)),
            IntAxis("calls", 2, 5, limits=(2, 10)),
            ChoiceAxis("domain", tuple(DOMAINS)),
            ChoiceAxis("masked", tuple(_FORMS)),
        ]
    )

    def __init__(self, *, augmented: float = 0.3, **kwargs: Any):
        super().__init__(**kwargs)
        self.augmented = check_share("augmented", augmented)

    def generate(self, rng: np.random.Generator, params: dict[str, Any]) -> Task:
        dice, gap = Dice(rng), None
        while gap is None:
            drawn = draw_script(dice, params["domain"], params["steps"], params["calls"], self.augmented)
            gap = None if drawn is None else _draw_gap(dice, drawn, params["masked"])
        words, example = _FORMS[gap.masked]
        shown = gap.script.write(f"{gap.before}{GAP}{gap.after}")
        streams = gap.script.streams() or {}
        return Task(
            f"The gap {GAP} in this script stands for {words}:\n```python\n{shown}\n```\nWithout the gap it writes:\n"
            f"{write_streams(streams)}\nAnswer with what fills the gap, in a block of Python code, such as\n"
            f"```python\n{example}\n```",
            gap.missing,
            solution=fenced(gap.missing),
            content=f"{shown}\n{gap.missing}",
            data=gap,
        )

    def verify(self, task: Task, answer: str) -> Verdict:
        gap: ScriptGap = task.data
        code = program_in(answer)
        if GAP in code or not code.strip() or re.search(rf"\bdef\s+{gap.script.program.name}\b", code):
            return rejected("The answer must be the Python code that fills the gap, and nothing else.")
        result = run(gap.fill(code), limits=self.limits, backend=self.backend)
        if not result.valid:
            return Verdict(0.0, False, valid=False, feedback="The sandbox failed; this says nothing about the program.")
        given = {"stdout": result.stdout, "stderr": result.stderr}
        verdict = judge_streams(given, gap.script.streams() or {}, self.graded)
        kind = "" if verdict.success else "wrong" if result.ok else "limit" if result.reason != "exit" else "error"
        kind = "syntax" if "SyntaxError" in result.stderr else kind
        return replace(verdict, extras={**verdict.extras, "tests": [kind], "test_report": verdict.feedback})

    def criteria(self, task: Task) -> list[str]:
        gap: ScriptGap = task.data
        return [
            "Only the gap is filled, with code that fits before and after it.",
            *(f"It writes {name} as shown." for name in gap.script.streams() or ()),
        ]

    def solution_steps(self, task: Task) -> list[str]:
        """List what each call gives, and the missing code."""
        script: StreamScript = task.data.script
        lines = script.trace() or ()
        return [*(f"{line.arguments!r} gives {line.error or repr(line.value)}." for line in lines), self.oracle(task)]

    def random_action(self, episode: Task, rng: np.random.Generator) -> str:
        """Return the missing code of another task, unless a run with it cannot be computed here."""
        gap: ScriptGap = episode.data
        for _ in range(20):
            answer = super().random_action(episode, rng)
            try:
                if gap.script.streams(gap.body(program_in(answer))) is not None:
                    return answer
            except Exception:  # the code does not fit, or is not supported here
                continue
        return fenced("0" if gap.masked == "expression" else "pass")

    def solver_cost(self, episode: Task) -> float:
        """Return the length of the script plus twice the length of the missing code, in characters."""
        return float(len(episode.data.script.source) + 2 * len(episode.data.missing))


def _draw_gap(dice: Dice, script: StreamScript, masked: str) -> ScriptGap | None:
    """Draw a gap in a script's function. Return None if it has no code of this kind, or a simple guess fills it."""
    place = dice.below(len(script.body) - 1)
    block = script.body[place]
    spans = find_spans(block, masked)
    if not spans:
        return None
    start, end = dice.one(spans)
    margin = block[block.rfind("\n", 0, start) + 1 : start]
    missing = textwrap.dedent(("" if margin.strip() else margin) + block[start:end])
    source = write_source(script.program, script.body)
    head = len(source) - len("\n".join(textwrap.indent(code, "    ") for code in script.body[place:]))
    first, last = head + shift_by_indent(block, start), head + shift_by_indent(block, end)
    gap = ScriptGap(script, source[:first], source[last:], missing, masked, place, (block[:start], block[end:]))
    names = (*(parameter.name for parameter in script.program.parameters), *script.program.results)
    guesses = [*GUESSES, *filter(None, names)] if masked == "expression" else ["pass"]
    guesses.append(missing[: len(missing) // 2])  # a reply that is cut off must not be right
    expected = script.streams()
    for guess in guesses:
        try:
            if script.streams(gap.body(guess)) in (None, expected):
                return None
        except Exception:  # a guess that is no valid code here is no guess
            continue
    return gap


register("palaestra/StreamCompletion-v0", f"{__name__}:StreamCompletion")
