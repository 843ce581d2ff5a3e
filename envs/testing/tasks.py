"""Checks of an environment's tasks: the oracle solves them, players without skill succeed as rarely as stated, higher
difficulty takes more work, each task is in one split, and the extras are complete."""

from __future__ import annotations

import functools
import itertools
import math
import re
from collections.abc import Sequence
from typing import Any

import numpy as np

from ..baselines import DIFFICULTIES, PLAYERS, constant_actions, count_wins
from ..game import is_value
from ..question import Question
from ..task_env import TaskEnv
from ..unicode import Unicode
from .playing import (
    GRID,
    episode,
    facts,
    last_step,
    make,
    only_questions,
    only_text,
    plain,
    play,
    seeds,
    steps,
)


def test_oracle_succeeds_at_every_difficulty_and_harder_tasks_take_it_more_work(env_id: str):
    # The work at the ends and in the middle is compared, so they are played often; what lies between is made alike.
    often, seldom = len(seeds(env_id, 24, slow=10, simulated=4)), len(seeds(env_id, 8, slow=3, simulated=1))
    env = make(env_id)
    inner: Any = env.unwrapped
    work = []
    for difficulty, stated in zip(GRID, facts(env_id).solver_rates):
        played, total, cost = set(), 0.0, 0.0
        for seed in range(seldom if difficulty in (0.25, 0.75) else 24):
            if seed >= often and cost is None:
                break
            observation, info = env.reset(seed=seed, options={"difficulty": difficulty})
            cost = inner.solver_cost(inner.here())
            # Data sets have few tasks: play each once.
            is_new = info["task_id"] not in played
            taken = list(steps(env)) if cost is None or (stated == 1.0 and is_new and seed < often) else []
            if taken and stated == 1.0:
                check_solved(taken[-1], difficulty, seed)
            played.add(info["task_id"])
            # Without a cost, characters to read and to write.
            read = len(observation) if isinstance(observation, str) else 0
            total += cost if cost is not None else read + sum(len(str(plain(step[0]))) for step in taken)
        work.append(total)
    assert work[0] < work[2] < work[4]


def test_oracle_succeeds_at_every_difficulty_of_the_test_split(env_id: str):
    env = make(env_id, split="test")
    for difficulty, stated in zip(GRID, facts(env_id).solver_rates):
        played = set()
        for seed in range(3 if stated == 1.0 else 0):
            _, info = env.reset(seed=seed, options={"difficulty": difficulty})
            if info["task_id"] not in played:
                check_solved(last_step(env), difficulty, seed)
            played.add(info["task_id"])


def check_solved(last: Any, difficulty: float, seed: int) -> None:
    """Raise AssertionError unless the last step of an episode ends it with a success."""
    assert last[3], (difficulty, seed)
    assert last[5]["is_success"] is True
    assert last[5]["progress"] == 1.0


def test_oracle_succeeds_as_often_as_the_family_states_where_it_solves_not_all(env_id: str):
    env = make(env_id)
    family: Any = type(env.unwrapped)

    def succeeds(seed: int, difficulty: float) -> bool:
        env.reset(seed=seed, options={"difficulty": difficulty})
        return last_step(env)[5]["is_success"]

    for difficulty, stated in zip(GRID, facts(env_id).solver_rates):
        if stated == 1.0:
            continue
        assert "scripted" in (family.__doc__ or "")
        rate = sum(succeeds(seed, difficulty) for seed in range(8)) / 8
        room = 3.5 * (max(stated, 0.02) * (1.02 - stated) / 8) ** 0.5
        assert abs(rate - stated) <= room, difficulty


def test_answers_without_thought_earn_next_to_nothing(env_id: str):
    env = make(env_id)
    family, chance = type(env.unwrapped), facts(env_id).chance
    prompt = ""
    env.action_space.seed(0)
    rng = np.random.default_rng(0)

    def numbers() -> str:
        return " ".join(map(str, rng.integers(0, 20, rng.integers(1, 6)).tolist()))

    if isinstance(env.action_space, Unicode):
        constants = ["", "0", "1", "2", "10", "42", "1*2*3*4", "A", "x", "yes", "true", "correct", "go forward"]
        constants.append("\\boxed{}")
        policies = [lambda c=c: c for c in constants]
        policies += [lambda: prompt, numbers, env.action_space.sample]
    else:
        constants = constant_actions(env.action_space)
        policies = [lambda c=c: c for c in constants]
    inner: Any = env.unwrapped
    rewards = [0.0] * len(policies)
    few, many = len(seeds(env_id, 24, slow=12, simulated=5)), len(seeds(env_id, 60, slow=30, simulated=10))
    left = list(range(len(policies)))
    for seed in range(many):
        if seed == few:
            # An answer that earns 0.1 on average has earned something by now in 11 of 12 families, and all players of
            # `test_players_without_thought_succeed_as_often_as_the_family_states` give it at every difficulty, too.
            left = [index for index in left if rewards[index] > few * max(0.02, chance)]
        if not left:
            break
        # Making a task takes longer than judging an answer, so all policies play from one snapshot.
        prompt, _ = env.reset(seed=seed)
        start = inner.get_state()
        for index in left:
            policy = policies[index]
            inner.set_state(start)
            total, state = 0.0, inner.here()
            for _, _, reward, terminated, truncated, _ in steps(env, policy, limit=25):
                total += reward
                if index < len(constants) and not (reward or terminated or truncated):
                    # An action that earned nothing where it changed nothing earns nothing when it is repeated.
                    before, state = state, inner.here()
                    if is_value(state) and state == before:
                        break
            rewards[index] += max(0.0, total)
    for index in left:
        assert rewards[index] / many <= max(0.02, chance), policies[index]()
    if chance > 0.02:
        assert "by chance" in (family.__doc__ or "")


def test_players_without_thought_succeed_as_often_as_the_family_states(env_id: str):
    baselines = facts(env_id).baselines
    assert set(baselines) <= set(PLAYERS)
    episodes = len(seeds(env_id, 20, slow=6, simulated=2))
    wins = [count_wins(env_id, difficulty, episodes) for difficulty in DIFFICULTIES]
    everywhere = range(len(DIFFICULTIES))

    def compare(player: str, counts: Sequence[int], places: Sequence[int], bounds_below: bool = True) -> None:
        tried, most = episodes * len(places), max(counts)
        stated = float(np.mean([baselines[player][place] if player in baselines else 0.0 for place in places]))
        # So rare that of all these comparisons none fails by chance alone; the best of several has several chances.
        assert len(counts) * tail(most, tried, max(stated, 0.02)) > RARE, (player, most, tried, stated, places)
        if bounds_below and player in baselines:
            assert tail(tried - most, tried, 1.0 - min(stated, 0.98)) > RARE, (player, most, tried, stated, places)

    for player in wins[0]:
        for place in everywhere:
            compare(player, wins[place][player], [place])
        # What one difficulty has too few episodes to show, such as a constant that is right in a tenth of the tasks,
        # all show together. A player's best policy at each difficulty may be another one, better than the best of all.
        together = [sum(counts) for counts in zip(*(counts[player] for counts in wins))]
        compare(player, together, everywhere, bounds_below=len(together) == 1)


RARE = 2e-4


def tail(wins: int, episodes: int, rate: float) -> float:
    """Probability of at least ``wins`` successes in episodes that succeed at a rate."""
    return sum(math.comb(episodes, k) * rate**k * (1.0 - rate) ** (episodes - k) for k in range(wins, episodes + 1))


def test_baselines_fall_with_difficulty_or_the_docstring_says_why_not(env_id: str):
    env: Any = make(env_id).unwrapped
    for player, rates in facts(env_id).baselines.items():
        assert len(rates) == len(DIFFICULTIES)
        assert max(rates) > 0.02, player
        rises = any(harder > easier + 0.05 for easier, harder in itertools.pairwise(rates))
        if rises or rates[-1] > max(0.1, rates[0] / 2):
            assert "does not fall" in (type(env).__doc__ or ""), player


def test_every_game_has_a_random_legal_player(env_id: str):
    env: Any = make(env_id).unwrapped
    rng = np.random.default_rng(0)
    env.reset(seed=0)
    if isinstance(env.action_space, Unicode) and type(env).random_action is not TaskEnv.random_action:
        for _ in range(5):
            info = env.step(env.write_action(env.random_action(env.here(), rng)))[-1]
            assert info["action_error"] is None or isinstance(env, Question)
            if env._ended:
                break
    else:
        assert not isinstance(env.action_space, Unicode) or getattr(env, "needs_sandbox", False)


def test_resets_and_steps_supply_the_declared_extras(env_id: str):
    env = make(env_id, difficulty=0.0)
    _, info = env.reset(seed=3)
    supplies = env.unwrapped.supplies  # type: ignore[attr-defined]
    assert supplies == set(info["extras"])
    assert all(set(step[5]["extras"]) == supplies for step in play(env))


@only_questions
def test_a_question_supplies_its_reference_and_its_worked_solution(env_id: str):
    env: Any = make(env_id)
    for difficulty in (0.0, 0.5, 1.0):
        _, info = env.reset(seed=4, options={"difficulty": difficulty})
        task, inner = env.unwrapped.here(), env.unwrapped
        *steps, answer = info["extras"]["solution_steps"]
        assert bool(steps) is inner.works_in_steps
        assert answer == info["extras"]["reference"] == inner.oracle(task)
        assert all(isinstance(step, str) and step.strip() and "\n" not in step for step in steps)
        assert [*steps, answer] == inner.solution_steps(task)
        later = env.step(inner.write_action(answer))[4]
        assert later["is_success"] is True
        assert later["extras"]["solution_steps"] == [*steps, answer]


@only_questions
def test_criteria_do_not_give_the_answer_away(env_id: str):
    env: Any = make(env_id).unwrapped
    for difficulty in (0.0, 0.5, 1.0):
        for seed in range(5):
            observation, info = env.reset(seed=seed, options={"difficulty": difficulty})
            criteria, answer = info["extras"]["criteria"] or [], info["extras"]["reference"]
            assert all(isinstance(text, str) and text.strip() for text in criteria)
            whole = re.compile(rf"(?<![\w.]){re.escape(answer)}(?![\w/]|\.\d)")
            assert whole.search(observation) or not whole.search("\n".join(criteria))


@only_questions
def test_the_steps_of_a_solution_end_in_the_answer(env_id: str):
    env: Any = make(env_id, difficulty=0.5).unwrapped
    for seed in range(10):
        env.reset(seed=seed)
        steps = env.solution_steps(env.here())
        assert steps[-1] == env.oracle(env.here())
        assert all(step.strip() and "\n" not in step for step in steps[:-1])


def test_no_content_is_in_both_splits(env_id: str):
    @functools.cache
    def content(split: str, seed: int) -> set[str]:
        env = envs[split]
        env.reset(seed=seed)
        inner: Any = env.unwrapped
        return {inner.content_of(inner.here()), inner.split_key(inner.here())} - {""}

    envs = {split: make(env_id, split=split, difficulty=0.0) for split in ("train", "test", "all")}
    # A test task takes five draws, so there are fewer of them.
    train = set().union(*[content("train", seed) for seed in seeds(env_id, 150, slow=80, simulated=60)])
    test = set().union(*[content("test", seed) for seed in seeds(env_id, 50, slow=20, simulated=20)])
    assert train
    assert test
    assert not train & test
    # If the first task drawn belongs to the split, it is the same task as under split "all" with the same seed.
    assert any(content("all", seed) & (train | content("train", seed)) for seed in range(150))
    assert any(content("all", seed) & (test | content("test", seed)) for seed in range(150))


@only_text
def test_texts_are_as_short_and_plain_as_the_family_states(env_id: str):
    env: Any = make(env_id)
    for seed in seeds(env_id, 20, slow=8, simulated=4):
        observation, _, *steps = episode(env, seed)
        for text in [observation, *(step[1] for step in steps), *(step[0] for step in steps)]:
            assert text.isascii() or not facts(env_id).is_ascii
            assert len(text) <= facts(env_id).longest_text
