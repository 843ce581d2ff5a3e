"""Counting of the operations of Python programs, as a machine-independent measure of their speed.

Each evaluated statement, each node of an expression, and each turn of a loop costs one step. An operation that
traverses a sequence costs its length as well: sum, min, max, ``in`` of a list or text, slices, +, *, ==, copies, join,
count, index, making a list or set, ... (the whole length, even if it could stop early, except for ``in``, index, any
and all). Sorting n items costs n times the logarithm to the base 2 of n, rounded up. ``in`` of a set or dict and access
to its items cost nothing more, unless a key is a tuple. ``insert(i)`` and ``pop(i)`` of a list cost the items that
move. Numbers of more than 62 bits cost their 64-bit words; multiplying and dividing cost the product of these.
Comparing texts costs one step per eight characters.

Python runs a rewritten program, in which each operation is a call of a guard that charges for it. The program has no
access to Python's internals: no frames, no modules, no attributes except the methods of plain values. The package
imports nothing else from Palaestra, so that its source can be sent into a sandbox.

>>> from palaestra.envs.code.counting.counted_program import CountedProgram
>>> CountedProgram("def f(n): return n + 1").call("f", [2], most=1_000)
(3, 6)
"""
