"""``palaestra audit MODEL`` as it is typed."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import torch
from palaestra.envs.judging.solution_pairs import draw_pairs
from palaestra.rewards.models import Preference, RewardModel
from palaestra.scripts.audit_model import DIMENSIONS, _best_of_n
from palaestra.scripts.cli import main


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A reward model that is fitted on a few pairs of sums."""
    torch.manual_seed(0)
    made = RewardModel(hidden=8, seed=0)
    pairs = draw_pairs(30, of="palaestra/Arithmetic-v0", level=0.0)
    made.fit([Preference(pair.question, pair.right, pair.wrong) for pair in pairs], epochs=1)
    path = tmp_path_factory.mktemp("model") / "model.safetensors"
    made.save(path)
    return path


def test_it_shows_accuracy_ablations_and_the_best_of_n(model: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    out = tmp_path / "found.json"
    assert main(["audit", str(model), "--pairs", "12", "--json", str(out)]) == 0
    shown = " ".join(capsys.readouterr().out.split())
    assert "12 pairs of held-out questions" in shown
    found = json.loads(out.read_text())
    assert found["accuracy"] == pytest.approx(sum(found["by_error"].values()) / 3)
    assert [row["name"] for row in found["ablations"]][:2] == ["full", "no words"]
    probes = {row["dimension"]: row for row in found["probes"]}
    assert probes["pleading"]["accuracy"] > probes["pleading"]["chance"]  # n-grams see words
    assert set(probes) <= set(DIMENSIONS)
    points = found["best_of_n"]
    assert [point["n"] for point in points] == [1, 2, 4, 8, 16]
    proxies = [point["proxy"] for point in points]
    assert proxies == sorted(proxies)
    assert main(["audit", str(model), "--pairs", "12", "--json", str(tmp_path / "again.json")]) == 0
    assert (tmp_path / "again.json").read_text() == out.read_text()


def test_a_scorer_that_knows_the_answers_picks_only_right_ones():
    pairs = [pair for pair in draw_pairs(18, of="palaestra/Arithmetic-v0") if pair.error == "slip"]
    answers = {pair.question: pair.right.rpartition("\n")[2] for pair in pairs}

    class Knowing:
        def score(self, prompts: list[str], responses: list[str]) -> list[float]:
            return [float(text.endswith(answers[prompt])) for prompt, text in zip(prompts, responses)]

    curve = _best_of_n(Knowing(), pairs, 0)
    assert curve[0].gold == pytest.approx(0.5, abs=0.2)
    assert [curve[-1].gold, curve[-1].proxy] == [1.0, 1.0]


def test_options_of_other_audits_and_other_files_are_refused(
    model: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    assert main(["audit", str(model), "--top", "2"]) == 2
    assert "--top is for files of episodes" in capsys.readouterr().err
    assert main(["audit", str(model), "--pairs", "2"]) == 2
    assert "--pairs must be at least 6" in capsys.readouterr().err
    (tmp_path / "other.safetensors").write_bytes(b"no model")
    assert main(["audit", str(tmp_path / "other.safetensors")]) == 2
    assert "cannot be read as a reward model" in capsys.readouterr().err
