"""Reachability check for the Hugging Face hub, so that a missing network is not mistaken for a misspelt name.

The hub's client retries each file for half a minute; one short request in advance avoids that.
"""

from __future__ import annotations

import ssl
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from ...errors import InputError

_SECONDS = 5.0


def hub_is_reachable() -> bool:
    """Return True if the hub answers within 5 seconds; False without a request if ``HF_HUB_OFFLINE`` is set."""
    from huggingface_hub import constants

    if constants.HF_HUB_OFFLINE:
        return False
    try:
        urllib.request.urlopen(urllib.request.Request(constants.ENDPOINT, method="HEAD"), timeout=_SECONDS).close()
    except urllib.error.HTTPError:
        return True  # an answer, if not a kind one
    except urllib.error.URLError as error:
        return isinstance(error.reason, ssl.SSLError)  # the hub's own client may know the certificate
    except OSError:
        return False
    return True


@contextmanager
def offline() -> Iterator[None]:
    """Restrict the hub's clients to their cache, as with ``HF_HUB_OFFLINE``."""
    from datasets import config  # pyright: ignore[reportMissingImports]
    from huggingface_hub import constants

    before = constants.HF_HUB_OFFLINE, config.HF_HUB_OFFLINE
    constants.HF_HUB_OFFLINE = config.HF_HUB_OFFLINE = True
    try:
        yield
    finally:
        constants.HF_HUB_OFFLINE, config.HF_HUB_OFFLINE = before


def describe_outage() -> str:
    """Return a message that the hub cannot be reached, with the remedy."""
    from huggingface_hub import constants

    if constants.HF_HUB_OFFLINE:
        return "the hub is not asked, as HF_HUB_OFFLINE is set; unset it, or give a folder or file of this machine"
    return (
        f"the hub ({constants.ENDPOINT}) cannot be reached; check the network and its proxy, or give a folder or file "
        "of this machine"
    )


def find_model_files(source: str | Path, file: str = "config.json") -> dict[str, bool]:
    """Return the arguments for loading a model: ``{"local_files_only": True}`` if it is in the hub's cache and the hub
    cannot be reached, else an empty dict.

    Args:
        source: a folder of a model, or a hub id.
        file: the name of a file that every such model has.

    Raises:
        InputError: ``source`` is no folder, not in the cache, and the hub cannot be reached.
    """
    if Path(source).is_dir():
        return {}
    from huggingface_hub import try_to_load_from_cache
    from huggingface_hub.errors import HFValidationError
    from huggingface_hub.utils import validate_repo_id

    try:
        validate_repo_id(str(source))
    except HFValidationError:
        return {}  # whoever loads it says what is wrong with the name
    if hub_is_reachable():
        return {}
    if isinstance(try_to_load_from_cache(str(source), file), str):
        return {"local_files_only": True}
    where = "is no folder here and not in the hub's cache"
    if "/" not in str(source):
        where = "is no folder here, and no hub id like owner/name (few are one word)"
    raise InputError(f"{str(source)!r} {where}; {describe_outage()}.")
