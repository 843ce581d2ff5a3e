"""``palaestra train`` as it is typed."""

from __future__ import annotations

import json
import re

import pytest
from palaestra.agents.learners import LEARNERS
from palaestra.scripts import train
from palaestra.scripts.cli import main
from palaestra.scripts.option_groups import OTHER_NAMES, list_options

QUICK = ["--warmup.steps", "0", "--prompts", "2", "--samples", "2", "--eval-episodes", "4", "--final-episodes", "4"]


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """A run of one step with the tiny model."""
    out = tmp_path_factory.mktemp("runs") / "one"
    arguments = [
        "train",
        "--axis",
        "digits=1",
        "terms=2:3",
        "--steps",
        "1",
        "--threads",
        "1",
        "--out",
        str(out),
        *QUICK,
    ]
    assert main(arguments) == 0
    return out


def refused(capsys, *arguments: str) -> str:
    """The one sentence that a refused command prints."""
    assert main(["train", *arguments]) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    (line,) = captured.err.strip().splitlines()
    return line


def test_axes_reach_the_configuration_and_the_tasks(run):
    assert json.loads((run / "config.json").read_text())["axes"] == {"digits": 1, "terms": [2, 3]}
    rows = [json.loads(line) for line in (run / "proposals.jsonl").read_text().splitlines()]
    assert {row["params"]["digits"] for row in rows} == {1}
    assert {row["params"]["terms"] for row in rows} <= {2, 3}


def test_a_run_ends_with_a_report(run):
    assert "<html" in (run / "report.html").read_text()


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["palaestra/Aritmetic-v0"], ["'palaestra/Aritmetic-v0'", "'palaestra/Arithmetic-v0'"]),
        (["--axis", "digits=1:40"], ["digits", "40", "6"]),
        (["--axis", "digit=1"], ["'digit'", "digits"]),
        (["--recipe", "grpoo"], ["'grpoo'", "'grpo'"]),
        (["--teacher", "alp-gm"], ["'alp-gm'", "'alp-gmm'"]),
        (["--teacher-option", "histroy=250"], ["histroy"]),
        (["--model", "no/such/folder"], ["'no/such/folder'", "config.json"]),
        (["--steps", "-3"], ["steps", "-3"]),
        (["--kl", "-1"], ["kl", "-1"]),
        (["--device", "cuda:77"], ["'cuda:77'", "'cpu'"]),
        (["--warmup.lr", "0"], ["warmup.lr", "not 0.0"]),
        (["--surrogate", "clip(low='a')"], ["low", "'clip'", "a number", "'a'"]),
        (["--baseline", "greedy"], ["'greedy'", "--rollout greedy_twin"]),
        (["--returns", "gae"], ["'value'", "--auxiliaries critic"]),
        (["--regularisers", "kdrl"], ["'logp_teacher'", "--teacher-model"]),
        (["palaestra/DoorKey-v0"], ["'palaestra/DoorKey-v0'", "text"]),
    ],
)
def test_bad_input_is_one_sentence_with_exit_code_2_and_nothing_written(capsys, tmp_path, arguments, words):
    sentence = refused(capsys, *arguments, *QUICK, "--out", str(tmp_path / "run"))
    for word in words:
        assert word in sentence
    assert list(tmp_path.iterdir()) == []


def test_a_folder_in_use_is_refused_with_the_way_to_continue(capsys, run):
    before = sorted(path.name for path in run.iterdir())
    sentence = refused(capsys, "--out", str(run), *QUICK)
    assert f"--resume {run}" in sentence
    assert sorted(path.name for path in run.iterdir()) == before


def test_resuming_with_another_configuration_names_the_difference(capsys, run):
    assert "recipe: 'rloo' instead of 'grpo'" in refused(capsys, "--resume", str(run), "--recipe", "rloo")


def test_resuming_with_other_stages_names_the_stage_alone(capsys, run):
    sentence = refused(capsys, "--resume", str(run), "--surrogate", "cispo")
    assert "(surrogate: 'cispo' instead of None)" in sentence


def test_a_run_that_is_resumed_stays_in_its_folder(capsys, run, tmp_path):
    assert "--out" in refused(capsys, "--resume", str(run), "--out", str(tmp_path / "other"))


def test_resuming_what_is_no_run_is_refused(capsys, tmp_path):
    assert "is not a run folder" in refused(capsys, "--resume", str(tmp_path))


def test_resuming_goes_further_when_more_steps_are_asked_for_and_reports_again(run):
    (run / "report.html").unlink()
    assert main(["train", "--resume", str(run), "--steps", "2"]) == 0
    assert (run / "report.html").exists()
    assert [json.loads(line)["step"] for line in (run / "metrics.jsonl").read_text().splitlines()] == [1, 2]


def read_help(capsys, *arguments: str) -> str:
    with pytest.raises(SystemExit) as caught:
        main(["train", *arguments])
    assert caught.value.code == 0
    return re.sub(r"\x1b\[[0-9;]*m", "", capsys.readouterr().out)


def test_help_shows_examples_and_the_options_that_most_runs_set(capsys):
    text = read_help(capsys, "--help")
    assert "palaestra train --resume runs/first" in text
    assert "--help-all shows all options" in text
    shown = re.findall(r"^[│ ]*--([a-z][a-z-]+)", text.partition("shows all options")[2], re.MULTILINE)
    assert shown[:6] == ["model", "steps", "prompts", "samples", "max-new-tokens", "lr"]
    assert len(shown) < 18
    assert "--lr FLOAT" in read_help(capsys, "--learner", "ppo", "-h")


def test_all_options_are_shown_in_groups(capsys):
    text = read_help(capsys, "--help-all")
    for group in ("weights options", "optimiser options", "stages options", "patience options", "collapse options"):
        assert group in text
    assert "--value-weight" in read_help(capsys, "--learner", "ppo", "--help-all")


@pytest.mark.parametrize(
    ("words", "ours"),
    [
        (["--learning-rate", "1e-5"], "--lr"),
        (["--num_generations=4"], "--samples"),
        (["--env", "palaestra/Maze-v0"], "the first argument"),
        (["--learner", "ppo", "--gamma", "0.9"], "--discount"),
    ],
)
def test_names_of_other_libraries_options_are_translated(capsys, words, ours):
    assert f"that is {ours} here" in refused(capsys, *words)


def test_every_translation_is_an_option():
    known = {option for kind in LEARNERS for option in list_options(LEARNERS[kind].config())}
    known |= {name.replace("_", "-") for name in train._OWN}
    ours = {text.split()[0].removeprefix("--") for text in OTHER_NAMES.values() if text.startswith("--")}
    assert ours <= known
    assert not OTHER_NAMES.keys() - {"env"} & known


# What a run says of itself -------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def model(small, tmp_path_factory):
    """The folder of a small model."""
    folder = tmp_path_factory.mktemp("small")
    small.save(folder)
    return str(folder)


LENGTHS_DIFFER = ["--shaping", "overlong(cache=8, max_tokens=8)", "--max-new-tokens", "8"]


def rows(run, log: str) -> list[dict]:
    """The rows of a log, read as strict JSON."""

    def refuse(name: str) -> None:
        raise AssertionError(f"{name} is not JSON")

    return [json.loads(line, parse_constant=refuse) for line in (run / f"{log}.jsonl").read_text().splitlines()]


def said(run, kind: str) -> list[str]:
    return [row["sentence"] for row in rows(run, "notices") if row["kind"] == kind]


def test_a_run_with_an_absurd_learning_rate_ends_with_exit_code_1_and_its_logs_are_strict_json(model, tmp_path, capsys):
    run = tmp_path / "run"
    options = ["--lr", "1e6", "--lr-warmup", "0", "--steps", "8", "--patience.nonfinite", "2", "--samples", "8"]
    assert main(["train", "--model", model, *QUICK, *LENGTHS_DIFFER, *options, "--out", str(run)]) == 1
    (sentence,) = said(run, "end")
    assert "NaN or infinite in the last 2 steps" in sentence
    assert sentence in " ".join(capsys.readouterr().err.split())
    assert sentence.partition("(")[0] in (run / "report.html").read_text()
    assert len(rows(run, "metrics")) < 8


def test_a_model_that_never_earns_a_reward_ends_its_run_which_goes_on_with_more_patience(model, tmp_path):
    run = tmp_path / "run"
    never = ["--model", model, *QUICK, "--steps", "4", "--patience.no-signal", "2", "--kl", "0"]
    assert main(["train", *never, "--out", str(run)]) == 1
    (sentence,) = said(run, "end")
    assert "no episodes of a group apart in the last 2 steps, as all of them failed" in sentence
    assert [row["updates"] for row in rows(run, "metrics")] == [0, 0]
    assert main(["train", "--resume", str(run), "--patience.no-signal", "0"]) == 0
    assert [row["step"] for row in rows(run, "metrics")] == [1, 2, 3, 4]
    assert "learned nothing from rewards: in all 4 steps" in said(run, "health")[-1]


def test_a_warm_up_says_how_far_it_is_where_no_bar_moves(model, tmp_path, capsys):
    warm_up = ["--warmup.steps", "25", "--warmup.batch", "2", "--max-new-tokens", "2", "--steps", "0"]
    options = ["--model", model, "--final-episodes", "1", "--threads", "1", "--out", str(tmp_path / "run")]
    assert main(["train", "palaestra/Formats-v0", "--axis", "format=yes_no", *warm_up, *options]) == 0
    assert re.search(r"^warm-up step 25: loss \d\.\d{3}, \d+% of training tasks$", capsys.readouterr().err, re.M)


def test_answers_that_are_all_cut_off_end_the_run(model, tmp_path):
    options = ["--patience.truncated", "1", "--max-new-tokens", "1", "--steps", "3"]
    assert main(["train", "--model", model, *QUICK, *options, "--out", str(tmp_path / "run")]) == 1
    (sentence,) = said(tmp_path / "run", "end")
    assert "cut off by a token budget" in sentence
    assert "raise --max-new-tokens" in sentence


def test_prompts_that_do_not_fit_are_left_out_and_counted(model, tmp_path):
    run = tmp_path / "run"
    sizes = ["--context", "300", "--max-new-tokens", "8", "--prompts", "8", "--samples", "2", "--teacher", "random"]
    ends = ["--warmup.steps", "0", "--steps", "2", "--final-episodes", "8", "--threads", "1", "--out", str(run)]
    assert main(["train", "palaestra/GSM8K-v0", "--model", model, *sizes, *ends]) == 0
    left_out = [row for row in rows(run, "proposals") if row["n"] == 0]
    assert sum(row.get("overlong_prompts", 0) for row in rows(run, "metrics")) == len(left_out) > 0
    assert {row["success"] for row in left_out} == {None}
    assert sum(row["invalid_episodes"] for row in rows(run, "metrics")) == 2 * len(left_out)
    assert "leave no room to answer in a context of 300 tokens" in said(run, "overlong")[0]
    assert "prompts left out" in (run / "report.html").read_text()


def test_prompts_of_which_too_many_or_the_easiest_do_not_fit_are_refused(capsys, model, tmp_path):
    gsm8k = ["palaestra/GSM8K-v0", "--model", model, "--max-new-tokens", "8", *QUICK, "--out", str(tmp_path / "run")]
    assert main(["train", *gsm8k, "--context", "300", "--max-overlong", "0.05"]) == 2
    assert "more than the 5% that --max-overlong allows" in capsys.readouterr().err
    assert main(["train", *gsm8k, "--context", "60"]) == 2
    assert "on the easiest tasks already" in capsys.readouterr().err


def test_a_data_set_is_given_to_training_and_to_evaluation_by_its_source(model, tmp_path, capsys):
    questions = [{"question": f"What is {n} + {n}?", "answer": f"{n} + {n} = {2 * n}\n#### {2 * n}"} for n in range(60)]
    source = tmp_path / "mine.jsonl"
    source.write_text("".join(json.dumps(question) + "\n" for question in questions))
    run = tmp_path / "run"
    options = ["--env-option", f"source={source}", "--model", model, "--max-new-tokens", "4", "--steps", "1"]
    assert main(["train", "palaestra/GSM8K-v0", *options, *QUICK, "--out", str(run)]) == 0
    assert json.loads((run / "config.json").read_text())["env_options"] == {"source": str(source)}
    shown = [turn["observation"] for row in rows(run, "trajectories") for turn in row["turns"]]
    assert all("What is" in text for text in shown)
    out = tmp_path / "played.jsonl"
    capsys.readouterr()
    for arguments in (["palaestra/GSM8K-v0", "--agent", "oracle", *options[:2]], [str(run)]):
        assert main(["eval", *arguments, "--episodes", "4", "--out", str(out)]) == 0
        played = [json.loads(line) for line in out.read_text().splitlines()]
        assert all("What is" in row["turns"][0]["observation"] for row in played)


def test_an_option_that_the_environment_does_not_have_is_refused_by_name(capsys, tmp_path):
    assert "'sauce'" in refused(capsys, "--env-option", "sauce=1", *QUICK, "--out", str(tmp_path / "run"))
    assert "'split'" in refused(capsys, "--env-option", "split=test", *QUICK, "--out", str(tmp_path / "run"))


def test_values_chosen_for_a_model_are_printed_and_recorded_and_options_win(model, tmp_path, capsys):
    run = tmp_path / "run"
    assert main(["train", "--model", model, "--lr", "0.02", "--steps", "0", *QUICK, "--out", str(run)]) == 0
    config = json.loads((run / "config.json").read_text())
    assert (config["lr"], config["context"], config["dtype"]) == (0.02, 512, "float32")
    sentence, *of_the_recipe = said(run, "start")
    assert any("every ratio is 1" in other for other in of_the_recipe)
    assert "set otherwise: lr 0.02 (by default 0.0003)" in sentence
    assert sentence.split("; ")[1] in " ".join(capsys.readouterr().err.split())


def test_learning_rates_follow_the_schedule_and_are_refused_by_name(model, tmp_path, capsys):
    run = tmp_path / "run"
    rate = ["--lr", "1", "--lr-warmup", "1", "--lr-schedule", "linear", "--lr-end", "0.5", "--patience.nonfinite", "0"]
    assert main(["train", "--model", model, *rate, "--steps", "3", *QUICK, "--out", str(run)]) == 0
    assert [row["lr"] for row in rows(run, "metrics")] == [1.0, 1.0, 0.75]
    capsys.readouterr()
    assert "'cosinus'" in refused(capsys, "--lr-schedule", "cosinus", *QUICK, "--out", str(tmp_path / "never"))


def test_a_run_is_evaluated_by_its_folder_greedily_and_at_its_best(run, tmp_path, capsys):
    for row in rows(run, "evaluations"):
        assert 0 <= row["greedy_success"] <= 1
    best = json.loads((run / "checkpoints" / "best" / "best.json").read_text())
    first = max(rows(run, "evaluations"), key=lambda row: (row["success"], -row["step"]))
    assert (best["step"], best["success"]) == (first["step"], first["success"])
    out = [tmp_path / f"{number}.jsonl" for number in range(2)]
    for path in out:
        options = ["--checkpoint", "best", "--greedy", "--episodes", "4", "--out", str(path)]
        assert main(["eval", str(run), *options]) == 0
    assert out[0].read_bytes() == out[1].read_bytes()
    assert {json.loads(line)["params"]["digits"] for line in out[0].read_text().splitlines()} == {1}
    assert main(["eval", str(run), "--checkpoint", "77"]) == 2
    assert "'best'" in capsys.readouterr().err


def test_several_environments_are_trained_with_weights_and_axes_of_each(tmp_path):
    out = tmp_path / "two"
    envs = ["palaestra/Arithmetic-v0", "palaestra/LinearEquation-v0"]
    options = ["--env-weight", "1", "0:1", "--axis", "Arithmetic.digits=1", "LinearEquation.sides=one"]
    limits = ["--steps", "1", "--threads", "1", "--max-new-tokens", "2", "--teacher", "sec", "--track"]
    assert main(["train", *envs, *options, *limits, "--out", str(out), *QUICK, "--final-episodes", "1"]) == 0
    config = json.loads((out / "config.json").read_text())
    assert config["env"] == envs
    assert config["env_weights"] == [1, {"kind": "linear", "start": 0.0, "end": 1.0}]
    assert config["axes"] == {"Arithmetic.digits": 1, "LinearEquation.sides": ["one"]}
    (row,) = [json.loads(line) for line in (out / "metrics.jsonl").read_text().splitlines()]
    assert "teacher/value/LinearEquation" in row
    played = tmp_path / "played.jsonl"
    assert main(["eval", str(out), "--agent", "oracle", "--episodes", "12", "--out", str(played)]) == 0
    params = [json.loads(line)["params"] for line in played.read_text().splitlines()]
    assert {own["env"] for own in params} == {"Arithmetic"}  # the weight of the other is still 0
    assert {own["Arithmetic.digits"] for own in params} == {1}


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--env-weight", "1"], ["1 weights", "2 environments"]),
        (["--env-weight", "1", "x:2"], ["'x:2'", "a number such as 2"]),
        (["--axis", "digits=1"], ["'digits'", "Arithmetic.digits"]),
    ],
)
def test_bad_input_for_several_environments_is_one_sentence(capsys, tmp_path, arguments, words):
    line = refused(capsys, "palaestra/Arithmetic-v0", "palaestra/Maze-v0", *arguments, "--out", str(tmp_path / "run"))
    assert all(word in line for word in words)


def test_an_unknown_learner_is_named_before_its_options(capsys):
    assert main(["train", "palaestra/DoorKey-v0", "--learner", "qq", "--steps", "3"]) == 2
    assert "unknown learner 'qq'" in capsys.readouterr().err
