"""``palaestra bench teachers --peer-python``: the code of other projects on our students, beside our teachers."""

from __future__ import annotations

import json
import sys
import textwrap
from pathlib import Path

import pytest
from palaestra.benchmarks.teachers import command as bench_teachers
from palaestra.benchmarks.teachers import originals
from palaestra.benchmarks.teachers.peer_teachers import PEERS, PeerFactory, compare_with_peers
from palaestra.scripts.cli import main
from palaestra.teachers import TEACHERS
from palaestra.teachers.benchmarks import table

ALPGMM = """
    import numpy as np

    class ALPGMM:
        '''Always the cell at the origin of ten by ten.'''
        def __init__(self, mins, maxs, seed, params):
            print("what a project prints")
            self.rng, self.mins, self.best = np.random.default_rng(seed), mins, params.get("best", 1.0)
        def sample_task(self):
            return (0.1 * self.rng.random(len(self.mins))).astype(np.float32)
        def update(self, task, reward):
            if reward > self.best:
                raise ValueError(f"a return of {reward:g}")
"""


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Stands in for a checkout of teachDeepRL and the gym that it needs."""
    algorithms = tmp_path / "peer/teachDRL/teachers/algos"
    algorithms.mkdir(parents=True)
    (algorithms / "alp_gmm.py").write_text(textwrap.dedent(ALPGMM))
    (tmp_path / "peer/gym/utils").mkdir(parents=True)
    (tmp_path / "peer/gym/utils/seeding.py").touch()
    monkeypatch.setenv("PYTHONPATH", str(tmp_path / "peer"))
    # Plots take longer than such short runs.
    monkeypatch.setattr(bench_teachers, "_report", lambda *arguments: None)


def bench(*arguments: object) -> int:
    return main(["bench", "teachers", "--tables", "T1", "--settings", "2d", "--jobs", "1", *map(str, arguments)])


@pytest.mark.usefixtures("project")
def test_the_code_of_another_project_teaches_our_student_beside_our_teacher(tmp_path: Path, capsys):
    theirs = "teachDeepRL/alp-gmm"
    teachers = ["--teachers", "alp-gmm", theirs, f"{theirs} best=0.5"]
    chosen = [*teachers, "--seeds", 2, "--episodes", 100, "--out", tmp_path / "out"]
    assert bench(*chosen, "--peer-python", sys.executable) == 1
    shown = capsys.readouterr()
    assert shown.err.count("RuntimeError: teachDeepRL/alp-gmm failed: ValueError: a return of 0.51") == 1
    rows = [json.loads(line) for line in (tmp_path / "out/results.jsonl").read_text().splitlines()]
    scores = {(row["teacher"], row["seed"]): row["score"] for row in rows}
    # Practised a hundred times, the first of a hundred cells is mastered; nothing comes by chance.
    assert scores == {(t, s): 0.01 if t == theirs else 0.0 for t in ("random", "alp-gmm", theirs) for s in (0, 1)}
    assert "T1: ours beside teachDeepRL/alp-gmm checkout" in shown.out
    assert "-1.0 ± 0.0" in shown.out
    assert rows[-1]["calls"]["propose"] > 0
    # A later command without the interpreter does not know the name.
    assert bench(*chosen) == 2
    assert "unknown teacher 'teachDeepRL/alp-gmm'" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("python", "sentence"),
    [
        ("/no/such/python", "must be a Python interpreter"),
        ("/bin/true", "the peers' process under '/bin/true' ended"),
        (sys.executable, "none of teachDRL, syllabus and reasoning_gym can be imported"),
    ],
)
def test_an_interpreter_without_peers_is_one_sentence(python: str, sentence: str, tmp_path: Path, monkeypatch, capsys):
    monkeypatch.setattr(originals, "__file__", str(tmp_path / "originals.py"))
    (tmp_path / "originals.py").write_text("def find_installed(): return {}")
    assert bench("--peer-python", python, "--out", tmp_path / "out") == 2
    assert sentence in capsys.readouterr().err


def test_every_original_has_its_counterpart_here():
    assert [peer.name for peer in PEERS] == list(originals.ORIGINALS)
    for peer in PEERS:
        name, options = table.parse_teacher(peer.ours)
        TEACHERS.check_options(name, options)


def test_the_difference_is_paired_by_seed_and_times_are_a_ratio():
    peer = PeerFactory("theirs", "box", ("T1",), "ours", "", "")
    records = [
        {"setting": "a", "teacher": name, "seed": seed, "score": 10.0 * seed + gain, "measures": {}, "calls": calls}
        for name, gain, calls in (("theirs", 0, {"propose": 6.0, "observe": 2.0}), ("ours", 1, {"propose": 0.5}))
        for seed in range(3)
    ]
    (found,) = compare_with_peers([peer], [*records, {**records[0], "setting": "b"}])
    assert (found.setting, found.times, found.theirs.mean, found.ours.mean) == ("a", 16.0, 10.0, 11.0)
    assert (found.difference.mean, found.difference.low, found.difference.high) == (1.0, 1.0, 1.0)


def test_a_teacher_is_made_and_asked(monkeypatch):
    class Curriculum:
        propose = staticmethod(lambda k: [0] * k)
        observe = staticmethod(lambda results: None)

    monkeypatch.setitem(originals.ORIGINALS, "x", ("x", "", lambda size, seed, options: Curriculum))
    assert originals.answer(make="x", size=2, seed=0, options={})["seconds"] >= 0
    assert originals.answer(propose=3)["tasks"] == [0, 0, 0]
    assert set(originals.answer(observe=[[0, [1.0]]])) == {"seconds"}


def test_the_originals_file_needs_nothing_of_this_package():
    text = Path(originals.__file__).read_text()
    assert "palaestra" not in text
    assert "from ." not in text
