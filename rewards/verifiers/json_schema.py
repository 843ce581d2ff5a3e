"""The verifier "json": JSON text that satisfies a schema, or equals a value, or both."""

from __future__ import annotations

from typing import Any

from ...errors import InputError, MissingExtra
from ..verdict import Verdict
from .json_text import JsonError, canonical, checked_value, parse_json, same_json, unfenced
from .registry import CORRECT, VERIFIERS, rejected


@VERIFIERS.register("json")
def verify_json(
    answer: str,
    reference: Any,
    *,
    schema: dict[str, Any] | bool | None = None,
    compare: bool = True,
    fenced: bool = False,
    duplicate_keys: bool = False,
) -> Verdict:
    """Whether ``answer`` is JSON that equals ``reference`` and satisfies ``schema``.

    Values are compared as by `json_text.same_json`: numbers exactly (1 = 1.0), true never as 1, arrays in order,
    objects in any order of their keys. NaN, infinities, more than 200,000 characters, 50 levels of nesting or 1,000
    digits in a number are malformed.

    Args:
        answer: the JSON text, and nothing else.
        reference: the value; ignored where ``compare`` is False.
        schema: a JSON Schema (of the draft that its ``$schema`` names, else 2020-12), or None. References to other
            documents are not followed. Its regular expressions are searched in the answer's text, so they have to be
            ones that do not backtrack without end.
        compare: False judges by the schema alone.
        fenced: accept the text in a code fence too.
        duplicate_keys: let a later key replace an earlier equal one; otherwise such text is malformed.

    Returns:
        An answer that is JSON but not of the schema is malformed, and the feedback names the first place.

    Raises:
        InputError: the reference is no JSON value, the schema is none, or there is nothing to judge by.
        MissingExtra: a schema was passed without jsonschema being installed.
    """
    if compare:
        checked_value(reference, "the reference of the json verifier")
    elif schema is None:
        raise InputError("the json verifier with compare=False needs a schema, not None.")
    validator = _validator(schema) if schema is not None else None
    text = unfenced(answer) if fenced else answer
    try:
        value = parse_json(text, duplicate_keys=duplicate_keys)
        plain = parse_json(text, duplicate_keys=duplicate_keys, exact=False) if validator is not None else None
    except JsonError as error:
        return rejected(str(error))
    if validator is not None:
        try:
            error = next(validator.iter_errors(plain), None)
        except RecursionError:
            return Verdict(0.0, False, valid=False, feedback="The schema could not be checked: it nests too deep.")
        if error is not None:
            place = "/".join(map(str, error.absolute_path))[:60]
            where = f"At {place}" if place else "At the top"
            return rejected(f"{where}, the JSON does not satisfy the schema's {str(error.validator)[:30]!r}.")
    if compare and not same_json(value, reference):
        return Verdict(0.0, False, feedback="The JSON value is not correct.")
    return CORRECT


def _validator(schema: Any) -> Any:
    try:
        import jsonschema
        import referencing
        from jsonschema.validators import extend, validator_for
    except ImportError:
        raise MissingExtra("checking JSON against a schema", "json") from None
    kind = validator_for(schema, default=jsonschema.Draft202012Validator)
    try:
        kind.check_schema(schema)
    except jsonschema.SchemaError as error:
        raise InputError(f"the schema of the json verifier is none: {str(error.message)[:150]}.") from None
    # An empty registry: nothing is fetched over a network.
    return extend(kind, {"uniqueItems": _unique})(schema, registry=referencing.Registry())


def _unique(validator: Any, wanted: Any, instance: Any, schema: Any) -> Any:
    """jsonschema compares every pair of items, which takes minutes for an array that fits the bounds."""
    if wanted and validator.is_type(instance, "array") and len(set(map(canonical, instance))) < len(instance):
        from jsonschema import ValidationError

        yield ValidationError("items are not unique")
