from collections.abc import Callable, Mapping
from typing import Any

from numpy.typing import ArrayLike

def linprog(
    c: ArrayLike,
    A_ub: Any = ...,
    b_ub: ArrayLike | None = ...,
    A_eq: Any = ...,
    b_eq: ArrayLike | None = ...,
    bounds: Any = ...,
    method: str = ...,
    callback: Callable[..., Any] | None = ...,
    options: Mapping[str, Any] | None = ...,
    x0: ArrayLike | None = ...,
    integrality: ArrayLike | None = ...,
) -> Any: ...
def minimize(
    fun: Callable[..., Any],
    x0: ArrayLike,
    args: tuple[Any, ...] = ...,
    method: str | None = ...,
    jac: Any = ...,
    hess: Any = ...,
    hessp: Any = ...,
    bounds: Any = ...,
    constraints: Any = ...,
    tol: float | None = ...,
    callback: Callable[..., Any] | None = ...,
    options: Mapping[str, Any] | None = ...,
) -> Any: ...
