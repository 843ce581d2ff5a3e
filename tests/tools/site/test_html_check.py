from __future__ import annotations

from pathlib import Path

import pytest
from palaestra.tools.site.html_check import find_faults

GOOD = """<html><head><link rel="canonical" href="https://example.org/"><link rel="stylesheet" href="style.css">
<script src="a.js"></script></head><body><h1 id="top">x</h1><a href="other/">o</a> <a href="other/#there">t</a>
<a href="#top">up</a> <a href="https://example.org/far">far</a> <a href="mailto:a@b">m</a>
<img src="data:image/png;base64,">
</body></html>"""


@pytest.fixture
def site(tmp_path: Path) -> Path:
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "index.html").write_text('<p id="there"><a href="..">back</a>')
    for name in ("style.css", "a.js"):
        (tmp_path / name).write_text("")
    (tmp_path / "index.html").write_text(GOOD)
    return tmp_path


def test_a_sound_site_has_no_fault(site: Path):
    assert list(find_faults(site)) == []


@pytest.mark.parametrize(
    ("old", "new", "fault"),
    [
        ('href="other/"', 'href="gone/"', "index.html links to gone/, which does not exist"),
        ("#there", "#elsewhere", "index.html links to other/#elsewhere, where nothing is named elsewhere"),
        ('href="#top"', 'href="#bottom"', "index.html links to #bottom, where nothing is named bottom"),
        ('src="a.js"', 'src="https://cdn.example/a.js"', "index.html loads https://cdn.example/a.js over the network"),
        ('src="a.js"', 'src="//cdn.example/a.js"', "index.html loads //cdn.example/a.js over the network"),
        ('href="style.css"', 'href="http://x/style.css"', "index.html loads http://x/style.css over the network"),
        ('href="other/"', 'href="../secret"', "index.html links to ../secret, which does not exist"),
    ],
)
def test_each_fault_is_a_sentence(site: Path, old: str, new: str, fault: str):
    (site / "index.html").write_text(GOOD.replace(old, new, 1))
    assert list(find_faults(site)) == [fault]
