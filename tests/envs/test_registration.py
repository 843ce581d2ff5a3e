"""Ids of installed packages, and ids that are registered twice."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import palaestra
import pytest
from palaestra.envs import register
from palaestra.errors import InputError


def test_an_installed_package_announces_ids_and_a_malformed_one_is_told_and_left_out(tmp_path: Path):
    info = tmp_path / "mine-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: mine\nVersion: 1.0\n")
    points = "mine/Announced-v0 = palaestra.envs.math.arithmetic:Arithmetic\nno id = nothing:Nothing\n"
    (info / "entry_points.txt").write_text(f"[palaestra.envs]\n{points}")
    code = f"""
import sys, warnings
sys.path.append({str(tmp_path)!r})
with warnings.catch_warnings(record=True) as told:
    warnings.simplefilter("always")
    import gymnasium, palaestra
assert "mine/Announced-v0" in palaestra.envs.ids()
assert gymnasium.make("mine/Announced-v0", digits=2).reset(seed=0)
said = [str(one.message) for one in told if "cannot be registered" in str(one.message)]
assert len(said) == 1 and said[0].startswith("mine: the environment id 'no id'"), said
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_the_same_class_twice_is_one_and_a_malformed_id_is_refused():
    before = palaestra.envs.ids()
    register("palaestra/Arithmetic-v0", "palaestra.envs.math.arithmetic:Arithmetic")
    assert palaestra.envs.ids() == before
    with pytest.raises(InputError, match="the environment id 'a b c' cannot be registered"):
        register("a b c", "nothing:Nothing")
    assert palaestra.envs.ids() == before


def test_a_file_is_told_from_an_environment(tmp_path):
    file = tmp_path / "questions.jsonl"
    file.write_text("")
    with pytest.raises(InputError, match=rf"is a file, not an environment; .*palaestra/Dataset-v0 .* source={file}"):
        palaestra.envs.tags_of(str(file))
