"""palaestra/StreamPrediction-v0: predict what a script writes to its output and to its error output."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from ...checks import check_share
from ...rewards import Verdict
from ...rewards.answers import fenced, program_in
from ...rewards.terms.streams import STDERR_SHARE, STREAMS, line_overlap, read_streams, same_output, stream_accuracy
from ...rewards.verifiers.registry import rejected
from ..param_space import ChoiceAxis, IntAxis, ParamSpace
from ..question import Question, Task
from ..registration import register
from .programs.dice import Dice
from .programs.grammar import DOMAINS, format_call
from .programs.stream_scripts import StreamScript, draw_script
from .snippets import load_snippets


class StreamPrediction(Question):
    """Predict what a Python script writes to stdout and to stderr.

    Description:
        A function, drawn as in `ProgramSynthesis`, is called with several arguments. Usual values go to stdout, unusual
        ones and the names of exceptions to stderr. A share of the functions is augmented: variables have other names,
        and one small change of the code may raise exceptions, so that the error output matters.

    Parameters:
        steps (1 to 4, on request up to 12): number of operations that the function applies one after the other.
        calls (2 to 5, on request up to 10): number of calls.
        domain ("numbers", "strings", "lists"): the type of the function's argument.
        augmented (constructor, 0 to 1, default 0.3): share of augmented functions.
        snippets (constructor): a folder of Python files, or a file of JSON lines with "code", whose scripts are asked
            about instead; see `snippets.load_snippets`. The axes then have no effect.
        distinct (constructor, above 0 to 1): keep the largest set of snippets of which no two overlap by this share.

    Observation:
        Text: the script.

    Actions:
        Text with <stdout></stdout> and <stderr></stderr>, possibly empty, in a fenced block or alone; the last ones
        count. The whole reply is read, unless ``answer_format`` says otherwise.

    Reward:
        1 if both streams are right (lines of stderr in any order), 0 otherwise. With ``graded=True`` two thirds for the
        output and one third by the share of the lines of stderr in both of all lines in either, which is also
        ``info["progress"]``. The reward "error-aware" is the published one.

    Termination:
        After the first answer.

    Source:
        The forward task of CodeBoost (Wang et al., arXiv 2508.05242), on generated scripts.
    """

    default_answer_format = "whole"
    answer_form = "program"
    strips_marks = False
    supplies = frozenset({"output_streams"})
    param_space = ParamSpace(
        [
            IntAxis("steps", 1, 4, limits=(1, 12)),
            IntAxis("calls", 2, 5, limits=(2, 10)),
            ChoiceAxis("domain", tuple(DOMAINS)),
        ]
    )

    def __init__(
        self,
        *,
        graded: bool = False,
        augmented: float = 0.3,
        snippets: str | None = None,
        distinct: float = 1.0,
        **kwargs: Any,
    ):
        super().__init__(**kwargs)
        self.graded, self.augmented = graded, check_share("augmented", augmented)
        self._snippets = () if snippets is None else load_snippets(snippets, check_share("distinct", distinct))
        self.content_identifies = bool(self._snippets)

    def generate(self, rng: np.random.Generator, params: dict[str, Any]) -> Task:
        dice, script = Dice(rng), None
        if self._snippets:
            snippet = dice.one(self._snippets)
            return self._ask(snippet.source, dict(snippet.streams), None)
        while script is None:
            script = draw_script(dice, params["domain"], params["steps"], params["calls"], self.augmented)
        return self._ask(script.source, script.streams() or {}, script)

    def _ask(self, source: str, streams: dict[str, str], script: StreamScript | None) -> Task:
        return Task(
            f"```python\n{source}\n```\nWhat does this script write to stdout and to stderr? Answer with both, "
            "each between its tags, and nothing between the tags of a stream that stays empty, in one block:\n"
            "```\n<stdout>\nfirst line\n</stdout>\n<stderr>\n</stderr>\n```",
            streams,
            solution=fenced(write_streams(streams), ""),
            content=source,
            data=script,
        )

    def verify(self, task: Task, answer: str) -> Verdict:
        given = read_streams(program_in(answer) if "```" in answer or "~~~" in answer else answer)
        if len(given) < len(STREAMS):
            missing = next(name for name in STREAMS if name not in given)
            extras = {"output_streams": {"expected": task.reference, "given": given}}
            return replace(rejected(f"The answer must have a block <{missing}></{missing}>."), extras=extras)
        return judge_streams(given, task.reference, self.graded)

    def criteria(self, task: Task) -> list[str]:
        script: StreamScript | None = task.data
        if script is None:
            return ["It finds every line that the script writes.", "It tells the error output from the output."]
        return [
            *(
                f"It finds the value, or the exception, of {format_call(script.program, call)}."
                for call in script.calls
            ),
            f"It tells for each value whether {script.unusual} holds.",
        ]

    def solution_steps(self, task: Task) -> list[str]:
        """List the value or exception of each call with its stream, and the answer."""
        script: StreamScript | None = task.data
        if script is None:
            return [self.oracle(task)]
        steps = [
            f"{format_call(script.program, line.arguments)} "
            + (f"raises {line.error}" if line.error else f"= {line.value!r}")
            + f": {line.stream}"
            for line in script.trace() or ()
        ]
        return [*steps, self.oracle(task)]

    def solver_cost(self, episode: Task) -> float:
        """Return the length of the script and of the worked solution, in characters."""
        return float(len(episode.content) + sum(map(len, self.solution_steps(episode))))


def write_streams(streams: dict[str, str]) -> str:
    """Write streams as blocks."""
    return "\n".join(
        f"<{name}>\n{text}\n</{name}>" if text else f"<{name}>\n</{name}>" for name, text in streams.items()
    )


def judge_streams(given: dict[str, str], expected: dict[str, str], graded: bool) -> Verdict:
    """Judge both streams: success if both are right; the score is the accuracy over its maximum."""
    score = stream_accuracy(given, expected) / (0.5 * (1 + STDERR_SHARE))
    success = score == 1.0
    wrong = [
        *(["The output is wrong."] if not same_output(given["stdout"], expected["stdout"]) else []),
        *(["The error output is wrong."] if line_overlap(given["stderr"], expected["stderr"]) < 1 else []),
    ]
    return Verdict(
        score,
        success,
        terms={"answer": score if graded else float(success)},
        feedback=" ".join(wrong),
        extras={"output_streams": {"expected": expected, "given": given}},
    )


register("palaestra/StreamPrediction-v0", f"{__name__}:StreamPrediction")
