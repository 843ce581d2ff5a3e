"""The groups of the options of ``palaestra train``."""

from __future__ import annotations

import dataclasses

import tyro
from palaestra.agents.grpo.config import Patience, TrainConfig, WarmUp
from palaestra.scripts.option_groups import describe_fields, make_form, read_form

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
