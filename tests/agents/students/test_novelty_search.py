"""Novelty search: it spreads over behaviours, and emitters search where a reward was found."""

from __future__ import annotations

import json
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from palaestra.agents.students import NoveltyConfig
from palaestra.agents.students.novelty_search import NoveltySearch
from palaestra.agents.students.practice import Practice
from palaestra.agents.students.student_envs import make_environment
from palaestra.agents.students.student_run import StudentRun, load_student
from palaestra.errors import InputError
from palaestra.scripts.cli import main

MAZE = "palaestra/DeceptiveMaze-v0"
SMALL: dict[str, Any] = {
    **{"env": MAZE, "axes": {"pockets": 1, "depth": 3}, "env_options": {"max_steps": 40}, "log_every": 2_500},
    **{"eval_every": 0, "final_episodes": 1, "population": 10, "chunk": 60, "added": 3},
}


def make_search(**changes: Any) -> NoveltySearch:
    config = NoveltyConfig(**{**SMALL, **changes})
    return NoveltySearch(config, Practice(lambda: make_environment(config, "train"), 1, 0))


def read(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (path / "metrics.jsonl").read_text().splitlines()]


def test_without_a_reward_it_is_pure_novelty_search_and_emitters_have_no_budget():
    # No reward of this maze is above 2.
    runs = [make_search(emitters=flag, rewarded_above=2.0) for flag in (True, False)]
    for _ in range(3):
        rows = [search.iterate(0.0) for search in runs]
        assert rows[0] == rows[1]
        assert rows[0]["emitted"] == 0.0
    assert np.array_equal(runs[0].population.genomes, runs[1].population.genomes)
    assert np.array_equal(runs[0].archive.places, runs[1].archive.places)


def test_the_archive_only_grows_and_selection_spreads_over_places():
    search, sizes, kept = make_search(neighbours=3), [0], np.zeros((0, 2))
    for _ in range(6):
        search.iterate(0.0)
        sizes.append(len(search.archive))
        assert np.array_equal(search.archive.places[: len(kept)], kept)
        kept = search.archive.places
    assert sizes == sorted(sizes)
    assert sizes[1] > 0
    drifting, rng = make_search(neighbours=3), np.random.default_rng(0)
    drifting._rank = lambda policies: rng.permutation(len(policies))  # type: ignore[method-assign]
    for _ in range(6):
        drifting.iterate(0.0)
    # Among the selected more places are met than among mutants that are kept at random.
    places = [len(np.unique(one.population.places, axis=0)) for one in (search, drifting)]
    assert places[0] > 2 * places[1]


def test_emitters_begin_at_the_first_reward_and_raise_it():
    search, rows = make_search(seed=1), []
    for _ in range(6):
        rows.append(search.iterate(0.0))
    first = next(row for row in rows if row["best_reward"] > 0)
    assert all(row["emitted"] == 0.0 for row in rows if row["best_reward"] == 0.0)
    assert rows[-1]["emitted"] > 0.0
    assert rows[-1]["levels_solved"] == 1.0
    assert first["emitted"] == 0.0
    assert rows[-1]["best_reward"] > first["best_reward"]
    assert all(0 < later - sooner <= 120 for sooner, later in pairwise(row["explored"] for row in rows))


def test_an_emitter_moves_to_a_better_mutant_and_ends_where_none_comes():
    search = make_search(patience=2, emitter_population=2)
    search._explore()
    rewards = iter([[0.1, 0.5], [0.4, 0.2], [0.5, 0.5], [0.6, 0.0]])
    evaluate = search._evaluate

    def pay(genomes: np.ndarray, emitted: bool) -> Any:
        found = evaluate(genomes, emitted)
        found.rewards[:] = next(rewards)
        return found

    search._evaluate = pay  # type: ignore[method-assign]
    start = search.population.take([0])
    start.rewards[:] = 0.3
    search.candidates = start.join(start)
    before = len(search.archive)
    search._emit()
    assert len(search.candidates) == 0  # the other one ended at the same place
    assert search._emitter.rewards.tolist() == [0.5]
    assert not np.array_equal(search._emitter.genomes, start.genomes)
    search._emit()
    assert (len(search._emitter), search._stale) == (1, 1)
    search._emit()
    assert (len(search._emitter), len(search.archive)) == (0, before + 1)


@pytest.mark.parametrize("es", ["cma_es", "sep_cma_es"])
def test_an_emitter_with_a_strategy_learns_where_better_mutants_are(es: str):
    search = make_search(es=es, hidden=2, patience=1_000)
    search._explore()
    weights = np.zeros(search.network.size)
    weights[:3] = 1.0, -1.0, 2.0

    def play(genome: np.ndarray) -> tuple[Any, ...]:
        none = np.zeros(2, dtype=np.float32)
        return genome, none, none, float(genome @ weights), 0.0

    search._play_levels = play  # type: ignore[method-assign]
    search.candidates = search._evaluate(search.population.genomes[:1], emitted=False)
    start = search.candidates.rewards[0]
    search._emit()
    assert search._strategy is not None
    shape = search._strategy.covariance.shape
    assert shape == ((search.network.size,) * 2 if es == "cma_es" else (search.network.size,))
    for _ in range(150):
        search._emit()
    center = search._strategy.mean - search.population.genomes[0]
    assert search._strategy.mean @ weights > start + 5.0
    assert search.best.rewards[0] == search._emitter.rewards[0] > start + 5.0
    # It moves where the weights point: at random the cosine is about 0.04.
    assert center @ weights / np.linalg.norm(center) / np.linalg.norm(weights) > 0.4


@pytest.mark.parametrize("surprise", ["alternate", "front"])
def test_a_learned_space_of_behaviours_finds_the_way_too(surprise: str):
    search = make_search(behaviour="learned", surprise=surprise, relearn=5)
    for _ in range(4):
        row = search.iterate(0.0)
    assert search.code is not None
    assert search.code.encode(search.archive.states).shape == (len(search.archive), 5)
    assert search.code.errors(search.archive.states).mean() < 0.02
    assert row["behaviours"] > 3


def test_a_resumed_search_goes_on_to_the_same_bytes_and_plays_its_best(tmp_path):
    config = NoveltyConfig(
        **{**SMALL, "behaviour": "learned", "relearn": 3, "es": "sep_cma_es"},
        seed=3,
        steps=15_000,
        checkpoint_every=2_500,
    )
    StudentRun.start(tmp_path / "whole", config).run(notify=lambda sentence: None)
    halved = StudentRun.start(tmp_path / "halved", config)
    halved.run(lambda progress: halved.stop() if progress.step >= 10_000 else None, lambda sentence: None)
    run = StudentRun.resume(tmp_path / "halved")
    run.run(notify=lambda sentence: None)
    assert read(tmp_path / "halved") == read(tmp_path / "whole")
    assert read(tmp_path / "whole")[-1]["emitted"] > 0  # it was resumed with and without emitters under way
    env = make_environment(config, "train")
    observation, _ = env.reset(seed=run.student.levels[0])
    agent, over, total = load_student(tmp_path / "halved"), False, 0.0
    agent.reset([0])
    while not over:
        (action,) = agent.act([observation], [{}])
        observation, reward, terminated, truncated, _ = env.step(action)
        total, over = total + float(reward), terminated or truncated
    assert total == pytest.approx(read(tmp_path / "whole")[-1]["best_reward"])


def test_a_long_genome_is_refused_before_anything_is_played():
    with pytest.raises(InputError, match="take --es sep_cma_es, or fewer --hidden units"):
        make_search(es="cma_es", hidden=16)
    assert make_search(es="cma_es", hidden=16, emitters=False)


def test_the_command_line_trains_it(tmp_path):
    argv = ["train", MAZE, "--learner", "novelty-search", "--axis", "pockets=1", "depth=3", "--steps", "4000"]
    argv += [
        "--log-every",
        "2000",
        "--final-episodes",
        "1",
        "--no-emitters",
        "--es",
        "sep_cma_es",
        "--out",
        str(tmp_path / "run"),
    ]
    assert main(argv) == 0
    assert [row["step"] for row in read(tmp_path / "run")] == [2000, 4000]
    assert read(tmp_path / "run")[-1]["archive"] > 0


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"teacher": "sec"}, "levels of its own; leave --teacher sec out"),
        ({"bonus": ("count",)}, "no use for a bonus"),
        ({"behaviour": "code"}, "behaviour: 'code'; known: 'learned', 'place'"),
        ({"added": 21}, "at most the 20 mutants"),
        ({"mutation": 0.0}, "mutation must be"),
        ({"es": "cmaes"}, "es: 'cmaes'; did you mean 'cma_es'"),
        ({"es": "cma_es", "emitter_population": 1}, "an emitter_population of at least 2, not 1"),
    ],
)
def test_what_cannot_be_is_refused(changes: dict[str, Any], words: str):
    with pytest.raises(InputError, match=words):
        NoveltyConfig(**{**SMALL, **changes})
