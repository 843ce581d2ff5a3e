"""Options of a chat template: the variables that the template reads besides the conversation, and the date it writes.

A user gives them as ``{"enable_thinking": False, "date": "2026-01-05"}``. `complete_options` fixes the date, and
`with_defaults` builds options into a template.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from datetime import datetime
from functools import lru_cache
from typing import Any

from ...errors import InputError

DATE = "date"
"""Option of templates that call ``strftime_now``: the date that the call formats, such as 2026-01-05."""

_NOW = "strftime_now"
_GIVEN = frozenset(
    {"messages", "add_generation_prompt", "raise_exception", "namespace", "dict", "range", "lipsum", "cycler", "joiner"}
)
"""Variables and functions that rendering always provides to templates."""
_GENERATION = re.compile(r"\{%[-+]?\s*(?:end)?generation\s*[-+]?%\}")
_CODES = "aAbBcdDeFgGhHIjklmMnpPrRsStTuUVwWxXyYZ"
"""Letters of the directives of ``strftime``."""


def template_of(tokenizer: Any) -> str:
    """Return the chat template of a tokenizer. Raises InputError if it has none, or several and no default."""
    try:
        return tokenizer.get_chat_template()
    except ValueError as error:
        raise InputError(f"the tokenizer has no default chat template ({error}); set its chat_template.") from error


@lru_cache(maxsize=64)
def read_names(template: str) -> frozenset[str]:
    """Return the names of variables that a template reads besides the conversation.

    Raises:
        InputError: the template is not valid Jinja.
    """
    from jinja2 import Environment, meta
    from jinja2.exceptions import TemplateError

    try:
        # The tags {% generation %} mark answers for other trainers; Jinja does not know them.
        parsed = Environment(extensions=["jinja2.ext.loopcontrols"]).parse(_GENERATION.sub("", template))
        return frozenset(meta.find_undeclared_variables(parsed) - _GIVEN)
    except TemplateError as error:
        raise InputError(f"the chat template cannot be read ({error}); set another chat_template.") from error


def asks_for_date(template: str) -> bool:
    """Return True if a template writes the current date."""
    return _NOW in read_names(template)


def complete_options(tokenizer: Any, options: Mapping[str, Any]) -> dict[str, Any]:
    """Check options of a tokenizer's chat template, and return them with today's date added if the template writes the
    date and the options have none.

    Raises:
        InputError: the template does not read an option, or the date is not a valid date.
    """
    names = read_names(template_of(tokenizer))
    allowed = names - {_NOW} - set(tokenizer.special_tokens_map)
    if _NOW in names:
        allowed |= {DATE}
    for name in options:
        if name not in allowed:
            known = f"it reads {', '.join(sorted(allowed))}" if allowed else "it has none"
            raise InputError(f"the chat template reads no option {name!r} ({known}); leave it out.")
    if _NOW not in names:
        return dict(options)
    date = options.get(DATE, datetime.now().date().isoformat())
    try:
        datetime.fromisoformat(date)
    except (TypeError, ValueError):
        raise InputError(f"the date of a chat template is written as 2026-01-05, not {date!r}.") from None
    return {**options, DATE: date}


def keep_date(options: Mapping[str, Any], earlier: Mapping[str, Any]) -> dict[str, Any]:
    """Return ``options``, with the date of ``earlier`` added if ``options`` have no date."""
    return {**({DATE: earlier[DATE]} if DATE in earlier else {}), **options}


def with_date(template: str, date: str) -> str:
    """Return a template in which ``strftime_now`` formats a fixed date (midnight, unless ``date`` has a time)."""
    moment = datetime.fromisoformat(date)
    # "%%" is replaced first, so that the letter after it is not taken for a directive.
    values = [("%%", "\0"), *((f"%-{code}", moment.strftime(f"%-{code}")) for code in _CODES)]
    values += [*((f"%{code}", moment.strftime(f"%{code}")) for code in _CODES), ("\0", "%")]
    return (
        f"{{%- macro {_NOW}(format) -%}}{{%- set ns = namespace(text=format) -%}}"
        f"{{%- for code, value in {json.dumps(values)} -%}}"
        "{%- set ns.text = ns.text | replace(code, value) -%}{%- endfor -%}{{- ns.text -}}{%- endmacro %}\n" + template
    )


def with_defaults(template: str, options: Mapping[str, Any]) -> str:
    """Return a template with options as default values of its variables; the date stays the date of use."""
    given = {name: value for name, value in options.items() if name != DATE or not asks_for_date(template)}
    # Jinja removes the line break after a block.
    return (
        "".join(
            f"{{%- if {name} is not defined %}}{{%- set {name} = {_literal(value)} %}}{{%- endif %}}\n"
            for name, value in given.items()
        )
        + template
    )


def _literal(value: Any) -> str:
    """Write a value as a Jinja literal: like JSON, except for None."""
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{json.dumps(str(key))}: {_literal(item)}" for key, item in value.items()) + "}"
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(_literal, value))}]"
    return "none" if value is None else json.dumps(value)
