"""Contents of `forum`, drawn from a seed: users with habits, boards, and threads with posts on several topics.

Each user prefers two boards, and has a typical opening of posts and a typical number of votes. Many titles differ in
one word only. The date is always `NOW`.
"""

from __future__ import annotations

import functools
import sqlite3
from datetime import date, timedelta
from typing import Any

import numpy as np

from .databases import insert_rows

NOW = date(2026, 5, 4)
# The user who is signed in.
VISITOR, VISITOR_NAME = 1, "Robin Vega"
# Board -> (description, subjects of threads).
BOARDS: dict[str, tuple[str, tuple[str, ...]]] = {
    "Baking": ("Bread, cakes and ovens", ("oven", "bread tin", "hand mixer", "baking stone", "sourdough starter")),
    "Cycling": ("Bikes, parts and routes", ("city bike", "bike lock", "rear light", "saddle", "child seat")),
    "Gardening": ("Beds, pots and pests", ("compost heap", "tomato bed", "greenhouse", "hedge", "rain barrel")),
    "Music": ("Playing at home", ("guitar", "metronome", "keyboard", "practice room", "violin bow")),
    "Repairs": ("Mending what is broken", ("toaster", "washing machine", "door hinge", "table lamp", "radio")),
}
PATTERNS = (
    "Problems with my {}",
    "Which {} would you buy?",
    "My {} after one year",
    "How do you clean a {}?",
    "Advice on the {}, please",
    "Is the {} worth the money?",
    "What to do with a spare {}",
    "A noise from the {}",
)
KINDS = ("", "small ", "large ", "used ", "cheap ")
NAMES = (
    *(VISITOR_NAME, "Sam Okafor", "Sam Okoro", "Noor Haddad", "Noor Haddou", "Alex Lindqvist", "Alexa Lindqvist"),
    *("Maya Costa", "Jules Martin", "Kim Novak", "Zoë Brandt", "Ivo Kralj", "Tomás Rey", "Lena Fuchs", "Ada Moreau"),
)
VOICES = ("Hello all.", "Good question.", "In my experience:", "I am new here.", "Short answer:", "Guten Tag.", "")
REMARKS = (
    "The {} I have is from my aunt, and it still works.",
    "I paid far too much for my {}.",
    "Have you tried to take the {} apart?",
    "It took me a whole Saturday.",
    "My neighbour says that every {} does this in winter.",
    "I would leave the {} alone for a week and see.",
    "There is a shop near the station that sells them.",
    "Clean the {} first, then look again.",
    "A friend lent me hers; that is the cheapest way.",
    "I have pictures of mine, if that helps.",
    "Don’t buy the first {} that you see.",
    "Mine broke after two months.",
)
THANKS = ("", "", "Thank you!", "Merci d’avance.", "Let us know how it goes.", "Just my opinion.")
_ENDS = tuple(f" {text}" if text else "" for text in THANKS)
NOTES = ("", "read again", "ask Kim about it", "for the weekend", "")
# Dates, indexed by age in days.
_DAYS = tuple((NOW - timedelta(days=ago)).isoformat() for ago in range(300))
REASONS_TO_REPORT = ("Spam", "Rude", "Off topic", "Wrong board")


def fill_forum(database: sqlite3.Connection, size: int, rng: np.random.Generator) -> None:
    """Fill the tables of the forum: ``size`` threads of one to sixteen posts, and the visitor's votes and bookmarks."""
    habits = rng.integers(0, 1 << 30, (len(NAMES), 4)).tolist()
    users = [
        (number, name, "member", (NOW - timedelta(days=400 + habit[3] % 2500)).isoformat())
        for number, (name, habit) in enumerate(zip(NAMES, habits, strict=True), 1)
    ]
    insert_rows(database, "users", users)
    # Opening of a user's posts, and one more than the most votes that come from the user's fame.
    voices = [f"{voice} " if (voice := VOICES[habit[2] % len(VOICES)]) else "" for habit in habits]
    liking = [1 + habit[3] % 25 for habit in habits]
    boards = list(BOARDS)
    rows = [(number, name, BOARDS[name][0]) for number, name in enumerate(boards, 1)]
    insert_rows(database, "boards", rows)
    # Regulars of a board are drawn four times as often as others.
    pools = [
        [user for user, habit in enumerate(habits) for _ in range(4 if place in (habit[0] % 5, habit[1] % 5) else 1)]
        for place in range(len(boards))
    ]
    threads: list[tuple[Any, ...]] = []
    posts: list[tuple[Any, ...]] = []
    titles: set[str] = set()
    draws = rng.integers(0, 1 << 30, (size, 10)).tolist()
    sizes = [1 + min(draw[0] % 10, draw[1] % 16) + draw[2] % 7 for draw in draws]
    details = rng.integers(0, 1 << 30, (sum(sizes), 6)).tolist()
    for number, (draw, count) in enumerate(zip(draws, sizes, strict=True), 1):
        place = draw[3] % len(boards)
        things = BOARDS[boards[place]][1]
        # Use the first three patterns of a board, so that titles are alike; further patterns only if these are used up.
        step = draw[4] % 75
        while (title := _make_title(place, things, step)) in titles:
            step += 1
        titles.add(title)
        remarks = _make_remarks(things[step // 5 % len(things)])
        pool = pools[place]
        members = [pool[(draw[5] + 7 * turn) % len(pool)] for turn in range(2 + count // 3)]
        if number % 3 == 0:
            members[-1] = VISITOR - 1
        ago = count * 3 + draw[6] % 200
        started = _DAYS[ago]
        for turn, (which, later, one, other, polite, liked) in enumerate(details[len(posts) : len(posts) + count]):
            author = members[which % len(members) if turn else 0]
            ago = max(0, ago - later % 4) if turn else ago
            first, second = one % len(REMARKS), other % len(REMARKS)
            more = f" {remarks[second]}" if first != second else ""
            body = f"{voices[author]}{remarks[first]}{more}{_ENDS[polite % len(_ENDS)]}"
            posts.append((number, turn + 1, author + 1, _DAYS[ago], body, liked % 12 + polite % liking[author]))
        # Posts are in the order of their days.
        threads.append((number, place + 1, title, members[0] + 1, started, draw[7] % 11 == 0, _DAYS[ago], count - 1))
    pinned = set()
    for place in range(len(boards)):
        own = [thread[0] for thread in threads if thread[1] == place + 1]
        if len(own) > 2:
            pinned.add(own[draws[place][8] % len(own)])
    others = [number for number, post in enumerate(posts, 1) if post[2] != VISITOR]
    chosen = rng.permutation(len(others))[: 3 + len(others) // 12].tolist()
    votes = [(others[place], -1 if place % 5 == 0 else 1) for place in chosen]
    insert_rows(database, "votes (post, value)", votes)
    for number, value in votes:
        posts[number - 1] = (*posts[number - 1][:5], posts[number - 1][5] + value)
    insert_rows(database, "posts (thread, number, author, day, body, votes)", posts)
    firsts = [post[5] for post in posts if post[1] == 1]
    columns = "id, board, title, author, day, locked, last, replies, pinned, votes"
    rows = [(*one, one[0] in pinned, first) for one, first in zip(threads, firsts, strict=True)]
    insert_rows(database, f"threads ({columns})", rows)
    saved = rng.permutation(size)[:5].tolist()
    rows = [(thread + 1, NOTES[place]) for place, thread in enumerate(saved)]
    insert_rows(database, "bookmarks (thread, note)", rows)


@functools.cache
def _make_remarks(thing: str) -> tuple[str, ...]:
    return tuple(remark.replace("{}", thing) for remark in REMARKS)


def _make_title(place: int, things: tuple[str, ...], step: int) -> str:
    """Return title number ``step`` of board ``place``: kinds vary first, then things, then patterns."""
    kind, thing = KINDS[step % 5], things[step // 5 % len(things)]
    return PATTERNS[(place + step // 25) % len(PATTERNS)].format(kind + thing)
