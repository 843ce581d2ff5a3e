"""The names of sympy that this project uses.

Its expressions have attributes that no type states, and to infer types from its source takes a quarter of pyright's
time. Misspelt names are still found.
"""

from typing import Any

Abs: Any
Add: Any
Dummy: Any
E: Any
I: Any
Integer: Any
Mul: Any
Pow: Any
Rational: Any
Symbol: Any
acos: Any
asin: Any
asinh: Any
atan: Any
binomial: Any
cancel: Any
ceiling: Any
combsimp: Any
cos: Any
cosh: Any
cot: Any
coth: Any
csc: Any
csch: Any
exp: Any
expand: Any
expand_log: Any
factor: Any
factorial: Any
floor: Any
fraction: Any
gammasimp: Any
log: Any
minimal_polynomial: Any
pi: Any
radsimp: Any
sec: Any
sech: Any
sign: Any
simplify: Any
sin: Any
sinh: Any
sqrt: Any
sqrtdenest: Any
tan: Any
tanh: Any
together: Any
