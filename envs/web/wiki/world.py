"""Made-up world, drawn from a seed: things of many kinds with consistent relations, dates and numbers.

Parents are older than their children and alive at their birth; works, battles, climbs and foundings fall into the
lives of the people who did them; a capital lies in its country, a city on a river of its country, a bridge over the
river of its city; the areas of the regions of a country add up to the area of the country.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ...code.programs.dice import Dice
from .made_up_names import NameMaker
from .wiki_relations import RELATIONS

# Share of each kind among all things (the rest are people), and the last year of any event.
_SHARES = {
    "region": 0.05,
    "city": 0.10,
    "river": 0.04,
    "mountain": 0.04,
    "university": 0.04,
    "novel": 0.10,
    "play": 0.07,
    "company": 0.06,
    "battle": 0.04,
    "species": 0.05,
    "bridge": 0.05,
}
NOW = 2020
_OCCUPATIONS = {
    "novelist": "novel",
    "playwright": "play",
    "merchant": "company",
    "general": "battle",
    "naturalist": "species",
    "engineer": "bridge",
    "explorer": "mountain",
}
_LONG_MONTHS = (1, 3, 5, 7, 8, 10, 12)

Value = Any
"""Value of a relation: the number of a thing (its index in `WikiWorld.things`), a year or another whole number, or a
date (year, month, day)."""


@dataclass(slots=True)
class Thing:
    """One thing of the world: kind, name, aliases, facts (relation -> value); for people also sex and occupation."""

    kind: str
    name: str
    aliases: list[str] = field(default_factory=list)
    facts: dict[str, Value] = field(default_factory=dict)
    female: bool = False
    occupation: str = ""

    @property
    def description(self) -> str:
        """Noun that describes the thing: the occupation of a person, else the kind."""
        return self.occupation or self.kind


class WikiWorld:
    """Things of a world, and an index from values to the things that have them.

    Args:
        seed: seed of the random generator.
        size: number of things, at least 20.

    Attributes:
        things: the things; the number of a thing is its index.
        having: (relation, value) -> numbers of the things with this value of the relation.
    """

    def __init__(self, seed: int, size: int):
        self.things: list[Thing] = []
        self._dice = Dice(np.random.default_rng((seed, size)))
        self._names = NameMaker(self._dice)
        self._of: dict[str, list[int]] = {}
        counts = {kind: max(1, round(share * size)) for kind, share in _SHARES.items()}
        counts |= {"city": max(3, counts["city"]), "university": max(2, counts["university"])}
        countries = 1 + counts["region"] // 4
        self._make_lands(countries, max(countries, counts["region"]), counts)
        self._make_people(
            size - len(self.things) - sum(counts[kind] for kind in _OCCUPATIONS.values() if kind != "mountain")
        )
        self._make_works(counts)
        self._share_names(size)
        self._add_aliases()
        self.having: dict[tuple[str, Value], list[int]] = {}
        for number, thing in enumerate(self.things):
            for relation, value in thing.facts.items():
                self.having.setdefault((relation, value), []).append(number)

    def of_kind(self, kind: str) -> list[int]:
        return self._of.get(kind, [])

    def _add(self, kind: str, name: str, **facts: Value) -> int:
        self.things.append(Thing(kind, name, facts=facts))
        self._of.setdefault(kind, []).append(len(self.things) - 1)
        return len(self.things) - 1

    def _fact(self, number: int, relation: str) -> Value:
        return self.things[number].facts[relation]

    def _make_lands(self, countries: int, regions: int, counts: dict[str, int]) -> None:
        dice, names, things = self._dice, self._names, self.things
        for _ in range(countries):
            self._add("country", names.country(), independence=dice.between(900, 1500))
        for place in range(regions):
            area = dice.between(900, 60_000)
            self._add("region", names.place(), country=place % countries, region_area=area)
        by_country = [[r for r in self.of_kind("region") if self._fact(r, "country") == c] for c in range(countries)]
        for place in range(max(countries, counts["mountain"])):
            self._add(
                *("mountain", f"Mount {names.surname()}"),
                mountain_region=dice.one(by_country[place % countries]),
                height=dice.between(900, 7_000),
            )
        mountains = self.of_kind("mountain")
        for place in range(max(countries, counts["river"])):
            country = place % countries
            near = [m for m in mountains if self._fact(self._fact(m, "mountain_region"), "country") == country]
            length = dice.between(40, 2_500)
            self._add("river", names.place(), source=dice.one(near), flows=country, river_length=length)
        # Each region has one city first; further cities are placed at random.
        everywhere = self.of_kind("region")
        for place in range(max(regions, counts["city"])):
            region = everywhere[place] if place < regions else dice.one(everywhere)
            country = self._fact(region, "country")
            rivers = [r for r in self.of_kind("river") if self._fact(r, "flows") == country]
            self._add(
                *("city", names.place()),
                region=region,
                river=dice.one(rivers),
                population=dice.between(2_000, 900_000),
                charter=dice.between(self._fact(country, "independence"), 1_600),
            )
        for city in self.of_kind("city"):
            region = things[self._fact(city, "region")]
            country = things[region.facts["country"]]
            if "seat" not in region.facts or dice.chance(0.3):
                region.facts["seat"] = city
            if "capital" not in country.facts or dice.chance(0.2):
                country.facts["capital"] = city
        for country, inside in enumerate(by_country):
            things[country].facts["country_area"] = sum(self._fact(region, "region_area") for region in inside)
        for _ in range(counts["university"]):
            city = dice.one(self.of_kind("city"))
            founded = dice.between(max(1_400, self._fact(city, "charter")), 1_700)
            name = f"University of {things[city].name}"
            if name in names.taken:
                name = f"{names.surname()} University"
            names.taken.add(name)
            self._add("university", name, university_city=city, university_founded=founded)

    def _make_people(self, count: int) -> None:
        dice, names, things = self._dice, self._names, self.things
        years = sorted(dice.between(1700, 1965) for _ in range(count))
        occupations, first = list(_OCCUPATIONS), len(things)
        cities, universities = self.of_kind("city"), self.of_kind("university")
        # Of each person so far: thing, and the dates of birth and death; see `date_of_death`.
        people: list[tuple[Thing, tuple[int, int, int], tuple[int, int, int]]] = []
        for place, year in enumerate(years):
            born = self._draw_date(year)
            female = dice.chance(0.5)
            # People are in the order of their birth: only some of those before are of the right age.
            oldest = max(place - 40, bisect_left(years, year - 50))
            fathers = [
                person
                for person, (thing, _, death) in enumerate(
                    people[oldest : bisect_right(years, year - 20, oldest)], first + oldest
                )
                if not thing.female and death > born
            ]
            father = dice.one(fathers) if fathers and dice.chance(0.5) else None
            surname = names.surname() if father is None else things[father].name.rpartition(" ")[2]
            name = f"{names.given_name(female)} {surname}"
            while name in names.taken:
                name = f"{names.given_name(female)} {surname}"
                if dice.chance(0.1):
                    name = f"{names.given_name(female)} {name}"
            names.taken.add(name)
            person = self._add("person", name, born=born, birthplace=dice.one(cities))
            thing, facts = things[person], things[person].facts
            thing.female, thing.occupation = female, occupations[place % len(occupations)]
            end = year + dice.between(40, 88)
            if end < NOW:
                facts["died"] = self._draw_date(end)
            if father is not None:
                facts["father"] = father
            if dice.chance(0.7):
                facts["studied"] = dice.one(universities)
            nearest = max(0, place - 29)
            oldest = max(nearest, bisect_left(years, year - 45))
            teachers = [
                other
                for other, (_, _, death) in enumerate(
                    people[oldest : bisect_right(years, year - 12, oldest)], first + oldest
                )
                if death[0] >= year + 18
            ]
            if teachers and dice.chance(0.6):
                facts["teacher"] = dice.one(teachers)
            oldest = max(nearest, bisect_left(years, year - 15))
            matches = [
                other
                for other, (mate, _, death) in enumerate(people[oldest:], first + oldest)
                if mate.female != female
                and death[0] >= year + 20
                and "spouse" not in mate.facts
                and other != father
                and (father is None or mate.facts.get("father") != father)
            ]
            if matches and dice.chance(0.5):
                facts["spouse"] = dice.one(matches)
                things[facts["spouse"]].facts["spouse"] = person
            people.append((thing, born, self.date_of_death(person)))

    def date_of_death(self, person: int) -> tuple[int, int, int]:
        """Return the date on which a person died; for the living, the first day of `NOW`."""
        return self.things[person].facts.get("died", (NOW, 1, 1))

    def year_of_death(self, person: int) -> int:
        """Return the year in which a person died; `NOW` for the living."""
        return self.date_of_death(person)[0]

    def _draw_date(self, year: int) -> tuple[int, int, int]:
        month = self._dice.between(1, 12)
        return year, month, self._dice.between(1, 31 if month in _LONG_MONTHS else 30 if month != 2 else 28)

    def _active_year(self, person: int, after: int = 0) -> int:
        """Draw a year later than ``after`` in which a person is at least 22 and alive all year, if there is one."""
        low = max(self._fact(person, "born")[0] + 22, after + 1)
        return self._dice.between(low, max(low, min(self.year_of_death(person) - 1, low + 40)))

    def _make_works(self, counts: dict[str, int]) -> None:
        dice, names, things = self._dice, self._names, self.things
        cities, people = self.of_kind("city"), self.of_kind("person")
        doers: dict[str, list[int]] = {kind: [] for kind in _OCCUPATIONS.values()}
        for person in people:
            doers[_OCCUPATIONS[things[person].occupation]].append(person)
        for kind, able in doers.items():
            # If a small world has nobody with the occupation, somebody with another one is chosen.
            doers[kind] = able or people
        for mountain in self.of_kind("mountain"):
            climber = dice.one(doers["mountain"])
            things[mountain].facts |= {"climber": climber, "ascent": self._active_year(climber)}
        for _ in range(counts["novel"]):
            author = dice.one(doers["novel"])
            facts = {"author": author, "published": self._active_year(author)}
            self._add("novel", names.work(), **facts, setting=dice.one(cities), pages=dice.between(90, 980))
        for _ in range(counts["play"]):
            self._make_play(doers["play"])
        for _ in range(counts["company"]):
            founder = dice.one(doers["company"])
            facts = {"founder": founder, "headquarters": dice.one(cities), "established": self._active_year(founder)}
            name = names.company(things[founder].name.rpartition(" ")[2])
            self._add("company", name, **facts, employees=dice.between(12, 48_000))
        for _ in range(counts["battle"]):
            victor, city = dice.one(doers["battle"]), dice.one(cities)
            name = f"Battle of {things[city].name}"
            if name in names.taken:
                name = f"Siege of {things[city].name}"
            while name in names.taken:
                name = f"Battle of {names.surname()} Hill"
            names.taken.add(name)
            date = self._draw_date(self._active_year(victor))
            self._add("battle", name, battlefield=city, fought=date, victor=victor)
        for _ in range(counts["species"]):
            region, describer = dice.one(self.of_kind("region")), dice.one(doers["species"])
            facts = {"habitat": region, "describer": describer, "described": self._active_year(describer)}
            self._add("species", names.species(things[region].name), **facts)
        for _ in range(counts["bridge"]):
            city, designer = dice.one(cities), dice.one(doers["bridge"])
            name = f"{things[city].name} Bridge"
            if name in names.taken:
                name = f"{names.surname()} Bridge"
            names.taken.add(name)
            facts = {"designer": designer, "opened": self._active_year(designer)}
            crosses = self._fact(city, "river")
            self._add("bridge", name, bridge_city=city, crosses=crosses, **facts, bridge_length=dice.between(20, 1_900))

    def _make_play(self, dramatists: list[int]) -> None:
        """Add a play. It is often based on an earlier novel, and then often has the name of the novel."""
        dice, things = self._dice, self.things
        dramatist = dice.one(dramatists)
        novels = [n for n in self.of_kind("novel") if self._fact(n, "published") < self.year_of_death(dramatist) - 1]
        novel = dice.one(novels) if novels and dice.chance(0.7) else None
        after = 0 if novel is None else self._fact(novel, "published")
        # At most one play has the name of its novel.
        is_first = novel is not None and all(things[p].name != things[novel].name for p in self.of_kind("play"))
        name = things[novel].name if novel is not None and is_first and dice.chance(0.5) else self._names.work()
        facts = {
            "dramatist": dramatist,
            "staged": self._active_year(dramatist, after),
            "minutes": dice.between(61, 214),
        }
        play = self._add("play", name, **facts)
        if novel is not None:
            things[play].facts["adapted"] = novel

    def _share_names(self, size: int) -> None:
        """Give some people, rivers and regions the name of another thing, so that their titles need disambiguation."""
        dice, things = self._dice, self.things
        bearers = {(thing.name, thing.description) for thing in things}
        for _ in range(max(2, size // 16)):
            people, cities = self.of_kind("person"), self.of_kind("city")
            lands = self.of_kind("river") if dice.chance(0.5) else self.of_kind("region")
            for other, one in ((dice.one(people), dice.one(people)), (dice.one(lands), dice.one(cities))):
                name, renamed = things[one].name, things[other]
                if renamed.female == things[one].female and (name, renamed.description) not in bearers:
                    renamed.name = name
                    bearers.add((name, renamed.description))

    def _add_aliases(self) -> None:
        dice = self._dice
        for thing in self.things:
            if thing.kind == "person":
                first, _, rest = thing.name.partition(" ")
                thing.aliases.append(f"{first[0]}. {rest}")
            elif thing.kind == "country":
                thing.aliases.append(f"Republic of {thing.name}")
            elif thing.kind in ("city", "region", "mountain"):
                thing.aliases.append(self._names.place())
            elif thing.kind == "company":
                thing.aliases.append("".join(word[0] for word in thing.name.split()) + f" {self._names.surname()}")
            elif thing.kind in ("novel", "play") and dice.chance(0.5):
                thing.aliases.append(self._names.work())


def name_of_value(world: WikiWorld, relation: str, value: Value) -> str:
    """Return a value in words: the name of a thing, a date such as "12 March 1845", or a number."""
    kind = RELATIONS[relation].value
    if kind == "date":
        return write_date(value)
    if kind == "number":
        return f"{value:,}"
    return str(value) if kind == "year" else world.things[value].name


MONTHS = (
    *("January", "February", "March", "April", "May", "June", "July"),
    *("August", "September", "October", "November", "December"),
)


def write_date(date: tuple[int, int, int]) -> str:
    """Return a date in words: "12 March 1845"."""
    return f"{date[2]} {MONTHS[date[1] - 1]} {date[0]}"
