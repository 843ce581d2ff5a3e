from __future__ import annotations

import contextlib
import gc
import os
import signal
import socket
import struct
import subprocess
import sys
import threading
import time
import warnings
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from palaestra.envs import sandbox as package
from palaestra.envs.sandbox import Call, Job, Limits, Pool, Value, docker_engine, running
from palaestra.envs.sandbox import docker as backend
from palaestra.envs.sandbox.docker import DockerSandbox
from palaestra.envs.sandbox.docker_engine import OWNER, owner, remove_abandoned
from palaestra.envs.sandbox.docker_stream import ContainerStream
from palaestra.envs.sandbox.inside.container import ForwardedRun
from palaestra.envs.sandbox.inside.frames import CHANNELS
from palaestra.envs.sandbox.seccomp import guard_of_the_first_process, refused_calls, system_call_filter
from palaestra.errors import InputError, MissingExtra

from ...patience import PATIENCE, wait_until, with_more_time  # isort: skip
from .attacks import PATIENT, Attack
from .attacks_on_containers import ON_THE_FIRST_PROCESS
from .backends import started
from .containment import assert_contained

SIX = Job("print(6)")
LIMITS = Limits(seconds=60)


@pytest.fixture(scope="module")
def sandbox() -> Iterator[DockerSandbox]:
    sandbox = started("docker")
    assert isinstance(sandbox, DockerSandbox)
    yield sandbox
    sandbox.close()


@pytest.fixture
def client(sandbox: DockerSandbox):
    import docker

    client = docker.from_env()
    yield client
    client.close()


def ids(client) -> set[str]:
    return {found.id for found in client.containers.list(all=True, filters={"label": OWNER}, ignore_removed=True)}


@contextlib.contextmanager
def refused(message: str) -> Iterator[None]:
    """For where no engine answers: the package leaves the sockets that it could not connect to be collected."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ResourceWarning)
        with pytest.raises(InputError, match=message):
            yield
        gc.collect()


def printed(sandbox: DockerSandbox, source: str, limits: Limits = LIMITS) -> str:
    result = sandbox.run(Job(source), limits)
    assert result.ok, result
    return result.stdout


@pytest.mark.parametrize("attack", ON_THE_FIRST_PROCESS, ids=lambda attack: attack.name)
def test_the_first_process_withstands_programs_of_its_own_user(attack: Attack, sandbox: DockerSandbox):
    # Loose enough for a container to be killed and replaced in between.
    assert_contained(attack, sandbox)


def test_calls_input_and_files_reach_the_program(sandbox: DockerSandbox):
    program = "import sys\nprint(len(sys.stdin.buffer.read()), open('a/b.txt').read())\ndef f(x): return x, [x]\n"
    job = Job(program, "\u00e9" * 1_000_000, {"a/b.txt": "beside"}, (Call("f", (1,)), Call("f", ({2.5: "x"},))))
    result = sandbox.run(job, LIMITS)
    assert (result.stdout, result.exit_code, result.reason) == ("2000000 beside\n", 0, "exit")
    assert result.values == (Value((1, [1])), Value(({2.5: "x"}, [{2.5: "x"}])))


def test_a_program_without_input_reads_nothing(sandbox: DockerSandbox):
    source = "import os, stat, sys\nprint([sys.stdin.read()], stat.S_ISCHR(os.fstat(0).st_mode))"
    assert [printed(sandbox, source) for _ in range(2)] == ["[''] True\n"] * 2


def test_the_peak_of_memory_is_known_of_a_run_that_is_ended(sandbox: DockerSandbox):
    def check(seconds: float) -> None:
        result = sandbox.run(Job("hoard = bytearray(b'x') * (50 << 20)\nwhile True: pass"), Limits(seconds=seconds))
        assert result.reason == "time"
        assert 50 < result.peak_memory_mb < 80

    with_more_time(check)


def test_the_file_of_the_standard_input_can_be_read_by_name(sandbox: DockerSandbox):
    assert sandbox.run(Job("print(open('/dev/stdin').read())", "given"), LIMITS).stdout == "given\n"


@pytest.mark.parametrize(("size", "reason"), [(10_000, "exit"), (10_001, "output")])
@pytest.mark.parametrize("descriptor", [1, 2])
def test_output_may_be_as_long_as_its_limit(sandbox: DockerSandbox, descriptor: int, size: int, reason: str):
    source = f"import os\nfor n in range({size}): os.write({descriptor}, b'x')"
    result = sandbox.run(Job(source), replace(LIMITS, output_bytes=10_000))
    assert (result.reason, result.stdout + result.stderr) == (reason, "x" * 10_000)


def test_what_contains_programs_is_in_force(sandbox: DockerSandbox, client):
    limits = Limits(seconds=20, memory_mb=100, processes=7, files=50, disk_mb=3)
    status = printed(sandbox, "import os\nprint(os.getuid(), os.getgid(), open('/proc/self/status').read())", limits)
    user, group = map(int, status.split()[:2])
    assert min(user, group) >= 20_000
    lines = dict(line.split(":\t", 1) for line in status.splitlines() if ":\t" in line)
    assert {int(lines[name], 16) for name in ("CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb")} == {0}
    assert lines["NoNewPrivs"] == "1"
    assert lines["Seccomp"] == "2"
    assert printed(sandbox, "print(open('/proc/self/oom_score_adj').read())", limits) == "1000\n\n"
    source = "import os\nprint(*os.listdir('/sys/class/net'), os.statvfs('/').f_flag & os.ST_RDONLY)\n"
    assert printed(sandbox, source, limits) == "lo 1\n"
    source = (
        "import os\nfor f in ('/tmp', '/dev/shm'):\n    s = os.statvfs(f); print(s.f_blocks * s.f_bsize, s.f_files)"
    )
    assert printed(sandbox, source, limits) == f"{(3 << 20) + 4096} 52\n" * 2
    found = client.containers.get(sandbox.containers[-1])
    assert found.labels[OWNER] == owner()
    host = found.attrs["HostConfig"]
    assert host["Memory"] == host["MemorySwap"] == 132 << 20
    assert (host["PidsLimit"], host["NanoCpus"], host["CapDrop"]) == (8, 10**9, ["ALL"])
    assert (host["NetworkMode"], host["ReadonlyRootfs"], host["AutoRemove"]) == ("none", True, True)
    assert host["LogConfig"]["Type"] == "none"
    assert not host["Privileged"]
    assert not host["Binds"]


def test_every_container_has_a_user_of_its_own(sandbox: DockerSandbox):
    users = {printed(sandbox, "import os; print(os.getuid())", replace(LIMITS, processes=30 + n)) for n in range(2)}
    assert len(users) == 2


def test_a_container_is_kept_for_each_of_the_last_limits(sandbox: DockerSandbox, client):
    kinds = [replace(LIMITS, files=100 + n) for n in range(4)]
    for limits in kinds:
        sandbox.run(SIX, limits)
    kept = sandbox.containers
    assert len(kept) == 3
    sandbox.run(SIX, replace(kinds[1], seconds=5, output_bytes=7, value_bytes=7))
    assert sandbox.containers == [kept[1], kept[2], kept[0]]
    sandbox.run(SIX, kinds[0])
    assert sandbox.containers[:2] == [kept[2], kept[0]]
    # The engine may still be at it when the next container is ready.
    wait_until(lambda: kept[1] not in ids(client))


def test_a_container_in_which_nothing_is_left_is_used_again(sandbox: DockerSandbox):
    sandbox.run(SIX, LIMITS)
    (before,) = sandbox.containers[-1:]
    source = "import os, subprocess\nos.makedirs('a/b'); open('a/b/c', 'w').write('x'); os.symlink('/', 'a/d')\n"
    sandbox.run(Job(source + "open('/dev/shm/x', 'w').write('x')\nsubprocess.Popen(['/bin/sleep', '60'])"), LIMITS)
    assert printed(sandbox, "import os\nprint(os.listdir('/tmp') + os.listdir('/dev/shm'))") == "['program.py']\n"
    assert sandbox.containers[-1] == before


def test_a_container_that_cannot_be_cleaned_is_replaced(sandbox: DockerSandbox, client):
    sandbox.run(SIX, LIMITS)
    (before,) = sandbox.containers[-1:]
    assert sandbox.run(Job("import os\nos.mkdir('x'); open('x/y', 'w'); os.chmod('x', 0); print(6)"), LIMITS).ok
    assert before not in sandbox.containers
    wait_until(lambda: before not in ids(client))
    assert printed(sandbox, "import os\nprint(os.listdir('/tmp'))") == "['program.py']\n"


_SEARCH = """
import re
count = 0
with open("/proc/self/maps") as maps, open("/proc/self/mem", "rb", 0) as memory:
    for line in maps.readlines():
        first, last = (int(word, 16) for word in line.split()[0].split("-"))
        if " rw" in line and last < 1 << 63:
            memory.seek(first)
            try: count += len(re.findall(b"[z]yxxy-in-[msp]", memory.read(last - first)))
            except OSError: pass
print(count > 0)
"""


def test_no_run_finds_anything_of_another_in_its_memory(sandbox: DockerSandbox):
    told = "zyxxy-in-m zyxxy-in-p " * 100
    assert printed(sandbox, f"kept = {told!r}\n{_SEARCH}") == "True\n"
    program = f"import os\nprint({told!r} * 20)\nfor n in range(50): open('zyxxy-in-m' + str(n), 'w')\n"
    program += f"def f(x): return x + {told!r}\nos.write(2, {told!r}.encode())\n"
    calls = tuple(Call("f", ("zyxxy-in-s",)) for _ in range(3))
    assert len(sandbox.run(Job(program, "zyxxy-in-s" * 1000, {"x": told}, calls), LIMITS).values) == 3
    (before,) = sandbox.containers[-1:]
    assert printed(sandbox, _SEARCH) == "False\n"
    assert sandbox.containers[-1] == before


def test_runs_leak_nothing(sandbox: DockerSandbox):
    source = "print(*[w for w in open('/proc/1/status').read().split('\\n') if w.startswith(('VmRSS', 'FDSize'))])"

    def used() -> tuple[int, str, int]:
        words = printed(sandbox, source).split()
        return int(words[3]), words[1], len(os.listdir("/proc/self/fd"))

    for _ in range(20):
        sandbox.run(SIX, LIMITS)
    before = used()
    for n in range(300):
        program = "print('x' * 1000); open('x', 'w').write('x')\ndef f(x): return x"
        job = Job(program, "abc", {}, (Call("f", (n,), seconds=20.0),))
        assert sandbox.run(job, LIMITS).ok
    after = used()
    assert after[0] <= before[0] + 512
    assert after[1:] == before[1:]


@pytest.mark.parametrize("when", ["before", "during"])
def test_a_container_that_is_gone_is_a_failure_of_the_sandbox_and_the_next_run_has_another(
    sandbox: DockerSandbox, client, when: str
):
    sandbox.run(SIX, LIMITS)
    container = client.containers.get(sandbox.containers[-1])
    if when == "before":
        container.kill()
        wait_until(lambda: container.id not in ids(client))
        result = sandbox.run(SIX, LIMITS)
    else:
        timer = threading.Timer(0.5, container.kill)
        timer.start()
        result = sandbox.run(Job("print(7, flush=True)\nwhile True: pass"), LIMITS)
        timer.join()
    assert (result.valid, result.reason) == (False, "lost")
    assert sandbox.run(SIX, LIMITS).stdout == "6\n"
    assert container.id not in sandbox.containers


def test_a_pool_tries_again_when_a_container_is_gone(sandbox: DockerSandbox, client):
    made: list[DockerSandbox] = []

    def make() -> DockerSandbox:
        made.append(DockerSandbox())
        return made[-1]

    pool = Pool(make, workers=1)
    assert pool.submit(SIX, Limits()).result().ok
    client.containers.get(made[0].containers[0]).kill()
    assert pool.submit(SIX, Limits()).result().stdout == "6\n"
    assert len(made) == 2
    pool.close()
    assert [one.containers for one in made] == [[], []]


def test_a_container_that_does_not_answer_is_ended_from_outside(
    sandbox: DockerSandbox, client, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(backend, "GRACE", 1.0)

    def check(seconds: float) -> None:
        limits = replace(LIMITS, seconds=seconds)
        sandbox.run(SIX, limits)
        container = client.containers.get(sandbox.containers[-1])
        # After the program has begun, and long before its time is up.
        timer = threading.Timer(0.3 * seconds, container.pause)
        timer.start()
        begun = time.monotonic()
        result = sandbox.run(Job("print(7, flush=True)\nwhile True: pass"), limits)
        timer.join()
        assert (result.valid, result.reason, result.exit_code, result.stdout) == (True, "time", None, "7\n")
        assert seconds + 1 <= result.seconds <= time.monotonic() - begun
        wait_until(lambda: container.id not in ids(client))

    with_more_time(check)


class Relay:
    """A socket behind which the engine is, until it is cut off."""

    def __init__(self, place: str, engine: str):
        self.engine = engine.removeprefix("unix://")
        self.open: list[socket.socket] = []
        self.listening = socket.socket(socket.AF_UNIX)
        self.listening.bind(place)
        self.listening.listen()
        self.threads = [threading.Thread(target=self.accept)]
        self.threads[0].start()

    def accept(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                here = self.listening.accept()[0]
                there = socket.socket(socket.AF_UNIX)
                there.connect(self.engine)
                self.open += [here, there]
                for one, other in ((here, there), (there, here)):
                    self.threads.append(threading.Thread(target=self.pass_on, args=(one, other)))
                    self.threads[-1].start()

    def pass_on(self, one: socket.socket, other: socket.socket) -> None:
        with contextlib.suppress(OSError):
            while data := one.recv(1 << 16):
                other.sendall(data)
            other.shutdown(socket.SHUT_WR)

    def cut(self) -> None:
        for one in (self.listening, *self.open):
            with contextlib.suppress(OSError):
                one.shutdown(socket.SHUT_RDWR)
        for thread in self.threads:
            thread.join()
        for one in (self.listening, *self.open):
            one.close()


# The package leaves the sockets of a connection that is cut off to be collected.
@pytest.mark.filterwarnings("ignore::ResourceWarning")
def test_an_engine_that_is_lost_says_nothing_about_the_program(
    sandbox: DockerSandbox, client, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
):
    if not os.environ["DOCKER_HOST"].startswith("unix://"):
        pytest.skip("DOCKER_HOST names no socket of this machine")
    relay = Relay(f"{tmp_path}/socket", os.environ["DOCKER_HOST"])
    monkeypatch.setenv("DOCKER_HOST", f"unix://{tmp_path}/socket")
    other = DockerSandbox()
    there = other.containers
    timer = threading.Timer(0.5, relay.cut)
    timer.start()
    result = other.run(Job("print(7, flush=True)\nwhile True: pass"), LIMITS)
    timer.join()
    assert (result.valid, result.reason, result.stdout) == (False, "lost", "")
    again = other.run(SIX, LIMITS)
    assert (again.valid, again.reason) == (False, "lost")
    other.close()
    # The engine hears that nobody speaks to the container any more.
    wait_until(lambda: not ids(client) & {*there})
    with refused(r"no container engine answers at DOCKER_HOST=unix://.*Start Docker, or set"):
        DockerSandbox()
    gc.collect()


@pytest.mark.parametrize("host", ["unix:///nowhere", "tcp://127.0.0.1:1", "nonsense://x", ":::"])
def test_a_missing_engine_is_reported(monkeypatch: pytest.MonkeyPatch, host: str):
    monkeypatch.setenv("DOCKER_HOST", host)
    with refused(f"DOCKER_HOST={host}.* backend 'local'"):
        DockerSandbox()


def test_a_missing_package_is_reported(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setitem(sys.modules, "docker", None)
    with pytest.raises(MissingExtra, match=r"the sandbox backend 'docker' needs the extra \[code\]"):
        DockerSandbox()


def test_an_image_that_is_missing_or_cannot_run_programs_is_reported(sandbox: DockerSandbox, client):
    import io
    import tarfile

    with pytest.raises(InputError, match=r"does not have the image 'palaestra-nothing'.*PALAESTRA_SANDBOX_IMAGE"):
        DockerSandbox("palaestra-nothing")
    before = ids(client)
    empty = io.BytesIO()
    tarfile.open(fileobj=empty, mode="w").close()
    for name, changes in (("palaestra-empty", []), ("palaestra-volume", ["VOLUME /data"])):
        client.api.import_image_from_data(empty.getvalue(), repository=name, tag="latest", changes=changes)
    with pytest.raises(InputError, match=r"in the image 'palaestra-empty'.*python3, 3\.10 or newer"):
        DockerSandbox("palaestra-empty")
    with pytest.raises(InputError, match=r"'palaestra-volume' declares volumes \(/data\)"):
        DockerSandbox("palaestra-volume")
    wait_until(lambda: ids(client) == before)


_CHILD = """
import sys, time
from palaestra.envs.sandbox.docker import DockerSandbox
from palaestra.envs.sandbox import Job, Limits
sandbox = DockerSandbox()
print(*sandbox.containers, flush=True)
if sys.argv[1] == "running":
    sandbox.run(Job("while True: pass"), Limits(seconds=600))
time.sleep(600)
"""


@pytest.mark.parametrize("state", ["idle", "running"])
def test_a_process_that_crashes_leaves_no_container(sandbox: DockerSandbox, client, state: str):
    child = subprocess.Popen([sys.executable, "-c", _CHILD, state], stdout=subprocess.PIPE, text=True)
    assert child.stdout is not None
    with child.stdout:
        (made,) = child.stdout.readline().split()
    assert made in ids(client)
    if state == "running":
        time.sleep(0.3)
    child.send_signal(signal.SIGKILL)
    child.wait()
    wait_until(lambda: made not in ids(client))


def test_containers_of_processes_that_are_gone_are_removed_and_no_others(sandbox: DockerSandbox, client):
    place, process, begun = owner().rsplit(" ", 2)
    assert (int(process), len(begun) > 0) == (os.getpid(), True)
    gone = subprocess.Popen(["true"])
    gone.wait()
    stay = [owner(), f"elsewhere {gone.pid} 1", f"{place} {os.getppid()} {docker_engine._start_time(os.getppid())}"]
    go = [f"{place} {gone.pid} {begun}", f"{place} {process} {int(begun) - 1}"]
    image = os.environ["PALAESTRA_SANDBOX_IMAGE"]
    made = [client.containers.create(image, "python3", labels={OWNER: label}).id for label in (*stay, *go)]
    remove_abandoned(client)
    left = ids(client)
    assert [name in left for name in made] == [True] * len(stay) + [False] * len(go)
    for name in made[: len(stay)]:
        client.containers.get(name).remove()


def test_nothing_is_left_of_a_sandbox_that_is_closed(sandbox: DockerSandbox, client):
    descriptors = len(os.listdir("/proc/self/fd"))
    other = DockerSandbox()
    other.run(SIX, replace(PATIENT, files=40))
    made = {*other.containers}
    other.close()
    assert len(os.listdir("/proc/self/fd")) == descriptors
    assert len(made) == 2
    wait_until(lambda: not made & ids(client))


def test_the_backend_goes_by_its_name(sandbox: DockerSandbox):
    tests = [package.CallTest("double", (4,), 8), package.StdioTest("", "")]
    assert package.run_tests("def double(x): return 2 * x", tests, backend="docker").success
    running._POOLS.pop("docker").close()


def wrapped(channel: int, data: bytes) -> bytes:
    return struct.pack(">BxxxI", channel, len(data)) + data


@pytest.fixture
def ends() -> Iterator[tuple[ContainerStream, socket.socket]]:
    ours, theirs = socket.socketpair()
    with theirs:
        stream = ContainerStream(ours)
        stream.deadline = time.monotonic() + PATIENCE
        yield stream, theirs
        stream.close()


def test_frames_are_read_however_the_engine_cuts_them(ends: tuple[ContainerStream, socket.socket]):
    stream, theirs = ends
    data = struct.pack("<BI", 1, 5) + b"hello" + struct.pack("<BI", 0, 2) + b"{}"
    pieces = [data[:3], data[3:9], data[9:]]
    told = wrapped(1, pieces[0]) + wrapped(2, b"an error") + wrapped(1, pieces[1]) + wrapped(1, pieces[2])
    thread = threading.Thread(target=lambda: [theirs.send(told[n : n + 1]) for n in range(len(told))])
    thread.start()
    found = [bytearray(), bytearray(b"kept")]
    assert stream.report(found, [5, 4]) == b"{}"
    assert found == [b"hello", b"kept"]
    assert stream.errors == b"an error"
    thread.join()


@pytest.mark.parametrize(("channel", "size"), [(1, 3), (2, 1), (3, 1), (255, 0), (0, 1 << 20)])
def test_a_container_that_sends_too_much_is_dropped(
    ends: tuple[ContainerStream, socket.socket], channel: int, size: int
):
    stream, theirs = ends
    theirs.send(wrapped(1, struct.pack("<BI", 1, 3) + b"abc" + struct.pack("<BI", channel, size)))
    with pytest.raises(ValueError, match=f"{size} bytes of channel {channel}"):
        stream.report([bytearray(), bytearray()], [5, 0])


def test_a_stream_ends_with_its_container_and_its_time(ends: tuple[ContainerStream, socket.socket]):
    stream, theirs = ends
    stream.deadline = time.monotonic() + 0.05
    with pytest.raises(TimeoutError):
        stream.report([], [])
    with pytest.raises(TimeoutError):
        stream.write(b"x")
    stream.deadline = time.monotonic() + PATIENCE
    theirs.close()
    with pytest.raises(EOFError):
        stream.report([], [])


def test_the_first_process_never_waits_for_what_a_program_took_back():
    reading, writing = os.pipe()
    run = ForwardedRun({**dict.fromkeys(CHANNELS, 10), "seconds": 1, "program_seconds": None}, {}, b"", b"")
    run.pipes = [reading]
    told: list[int] = []
    thread = threading.Thread(target=lambda: told.append(run.take(0)), daemon=True)
    thread.start()
    thread.join(PATIENCE)
    assert told == [-1]
    for descriptor in (reading, writing, *run.between):
        os.close(descriptor)


def test_filters_are_made_for_the_machine_of_the_engine():
    for machine in ("x86_64", "aarch64"):
        named = {instruction[3] for instruction in struct.iter_unpack("=HBBI", system_call_filter(machine))}
        assert {*refused_calls(machine).values()} <= named
    for make in (system_call_filter, guard_of_the_first_process):
        codes = {make(machine) for machine in ("x86_64", "aarch64")}
        assert len(codes) == 2
        assert all(len(code) % 8 == 0 for code in codes)
        with pytest.raises(InputError, match="not of 'riscv64'"):
            make("riscv64")
