"""What a teacher asks for is carried out, refused, and written down."""

from __future__ import annotations

import json

import pytest
from palaestra.agents.grpo.config import RequestSettings, TrainConfig
from palaestra.agents.grpo.learner import Learner
from palaestra.agents.grpo.teacher_requests.requests import HANDLERS, Handler
from palaestra.errors import InputError
from palaestra.scripts import train
from palaestra.teachers import TEACHERS, Preset, Proposal
from palaestra.teachers.random import RandomTeacher
from palaestra.teachers.requests import REQUESTS, LearnerRequest

from .conftest import rows

ASKING = sorted(name for name in TEACHERS if getattr(TEACHERS[name], "asks", ()))


def test_every_request_is_carried_out_or_a_label():
    assert {name for name, request in REQUESTS.items() if not request.label} == set(HANDLERS)


@pytest.mark.parametrize("name", ASKING)
def test_the_command_line_trains_with_every_teacher_that_asks_for_something(name, two_armed, tmp_path):
    options = {
        "clpo": ["group=4"],
        "lilo": ["batch=2", "factor=2", "screen=4", "n=2"],
        "pairing": ["group=8", "odd=3"],
        "puzzlecraft": ["mode=weight"],
        "speed": ["screen=4", "n=2"],
    }.get(name, [])
    words = ["tests/TwoArmed-v0", "--teacher", name, "--pool", "4", "--model", two_armed, "--steps", "3"]
    words += ["--prompts", "4", "--samples", "4", "--max-new-tokens", "4", "--warmup.steps", "0", "--lr", "1e-9"]
    words += ["--eval-every", "0", "--final-episodes", "1", "--threads", "1", "--track"]
    words += ["--teacher-option", *options] if options else []
    config = train._build_config(train._parse(words, TrainConfig()))
    assert Learner.start(tmp_path / "run", config).run()
    proposals = rows(tmp_path / "run", "proposals")
    done = {key for row in proposals for key in row.get("done", ())}
    asked = {key for row in proposals for key in row.get("asked", ())}
    assert asked == TEACHERS[name].asks
    assert done == {key for key in asked if not REQUESTS[key].label}
    figures = {key.split("/")[1] for row in rows(tmp_path / "run", "metrics") for key in row if "requests/" in key}
    assert figures == done


def test_rows_of_a_teacher_that_asks_for_nothing_are_as_they_were(start):
    learner = start("random", steps=1)
    assert learner.run()
    for row in rows(learner.folder.path, "proposals"):
        assert not {"asked", "done", "train"} & row.keys()
    assert not any("requests" in key for row in rows(learner.folder.path, "metrics") for key in row)


@pytest.fixture
def swapping(monkeypatch):
    """A teacher of another package with a request of its own."""
    request = LearnerRequest("a letter", lambda name, value: value, "the prompt ends with it")
    monkeypatch.setitem(REQUESTS._entries, "letter", request)

    class Swapping(RandomTeacher):
        asks = frozenset({"letter"})

        def propose(self, k):
            return [Proposal(p.id, p.task, meta={"letter": "z"}) for p in super().propose(k)]

    Preset("swapping", Swapping, "A teacher with a request of its own.", "")
    yield "swapping"
    TEACHERS._entries.pop("swapping")


def test_a_request_that_nothing_carries_out_is_refused_before_a_model_is_loaded(swapping, tmp_path):
    with pytest.raises(InputError, match="nothing carries out the request 'letter' of the teacher"):
        Learner.start(tmp_path / "run", TrainConfig(teacher=swapping, model="no/such/model"))


def test_a_package_can_carry_out_a_request_of_its_own(swapping, start, monkeypatch):
    def add_letter(assignments, workplace):
        for assignment in assignments:
            assignment.set_conditions(note=assignment.request("letter"))
            assignment.done["letter"] = "added"

    monkeypatch.setitem(HANDLERS._entries, "letter", Handler("play", add_letter))
    collected = start(swapping).parts.collector.collect(1)
    assert all(t.turns[0].observation.endswith("\nz") for group in collected.groups for t in group.trajectories)
    assert collected.requests == {"requests/letter": 3.0, "requests/letter/added": 3.0}


def test_a_teacher_that_asks_without_declaring_it_is_obeyed(start, monkeypatch):
    learner = start("random")
    propose = learner.parts.teacher.propose
    asking = lambda k: [Proposal(p.id, p.task, meta={"max_tokens": 1}) for p in propose(k)]  # noqa: E731
    monkeypatch.setattr(learner.parts.teacher, "propose", asking)
    assert {t.max_tokens for group in learner.parts.collector.collect(1).groups for t in group.trajectories} == {1}


@pytest.mark.parametrize(
    ("settings", "sentence"),
    [
        ({"budget": "Be brief."}, "requests.budget must contain {tokens}, not 'Be brief.'"),
        ({"simplify": "Simplify!"}, "requests.simplify must contain {question}"),
        ({"hint_where": "margin"}, "unknown requests.hint_where: 'margin'"),
        ({"rounds": 0}, "requests.rounds must be a whole number of at least 1, not 0"),
    ],
)
def test_settings_out_of_range_are_refused(settings, sentence):
    with pytest.raises(InputError, match=sentence):
        TrainConfig(requests=RequestSettings(**settings))


def test_settings_are_stored_with_the_run_and_compared(start):
    learner = start("random", requests=RequestSettings(rounds=7))
    saved = json.loads((learner.folder.path / "config.json").read_text())
    assert saved["requests"]["rounds"] == 7
    assert TrainConfig.from_json(saved).requests.rounds == 7
    del saved["requests"]  # a run of an earlier version
    assert TrainConfig.from_json(saved).differences(learner.config) == ["requests.rounds: 4 instead of 7"]
