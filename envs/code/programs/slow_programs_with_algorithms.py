"""The table of slow programs that need another algorithm to be fast."""

from __future__ import annotations

from .slow_program_kinds import NUMBER, NUMBERS, TEXT, SlowProgramKind

ALGORITHM_KINDS = (
    SlowProgramKind(
        NUMBERS,
        "$y = 0\nfor i in range(len($x)):\n    for j in range(i + 1, len($x)):\n        if $x[i] > $x[j] + $c:\n"
        "            $y += 1",
        "from bisect import bisect_right, insort\nordered = []\n$y = 0\nfor v in $x:\n"
        "    $y += len(ordered) - bisect_right(ordered, v + $c)\n    insort(ordered, v)",
        "Every pair is looked at",
        "keep what came before in order, and find by bisection how many of it are greater (or sort by merging)",
        c=range(0, 6),
        scale=1.25,
    ),
    SlowProgramKind(
        NUMBERS,
        "$y = 0\nfor i in range(len($x)):\n    total = 0\n    for j in range(i, len($x)):\n"
        "        total += $x[j] - $c\n        if total > $y:\n            $y = total",
        "$y = total = 0\nfor v in $x:\n    total = max(total + v - $c, 0)\n    if total > $y:\n        $y = total",
        "Every stretch is summed up",
        "go on with a sum only while it is above 0",
        c=range(1, 9),
    ),
    SlowProgramKind(
        NUMBERS,
        "$y = 0\nfor i in range(len($x)):\n    for j in range(i + 1, len($x) + 1):\n        $y += min($x[i:j]) + $c",
        "stack = []\n$y = total = 0\nfor i, v in enumerate($x):\n    count = 1\n"
        "    while stack and stack[-1][0] >= v:\n        w, times = stack.pop()\n        total -= w * times\n"
        "        count += times\n    stack.append((v, count))\n    total += v * count\n    $y += total + $c * (i + 1)",
        "The least of every stretch is sought",
        "keep a stack of the numbers that are the least of stretches that end here, with how many these are",
        c=range(0, 12),
        base=10,
        scale=0.5,
    ),
    SlowProgramKind(
        NUMBERS,
        "longest = []\nfor i in range(len($x)):\n    most = 0\n    for j in range(i):\n"
        "        if $x[j] < $x[i] and longest[j] > most:\n            most = longest[j]\n"
        "    longest.append(most + 1)\n$y = max(longest, default=0) * $c",
        "from bisect import bisect_left\nends = []\nfor v in $x:\n    place = bisect_left(ends, v)\n"
        "    ends[place:place + 1] = [v]\n$y = len(ends) * $c",
        "For every number all that came before are looked at",
        "keep the least end of a rising row of each length, and find the place of each number in it by bisection",
        c=range(2, 12),
        values=(-90, 300),
        scale=1.25,
    ),
    SlowProgramKind(
        NUMBERS,
        "$y = 0\nfor i in range(len($x)):\n    for j in range(i + 1, len($x)):\n        $y += abs($x[i] - $x[j]) * $c",
        "$y = total = 0\nfor i, v in enumerate(sorted($x)):\n    $y += (v * i - total) * $c\n    total += v",
        "The distance of every pair is worked out",
        "sort: each number is then above all before it, and their running sum gives the sum of the distances",
        c=range(2, 12),
    ),
    SlowProgramKind(
        NUMBERS,
        "def ways(i, left):\n    if i == len($x):\n        return 1 if left == 0 else 0\n"
        "    return ways(i + 1, left) + ways(i + 1, left - $x[i])\n$y = ways(0, $c)",
        "ways = {0: 1}\nfor v in $x:\n    more = dict(ways)\n    for total, count in ways.items():\n"
        "        more[total + v] = more.get(total + v, 0) + count\n    ways = more\n$y = ways.get($c, 0)",
        "Every choice of numbers is tried",
        "count the ways to each sum, one number after another",
        c=range(3, 12),
        values=(0, 3),
        base=5,
        scale=0.1,
    ),
    SlowProgramKind(
        NUMBER,
        "def value(i):\n    if i < 2:\n        return i + $c\n    return (value(i - 1) + $d * value(i - 2)) % 1000\n"
        "$y = value($x)",
        "low, high = $c, 1 + $c\nfor _ in range($x):\n    low, high = high, (high + $d * low) % 1000\n$y = low",
        "The same values are worked out again and again",
        "go up from the first two values, or remember values",
        c=range(1, 9),
        d=range(1, 5),
        base=9,
        scale=0.1,
    ),
    SlowProgramKind(
        NUMBER,
        "def ways(i):\n    if i < 0:\n        return 0\n    if i == 0:\n        return $c\n"
        "    return ways(i - 1) + ways(i - 3) * $d\n$y = ways($x)",
        "ways = [$c]\nfor i in range(1, $x + 1):\n    count = ways[i - 1]\n    if i >= 3:\n"
        "        count += ways[i - 3] * $d\n    ways.append(count)\n$y = ways[$x]",
        "The same numbers of ways are worked out again and again",
        "work them out once each, from 0 up",
        c=range(1, 6),
        d=range(1, 4),
        base=10,
        scale=0.12,
    ),
    SlowProgramKind(
        NUMBER,
        "def paths(i, j):\n    if i == 0 or j == 0:\n        return $c\n    return paths(i - 1, j) + paths(i, j - 1)\n"
        "$y = paths($x, $d)",
        "row = [$c] * ($d + 1)\nfor _ in range($x):\n    for j in range(1, $d + 1):\n        row[j] += row[j - 1]\n"
        "$y = row[$d]",
        "The same fields are worked out again and again",
        "go through the table row by row; a row needs the one before only",
        c=range(1, 9),
        d=range(3, 5),
        base=4,
        scale=0.1,
    ),
    SlowProgramKind(
        NUMBER,
        "$y = 0\nfor i in range(1, $x + 1):\n    if $x % i == 0 and ?(i):\n        $y += i",
        "$y = 0\ni = 1\nwhile i * i <= $x:\n    if $x % i == 0:\n        if ?(i):\n            $y += i\n"
        "        j = $x // i\n        if j != i and ?(j):\n            $y += j\n    i += 1",
        "All numbers up to the number are tried",
        "try those up to its root: each divisor has a partner above it",
        base=100,
        scale=20,
    ),
    SlowProgramKind(
        NUMBER,
        "$y = 0\nfor i in range(2, $x + 1):\n    prime = True\n    for j in range(2, i):\n        if i % j == 0:\n"
        "            prime = False\n            break\n    if prime and ?(i):\n        $y += 1",
        "$y = 0\nprime = [True] * ($x + 1)\nfor i in range(2, $x + 1):\n    if prime[i]:\n        if ?(i):\n"
        "            $y += 1\n        for j in range(i * i, $x + 1, i):\n            prime[j] = False",
        "Every number is divided by all below it",
        "cross out the multiples of each prime (the sieve of Eratosthenes)",
        base=60,
        scale=1.5,
    ),
    SlowProgramKind(
        NUMBER,
        "$y = 1\nfor _ in range($x):\n    $y = $y * $c % $d",
        "$y, base, left = 1, $c, $x\nwhile left:\n    if left % 2 == 1:\n        $y = $y * base % $d\n"
        "    base = base * base % $d\n    left //= 2",
        "It multiplies as often as the exponent says",
        "square: each binary digit of the exponent needs a step or two",
        c=range(3, 30),
        d=range(101, 999, 2),
        base=100,
        scale=20,
    ),
    SlowProgramKind(
        NUMBER,
        "$y = 0\nfor i in range(1, $x + 1):\n    if i % $c == $d:\n        $y += i",
        "count = ($x - $d) // $c + 1\n$y = count * $d + $c * (count * (count - 1) // 2)",
        "It adds up one by one",
        "the numbers are at equal distances: count them, and use the formula for their sum",
        c=range(4, 12),
        d=range(1, 4),
        base=100,
        scale=20,
    ),
    SlowProgramKind(
        NUMBER,
        "$y = 1\nfor i in range(1, $x + 1):\n    if $x % i == 0 and $c % i == 0:\n        $y = i",
        "$y, rest = $c, $x\nwhile rest:\n    $y, rest = rest, $y % rest\nif $x == 0:\n    $y = 1",
        "All numbers up to the number are tried",
        "use Euclid's algorithm for the greatest common divisor",
        c=range(360, 2600, 20),
        base=100,
        scale=20,
    ),
    SlowProgramKind(
        NUMBER,
        "$y = 0\nfor i in range($x + 1):\n    for j in range(i, $x + 1):\n        if i * i + j * j == $x * $c:\n"
        "            $y += 1",
        "$y, low, high = 0, 0, $x\nwhile low <= high:\n    total = low * low + high * high\n    if total <= $x * $c:\n"
        "        if total == $x * $c:\n            $y += 1\n        low += 1\n    else:\n        high -= 1",
        "Every pair is tried",
        "move two places towards each other, by whether the sum is too small or too great",
        c=range(2, 30),
        scale=0.75,
    ),
    SlowProgramKind(
        TEXT,
        "$y = 0\nfor i in range(len($x)):\n    for j in range(i + 1, len($x) + 1):\n        part = $x[i:j]\n"
        "        if part == part[::-1] and len(part) > $c:\n            $y += 1",
        "$y = 0\nfor centre in range(2 * len($x)):\n    low, high = centre // 2, (centre + 1) // 2\n"
        "    while low >= 0 and high < len($x) and $x[low] == $x[high]:\n        if high - low >= $c:\n"
        "            $y += 1\n        low -= 1\n        high += 1",
        "Every part of the text is turned around",
        "grow from every middle as long as both ends are equal",
        c=range(0, 4),
        base=14,
        scale=0.4,
    ),
)
