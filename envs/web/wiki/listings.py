"""Lists in articles, as data: the article of a thing lists all things that have it as value of a relation.

Example: the article of an author lists the author's novels, as the relation "author" leads from novels to people.
"""

from __future__ import annotations

from dataclasses import dataclass

from .wiki_relations import RELATIONS


@dataclass(frozen=True, slots=True)
class ArticleList:
    """List of all things with the same value of a relation, in the article of the value.

    Attributes:
        relation: the name of the relation.
        noun: the listed kind in the plural: "novels".
        only: phrase for the thing on a list of one, with {} for the value: "the only novel by {}".
        clause: the condition for being on the list, with {} for the value: "was written by {}".
        count: the question for the length of the list, with {} for the value.
        sentences: ways to state the list, with {s} for the value ({S} at the beginning) and {o} for the list.
    """

    relation: str
    noun: str
    only: str
    clause: str
    count: str
    sentences: tuple[str, ...]


LISTINGS: dict[str, ArticleList] = {
    row[0]: ArticleList(*row[:5], tuple(row[5].split("|")))
    for row in (
        (
            *("country", "regions", "the only region of {}", "is a region of {}", "How many regions does {} have"),
            "Its regions are {o}.|It is divided into {o}.",
        ),
        (
            *("region", "cities", "the only city in {}", "lies in the region {}", "How many cities lie in {}"),
            "Its cities are {o}.|The cities of the region are {o}.",
        ),
        (
            *("river", "cities", "the only city on {}", "stands on {}", "How many cities stand on {}"),
            "The cities on its banks are {o}.|It runs through the cities {o}.",
        ),
        (
            *("source", "rivers", "the only river that rises on {}", "rises on {}", "How many rivers rise on {}"),
            "The rivers that rise there are {o}.|Its slopes feed {o}.",
        ),
        (
            *(
                "mountain_region",
                "mountains",
                "the only mountain of {}",
                "rises in {}",
                "How many mountains rise in {}",
            ),
            "Its mountains are {o}.|The mountains there are {o}.",
        ),
        (
            *(
                "university_city",
                "universities",
                "the only university in {}",
                "is in {}",
                "How many universities are in {}",
            ),
            "Its universities are {o}.|Students go to {o}.",
        ),
        (
            *(
                "birthplace",
                "people",
                "the only person born in {}",
                "was born in {}",
                "How many people were born in {}",
            ),
            "Its natives are {o}.|The people born there are {o}.",
        ),
        (
            *("studied", "people", "the only graduate of {}", "studied at {}", "How many people studied at {}"),
            "Its graduates are {o}.|The people who studied there are {o}.",
        ),
        (
            *("father", "people", "the only child of {}", "was a child of {}", "How many children did {} have"),
            "The children of {s} are {o}.|{S} had as children {o}.",
        ),
        (
            *("teacher", "people", "the only pupil of {}", "was taught by {}", "How many pupils did {} have"),
            "The pupils of {s} are {o}.|{S} taught {o}.",
        ),
        (
            *("author", "novels", "the only novel by {}", "was written by {}", "How many novels did {} write"),
            "The novels of {s} are {o}.|{S} wrote the novels {o}.",
        ),
        (
            *("setting", "novels", "the only novel set in {}", "is set in {}", "How many novels are set in {}"),
            "The novels set there are {o}.|In literature it is the scene of {o}.",
        ),
        (
            *("dramatist", "plays", "the only play by {}", "was written by {}", "How many plays did {} write"),
            "The plays of {s} are {o}.|{S} wrote the plays {o}.",
        ),
        (
            *("adapted", "plays", "the only play based on {}", "is based on {}", "How many plays are based on {}"),
            "The plays based on it are {o}.|It was adapted for the stage in {o}.",
        ),
        (
            *("founder", "companies", "the only company founded by {}", "was founded by {}"),
            *("How many companies did {} found", "The companies founded by {s} are {o}.|{S} founded {o}."),
        ),
        (
            *("headquarters", "companies", "the only company based in {}", "is based in {}"),
            *("How many companies are based in {}", "The companies based there are {o}.|Its employers are {o}."),
        ),
        (
            *("victor", "battles", "the only battle won by {}", "was won by {}", "How many battles did {} win"),
            "The battles won by {s} are {o}.|{S} was victorious in {o}.",
        ),
        (
            *("battlefield", "battles", "the only battle fought near {}", "was fought near {}"),
            *("How many battles were fought near {}", "The battles fought nearby are {o}.|It saw {o}."),
        ),
        (
            *("habitat", "species", "the only species native to {}", "is native to {}"),
            *(
                "How many species are native to {}",
                "The species native to it are {o}.|Its fields and woods are home to {o}.",
            ),
        ),
        (
            *("describer", "species", "the only species described by {}", "was first described by {}"),
            *("How many species did {} describe", "The species described by {s} are {o}.|{S} described {o}."),
        ),
        (
            *("designer", "bridges", "the only bridge designed by {}", "was designed by {}"),
            *("How many bridges did {} design", "The bridges designed by {s} are {o}.|{S} designed {o}."),
        ),
        (
            *("crosses", "bridges", "the only bridge across {}", "crosses {}", "How many bridges cross {}"),
            "The bridges across it are {o}.|It is crossed by {o}.",
        ),
        (
            *("climber", "mountains", "the only mountain first climbed by {}", "was first climbed by {}"),
            *(
                "How many mountains did {} climb first",
                "The mountains first climbed by {s} are {o}.|{S} was the first to climb {o}.",
            ),
        ),
    )
}

LISTED_AT: dict[str, tuple[ArticleList, ...]] = {}
"""Kind of things -> the lists in the articles of these things."""
for _listing in LISTINGS.values():
    _kind = RELATIONS[_listing.relation].value
    LISTED_AT[_kind] = (*LISTED_AT.get(_kind, ()), _listing)
