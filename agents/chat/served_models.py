"""Default model of an endpoint when the user names none: the only model that the endpoint serves."""

from __future__ import annotations

import os

from ...errors import FEW, InputError, shorten
from ...rewards.judges.endpoint_requests import check_address, connection_options, import_sdk

_SECONDS = 20.0


def find_served_model(base_url: str | None) -> str:
    """Return the name of the only model that an endpoint lists under ``/models``.

    Args:
        base_url: address of the endpoint; None: the environment variable ``OPENAI_BASE_URL``.

    Raises:
        InputError: there is no address, the endpoint does not answer with a list, or the list has no or several models.
        MissingExtra: the package openai (extra [chat]) is not installed.
    """
    address = check_address(base_url) or os.environ.get("OPENAI_BASE_URL")
    if not address:
        raise InputError(
            "a chat agent needs a model, openai:MODEL or model=NAME, or the address of an endpoint that serves just "
            "one, such as http://localhost:8000/v1."
        )
    openai = import_sdk("a chat endpoint")
    try:
        with openai.OpenAI(**connection_options(address, retries=1), timeout=_SECONDS) as client:
            names = sorted({str(model.id) for model in client.models.list().data})
    except (openai.OpenAIError, ValueError, AttributeError, TypeError) as error:
        said = shorten(" ".join(str(error).split()), 200).rstrip(".")
        raise InputError(
            f"the endpoint at {address} does not tell which models it serves ({said}); check the address, or name the "
            "model: --agent-option model=NAME on the command line, model=NAME in Python."
        ) from error
    if len(names) == 1:
        return names[0]
    shown = ", ".join(map(repr, names[:FEW])) + (", ..." if len(names) > FEW else "")
    found = f"serves {len(names)} models ({shown})" if names else "serves no model"
    raise InputError(
        f"the endpoint at {address} {found}; name one: --agent-option model=NAME on the command line, model=NAME in "
        "Python."
    )
