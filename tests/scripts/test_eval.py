"""``palaestra eval``, and axes as they are typed."""

from __future__ import annotations

import json

import palaestra
import pytest
from palaestra.envs import ChoiceAxis, FloatAxis, IntAxis, ParamSpace
from palaestra.errors import InputError
from palaestra.scripts.axes import format_axis, parse_axes
from palaestra.scripts.cli import main

ARITHMETIC = "palaestra/Arithmetic-v0"
SPACE = ParamSpace(
    [IntAxis("digits", 1, 6), FloatAxis("noise", 0.0, 2.0), ChoiceAxis("operations", ("+", "+-", "a,b"))]
)


class TestAxes:
    @pytest.mark.parametrize(
        ("text", "value"),
        [
            ("digits=2", {"digits": 2}),
            ("digits=1:2", {"digits": (1, 2)}),
            ("noise=0.5:1", {"noise": (0.5, 1.0)}),
            ("operations=+,+-", {"operations": ["+", "+-"]}),
            ("operations=a,b", {"operations": ["a,b"]}),
        ],
    )
    def test_each_form_is_read_as_its_axis_wants_it(self, text, value):
        assert parse_axes([text], SPACE) == value

    @pytest.mark.parametrize(
        ("texts", "sentence"),
        [
            (["digits"], "not 'digits'"),
            (["digits="], "not 'digits='"),
            (["digit=2"], "unknown axis 'digit'; did you mean 'digits'"),
            (["digits=1.5"], "digits=1.5 is not a whole number or a range of them; write digits=1 or digits=1:6"),
            (["noise=loud"], "noise=loud is not a number"),
            (["digits=2:1"], "digits=2:1 is not a range"),
            (["digits=1:2:3"], "digits=1:2:3 is not a range"),
            (["digits=1:9"], "digits must be a whole number from 1 to 6, not 9"),
            (["operations=*"], "operations must be one of"),
            (["digits=1", "digits=2"], "'digits' is given twice"),
        ],
    )
    def test_anything_else_is_one_sentence(self, texts, sentence):
        with pytest.raises(InputError) as caught:
            parse_axes(texts, SPACE)
        assert sentence in str(caught.value)

    def test_a_described_axis_reads_back_as_its_whole_range(self):
        texts = [format_axis(axis) for axis in SPACE.axes[:2]]
        assert texts == ["digits=1:6", "noise=0.0:2.0"]
        assert SPACE.restrict(**parse_axes(texts, SPACE)) == SPACE


class TestEval:
    def run(self, *argv: str) -> int:
        return main(["eval", ARITHMETIC, "--episodes", "6", *argv])

    def test_the_oracle_succeeds_and_the_table_says_so(self, capsys):
        assert self.run("--agent", "oracle") == 0
        out = capsys.readouterr().out
        assert f"oracle on {ARITHMETIC}, test split" in out
        assert "100 %" in out

    def test_axes_narrow_the_tasks(self, tmp_path):
        axes = ("--axis", "digits=1:2", "terms=3", "--axis", "operations=+")
        assert self.run("--agent", "oracle", *axes, "--out", str(tmp_path / "t.jsonl")) == 0
        params = [json.loads(line)["params"] for line in (tmp_path / "t.jsonl").read_text().splitlines()]
        assert {tuple(row.items()) for row in params} == {
            (("terms", 3), ("digits", 1), ("operations", "+")),
            (("terms", 3), ("digits", 2), ("operations", "+")),
        }

    def test_json_holds_what_evaluate_returns(self, tmp_path):
        assert self.run("--agent", "random", "--seed", "5", "--json", str(tmp_path / "r.json")) == 0
        expected = palaestra.evaluate("random", ARITHMETIC, episodes=6, seed=5).to_json(results=True)
        assert json.loads((tmp_path / "r.json").read_text()) == expected

    def test_an_agent_may_be_any_callable_in_a_module(self, tmp_path, monkeypatch, capsys):
        (tmp_path / "my_own_agent.py").write_text("def answer(observation):\n    return 'I do not know'\n")
        monkeypatch.syspath_prepend(tmp_path)
        assert self.run("--agent", "my_own_agent:answer") == 0
        assert "answer on" in capsys.readouterr().out

    def test_a_person_can_play_on_standard_input(self, monkeypatch, capsys):
        import io

        monkeypatch.setattr("sys.stdin", io.StringIO("1\n" * 6))
        assert self.run("--agent", "human") == 0
        assert "Answer with an integer only." in capsys.readouterr().out

    @pytest.mark.parametrize(
        ("argv", "expected"),
        [
            (["--agent", "randon"], "unknown agent 'randon'; did you mean 'random'"),
            (["--agent", "./no/such/folder"], "the agent './no/such/folder' is no folder"),
            (["--agent", "tests/first"], "the agent 'tests/first' is no folder"),
            (["--agent", "no_such_module:x"], "the module 'no_such_module'"),
            (["--agent", "json:dump_"], "unknown attribute of json 'dump_'; did you mean 'dump'"),
            (["--agent", "json:decoder"], "an agent is an Agent, a name or folder, or a callable"),
            (["--axis", "digits=99"], "digits must be a whole number from 1 to 15 (drawn from 1 to 6), not 99"),
            (["--episodes", "0"], "episodes must be at least 1, not 0"),
            (["--difficulty", "99"], "not 99.0"),
            (["--json", "."], "--json must be a file"),
            (["--axis", "digits=1", "--env-option", "digits=2"], "digits is fixed to 2 here, so that it cannot be 1"),
        ],
    )
    def test_bad_input_is_one_sentence_and_exit_code_2(self, argv, expected, capsys, tmp_path, monkeypatch):
        (tmp_path / "tests").mkdir()
        monkeypatch.chdir(tmp_path)
        assert self.run(*argv) == 2
        out, err = capsys.readouterr()
        assert expected in err
        assert (out, err.count("\n")) == ("", 1)

    @pytest.mark.parametrize("path", ["runs/nope", "./nope", "runs/first/nope-1"])
    def test_a_folder_that_does_not_exist_is_called_one(self, path, capsys, tmp_path, monkeypatch):
        monkeypatch.chdir(tmp_path)
        assert main(["eval", path]) == 2
        assert f"there is no run folder {path!r}" in capsys.readouterr().err

    def test_axes_of_an_environment_without_any_are_refused(self, capsys):
        assert main(["eval", "CartPole-v1", "--axis", "digits=1"]) == 2
        assert "'CartPole-v1' has no axes" in capsys.readouterr().err


@pytest.mark.parametrize(
    "option",
    [["--checkpoint", "best"], ["--greedy"], ["--context", "99"], ["--temperature", "0.5"], ["--system", "Be short."]],
)
def test_settings_of_a_model_are_refused_for_another_agent(capsys, option):
    assert main(["eval", ARITHMETIC, "--agent", "random", *option]) == 2
    assert "'random' is no model" in capsys.readouterr().err


@pytest.mark.parametrize(
    "option",
    [["--max-episode-tokens", "9"], ["--checkpoint", "best"], ["--engine", "vllm"], ["--engine-option", "a=1"]],
)
def test_settings_of_a_model_in_this_process_are_refused_for_an_endpoint(capsys, option):
    assert main(["eval", ARITHMETIC, "--agent", "openai:m", *option]) == 2
    assert f"an endpoint takes no {option[0]}; leave it out" in capsys.readouterr().err


def test_a_folder_of_a_run_stands_alone(tmp_path, capsys):
    assert main(["eval", ARITHMETIC, str(tmp_path)]) == 2
    assert f"environments and --agent {tmp_path}" in " ".join(capsys.readouterr().err.split())


def test_options_of_the_environment_reach_it(tmp_path, capsys):
    out = tmp_path / "played.jsonl"
    options = ["--env-option", "answer_format=boxed", "--episodes", "2", "--out", str(out)]
    assert main(["eval", ARITHMETIC, "--agent", "oracle", *options]) == 0
    assert all("boxed" in json.loads(line)["turns"][0]["action"] for line in out.read_text().splitlines())
    assert main(["eval", str(tmp_path), *options]) == 2
    assert "a folder without a run" in capsys.readouterr().err


@pytest.mark.parametrize(("words", "rows"), [([], None), (["--env-option", "source=b.jsonl"], "all")])
def test_a_run_on_a_file_is_evaluated_on_tasks_held_out_from_it(tmp_path, monkeypatch, words, rows):
    from palaestra.scripts import eval as command

    seen = {}
    trained = {"env": "palaestra/Dataset-v0", "env_options": {"source": "a.jsonl"}}
    monkeypatch.setattr(command, "read_run_settings", lambda folder: trained)
    monkeypatch.setattr(command, "evaluate", lambda *args, **settings: seen.update(settings))
    monkeypatch.setattr(command, "_find_agent", lambda text, config: text)
    monkeypatch.setattr(command, "_report", lambda config, play: play() or 0)
    assert command.main([str(tmp_path), *words]) == 0
    assert (seen["rows"], seen["split"]) == (rows, "test")
