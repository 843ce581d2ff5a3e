"""The made-up world is consistent, whatever its seed and size."""

from __future__ import annotations

import calendar
from typing import Any

import pytest
from palaestra.envs.web.wiki.wiki_relations import BY_KIND, RELATIONS
from palaestra.envs.web.wiki.world import NOW, WikiWorld, name_of_value

WORLDS = [WikiWorld(seed, size) for size, seeds in ((20, 8), (40, 12), (320, 3)) for seed in range(seeds)]
every_world = pytest.mark.parametrize("world", WORLDS, ids=lambda world: f"{len(world.things)}")

# Relations of a doer and the time of the deed: (thing -> person, thing -> time, least age).
DEEDS = {
    "novel": ("author", "published"),
    "play": ("dramatist", "staged"),
    "company": ("founder", "established"),
    "battle": ("victor", "fought"),
    "species": ("describer", "described"),
    "bridge": ("designer", "opened"),
    "mountain": ("climber", "ascent"),
}


def year(value: Any) -> int:
    return value[0] if isinstance(value, tuple) else value


def facts(world: WikiWorld, number: int) -> dict[str, Any]:
    return world.things[number].facts


@every_world
def test_there_are_as_many_things_as_asked_for_and_values_have_the_kind_of_their_relation(world: WikiWorld):
    assert len(world.things) in (20, 40, 320)
    for thing in world.things:
        assert thing.name.isascii()
        for name, value in thing.facts.items():
            assert RELATIONS[name] in BY_KIND[thing.kind]
            if RELATIONS[name].is_link:
                assert world.things[value].kind == RELATIONS[name].value
            elif RELATIONS[name].value == "date":
                assert 1 <= value[2] <= calendar.monthrange(value[0], value[1])[1]
            else:
                assert value > 0


@every_world
def test_nobody_acts_before_growing_up_or_after_death(world: WikiWorld):
    for thing in world.things:
        if thing.kind in DEEDS:
            who, when = DEEDS[thing.kind]
            doer = facts(world, thing.facts[who])
            assert year(thing.facts[when]) >= year(doer["born"]) + 22
            assert year(thing.facts[when]) < year(doer.get("died", (NOW, 1, 1)))


@every_world
def test_families_and_schools_fit_their_dates(world: WikiWorld):
    for number in world.of_kind("person"):
        person = facts(world, number)
        born = person["born"]
        assert person.get("died", (NOW, 1, 1)) > born
        if "father" in person:
            father = world.things[person["father"]]
            assert not father.female
            assert 20 <= born[0] - father.facts["born"][0] <= 50
            assert father.facts.get("died", (NOW, 1, 1)) > born
        if "teacher" in person:
            teacher = facts(world, person["teacher"])
            assert born[0] - teacher["born"][0] >= 12
            assert year(teacher.get("died", (NOW, 1, 1))) >= born[0] + 18
        if "studied" in person:
            assert facts(world, person["studied"])["university_founded"] <= born[0]
        if "spouse" in person:
            spouse = world.things[person["spouse"]]
            assert spouse.facts["spouse"] == number
            assert spouse.female is not world.things[number].female
            assert person["spouse"] != person.get("father")
            assert year(spouse.facts.get("died", (NOW, 1, 1))) >= born[0] + 20 or spouse.facts["born"] > born


@every_world
def test_places_lie_in_one_another(world: WikiWorld):
    def country_of(number: int) -> int:
        thing = world.things[number]
        if thing.kind == "country":
            return number
        link = {"region": "country", "city": "region", "river": "flows", "mountain": "mountain_region"}[thing.kind]
        return country_of(thing.facts[link])

    for number, thing in enumerate(world.things):
        if thing.kind == "country":
            assert country_of(thing.facts["capital"]) == number
            regions = world.having["country", number]
            assert thing.facts["country_area"] == sum(facts(world, region)["region_area"] for region in regions)
        elif thing.kind == "region":
            assert facts(world, thing.facts["seat"])["region"] == number
        elif thing.kind == "city":
            assert country_of(thing.facts["river"]) == country_of(number)
            assert thing.facts["charter"] >= facts(world, country_of(number))["independence"]
        elif thing.kind == "river":
            assert country_of(thing.facts["source"]) == thing.facts["flows"]
        elif thing.kind == "bridge":
            assert thing.facts["crosses"] == facts(world, thing.facts["bridge_city"])["river"]
        elif thing.kind == "play" and "adapted" in thing.facts:
            assert thing.facts["staged"] > facts(world, thing.facts["adapted"])["published"]


@every_world
def test_some_names_are_shared_and_what_a_thing_is_tells_namesakes_apart(world: WikiWorld):
    names = [thing.name for thing in world.things]
    assert len(set(names)) < len(names)
    assert len({(thing.name, thing.description) for thing in world.things}) == len(names)


def test_the_same_seed_makes_the_same_world():
    assert WikiWorld(7, 60).things == WikiWorld(7, 60).things
    assert WikiWorld(7, 60).things != WikiWorld(8, 60).things


def test_values_are_written_as_prose_has_them():
    world = WikiWorld(0, 20)
    assert name_of_value(world, "born", (1845, 3, 12)) == "12 March 1845"
    assert name_of_value(world, "population", 48000) == "48,000"
    assert name_of_value(world, "published", 1845) == "1845"
    assert name_of_value(world, "region", 3) == world.things[3].name
