"""palaestra/FunctionCalls-v0: call the tools that a request needs, with the right arguments, all in one reply."""

from __future__ import annotations

import json
from typing import Any, ClassVar

import numpy as np

from ...checks import check_number
from ...rewards import Verdict
from ...rewards.verifiers.tool_calls import check_calls
from ..axes import IntAxis
from ..param_space import ParamSpace
from ..question import Question, Task
from ..registration import register
from .offered_tools import TOOLS

NONE = "None of the tools can do that."
FORMAT = (
    "Think first, between <think> and </think>. Then write the calls between <tool_call> and </tool_call>, one a line, "
    'each as JSON such as {"name": "a_tool", "parameters": {"x": 1}}. If no tool serves the request, write an answer '
    "between <response> and </response> instead."
)


class FunctionCalls(Question):
    """Call the tools that serve a request.

    Description:
        A prompt offers tools, with the types of their parameters, and asks for one thing or several. Each is served by
        one call; the arguments stand in the request. Other tools are near at hand: an alarm and a timer, weather and
        forecast. Nothing is called in truth: the calls are compared with the right ones, in any order.

    Parameters:
        calls (1 to 4, on request up to 8): number of calls that the request needs.
        tools (4 to 10, on request 4 to 14): number of tools on offer.

    Observation:
        Text: the tools as lines of JSON, the form of the reply, and the request.

    Actions:
        Text with the calls as JSON or in the syntax of Python, alone or in ``<tool_call>...</tool_call>``.

    Reward:
        1 for the right calls. Otherwise 0; the score of the names, parameters and values that are right is in
        ``info["progress"]``, and the reward ``toolrl`` pays it.

    Termination:
        After the first reply.

    Source:
        ToolRL, arXiv 2504.13958, whose reward the extra ``expected_calls`` feeds; the single-turn calls of BFCL.
        Generated here.

    Args:
        unserved: share of requests in [0, 1] that no tool on offer serves, whose right answer calls none.
        **kwargs: as for every environment.
    """

    param_space = ParamSpace([IntAxis("calls", 1, 4, limits=(1, 8)), IntAxis("tools", 4, 10, limits=(4, len(TOOLS)))])
    verifier = "toolcall"
    answer_form = "program"
    default_answer_format = "whole"
    strips_marks = False
    works_in_steps = False
    supplies = Question.supplies | {"expected_calls"}
    measured: ClassVar = {"longest_text": 4_000}

    def __init__(self, *, unserved: float = 0.0, **kwargs: Any):
        self.unserved = check_number("unserved", unserved, 0.0, 1.0)
        super().__init__(**kwargs)

    def generate(self, rng: np.random.Generator, params: dict[str, Any]) -> Task:
        drawn = [TOOLS[n] for n in rng.permutation(len(TOOLS))[: params["tools"]].tolist()]
        served = not self.unserved or rng.random() >= self.unserved
        # An unserved request is for a tool that is then not on offer.
        wanted, offered = (drawn, drawn) if served else (drawn[:1], drawn[1:])
        calls: list[dict[str, Any]] = []
        requests: list[str] = []
        while len(calls) < (params["calls"] if served else 1):
            tool = wanted[int(rng.integers(len(wanted)))]
            values = {name: draw(rng) for name, (_, draw) in tool.parameters.items()}
            call = {"name": tool.name, "parameters": values}
            if call not in calls:
                calls.append(call)
                shown = {
                    name: json.dumps(value) if isinstance(value, bool) else value for name, value in values.items()
                }
                requests.append(tool.request.format(**shown))
        order = rng.permutation(len(offered)).tolist()
        tools = "\n".join(json.dumps(offered[n].schema()) for n in order)
        request = " ".join(requests)
        thought = "<think>The request names the tools and their arguments.</think>"
        body = "\n".join(map(json.dumps, calls))
        solution = f"{thought}\n<tool_call>\n{body}\n</tool_call>"
        return Task(
            f"Tools:\n{tools}\n\n{FORMAT}\n\nRequest: {request}",
            calls if served else [],
            solution=solution if served else f"{thought}\n<response>{NONE}</response>",
            terse=f"{tools}\n{request}",
        )

    def verify(self, task: Task, answer: str) -> Verdict:
        verdict = super().verify(task, answer)
        return (
            verdict
            if verdict.malformed
            else Verdict(
                verdict.score, verdict.success, terms={"answer": float(verdict.success)}, feedback=verdict.feedback
            )
        )

    def compute_extra(self, subject: Task, name: str) -> Any:
        """Compute an extra (see `episode.extra`); "expected_calls" are the right calls."""
        return check_calls(subject.reference) if name == "expected_calls" else super().compute_extra(subject, name)


register("palaestra/FunctionCalls-v0", f"{__name__}:FunctionCalls")
