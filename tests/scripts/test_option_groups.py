"""The groups of the options of ``palaestra train``."""

from __future__ import annotations

import dataclasses

import pytest
import tyro
from palaestra.agents.grpo.config import Patience, TrainConfig, WarmUp
from palaestra.scripts.option_groups import describe_fields, list_options, make_form, named_options, read_form

DEFAULTS = TrainConfig()


def parse(*arguments: str, config: TrainConfig = DEFAULTS) -> TrainConfig:
    return read_form(tyro.cli(make_form(config, {}), args=list(arguments)), config)


def test_every_field_is_described():
    assert [name for name, text in describe_fields(TrainConfig).items() if not text] == []


def test_options_reach_the_configuration_and_the_rest_stays():
    config = TrainConfig(seed=3, axes={"digits": 1}, env_options={"a": 1}, lr=1e-5)
    parsed = parse(
        *("palaestra/Countdown-v0", "--lora", "4", "--surrogate", "cispo", "--warmup.steps", "7"),
        *("--patience.no-signal", "0", "--track"),
        config=config,
    )
    assert parsed == dataclasses.replace(
        config,
        env="palaestra/Countdown-v0",
        lora=4,
        stages=dataclasses.replace(config.stages, surrogate="cispo"),
        warmup=WarmUp(steps=7),
        patience=Patience(no_signal=0),
        track=(),
    )


def test_no_option_gives_the_defaults():
    assert parse() == TrainConfig()


KNOWN = {name.replace("-", "_") for name in list_options(DEFAULTS)}


@pytest.mark.parametrize(
    ("line", "named"),
    [
        ("", set()),
        ("palaestra/Countdown-v0 --lora 4 --lr=0.1", {"lora", "lr"}),
        ("--max_new_tokens 5 --no-tf32 --track", {"max_new_tokens", "tf32", "track"}),
        ("--surrogate cispo --masks nonzero", {"surrogate", "masks"}),
        ("--warmup.steps 7 --patience.no-signal 0", {"warmup.steps", "patience.no_signal"}),
    ],
)
def test_a_form_of_the_options_on_the_line_alone_gives_the_same_configuration(line, named):
    assert named_options(line.split(), KNOWN) == named
    few = make_form(DEFAULTS, {}, named=named)
    assert len(dataclasses.fields(few)) <= 1 + len(named)
    assert read_form(tyro.cli(few, args=line.split()), DEFAULTS) == parse(*line.split())


@pytest.mark.parametrize("line", ["-h", "--help", "--lora 4 --help", "--lorra 4", "--", "--warmup.stepps 3"])
def test_help_and_unknown_options_take_the_whole_form(line):
    assert named_options(line.split(), KNOWN) is None
