"""Options of chat templates, and the date that a template asks for."""

from __future__ import annotations

from datetime import datetime
from typing import Any

import pytest
from palaestra.agents.language.chat_options import keep_date, read_names, with_date, with_defaults
from palaestra.agents.language.renderer import renderer_for
from palaestra.agents.language.tokenizer import FEWEST_TOKENS, character_tokenizer, learned_tokenizer
from palaestra.errors import InputError

MESSAGES = (
    "{% for m in messages %}[{{ m.role }}] {{ m.content }}<end>{% endfor %}"
    "{% if add_generation_prompt %}[assistant] {% if enable_thinking is defined and not enable_thinking %}"
    "(none) {% endif %}{% endif %}"
)
LLAMA = """{%- if not date_string is defined %}
    {%- if strftime_now is defined %}
        {%- set date_string = strftime_now("%d %b %Y") %}
    {%- else %}
        {%- set date_string = "26 Jul 2024" %}
    {%- endif %}
{%- endif %}
{{- "Today: " + date_string + "\\n" }}"""
GRANITE = "Today's Date: {{ strftime_now('%B %d, %Y') }}.\n"
NESTED = "{%- macro today() -%}{{ strftime_now('%-d/%m/%y 100%%') }}{%- endmacro -%}  {{ today() }}\n"
DATED = {"llama": LLAMA, "granite": GRANITE, "nested": NESTED}


def make(template: str) -> Any:
    tokenizer = learned_tokenizer(["Today's Date: January 05, 2026.\n"], FEWEST_TOKENS)
    tokenizer.chat_template = template
    tokenizer.get_vocab = lambda: {"a": 0}  # none of the markers of the tiny model
    return tokenizer


def shown(template: str, **options: Any) -> str:
    tokenizer = make(template)
    return tokenizer.decode(renderer_for(tokenizer, options=options).observation("2 + 2?", first=True))


def test_an_option_changes_what_the_template_writes():
    assert shown(MESSAGES) == "[user] 2 + 2?<end>[assistant] "
    assert shown(MESSAGES, enable_thinking=True) == "[user] 2 + 2?<end>[assistant] "
    assert shown(MESSAGES, enable_thinking=False) == "[user] 2 + 2?<end>[assistant] (none) "


def test_an_option_that_the_template_never_reads_is_refused_with_those_that_it_reads():
    with pytest.raises(InputError, match=r"no option 'enable_thinkng' \(it reads enable_thinking\)"):
        renderer_for(make(MESSAGES), options={"enable_thinkng": False})
    with pytest.raises(InputError, match="no option 'date'"):
        renderer_for(make(MESSAGES), options={"date": "2026-01-05"})
    for name in ("messages", "eos_token", "add_generation_prompt", "strftime_now"):
        with pytest.raises(InputError, match=f"no option '{name}'"):
            renderer_for(make(GRANITE + MESSAGES + "{{ eos_token }}"), options={name: "x"})


def test_a_model_without_a_template_takes_no_options():
    plain = make("")
    plain.chat_template = None
    for tokenizer in (plain, character_tokenizer()):
        with pytest.raises(InputError, match="no chat template, which the option 'enable_thinking'"):
            renderer_for(tokenizer, options={"enable_thinking": False})


def test_a_template_that_cannot_be_read_is_refused():
    with pytest.raises(InputError, match="cannot be read"):
        renderer_for(make("{% for m in %}"))


def test_names_are_found_beside_the_tags_of_other_trainers():
    template = (
        "{% set k = kept | default(1) %}{% for m in messages %}{%- generation -%}{{ m.content }}{% endgeneration %}"
        "{% if tail %}{% break %}{% endif %}{% endfor %}"
    )
    assert read_names(template) == {"kept", "tail"}


@pytest.mark.parametrize("name", DATED)
def test_a_template_that_asks_for_the_date_is_told_the_one_that_is_set(name):
    template = DATED[name] + MESSAGES
    expected = {
        "llama": "Today: 05 Jan 2026\n",
        "granite": "Today's Date: January 05, 2026.\n",
        "nested": "5/01/26 100%\n",
    }[name]
    assert expected in shown(template, date="2026-01-05")
    other = shown(template, date="2026-01-06")
    assert other != shown(template, date="2026-01-05")
    tokenizer = make(template)
    options = renderer_for(tokenizer).options
    assert options == {"date": datetime.now().date().isoformat()}
    assert shown(template) == shown(template, **options)


def test_the_date_can_be_set_by_a_variable_that_the_template_has():
    assert "Today: 1 May\n" in shown(LLAMA + MESSAGES, date_string="1 May")


@pytest.mark.parametrize("date", ["5 January", 2026, None, ["2026-01-05"]])
def test_what_is_no_date_is_refused(date):
    with pytest.raises(InputError, match=r"written as 2026-01-05, not"):
        renderer_for(make(GRANITE + MESSAGES), options={"date": date})


@pytest.mark.parametrize(
    "start", ["", "\n", "  {% if true %}a{% endif %}\n", "  {{ 1 }}\n", "{%- if true -%} y{% endif %}"]
)
def test_nothing_else_of_a_template_changes(start):
    from transformers.utils.chat_template_utils import render_jinja_template

    def render(template: str) -> str:
        rendered = render_jinja_template([[{"role": "user", "content": "b"}]], chat_template=template)[0]
        return rendered[0]

    template = start + MESSAGES
    assert render(with_date(template, "2026-01-05")) == render(template)
    assert render(with_defaults(template, {"other": [1, None, {"a": True}]})) == render(template)


def test_options_are_built_into_a_template_as_defaults():
    built = with_defaults(GRANITE + MESSAGES, {"enable_thinking": False, "date": "2026-01-05"})
    assert "(none)" in shown(built)
    assert "(none)" not in shown(built, enable_thinking=True)
    assert "January 05, 2026" not in shown(built)


def test_the_date_of_earlier_options_is_kept_unless_there_is_another():
    earlier = {"date": "2026-01-05", "enable_thinking": True}
    assert keep_date({}, earlier) == {"date": "2026-01-05"}
    assert keep_date({"date": "2026-01-06"}, earlier) == {"date": "2026-01-06"}
    assert keep_date({"enable_thinking": False}, {}) == {"enable_thinking": False}
