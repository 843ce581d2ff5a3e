"""palaestra/Rephrased-v0: any question asked in other words."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..axes import IntAxis
from ..question import Task
from ..registration import register
from .transform import Transform

OPENINGS = (
    "Here is a question for you.",
    "The following was set as an exercise.",
    "A reader sent in this question.",
    "Somebody needs help with this.",
    "This stood on a sheet of homework.",
)
COURTESIES = (
    "Could you help with it, please?",
    "Please take your time.",
    "Thank you for your help in advance.",
    "It would be kind of you to answer it.",
    "Please answer it with care.",
)
LAYOUTS = (
    "Question:\n{}\nEnd of the question.",
    "---\n{}\n---",
    "<question>\n{}\n</question>",
    '"""\n{}\n"""',
    "[Question]\n{}\n[/Question]",
)
CLOSINGS = (
    "Working may come first, the answer comes last.",
    "What comes last counts as the answer.",
    "First think, then answer.",
    "Only the final answer is judged.",
    "There is one try.",
)
# Words that refer back to the question; an instruction with one of them cannot be moved to the front.
_POINTERS = {"it", "its", "them", "they", "that", "this", "these", "those", "then", "also", "so", "such"}


class Rephrased(Transform):
    """Answer a question that is asked in other words.

    Description:
        The full question of the inner family ``of`` with rewordings that keep its meaning: an opening, a courtesy, a
        layout, a closing; the sentence on the form of the answer may come first. Answers are judged by the inner
        family.

    Parameters:
        changes (1 to 5): the number of rewordings, out of five.
        The axes of the inner family; by default those of palaestra/LinearEquation-v0: size (5 to 50), sides ("one",
        "both"), solution ("integer", "fraction"); size on request from 3 to 10000.

    Observation:
        Text such as ``Somebody needs help with this. Solve 3x + 4 = 19. Answer with an integer.``

    Actions:
        As for the inner family.

    Reward:
        As for the inner family; with the default family, guessing earns 0.115 by chance on the easiest tasks.

    Termination:
        After the first answer.

    Source:
        Templates written here; a check of how far success depends on wording.
    """

    own_axes = (IntAxis("changes", 1, 5),)
    added = 400

    def __init__(self, *, answer_format: str | None = None, **kwargs: Any):
        super().__init__(answer_format=answer_format, **kwargs)
        if answer_format is None:
            self.adopt_answer_format()

    def generate(self, rng: np.random.Generator, params: dict[str, Any]) -> Task:
        task = self.inner.generate(rng, self.inner_params(params))
        return Task(reword(self.inner.prompt_of(task), rng, params["changes"]), task.reference, data=task)


def reword(prompt: str, rng: np.random.Generator, changes: int) -> str:
    """Return ``prompt`` with ``changes`` (1 to 5) of these rewordings: an opening, a courtesy, a layout, a closing, and
    the instruction on the form of the answer moved to the front. The question itself stays.
    """
    *picks, opening, courtesy, layout, closing = rng.random(9).tolist()
    made = sorted(range(5), key=picks.__getitem__)[:changes]
    text = prompt
    if 4 in made:
        text = move_instruction_first(text)
    if 2 in made:
        text = LAYOUTS[int(layout * len(LAYOUTS))].format(text)
    before = [OPENINGS[int(opening * len(OPENINGS))]] if 0 in made else []
    before += [COURTESIES[int(courtesy * len(COURTESIES))]] if 1 in made else []
    after = [CLOSINGS[int(closing * len(CLOSINGS))]] if 3 in made else []
    joint = "\n" if "\n" in text else " "
    return joint.join([*before, text, *after])


def move_instruction_first(prompt: str) -> str:
    """Move the last sentence of ``prompt`` to the front, if it begins with "Answer with" and refers to nothing before
    it."""
    place = prompt.rfind("Answer with ")
    last = prompt[place:]
    single = place > 0 and prompt[place - 1] in " \n" and last.endswith(".") and ". " not in last and "\n" not in last
    if not single or _POINTERS & set(last.lower().replace(",", " ").replace(".", " ").split()):
        return prompt
    return f"{last}{prompt[place - 1]}{prompt[: place - 1]}"


register("palaestra/Rephrased-v0", f"{__name__}:Rephrased")
