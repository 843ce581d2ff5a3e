"""Free arguments as they are typed."""

from __future__ import annotations

import pytest
from palaestra.errors import InputError
from palaestra.scripts.options import parse_options


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("source=my.jsonl", "my.jsonl"),
        ("source=a=b.jsonl", "a=b.jsonl"),
        ("limit=3", 3),
        ("rate=1e-3", 0.001),
        ("levels=[1, 2]", [1, 2]),
        ('extra={"a": null}', {"a": None}),
        ("shuffle=true", True),
        ("shuffle=False", False),
        ("part=None", None),
        ("name=", ""),
    ],
)
def test_values_are_read_as_json_where_they_are_json(text, value):
    (read,) = parse_options([text], "an environment").values()
    assert read == value
    assert type(read) is type(value)


@pytest.mark.parametrize(
    ("texts", "sentence"),
    [
        (["source"], "an environment option is given as name=value, not 'source'"),
        (["=3"], "not '=3'"),
        (["a=1", "a=2"], "'a' is given twice"),
    ],
)
def test_anything_else_is_one_sentence(texts, sentence):
    with pytest.raises(InputError) as caught:
        parse_options(texts, "an environment")
    assert sentence in str(caught.value)
