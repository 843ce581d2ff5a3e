"""Pytest suite of the contract that every environment must keep, for the package's own environments and for yours.

Import your environments in a test file and add two lines:

    from palaestra.envs.testing import *

    IDS = ["mine/Doubling-v0"]

Call ``pytest.register_assert_rewrite("palaestra.envs.testing")`` above the import to see the values in failed
comparisons. `interface` tests the interface to Gymnasium and learners, `parameters` the axes, `tasks` the tasks and
`prompts` their wording. Importing this package needs pytest.
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
