"""Relations of the made-up world, as data, with their wordings in articles and questions.

An entry of `RELATIONS` is a relation from things of one kind to a value: another thing, a year, a date or a number.
"""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class WikiRelation:
    """Relation of the things of one kind.

    Attributes:
        name: unique name, such as "birthplace".
        kind: the kind of the things that have a value.
        value: the kind of the value: a kind of things, or "year", "date" or "number".
        noun: noun phrase for the value, with {} for the thing: "the birthplace of {}".
        ask: the question for the value, without question mark: "In which city was {} born".
        sentences: ways to state the value, with {s} for the thing ({S} at the beginning) and {o} for the value.
        more: the question which of {a} and {b} has the larger (for times, the earlier) value; "" if the value is a
            thing.
        event: noun phrase for the event at this time: "the birth of {}"; "" if the value is no time.
        is_link: True if the value is a thing.
    """

    name: str
    kind: str
    value: str
    noun: str
    ask: str
    sentences: tuple[str, ...]
    more: str = ""
    event: str = ""
    is_link: bool = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "is_link", self.value not in ("year", "date", "number"))


def _rows(kind: str, *rows: tuple[str, ...]) -> dict[str, WikiRelation]:
    """Return name -> relation of a kind, from rows (name, value, noun, ask, sentences joined by "|") with optional
    further items (more, event)."""
    return {
        name: WikiRelation(name, kind, value, noun, ask, tuple(sentences.split("|")), *times)
        for name, value, noun, ask, sentences, *times in rows
    }


RELATIONS: dict[str, WikiRelation] = {
    **_rows(
        "country",
        (
            *("capital", "city", "the capital of {}", "What is the capital of {}"),
            "Its capital is {o}.|The capital of {s} is {o}.|Its government sits in {o}, the capital.",
        ),
        (
            *(
                "independence",
                "year",
                "the year in which {} became independent",
                "In which year did {} become independent",
            ),
            "{S} became independent in {o}.|Its independence dates from {o}.",
            *("Which became independent first, {a} or {b}", "the independence of {}"),
        ),
        (
            *(
                "country_area",
                "number",
                "the area of {} in square kilometres",
                "How many square kilometres does {} cover",
            ),
            "{S} covers {o} square kilometres.|Its area is {o} square kilometres.",
            "Which covers the larger area, {a} or {b}",
        ),
    ),
    **_rows(
        "region",
        (
            *("country", "country", "the country of {}", "Which country is {} a region of"),
            "{S} is a region of {o}.|{S} belongs to {o}.|{S} lies within {o}.",
        ),
        (
            *("seat", "city", "the administrative seat of {}", "What is the administrative seat of {}"),
            "Its administrative seat is {o}.|{S} is administered from {o}.",
        ),
        (
            *(
                "region_area",
                "number",
                "the area of {} in square kilometres",
                "How many square kilometres does {} cover",
            ),
            "{S} covers {o} square kilometres.|Its area is {o} square kilometres.",
            "Which covers the larger area, {a} or {b}",
        ),
    ),
    **_rows(
        "city",
        (
            *("region", "region", "the region of {}", "In which region does {} lie"),
            "{S} lies in the region of {o}.|{S} is a city in {o}.|{S} is part of the region {o}.",
        ),
        (
            *("river", "river", "the river of {}", "On which river does {} stand"),
            "{S} stands on the river {o}.|The river {o} runs through it.|The banks of the {o} shape the old town.",
        ),
        (
            *("population", "number", "the population of {}", "What is the population of {}"),
            "{S} has {o} inhabitants.|Its population is {o}.|At the last census {o} people lived there.",
            "Which has the larger population, {a} or {b}",
        ),
        (
            *(
                "charter",
                "year",
                "the year in which {} received its charter",
                "In which year did {} receive its charter",
            ),
            "{S} received its charter in {o}.|The town charter was granted in {o}.",
            *("Which received its charter first, {a} or {b}", "the charter of {}"),
        ),
    ),
    **_rows(
        "river",
        (
            *("source", "mountain", "the mountain at the source of {}", "On which mountain does {} rise"),
            "{S} rises on {o}.|Its source is on the slopes of {o}.",
        ),
        (
            *("flows", "country", "the country of {}", "Through which country does {} flow"),
            "{S} flows through {o}.|All of its course lies in {o}.",
        ),
        (
            *("river_length", "number", "the length of {} in kilometres", "How many kilometres long is {}"),
            "{S} is {o} kilometres long.|Its length is {o} kilometres.",
            "Which is longer, {a} or {b}",
        ),
    ),
    **_rows(
        "mountain",
        (
            *("mountain_region", "region", "the region of {}", "In which region does {} rise"),
            "{S} rises in {o}.|{S} is a mountain of {o}.",
        ),
        (
            *("height", "number", "the height of {} in metres", "How many metres high is {}"),
            "{S} is {o} metres high.|Its summit stands at {o} metres.",
            "Which is higher, {a} or {b}",
        ),
        (
            *("climber", "person", "the first climber of {}", "Who was the first to climb {}"),
            "{o} was the first to reach its summit.|It was first climbed by {o}.",
        ),
        (
            *("ascent", "year", "the year in which {} was first climbed", "In which year was {} first climbed"),
            "The first ascent was made in {o}.|Nobody stood on its summit before {o}.",
            *("Which was climbed first, {a} or {b}", "the first ascent of {}"),
        ),
    ),
    **_rows(
        "university",
        (
            *("university_city", "city", "the city of {}", "In which city is {}"),
            "{S} is in {o}.|Its lecture halls stand in {o}.",
        ),
        (
            *("university_founded", "year", "the year in which {} was founded", "In which year was {} founded"),
            "{S} was founded in {o}.|The first lectures were held in {o}, when it was founded.",
            *("Which was founded first, {a} or {b}", "the founding of {}"),
        ),
    ),
    **_rows(
        "person",
        (
            *("born", "date", "the date of birth of {}", "On what date was {} born"),
            "{S} was born on {o}.|{S} came into the world on {o}.",
            *("Who was born first, {a} or {b}", "the birth of {}"),
        ),
        (
            *("died", "date", "the date of death of {}", "On what date did {} die"),
            "{S} died on {o}.|{S} passed away on {o}.",
            *("Who died first, {a} or {b}", "the death of {}"),
        ),
        (
            *("birthplace", "city", "the birthplace of {}", "In which city was {} born"),
            "{S} was a native of {o}.|{S} was born in {o}.|The city of birth was {o}.",
        ),
        (
            *("father", "person", "the father of {}", "Who was the father of {}"),
            "The father of {s} was {o}.|{S} was a child of {o}.",
        ),
        (
            *("spouse", "person", "the spouse of {}", "Who was married to {}"),
            "{S} was married to {o}.|{S} married {o}.",
        ),
        (
            *("teacher", "person", "the teacher of {}", "Who was the teacher of {}"),
            "{S} was a pupil of {o}.|{S} was taught by {o}.|The teacher of {s} was {o}.",
        ),
        (
            *("studied", "university", "the university of {}", "At which university did {} study"),
            "{S} studied at the {o}.|{S} was a graduate of the {o}.",
        ),
    ),
    **_rows(
        "novel",
        (
            *("author", "person", "the author of {}", "Who wrote {}"),
            "{S} is a novel by {o}.|{S} was written by {o}.|The author is {o}.",
        ),
        (
            *("published", "year", "the year in which {} was published", "In which year was {} published"),
            "{S} was published in {o}.|It first appeared in {o}.",
            *("Which was published first, {a} or {b}", "the publication of {}"),
        ),
        (
            *("setting", "city", "the setting of {}", "In which city is {} set"),
            "{S} is set in {o}.|The story takes place in {o}.",
        ),
        (
            *("pages", "number", "the number of pages of {}", "How many pages does {} have"),
            "The first edition has {o} pages.|{S} runs to {o} pages.",
            "Which has more pages, {a} or {b}",
        ),
    ),
    **_rows(
        "play",
        (
            *("dramatist", "person", "the dramatist of {}", "Who wrote {}"),
            "{S} is a play by {o}.|{S} was written for the stage by {o}.|The dramatist was {o}.",
        ),
        (
            *("staged", "year", "the year in which {} was first staged", "In which year was {} first staged"),
            "{S} was first staged in {o}.|Its curtain first rose in {o}.",
            *("Which was staged first, {a} or {b}", "the first staging of {}"),
        ),
        (
            *("adapted", "novel", "the novel behind {}", "On which novel is {} based"),
            "{S} is based on the novel {o}.|Its plot follows the novel {o}.",
        ),
        (
            *("minutes", "number", "the running time of {} in minutes", "How many minutes long is {}"),
            "{S} runs for {o} minutes.|Its running time is {o} minutes.",
            "Which has the longer running time, {a} or {b}",
        ),
    ),
    **_rows(
        "company",
        (
            *("founder", "person", "the founder of {}", "Who founded {}"),
            "{S} was founded by {o}.|The founder was {o}.",
        ),
        (
            *(
                "headquarters",
                "city",
                "the home city of {}",
                "In which city does {} have its headquarters",
            ),
            "Its headquarters are in {o}.|{S} is based in {o}.",
        ),
        (
            *("established", "year", "the year in which {} was established", "In which year was {} established"),
            "{S} was established in {o}.|Business began in {o}.",
            *("Which was established first, {a} or {b}", "the establishment of {}"),
        ),
        (
            *("employees", "number", "the number of employees of {}", "How many people does {} employ"),
            "{S} employs {o} people.|Its workforce counts {o} people.",
            "Which employs more people, {a} or {b}",
        ),
    ),
    **_rows(
        "battle",
        (
            *("battlefield", "city", "the city nearest to {}", "Near which city was {} fought"),
            "{S} was fought near {o}.|The armies met outside {o}.",
        ),
        (
            *("fought", "date", "the date of {}", "On what date was {} fought"),
            "{S} took place on {o}.|It was fought on {o}.",
            *("Which was fought first, {a} or {b}", "{}"),
        ),
        (
            *("victor", "person", "the victor of {}", "Who won {}"),
            "{S} was won by {o}.|The victorious commander was {o}.",
        ),
    ),
    **_rows(
        "species",
        (
            *("habitat", "region", "the home region of {}", "To which region is {} native"),
            "{S} is native to {o}.|It is found only in {o}.",
        ),
        (
            *("describer", "person", "the first describer of {}", "Who first described {}"),
            "{S} was first described by {o}.|Its first description is the work of {o}.",
        ),
        (
            *("described", "year", "the year in which {} was first described", "In which year was {} first described"),
            "The first description appeared in {o}.|Science has known it since {o}.",
            *("Which was described first, {a} or {b}", "the first description of {}"),
        ),
    ),
    **_rows(
        "bridge",
        (
            *("bridge_city", "city", "the city of {}", "In which city does {} stand"),
            "{S} stands in {o}.|It is a landmark of {o}.",
        ),
        (
            *("crosses", "river", "the river under {}", "Which river does {} cross"),
            "{S} crosses the river {o}.|It spans the {o}.",
        ),
        (
            *("designer", "person", "the designer of {}", "Who designed {}"),
            "{S} was designed by {o}.|The plans were drawn by {o}.",
        ),
        (
            *("opened", "year", "the year in which {} was opened", "In which year was {} opened"),
            "{S} was opened in {o}.|Traffic has used it since {o}.",
            *("Which was opened first, {a} or {b}", "the opening of {}"),
        ),
        (
            *("bridge_length", "number", "the length of {} in metres", "How many metres long is {}"),
            "{S} is {o} metres long.|From bank to bank it measures {o} metres.",
            "Which is longer, {a} or {b}",
        ),
    ),
}

BY_KIND: dict[str, tuple[WikiRelation, ...]] = {}
"""Kind of things -> their relations."""
for _relation in RELATIONS.values():
    BY_KIND[_relation.kind] = (*BY_KIND.get(_relation.kind, ()), _relation)
