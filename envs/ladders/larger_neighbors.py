"""palaestra/LargerNeighbors-v0: a rule for two places at a time, which small models learn length by length."""

from __future__ import annotations

from itertools import pairwise

from ..question import Task
from ..registration import register
from .digit_words import DigitRule


class LargerNeighbors(DigitRule):
    """Write the larger digit of each two neighbors in a word.

    Description:
        Like NextDigits-v0, but with two places to find at a time. A player who is right on answers of k digits, and
        guesses the digits beyond, is right on k + 1 with a probability above 1/digits, as the larger of two digits is
        mostly large.

    Parameters:
        length (4 to 40, on request 2 to 100): digits in the answer, the rung of the ladder; the word has one more.
        digits (3 to 8, on request 2 to 8): the largest digit of a word; the smallest is 1.

    Observation:
        Text such as ``For each two neighboring digits of 31244, write the larger one. Answer with these digits
        only.``; with ``prompt="terse"``, ``Larger neighbors: 31244``.

    Actions:
        Text with one digit for each two neighbors, ``3244`` (or apart, ``3 2 4 4``), read in ``answer_format``.

    Reward:
        1 if all digits are right, 0 otherwise.

    Termination:
        After the first answer.

    Source:
        The kind of task is that of NextDigits-v0: Lee et al., "Self-improving transformers overcome easy-to-hard and
        length generalization challenges", arXiv 2502.01612. Made for comparisons of teachers; generated here.
    """

    rule = "Larger neighbors"
    question = "For each two neighboring digits of {word}, write the larger one. Answer with these digits only."

    def word_length(self, length: int) -> int:
        return length + 1

    def apply(self, word: list[int]) -> list[int]:
        return [max(pair) for pair in pairwise(word)]

    def solution_steps(self, task: Task) -> list[str]:
        """List the larger digit of each pair, and the answer."""
        word = [int(digit) for digit in task.content]
        pairs = zip(pairwise(word), self.apply(word), strict=True)
        return [*(f"{a} and {b}: {larger}" for (a, b), larger in pairs), self.oracle(task)]


register("palaestra/LargerNeighbors-v0", f"{__name__}:LargerNeighbors")
