"""Steps that take a text, or a list of words."""

from __future__ import annotations

from .steps import INTEGER, LIST, TEXT, WORDS, Condition, StepKind

_EACH = "{y} = ''\nfor v in {x}:\n    "


def _to_text(words: str, name: str, *codes: str, c: range = range(0)) -> StepKind:
    return StepKind(TEXT, TEXT, words, name, codes, c)


def _text_to_number(words: str, name: str, *codes: str, c: range = range(0)) -> StepKind:
    return StepKind(TEXT, INTEGER, words, name, codes, c)


def _to_words(words: str, name: str, *codes: str, c: range = range(0)) -> StepKind:
    return StepKind(WORDS, WORDS, words, name, codes, c)


def _keep_where(words: str, test: str) -> StepKind:
    loop = _EACH + f"if {test}:\n        {{y}} += v"
    return _to_text(words, "kept", f"{{y}} = ''.join((v for v in {{x}} if {test}))", loop)


TEXT_STEPS = (
    _to_text("Reverse the text.", "turned", "{y} = {x}[::-1]", _EACH + "{y} = v + {y}"),
    _to_text("Write all letters in upper case.", "loud", "{y} = {x}.upper()"),
    _to_text("Write all letters in lower case.", "quiet", "{y} = {x}.lower()"),
    _to_text(
        "Write lower-case letters in upper case and upper-case letters in lower case.",
        *("swapped", "{y} = {x}.swapcase()"),
        _EACH + "if v.islower():\n        {y} += v.upper()\n    else:\n        {y} += v.lower()",
    ),
    _keep_where("Remove the vowels (a, e, i, o, u, in either case).", "v not in 'aeiouAEIOU'"),
    _keep_where("Keep only the vowels (a, e, i, o, u, in either case).", "v.lower() in 'aeiou'"),
    _keep_where("Keep only letters and digits.", "v.isalnum()"),
    _keep_where("Remove the digits.", "not v.isdigit()"),
    _to_text(
        "Replace each space by a hyphen.",
        *("dashed", "{y} = {x}.replace(' ', '-')"),
        _EACH + "if v == ' ':\n        {y} += '-'\n    else:\n        {y} += v",
    ),
    _to_text(
        "Replace each vowel (a, e, i, o, u, in either case) by an asterisk.",
        *("masked", "{y} = ''.join(('*' if v in 'aeiouAEIOU' else v for v in {x}))"),
        _EACH + "if v.lower() in 'aeiou':\n        {y} += '*'\n    else:\n        {y} += v",
    ),
    _to_text(
        "Write each character {c} times in a row.",
        *("stretched", _EACH + "{y} += v * {c}", "{y} = ''.join((v * {c} for v in {x}))"),
        c=range(2, 4),
    ),
    _to_text(
        "Replace each lower-case letter by the one {c} places later in the alphabet, beginning again with a after z; "
        "all else stays.",
        *(
            "coded",
            _EACH + "if 'a' <= v <= 'z':\n        {y} += chr((ord(v) - ord('a') + {c}) % 26 + ord('a'))\n"
            "    else:\n        {y} += v",
        ),
        c=range(1, 14),
    ),
    _to_text(
        "Keep each character only where it comes first.",
        *("unique", _EACH + "if v not in {y}:\n        {y} += v"),
    ),
    _to_text(
        "Keep a character only if it differs from the one before it.",
        *(
            "thinned",
            "{y} = {x}[:1]\nfor i in range(1, len({x})):\n    if {x}[i] != {x}[i - 1]:\n        {y} += {x}[i]",
        ),
    ),
    _to_text("Keep every second character, beginning with the first.", "spaced", "{y} = {x}[::2]"),
    _to_text(
        "Keep only the first {c} characters, or all if there are fewer.", "head", "{y} = {x}[:{c}]", c=range(3, 9)
    ),
    _to_text(
        "Keep only the last {c} characters, or all if there are fewer.", "tail", "{y} = {x}[-{c}:]", c=range(3, 9)
    ),
    _to_text(
        "Remove the first {c} characters, or all if there are fewer.", "remaining", "{y} = {x}[{c}:]", c=range(1, 4)
    ),
    _to_text("Move the first {c} characters to the end.", "cycled", "{y} = {x}[{c}:] + {x}[:{c}]", c=range(1, 4)),
    _to_text("Put the reversed text after the text.", "doubled", "{y} = {x} + {x}[::-1]"),
    _to_text(
        "Sort the characters by their character codes.",
        *("ordered", "{y} = ''.join(sorted({x}))"),
    ),
    _to_text(
        "Write the characters at even positions (the first has position 0) in upper case and the others in lower case.",
        *(
            "waved",
            "{y} = ''\nfor i, v in enumerate({x}):\n    if i % 2 == 0:\n        {y} += v.upper()\n"
            "    else:\n        {y} += v.lower()",
        ),
    ),
    _to_text(
        "Replace each run of equal characters by the character and the length of the run.",
        *(
            "packed",
            "{y} = ''\ni = 0\nwhile i < len({x}):\n    w = i\n    while w < len({x}) and {x}[w] == {x}[i]:\n"
            "        w += 1\n    {y} += {x}[i] + str(w - i)\n    i = w",
        ),
    ),
    _to_text(
        "Swap the first character with the second, the third with the fourth, and so on; a last one alone stays.",
        *("crossed", "{y} = ''\nfor i in range(0, len({x}), 2):\n    {y} += {x}[i:i + 2][::-1]"),
    ),
    _text_to_number("Multiply the length of the text by {c}.", "length", "{y} = len({x}) * {c}", c=range(3, 12)),
    _text_to_number(
        "Count the vowels (a, e, i, o, u, in either case) and multiply the count by {c}.",
        *("count", "{y} = {c} * sum((1 for v in {x} if v in 'aeiouAEIOU'))"),
        "{y} = 0\nfor v in {x}:\n    if v.lower() in 'aeiou':\n        {y} += {c}",
        c=range(3, 12),
    ),
    _text_to_number(
        "Count the different characters, and add {c}.",
        *("count", "{y} = len(set({x})) + {c}"),
        "rest = ''\nfor v in {x}:\n    if v not in rest:\n        rest += v\n{y} = len(rest) + {c}",
        c=range(3, 30),
    ),
    _text_to_number(
        "Add up the digits in the text (0 if there are none), and add {c}.",
        *("total", "{y} = {c}\nfor v in {x}:\n    if v.isdigit():\n        {y} += int(v)"),
        "{y} = {c} + sum((int(v) for v in {x} if v.isdigit()))",
        c=range(3, 30),
    ),
    _text_to_number(
        "Add up the places of the letters in the alphabet, a and A being 1 and z and Z being 26 (0 if there are none).",
        *("total", "{y} = 0\nfor v in {x}.lower():\n    if v.isalpha():\n        {y} += ord(v) - ord('a') + 1"),
        "{y} = sum((ord(v) - 96 for v in {x}.lower() if v.isalpha()))",
    ),
    _text_to_number(
        "Count 3 for each upper-case letter and 1 for each other character, and add {c}.",
        *("points", "{y} = {c}\nfor v in {x}:\n    if v.isupper():\n        {y} += 3\n    else:\n        {y} += 1"),
        c=range(3, 30),
    ),
    StepKind(
        *(TEXT, WORDS, "Split the text into its words, which are separated by spaces.", "words"),
        ("{y} = {x}.split()",),
    ),
    StepKind(
        *(TEXT, LIST, "List the lengths of the words of the text, which are separated by spaces.", "lengths"),
        ("{y} = [len(v) for v in {x}.split()]", "{y} = []\nfor v in {x}.split():\n    {y}.append(len(v))"),
    ),
    StepKind(
        *(
            TEXT,
            LIST,
            "List the places of the letters in the alphabet, a and A being 1; all else is left out.",
            "places",
        ),
        (
            "{y} = [ord(v) - ord('a') + 1 for v in {x}.lower() if v.isalpha()]",
            "{y} = []\nfor v in {x}.lower():\n    if v.isalpha():\n        {y}.append(ord(v) - 96)",
        ),
    ),
    _to_words("Reverse the order of the words.", "turned", "{y} = {x}[::-1]"),
    _to_words("Sort the words by their character codes.", "ordered", "{y} = sorted({x})"),
    _to_words(
        "Sort the words by length, the shortest first; those of equal length stay in order.",
        *("ordered", "{y} = sorted({x}, key=len)"),
    ),
    _to_words(
        "Keep only the words with more than {c} characters.",
        *("kept", "{y} = [v for v in {x} if len(v) > {c}]"),
        "{y} = []\nfor v in {x}:\n    if len(v) > {c}:\n        {y}.append(v)",
        c=range(2, 5),
    ),
    _to_words(
        "Reverse each word.",
        "mirrored",
        "{y} = [v[::-1] for v in {x}]",
        "{y} = []\nfor v in {x}:\n    {y}.append(v[::-1])",
    ),
    _to_words(
        "Write the first character of each word in upper case and the others in lower case.",
        *("titled", "{y} = [v.capitalize() for v in {x}]", "{y} = [v[:1].upper() + v[1:].lower() for v in {x}]"),
    ),
    _to_words(
        "Keep only the words that begin with a consonant or a digit, which is all but a, e, i, o, u in either case.",
        *("kept", "{y} = [v for v in {x} if v[0] not in 'aeiouAEIOU']"),
        "{y} = []\nfor v in {x}:\n    if v[0].lower() not in 'aeiou':\n        {y}.append(v)",
    ),
    _to_words(
        "Put after each word its number of characters, as in ab2.",
        *("sized", "{y} = [v + str(len(v)) for v in {x}]"),
    ),
    _to_words("Keep only the first {c} characters of each word.", "cut", "{y} = [v[:{c}] for v in {x}]", c=range(2, 5)),
    _to_words("Keep every second word, beginning with the first.", "spaced", "{y} = {x}[::2]"),
    StepKind(
        *(WORDS, TEXT, "Join the words into a text, with a hyphen between two of them.", "joined"),
        ("{y} = '-'.join({x})",),
    ),
    StepKind(
        *(WORDS, TEXT, "Join the first characters of the words into a text.", "initials"),
        ("{y} = ''.join((v[0] for v in {x}))", "{y} = ''\nfor v in {x}:\n    {y} += v[0]"),
    ),
    StepKind(
        *(
            WORDS,
            TEXT,
            "Take the longest word, the first of them if there are several, or the text none if the list is empty.",
            "longest",
        ),
        (
            "{y} = 'none'\nif {x}:\n    {y} = max({x}, key=len)",
            "{y} = 'none'\nfor i, v in enumerate({x}):\n    if i == 0 or len(v) > len({y}):\n        {y} = v",
        ),
    ),
    StepKind(
        *(WORDS, INTEGER, "Add up the squares of the lengths of the words (0 if there are none).", "total"),
        ("{y} = sum((len(v) * len(v) for v in {x}))", "{y} = 0\nfor v in {x}:\n    {y} += len(v) * len(v)"),
    ),
    StepKind(
        *(WORDS, INTEGER, "Multiply the number of words by {c}, and add {d}.", "score"),
        ("{y} = len({x}) * {c} + {d}",),
        range(5, 15),
        range(3, 12),
    ),
    StepKind(
        *(WORDS, LIST, "List the lengths of the words.", "lengths"),
        ("{y} = [len(v) for v in {x}]", "{y} = []\nfor v in {x}:\n    {y}.append(len(v))"),
    ),
)

TEXT_CONDITIONS = (
    Condition(TEXT, "the text has more than {c} characters", "len({x}) > {c}", range(6, 13)),
    Condition(TEXT, "the text contains a digit", "any((v.isdigit() for v in {x}))"),
    Condition(TEXT, "the text contains a space", "' ' in {x}"),
    Condition(TEXT, "the text begins with an upper-case letter", "{x}[:1].isupper()"),
    Condition(WORDS, "there are more than {c} words", "len({x}) > {c}", range(1, 4)),
    Condition(WORDS, "a word has more than {c} characters", "any((len(v) > {c} for v in {x}))", range(4, 7)),
)
