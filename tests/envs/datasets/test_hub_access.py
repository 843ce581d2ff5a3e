"""A hub that cannot be reached is not taken for a misspelt name, and costs no half minute."""

from __future__ import annotations

import threading
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import pytest
from palaestra.envs.datasets.hub_access import find_model_files, hub_is_reachable
from palaestra.envs.datasets.sources import read_hub
from palaestra.errors import InputError

constants = pytest.importorskip("huggingface_hub.constants")


class _Refusing(BaseHTTPRequestHandler):
    def do_HEAD(self) -> None:
        self.send_response(403)
        self.end_headers()

    def log_message(self, format: str, *args: object) -> None:
        pass


@pytest.fixture
def nowhere(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """The hub is at a port where nobody listens, and its cache is empty."""
    for name in ("http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(constants, "ENDPOINT", "http://127.0.0.1:9")
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", False)
    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(tmp_path / "cache"))


@pytest.mark.usefixtures("nowhere")
def test_a_model_that_is_nowhere_is_said_to_need_the_hub(tmp_path: Path):
    with pytest.raises(InputError, match=r"'a/b' is no folder here and not in .* cache; the hub .* cannot be reached"):
        find_model_files("a/b")
    with pytest.raises(InputError, match=r"'nofolder' is no folder here, and no hub id .* word\); the hub .* cannot"):
        find_model_files("nofolder")
    assert find_model_files(tmp_path) == find_model_files("no/hub/id") == {}


@pytest.mark.usefixtures("nowhere")
def test_a_model_in_the_cache_is_loaded_from_there(tmp_path: Path):
    kept = Path(constants.HF_HUB_CACHE) / "models--a--b"
    for name, text in {"refs/main": "abc", "snapshots/abc/config.json": "{}"}.items():
        (kept / name).parent.mkdir(parents=True)
        (kept / name).write_text(text)
    assert find_model_files("a/b") == {"local_files_only": True}


@pytest.mark.usefixtures("nowhere")
def test_a_data_set_without_network_is_said_to_need_the_hub():
    pytest.importorskip("datasets")
    with pytest.raises(InputError, match=r"'a/b' is no file here and not in .*; the hub .* cannot be reached"):
        list(read_hub("a/b", "train", None))
    assert constants.HF_HUB_OFFLINE is False


@pytest.mark.usefixtures("nowhere")
def test_any_answer_means_that_the_hub_is_reached_unless_it_is_not_to_be_asked(monkeypatch: pytest.MonkeyPatch):
    server = HTTPServer(("127.0.0.1", 0), _Refusing)
    threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True).start()
    monkeypatch.setattr(constants, "ENDPOINT", f"http://127.0.0.1:{server.server_address[1]}")
    try:
        assert hub_is_reachable()
        monkeypatch.setattr(constants, "HF_HUB_OFFLINE", True)
        assert not hub_is_reachable()
        with pytest.raises(InputError, match="HF_HUB_OFFLINE is set"):
            find_model_files("a/b")
    finally:
        server.shutdown()
        server.server_close()
