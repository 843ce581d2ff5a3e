from __future__ import annotations

import contextlib
import socket
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from palaestra.envs.sandbox import Job, Sandbox
from palaestra.envs.sandbox.docker import DockerSandbox

from .attacks import PATIENT, USE, Attack
from .attacks_on_containers import IN_A_CONTAINER
from .attacks_on_walls import SECRET, WALLS
from .backends import SAFE, started
from .containment import assert_contained

ATTACKS = [*USE, *WALLS]


@pytest.fixture(scope="module", params=SAFE)
def only(request: pytest.FixtureRequest) -> Iterator[list[Sandbox]]:
    """A list of the one sandbox of all attacks."""
    with (
        pytest.MonkeyPatch.context() as patch,
        socket.socket(socket.AF_UNIX) as listening,
        open(Path(tempfile.gettempdir()) / "palaestra-secret", "w") as secret,
    ):
        patch.setenv("PALAESTRA_SECRET", SECRET)
        # Where the tests run in several processes, one of them listens for all.
        with contextlib.suppress(OSError):
            listening.bind("\0palaestra-attack")
            listening.listen()
        secret.write(SECRET)
        only = [started(request.param)]
        yield only
        only[0].close()
        Path(secret.name).unlink(missing_ok=True)


@pytest.fixture
def sandbox(only: list[Sandbox], request: pytest.FixtureRequest) -> Sandbox:
    """The sandbox, started anew if it was lost, so that one attack fails and not all after it."""
    if getattr(only[0], "lost", False):  # a sandbox of containers starts another one by itself
        only[0] = started(request.node.callspec.params["only"])
    return only[0]


def test_there_are_sixty_attacks_of_different_names() -> None:
    assert len({attack.name for attack in ATTACKS}) == len(ATTACKS) >= 60


def test_descriptors_under_way_die_with_their_run(sandbox: Sandbox) -> None:
    send = "import socket\none, other = socket.socketpair()\nfor _ in range({}): "
    send += "socket.send_fds(one, [b'x'], [one.fileno(), other.fileno()])\nprint('sent')"
    for _ in range(4):
        # A user has as many under way as one process may have files.
        assert sandbox.run(Job(send.format(30)), PATIENT).stdout == "sent\n"


@pytest.mark.parametrize("attack", ATTACKS, ids=lambda attack: attack.name)
def test_attack_is_contained_and_the_next_program_is_not_affected(attack: Attack, sandbox: Sandbox) -> None:
    assert_contained(IN_A_CONTAINER.get(attack.name, attack) if isinstance(sandbox, DockerSandbox) else attack, sandbox)
