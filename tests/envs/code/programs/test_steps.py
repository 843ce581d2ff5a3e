"""Every kind of step: what its words promise, worked out by hand, is what each way to write it does."""

from __future__ import annotations

import ast
from typing import Any

from palaestra.envs import sandbox
from palaestra.envs.code.programs.block_runs import run_blocks
from palaestra.envs.code.programs.grammar import CONDITIONS, KINDS
from palaestra.envs.code.programs.steps import StepKind

# (the words, with constants; what is given; what should come of it)
NUMBERS: list[tuple[str, int, Any]] = [
    ("Add 7 to the number.", -3, 4),
    ("Subtract 7 from the number.", 3, -4),
    ("Subtract the number from 20.", 25, -5),
    ("Multiply the number by 4.", -6, -24),
    ("Multiply the number by 3 and add 5.", -4, -7),
    ("Divide the number by 4, rounding down.", -9, -3),
    ("Replace the number by its remainder modulo 12, which is never negative.", -5, 7),
    ("Replace the number by its square.", -9, 81),
    ("Replace the number by its absolute value, and add 5.", -9, 14),
    ("If the number is even, halve it; otherwise multiply it by 3 and add 5.", -8, -4),
    ("If the number is even, halve it; otherwise multiply it by 3 and add 5.", -7, -16),
    ("If the number is below 10, double it; otherwise subtract 4 from it.", 9, 18),
    ("If the number is below 10, double it; otherwise subtract 4 from it.", 10, 6),
    ("If the number is odd, add 5 to it; otherwise subtract 4 from it.", -3, 2),
    ("If the number is odd, add 5 to it; otherwise subtract 4 from it.", 8, 4),
    ("Move the number into the range from -4 to 30: a smaller one becomes -4, a larger one 30.", -5, -4),
    ("Move the number into the range from -4 to 30: a smaller one becomes -4, a larger one 30.", 31, 30),
    ("Move the number into the range from -4 to 30: a smaller one becomes -4, a larger one 30.", 12, 12),
    ("Round the number down to a multiple of 5.", -7, -10),
    ("Take the sum of the decimal digits of the number, without its sign, times 3.", -407, 33),
    ("Write the decimal digits of the number in reverse order, without its sign, read that as a number, and add 2.",
     -120, 23),
    ("Take the product of the decimal digits of the number that are not 0, without its sign (1 if there are none), "
     "plus 2.", -304, 14),
    ("Take the product of the decimal digits of the number that are not 0, without its sign (1 if there are none), "
     "plus 2.", 0, 3),
    ("Take the sum of the numbers from 1 to 12 that divide the number.", -20, 22),
    ("Take the largest power of 2 that is not above the number, or -3 if the number is below 1.", 0, -3),
    ("Take the largest power of 2 that is not above the number, or -3 if the number is below 1.", 64, 64),
    ("Take the largest power of 2 that is not above the number, or -3 if the number is below 1.", 63, 32),
    ("Divide the number by 3 as long as that leaves no remainder; 0 stays 0.", -54, -2),
    ("Divide the number by 3 as long as that leaves no remainder; 0 stays 0.", 0, 0),
    ("Replace the number by its greatest common divisor with 36, plus 3; the divisor of 0 and 36 is 36.", -27, 12),
    ("Replace the number by its greatest common divisor with 36, plus 3; the divisor of 0 and 36 is 36.", 0, 39),
    ("Beginning with the number, add 5 until the result is above 20; a number above 20 stays as it is.", 10, 25),
    ("Beginning with the number, add 5 until the result is above 20; a number above 20 stays as it is.", 21, 21),
    ("List the decimal digits of the number from left to right, without its sign.", -507, [5, 0, 7]),
    ("List the remainders of the number modulo 2, 3, and so on up to 5.", 11, [1, 2, 3, 1]),
    ("List 3 numbers: the number, and each time 4 more than before.", -5, [-5, -1, 3]),
    ("List the multiples of the number by 1, 2, and so on up to 4.", -2, [-2, -4, -6, -8]),
    ("Write the number, without its sign, in base 3; 0 is written as 0.", -11, "102"),
    ("Write the number, without its sign, in base 3; 0 is written as 0.", 0, "0"),
]  # fmt: skip
LISTS: list[tuple[str, list[int], Any]] = [
    ("Keep only the numbers that are above 3.", [3, 4, -9, 5], [4, 5]),
    ("Keep only the numbers that are below 7.", [7, 6, -1, 9], [6, -1]),
    ("Keep only the numbers that are even.", [3, -4, 0, 5], [-4, 0]),
    ("Keep only the numbers that are odd.", [3, -4, 0, -5], [3, -5]),
    ("Keep only the numbers that are different from 3.", [3, 4, 3], [4]),
    ("Keep only the numbers that are not divisible by 3.", [3, 4, 0, -6, 5], [4, 5]),
    ("Add 4 to each number.", [1, -9], [5, -5]),
    ("Subtract each number from 9.", [1, 10], [8, -1]),
    ("Multiply each number by 3.", [1, -2], [3, -6]),
    ("Replace each number by its square.", [3, -2], [9, 4]),
    ("Replace each number by its remainder modulo 4, never negative.", [9, -1, 4], [1, 3, 0]),
    ("Divide each number by 2, rounding down.", [5, -5], [2, -3]),
    ("Replace each number above 6 by 6.", [5, 6, 7, -8], [5, 6, 6, -8]),
    ("Replace each number by its absolute value.", [5, -6], [5, 6]),
    ("Replace each negative number by 4.", [5, -6, 0], [5, 4, 0]),
    ("Halve each even number, and add 5 to each odd one.", [4, 3, -2, -3], [2, 8, -1, 2]),
    ("Reverse the list.", [1, 2, 3], [3, 2, 1]),
    ("Sort the list in increasing order.", [2, -3, 2, 0], [-3, 0, 2, 2]),
    ("Sort the list in decreasing order.", [2, -3, 2, 0], [2, 2, 0, -3]),
    ("Keep each number only where it comes first.", [2, 1, 2, 1, 3], [2, 1, 3]),
    ("Replace each number by the sum of it and all numbers before it.", [2, -1, 5], [2, 1, 6]),
    ("Replace each number by the largest of it and all numbers before it.", [-2, -3, 5, 4], [-2, -2, 5, 5]),
    ("List how much each number exceeds the one before it; the list gets one shorter, and an empty one stays so.",
     [4, 1, 6], [-3, 5]),
    ("List the sums of neighbours: first and second, second and third, and so on; the list gets one shorter, and an "
     "empty one stays so.", [4, 1, 6], [5, 7]),
    ("Remove the first 2 numbers, or all if there are fewer.", [4, 1, 6], [6]),
    ("Remove the first 2 numbers, or all if there are fewer.", [4], []),
    ("Remove the last 2 numbers, or all if there are fewer.", [4, 1, 6], [4]),
    ("Remove the last 2 numbers, or all if there are fewer.", [4], []),
    ("Keep only the first 2 numbers, or all if there are fewer.", [4, 1, 6], [4, 1]),
    ("Keep only the last 2 numbers, or all if there are fewer.", [4, 1, 6], [1, 6]),
    ("Keep only the last 2 numbers, or all if there are fewer.", [4], [4]),
    ("Move the first number to the end, unless the list is empty.", [4, 1, 6], [1, 6, 4]),
    ("Move the last number to the front, unless the list is empty.", [4, 1, 6], [6, 4, 1]),
    ("Keep every second number, beginning with the first.", [4, 1, 6, 0, 7], [4, 6, 7]),
    ("Keep every second number, beginning with the second.", [4, 1, 6, 0, 7], [1, 0]),
    ("Add to each number its position; the first position is 2.", [4, 1, 6], [6, 4, 10]),
    ("Multiply each number by its position; the first position is 2.", [4, 1, 6], [8, 3, 24]),
    ("Replace each number by how often it is in the list.", [4, 1, 4], [2, 1, 2]),
    ("Keep only the numbers that are larger than the one before them; the first number is kept.",
     [4, 1, 3, 3, 5], [4, 3, 5]),
    ("Keep only the numbers that are larger than all before them; the first number is kept.", [4, 1, 4, 5, 6, 2],
     [4, 5, 6]),
    ("Swap the first number with the second, the third with the fourth, and so on; a last one alone stays.",
     [1, 2, 3, 4, 5], [2, 1, 4, 3, 5]),
    ("Put the reversed list after the list.", [1, 2, 3], [1, 2, 3, 3, 2, 1]),
    ("Write each number twice in a row.", [1, 2], [1, 1, 2, 2]),
    ("Put all numbers below 4 first and then the others, both in the order in which they stand.", [5, 1, 4, 3],
     [1, 3, 5, 4]),
    ("Take the sum of the numbers (0 if there are none), plus 3.", [4, -1], 6),
    ("Take the sum of the numbers (0 if there are none), plus 3.", [], 3),
    ("Take the sum of the numbers above 3 (0 if there are none).", [3, 4, 9, -5], 13),
    ("Subtract the second number from the first, add the third, subtract the fourth, and so on (0 for an empty list).",
     [5, 2, 4, 1], 6),
    ("Take the largest number, or -12 if there is none.", [-5, -2, -9], -2),
    ("Take the largest number, or -12 if there is none.", [], -12),
    ("Take the smallest number, or 40 if there is none.", [-5, -2, -9], -9),
    ("Take the smallest number, or 40 if there is none.", [], 40),
    ("Take the difference between the largest and the smallest number, or -7 if the list is empty.", [-5, 2, 0], 7),
    ("Take the difference between the largest and the smallest number, or -7 if the list is empty.", [], -7),
    ("Take the sum of the squares of the numbers (0 if there are none).", [-3, 2], 13),
    ("Add up each number times its position, the first position being 2 (0 for an empty list).", [5, -1, 2], 15),
    ("Beginning with 3, go through the list: multiply by 2 and add the number each time.", [1, -4], 10),
    ("Take the second-largest of the different numbers in the list, or -15 if there are fewer than two.", [9, 4, 9],
     4),
    ("Take the second-largest of the different numbers in the list, or -15 if there are fewer than two.", [9, 9], -15),
    ("Count the pairs of places, one before the other, of which the earlier number is larger, and add 5.",
     [3, 1, 2, 2], 8),
    ("Join the numbers into a text, with a hyphen between two of them.", [3, -1, 2], "3--1-2"),
]  # fmt: skip
TEXTS: list[tuple[str, str, Any]] = [
    ("Reverse the text.", "ab c", "c ba"),
    ("Write all letters in upper case.", "aB1", "AB1"),
    ("Write all letters in lower case.", "aB1", "ab1"),
    ("Write lower-case letters in upper case and upper-case letters in lower case.", "aB1 c", "Ab1 C"),
    ("Remove the vowels (a, e, i, o, u, in either case).", "Ease my Uno", "s my n"),
    ("Keep only the vowels (a, e, i, o, u, in either case).", "Ease my Uno", "EaeUo"),
    ("Keep only letters and digits.", "a-1 *B", "a1B"),
    ("Remove the digits.", "a1 22b", "a b"),
    ("Replace each space by a hyphen.", "a b c", "a-b-c"),
    ("Replace each vowel (a, e, i, o, u, in either case) by an asterisk.", "Ease my", "**s* my"),
    ("Write each character 3 times in a row.", "ab", "aaabbb"),
    ("Replace each lower-case letter by the one 3 places later in the alphabet, beginning again with a after z; all "
     "else stays.", "ay zB1", "db cB1"),
    ("Keep each character only where it comes first.", "abacab", "abc"),
    ("Keep a character only if it differs from the one before it.", "aabbba", "aba"),
    ("Keep every second character, beginning with the first.", "abcde", "ace"),
    ("Keep only the first 3 characters, or all if there are fewer.", "abcde", "abc"),
    ("Keep only the last 3 characters, or all if there are fewer.", "abcde", "cde"),
    ("Keep only the last 3 characters, or all if there are fewer.", "ab", "ab"),
    ("Remove the first 3 characters, or all if there are fewer.", "abcde", "de"),
    ("Move the first 2 characters to the end.", "abcde", "cdeab"),
    ("Put the reversed text after the text.", "abc", "abccba"),
    ("Sort the characters by their character codes.", "bA a1", " 1Aab"),
    ("Write the characters at even positions (the first has position 0) in upper case and the others in lower case.",
     "abCD", "AbCd"),
    ("Replace each run of equal characters by the character and the length of the run.", "aaab", "a3b1"),
    ("Replace each run of equal characters by the character and the length of the run.", "", ""),
    ("Swap the first character with the second, the third with the fourth, and so on; a last one alone stays.",
     "abcde", "badce"),
    ("Multiply the length of the text by 4.", "ab c", 16),
    ("Count the vowels (a, e, i, o, u, in either case) and multiply the count by 4.", "Ease my", 12),
    ("Count the different characters, and add 4.", "abab c", 8),
    ("Add up the digits in the text (0 if there are none), and add 4.", "a1 b92", 16),
    ("Add up the places of the letters in the alphabet, a and A being 1 and z and Z being 26 (0 if there are none).",
     "aZ 9", 27),
    ("Count 3 for each upper-case letter and 1 for each other character, and add 5.", "aB 9", 11),
    ("Split the text into its words, which are separated by spaces.", "ab c", ["ab", "c"]),
    ("List the lengths of the words of the text, which are separated by spaces.", "ab c", [2, 1]),
    ("List the places of the letters in the alphabet, a and A being 1; all else is left out.", "aZ 9b", [1, 26, 2]),
]  # fmt: skip
LISTS_OF_WORDS: list[tuple[str, list[str], Any]] = [
    ("Reverse the order of the words.", ["ab", "c"], ["c", "ab"]),
    ("Sort the words by their character codes.", ["b", "a", "B"], ["B", "a", "b"]),
    ("Sort the words by length, the shortest first; those of equal length stay in order.", ["abc", "b", "a"],
     ["b", "a", "abc"]),
    ("Keep only the words with more than 2 characters.", ["ab", "abc"], ["abc"]),
    ("Reverse each word.", ["ab", "cd"], ["ba", "dc"]),
    ("Write the first character of each word in upper case and the others in lower case.", ["aB", "1C"], ["Ab", "1c"]),
    ("Keep only the words that begin with a consonant or a digit, which is all but a, e, i, o, u in either case.",
     ["ab", "Eb", "ba", "1"], ["ba", "1"]),
    ("Put after each word its number of characters, as in ab2.", ["abc", "d"], ["abc3", "d1"]),
    ("Keep only the first 2 characters of each word.", ["abc", "d"], ["ab", "d"]),
    ("Keep every second word, beginning with the first.", ["a", "b", "c"], ["a", "c"]),
    ("Join the words into a text, with a hyphen between two of them.", ["ab", "c"], "ab-c"),
    ("Join the first characters of the words into a text.", ["ab", "c"], "ac"),
    ("Take the longest word, the first of them if there are several, or the text none if the list is empty.",
     ["a", "bc", "de"], "bc"),
    ("Take the longest word, the first of them if there are several, or the text none if the list is empty.", [],
     "none"),
    ("Add up the squares of the lengths of the words (0 if there are none).", ["abc", "d"], 10),
    ("Multiply the number of words by 5, and add 4.", ["a", "b"], 14),
    ("List the lengths of the words.", ["abc", "d"], [3, 1]),
]  # fmt: skip
BY_HAND = {"int": NUMBERS, "list": LISTS, "str": TEXTS, "words": LISTS_OF_WORDS}
CONDITIONS_BY_HAND: list[tuple[str, Any, bool]] = [
    ("the number is above 5", 5, False),
    ("the number is above 5", 6, True),
    ("the number is at most 5", 5, True),
    ("the number is at most 5", 6, False),
    ("the number is even", -4, True),
    ("the number is even", -3, False),
    ("the number is divisible by 3", -6, True),
    ("the number is divisible by 3", 7, False),
    ("the last decimal digit of the number is above 4", -15, True),
    ("the last decimal digit of the number is above 4", 94, False),
    ("the list has more than 2 numbers", [1, 2], False),
    ("the list has more than 2 numbers", [1, 2, 3], True),
    ("the list has an even number of items", [1, 2], True),
    ("the list has an even number of items", [1], False),
    ("the sum of the list (0 if it is empty) is above 5", [1, 5], True),
    ("the sum of the list (0 if it is empty) is above 5", [5], False),
    ("the sum of the list (0 if it is empty) is even", [], True),
    ("the sum of the list (0 if it is empty) is even", [2, 1], False),
    ("the list contains a number above 7", [1, 8], True),
    ("the list contains a number above 7", [7], False),
    ("no number is twice in the list", [1, 2], True),
    ("no number is twice in the list", [1, 2, 1], False),
    ("the text has more than 6 characters", "abc de", False),
    ("the text has more than 6 characters", "abc def", True),
    ("the text contains a digit", "ab1", True),
    ("the text contains a digit", "ab", False),
    ("the text contains a space", "a b", True),
    ("the text contains a space", "ab", False),
    ("the text begins with an upper-case letter", "Ab", True),
    ("the text begins with an upper-case letter", "", False),
    ("there are more than 1 words", ["a"], False),
    ("there are more than 1 words", ["a", "b"], True),
    ("a word has more than 4 characters", ["abcde", "a"], True),
    ("a word has more than 4 characters", ["abcd"], False),
]


def codes(kind: StepKind, c: int | None, d: int | None) -> list[str]:
    c_1 = None if c is None else c + 1
    return [template.format(x="given", y="found", c=c, d=d, c_1=c_1) + "\nreturn found" for template in kind.codes]


def constants_for(kind: StepKind) -> list[tuple[int | None, int | None]]:
    return [(c, d) for c in (kind.c or [None]) for d in (kind.d or [None])]


def stated() -> list[tuple[StepKind, int | None, int | None, Any, Any]]:
    """Each case worked out by hand, with the kind and the constants that its words name."""
    found = []
    for kind in KINDS:
        said = {kind.words.format(c=c, d=d): (c, d) for c, d in constants_for(kind)}
        found += [(kind, *said[words], given, wanted) for words, given, wanted in BY_HAND[kind.takes] if words in said]
    return found


def test_there_are_many_kinds_and_each_has_a_case_worked_out_by_hand():
    assert len(KINDS) == 129
    assert {kind.words for kind, *_ in stated()} == {kind.words for kind in KINDS}
    assert len(stated()) == sum(map(len, BY_HAND.values()))


def test_each_way_to_write_a_step_does_what_its_words_say():
    for kind, c, d, given, wanted in stated():
        for code in codes(kind, c, d):
            assert run_blocks([code], {"given": given}).value == wanted, code


def test_conditions_hold_where_their_words_say():
    used = set()
    for words, given, holds in CONDITIONS_BY_HAND:
        for condition in CONDITIONS:
            for c in condition.c or [None]:
                if condition.words.format(c=c) == words:
                    used.add(condition)
                    assert (
                        run_blocks([f"return {condition.code.format(x='given', c=c)}"], {"given": given}).value is holds
                    )
    assert used == set(CONDITIONS)


GIVEN: dict[str, list[Any]] = {
    "int": [0, 1, -1, 2, 7, 10, -10, 36, 99, 128, -250, 407, 1000],
    "list": [[], [3], [0, 0], [-5, 2, 9], [4, 4, 1, 1, 4], [15, -9, 8, 7, 6, 3, 2, 12]],
    "str": ["", "a", "Ab 12", "aabbB 9 zz", "HELLO there 10 Uno"],
    "words": [[], ["a"], ["bb", "Aa", "bb"], ["one", "TWO2", "E", "zebra", "9"]],
}


def test_all_ways_to_write_a_step_agree():
    for kind in KINDS:
        for c, d in constants_for(kind)[::5]:
            for given in GIVEN[kind.takes]:
                outcomes = [run_blocks([code], {"given": given}) for code in codes(kind, c, d)]
                assert {outcome.error for outcome in outcomes} == {""}
                assert all(outcome.value == outcomes[0].value for outcome in outcomes), (kind.words, given)


def test_code_is_written_as_python_writes_it():
    for kind in KINDS:
        c, d = constants_for(kind)[0]
        for code in codes(kind, c, d):
            assert ast.unparse(ast.parse(code)) == code


def test_python_does_the_same_with_every_step():
    ways = [
        (kind, code) for kind in KINDS for c, d in (constants_for(kind)[0], constants_for(kind)[-1])
        for code in codes(kind, c, d)
    ]  # fmt: skip
    indented = ["    " + code.replace("\n", "\n    ") for _, code in ways]
    functions = "\n".join(f"def f{place}(given):\n{code}" for place, code in enumerate(indented))
    program = f"{functions}\ndef every(given):\n    return [globals()[f'f{{i}}'](one) for i, one in given]\n"
    jobs = [(place, given) for place, (kind, _) in enumerate(ways) for given in GIVEN[kind.takes]]
    wanted = [run_blocks([ways[place][1]], {"given": given}).value for place, given in jobs]
    assert len(jobs) > 2000
    judgement = sandbox.run_tests(program, [sandbox.CallTest("every", [jobs], wanted, public=True)])
    assert judgement.success, judgement.feedback
