"""Small programs on which counting must agree with Python: values, and kinds of errors."""

from __future__ import annotations

import textwrap

# Each is the value of an expression.
EXPRESSIONS = r"""
1 + 2 * 3 - 4
7 // 2, -7 // 2, 7 % 3, -7 % 3, 7 / 2
2 ** 10, 2 ** -1, (-8) ** 3, 0 ** 0
pow(3, 200, 7), pow(2, 100), pow(3, -1, 7)
pow(2, -1, 4)
1 / 0
1 // 0
5 % 0
1 << 10, 1023 >> 3, 6 & 3, 6 | 3, 6 ^ 3, ~5
1 << -1
-True, +3, not 0, not []
True + True, isinstance(True, int), isinstance(1, bool)
10 ** 30 // 7 ** 12, 10 ** 30 % 7 ** 12, 10 ** 30 - 10 ** 29
(10 ** 25) * (10 ** 25) - 1, 3 ** 100 & 2 ** 70, 3 ** 90 ^ 5, 3 ** 90 >> 20
"a" + "b" * 3, [1] * 3 + [2], (1,) + (2, 3), 3 * "ab", 0 * [1]
"a" + 1
1 + "a"
[1] + (2,)
"abc" * -1
"%d and %s" % (3, "x"), "%05.1f%%" % 2.25, "%x" % 255
"%d" % "a"
"%d %d" % (1,)
1 < 2 < 3, 1 < 2 > 3, 3 > 2 >= 2 == 2
1 < "a"
[1, 2] < [1, 3], (1, 2) == (1, 2), "a" < "b", {1, 2} < {1, 2, 3}, [1] == (1,)
{1: 2} == {1: 2.0}, [[1], [2]] == [[1], [2]], 1 == 1.0, "a" != "b"
{1: 2} < {1: 3}
None is None, 3 is not None, [] is []
3 in [1, 2, 3], "b" in "abc", 2 not in {1: 2}, 5 in range(10), 2.0 in range(3), (1, 2) in {(1, 2)}
[1] in [[1], [2]], (1,) in ((2,), (1,)), 1 in (1, 2), float("nan") in [float("nan")]
1 in "abc"
[] in {1}
1 in 5
3 in (x * x for x in range(3)), 3 in {1: 3}.values(), (1, 3) in {1: 3}.items()
1 and 0 or 2, None or "x", 0 and 1 / 0, 1 or 1 / 0, "" or [] or 0
1 if [] else 2, (1 if True else 1 / 0)
[1, 2, 3][0], [1, 2, 3][-1], "abc"[1], (1, 2)[True], range(10)[3], {"a": 1}["a"]
[1, 2, 3][5]
{"a": 1}["b"]
"abc"["a"]
5[0]
(x for x in [1])[0]
[1, 2, 3, 4, 5][1:3], [1, 2, 3][::-1], "hello"[1:-1], "hello"[::2], (1, 2, 3)[:2], range(10)[2:8:2]
[1, 2, 3][10:], [1, 2, 3][:-10], "abc"[5:], [1, 2, 3][-2:]
[1, 2, 3][::0]
[*range(3), *"ab"], (*[1], 2), {*[1, 2], 2}, {**{"a": 1}, "b": 2}
[*5]
{1: "a", 1: "b", True: "c"}
{[]: 1}
{[1]}
{(1, [2]): 3}
[x * x for x in range(5)], [x for x in range(10) if x % 2 if x > 3], [(x, y) for x in range(3) for y in range(x)]
{x % 3 for x in range(10)}, {x: x * x for x in range(4)}, sum(x for x in range(5)), list(x for x in "ab")
[[y for y in range(x)] for x in range(4)], [x for x in [y for y in range(3)]]
[z for x in range(3) if (z := x * 2) > 1], max((n := 5), 3)
[x for x in 5]
(lambda x, y=2: x + y)(1), (lambda *a, **k: (a, k))(1, 2, b=3), (lambda: 7)()
(lambda x: x)()
(lambda x: x)(1, 2)
(lambda x: x)(y=1)
(lambda x: x)(1, x=1)
[f(2) for f in [lambda x, k=k: x * k for k in range(3)]], [f() for f in [lambda: k for k in range(3)]]
f"{3} {'a'!r} {2.5:.2f} {7:>5} {7:<5}| {7:^5} {1234567:,} {255:x} {'s':*^7}", f"{3:{4}}", f"{[1, 'a']}"
f"{'a':d}"
"{} {1} {a}".format(1, 2, a=3)
"{0} {1} {a:>4} {b!r}".format(1, 2, a=3, b="x"), "{{}}".format(), "{:{}}".format(5, 4), "{}-{}".format(1, 2)
f"{'é'!a} {[1, 'ä']!a:>12}", "{!a}|{!s:>3}|{:{}}".format("ü", 1, 2, 3)
"{0} {}".format(1, 2)
"{!x}".format(1)
"{} {}".format(1)
"{a}".format(b=1)
abs(-3), abs(2.5), divmod(17, 5), divmod(-17, 5), round(2.5), round(3.14159, 2), round(1234, -2)
divmod(1, 0)
abs("a")
int("42"), int(" -7 "), int("ff", 16), int(3.9), int(-3.9), int(True), int("0b11", 0)
int("a")
int("")
int([])
int("9" * 5000)
float("2.5"), float(3), float("inf"), float("-1e3")
float("x")
str(12), str(1.5), str([1, "a"]), str(None), str(True), repr("a"), str({"a": (1,)}), str((1,)), str({1}), str("x")
bool(0), bool(""), bool([0]), bool(0.0), bool(None)
chr(97), ord("a"), bin(10), hex(255), oct(8), bin(-3)
ord("ab")
chr(-1)
sum([1, 2, 3]), sum([1.5, 2]), sum([[1], [2]], []), sum((1, 2), 10), sum(range(5)), sum({1: 2, 3: 4})
sum([(1,), (2,)], ())
sum(["a"])
sum(["a"], "")
sum(5)
min(3, 1, 2), max([4, 9, 2]), min("hello"), max([], default=7), min([(2, 1), (1, 5)]), max("a", "b", key=ord)
max(["aa", "b", "cc"], key=len), min([3, -4, 2], key=abs), min({3: 1, 2: 5}), max(1, 2.5), max(range(3), default=1)
min([])
max()
max(1, "a")
max(3)
min(1, 2, default=3)
len([1, 2]), len("abc"), len({1: 2}), len(range(0, 10, 3)), len({1, 2}), len(())
len(5)
len(x for x in [1])
list("abc"), tuple([1, 2]), sorted(set([1, 2, 1])), dict([(1, 2), (3, 4)]), dict(a=1, b=2), dict({1: 2})
list({1: 2}), list(range(3))
list(5)
dict([1])
dict([(1, 2, 3)])
tuple((1, 2)), list(), dict(), set(), str(), int(), float(), bool(), tuple(), frozenset([1]) == {1}
sorted([3, 1, 2]), sorted("hello"), sorted([3, 1, 2], reverse=True), sorted(["b", "aa"], key=len)
sorted({3: 1, 1: 2})
sorted([(1, "b"), (1, "a"), (0, "c")]), sorted([(2, "x"), (1, "y"), (2, "a")], key=lambda p: p[0])
sorted([1, 2, 1], key=lambda x: -x, reverse=True)
sorted([1, "a"])
sorted([[2], [1, 5], [1]]), sorted(["bb", "b", "abc"]), sorted([1.5, 1, True])
list(reversed([1, 2, 3])), list(reversed("abc")), list(reversed(range(3))), list(enumerate("ab"))
list(enumerate([5], 1)), list(enumerate("ab", start=3))
reversed({1, 2})
list(zip([1, 2], "ab")), list(zip()), list(zip([1, 2, 3], [4, 5])), dict(zip("ab", [1, 2]))
list(zip(*[[1, 2], [3, 4]]))
list(zip([1], [2, 3], strict=True))
list(map(str, [1, 2])), list(map(lambda a, b: a + b, [1, 2], [3, 4])), list(filter(None, [0, 1, 2]))
list(filter(lambda x: x > 1, [1, 2, 3]))
list(map(5, [1]))
list(map(len, [1]))
all([1, 2]), all([]), any([0, 0]), any(x > 2 for x in range(5)), all(x < 3 for x in range(5))
next(iter([1, 2])), next(iter([]), 5), list(iter("ab"))
next(iter([]))
next([1])
isinstance(1, (int, str)), isinstance("a", str), isinstance([], (tuple, dict)), isinstance({}, dict)
callable(len), callable(3)
isinstance(1, 5)
range(5) == range(0, 5), list(range(5, 0, -2)), range(3)[-1], list(range(2, 5))
range(1, 2, 0)
range("a")
"Hello World".lower(), "hello".upper(), "a b".title(), "abc".capitalize(), "aBc".swapcase(), "x".casefold()
" a ".strip(), "xxaxx".strip("x"), " a".lstrip(), "a ".rstrip(), "abc".removeprefix("a"), "abc".removesuffix("c")
"a,b,c".split(","), " a  b ".split(), "a,b".split(",", 1), "a\nb".splitlines(), "a-b-c".partition("-")
"a-b-c".rpartition("-"), "a,b,c".rsplit(",", 1)
"abc".split("")
",".join(["a", "b"]), "".join(c for c in "abc"), "-".join("ab")
",".join([1])
"banana".count("an"), "banana".find("n"), "banana".find("n", 3), "banana".rfind("a"), "banana".index("n")
"banana".find("x")
"banana".index("x")
"banana".replace("a", "o"), "banana".replace("a", "o", 1), "aaa".replace("", "-"), "abc".replace("x", "y")
"abc".startswith("a"), "abc".endswith(("c", "d")), "abc".startswith("b", 1), "a1".isalnum(), "ab".isalpha()
"12".isdigit(), " ".isspace()
"a".islower(), "A".isupper(), "Ab".istitle(), "5".zfill(3), "a".center(5, "*"), "a".ljust(3) + "|"
"a".rjust(3), "a\tb".expandtabs(4)
"abc".translate(str.maketrans("ab", "xy")), "abc".translate({97: None}), "abc".translate({97: "zz"})
"abc".nothing
"abc".nothing()
[].nothing
(5).nothing
[1, 2, 3].index(2), [1, 2, 1].count(1), (1, 2).index(2), (1, 1).count(1), [1, 2, 1].index(1, 1), [[1], [2]].index([2])
[1, 2].index(5)
[].pop()
{}.popitem()
set().pop()
[1].remove(2)
{1: 2}.get(1), {1: 2}.get(3), {1: 2}.get(3, 4), {1: 2}.pop(1), {}.pop(1, 5), {}.setdefault(1, 2), list({1: 2}.items())
{}.pop(1)
{1: 2}.keys() & {1, 3}, {1, 2} | {3}, {1, 2} & {2}, {1, 2} - {2}, {1, 2} ^ {2, 3}, {1: 2} | {3: 4}
{1} | [2]
{1, 2}.union([3], (4,)), {1, 2}.intersection([2]), {1, 2}.difference([1]), {1}.symmetric_difference([2])
{1}.issubset([1, 2]), {1, 2}.issuperset([1]), {1}.isdisjoint([2])
{1}.union(5)
{1, 2}.isdisjoint({2}), frozenset([1, 2]) | {3}, frozenset([1]).union([2]), {1, 2} <= {1, 2}, {1, 2} >= {1}, {1} > {2}
dict.fromkeys("ab", 0), dict.fromkeys([1, 2]), list(map(str.upper, ["a"])), sorted(["B", "a"], key=str.lower)
str.upper(5)
(5).bit_length(), (5).bit_count(), (2.0).is_integer(), (10 ** 30).bit_length()
[i for i in range(3)] + [j for j in range(2)], {i: [j for j in range(i)] for i in range(3)}
undefined
undefined()
5()
"a"()
[1, 2](0)
print("a", 1, sep="-")
1e308 * 10, 10.0 ** 2, 7.5 // 2, 7.5 % 2, -7.5 // 2, 0.1 + 0.2
10.0 ** 400
1 if 2 else 3, (1, 2, 3)[1:], ("a" "b")
ValueError("a").args, str(KeyError("a")), str(ValueError("x", 1)), isinstance(ValueError(), Exception)
"""

# Each is the body of a function f of no arguments.
BODIES = r"""
x = y = [1]
x += [2]
return x, y
---
a, (b, *c), d = 1, [2, 3, 4], 5
return a, b, c, d
---
a, b = 1, 2
a, b = b, a
return a, b
---
a, b = [1, 2, 3]
---
a, b = [1]
---
a, *b = []
---
a, b = 5
---
a, b = iter([1, 2])
*c, d = iter("xyz")
return a, b, c, d
---
a, b = iter([1, 2, 3])
---
x = [1, 2, 3]
x[0], x[-1] = x[-1], x[0]
x[1] += 5
return x
---
x = [0, 1, 2, 3, 4]
x[1:3] = "abc"
x[::2] = [9, 9, 9]
del x[0], x[-1]
del x[1:2]
return x
---
x = [0, 1, 2, 3]
x[::2] = [1]
---
x = [1]
x[5] = 2
---
x = (1,)
x[0] = 2
---
x = "abc"
x[0] = "b"
---
d = {}
d["a"] = 1
d["a"] += 1
d["b"] += 1
---
d = {1: [2]}
d[1].append(3)
del d[1]
d.update({4: 5}, a=6)
d.update([(7, 8)])
return d
---
del missing
---
d = {}
del d[1]
---
x = 1
del x
return x
---
total = 0
for i in range(10):
    if i == 3:
        continue
    if i == 6:
        break
    total += i
else:
    total = -1
return total, i
---
for i in []:
    pass
else:
    return "else"
---
n = 5
while n:
    n -= 1
    if n == 2:
        break
else:
    return "done"
return n
---
n = 3
while n > 0:
    n -= 1
else:
    n = 9
return n
---
for a, (b, c) in [(1, (2, 3)), (4, (5, 6))]:
    x = a, b, c
return x
---
x = [1, 2, 3]
for v in x:
    if len(x) < 6:
        x.append(v)
return x
---
d = {1: 2}
for k in d:
    d[k + 1] = 3
---
for i in 5:
    pass
---
if 0:
    return 1
elif []:
    return 2
else:
    return 3
---
return
---
pass
---
def g(n):
    return 1 if n < 2 else n * g(n - 1)
return g(10)
---
def fib(n):
    if n < 2:
        return n
    return fib(n - 1) + fib(n - 2)
return [fib(i) for i in range(10)]
---
def g(n):
    return g(n + 1)
return g(0)
---
def g(a, b=2, *c, d, e=5, **k):
    return a, b, c, d, e, k
return g(1, d=4), g(1, 2, 3, d=4, z=6), g(*[1, 2], **{"d": 3})
---
def g(a, b=2, *, c):
    return a
return g(1)
---
def g(a, /, b):
    return a, b
return g(1, b=2)
---
def g(a, /):
    return a
return g(a=1)
---
def g(a):
    return a
return g(**{"b": 1})
---
def g(x, seen=[]):
    seen.append(x)
    return seen
g(1)
return g(2)
---
count = 0
def up():
    nonlocal count
    count += 1
    return count
up()
return up(), count
---
def up():
    count += 1
count = 0
up()
---
def make(k):
    def add(x):
        return x + k
    return add
return [make(i)(10) for i in range(3)]
---
def outer():
    def inner():
        return later
    later = 5
    return inner()
return outer()
---
def outer():
    def inner():
        return later
    r = inner()
    later = 5
    return r
return outer()
---
fs = []
for i in range(3):
    fs.append(lambda: i)
return [g() for g in fs]
---
x = 5
y = [x for x in range(3)]
return x, y
---
x = 1
def g():
    x = 2
    def h():
        nonlocal x
        x = 3
    h()
    return x
return g(), x
---
try:
    1 / 0
except ZeroDivisionError as e:
    r = "zero"
else:
    r = "else"
finally:
    s = "finally"
return r, s
---
try:
    r = 1
except ValueError:
    r = 2
else:
    r = 3
return r
---
try:
    [][1]
except (KeyError, IndexError):
    return "caught"
---
try:
    {}["a"]
except LookupError as e:
    return e.args
---
try:
    raise ValueError("x")
except KeyError:
    return 1
---
try:
    try:
        raise ValueError("x")
    finally:
        x = 1
except ValueError as e:
    return str(e), x
---
def g():
    try:
        return 1
    finally:
        pass
return g()
---
def g():
    try:
        return 1
    finally:
        return 2
return g()
---
def g():
    for i in range(3):
        try:
            continue
        finally:
            if i == 1:
                break
    return i
return g()
---
try:
    raise ValueError
except ValueError as e:
    x = e
return x.args
---
try:
    int("a")
except Exception:
    raise KeyError("b")
---
try:
    int("a")
except ValueError:
    raise
---
raise
---
raise 5
---
raise RuntimeError("x") from ValueError("y")
---
try:
    raise ValueError([1, "a"], 2)
except ValueError as e:
    return str(e), f"{e}", repr(e), isinstance(e, ValueError), str({1: 2}.items())
---
try:
    pass
except 5:
    pass
return 1
---
try:
    1 / 0
except 5:
    pass
---
try:
    1 / 0
except ZeroDivisionError as e:
    pass
return e
---
def g(n):
    try:
        return g(n + 1)
    except RecursionError:
        return "deep"
return g(0)
---
assert 1 == 1, "no"
assert [], "empty"
---
assert 1 == 2
---
from math import gcd, isqrt, comb, factorial, prod, floor, ceil, sqrt, inf, lcm, perm
return (
    gcd(12, 18), isqrt(17), comb(5, 2), factorial(5), prod([2, 3]), floor(-2.5), ceil(2.1), sqrt(16),
    inf, lcm(4, 6), perm(5, 2), gcd()
)
---
import math
return (
    math.pi > 3, math.log(1), math.gcd(0, 5), math.hypot(3, 4), math.prod(x for x in [2, 5]),
    math.perm(3), math.comb(3, 7), math.isclose(1, 1.5, abs_tol=1)
)
---
import math
return math.sqrt(-1)
---
import math
return math.factorial(-1)
---
import math as m
return m.isqrt(10 ** 40), m.floor(2.7), m.fsum([0.1] * 10)
---
from collections import Counter, defaultdict, deque
c = Counter("banana")
c.update("b")
c["z"] += 2
c.subtract("a")
return dict(c), c.most_common(2), c["missing"], sorted(c.elements()), c.total(), c + Counter("b"), c - Counter("aaaa")
---
from collections import Counter
return (
    Counter([1, 1, 2]) == {1: 2, 2: 1}, Counter(a=2)["a"], Counter({1: 5}).most_common(),
    sorted(Counter("ab") | Counter("bb"))
)
---
from collections import defaultdict
d = defaultdict(list)
d[1].append(2)
e = defaultdict(lambda: 7)
e[3] += 1
g = defaultdict(int, {5: 6})
return dict(d), dict(e), g[5], g[6], sorted(g), 9 in g
---
from collections import defaultdict
return defaultdict(None)[1]
---
from collections import deque
q = deque([1, 2, 3])
q.append(4)
q.appendleft(0)
a, b = q.pop(), q.popleft()
q.rotate(1)
q.extend([7])
q.extendleft([8, 9])
q[0] = 5
return a, b, list(q), len(q), q[1], 7 in q, q.index(7), list(deque("abc", maxlen=2)), deque([1]) == deque([1])
---
from collections import deque
return deque().popleft()
---
from collections import deque
return deque([1])[3]
---
from functools import reduce, lru_cache, cache, partial, cmp_to_key
@lru_cache(maxsize=None)
def fib(n):
    return n if n < 2 else fib(n - 1) + fib(n - 2)
@cache
def g(n):
    return n + 1
@lru_cache
def h(n, m=1):
    return n * m
return (
    reduce(lambda a, b: a * b, [1, 2, 3, 4]), fib(50), g(1), h(2), h(3, m=4), partial(pow, 2)(5),
    reduce(max, [], 0), sorted([3, 1, 2], key=cmp_to_key(lambda a, b: b - a))
)
---
from functools import reduce
return reduce(lambda a, b: a, [])
---
from functools import cache
@cache
def g(x):
    return 1
return g([])
---
from itertools import accumulate, combinations, product, permutations, chain
from itertools import islice, groupby, pairwise, count, repeat, cycle
return (
    list(accumulate([1, 2, 3])), list(combinations("abc", 2)), list(product([1, 2], "ab")),
    list(permutations([1, 2, 3], 2)), list(chain([1], "a")), list(islice(count(5), 3)),
    [(k, len(list(g))) for k, g in groupby("aabbb")], list(pairwise([1, 2, 3])), list(repeat(1, 3)),
    list(islice(cycle("ab"), 5))
)
---
from itertools import accumulate, chain, takewhile, dropwhile, zip_longest
from itertools import starmap, product, permutations, combinations_with_replacement, compress, groupby
return (
    list(accumulate([1, 5, 2], max)), list(accumulate([1, 2], lambda a, b: a * b, initial=3)),
    list(chain.from_iterable([[1], [2, 3]])), list(takewhile(lambda x: x < 3, [1, 2, 3, 1])),
    list(dropwhile(lambda x: x < 3, [1, 3, 1])), list(zip_longest([1], [2, 3], fillvalue=0)),
    list(starmap(pow, [(2, 3)])), list(product([0, 1], repeat=2)), list(permutations("ab")),
    list(combinations_with_replacement("ab", 2)), list(compress("abc", [1, 0, 1])),
    [(k, list(g)) for k, g in groupby([1, 3, 2], key=lambda x: x % 2)]
)
---
import bisect, heapq
a = [1, 3, 3, 5]
b = list(a)
bisect.insort(b, 4)
bisect.insort_left(b, 0)
h = [5, 2, 8]
heapq.heapify(h)
heapq.heappush(h, 1)
return (
    bisect.bisect(a, 3), bisect.bisect_left(a, 3), bisect.bisect_right(a, 9), b, heapq.heappop(h), h,
    heapq.nlargest(2, [4, 9, 1]), heapq.nsmallest(2, "hello"), heapq.heapreplace(h, 7),
    heapq.heappushpop(h, 0), list(heapq.merge([1, 4], [2, 3])),
    bisect.bisect_left([(1, 2), (3, 4)], 3, key=lambda p: p[0])
)
---
from heapq import heappop
return heappop([])
---
from operator import itemgetter, add, mul
return sorted([(1, 2), (0, 5)], key=itemgetter(1)), add(1, 2), mul("a", 2), itemgetter(0, 1)([7, 8])
---
import string
from typing import List
def g(x: List[int]) -> int:
    y: int = 5
    z: str
    return x[0] + y
return g([1]), string.ascii_lowercase[:3]
---
def gen(n):
    for i in range(n):
        if i % 2:
            yield i
    yield -1
return list(gen(6)), sum(gen(4)), next(gen(2))
---
def gen():
    x = 0
    while True:
        x += 1
        if x > 3:
            return
        yield x
        yield from [x] * x
return list(gen())
---
def tree(n):
    if n == 0:
        yield 0
        return
    yield from tree(n - 1)
    yield n
    yield from tree(n - 1)
return list(tree(3))
---
def gen():
    yield 1
    raise ValueError("x")
return list(gen())
---
def gen():
    yield
    return 5
return list(gen())
---
def gen():
    raise StopIteration
    yield 1
return list(gen())
---
g = (x for x in [1, 2, 3])
a = next(g)
return a, list(g), list(g)
---
g = (1 // x for x in [1, 0])
next(g)
next(g)
---
x = {1, 2}
x |= {3}
x -= {1}
x &= {2, 3}
x ^= {9}
x.add(4)
x.discard(100)
x.update([5], [6])
x.remove(2)
return sorted(x), x.copy() == x
---
x = {1}
x.remove(5)
---
x = [3, 1, 2]
y = x
x.sort()
x.reverse()
x.extend([0])
x.insert(1, 9)
x.remove(0)
p = x.pop(0)
z = x.copy()
x.clear()
return y, p, z, x
---
x = [1, 2]
x.sort(key=lambda v: -v)
x *= 2
return x
---
x = [1, "a"]
x.sort()
---
x = [1, 2]
x += 5
---
x = "a"
x += "b"
x *= 2
return x
---
x = None
x += 1
---
x = 7
x //= 2
x **= 2
x %= 5
x <<= 3
x |= 1
x ^= 2
x &= 30
x >>= 1
x /= 2
x -= 1
return x
---
global_name = 1
def g():
    return global_name
return g()
---
return [y := 1, y ** 2], y
---
if (n := 10) > 5:
    return n
---
def g():
    return [last := v for v in range(3)], last
return g()
---
x = [[0] * 2 for _ in range(2)]
x[0][1] = 5
x[1][0] += 3
m = [[0]] * 2
m[0][0] = 1
return x, m, [list(r) for r in zip(*x)]
---
x = [1]
x.append(x)
return x[1][0]
---
lines = "b 2\na 1".split("\n")
table = {k: int(v) for k, v in (line.split() for line in lines)}
return sorted(table.items(), key=lambda kv: kv[1])
---
def sieve(n):
    flags = [True] * (n + 1)
    flags[0:2] = [False, False]
    for i in range(2, int(n ** 0.5) + 1):
        if flags[i]:
            flags[i * i :: i] = [False] * len(flags[i * i :: i])
    return [i for i, flag in enumerate(flags) if flag]
return sieve(50)
---
def merge(a):
    if len(a) < 2:
        return a, 0
    m = len(a) // 2
    (x, p), (y, q) = merge(a[:m]), merge(a[m:])
    r, i, j, c = [], 0, 0, p + q
    while i < len(x) and j < len(y):
        if x[i] <= y[j]:
            r.append(x[i])
            i += 1
        else:
            r.append(y[j])
            j += 1
            c += len(x) - i
    return r + x[i:] + y[j:], c
return merge([5, 2, 4, 1, 3])
---
def permute(items):
    if not items:
        return [[]]
    return [[v, *rest] for i, v in enumerate(items) for rest in permute(items[:i] + items[i + 1 :])]
return permute([1, 2, 3])
---
memo = {}
def ways(n, k):
    if (n, k) in memo:
        return memo[n, k]
    if n == 0:
        return 1
    if n < 0 or k == 0:
        return 0
    memo[n, k] = ways(n - k, k) + ways(n, k - 1)
    return memo[n, k]
return ways(20, 20)
---
from collections import deque
def bfs(grid):
    q, seen = deque([(0, 0, 0)]), {(0, 0)}
    while q:
        r, c, d = q.popleft()
        if (r, c) == (2, 2):
            return d
        for dr, dc in ((0, 1), (1, 0), (0, -1), (-1, 0)):
            nr, nc = r + dr, c + dc
            if 0 <= nr < 3 and 0 <= nc < 3 and grid[nr][nc] == "." and (nr, nc) not in seen:
                seen.add((nr, nc))
                q.append((nr, nc, d + 1))
    return -1
return bfs(["..#", "#..", "..."])
---
def power(b, e, m):
    r = 1
    while e:
        if e & 1:
            r = r * b % m
        b, e = b * b % m, e >> 1
    return r
return power(3, 10 ** 18, 10 ** 9 + 7)
---
return len(str(2 ** 1000)), sum(map(int, str(3 ** 50)))
---
def apply(f, *args, **kwargs):
    return f(*args, **kwargs)
return apply(sorted, [3, 1], reverse=True), apply(dict, a=1), apply(max, 1, 5)
---
return sorted([3, 1], reversed=True)
---
return len([1], [2])
---
return "a".join()
---
return [].append(1, 2)
---
return max([1], key=5)
---
return int("5", base=8), "a,b".split(sep=","), round(number=2.7), sum([1], start=5)
---
def a(n):
    return True if n == 0 else b(n - 1)
def b(n):
    return False if n == 0 else a(n - 1)
return a(10), b(7)
---
def deco(f):
    def g(*args):
        return f(*args) + 1
    return g
@deco
@deco
def h(x):
    return x
return h(1)
---
import math, operator
return list(map(operator.neg, [1, -2])), math.inf > 10 ** 100, operator.eq(1, 1), operator.contains([1], 1)
---
x = 5
def g(x):
    x += 1
    return x
return g(x), x
---
return {k: v for k, v in sorted({"b": 1, "a": 2}.items())}, {v: k for k, v in {"x": 1}.items()}
---
total = 0
for i, (a, b) in enumerate(zip([1, 2], [3, 4])):
    total += i * a * b
return total
---
items = [3, 1, 2]
for i in range(len(items)):
    for j in range(len(items) - 1 - i):
        if items[j] > items[j + 1]:
            items[j], items[j + 1] = items[j + 1], items[j]
return items
---
d = {}
for w in "the cat the dog".split():
    d.setdefault(w, []).append(len(d))
return d, max(d, key=lambda w: len(d[w])), list(d.values()), dict.get(d, "cat")
"""


def programs() -> list[str]:
    """All of them, each with a function f of no arguments."""
    values = [f"def f():\n    return ({line})" for line in EXPRESSIONS.strip().split("\n")]
    bodies = [textwrap.indent(body.strip("\n"), "    ") for body in BODIES.split("\n---\n")]
    return [*values, *[f"def f():\n{body}" for body in bodies]]
