"""The table of slow programs that one sweep makes fast: running sums, windows, two pointers, sorting first."""

from __future__ import annotations

from .slow_program_kinds import NUMBERS, TEXT, SlowProgramKind

SWEEP_KINDS = (
    SlowProgramKind(
        NUMBERS,
        "$y = 0\nfor i in range(len($x)):\n    if sum($x[:i + 1]) % $c == $d:\n        $y += 1",
        "$y = total = 0\nfor v in $x:\n    total += v\n    if total % $c == $d:\n        $y += 1",
        "Every sum begins with the first number again",
        "keep a running sum",
        c=range(5, 9),
        d=range(0, 5),
        scale=2,
    ),
    SlowProgramKind(
        NUMBERS,
        "$y = 0\nfor i in range(len($x)):\n    total = 0\n    for j in range(i, len($x)):\n        total += $x[j]\n"
        "        if total == $c:\n            $y += 1",
        "sums = {0: 1}\n$y = total = 0\nfor v in $x:\n    total += v\n    $y += sums.get(total - $c, 0)\n"
        "    sums[total] = sums.get(total, 0) + 1",
        "Every stretch is summed up",
        "a stretch has the sum $c where two running sums differ by $c: count the running sums in a dict",
        c=range(5, 25),
    ),
    SlowProgramKind(
        NUMBERS,
        "$y = 0\nfor i in range(len($x)):\n    total = 0\n    for v in $x[i:]:\n        total += v\n"
        "        if total % $c == 0:\n            $y += 1",
        "sums = [0] * $c\nsums[0] = 1\n$y = total = 0\nfor v in $x:\n    total = (total + v) % $c\n"
        "    $y += sums[total]\n    sums[total] += 1",
        "Every stretch is summed up",
        "count the running sums by their remainder modulo $c: two that are equal make a stretch",
        c=range(3, 12),
    ),
    SlowProgramKind(
        NUMBERS,
        "size = len($x) // 2 + 1\n$y = 0\nfor i in range(len($x) - size + 1):\n"
        "    if sum($x[i:i + size]) > $c * size:\n        $y += 1",
        "size = len($x) // 2 + 1\ntotal = sum($x[:size])\n$y = 0\nfor i in range(len($x) - size + 1):\n"
        "    if i > 0:\n        total += $x[i + size - 1] - $x[i - 1]\n    if total > $c * size:\n        $y += 1",
        "Every window is summed up",
        "add the number that comes into the window, and subtract the one that leaves it",
        c=range(2, 12),
        base=40,
        scale=3,
    ),
    SlowProgramKind(
        NUMBERS,
        "$y = 0\nfor i in range(len($x)):\n    for j in range(i + 1, len($x)):\n        if $x[i] + $x[j] < $c:\n"
        "            $y += 1",
        "ordered = sorted($x)\n$y, low, high = 0, 0, len($x) - 1\nwhile low < high:\n"
        "    if ordered[low] + ordered[high] < $c:\n        $y += high - low\n        low += 1\n    else:\n"
        "        high -= 1",
        "Every pair is looked at",
        "sort, and move two places towards each other",
        c=range(5, 25),
        scale=1.25,
    ),
    SlowProgramKind(
        NUMBERS,
        "$y = $c\nfor i in range(len($x)):\n    for j in range(i + 1, len($x)):\n        if abs($x[i] - $x[j]) < $y:\n"
        "            $y = abs($x[i] - $x[j])",
        "ordered = sorted($x)\n$y = $c\nfor i in range(1, len($x)):\n    $y = min($y, ordered[i] - ordered[i - 1])",
        "Every pair is looked at",
        "sort: the closest numbers are then side by side",
        c=range(50, 99),
        values=(-900, 900),
    ),
    SlowProgramKind(
        NUMBERS,
        "$y = 0\nfor i in range(len($x)):\n    good = True\n    for j in range(i, len($x)):\n"
        "        if not ?($x[j]):\n            good = False\n        if good:\n            $y = max($y, j - i + 1)",
        "$y = length = 0\nfor v in $x:\n    if ?(v):\n        length += 1\n        $y = max($y, length)\n    else:\n"
        "        length = 0",
        "Every beginning is followed to the end",
        "count on while it holds, and begin again at 0 where it does not",
    ),
    SlowProgramKind(
        NUMBERS,
        "$y = 0\nfor i in range(len($x)):\n    for j in range(i + 1, len($x)):\n"
        "        $y = max($y, !($x[j]) - !($x[i]))",
        "$y = 0\nleast = None\nfor v in $x:\n    w = !(v)\n    if least is None or w < least:\n        least = w\n"
        "    $y = max($y, w - least)",
        "Every pair is looked at",
        "remember the least value so far",
    ),
    SlowProgramKind(
        NUMBERS,
        "$y = 0\nfor i in range(len($x)):\n    if sum($x[:i]) + $c < sum($x[i:]):\n        $y += 1",
        "left, right = 0, sum($x)\n$y = 0\nfor v in $x:\n    if left + $c < right:\n        $y += 1\n    left += v\n"
        "    right -= v",
        "Both sides are summed up at every place",
        "move each number from the sum of the right side to that of the left one",
        c=range(0, 20),
        scale=1.5,
    ),
    SlowProgramKind(
        NUMBERS,
        "$y = 0\nfor i in range(len($x)):\n    seen = []\n    for v in $x[i:]:\n        if v in seen:\n"
        "            break\n        seen.append(v)\n    $y = max($y, $c * len(seen))",
        "last = {}\nstart = $y = 0\nfor i, v in enumerate($x):\n    start = max(start, last.get(v, -1) + 1)\n"
        "    last[v] = i\n    $y = max($y, $c * (i - start + 1))",
        "Every beginning is followed until a number comes again",
        "move the beginning only as far as it must: behind the last place of the same number",
        c=range(1, 9),
        values=(-30, 90),
        scale=1.5,
    ),
    SlowProgramKind(
        NUMBERS,
        "$y = 0\nfor v in $x:\n    cover = 0\n    for w in $x:\n        if w <= v < w + $c:\n            cover += 1\n"
        "    $y = max($y, cover)",
        "ordered = sorted($x)\nstart = $y = 0\nfor i in range(len($x)):\n    while ordered[start] + $c <= ordered[i]:\n"
        "        start += 1\n    $y = max($y, i - start + 1)",
        "All stretches are looked at for every beginning",
        "sort the beginnings, and let go of the stretches that have ended",
        c=range(3, 15),
        values=(-60, 90),
    ),
    SlowProgramKind(
        NUMBERS,
        "$y = []\nfor v in $x:\n    below = 0\n    for w in $x:\n        if w < v - $c:\n            below += 1\n"
        "    $y.append(below)",
        "from bisect import bisect_left\nordered = sorted($x)\n$y = []\nfor v in $x:\n"
        "    $y.append(bisect_left(ordered, v - $c))",
        "The whole list is looked at for every number",
        "sort it once, and search it by bisection",
        c=range(0, 12),
        scale=0.75,
    ),
    SlowProgramKind(
        NUMBERS,
        "$y = 0\nfor i in range(len($x)):\n    if max($x[i:]) == $x[i] and ?($x[i]):\n        $y += 1",
        "$y = 0\ngreatest = None\nfor v in reversed($x):\n    if greatest is None or v >= greatest:\n"
        "        greatest = v\n        if ?(v):\n            $y += 1",
        "The greatest of the rest is sought at every place",
        "go through the list from its end, and remember the greatest so far",
        scale=2.5,
    ),
    SlowProgramKind(
        NUMBERS,
        "$y = 0\nfor i in range(len($x)):\n    for j in range(i + 1, len($x)):\n        $y += !($x[i]) * $x[j]",
        "$y = total = 0\nfor v in $x:\n    $y += total * v\n    total += !(v)",
        "Every pair is multiplied",
        "multiply each number by the running sum of what came before",
    ),
    SlowProgramKind(
        TEXT,
        '$y = 0\nfor i in range(len($x)):\n    if $x[:i].count("$l") > $x[i:].count("$m") + $c:\n        $y += 1',
        'left, right = 0, $x.count("$m") + $c\n$y = 0\nfor v in $x:\n    if left > right:\n        $y += 1\n'
        '    if v == "$l":\n        left += 1\n    if v == "$m":\n        right -= 1',
        "Both sides are counted at every place",
        "change the two counts by the letter that is passed",
        c=range(0, 4),
        scale=2.5,
    ),
    SlowProgramKind(
        TEXT,
        "$y = 0\nfor i in range(len($x)):\n    for j in range(i + 1, len($x) + 1):\n"
        '        part = $x[i:j]\n        if part.count("$l") == $c:\n            $y += 1',
        'counts = {0: 1}\n$y = total = 0\nfor v in $x:\n    if v == "$l":\n        total += 1\n'
        "    $y += counts.get(total - $c, 0)\n    counts[total] = counts.get(total, 0) + 1",
        "Every stretch is counted through",
        'a stretch has $c times "$l" where two running counts differ by $c: keep the running counts in a dict',
        c=range(1, 4),
        scale=0.75,
    ),
)
