from __future__ import annotations

import json
import multiprocessing
import os
import pickle
import signal
import socket
import tempfile
import threading
import time
from multiprocessing import AuthenticationError
from multiprocessing.connection import Client

import gymnasium as gym
import numpy as np
import pytest
from gymnasium.vector import AsyncVectorEnv, SyncVectorEnv
from palaestra.errors import InputError
from palaestra.teachers import Outcome, TeacherHandle, TeacherWrapper, make, serve

ID = "palaestra/Countdown-v0"
FORK = multiprocessing.get_context("fork")


@pytest.fixture
def space():
    return gym.make(ID).unwrapped.param_space


def outcome(proposal, value):
    return Outcome(proposal.id, proposal.task, [value])


def wait_until(condition, seconds=60.0):
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "it never came true"
        time.sleep(0.005)


def practise(handle, episodes, seed=0, pause=0.0):
    """Play ``episodes`` as a worker: the proposals' tasks, each answered by a return that depends on the task."""
    tasks, rng = [], np.random.default_rng(seed)
    for _ in range(episodes):
        (proposal,) = handle.propose(1)
        time.sleep(pause * rng.random())
        tasks.append(proposal.task)
        handle.observe([outcome(proposal, float(proposal.task % 3 == 1))])
    return tasks


@pytest.mark.parametrize(("context", "workers"), [("fork", 3), ("spawn", 1)])
def test_workers_of_a_vector_environment_teach_one_teacher(space, context, workers):
    with serve(make("alp-gmm", space, seed=0, fit_rate=10, components=(2, 3))) as teacher:
        makers = [lambda i=i: TeacherWrapper(gym.make(ID), teacher.handle(str(i))) for i in range(workers)]
        envs = AsyncVectorEnv(makers, context=context)
        ids = set()
        _, infos = envs.reset(seed=1)
        for _ in range(8):
            ids.update(proposal.id for proposal in infos["proposal"])
            _, rewards, ended, _, _ = envs.step(envs.call("oracle"))
            assert ended.all()
            assert (rewards == 1).all()
            _, _, _, _, infos = envs.step([""] * workers)  # the step after an end is the reset
        counts = teacher.metrics()
        assert counts["observed"] == 8 * workers == len(ids)
        assert counts["workers"] == workers
        envs.close()
        wait_until(lambda: teacher.metrics()["workers"] == 0)


@pytest.mark.filterwarnings("ignore::UserWarning")  # Gymnasium says that a worker failed
def test_a_teacher_that_is_not_served_is_refused_in_a_forked_worker(space):
    teacher = make("random", space)
    envs = AsyncVectorEnv([lambda: TeacherWrapper(gym.make(ID), teacher)], context="fork")
    with pytest.raises(InputError, match="serve"):
        envs.reset()
    envs.close(terminate=True)


class Countdown(gym.Env):
    """As many steps as the task says, of reward 1 each."""

    observation_space = gym.spaces.Box(0.0, 4.0, (1,))
    action_space = gym.spaces.Discrete(2)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.left = 1 + options["params"]
        return np.full(1, self.left, np.float32), {}

    def step(self, action):
        self.left -= 1
        return np.full(1, self.left, np.float32), 1.0, self.left == 0, False, {}


def test_workers_of_stable_baselines3_teach_one_teacher():
    vec_env = pytest.importorskip("stable_baselines3.common.vec_env")
    with serve(make("sec", gym.spaces.Discrete(4), return_range=(0, 4))) as teacher:
        makers = [lambda i=i: TeacherWrapper(Countdown(), teacher.handle(str(i))) for i in range(2)]
        envs = vec_env.SubprocVecEnv(makers, start_method="fork")  # spawned as in AsyncVectorEnv, and much slower
        envs.reset()
        ends = sum(int(envs.step(np.zeros(2, int))[2].sum()) for _ in range(12))
        counts = teacher.metrics()
        assert (counts["observed"], counts["workers"]) == (ends, 2)
        assert ends >= 6
        envs.close()


@pytest.fixture
def ray():
    """Ray with two workers; its files lie in a folder of a short name, as the paths of its sockets are bounded."""
    module = pytest.importorskip("ray")
    with tempfile.TemporaryDirectory(prefix="r-") as folder:
        module.init(num_cpus=2, include_dashboard=False, log_to_driver=False, _temp_dir=folder)
        try:
            yield module
        finally:
            module.shutdown()


def test_ray_actors_teach_one_teacher(space, ray):

    class Worker:
        def __init__(self, handle):
            self.env = TeacherWrapper(gym.make(ID), handle)

        def play(self, episodes):
            for _ in range(episodes):
                self.env.reset()
                self.env.step(self.env.unwrapped.oracle())

    with serve(make("alp-gmm", space)) as teacher:
        workers = [ray.remote(Worker).remote(teacher.handle(str(i))) for i in range(2)]
        ray.get([worker.play.remote(5) for worker in workers])
        assert teacher.metrics()["observed"] == 10
        ray.kill(workers[0])
        ray.get(workers[1].play.remote(2))
        assert teacher.metrics()["observed"] == 12


def test_a_teacher_that_was_pickled_is_refused(space):
    copy = pickle.loads(pickle.dumps(make("random", space)))
    env = TeacherWrapper(gym.make(ID), copy)
    with pytest.raises(InputError, match="serve"):
        env.reset()
    env.reset(options={"difficulty": 0.0})  # an evaluation does not need it


def test_environments_of_one_process_share_it_too(space):
    with serve(make("random", space)) as teacher:
        envs = SyncVectorEnv([lambda: TeacherWrapper(gym.make(ID), teacher)] * 2)
        envs.reset()
        envs.step([""] * 2)
        counts = teacher.metrics()
        assert (counts["observed"], counts["workers"]) == (2, 2)


def run_workers(teacher, workers, episodes, seed):
    tasks = {}
    threads = [
        threading.Thread(
            target=lambda name=name, i=i: tasks.update(
                {name: practise(teacher.handle(name), episodes, seed + i, pause=0.004)}
            )
        )
        for i, name in enumerate(workers)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return tasks


def test_a_recorded_order_gives_every_worker_the_same_proposals_again():
    space, workers = gym.spaces.Discrete(9), "abc"
    with serve(make("sec", space, seed=3), record=True) as teacher:
        tasks, order, state = run_workers(teacher, workers, 12, seed=0), teacher.order, teacher.state_dict()
    assert sorted(order) == sorted(workers * 24)
    with serve(make("sec", space, seed=3), record=True, order=order) as teacher:
        assert run_workers(teacher, workers, 12, seed=100) == tasks
        assert (teacher.order, teacher.state_dict()) == (order, state)


def test_a_saved_state_goes_on_exactly_with_what_was_in_flight():
    space = gym.spaces.Discrete(9)

    def proceed(teacher, first, second):
        for _ in range(6):
            for handle in (first, second):
                (proposal,) = handle.propose(1)
                yield proposal.id, proposal.task
                handle.observe([outcome(proposal, proposal.task % 2)])

    with serve(make("sec", space, seed=3), record=True) as teacher:
        first, second = teacher.handle("first"), teacher.handle("second")
        list(proceed(teacher, first, second))
        (waiting,) = second.propose(1)
        state, before = json.loads(json.dumps(teacher.state_dict(), allow_nan=False)), len(teacher.order)
        second.observe([outcome(waiting, 1.0)])
        later, order, end = list(proceed(teacher, first, second)), teacher.order, teacher.state_dict()
    with serve(make("sec", space, seed=8), record=True, order=order) as teacher:
        teacher.load_state_dict(state)
        first, second = teacher.handle("first"), teacher.handle("second")
        (again,) = second.propose(1)
        assert vars(again) == vars(waiting)
        second.observe([outcome(again, 1.0)])
        assert list(proceed(teacher, first, second)) == later
        assert teacher.order == order[before:]
        assert teacher.state_dict() == end


def test_arrays_come_back_from_a_saved_state():
    space = gym.spaces.Box(-1, 1, (2,))
    with serve(make("riac", space, seed=0)) as teacher:
        handle = teacher.handle("w")
        (waiting,) = handle.propose(1)
        state = json.loads(json.dumps(teacher.state_dict(), allow_nan=False))
    with serve(make("riac", space, seed=0)) as teacher:
        teacher.load_state_dict(state)
        (other,) = teacher.handle("other").propose(1)
        (again,) = teacher.handle("w").propose(1)
    assert (again.id, again.task.dtype, again.task.tolist()) == (waiting.id, np.float32, waiting.task.tolist())
    assert other.id == waiting.id + 1


def test_a_state_is_refused_once_workers_hold_proposals():
    with serve(make("random", gym.spaces.Discrete(3))) as teacher:
        state, handle = teacher.state_dict(), teacher.handle()
        handle.propose(1)
        with pytest.raises(InputError, match="before"):
            teacher.load_state_dict(state)
    with serve(make("random", gym.spaces.Discrete(3))) as teacher, pytest.raises(InputError, match="lacks held"):
        teacher.load_state_dict({"teacher": {}})


def test_a_killed_worker_loses_its_own_episode_only():
    with serve(make("random", gym.spaces.Discrete(3)), order=["victim", "other", "victim", "other"]) as teacher:

        def play_and_stall():
            handle = teacher.handle("victim")
            handle.propose(1)
            time.sleep(60)

        victim = FORK.Process(target=play_and_stall, daemon=True)
        victim.start()
        other = teacher.handle("other")
        (proposal,) = other.propose(1)  # after the victim's
        assert [worker for worker, _ in teacher.state_dict()["held"]] == ["victim", "other"]
        os.kill(victim.pid, signal.SIGKILL)
        victim.join()
        other.observe([outcome(proposal, 1.0)])  # the victim's turn passes
        counts = teacher.metrics()
        assert (counts["observed"], counts["in_flight"], counts["workers"]) == (1, 1, 1)
        assert teacher.state_dict()["held"] == []


def test_proposals_whose_episodes_all_failed_are_not_handed_out_again(space):
    class Broken(gym.Wrapper):
        def step(self, action):
            *rest, info = self.env.step(action)
            return *rest, {**info, "reward_valid": False}

    with serve(make("random", space)) as teacher:
        env = TeacherWrapper(Broken(gym.make(ID)), teacher)
        env.reset()
        assert len(teacher.state_dict()["held"]) == 1
        env.step("")
        assert teacher.state_dict()["held"] == []


def test_closing_leaves_no_thread_and_no_socket():
    def count_threads():
        return sum(thread.name == "served-teacher" for thread in threading.enumerate())

    before = count_threads()
    teacher = serve(make("random", gym.spaces.Discrete(3)))
    handle = teacher.handle("w")
    address, key, *_ = handle.__reduce__()[1]
    handle.propose(1)
    Client(address, authkey=key).close()
    wait_until(lambda: count_threads() == before + 2)
    teacher.close()
    teacher.close()
    assert count_threads() == before
    with pytest.raises(OSError, match=r"refused|No such"):
        Client(address, authkey=key)
    with pytest.raises(InputError, match="served"):
        handle.propose(1)


def test_one_that_connects_and_says_nothing_hinders_nobody():
    with serve(make("random", gym.spaces.Discrete(3))) as teacher:
        handle = teacher.handle("w")
        address, *_ = handle.__reduce__()[1]
        with socket.socket(socket.AF_INET if isinstance(address, tuple) else socket.AF_UNIX) as silent:
            silent.connect(address)
            practise(handle, 2)
            assert teacher.metrics()["observed"] == 2
            teacher.close()


def test_a_wrong_key_is_refused():
    with serve(make("random", gym.spaces.Discrete(3))) as teacher:
        address, *_ = teacher.handle().__reduce__()[1]
        with pytest.raises(AuthenticationError):
            Client(address, authkey=b"another")
        practise(teacher.handle("w"), 1)


def test_closing_ends_a_request_that_waits_for_its_turn():
    teacher = serve(make("random", gym.spaces.Discrete(3)), order=["nobody"])
    errors = []

    def request():
        try:
            teacher.handle("w").propose(1)
        except InputError as error:
            errors.append(str(error))

    thread = threading.Thread(target=request)
    thread.start()
    wait_until(lambda: teacher.metrics()["workers"] == 1)
    teacher.close()
    thread.join()
    assert "served" in errors[0]


def test_workers_notice_the_death_of_the_owner():
    done, theirs = FORK.Pipe(duplex=False)

    def work(teacher):
        try:
            teacher.handle("w").propose(1)
        except InputError:
            theirs.send("noticed")

    def own():
        teacher = serve(make("random", gym.spaces.Discrete(3)), order=["nobody"])
        for _ in range(2):
            FORK.Process(target=work, args=(teacher,)).start()
            wait_until(lambda: teacher.metrics()["workers"] >= 1)
        wait_until(lambda: teacher.metrics()["workers"] == 2)
        os.kill(os.getpid(), signal.SIGKILL)

    owner = FORK.Process(target=own)
    owner.start()
    assert done.poll(60)
    assert done.recv() == "noticed"
    assert done.poll(60)
    assert done.recv() == "noticed"
    owner.join()


def test_what_a_worker_does_wrong_is_raised_there_and_the_others_go_on():
    with serve(make("random", gym.spaces.Discrete(3))) as teacher:
        wrong, right = teacher.handle("wrong"), teacher.handle("right")
        (proposal,) = wrong.propose(1)
        with pytest.raises(InputError, match="return_range"):
            wrong.observe([outcome(proposal, 5.0)])
        with pytest.raises(InputError, match="no 'close'"):
            wrong._request("close")
        practise(right, 3)
        practise(wrong, 2)
        assert teacher.metrics()["observed"] == 5


def test_a_defect_of_the_teacher_comes_with_its_traceback():
    teacher = make("random", gym.spaces.Discrete(3))

    def break_down(k):
        raise ZeroDivisionError("its own defect")

    teacher._draw = break_down
    with serve(teacher) as served, pytest.raises(ZeroDivisionError, match="its own defect") as caught:
        served.handle().propose(1)
    assert "break_down" in "".join(caught.value.__notes__)


def test_pickled_it_is_a_handle_and_the_owner_alone_may_save():
    with serve(make("alp-gmm", gym.spaces.Box(0, 1, (1,)), return_range=(-1, 1))) as teacher:
        handle = pickle.loads(pickle.dumps(teacher))
        assert isinstance(handle, TeacherHandle)
        assert handle.return_range == (-1, 1)
        assert pickle.loads(pickle.dumps(handle.handle("w"))).sample() in gym.spaces.Box(0, 1, (1,))
        handle.update(handle.sample(), 0.5)
        assert handle.metrics()["observed"] == 1
        assert handle.distribution() is None
        refused, theirs = FORK.Pipe(duplex=False)

        def save():
            try:
                teacher.state_dict()
            except InputError as error:
                theirs.send(str(error))

        child = FORK.Process(target=save)
        child.start()
        assert "handle" in refused.recv()
        child.join()


def test_the_order_must_have_been_recorded():
    with serve(make("random", gym.spaces.Discrete(3))) as teacher, pytest.raises(InputError, match="record=True"):
        _ = teacher.order
    with pytest.raises(InputError, match="random"):
        serve("random")
