"""Suites: their tasks do not change unseen, and a whole one is played, kept and resumed."""

from __future__ import annotations

import json

import gymnasium as gym
import pytest
from palaestra.agents import EndEpisode, evaluate_all
from palaestra.agents.evaluation import evaluate, find_suite, suite_names
from palaestra.agents.evaluation.suites import content_hash
from palaestra.errors import InputError
from palaestra.scripts.cli import main

PAIR = ["palaestra/Arithmetic-v0", "palaestra/GuessNumber-v0"]


@pytest.mark.parametrize("name", suite_names())
def test_the_tasks_of_a_version_never_change(name):
    suite = find_suite(name)
    assert content_hash(suite) == suite.content_hash, (
        "a generator has changed this suite: raise its version, and run "
        "python -m palaestra.tools.update_suites random=random oracle=oracle tiny=FOLDER"
    )


def test_core_covers_the_domains_in_under_a_thousand_episodes():
    core = find_suite("core")
    assert 25 <= len(core.entries) <= 35
    assert core.episodes < 1000
    assert core.split == "test"


@pytest.mark.parametrize("name", suite_names())
def test_baselines_are_of_every_environment_and_the_oracle_solves_all(name):
    suite = find_suite(name)
    ids = [entry.env for entry in suite.entries]
    assert {"random", "oracle"} <= suite.baselines.keys()
    assert all(list(scores) == ids for scores in suite.baselines.values())
    assert set(suite.baselines["oracle"].values()) == {1.0}
    assert sum(share or 0.0 for share in suite.baselines["random"].values()) < 0.2 * len(ids)


def test_the_stored_baseline_of_chance_is_what_a_run_gives():
    report = evaluate_all("random", "palaestra/games")
    stored = find_suite("games").baselines["random"]
    assert {one.env: round(one.success.mean, 4) for one in report.reports} == stored


def test_the_aggregate_is_the_mean_of_the_middle_half():
    envs = ["palaestra/Arithmetic-v0", "palaestra/NQueens-v0", "palaestra/Maze-v0", "palaestra/Countdown-v0"]
    agents = [evaluate_all(agent, envs, episodes=10) for agent in ("oracle", "random")]
    assert [report.success.mean for report in agents] == [1.0, 0.0]
    assert agents[0].success.low == 1.0


def test_several_environments_are_each_evaluated_as_alone(tmp_path):
    both = evaluate_all("random", PAIR, episodes=6, seed=2, out=tmp_path / "played", replay=tmp_path / "replays")
    for name in ("GuessNumber-v0", "Arithmetic-v0"):
        assert len(list((tmp_path / "replays" / name).iterdir())) == 6
    assert both.reports == tuple(evaluate("random", env, episodes=6, seed=2) for env in PAIR)
    assert sorted(path.name for path in (tmp_path / "played").iterdir()) == [
        "Arithmetic-v0.jsonl",
        "GuessNumber-v0.jsonl",
    ]
    calls = []

    def act(observation: str) -> str:
        calls.append(observation)
        return "1"

    act.__qualname__ = "random"
    again = evaluate_all(act, PAIR, episodes=6, seed=2, out=tmp_path / "played", resume=True)
    assert (again.reports, calls) == (both.reports, [])


def test_the_command_line_plays_and_compares_suites(tmp_path, capsys):
    for agent in ("random", "oracle"):
        assert main(["eval", "--suite", "math", "--agent", agent, "--json", str(tmp_path / f"{agent}.json")]) == 0
    out = capsys.readouterr().out
    assert f"oracle on palaestra/math {find_suite('math').version}" in out
    assert json.loads((tmp_path / "oracle.json").read_text())["success"] == 1.0
    assert main(["compare", str(tmp_path / "random.json"), str(tmp_path / "oracle.json")]) == 0
    assert "oracle solves more" in capsys.readouterr().out
    assert main(["eval", *PAIR, "--agent", "oracle", "--episodes", "4"]) == 0
    assert "GuessNumber" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("argv", "sentence"),
    [
        (["--suite", "cor"], "unknown suite 'cor'; did you mean"),
        (["--suite", "core", "--seed", "3"], "--seed belongs to the suite; leave it out"),
        (["--suite", "core", PAIR[0]], "--suite core has its own environments"),
        ([], "give an environment id, or --suite with one of palaestra/code"),
        ([*PAIR, "--axis", "digits=1"], "--axis belongs to a single environment"),
    ],
)
def test_what_does_not_go_together_is_one_sentence(argv, sentence, capsys):
    assert main(["eval", *argv]) == 2
    out, err = capsys.readouterr()
    assert sentence in err
    assert (out, err.count("\n")) == ("", 1)


def test_the_table_of_a_suite_fits_a_narrow_terminal(capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    assert main(["eval", "--suite", "games", "--agent", "random"]) == 0
    out = capsys.readouterr().out
    assert all(len(line) <= 80 for line in out.splitlines())
    assert all(name in out for name in ("TwentyQuestions", "0 % [0, 9]", "random", "tiny"))


def test_environments_in_which_nothing_could_be_played_are_said():
    report = evaluate_all(lambda observation: EndEpisode(valid=False), PAIR, episodes=2)
    assert "2 environments without a valid episode, left out of all" in " ".join(str(report).split())
    assert report.to_json()["success"] is None


def test_settings_of_a_suite_cannot_be_changed():
    with pytest.raises(InputError, match="episodes, split belong to the suite palaestra/core; leave them out"):
        evaluate_all("random", "core", episodes=3, split="train")
    with pytest.raises(InputError, match="give several to evaluate_all"):
        evaluate("random", PAIR)


def test_what_cannot_be_made_is_said_before_the_first_episode(tmp_path):
    with pytest.raises(InputError, match="NoSuch"):
        evaluate_all("random", ["palaestra/Arithmetic-v0", "palaestra/NoSuch-v0"], episodes=2, out=tmp_path / "played")
    assert not (tmp_path / "played").exists()


def test_arguments_of_the_environments_hold_before_the_first_episode_too():
    family = type(gym.make("palaestra/Arithmetic-v0").unwrapped)

    class Needy(family):
        """Sums that cannot be made without a word."""

        def __init__(self, *, word: str, **kwargs):
            super().__init__(**kwargs)

    gym.register("test/Needy-v0", entry_point=Needy)
    try:
        report = evaluate_all("oracle", ["test/Needy-v0"], episodes=3, env_kwargs={"word": "please"})
    finally:
        del gym.registry["test/Needy-v0"]
    assert report.reports[0].success.mean == 1.0
