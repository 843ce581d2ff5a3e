"""The lock of a run's folder: who holds it, and what frees it."""

from __future__ import annotations

import os
import signal
import subprocess
import sys

import pytest
from palaestra.agents.grpo.config import TrainConfig
from palaestra.agents.grpo.run.folder import RunFolder
from palaestra.agents.grpo.run.lock import LOCK, RunLock, check_unlocked
from palaestra.errors import InputError

HOLD = """
import sys, time
from pathlib import Path
from palaestra.agents.grpo.run.lock import RunLock
lock = RunLock(Path(sys.argv[1]))
print("held", flush=True)
time.sleep(600)
"""


def test_a_second_run_is_refused_by_the_folder_and_the_holder_also_in_one_process(tmp_path):
    lock = RunLock(tmp_path)
    for ask in (RunLock, check_unlocked):
        with pytest.raises(InputError, match=rf"under way in '{tmp_path}' \(process {os.getpid()} on "):
            ask(tmp_path)
    lock.release()
    check_unlocked(tmp_path)
    again = RunLock(tmp_path)
    lock.release()  # once is enough: the lock is another's by now
    with pytest.raises(InputError, match="under way"):
        RunLock(tmp_path)
    again.release()
    assert not list(tmp_path.iterdir())


def test_a_lock_that_nobody_refers_to_is_free(tmp_path):
    lock = RunLock(tmp_path)
    del lock
    RunLock(tmp_path).release()


def test_another_process_holds_it_until_it_is_killed(tmp_path):
    holder = subprocess.Popen([sys.executable, "-c", HOLD, str(tmp_path)], stdout=subprocess.PIPE, text=True)
    assert holder.stdout.readline() == "held\n"
    with pytest.raises(InputError, match=f"process {holder.pid} on "):
        RunLock(tmp_path)
    holder.send_signal(signal.SIGKILL)
    holder.communicate()
    assert (tmp_path / LOCK).exists()
    RunLock(tmp_path).release()


@pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning")
def test_a_fork_does_not_keep_it(tmp_path):
    lock = RunLock(tmp_path)
    child = os.fork()
    if not child:
        signal.pause()
    lock.release()
    try:
        RunLock(tmp_path).release()
    finally:
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)


def test_a_folder_is_new_although_a_dead_run_left_its_lock_and_no_advice_to_remove_a_running_one(tmp_path):
    (tmp_path / LOCK).write_text("process 1 on elsewhere\n")
    run = RunFolder.create(tmp_path, TrainConfig())
    with pytest.raises(InputError, match="under way"):
        RunFolder.check_free(tmp_path)
    with pytest.raises(InputError, match="under way"):
        RunFolder.reopen(tmp_path, lock=True)
    RunFolder.reopen(tmp_path)  # to read it
    run.unlock()
    with pytest.raises(InputError, match="continue it with --resume"):
        RunFolder.check_free(tmp_path)
    RunFolder.reopen(tmp_path, lock=True)[0].unlock()


def test_a_run_that_cannot_be_read_is_not_left_locked(tmp_path):
    (tmp_path / "config.json").write_text('{"steps": "many", "no_such_option": 1}')
    with pytest.raises(InputError, match="unknown entries"):
        RunFolder.reopen(tmp_path, lock=True)
    RunLock(tmp_path).release()
