"""WebRL's curriculum (arXiv 2411.02337)."""

from __future__ import annotations

import importlib.util
import json
import sys
from pathlib import Path

import gymnasium as gym
import numpy as np
import pytest
from palaestra.errors import InputError
from palaestra.teachers import FiniteTasks, Outcome, make

PROMPTS = FiniteTasks([f"prompt {i}" for i in range(10)], features=np.linspace(0, 1, 10)[:, None])
LINE = gym.spaces.Box(0.0, 1.0, (1,))


def webrl(space=LINE, **options):
    return make("webrl", space, **options)


def find_edits(teacher, k=60):
    return [p for p in teacher.propose(k) if p.origin == "edit"]


def test_before_anything_failed_tasks_are_uniform():
    teacher = webrl(fresh=0.0)
    teacher.update(np.array([0.3], dtype=np.float32), 1.0)
    assert {p.origin for p in teacher.propose(50)} == {"explore"}


@pytest.mark.parametrize(
    ("value", "kept"),
    [(0.8, False), (0.75, True), (0.05, True), (0.04, False), ((0.8, 0.8), False), ((0.8, 0.5), True)],
)
def test_a_task_is_kept_where_either_head_lies_in_the_band(value, kept):
    teacher = webrl(critic=lambda task: value, fresh=0.0)
    teacher.update(np.array([0.3], dtype=np.float32), 0.0)
    assert bool(find_edits(teacher)) == kept


def test_new_tasks_lie_near_failed_ones():
    teacher = webrl(fresh=0.0, step=0.03)
    teacher.update(np.array([0.3], dtype=np.float32), 0.0)
    teacher.update(np.array([0.8], dtype=np.float32), 1.0)
    assert find_edits(teacher)
    assert all(abs(p.task[0] - 0.3) < 0.15 for p in find_edits(teacher))


def test_the_default_critic_learns_where_the_student_succeeds():
    teacher = webrl(memory=500)
    for x in np.linspace(0, 1, 101):
        teacher.update(np.array([x], dtype=np.float32), [float(x < 0.5)] * 4)
    values = teacher.values([[0.05], [0.5], [0.95]])[:, 0]
    assert values[0] > 0.75
    assert 0.3 < values[1] < 0.7
    assert values[2] < 0.05
    assert all(0.25 < p.task[0] < 0.75 for p in find_edits(teacher))


def test_one_episode_moves_the_critic_half_of_the_way():
    teacher = webrl()
    assert teacher.values([[0.2]])[0, 0] == 0.5
    teacher.update(np.array([0.2], dtype=np.float32), 0.0)
    assert teacher.values([[np.float32(0.2)]])[0, 0] == pytest.approx(0.25)
    assert teacher.values([[0.9]])[0, 0] == pytest.approx(0.5, abs=1e-6)


def test_on_a_list_the_tasks_themselves_are_filtered():
    teacher = webrl(PROMPTS, fresh=0.0, tries=20, bandwidth=0.01)
    for i, task in enumerate(PROMPTS.tasks):
        teacher.update(task, [1.0] * 8 if i < 4 else [0.0] * 40 if i > 6 else [1.0, 0.0] * 4)
    assert {p.task for p in find_edits(teacher, 200)} == {"prompt 4", "prompt 5", "prompt 6"}


def test_a_generator_writes_from_failures_and_its_tasks_are_judged_by_where_they_came_from():
    teacher = webrl(PROMPTS, generator=lambda task, rng: f"easier {task}", fresh=0.0)
    teacher.update("prompt 7", 0.0)
    proposals = teacher.propose(5)
    assert {(p.task, p.origin) for p in proposals} == {("easier prompt 7", "edit")}
    teacher.observe([Outcome(p.id, p.task, [0.0] * 4) for p in proposals])
    assert not find_edits(teacher)  # a neighbourhood where twenty-one episodes failed lies below the band
    copy = webrl(PROMPTS, generator=lambda task, rng: f"easier {task}", fresh=0.0)
    copy.load_state_dict(json.loads(json.dumps(teacher.state_dict())))
    assert copy.metrics() == teacher.metrics()


def test_a_group_failed_where_less_than_half_of_it_succeeded():
    teacher = webrl(gym.spaces.Discrete(9))
    teacher.update(0, [1.0, 0.0])
    assert teacher.metrics()["failed"] == 0
    teacher.update(0, [1.0, 0.0, 0.0])
    assert teacher.metrics()["failed"] == 1


def test_failures_and_outcomes_are_remembered_within_bounds():
    teacher = webrl(failures=5, memory=7)
    for x in np.linspace(0, 1, 30):
        teacher.update(np.array([x], dtype=np.float32), 0.0)
    assert len(teacher._failed) == 5
    assert len(teacher._seen) == 7


@pytest.mark.parametrize(
    "bad",
    [
        {"band": (0.9, 0.1)},
        {"fresh": 2},
        {"failed_below": 0},
        {"tries": 0},
        {"memory": 0},
        {"bandwidth": 0},
        {"step": -1},
    ],
)
def test_options_out_of_range_are_refused(bad):
    with pytest.raises(InputError, match=next(iter(bad))):
        webrl(**bad)


def test_an_agent_that_is_named_on_the_command_line_writes_tasks_from_failed_ones(small, tmp_path):
    from ...one_step import ONE_STEP, YES_NO, take_step

    def write(request, number):
        failed = json.loads(request["messages"][-1]["content"].splitlines()[1])
        return {"content": json.dumps({**failed, "terms": 4})}

    small.save(tmp_path / "model")
    chat = load_chat_server()
    with chat.serving(write) as server:
        agent = f"endpoint(model='m',base_url={server.url!r})"
        line = (
            f"{YES_NO} {ONE_STEP} --axis terms=2:4 --steps 2 --prompts 4 --samples 2 --max-new-tokens 4 --teacher webrl"
        )
        grown = take_step(
            tmp_path / "run", f"{line} --teacher-option failed_below=1.0 fresh=0.0 band=[0,1] generator={agent}"
        )
    edits = [row for row in grown.proposals if row["origin"] == "edit"]
    assert edits
    assert {row["params"]["terms"] for row in edits} == {4}


def load_chat_server():
    path = Path(__file__).parents[2] / "rewards" / "judges" / "chat_server.py"
    spec = importlib.util.spec_from_file_location("chat_server", path)
    assert spec is not None
    assert spec.loader is not None
    chat = sys.modules.setdefault("chat_server", importlib.util.module_from_spec(spec))
    spec.loader.exec_module(chat)
    return chat
