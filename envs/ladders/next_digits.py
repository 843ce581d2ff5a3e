"""palaestra/NextDigits-v0: a simple rule for words of any length, which small models learn length by length."""

from __future__ import annotations

from ..question import Task
from ..registration import register
from .digit_words import DigitRule


class NextDigits(DigitRule):
    """Replace each digit of a word by the next one.

    Description:
        The rule is the same everywhere; what is difficult for a small model is to find its place in a longer word than
        it has practised. A player who is right on words of k digits, and guesses the digits beyond, is right on k + 1
        with probability 1/digits, on k + 2 with 1/digits**2, and so on. The tiny model of ``palaestra bench ladders
        NextDigits``, warmed up on solutions of 2 to 4 digits and guesses at longer words, is right on 99 % of 4 digits,
        25 % of 5 (all groups of 16 with mixed outcomes), 5 % of 6 and 1 % of 7.

    Parameters:
        length (4 to 40, on request 2 to 100): digits in the word, the rung of the ladder.
        digits (3 to 8, on request 2 to 8): the largest digit of a word; the smallest is 1.

    Observation:
        Text such as ``Replace each digit of 31244 by the next higher one. Answer with the digits only.``; with
        ``prompt="terse"``, ``Next digits: 31244``.

    Actions:
        Text with one digit for each digit of the word, ``42355`` (or apart, ``4 2 3 5 5``), read in ``answer_format``.

    Reward:
        1 if all digits are right, 0 otherwise.

    Termination:
        After the first answer.

    Source:
        Tasks whose answer can be read off place by place, and which transformers still have to learn length by length:
        Lee et al., "Self-improving transformers overcome easy-to-hard and length generalization challenges", arXiv
        2502.01612. Made for comparisons of teachers; generated here.
    """

    rule = "Next digits"
    question = "Replace each digit of {word} by the next higher one. Answer with the digits only."

    def apply(self, word: list[int]) -> list[int]:
        return [digit + 1 for digit in word]

    def solution_steps(self, task: Task) -> list[str]:
        """List the next digit of each digit that may occur, and the answer."""
        return [*(f"{digit} becomes {digit + 1}" for digit in range(1, task.data + 1)), self.oracle(task)]


register("palaestra/NextDigits-v0", f"{__name__}:NextDigits")
