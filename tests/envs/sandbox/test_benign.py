from __future__ import annotations

from collections.abc import Iterator

import pytest
from palaestra.envs.sandbox import Job, Sandbox

from .backends import SAFE, started
from .benign import CORE, Benign
from .benign_libraries import LIBRARY

BENIGN = [*CORE, *LIBRARY]


@pytest.fixture(scope="module", params=SAFE)
def sandbox(request: pytest.FixtureRequest) -> Iterator[Sandbox]:
    sandbox = started(request.param)
    yield sandbox
    sandbox.close()


def test_there_are_sixty_programs_of_different_names() -> None:
    assert len({program.name for program in BENIGN}) == len(BENIGN) >= 60


@pytest.mark.parametrize("program", BENIGN, ids=lambda program: program.name)
def test_program_is_accepted_with_its_exact_output(program: Benign, sandbox: Sandbox) -> None:
    result = sandbox.run(Job(program.source, program.stdin, program.files), program.limits)
    assert result.valid
    assert (result.stdout, result.exit_code) == (program.stdout, program.code), result.stderr
    rest = result.stderr
    for part in program.stderr:
        assert part in rest
        rest = rest.partition(part)[2]
    assert program.stderr or not rest
