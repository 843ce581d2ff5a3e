"""``palaestra play``: a person at the keyboard."""

from __future__ import annotations

import contextlib
import io
import os
import pty
import re
import select
import subprocess
import sys
import termios

import gymnasium as gym
import pytest
from palaestra.envs import FloatAxis, ParamSpace
from palaestra.scripts.cli import main


@pytest.fixture
def typed(monkeypatch, capsys):
    """Run the command with lines typed; exit code, standard output, standard error."""

    def run(lines: list[str], *argv: str) -> tuple[int, str, str]:
        monkeypatch.setattr("sys.stdin", io.StringIO("".join(f"{line}\n" for line in lines)))
        code = main(["play", *argv])
        captured = capsys.readouterr()
        return code, captured.out, captured.err

    return run


LINEAR = ("palaestra/LinearEquation-v0", "--difficulty", "0.2", "--seed", "3")


def test_a_right_answer_is_praised_and_a_wrong_one_shown_the_solution(typed):
    code, out, _ = typed(["3"], *LINEAR)
    assert code == 0
    assert "Solve -12x - 8 = -44." in out
    assert "Solved; reward 1." in out
    code, out, _ = typed(["4"], *LINEAR)
    assert code == 0
    assert "Not solved; reward 0" in out
    assert "The solver's answer: 3" in out


def test_hints_lead_to_the_answer_and_cost_no_turn(typed):
    code, out, _ = typed(["?"] * 9 + ["3"], *LINEAR)
    assert code == 0
    assert out.splitlines().count("answer> 3") == 1 or "\n3\n" in out.replace("answer> ", "\n")
    assert "Solved" in out
    _, out, _ = typed(["?", "8"], "palaestra/GuessNumber-v0", "--difficulty", "0", "--seed", "3")
    assert "action> 8" in out
    assert out.count("Guess my number") == 1


def test_a_database_is_explored_by_commands(typed):
    game = ("palaestra/SQLExplorer-v0", "--difficulty", "0.3", "--seed", "3")
    table = re.findall(r"^(\w+) \(\d+ rows\)$", typed(["tables"], *game)[1], re.MULTILINE)[0]
    lines = ["tables", f"DROP TABLE {table}", "?", f"describe {table}", f"sample {table} 2", "answer SELECT 1"]
    _, out, _ = typed(lines, *game)
    # An error is told once, and a hint is a command to be typed.
    assert out.count("The query fails: not authorized.") == 1
    assert re.search(r"action> describe \w+\n", out)
    assert f"CREATE TABLE {table} ({table}_id INTEGER PRIMARY KEY" in out
    assert f"2 rows:\n{table}_id | " in out
    assert "Not solved; reward 0" in out
    assert "The solver's answer: SELECT" in out


def play_in_a_terminal(keys: list[str], *argv: str) -> str:
    """Play in a terminal of 60 columns, with the keys of one turn each time that the game asks; what it showed."""
    keyboard, terminal = pty.openpty()
    termios.tcsetwinsize(terminal, (40, 60))
    command = [sys.executable, "-m", "palaestra.scripts.cli", "play", *argv]
    surroundings = {name: value for name, value in os.environ.items() if name not in ("COLUMNS", "LINES")}
    child = subprocess.Popen(command, stdin=terminal, stdout=terminal, stderr=terminal, env=surroundings)
    os.close(terminal)
    shown, left = "", list(keys)
    with contextlib.suppress(OSError):  # the end of the game
        while select.select([keyboard], [], [], 60)[0] and (part := os.read(keyboard, 1 << 16)):
            shown += part.decode(errors="replace")
            if left and shown.count("action> ") + shown.count("answer> ") > len(keys) - len(left):
                os.write(keyboard, left.pop(0).encode())
    os.close(keyboard)
    assert child.wait(60) == 0, shown
    return shown


UP, DOWN, RIGHT, LEFT = (f"\x1b[{letter}" for letter in "ABCD")


def test_in_a_terminal_an_earlier_line_comes_back_and_can_be_edited():
    backspace = "\x7f"
    lines = ["tabless\r", f"{UP}{backspace}\r", f"answer SELECTT 1{2 * LEFT}{backspace}\r"]
    shown = play_in_a_terminal(lines, "palaestra/SQLExplorer-v0", "--difficulty", "0.3", "--seed", "3")
    assert re.search(r"^\w+ \(\d+ rows\)", shown, re.MULTILINE)
    assert "Not solved; reward 0 (The answer is not correct.)" in shown


def test_arrow_keys_are_moves_that_are_sent_at_once():
    game = ("palaestra/2048-v0", "--difficulty", "0", "--seed", "1")
    shown = " ".join(play_in_a_terminal([LEFT, f"zz{DOWN}", *[UP, RIGHT] * 6], *game).split())
    assert "The arrow keys move." in shown
    # The rules hold this sentence once; it is also the error of an action such as "zz".
    assert shown.count("Answer with left, right, up or down.") == 1
    assert "Not solved; reward 0 (out of turns)." in shown


def test_arrow_keys_write_a_way_that_enter_sends():
    way = {"U": UP, "D": DOWN, "L": LEFT, "R": RIGHT}
    game = ("palaestra/Maze-v0", "--difficulty", "0", "--seed", "1")
    env = gym.make(game[0], difficulty=0.0, split="all", disable_env_checker=True)
    env.reset(seed=1)
    shown = play_in_a_terminal(["".join(way[move] for move in env.unwrapped.oracle()) + "\r"], *game)
    assert "The arrow keys write moves, Enter sends them." in shown
    assert "Solved; reward 1." in shown


def test_the_reason_of_a_failure_is_told_once(typed):
    _, out, _ = typed(["zz"], "palaestra/PythonTool-v0", "--difficulty", "0", "--seed", "1")
    assert out.count("The answer must be one integer, such as -42.") == 1


def test_out_of_turns_is_what_ends_an_episode_of_calls_alone(typed):
    game = ("palaestra/SQLExplorer-v0", "--difficulty", "1", "--seed", "3")
    _, out, _ = typed(["tables"] * 30, *game)
    assert "No call is left; write answer SELECT ...\nNo call is left; answer now." in out
    assert "Not solved; reward 0 (out of turns)." in out


def test_the_same_seed_is_the_same_game_and_several_are_counted(typed):
    first = typed(["0", "0"], *LINEAR, "--episodes", "2")
    assert first == typed(["0", "0"], *LINEAR, "--episodes", "2")
    assert "0 of 2 won." in first[1]


def test_axes_narrow_what_is_played(typed):
    _, out, _ = typed(["1"], "palaestra/Arithmetic-v0", "--axis", "terms=2", "digits=1", "operations=+", "--seed", "1")
    assert out.count("+") == 1


def test_environments_take_further_arguments(typed):
    shown = [
        typed(["1"], "palaestra/TextToSQL-v0", "--seed", "1", "--env-option", f"sample_rows={n}")[1] for n in (0, 2)
    ]
    assert ["\n-- 1, " in out for out in shown] == [False, True]


@pytest.mark.parametrize(
    ("argv", "sentence"),
    [
        (["palaestra/Arithmetic-v0", "--episodes", "0"], "--episodes must be at least 1, not 0."),
        (["palaestra/Arithmetic-v0", "--seed", "-1"], "--seed must not be negative"),
        (["palaestra/Arithmetic-v0", "--axis", "digit=1"], "did you mean 'digits'"),
        (["palaestra/Arithmetic-v0", "--difficulty", "99"], "difficulty must be a number from 0 (easiest) to 1"),
        (["CartPole-v1", "--difficulty", "0.5"], "has no difficulty and no axes"),
    ],
)
def test_what_cannot_be_played_is_one_sentence(typed, argv, sentence):
    code, _, err = typed([], *argv)
    assert code == 2
    assert sentence in err
    assert err.count("\n") == 1


def test_an_input_that_ends_is_one_sentence(typed):
    code, _, err = typed([], *LINEAR)
    assert code == 2
    assert "the input ended" in err


def test_help_and_quit_are_no_actions(typed):
    code, out, _ = typed(["/help", "3"], *LINEAR)
    assert code == 0
    assert "An action is a line of text" in out
    assert "Solved; reward 1." in out
    code, out, _ = typed(["/quit"], *LINEAR, "--episodes", "3")
    assert code == 0
    assert "0 of 0 won." in out
    assert "Not solved" not in out
    code, out, _ = typed(["/help", "?", "/quit"], "palaestra/DoorKey-v0", "--difficulty", "0", "--seed", "3")
    assert code == 0
    assert "An action is a number: 0 (left), 1 (right), 2 (forward)" in out
    assert "is not an action here" not in out


def test_an_environment_that_only_reads_its_tasks_takes_axes_and_is_told_in_its_own_words(typed):
    class Far(gym.Wrapper):
        param_space = ParamSpace([FloatAxis("force_mag", 4.0, 10.0)])

        def reset(self, *, seed=None, options=None):
            self.unwrapped.force_mag = options["params"]["force_mag"]
            return self.env.reset(seed=seed)

    gym.register("play-test/Far-v0", lambda: Far(gym.make("CartPole-v1")))
    code, out, _ = typed(["/quit"], "play-test/Far-v0", "--axis", "force_mag=5")
    gym.registry.pop("play-test/Far-v0")
    assert code == 0
    assert "Wrapper that sets parameters" not in out
    assert "array([" in out
