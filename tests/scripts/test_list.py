"""``palaestra list``: tables made from the registries."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest
from palaestra.envs import ids
from palaestra.scripts.cli import main
from palaestra.scripts.list import BEGIN, END, TABLES, markdown, paper, summary
from palaestra.teachers import TEACHERS


def listed(capsys, *argv: str) -> dict:
    assert main(["list", *argv, "--format", "json"]) == 0
    return json.loads(capsys.readouterr().out)


class TestTables:
    def test_json_holds_every_table(self, capsys):
        assert list(listed(capsys)) == list(TABLES)

    def test_naming_tables_leaves_the_others_out(self, capsys):
        assert list(listed(capsys, "teachers", "envs")) == ["teachers", "envs"]

    def test_every_registered_environment_is_listed_with_its_axes(self, capsys):
        rows = {row["id"]: row for row in listed(capsys, "envs")["envs"]}
        assert list(rows) == ids()
        assert rows["palaestra/Arithmetic-v0"]["axes"] == "terms=2:6, digits=1:6, operations=+,+-,+-*"

    def test_every_registered_teacher_is_listed_with_its_paper(self, capsys):
        rows = {row["name"]: row for row in listed(capsys, "teachers")["teachers"]}
        assert list(rows) == list(TEACHERS)
        assert rows["alp-gmm"]["paper"] == "arXiv 1910.07224"

    def test_every_row_says_what_the_thing_is(self):
        # In a process of its own: other tests register pieces in this one.
        command = [sys.executable, "-m", "palaestra.scripts.cli", "list", "--format", "json"]
        tables = json.loads(subprocess.run(command, check=True, capture_output=True).stdout)
        for kind, rows in tables.items():
            assert rows, kind
            assert all(row["summary"] for row in rows), kind

    def test_the_printed_table_breaks_no_name(self, capsys):
        assert main(["list", "envs"]) == 0
        out = capsys.readouterr().out
        assert all(env_id in out for env_id in ids())

    def test_listing_loads_no_torch(self):
        check = "assert main(['list']) == 0 and 'torch' not in sys.modules"
        code = f"import sys; from palaestra.scripts.cli import main; {check}"
        subprocess.run([sys.executable, "-c", code], check=True, capture_output=True)

    def test_an_unknown_table_is_refused_with_exit_code_2(self):
        with pytest.raises(SystemExit) as stopped:
            main(["list", "teacher"])
        assert stopped.value.code == 2


class TestDocstrings:
    def test_the_summary_is_the_first_sentence_on_one_line(self):
        class Thing:
            """Reach a target\n    from ``given`` numbers. Each counts once.\n\n    More."""

        assert summary(Thing) == "Reach a target from `given` numbers."

    def test_a_class_without_a_docstring_does_not_borrow_its_bases(self):
        class Base:
            """Base of all things."""

        class Thing(Base):
            pass

        assert summary(Thing) == ""

    def test_the_paper_attribute_comes_before_the_docstring(self):
        class Thing:
            """After arXiv 1234.56789."""

        assert paper(Thing) == "arXiv 1234.56789"
        Thing.paper = "2402.03300"
        assert paper(Thing) == "arXiv 2402.03300"
        Thing.paper = "Bellman 1957"
        assert paper(Thing) == "Bellman 1957"


class TestMarkdown:
    def test_a_bar_in_a_cell_does_not_end_it_and_a_paper_is_a_link(self):
        text = markdown({"teachers": [{"name": "x", "summary": "mean |A|", "paper": "arXiv 1910.07224, section 3"}]})
        assert text.splitlines() == [
            "### Teachers",
            "",
            "| name | summary | paper |",
            "| --- | --- | --- |",
            "| `x` | mean \\|A\\| | [arXiv 1910.07224](https://arxiv.org/abs/1910.07224), section 3 |",
        ]

    def test_an_axis_with_commas_of_its_own_stays_one_piece(self):
        text = markdown({"envs": [{"id": "a/B-v0", "summary": "s", "axes": "terms=2:6, operations=+,+-"}]})
        assert "| `terms=2:6`, `operations=+,+-` |" in text


class TestReadme:
    @pytest.fixture
    def readme(self, tmp_path):
        path = tmp_path / "README.md"
        path.write_text(f"# Title\n\n{BEGIN}\nold\n{END}\n\nafter\n")
        return path

    def test_the_section_is_replaced_and_the_rest_kept(self, readme):
        assert main(["list", "envs", "teachers", "--update-readme", str(readme)]) == 0
        text = readme.read_text()
        assert text.startswith(f"# Title\n\n{BEGIN}\n\n### Environments\n")
        assert text.endswith(f"{END}\n\nafter\n")
        assert "old" not in text
        assert "`alp-gmm`" in text

    def test_check_fails_on_an_old_section_and_writes_nothing(self, readme, capsys):
        before = readme.read_text()
        assert main(["list", "envs", "--update-readme", str(readme), "--check"]) == 1
        assert readme.read_text() == before
        assert "out of date" in capsys.readouterr().err

    def test_check_passes_after_an_update(self, readme):
        assert main(["list", "envs", "--update-readme", str(readme)]) == 0
        assert main(["list", "envs", "--update-readme", str(readme), "--check"]) == 0

    def test_a_file_without_the_two_lines_is_refused_untouched(self, tmp_path, capsys):
        path = tmp_path / "README.md"
        path.write_text(f"{END}\n{BEGIN}\n")
        assert main(["list", "--update-readme", str(path)]) == 2
        assert BEGIN in capsys.readouterr().err
        assert path.read_text() == f"{END}\n{BEGIN}\n"

    @pytest.mark.parametrize("argv", [["--update-readme", "no/such/file.md"], ["--check"]])
    def test_bad_options_are_exit_code_2(self, argv, capsys):
        assert main(["list", *argv]) == 2
        assert "--update-readme needs" in capsys.readouterr().err or argv == ["--check"]
