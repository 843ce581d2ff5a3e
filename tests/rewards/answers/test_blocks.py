"""Extraction of the program from an answer."""

from __future__ import annotations

import pytest
from palaestra.rewards.answers import fenced, program_in, query_in

CODE = "def f(x):\n    return x"


@pytest.mark.parametrize(
    "answer",
    [
        CODE,
        f"\n\n{CODE}\n\n",
        fenced(CODE),
        f"Here it is:\n\n```python\n{CODE}\n```\nThat is all.",
        f"```\n{CODE}\n```",
        f"~~~py\n{CODE}\n~~~",
        f"```Python3\n{CODE}\n```",
        f"````python\n{CODE}\n````",
        f"```python title=f\n{CODE}\n```",
        f"```python\n{CODE}",
        f"```python\r\n{CODE}\r\n```\r\n".replace("x)\n", "x)\r\n"),
        "1. So:\n   ```python\n   def f(x):\n       return x\n   ```",
        f"```python\nwrong\n```\nNo, better:\n```python\n{CODE}\n```",
        f"```python\n{CODE}\n```\nIt prints\n```\n5\n```",
        f"```text\nidea\n```\n```\n{CODE}\n```",
        f"```js\n{CODE}\n```",
        f"```text\nidea\n```\n```js\n{CODE}\n```",
        f"<answer>\n{CODE}\n</answer>",
        f"<answer>```python\n{CODE}\n```</answer>".replace("<answer>`", "<answer>\n`").replace("`<", "`\n<"),
    ],
)
def test_the_program_is_found(answer: str):
    assert program_in(answer) == CODE


@pytest.mark.parametrize("answer", ["`x + 1`", "```x + 1```", "```python x + 1```", "x + 1", " x + 1\n"])
def test_an_expression_may_stand_in_the_line(answer: str):
    assert program_in(answer) == "x + 1"


def test_marks_inside_a_block_belong_to_it():
    code = 'text = """\n``` is no end\n~~~\n"""'
    assert program_in(f"```python\n{code}\n```") == code


@pytest.mark.parametrize("answer", ["", " ", "```", "```python", "```python\n```", "~~~\n~~~", "\n" * 4000])
def test_there_may_be_no_program(answer: str):
    assert program_in(answer).strip("`") == ""


@pytest.mark.parametrize("piece", ["`", "```\n", "~~~", "```python\n", "<answer>", " ", "\t`", "\n```a", "`a"])
def test_hostile_text_is_read(piece: str):
    for length in (4095, 4096):
        text = (piece * 4096)[:length]
        assert len(program_in(text)) <= length


@pytest.mark.parametrize(
    "reply",
    [
        "SELECT 1",
        "```sql\nSELECT 1\n```",
        "```\nSELECT 1\n```",
        "```sqlite\nSELECT 1\n```\nIt prints:\n```\n1\n```",
        "First ```sql``` that:\n```SQL\nSELECT 0\n```\nNo:\n```sql\nSELECT 1\n```\nDone.",
        "<answer>SELECT 1</answer>",
    ],
)
def test_the_query_is_found(reply: str):
    assert query_in(reply) == "SELECT 1"
