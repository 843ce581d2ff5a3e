"""Verifier "json": JSON text that satisfies a schema, or equals a value, or both."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from fractions import Fraction
from typing import Any

from ...checks import check_number
from ...errors import InputError, MissingExtra
from ..verdict import Verdict
from .json_text import JsonError, check_json_value, hashable_json, parse_json, same_json, strip_code_fence
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
    seconds: float = 2.0,
) -> Verdict:
    """Check that ``answer`` is JSON that equals ``reference`` and satisfies ``schema``.

    Values are compared as by `json_text.same_json`: numbers exactly (1 = 1.0), true never as 1, arrays in order,
    objects in any order of their keys. NaN, infinities, more than 200,000 characters, 50 levels of nesting or 1,000
    digits in a number are malformed.

    Args:
        answer: the JSON text, and nothing else.
        reference: the value; ignored if ``compare`` is False.
        schema: a JSON Schema (of the draft that its ``$schema`` names, else 2020-12), or None. References to other
            documents are not followed. Its regular expressions are searched in the answer's text, so they must not be
            open to catastrophic backtracking.
        compare: False judges by the schema alone.
        fenced: also accept the text in a code fence.
        duplicate_keys: let a later key replace an earlier equal one; by default such text is malformed.
        seconds: CPU time for the check of the schema, at least 0.001; it is measured between two of its keywords. A
            schema that refers to itself several times can take time exponential in the depth of an answer.

    Returns:
        A verdict. For JSON that breaks the schema it has ``malformed=True`` and the feedback names the first place; if
        the check of the schema did not finish, ``valid=False``.

    Raises:
        InputError: the reference is not a JSON value, the schema is not a schema or refers to a part that it lacks, or
            neither a reference nor a schema is given.
        MissingExtra: a schema is given and jsonschema is not installed.
    """
    if compare:
        check_json_value(reference, "the reference of the json verifier")
    elif schema is None:
        raise InputError("the json verifier with compare=False needs a schema, not None.")
    check_number("seconds of the json verifier", seconds, low=0.001)
    validator = _validator(schema, seconds) if schema is not None else None
    text = strip_code_fence(answer) if fenced else answer
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
        except _SchemaTimeout:
            return Verdict(0.0, False, valid=False, feedback=f"The schema could not be checked within {seconds:g} s.")
        if error is not None:
            place = "/".join(map(str, error.absolute_path))[:60]
            where = f"At {place}" if place else "At the top"
            return rejected(f"{where}, the JSON does not satisfy the schema's {str(error.validator)[:30]!r}.")
    if compare and not same_json(value, reference):
        return Verdict(0.0, False, feedback="The JSON value is not correct.")
    return CORRECT


class _SchemaTimeout(Exception):
    """Error raised when the check of a schema has used up its time."""


def _validator(schema: Any, seconds: float) -> Any:
    """Build a validator of ``schema`` that raises `_SchemaTimeout` after ``seconds`` of CPU time from now."""
    try:
        import jsonschema
        import referencing
        from jsonschema.validators import extend, validator_for
    except ImportError:
        raise MissingExtra("checking JSON against a schema", "json") from None
    if not isinstance(schema, (Mapping, bool)):
        raise InputError(f"the schema of the json verifier must be a mapping or a bool, not {schema!r:.150}.")
    check_json_value(schema, "the schema of the json verifier")
    kind: Any = validator_for(schema, default=jsonschema.Draft202012Validator)
    try:
        kind.check_schema(schema)
    except jsonschema.SchemaError as error:
        raise InputError(f"the schema of the json verifier is none: {str(error.message)[:150]}.") from None
    _check_references(schema, kind)
    until = time.thread_time() + seconds
    checks = {**kind.VALIDATORS, "uniqueItems": _unique, "multipleOf": _multiple}
    bounded = extend(kind, {name: _until(until, check) for name, check in checks.items() if name in kind.VALIDATORS})
    descend = bounded.evolve

    def evolve(self: Any, **changes: Any) -> Any:
        # jsonschema would check a part that names its draft with a fresh validator, which has no time limit.
        part = changes.get("schema", self.schema)
        if isinstance(part, Mapping) and "$schema" in part:
            changes["schema"] = {key: value for key, value in part.items() if key != "$schema"}
        return descend(self, **changes)

    bounded.evolve = evolve
    # An empty registry prevents any request over a network.
    return bounded(schema, registry=referencing.Registry())


def _until(until: float, check: Callable[..., Any]) -> Callable[..., Any]:
    def bounded(validator: Any, wanted: Any, instance: Any, schema: Any) -> Any:
        if time.thread_time() > until:
            raise _SchemaTimeout
        return check(validator, wanted, instance, schema)

    return bounded


def _check_references(schema: Any, kind: Any) -> None:
    """Raise InputError if ``schema`` refers to a part that it lacks."""
    from jsonschema_specifications import REGISTRY
    from referencing.exceptions import Unresolvable
    from referencing.jsonschema import DRAFT202012, specification_with

    specification = specification_with(kind.ID_OF(kind.META_SCHEMA), default=DRAFT202012)
    root = specification.create_resource(schema)
    waiting = [(root, REGISTRY.resolver_with_root(root))]
    while waiting:
        part, resolver = waiting.pop()
        contents = part.contents if isinstance(part.contents, Mapping) else {}
        for name in ("$ref", "$dynamicRef"):
            target = contents.get(name)
            if not isinstance(target, str):
                continue
            try:
                resolver.lookup(target)
            except Unresolvable:
                raise InputError(
                    f"the schema of the json verifier refers to {target[:100]!r}, which it does not hold; "
                    "put what it refers to under $defs."
                ) from None
        waiting += [(inner, resolver.in_subresource(inner)) for inner in part.subresources()]


def _unique(validator: Any, wanted: Any, instance: Any, schema: Any) -> Any:
    """Check uniqueItems by hashes; jsonschema compares every pair, which takes minutes for the largest arrays."""
    if wanted and validator.is_type(instance, "array") and len(set(map(hashable_json, instance))) < len(instance):
        from jsonschema import ValidationError

        yield ValidationError("items are not unique")


def _multiple(validator: Any, wanted: Any, instance: Any, schema: Any) -> Any:
    """Check multipleOf exactly; in jsonschema's doubles large integers overflow and 0.3 is not a multiple of 0.1."""
    if validator.is_type(instance, "number") and _exactly(instance) % _exactly(wanted):
        from jsonschema import ValidationError

        yield ValidationError("the number is not a multiple")


def _exactly(value: Any) -> Fraction:
    return Fraction(repr(value)) if isinstance(value, float) else Fraction(value)
