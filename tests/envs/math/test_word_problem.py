"""Word problems: the story is read sentence by sentence, and the quantity followed."""

from __future__ import annotations

import re

import pytest
from palaestra.envs.math.word_problem import ASIDES, STEPS, STORIES, WordProblem, _draw_event, _event_steps
from palaestra.envs.question import Task

_WORDS = {"third": 3, "quarter": 4, "fifth": 5}
_FIELD = {"n": r"(?P<n>\d+)", "k": r"(?P<k>\d+)", "m": r"(?P<m>\d+)", "part": "(?P<part>third|quarter|fifth)"}


def pattern(wording: str) -> re.Pattern[str]:
    """What a wording may look like once it is filled in."""
    return re.compile(re.sub(r"\\\{(\w+)\\\}", lambda field: _FIELD.get(field[1], "[A-Za-z]+"), re.escape(wording)))


def readings(kinds: dict[str, tuple[str, ...]]) -> list[tuple[str, re.Pattern[str]]]:
    return [(kind, pattern(wording)) for kind, wordings in kinds.items() for wording in wordings]


def followed(prompt: str) -> list[tuple[int, list[str], int]]:
    """For each story that the prompt can be: the quantity in the end, the kinds of events, the number of asides."""
    sentences = re.findall(r"[^.?]+[.?]", prompt.removesuffix(" Answer with an integer."))
    found = []
    for story in STORIES:
        known = [*readings(story), *readings({"aside": ASIDES})]
        quantity, kinds, asides = 0, [], 0
        for sentence in sentences:
            matches = [(kind, match) for kind, reading in known if (match := reading.fullmatch(sentence.strip()))]
            if len(matches) != 1:
                break
            kind, match = matches[0]
            numbers = {name: int(text) for name, text in match.groupdict().items() if name != "part"}
            k, m = numbers.get("k", 0), numbers.get("m", 0)
            if kind == "start":
                quantity = numbers["n"]
            elif kind == "more":
                quantity += k
            elif kind == "fewer":
                quantity -= k
            elif kind == "half":
                assert quantity % 2 == 0
                quantity //= 2
            elif kind == "times":
                quantity *= k
            elif kind == "groups":
                quantity += k * m
            elif kind == "groups off":
                quantity -= k * m
            elif kind == "part":
                assert quantity % _WORDS[match["part"]] == 0
                quantity -= quantity // _WORDS[match["part"]]
            asides += kind == "aside"
            kinds += [kind] if kind in STEPS else []
            assert quantity > 0
        else:
            found.append((quantity, kinds, asides))
    return found


def test_the_story_says_what_the_answer_is_at_every_difficulty():
    env = WordProblem()
    for difficulty in (0.0, 0.25, 0.5, 0.75, 1.0):
        for seed in range(40):
            prompt, info = env.reset(seed=seed, options={"difficulty": difficulty})
            ((quantity, kinds, asides),) = followed(prompt)
            assert str(quantity) == env.oracle(env.here())
            assert sum(STEPS[kind] for kind in kinds) == info["params"]["steps"]
            assert asides == info["params"]["distractors"]
            assert quantity <= 20 * info["params"]["size"]


def test_no_number_that_matters_is_the_answer():
    env = WordProblem(difficulty=0.0)
    for seed in range(200):
        env.reset(seed=seed)
        _, start, events = re.fullmatch(r"(\d) (\d+) (.+)", env.here().content).groups()  # type: ignore[union-attr]
        assert env.oracle() not in [start, *re.findall(r"\d+", events)]


def test_every_story_and_every_kind_of_event_occurs():
    env = WordProblem(steps=6)
    stories, seen = set(), set()
    for seed in range(150):
        env.reset(seed=seed)
        stories.add(env.here().content[0])
        seen.update(kind for kind, _, _, _ in env.here().data)
    assert stories == set("01234")
    assert seen == set(STEPS)


def test_all_stories_tell_all_kinds_of_events():
    for story in STORIES:
        assert set(story) == {"start", "question", *STEPS}
        for kind, wordings in story.items():
            for wording in wordings:
                fields = set(re.findall(r"\{(\w+)\}", wording)) - set("ABT")
                expected = {"start": "n", "question": "", "half": "", "part": ["part"]}.get(kind, "k")
                assert fields == set("km" if kind.startswith("groups") else expected), wording


@pytest.mark.parametrize("n", [1, 2, 9, 10, 11, 19, 20, 21, 60, 199, 399, 400])
def test_events_keep_the_quantity_positive_and_in_bounds(n: int):
    for steps in (1, 2):
        for i in range(30):
            for u in (0.0, 0.3, 0.999999):
                kind, numbers, before, after = _draw_event(n, steps, 20, iter([i / 30, u, 0.999999 - u]))
                assert STEPS[kind] <= steps
                assert before == n
                assert 0 < after <= 400
                assert after != before
                assert min(numbers) >= 2


@pytest.mark.parametrize(
    ("event", "lines"),
    [
        (("more", (5,), 7, 12), ["7 + 5 = 12"]),
        (("fewer", (5,), 7, 2), ["7 - 5 = 2"]),
        (("half", (2,), 8, 4), ["8 / 2 = 4"]),
        (("times", (3,), 8, 24), ["8 * 3 = 24"]),
        (("groups", (3, 4), 8, 20), ["3 * 4 = 12", "8 + 12 = 20"]),
        (("groups off", (2, 3), 8, 2), ["2 * 3 = 6", "8 - 6 = 2"]),
        (("part", (3,), 9, 6), ["9 / 3 = 3", "9 - 3 = 6"]),
    ],
)
def test_events_as_operations(event: tuple[str, tuple[int, ...], int, int], lines: list[str]):
    assert _event_steps(event) == lines


def test_steps_are_true_and_lead_from_the_first_quantity_to_the_answer():
    env = WordProblem()
    for difficulty in (0.0, 0.5, 1.0):
        for seed in range(25):
            prompt, info = env.reset(seed=seed, options={"difficulty": difficulty})
            *steps, answer = env.solution_steps(env.here())
            assert len(steps) == info["params"]["steps"]
            for step in steps:
                match = re.fullmatch(r"(\d+) ([-+*/]) (\d+) = (\d+)", step)
                assert match
                assert eval(f"{match[1]} {match[2]} {match[3]}") == int(match[4])
            assert steps[-1].endswith(f" = {answer}")
            for number in re.findall(r"\d+", env.here().content)[1:]:
                # Half is not written as a number.
                assert number in prompt or number in "2345"


def test_only_the_quantity_is_right():
    task = Task("There are 3 boxes. How many boxes of tea does the shop have?", 42)
    for answer in ("42 boxes", "42 boxes of tea", r"$42 \text{ boxes}$", "The answer is 42 boxes.", "42."):
        assert WordProblem().verify(task, answer).score == 1, answer
    for answer, right in [
        ("42", 1),
        (" +42 ", 1),
        ("41", 0),
        ("42 marbles", 0),
        ("43 boxes", 0),
        ("84/2", 0),
        ("", 0),
        ("9**9**9", 0),
    ]:
        assert WordProblem().verify(task, answer).score == right


def test_nothing_but_what_is_bought_is_paid_for():
    for story in STORIES:
        paid = [wording for kind in STEPS for wording in story[kind] if re.search(r"cost|pays|spends", wording)]
        assert all("dollars" in wording or "money" in wording for wording in paid)


def test_what_is_no_thing_for_sale_costs_nothing():
    # "A leak costs 28 litres" reads as if somebody paid for it.
    env = WordProblem()
    for seed in range(400):
        prompt, _ = env.reset(seed=seed)
        assert not re.search(r"\bcosts? [0-9]+ litres", prompt), prompt
