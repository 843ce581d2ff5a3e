"""Sub-goals: reached in order, each paid once, shown in training and nowhere else."""

from __future__ import annotations

import json
from contextlib import closing

import gymnasium as gym
import numpy as np
import pytest
from palaestra.agents.students.bonuses.beacons import BeaconBonus, ConditionedSpace, plan_beacons, write_table
from palaestra.agents.students.practice import Practice
from palaestra.agents.students.student_agent import StudentAgent
from palaestra.agents.students.student_config import PPOConfig
from palaestra.agents.students.student_run import StudentRun, load_student
from palaestra.errors import InputError

DOOR_KEY = "palaestra/DoorKey-v0"


def practise(bonus: BeaconBonus, env_id: str = DOOR_KEY, **options) -> Practice:
    practice = Practice(lambda: gym.make(env_id, disable_env_checker=True, **options), 1, 3, bonuses=[bonus])
    practice.begin()
    return practice


def solve(practice: Practice):
    """Play an episode by the oracle; return bonuses and sub-goals of the steps."""
    slot, seen = practice._slots[0], []
    while not practice._finished:
        before = practice.observations[0]["subgoal"]
        rewards, task = slot.env.unwrapped.oracle(), slot.bonuses
        practice.step([rewards])
        seen.append((before, (practice._finished[0].bonus if practice._finished else slot.bonuses) - task))
    return seen


def test_sub_goals_of_door_key_are_key_door_and_goal_in_this_order_and_each_pays_once():
    bonus = BeaconBonus(encoding="language", hidden=0.0, weight=0.6)
    with closing(practise(bonus)) as practice:
        beacons = [words for *_, words, _ in bonus.memory[0]["beacons"]]
        most = practice._slots[0].env.unwrapped.max_steps
        assert [words.split(" ")[-1] for words in beacons] == ["key", "door", "goal"]
        steps = solve(practice)
    paid = [(t, reward) for t, (_, reward) in enumerate(steps, 1) if reward > 1e-9]
    assert [reward for _, reward in paid] == pytest.approx([0.6 / 3 * (1 - 0.9 * t / most) for t, _ in paid])
    assert len(paid) == 3
    assert list(dict.fromkeys(shown for shown, _ in steps)) == beacons


def test_without_weight_returns_are_those_of_the_environment():
    with closing(practise(BeaconBonus(weight=0.0, hidden=0.0))) as practice:
        assert all(reward == 0 for _, reward in solve(practice))


def test_the_three_encodings_show_the_way_the_thing_or_the_words():
    env = gym.make(DOOR_KEY, disable_env_checker=True).unwrapped
    env.reset(seed=0)
    world = env.here()
    (key, *_) = plan_beacons(env.rules, world)
    shown = {name: ConditionedSpace(env.observation_space, name) for name in ("relative", "object", "language")}
    goals = {name: space.show(env.reset(seed=0)[0], key, world) for name, space in shown.items()}
    assert all(space.contains(goals[name]) for name, space in shown.items())
    x, y = world.place
    side = world.width
    assert goals["relative"]["subgoal"].tolist() == pytest.approx([(key.x - x) / side, (key.y - y) / side, 1.0])
    assert goals["object"]["subgoal"].tolist() == [5, 4]  # MiniGrid's numbers of a key and of yellow
    assert goals["language"]["subgoal"] == "pick up the yellow key"
    for space in shown.values():
        hidden = space.hide(goals["relative"]["observation"])["subgoal"]
        assert not np.any(hidden) if not isinstance(hidden, str) else hidden == ""


def test_a_share_of_the_episodes_has_no_sub_goals():
    bonus = BeaconBonus(hidden=0.5)
    with closing(practise(bonus)) as practice:
        slot, hidden = practice._slots[0], []
        for _ in range(40):
            hidden.append(bonus.memory[0]["hidden"])
            assert (bonus.next_beacon(0) is None) is hidden[-1]
            practice._begin(0, slot)
    assert 8 < sum(hidden) < 32


def test_a_resumed_run_shows_and_hides_as_before():
    runs = []
    for resume in (False, True):
        practice, seen = practise(BeaconBonus(hidden=0.5)), []
        for t in range(120):
            if resume and t % 40 == 7:
                state = json.loads(json.dumps(practice.state_dict()))
                practice.close()
                practice = practise(BeaconBonus(hidden=0.5))
                practice.load_state_dict(state)
            seen.append(practice.observations[0]["subgoal"].tolist())
            practice.step([practice._slots[0].env.unwrapped.oracle()])
        practice.close()
        runs.append(seen)
    assert runs[0] == runs[1]
    assert [0.0] * 3 in runs[0]


def test_a_table_replaces_questions_and_levels_that_it_lacks_have_no_sub_goals(tmp_path):
    env = gym.make(DOOR_KEY, disable_env_checker=True)
    asked: list[str] = []
    file = tmp_path / "table.json"
    assert write_table(file, env, [5], author=lambda text: asked.append(text) or "(1, 1), (2, 2), (99, 1)") == 1
    assert len(asked) == 1
    bonus = BeaconBonus(table=str(file), hidden=0.0)
    bonus.attach([env.unwrapped])
    for seed, places in ((5, [[1, 1], [2, 2]]), (6, [])):
        env.reset(seed=seed)
        bonus.start(0, None, {})
        assert [beacon[:2] for beacon in bonus.memory[0]["beacons"]] == places
    assert len(asked) == 1
    with pytest.raises(InputError, match="write_table"):
        BeaconBonus(table=str(tmp_path / "none.json"))


def test_a_policy_trained_with_sub_goals_is_evaluated_and_loaded_without(tmp_path, monkeypatch):
    config = PPOConfig(
        env=DOOR_KEY,
        bonus=("beacons(encoding='object')",),
        **{"steps": 32, "environments": 2, "rollout": 8, "minibatch": 8, "hidden": 4, "final_episodes": 2},
        **{"eval_every": 0, "track": (), "axes": {"size": [5, 5]}},
    )
    run = StudentRun.start(tmp_path / "run", config)
    assert isinstance(run.practice.observation_space, ConditionedSpace)
    seen = []
    player = run.student.player
    monkeypatch.setattr(run.student, "player", lambda t: lambda o, *rest: (seen.extend(o), player(t)(o, *rest))[1])
    assert run.run()
    assert seen
    assert not any(np.any(observation["subgoal"]) for observation in seen)
    rows = [json.loads(line) for line in (tmp_path / "run/evaluations.jsonl").read_text().splitlines()]
    assert rows[-1]["episodes"] == 2
    assert isinstance(load_student(tmp_path / "run"), StudentAgent)


def test_other_environments_are_refused():
    with pytest.raises(InputError, match="gridworlds"):
        practise(BeaconBonus(), "CartPole-v1")
