"""What the sandbox "local" rests on, one wall at a time."""

from __future__ import annotations

import contextlib
import ctypes
import os
import signal
import struct
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import BinaryIO

import pytest
from palaestra.envs.sandbox import Job, Limits, bubblewrap, control_group, seccomp
from palaestra.envs.sandbox.bubblewrap import BubblewrapSandbox
from palaestra.envs.sandbox.inside import watch
from palaestra.errors import InputError

from ...patience import wait_until  # isort: skip
from .attacks_on_walls import KERNEL
from .backends import missing
from .test_nothing_left import descendants, settled

pytestmark = pytest.mark.skipif(bool(missing("local")), reason=missing("local"))

LIMITS = Limits(seconds=60)
# Goes on until the test has seen what it looks for.
UNTIL_SEEN = "\nimport os, time\nwhile not os.path.exists('/dev/shm/seen'): time.sleep(0.01)\n"


@pytest.fixture
def sandbox() -> Iterator[BubblewrapSandbox]:
    sandbox = BubblewrapSandbox()
    yield sandbox
    sandbox.close()


def supervisor(sandbox: BubblewrapSandbox) -> int:
    # bubblewrap twice, and the interpreter.
    return descendants(sandbox.pid)[2]


def see(sandbox: BubblewrapSandbox) -> None:
    """Let a program go on that waits until it is seen."""
    Path(f"/proc/{supervisor(sandbox)}/root/dev/shm/seen").touch()


@pytest.mark.parametrize("name", ["namespaces", "mounts", "capabilities"])
def test_wall_stands_without_the_filter_of_calls(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    # One instruction: allow.
    monkeypatch.setattr(bubblewrap, "system_call_filter", lambda: struct.pack("=HBBI", 6, 0, 0, 0x7FFF0000))
    sandbox = BubblewrapSandbox()
    attack = next(attack for attack in KERNEL if attack.name == name)
    result = sandbox.run(Job(attack.source), attack.limits)
    assert attack.contained(result), result
    assert sandbox.run(Job("import os; os.memfd_create('x'); print('no filter')"), LIMITS).stdout == "no filter\n"
    sandbox.close()


def test_numbers_of_calls_are_those_of_the_kernel() -> None:
    try:
        library = ctypes.CDLL("libseccomp.so.2")
    except OSError:
        pytest.skip("libseccomp2, Debian's package, is missing")
    library.seccomp_syscall_resolve_name_arch.argtypes = [ctypes.c_uint32, ctypes.c_char_p]
    names = seccomp.refused_calls("x86_64")
    assert len(names) > 80
    for machine, word in (("x86_64", 0xC000003E), ("aarch64", 0xC00000B7)):
        # Calls that are newer than that library have one number everywhere, from 424 on.
        for name in names:
            number = library.seccomp_syscall_resolve_name_arch(word, name.encode())
            ours = seccomp.refused_calls(machine).get(name, -1)
            assert ours == number if number >= 0 else ours == -1 or ours >= 424, name


def test_machine_whose_calls_are_not_known_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(InputError, match="riscv64"):
        seccomp.system_call_filter("riscv64")
    assert seccomp.system_call_filter("aarch64") != seccomp.system_call_filter("x86_64")


def test_files_of_a_run_are_removed_when_it_ends(sandbox: BubblewrapSandbox) -> None:
    program = "open('/tmp/x', 'wb').write(b'x' * (8 << 20)); open('/dev/shm/y', 'w').close()"
    assert sandbox.run(Job(program), LIMITS).ok
    root = Path(f"/proc/{supervisor(sandbox)}/root")
    # It is answered before that is done.
    assert settled(lambda: [*os.listdir(root / "tmp"), *os.listdir(root / "dev/shm")], []) == []


def test_end_of_a_run_is_not_waited_for_where_its_output_stays_open(sandbox: BubblewrapSandbox) -> None:
    job = Job("print('said', flush=True)" + UNTIL_SEEN)
    with ThreadPoolExecutor(1) as pool:
        run = pool.submit(sandbox.run, job, LIMITS)
        # bubblewrap twice, the interpreter, the first process of the run's namespace, and the program.
        assert settled(lambda: len(descendants(sandbox.pid)), 5) == 5
        try:
            kept = os.open(f"/proc/{descendants(sandbox.pid)[-1]}/fd/1", os.O_WRONLY)
        except PermissionError:
            pytest.skip("programs have a user whose files this one cannot open")
        finally:
            see(sandbox)
        result = run.result()
        os.close(kept)
    assert (result.stdout, result.reason, result.valid) == ("said\n", "exit", True)


def test_time_in_which_the_machine_stands_still_is_not_the_programs(sandbox: BubblewrapSandbox) -> None:
    # It works for a second, a little at a time, after it was seen.
    job = Job(UNTIL_SEEN + "for _ in range(100): time.sleep(0.01)\nprint('done')")
    with ThreadPoolExecutor(1) as pool:
        run = pool.submit(sandbox.run, job, Limits(seconds=3, program_seconds=3))
        wait_until(lambda: len(descendants(sandbox.pid)) == 5)
        everyone = descendants(sandbox.pid)
        see(sandbox)
        for number in (signal.SIGSTOP, signal.SIGCONT):
            for process in everyone:
                os.kill(process, number)
            time.sleep(3.5 if number == signal.SIGSTOP else 0)
        result = run.result()
    assert (result.stdout, result.reason) == ("done\n", "exit")
    assert result.seconds > 3.5


def test_a_program_has_no_more_than_a_few_seconds_of_its_supervisor_back(sandbox: BubblewrapSandbox) -> None:
    with ThreadPoolExecutor(1) as pool:
        run = pool.submit(sandbox.run, Job("import time; time.sleep(100)"), Limits(seconds=1, program_seconds=1))
        wait_until(lambda: len(descendants(sandbox.pid)) == 5)
        stops = 0
        while not run.done() and stops < 60:
            os.kill(supervisor(sandbox), signal.SIGSTOP)
            time.sleep(0.5)
            os.kill(supervisor(sandbox), signal.SIGCONT)
            time.sleep(0.05)
            stops += 1
        result = run.result()
    assert result.reason == "time"
    assert 2 <= stops <= 11  # of half a second each: a second of its own, and four


def test_memory_that_runs_out_takes_programs_first_and_then_the_supervisor(sandbox: BubblewrapSandbox) -> None:
    assert Path(f"/proc/{supervisor(sandbox)}/oom_score_adj").read_text() == "900\n"
    with ThreadPoolExecutor(1) as pool:
        run = pool.submit(sandbox.run, Job(UNTIL_SEEN), LIMITS)
        assert settled(lambda: len(descendants(sandbox.pid)), 5) == 5
        place = Path(f"/proc/{descendants(sandbox.pid)[-1]}/oom_score_adj")
        assert settled(place.read_text, "1000\n") == "1000\n"
        see(sandbox)
        assert run.result().ok


# Each process has thirty thousand mappings of nothing, which the kernel describes in memory of its own.
_MAPPINGS = """
import ctypes, os, time
libc = ctypes.CDLL(None)
libc.mmap.restype = ctypes.c_void_p
place = libc.mmap(None, ctypes.c_size_t(256 << 20), 0, 0x22, -1, ctypes.c_long(0))
for page in range(0, 60_000, 2):
    libc.mprotect(ctypes.c_void_p(place + 4096 * page), ctypes.c_size_t(4096), 1)
for _ in range(30):
    if os.fork() == 0: break
    os.write(1, b".")
time.sleep(60)
"""


def test_memory_that_the_kernel_holds_for_programs_is_bounded_by_a_control_group(sandbox: BubblewrapSandbox) -> None:
    if sandbox.group is None:
        pytest.skip("this process cannot make a control group")
    result = sandbox.run(Job(_MAPPINGS), Limits(seconds=20, memory_mb=32, disk_mb=1))
    assert (result.reason, result.valid) == ("memory", True)
    assert sandbox.run(Job("print(6 * 7)"), LIMITS).stdout == "42\n"
    folder = sandbox.group.folder
    assert folder.is_dir()
    sandbox.close()
    assert not folder.exists()


def test_groups_of_processes_that_were_killed_are_removed_and_no_others() -> None:
    group = control_group.make_group()
    if group is None:
        pytest.skip("this process cannot make a control group")
    abandoned = group.folder.with_name("palaestra-1-0-0")
    abandoned.mkdir()
    other = control_group.make_group()
    assert other is not None
    assert (abandoned.exists(), group.folder.exists(), other.folder.exists()) == (False, True, True)
    for one in (group, other):
        one.remove()
        assert not one.folder.exists()


def test_interpreter_keeps_to_a_few_cores(sandbox: BubblewrapSandbox) -> None:
    assert 1 <= len(os.sched_getaffinity(supervisor(sandbox))) <= 4
    assert os.sched_getaffinity(supervisor(sandbox)) <= os.sched_getaffinity(0)


def test_program_may_use_all_cores_of_the_interpreter(sandbox: BubblewrapSandbox) -> None:
    cores = os.sched_getaffinity(supervisor(sandbox))
    for _ in range(3):
        assert sandbox.run(Job("import os; print(os.sched_getaffinity(0))"), LIMITS).stdout == f"{cores}\n"
    assert os.sched_getaffinity(supervisor(sandbox)) == cores


def turn(pid: int) -> int:
    """Nanoseconds for which a process asks to have a core."""
    lines = Path(f"/proc/{pid}/sched").read_text().splitlines()
    return next((int(line.split()[-1]) for line in lines if line.startswith("se.slice")), 0)


@pytest.mark.skipif(not turn(os.getpid()), reason="this kernel has no turns that can be asked for")
def test_supervisor_asks_for_short_turns_and_programs_for_usual_ones(sandbox: BubblewrapSandbox) -> None:
    at = supervisor(sandbox)
    with ThreadPoolExecutor(1) as pool:
        run = pool.submit(sandbox.run, Job(UNTIL_SEEN), LIMITS)
        assert settled(lambda: [turn(pid) for pid in descendants(at)[2:]], [turn(os.getpid())]) == [turn(os.getpid())]
        assert turn(at) == 100_000
        see(sandbox)
        assert run.result().ok


def test_modules_are_loaded_beforehand_where_the_job_says_so_and_nowhere_else(sandbox: BubblewrapSandbox) -> None:
    loaded = "import sys; print('numpy' in sys.modules)"
    for _ in range(2):
        assert sandbox.run(Job(loaded, preload=("numpy", "no_such_module")), LIMITS).stdout == "True\n"
        assert sandbox.run(Job(loaded), LIMITS).stdout == "False\n"
    source = "import numpy as np\nprint(np.random.random(), np.random.default_rng().random())"
    draw = Job(source, preload=("numpy", "no_such_module"))
    drawn = [word for _ in range(3) for word in sandbox.run(draw, LIMITS).stdout.split()]
    assert len(set(drawn)) == 6


def test_limits_below_one_mebibyte_and_many_files_are_kept(sandbox: BubblewrapSandbox) -> None:
    program = "import os\nfor n in range(99):\n    open(f'{n}', 'wb', 0).write(b'x' * 65536); os.write(1, b'.')"
    assert sandbox.run(Job(program), Limits(seconds=20, disk_mb=0.5)).stdout == "." * 8
    assert sandbox.run(Job(program), Limits(seconds=20, files=9)).stdout == "." * 9


_BURST = """
import mmap, os, time
with open("/dev/shm/taken", "w+b") as file:
    file.truncate(4096)
    taken = mmap.mmap(file.fileno(), 4096)
wait, go = os.pipe()
for place in range(31):
    if os.fork() == 0:
        os.close(go)
        mine = mmap.mmap(-1, 200 << 20, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
        os.read(wait, 1)
        for n in range(200):
            mine[n << 20 : n + 1 << 20] = bytes(1 << 20)
            taken[8 * place] = n + 1
        time.sleep(60)
time.sleep(0.5)
os.close(go)
time.sleep(60)
"""


def opened(place: Path) -> BinaryIO:
    """A file, once there is one."""
    while True:
        with contextlib.suppress(FileNotFoundError):
            return place.open("rb")
        time.sleep(0.01)


def test_memory_of_many_processes_that_grow_at_once_is_bounded(sandbox: BubblewrapSandbox) -> None:
    place, taken = Path(f"/proc/{supervisor(sandbox)}/root/dev/shm/taken"), []
    # A busy machine may look too late once.
    for _ in range(3):
        with ThreadPoolExecutor(1) as pool:
            run = pool.submit(sandbox.run, Job(_BURST), Limits(seconds=20, processes=40, memory_mb=256))
            file = opened(place)
            with file:
                assert run.result().reason == "memory"
                taken.append(sum(file.read()))
            # It is answered before its files are removed.
            wait_until(lambda: not place.exists())
    assert 0 < min(taken) <= 2 * 256, taken


_SHARED = """
import os
shared = bytearray(b"x") * (megabytes << 20)
children = []
for place in range(6):
    children.append(os.fork())
    if children[-1] == 0:
        os._exit(sum(range(1_000_000)) % 251 + place)
print([os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) for child in children])
"""


@pytest.mark.parametrize("megabytes", [10, 60, 90], ids=["little", "half of the limit", "most of the limit"])
def test_memory_that_processes_share_counts_once(megabytes: int, sandbox: BubblewrapSandbox) -> None:
    want = [sum(range(1_000_000)) % 251 + place for place in range(6)]
    result = sandbox.run(Job(f"megabytes = {megabytes}{_SHARED}"), Limits(seconds=20, memory_mb=128))
    assert (result.stdout, result.reason) == (f"{want}\n", "exit")


# Four processes that share 40 MiB, and say that they are there.
_FOUR = """
import os, time
shared = bytearray(b"x") * (40 << 20)
os.fork(); os.fork()
os.write(1, b"%d\\n" % os.getpid())
while True: pass
"""


def test_processes_take_turns_near_the_limit_and_all_go_on_far_from_it() -> None:
    def stands_still(name: str) -> bool:
        return Path(f"/proc/{name}/stat").read_text().rpartition(")")[2].split()[0] == "T"

    with subprocess.Popen([sys.executable, "-c", _FOUR], stdout=subprocess.PIPE, start_new_session=True) as process:
        try:
            assert process.stdout is not None
            names = sorted((process.stdout.readline().decode().strip() for _ in range(4)), key=int)
            processes = os.open("/proc", os.O_RDONLY | os.O_DIRECTORY)
            run = watch.Watch({"memory_mb": 70}, processes, watch.Sockets(processes))
            run.names = lambda: {name for name in names if Path(f"/proc/{name}").exists()}  # type: ignore[method-assign]
            run.fills = 2 * watch._FILLS  # as on two cores
            # Their own pages and the shared ones once leave less than may come before the next look.
            turns = []
            for _ in range(5):
                assert not run.is_exceeded()
                turns.append(run.turn)
                others = [name for name in names if name != run.turn]
                assert settled(lambda: sorted(filter(stands_still, names), key=int), others) == others
            assert turns == [*names, names[0]]
            run.memory = 1 << 40
            assert not run.is_exceeded()
            assert settled(lambda: [*filter(stands_still, names)], []) == []
            run.memory = 1 << 20
            assert run.is_exceeded()
        finally:
            os.killpg(process.pid, signal.SIGKILL)
            os.close(processes)


def test_a_broken_report_of_the_supervisor_is_a_lost_sandbox(sandbox: BubblewrapSandbox) -> None:
    os.kill(supervisor(sandbox), 9)
    result = sandbox.run(Job("print(1)"), LIMITS)
    assert (result.valid, result.reason) == (False, "lost")
