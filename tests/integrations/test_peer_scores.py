"""Our score of recorded replies beside those of lm_eval and Inspect, row by row, on files like GSM8K's and MMLU's.

Of each file's 200 rows the first half has replies of SmolLM2-135M-Instruct, sampled at temperature 1; the other half is
answered in the styles below, in turn.
"""

from __future__ import annotations

import itertools
import json
import os
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from palaestra.agents.evaluation.evaluate import evaluate

RECORDED = Path(__file__).with_name("recorded")
FILES = {"gsm8k": "palaestra/GSM8K-v0", "mmlu": "palaestra/MultipleChoiceQuestions-v0"}
NUMBER, SIGN = "lm_eval gsm8k, flexible-extract", "lm_eval gsm8k, strict-match"
LAST = "inspect gsm8k"
FIRST_LINE, PHRASE = "lm_eval mmlu first line, get_response", "lm_eval mmlu reasoning, strict-match"
BRACKETS, ANSWER = "lm_eval mmlu reasoning, flexible-extract", "inspect mmlu"

# Style -> the reply with {right} and {wrong}, our verdict, and the rules of the others that say the same.
STYLES: dict[str, dict[str, tuple[str, bool, set[str]]]] = {
    "gsm8k": {
        "behind the sign": ("2 + 3 = 5, and so on.\n#### {right}", True, {SIGN, NUMBER, LAST}),
        "bare": ("{right}", True, {NUMBER, LAST}),
        "sentence": ("The answer is {right}.", True, {NUMBER, LAST}),
        "bold": ("**{right}**", True, {NUMBER, LAST}),
        "dollars": ("${right}", True, {NUMBER, LAST}),
        "unit": ("{right} {unit}", True, {NUMBER, LAST}),
        "corrected": ("The answer is {wrong}. Wait, the answer is {right}.", True, {NUMBER, LAST}),
        "wrong": ("The answer is {wrong}.", False, {SIGN, NUMBER, LAST}),
        "either": ("{right} or {wrong}", False, {SIGN, NUMBER, LAST}),
        # lm_eval compares texts; Inspect reads no LaTeX.
        "decimals": ("{right}.00", True, {LAST}),
        "boxed": ("\\boxed{{{right}}}", True, {NUMBER}),
        # Both take the last number, whatever is said of it.
        "denied": ("not {right}", False, {SIGN}),
        "about": ("about {right}", False, {SIGN}),
        "bound": ("at least {right}", False, {SIGN}),
        "last is another": ("The answer is {right}, not {wrong}.", True, set()),
    },
    "mmlu": {
        "letter": ("{right}", True, {FIRST_LINE}),
        "bold": ("**{right}**", True, {FIRST_LINE}),
        "bracketed": ("({right})", True, {FIRST_LINE, BRACKETS}),
        "sentence": ("The answer is ({right}).", True, {PHRASE, BRACKETS}),
        "reasoned": ("Let us see. The answer is {right}.", True, {PHRASE}),
        "as Inspect asks": ("ANSWER: {right}", True, {BRACKETS, ANSWER}),
        "with its text": ("{right}) {text}", True, {BRACKETS}),
        "text alone": ("{text}", True, {BRACKETS}),
        "boxed": ("\\boxed{{{right}}}", True, set()),
        "wrong": ("ANSWER: {wrong}", False, {FIRST_LINE, PHRASE, BRACKETS, ANSWER}),
        "either": ("{right} or {wrong}", False, {FIRST_LINE, PHRASE, BRACKETS, ANSWER}),
        "denied": ("not {right}", False, {FIRST_LINE, PHRASE, BRACKETS, ANSWER}),
        "the text of another": ("({wrong}) {text}", False, {FIRST_LINE, PHRASE, BRACKETS, ANSWER}),
    },
}

# Where we differ from rules that agree: we take no number out of the middle of a clause, and they do.
KNOWN = {"gsm8k": ["the answer is that 42 contains exactly 28 litres of water"], "mmlu": []}


@pytest.fixture(scope="module")
def scores(
    peer_home: Callable[[str], Path], tmp_path_factory: pytest.TempPathFactory
) -> dict[str, tuple[list[dict[str, Any]], dict[str, list[bool]]]]:
    """File -> its rows, and rule -> the verdict on each row; "ours" is a rule, too."""
    home, folder = peer_home(".venv-peers"), tmp_path_factory.mktemp("scores")
    files = {name: write_replies(name, folder) for name in FILES}
    environment = {**os.environ, "HF_DATASETS_CACHE": str(folder / "cache")}
    command = [str(home / "bin" / "python"), str(Path(__file__).with_name("scores_trial.py")), str(folder)]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=900)
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
    theirs = json.loads(done.stdout.splitlines()[-1])
    found = {}
    for name, rows in files.items():
        played, replies = folder / f"{name}-played.jsonl", iter([row["reply"] for row in rows])
        source = {"source": str(folder / f"{name}.jsonl")}
        evaluate(
            lambda _, replies=replies: next(replies),
            FILES[name],
            env_kwargs=source,
            split="all",
            rows="all",
            out=played,
        )
        ours = [json.loads(line)["is_success"] for line in played.read_text().splitlines()]
        found[name] = (rows, {"ours": ours} | {rule: verdicts for rule, verdicts in theirs.items() if name in rule})
    return found


def write_replies(name: str, folder: Path) -> list[dict[str, Any]]:
    """Write the file with a reply for each row into ``folder``; those in a style have its name as "style"."""
    rows = [json.loads(line) for line in (RECORDED / f"{name}.jsonl").read_text(encoding="utf-8").splitlines()]
    for row, style in zip([row for row in rows if "reply" not in row], itertools.cycle(STYLES[name])):
        if name == "gsm8k":
            right = int(row["answer"].rpartition("####")[2])
            parts = {"right": right, "wrong": right + 1, "unit": row["question"].rpartition("How many ")[2].split()[0]}
        else:
            place = row["answer"]
            parts = {"right": "ABCD"[place], "wrong": "ABCD"[place - 1], "text": row["choices"][place]}
        row |= {"style": style, "reply": STYLES[name][style][0].format(**parts)}
    (folder / f"{name}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return rows


@pytest.mark.parametrize("name", FILES)
def test_verdicts_differ_by_style_as_the_table_says(scores, name: str):
    rows, verdicts = scores[name]
    differing = []
    for place, row in enumerate(rows):
        if "style" in row:
            _, ours, same = STYLES[name][row["style"]]
            expected = {rule: ours if rule in same or rule == "ours" else not ours for rule in verdicts}
            if {rule: found[place] for rule, found in verdicts.items()} != expected:
                differing.append((place, row["reply"]))
    assert not differing


@pytest.mark.parametrize(
    ("name", "rules"), [("gsm8k", (NUMBER, LAST)), ("mmlu", (FIRST_LINE, PHRASE, BRACKETS, ANSWER))]
)
def test_replies_of_a_model_are_judged_alike_where_the_rules_of_the_others_agree(
    scores, name: str, rules: tuple[str, ...]
):
    rows, verdicts = scores[name]
    real = [place for place, row in enumerate(rows) if "style" not in row]
    agreed = [place for place in real if len({verdicts[rule][place] for rule in rules}) == 1]
    assert len(real) == 100
    assert len(agreed) > 80
    differing = [rows[place]["reply"] for place in agreed if verdicts["ours"][place] != verdicts[rules[0]][place]]
    assert [reply[-len(known) :] for reply, known in zip(differing, KNOWN[name])] == KNOWN[name]
    assert len(differing) == len(KNOWN[name])
