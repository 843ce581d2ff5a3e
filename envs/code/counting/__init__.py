"""Programs run step by step, and the steps counted: a deterministic measure of how fast they are.

Each node of an expression and each statement that is evaluated costs one step, and each turn of a loop. What goes over
a sequence within one step costs its length as well: sum, min, max, ``in`` of a list or text, slices, +, *, ==, copies,
join, count, index, the making of a list or set, ... (all of it even where it could stop early, but for ``in``, index,
any and all). Sorting n items costs n times the logarithm to the base 2 of n, rounded up. ``in`` of a set or dict and
access to its items cost nothing more, where a key is no tuple. ``insert(i)`` and ``pop(i)`` of a list cost the items
that move. Numbers of more than 62 bits cost their 64-bit words, multiplied and divided the product of these. Texts are
compared, not copied, eight characters a step.

Nothing of a program is run by Python itself, and a program gets hold of nothing of Python: no frames, no modules, no
attributes but the methods of plain values. The package stands alone, so that it can be sent into a sandbox.

from palaestra.envs.code.counting.counted_program import Program

Program("def f(n): return n + 1").call("f", [2], most=1_000)  # (3, 6)
"""
