"""An interpreter of Python that counts operations: a measure of a program's speed that is the same on every machine.

Each evaluated statement, each node of an expression, and each turn of a loop costs one step. An operation that goes
over a sequence in one step costs the length as well: sum, min, max, ``in`` of a list or text, slices, +, *, ==, copies,
join, count, index, making a list or set, ... (the whole length, even where it could stop early, except for ``in``,
index, any and all). Sorting n items costs n times the logarithm to the base 2 of n, rounded up. ``in`` of a set or dict
and access to its items cost nothing more, unless a key is a tuple. ``insert(i)`` and ``pop(i)`` of a list cost the
items that move. Numbers of more than 62 bits cost their 64-bit words; multiplying and dividing cost the product of
these. Comparing texts costs a step for eight characters.

The program is never executed by Python itself, and it can reach nothing of Python: no frames, no modules, no attributes
but the methods of plain values. The package imports nothing else of Palaestra, so that its source can be sent into a
sandbox.

from palaestra.envs.code.counting.counted_program import CountedProgram

CountedProgram("def f(n): return n + 1").call("f", [2], most=1_000)  # (3, 6)
"""
