"""The table of slow programs that are fast with a set or a dict, or with work moved out of a loop."""

from __future__ import annotations

from .slow_program_kinds import NUMBERS, TEXT, SlowProgramKind

_PAIRS = (
    "$y = 0\nfor i in range(len($x)):\n    for j in range(i + 1, len($x)):\n        if {test}:\n            $y += 1"
)
_SUMS = range(5, 20)

CONTAINER_KINDS = (
    SlowProgramKind(
        NUMBERS,
        _PAIRS.format(test="$x[i] + $x[j] == $c"),
        "seen = {}\n$y = 0\nfor v in $x:\n    $y += seen.get($c - v, 0)\n    seen[v] = seen.get(v, 0) + 1",
        "Every pair is looked at",
        "count in a dict what came before, and look up the number that makes the sum $c",
        c=_SUMS,
    ),
    SlowProgramKind(
        NUMBERS,
        _PAIRS.format(test="($x[i] - $x[j]) % $c == 0"),
        "seen = [0] * $c\n$y = 0\nfor v in $x:\n    $y += seen[v % $c]\n    seen[v % $c] += 1",
        "Every pair is looked at",
        "count the numbers before by their remainder modulo $c",
        c=range(3, 12),
    ),
    SlowProgramKind(
        NUMBERS,
        _PAIRS.format(test="!($x[i]) == !($x[j])"),
        "seen = {}\n$y = 0\nfor v in $x:\n    w = !(v)\n    $y += seen.get(w, 0)\n    seen[w] = seen.get(w, 0) + 1",
        "Every pair is looked at, and each value is worked out again and again",
        "count the values before in a dict",
    ),
    SlowProgramKind(
        NUMBERS,
        "$y = 0\nfor v in $x:\n    for w in $x:\n        if w == v + $c:\n            $y += 1\n            break",
        "known = set($x)\n$y = 0\nfor v in $x:\n    if v + $c in known:\n        $y += 1",
        "The list is searched for every number",
        "search a set",
        c=range(1, 9),
        scale=1.25,
    ),
    SlowProgramKind(
        NUMBERS,
        "$y = []\nfor v in $x:\n    known = False\n    for w in $y:\n        if w == !(v):\n            known = True\n"
        "    if not known:\n        $y.append(!(v))",
        "known = set()\n$y = []\nfor v in $x:\n    w = !(v)\n    if w not in known:\n        known.add(w)\n"
        "        $y.append(w)",
        "What was found is gone through for every number",
        "keep it in a set as well",
        values=(-30, 90),
        scale=1.25,
    ),
    SlowProgramKind(
        NUMBERS,
        "$y = 0\nfor v in $x:\n    if ?(v) and $x.count(v) > $y:\n        $y = $x.count(v)",
        "counts = {}\n$y = 0\nfor v in $x:\n    if ?(v):\n        counts[v] = counts.get(v, 0) + 1\n"
        "        if counts[v] > $y:\n            $y = counts[v]",
        "The list is counted through for every number",
        "count all numbers in one go, in a dict",
        base=40,
        scale=2,
        often=True,
    ),
    SlowProgramKind(
        NUMBERS,
        "$y = 0\nfor v in $x:\n    if !(v) > max($x) - $c:\n        $y += 1",
        "edge = max($x, default=0) - $c\n$y = 0\nfor v in $x:\n    if !(v) > edge:\n        $y += 1",
        "The greatest number is sought in every turn of the loop",
        "find it once, before the loop",
        c=range(2, 12),
        scale=2.5,
    ),
    SlowProgramKind(
        NUMBERS,
        "$y = 0\nfor v in $x:\n    if !(v) * len($x) > sum($x) + $c:\n        $y += v",
        "count, total = len($x), sum($x) + $c\n$y = 0\nfor v in $x:\n    if !(v) * count > total:\n        $y += v",
        "The sum is worked out in every turn of the loop",
        "work it out once, before the loop",
        c=range(0, 12),
        scale=3,
    ),
    SlowProgramKind(
        NUMBERS,
        "$y = 0\nfor i in range(len($x)):\n    ordered = sorted($x)\n    $y += ordered[i] * (i % $c)",
        "ordered = sorted($x)\n$y = 0\nfor i in range(len($x)):\n    $y += ordered[i] * (i % $c)",
        "The list is sorted in every turn of the loop",
        "sort it once, before the loop",
        c=range(2, 9),
    ),
    SlowProgramKind(
        NUMBERS,
        "$y = 0\nfor v in $x:\n    for i in range(len($x)):\n        if $x[i] == v - $c:\n            $y += i\n"
        "            break",
        "places = {}\nfor i, v in enumerate($x):\n    if v not in places:\n        places[v] = i\n$y = 0\n"
        "for v in $x:\n    $y += places.get(v - $c, 0)",
        "The list is searched for every number",
        "note in a dict where each number is first",
        c=range(1, 9),
        scale=1.25,
    ),
    SlowProgramKind(
        NUMBERS,
        "line = list($x)\n$y = 0\nwhile line:\n    v = line.pop(0)\n    if ?(v):\n        $y = ($y * 3 + v) % $c",
        "$y = 0\nfor v in $x:\n    if ?(v):\n        $y = ($y * 3 + v) % $c",
        "Everything moves when the first of a list is taken away",
        "go through the list without taking anything away, or use a deque",
        c=range(50, 99),
        base=40,
        scale=2,
    ),
    SlowProgramKind(
        NUMBERS,
        "line = list($x)\n$y = 0\nwhile len(line) > 1:\n    for _ in range($c):\n        line = line[1:] + line[:1]\n"
        "    $y = $y * $d + line[0]\n    line = line[1:]",
        "line = list($x)\nplace = $y = 0\nwhile len(line) > 1:\n    place = (place + $c) % len(line)\n"
        "    $y = $y * $d + line.pop(place)",
        "The list is copied to be turned, and copied to take away its first",
        "keep the list as it is, and remember the place at which it begins",
        c=range(3, 6),
        d=range(-1, 2, 2),
    ),
    SlowProgramKind(
        TEXT,
        "$y = 0\nfor v in $x:\n    if ?(v):\n        $y += $x.count(v)",
        "counts = {}\nfor v in $x:\n    counts[v] = counts.get(v, 0) + 1\n$y = 0\nfor v in counts:\n"
        "    if ?(v):\n        $y += counts[v] * counts[v]",
        "The text is counted through for every letter",
        "count all letters in one go; a letter that is there k times adds k * k",
        base=20,
        scale=2.5,
        often=True,
    ),
    SlowProgramKind(
        TEXT,
        '$y = ""\nfor v in $x:\n    if ?(v):\n        $y = v + $y',
        'parts = []\nfor v in $x:\n    if ?(v):\n        parts.append(v)\n$y = "".join(reversed(parts))',
        "The text is copied whenever a letter is added",
        "collect the letters in a list and join them once",
        base=80,
        scale=2,
        often=True,
    ),
    SlowProgramKind(
        TEXT,
        '$y = ""\nfor v in $x:\n    known = False\n    for w in $y:\n        if w == v:\n            known = True\n'
        "    if not known and ?(v):\n        $y = $y + v",
        "known = set()\nparts = []\nfor v in $x:\n    if v not in known and ?(v):\n        known.add(v)\n"
        '        parts.append(v)\n$y = "".join(parts)',
        "What was found is gone through for every letter",
        "keep what was found in a set",
        scale=1.5,
        letters=20,
        often=True,
    ),
    SlowProgramKind(
        TEXT,
        "$y = 0\nfor i in range(len($x)):\n    for j in range(i + 1, len($x)):\n"
        '        if $x[i] == "$l" and $x[j] == "$m":\n            $y += 1',
        '$y = before = 0\nfor v in $x:\n    if v == "$m":\n        $y += before\n    elif v == "$l":\n'
        "        before += 1",
        "Every pair of letters is looked at",
        'count how many "$l" came before, and add that number at each "$m"',
        scale=1.25,
    ),
)
