"""The contract of every environment as tests, for pytest: what the ids of this package pass, and those of others can.

A test file of one's own has two lines beside the import of its environments:

    from palaestra.envs.testing import *

    IDS = ["mine/Doubling-v0"]

and above them ``pytest.register_assert_rewrite("palaestra.envs.testing")``, for the values in failed comparisons.
`interface` is about what Gymnasium and learners see, `parameters` about axes, `tasks` about what is asked, `prompts`
about how it is put. Importing it needs pytest.
"""

from . import interface, parameters, prompts, tasks
from .playing import pytest_generate_tests

TESTS = {
    name: test
    for room in (interface, parameters, tasks, prompts)
    for name, test in vars(room).items()
    if name.startswith("test_")
}
globals().update(TESTS)
__all__ = ["pytest_generate_tests", *TESTS]  # pyright: ignore[reportUnsupportedDunderAll]
