"""palaestra/EveryOtherDigit-v0: copying with steps of two, which small models learn length by length."""

from __future__ import annotations

from ..question import Task
from ..registration import register
from .digit_words import DigitRule


class EveryOtherDigit(DigitRule):
    """Write the first digit of a word, the third, the fifth, and so on.

    Description:
        As NextDigits-v0, with the places of a digit and of its copy further apart the longer the word is. A player who
        is right on answers of k digits, and guesses what is beyond, is right on k + 1 with probability 1/digits.

    Parameters:
        length (4 to 40; open from 2 to 100): digits in the answer, the rung of the ladder; the word has twice as many.
        digits (3 to 8; open from 2 to 8): the word has digits from 1 to this one.

    Observation:
        Text such as ``Every other digit: 31244213``.

    Actions:
        Text with one digit for each two of the word, ``3241`` (or apart, ``3 2 4 1``), read in ``answer_format``.

    Reward:
        1 if all digits are right, 0 otherwise.

    Termination:
        After the first answer.

    Source:
        The kind of task is that of NextDigits-v0: Lee et al., "Self-improving transformers overcome easy-to-hard and
        length generalization challenges", arXiv 2502.01612. Made for comparisons of teachers; generated here.
    """

    rule = "Every other digit"

    def word_length(self, length: int) -> int:
        return 2 * length

    def apply(self, word: list[int]) -> list[int]:
        return word[::2]

    def solution_steps(self, task: Task) -> list[str]:
        """Each two digits and the one that is written, and the answer."""
        word = task.content
        pairs = zip(word[::2], word[1::2], strict=True)
        return [*(f"of {first}{second}: {first}" for first, second in pairs), self.oracle(task)]


register("palaestra/EveryOtherDigit-v0", f"{__name__}:EveryOtherDigit")
