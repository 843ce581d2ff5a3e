"""palaestra/WordProblem-v0: a short story in which a quantity changes, and the question for its final value."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from ..param_space import IntAxis, ParamSpace
from ..question import Question, Task
from ..registration import register

# An event: its kind, its one or two numbers, and the quantity before and after.
Event = tuple[str, tuple[int, ...], int, int]

NAMES = ("Ann", "Bob", "Cleo", "Dan", "Eve", "Finn", "Gina", "Hugo", "Ida", "Jack", "Kim", "Lea", "Max", "Nora", "Omar")
THINGS = ("marbles", "stickers", "shells", "stamps", "cards", "coins", "beads", "buttons")
# The number of operations that each kind of event takes.
STEPS = {"more": 1, "fewer": 1, "half": 1, "times": 1, "groups": 2, "groups off": 2, "part": 2}
_PARTS = {3: "third", 4: "quarter", 5: "fifth"}

# {n} the first quantity, {k} and {m} numbers of an event, {part} one of _PARTS, {A} and {B} people, {T} things.
STORIES: tuple[dict[str, tuple[str, ...]], ...] = (
    {
        "start": ("{A} has {n} {T}.", "At first, {A} owns {n} {T}."),
        "more": ("{A} finds {k} more {T}.", "{B} gives {A} {k} more {T}.", "{A} buys {k} more {T}."),
        "fewer": ("{A} gives {k} {T} to {B}.", "{A} loses {k} {T}.", "{A} sells {k} {T}."),
        "half": ("{A} gives half of the {T} to {B}.", "{A} sells half of the {T}."),
        "times": ("After a lucky trade, {A} has {k} times as many {T} as before.",),
        "groups": ("{A} buys {k} bags with {m} {T} each.", "{k} friends give {A} {m} {T} each."),
        "groups off": ("{A} gives {m} {T} to each of {k} friends.", "{A} sells {k} boxes with {m} {T} each."),
        "part": ("{A} gives a {part} of the {T} to {B}.", "{A} loses a {part} of the {T}."),
        "question": ("How many {T} does {A} have in the end?",),
    },
    {
        "start": ("A train leaves the first station with {n} passengers.",),
        "more": ("At the next station, {k} people get on.", "Then {k} people get on."),
        "fewer": ("At the next station, {k} people get off.", "Then {k} people get off."),
        "half": ("At the next station, half of the passengers get off.",),
        "times": ("So many people get on that there are {k} times as many passengers as before.",),
        "groups": ("Then {k} groups of {m} people each get on.",),
        "groups off": ("Then {k} families of {m} people each get off.",),
        "part": ("At the next station, a {part} of the passengers get off.",),
        "question": ("How many passengers are on the train in the end?",),
    },
    {
        "start": ("A tank holds {n} litres of water.", "There are {n} litres of water in a tank."),
        "more": ("{A} pours in {k} litres.", "Rain adds {k} litres."),
        "fewer": ("{A} takes out {k} litres.", "{k} litres leak out."),
        "half": ("{A} uses half of the water.",),
        "times": ("{A} adds water until there is {k} times as much as before.",),
        "groups": (
            "A pump adds {m} litres a minute for {k} minutes.",
            "{A} empties {k} buckets of {m} litres each into it.",
        ),
        "groups off": (
            "A tap lets out {m} litres a minute for {k} minutes.",
            "{A} fills {k} cans of {m} litres each from it.",
        ),
        "part": ("{A} uses a {part} of the water.",),
        "question": ("How many litres are in the tank in the end?",),
    },
    {
        "start": ("{A} has {n} dollars.", "{A} starts with {n} dollars."),
        "more": ("{A} earns {k} dollars.", "{B} gives {A} {k} dollars."),
        "fewer": ("{A} spends {k} dollars on a book.", "{A} pays {B} {k} dollars."),
        "half": ("{A} spends half of the money.", "{A} gives half of the money to {B}."),
        "times": ("A prize leaves {A} with {k} times as much money as before.",),
        "groups": ("{A} works {k} hours for {m} dollars an hour.", "{A} sells {k} cakes for {m} dollars each."),
        "groups off": ("{A} buys {k} tickets for {m} dollars each.", "{A} pays {m} dollars a day for {k} days."),
        "part": ("{A} spends a {part} of the money.", "{A} gives a {part} of the money to {B}."),
        "question": ("How many dollars does {A} have in the end?",),
    },
    {
        "start": ("A shop has {n} boxes of tea.", "In the morning there are {n} boxes of tea in a shop."),
        "more": ("A van brings {k} boxes.", "{A} returns {k} boxes."),
        "fewer": ("{A} buys {k} boxes.", "A customer buys {k} boxes."),
        "half": ("Half of the boxes are sold.",),
        "times": ("A delivery leaves the shop with {k} times as many boxes as before.",),
        "groups": ("{k} vans bring {m} boxes each.",),
        "groups off": ("{k} customers buy {m} boxes each.", "{A} buys {m} boxes a day for {k} days."),
        "part": ("A {part} of the boxes are sold.",),
        "question": ("How many boxes of tea does the shop have in the end?",),
    },
)
# Distractors: sentences with numbers that do not matter.
ASIDES = (
    "{B} is {k} years old.",
    "It is {k} degrees outside.",
    "{B} has read {k} pages of a book today.",
    "The house next door has the number {k}.",
    "The radio has played {k} songs so far.",
    "{B} lives {k} kilometres away.",
    "There are {k} birds on the roof.",
)


class WordProblem(Question):
    """Follow a quantity through a short story.

    Description:
        A number of things, passengers, litres, dollars or boxes grows and shrinks; it is a positive whole number after
        every event. Some sentences may contain irrelevant numbers. The answer is none of the relevant numbers.

    Parameters:
        steps (2 to 8, on request 1 to 30): number of operations (+, -, *, /) that lead to the answer.
        distractors (0 to 3, on request up to 7): number of irrelevant sentences.
        size (20 to 100, on request 10 to 1000): the largest number in an event; the quantity is at most 2 * size at
            first, and always at most 20 * size.

    Observation:
        Text such as ``Ann has 31 marbles. Bob gives Ann 12 more marbles. ... How many marbles does Ann have in the
        end? Answer with an integer.``

    Actions:
        Text with one integer, perhaps followed by the counted noun (``31 marbles``), read in ``answer_format``.

    Reward:
        1 for the quantity in the end, 0 otherwise. The commonest one, 18, is right by chance in 0.035 of the easiest
        tasks.

    Termination:
        After the first answer.

    Source:
        After the word problems of primary schools (as in GSM8K, arXiv 2110.14168); stories written and generated here.
    """

    param_space = ParamSpace(
        [
            IntAxis("steps", 2, 8, limits=(1, 30)),
            IntAxis("distractors", 0, 3, limits=(0, 7)),
            IntAxis("size", 20, 100, limits=(10, 1000)),
        ]
    )
    verifier = "integer"

    def generate(self, rng: np.random.Generator, params: dict[str, Any]) -> Task:
        steps, size = params["steps"], params["size"]
        while True:
            draws, left = iter(rng.random(4 * steps + 3 * params["distractors"] + 8).tolist()), steps
            story = int(next(draws) * len(STORIES))
            start = quantity = size // 2 + int(next(draws) * 1.5 * size)
            events: list[Event] = []
            while left:
                event = _draw_event(quantity, left, size, draws)
                events.append(event)
                left -= STEPS[event[0]]
                quantity = event[3]
            # No number of the story may be the answer.
            if quantity != start and all(quantity not in numbers for _, numbers, _, _ in events):
                break
        return Task(
            _write_story(STORIES[story], start, events, params["distractors"], draws),
            quantity,
            content=f"{story} {start} {[(kind, numbers) for kind, numbers, _, _ in events]}",
            split_key=_order_free_key(start, events),
            data=events,
        )

    def solution_steps(self, task: Task) -> list[str]:
        """List one operation per line."""
        return [*(line for event in task.data for line in _event_steps(event)), self.oracle(task)]


def _draw_event(n: int, steps: int, size: int, draws: Iterator[float]) -> Event:
    """Draw an event that is possible for a quantity ``n`` and takes at most ``steps`` operations."""
    most = 20 * size
    possible = ["more"] * (n < most - size) + ["fewer"] * (n > 9) + ["half"] * (n % 2 == 0 and n > 9)
    possible += ["times"] * (3 * n <= most)
    if steps > 1:
        possible += ["groups"] * (n < most // 2) + ["groups off"] * (n > 19)
        possible += ["part"] * (n > 9 and any(n % part == 0 for part in _PARTS))
    kind = possible[int(next(draws) * len(possible))]
    u, v = next(draws), next(draws)
    if kind == "more":
        k = 2 + int(u * (size - 1))
        return kind, (k,), n, n + k
    if kind == "fewer":
        k = 2 + int(u * (min(size, n - 3) - 1))
        return kind, (k,), n, n - k
    if kind == "half":
        return kind, (2,), n, n // 2
    if kind == "times":
        k = 2 + int(u * 2)
        return kind, (k,), n, n * k
    if kind == "part":
        parts = [part for part in _PARTS if n % part == 0]
        k = parts[int(u * len(parts))]
        return kind, (k,), n, n - n // k
    k = 2 + int(u * 7)
    if kind == "groups":
        m = 2 + int(v * size / 2)
        return kind, (k, m), n, n + k * m
    # At least one must remain.
    m = 2 + int(v * (min(size // 2, (n - 1) // k) - 1))
    return kind, (k, m), n, n - k * m


def _order_free_key(start: int, events: list[Event]) -> str:
    """Return text that is equal for stories with the same changes, where consecutive additions and subtractions may
    come in any order."""
    rows: list[list[int | str]] = [[]]
    for kind, numbers, before, after in events:
        if kind in ("half", "times", "part"):
            rows += [[f"{kind} {numbers[0]}"], []]
        else:
            rows[-1].append(after - before)
    return f"{start} {[sorted(row, key=str) for row in rows if row]}"


def _event_steps(event: Event) -> list[str]:
    kind, (k, *rest), before, after = event
    if kind in ("more", "fewer"):
        return [f"{before} {'+' if kind == 'more' else '-'} {k} = {after}"]
    if kind == "half":
        return [f"{before} / 2 = {after}"]
    if kind == "times":
        return [f"{before} * {k} = {after}"]
    if kind == "part":
        return [f"{before} / {k} = {before // k}", f"{before} - {before // k} = {after}"]
    total = k * rest[0]
    return [f"{k} * {rest[0]} = {total}", f"{before} {'+' if kind == 'groups' else '-'} {total} = {after}"]


def _write_story(
    story: dict[str, tuple[str, ...]], start: int, events: list[Event], asides: int, draws: Iterator[float]
) -> str:
    one, other = int(next(draws) * len(NAMES)), 1 + int(next(draws) * (len(NAMES) - 1))
    words = {"A": NAMES[one], "B": NAMES[(one + other) % len(NAMES)], "T": THINGS[int(next(draws) * len(THINGS))]}

    def say(kind: str, **numbers: Any) -> str:
        wordings = story[kind]
        return wordings[int(next(draws) * len(wordings))].format(**words, **numbers)

    sentences = [say("start", n=start)]
    for kind, numbers, _, _ in events:
        sentences.append(say(kind, k=numbers[0], m=numbers[-1], part=_PARTS.get(numbers[0])))
    free = list(ASIDES)
    for _ in range(asides):
        aside = free.pop(int(next(draws) * len(free))).format(**words, k=6 + int(next(draws) * 24))
        sentences.insert(1 + int(next(draws) * len(sentences)), aside)
    return " ".join([*sentences, say("question"), "Answer with an integer."])


register("palaestra/WordProblem-v0", f"{__name__}:WordProblem")
