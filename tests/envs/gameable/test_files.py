from __future__ import annotations

from palaestra.envs.gameable.files import File, Files


def test_a_digest_follows_the_text_and_not_the_time():
    files = Files().put(File("a", "x", 1))
    assert files.touch("a", 9).digest("a") == files.digest("a") != files.put(File("a", "y", 1)).digest("a")
    assert files.digest("b") == ""
