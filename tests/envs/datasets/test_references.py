"""Files in the layouts of IFEval and BFCL, as they are published, through `from_dataset`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from palaestra.envs import from_dataset
from palaestra.envs.datasets.layouts import UnusableRecord
from palaestra.envs.datasets.references import CONSTRAINTS_OF, read_calls, read_instructions
from palaestra.errors import InputError
from palaestra.rewards import verify

AREA = {"name": "area", "description": "of a triangle", "parameters": {"type": "dict", "required": ["base"]}}
ASKED = [[{"role": "user", "content": "What is the area of a triangle of base 10?"}]]

# Instruction, its arguments as the published rows have them, a text that follows it and one that does not.
INSTRUCTIONS: list[tuple[str, dict[str, Any], str, str]] = [
    ("keywords:existence", {"keywords": ["cat", "sea"]}, "A cat at sea", "A cat"),
    ("keywords:forbidden_words", {"forbidden_words": ["cat"]}, "A category", "A cat"),
    ("keywords:frequency", {"keyword": "cat", "frequency": 2, "relation": "at least"}, "cat, cat", "cat"),
    ("keywords:letter_frequency", {"letter": "q", "let_frequency": 2, "let_relation": "less than"}, "Q", "qq"),
    ("language:response_language", {"language": "de"}, "Das ist nicht der Hund.", "This is not the dog."),
    ("length_constraints:number_words", {"num_words": 3, "relation": "less than"}, "two words", "now three words"),
    ("length_constraints:number_sentences", {"num_sentences": 2, "relation": "at least"}, "One. Two.", "One."),
    ("length_constraints:number_paragraphs", {"num_paragraphs": 2}, "One\n***\nTwo", "One\n\nTwo"),
    (
        "length_constraints:nth_paragraph_first_word",
        {"num_paragraphs": 2, "nth_paragraph": 2, "first_word": "then"},
        "First.\n\nThen.",
        "Then.\n\nFirst.",
    ),
    ("detectable_content:number_placeholders", {"num_placeholders": 2}, "[name] [city]", "[name]"),
    ("detectable_content:postscript", {"postscript_marker": "P.S."}, "Yes.\n\nP.S. no", "PS no"),
    ("detectable_format:number_bullet_lists", {"num_bullets": 2}, "* a\n* b", "* a\n* b\n* c"),
    ("detectable_format:number_highlighted_sections", {"num_highlights": 1}, "*this*", "this"),
    ("detectable_format:multiple_sections", {"section_spliter": "SECTION", "num_sections": 1}, "SECTION 1 x", "x"),
    ("detectable_format:json_format", {}, "{}", "{"),
    ("detectable_format:title", {}, "<<A>> b", "A b"),
    ("detectable_format:constrained_response", {}, "My answer is maybe.", "Maybe."),
    ("combination:two_responses", {}, "One\n******\nTwo", "One"),
    ("combination:repeat_prompt", {"prompt_to_repeat": "Do it."}, "Do it. Done.", "Done."),
    ("startend:end_checker", {"end_phrase": "Any questions?"}, "So. Any questions?", "Any questions? No."),
    ("startend:quotation", {}, '"So."', "So."),
    (
        "change_case:capital_word_frequency",
        {"capital_frequency": 1, "capital_relation": "at least"},
        "a BIG one",
        "a Big one",
    ),
    ("change_case:english_capital", {}, "ALL", "All"),
    ("change_case:english_lowercase", {}, "all", "All"),
    ("punctuation:no_comma", {}, "a and b", "a, b"),
]


def write(path: Path, *records: dict[str, Any]) -> str:
    path.write_text("".join(json.dumps(record) + "\n" for record in records), encoding="utf-8")
    return str(path)


def test_every_instruction_is_tried():
    assert {name for name, *_ in INSTRUCTIONS} == set(CONSTRAINTS_OF)


@pytest.mark.parametrize(("name", "given", "kept", "broken"), INSTRUCTIONS)
def test_an_instruction_is_a_constraint_of_its_meaning(name: str, given: dict[str, Any], kept: str, broken: str):
    unused = {"num_other": None}  # published rows have all arguments, those of other instructions without a value
    constraints = read_instructions([name], [given | unused])
    assert [verify("constraints", text, constraints).success for text in (kept, broken)] == [True, False]


@pytest.mark.parametrize(
    ("ids", "arguments"),
    [
        (["poetry:rhyme"], [{"language": "hi"}]),
        (["keywords:existence"], [{}]),
        (["punctuation:no_comma"], []),
    ],
)
def test_what_cannot_be_judged_is_said(ids: list[str], arguments: list[Any]):
    with pytest.raises(UnusableRecord):
        read_instructions(ids, arguments)


def test_a_file_of_ifeval_is_asked_and_judged(tmp_path: Path):
    asked = {"key": 1, "prompt": "Write on cats.", "kwargs": [{}, {}]}
    asked["instruction_id_list"] = ["change_case:english_lowercase", "punctuation:no_comma"]
    other = {"key": 2, "prompt": "In rhymes.", "kwargs": [{}], "instruction_id_list": ["poetry:rhyme"]}
    with pytest.warns(UserWarning, match="poetry:rhyme"):
        env = from_dataset(write(tmp_path / "ifeval.jsonl", asked, other), split="all")
    for reply, reward in (("cats sleep", 1.0), ("Cats sleep", 0.5), ("Cats, yes", 0.0)):
        assert env.reset(seed=0)[0] == "Write on cats."
        assert env.step(reply)[1] == reward


def test_a_text_of_several_lines_is_judged_whole(tmp_path: Path):
    row = {"key": 1, "prompt": "Write on cats.", "kwargs": [{"num_bullets": 2}, {}]}
    row["instruction_id_list"] = ["detectable_format:number_bullet_lists", "startend:quotation"]
    env = from_dataset(write(tmp_path / "ifeval.jsonl", row), split="all")
    for reply, reward in (('"Cats:\n- sleep\n- eat\n"', 1.0), ('- sleep\n- eat\n"', 0.5), ('"- eat\n' * 2000, 0.0)):
        env.reset(seed=0)
        assert env.step(reply)[1] == reward


def test_a_file_of_bfcl_is_asked_with_its_tools_and_judged(tmp_path: Path):
    truth = [{"area": {"base": [10, 10.0], "unit": ["cm", "centimetres", ""]}}]
    env = from_dataset(
        write(tmp_path / "bfcl.jsonl", {"question": ASKED, "function": [AREA], "ground_truth": truth}), split="all"
    )
    for reply, success in (
        ("[area(base=10)]", True),
        ("area(base=10, unit='centimetres')", True),
        ('{"name": "area", "arguments": {"base": 10, "unit": "cm"}}', True),
        ("area(base=10, unit='mm')", False),
        ("area(unit='cm')", False),
        ("area(base=11)", False),
    ):
        prompt, _ = env.reset(seed=0)
        assert env.step(reply)[4]["is_success"] is success, reply
    assert prompt == f"What is the area of a triangle of base 10?\n\nTools:\n{json.dumps(AREA)}"
    env.reset(seed=0)
    assert env.step(env.unwrapped.oracle())[1] == 1.0  # type: ignore[attr-defined]


def test_values_that_are_records_are_refused_and_other_references_pass():
    with pytest.raises(UnusableRecord, match="records among its values"):
        read_calls([{"book": {"where": [{"city": ["Rome"]}]}}])
    for reference in ([{"name": "f", "parameters": {"x": 1}}], {"name": "f"}, "f(x=1)"):
        assert read_calls(reference) == reference


def test_several_turns_are_no_question(tmp_path: Path):
    source = write(tmp_path / "a.jsonl", {"question": ASKED * 2, "ground_truth": [{"area": {"base": [10]}}]})
    with pytest.raises(InputError, match="list of messages"):
        from_dataset(source, split="all").reset(seed=0)


def test_answers_that_are_records_of_another_kind_are_no_calls(tmp_path: Path):
    source = write(tmp_path / "a.jsonl", *({"question": f"q{n}", "answer": {"other": n}} for n in range(3)))
    with pytest.raises(InputError, match=r"answer\.other"):
        from_dataset(source, split="all").reset(seed=0)
