"""Searches that play: waves, budgets, values, and the episode that is chosen."""

from __future__ import annotations

import numpy as np
import pytest
from palaestra.agents.grpo.rollouts.episode_starts import Start, TokenLimits
from palaestra.agents.search.searches import SEARCHES, parse_search
from palaestra.agents.search.values import VALUES, tree_answers
from palaestra.agents.search.waves import TaskSearch, play_out, play_wave, tokenize_cues
from palaestra.rewards.models import RewardModel

from ..grpo.rollouts.conftest import ARITHMETIC, GUESS, answer_of  # isort: skip


def searched(w, text: str, tasks: int = 1) -> list[TaskSearch]:
    """Searches of tasks, played to the end."""
    search = parse_search(text)
    cues = tokenize_cues(search, w.player)
    starts = [Start(task) for task in w.tasks(*[1] * tasks)]
    found = [TaskSearch(search, start, np.random.default_rng(n), cues) for n, start in enumerate(starts)]
    play_out(found, w.player)
    return found


def actions(search: TaskSearch) -> list[str]:
    return [member.trajectory.turns[-1].action for member in search.tree.members]


@pytest.mark.parametrize("name", [name for name in SEARCHES if name != "omega"])  # ends without a mixed prefix
def test_the_budget_bounds_the_tokens_of_every_search(world, name):
    w = world(ARITHMETIC, lambda session, text: f"{session % 5}\n{session % 7}")
    (search,) = searched(w, f"{name}(budget=60, leaves=2)")
    # Episodes have four tokens at most, and a wave at most two episodes.
    assert 60 <= search.tree.tokens < 60 + 2 * 4
    assert search.over


def test_all_tasks_decode_together(world):
    w = world(ARITHMETIC, lambda session, text: f"{session % 5}\n{session % 7}")
    found = [
        TaskSearch(parse_search("mcts(leaves=3)"), Start(task), np.random.default_rng(0)) for task in w.tasks(1, 1, 1)
    ]
    begun = []
    step = w.sampler.step
    w.sampler.step = lambda: begun.append(len(w.sampler._queue)) or step()
    assert play_wave(found, w.player)
    assert max(begun) == 9
    assert [len(each.tree.members) for each in found] == [3, 3, 3]


def test_the_number_of_episodes_bounds_a_search(world):
    (search,) = searched(world(ARITHMETIC, "1\n2"), "mcts(episodes=5, leaves=2)")
    assert search.tree.root.visits == len(search.tree.members) == 5


def test_a_solved_task_ends_its_search_if_the_value_is_the_verdict(world):
    w = world(ARITHMETIC, "")
    right = answer_of(w)
    w.sampler._script = lambda session, context: w.renderer.action_ids(right if session >= 5 else "0")
    (search,) = searched(w, "independent(leaves=2, value='verdict')")
    assert [member.trajectory.success for member in search.tree.members] == [False] * 5 + [True]
    assert search.best() == 5
    assert search.tree.rewards == [0.0] * 5 + [1.0]


def test_the_majority_is_chosen_by_votes(world):
    w = world(ARITHMETIC, lambda session, text: "7" if session in (1, 3, 4) else str(session + 10))
    (search,) = searched(w, "independent(episodes=5, leaves=5, value='votes')")
    assert search.tree.rewards == [0.2, 0.6, 0.2, 0.6, 0.6]
    assert search.best() == 1


def test_a_branch_keeps_the_tokens_of_its_prefix(world):
    w = world(ARITHMETIC, lambda session, text: "c" if text.endswith("a\n") else f"{'ax'[session]}\nb")
    (search,) = searched(w, "mcts(children=2, episodes=3, leaves=1)")
    # The root has its two continuations, so the third episode goes on after the first line of the first.
    assert actions(search) == ["a\nb", "x\nb", "a\nc"]
    assert (search.tree.members[2].parent, search.tree.members[2].shared) == (0, 2)


def test_games_are_continued_from_their_states(world):
    w = world(GUESS, lambda session, text: str(session % 9 + 1))
    (search,) = searched(w, "best_first(episodes=6, leaves=1, children=1, at='turn', value='verdict')")
    deep = [m for m in search.tree.members if m.parent >= 0]
    assert deep
    for member in deep:
        before = search.tree.members[member.parent].trajectory.turns
        assert member.trajectory.turns[0].act_ids == before[0].act_ids


def test_cues_are_given_and_not_sampled(world):
    w = world(ARITHMETIC, "1")
    (search,) = searched(w, "independent(episodes=3, leaves=3, cues=('', 'Check: '))")
    assert actions(search) == ["1", "Check: 1", "1"]
    assert search.tree.tokens == 3 * 2


@pytest.mark.parametrize(("name", "value"), [("likelihood", "likelihood"), ("judge", "judge(steps=True)")])
def test_prefixes_are_valued_in_the_unit_interval(world, name, value):
    assert name in VALUES
    (search,) = searched(world(ARITHMETIC, "1\n2"), f"best_first(episodes=3, value={value!r})")
    estimates = [node.estimate for node in search.tree.root.walk() if node.parent]
    assert len(estimates) > 1
    assert all(value is not None and 0 <= value <= 1 for value in (*estimates, *search.tree.rewards))


@pytest.mark.parametrize("pool", ["last", "min", "product"])
def test_a_saved_reward_model_values_every_step(world, tmp_path, pool):
    RewardModel(hidden=4, seed=1).save(tmp_path / "prm.pt")
    w = world(ARITHMETIC, "1\n2\n3")
    value = f"model(model={str(tmp_path / 'prm.pt')!r}, pool={pool!r})"
    (search,) = searched(w, f"independent(episodes=1, value={value!r})")
    model = RewardModel.load(tmp_path / "prm.pt")
    prompt = search.tree.members[0].trajectory.turns[0].observation
    scores = [1 / (1 + np.exp(-s)) for s in model.score([prompt] * 3, ["1\n", "1\n2\n", "1\n2\n3"])]
    expected = {"last": scores[-1], "min": min(scores), "product": float(np.prod(scores))}[pool]
    assert search.tree.rewards == [pytest.approx(expected)]
    assert [node.estimate for node in search.tree.root.walk()][1:] == pytest.approx(scores)


def test_a_folder_of_reward_models_values_by_their_mean(world, tmp_path):
    models = [RewardModel(hidden=4, seed=seed) for seed in (1, 2)]
    for number, model in enumerate(models):
        model.save(tmp_path / f"model{number}.safetensors")
    value = f"model(model={str(tmp_path)!r})"
    (search,) = searched(world(ARITHMETIC, "1"), f"independent(episodes=1, value={value!r})")
    prompt = search.tree.members[0].trajectory.turns[0].observation
    mean = np.mean([model.score([prompt], ["1"])[0] for model in models])
    assert search.tree.rewards == [pytest.approx(1 / (1 + np.exp(-mean)))]


def test_values_can_be_averaged(world):
    w = world(ARITHMETIC, lambda session, text: str(session))
    (search,) = searched(w, "independent(episodes=4, leaves=4, value='votes+verdict')")
    assert search.tree.rewards == [0.125] * 4


def test_an_episode_without_an_answer_has_no_vote(world):
    w = world(ARITHMETIC, lambda session, text: "" if session % 2 else "3", TokenLimits(8, 8, 200))
    (search,) = searched(w, "independent(episodes=4, leaves=4)")
    assert tree_answers(search.tree)[1] is None
    assert search.tree.rewards == [0.5, 0.0, 0.5, 0.0]
