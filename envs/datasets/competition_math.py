r"""palaestra/MATH-v0: competition problems with answers in closed form, from any source in the layout of MATH."""

from __future__ import annotations

import importlib.util
import re
from typing import Any

import numpy as np

from ...errors import MissingExtra
from ...rewards import Verdict, verify
from ...rewards.answers import Form
from ...rewards.answers.numbers import find_units, read_number
from ...rewards.verifiers.registry import CORRECT
from ...rewards.verifiers.sequence import ListError, split_elements
from ..axes import Axis, FloatAxis, IntAxis
from ..question import Task
from ..registration import register
from .collection import Collection
from .layouts import MATH as LAYOUT
from .layouts import Item
from .questions import DatasetQuestion

# Questions that state the order of their several answers.
_ORDERED = re.compile(r"\bin [a-z ]{0,30}\border\b|\b(?:a|de)scending\b|\brespectively\b", re.IGNORECASE)
_JOINED = re.compile(r"\b(?:or|and)\b|\\pm")
_EXAMPLES = ("\\frac{7}{9}", "7/9"), ("\\sqrt{23}", "sqrt(23)")


class MATH(DatasetQuestion):
    r"""Solve a competition problem of a data set in the layout of MATH.

    Description:
        Questions come from ``source``; without one, from a small set written for this package. A record has a
        ``problem``, a ``level`` ("Level 3" or 3), and a ``solution`` with the answer in ``\boxed{}``, or a separate
        ``answer`` as in MATH-500. Records whose answer cannot be read as mathematics are left out, with one warning
        that counts them.

    Parameters:
        level (1 to 5): the level of the record. With a custom ``source``, the range from its lowest to its highest
            level; a level without problems draws from the nearest level with some.
        length (0.0 to 1.0): draws from one half of a level's problems, 0 from the half with the shortest text and
            worked solution, 1 with the longest.

    Observation:
        The problem, in LaTeX, and the form of the answer.

    Actions:
        Text with one value or expression, in LaTeX or plain, read in ``answer_format`` and compared by mathematical
        value with the verifier "math": ``\frac12``, ``1/2`` and ``0.5`` are the same. The order of several answers does
        not count unless the problem asks for one. A unit may be left out, but must not be wrong. The argument
        ``policy`` decides which other differences are accepted.

    Reward:
        1 for an answer equal to the record's, 0 otherwise.

    Termination:
        After the first answer.

    Source:
        The layout: Hendrycks et al., Measuring Mathematical Problem Solving With the MATH Dataset (arXiv 2103.03874),
        on the hub EleutherAI/hendrycks_math and HuggingFaceH4/MATH-500. The problems that come with the package are its
        own. Arguments ``source``, ``part`` and ``config``: see `DatasetQuestion`. Needs the extra [math].

    Args:
        policy: how forgiving the verifier "math" is: "dataset", as references and answers of data sets are written, or
            "strict"; `palaestra.rewards.verifiers.mathematics.verifier.verify_math` says what each accepts.
        **kwargs: as for `DatasetQuestion`.
    """

    layout = LAYOUT
    built_in = "math.jsonl"
    rung_axis = "level"

    def __init__(self, *, policy: str = "dataset", **kwargs: Any):
        if importlib.util.find_spec("sympy") is None:
            raise MissingExtra("palaestra/MATH-v0", "math")
        # Import the verifier only when it is needed.
        from ...rewards.verifiers.mathematics.leniencies import make_leniencies

        make_leniencies(policy, {})  # or an error that names the policies there are
        self.policy = policy
        super().__init__(**kwargs)

    def axes_of(self, collection: Collection) -> list[Axis]:
        return [IntAxis("level", *collection.rungs), FloatAxis("length", 0.0, 1.0)]

    def task(self, item: Item, rng: np.random.Generator, params: dict[str, Any]) -> Task:
        latex, plain = next(pair for pair in _EXAMPLES if item.answer not in pair)
        return Task(
            f"{item.question}\nAnswer with the exact value or expression alone, in LaTeX or as plain text, such as "
            f"{latex} or {plain}.",
            item.answer,
            data=item,
        )

    def form_of(self, task: Task) -> Form:
        """Return the form "values" if the reference lists several values, else "line"."""
        try:
            several = len(split_elements(task.reference)) > 1 or _JOINED.search(task.reference)
            return "values" if several else "line"
        except ListError:
            return "line"

    def verify(self, task: Task, answer: str) -> Verdict:
        from ...rewards.verifiers.mathematics import leniencies
        from ...rewards.verifiers.mathematics.tree import Quantity

        question, reference = task.data.question, task.reference
        ordered = bool(_ORDERED.search(question))
        # The reference's unit may be left out; a unit that the reference lacks is wrong unless the question asks for
        # it.
        value = leniencies.read_under(reference, leniencies.make_leniencies(self.policy, {}), is_reference=True)
        # A multiple of a variable such as ``3s^2`` is doubtful.
        units = "optional" if isinstance(value, Quantity) and not value.doubtful else "required"
        verdict = verify("math", answer, reference, ordered=ordered, units=units, policy=self.policy)
        if verdict.success:
            return verdict
        asked = find_units(question)
        amounts = read_number(answer, asked), read_number(reference, asked)
        if amounts == (None, None):
            return verdict
        given, gold = (text if amount is None else str(amount) for text, amount in zip((answer, reference), amounts))
        return CORRECT if verify("math", given, gold, policy=self.policy).success else verdict


register("palaestra/MATH-v0", f"{__name__}:MATH")
