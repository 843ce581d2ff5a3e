"""Tools that can be called, and requests that each of them serves, for `function_calls`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from .draft import choose

CITIES = ("Lima", "Oslo", "Cairo", "Quito", "Hanoi", "Dakar", "Turin", "Perth", "Kyoto", "Tunis")
NAMES = ("Ada", "Noor", "Ivan", "Mei", "Omar", "Lena", "Tomas", "Aisha", "Pedro", "Yuki")
ITEMS = ("lamp", "tent", "kettle", "drill", "violin", "globe", "ladder", "basket", "mirror", "saddle")
UNITS = ("celsius", "fahrenheit")
SUBJECTS = ("volcanoes", "chess", "bridges", "glaciers", "opera", "bees", "castles", "comets", "pottery", "whales")

Draw = Callable[[np.random.Generator], Any]


def _among(options: tuple[Any, ...]) -> Draw:
    return lambda rng: choose(rng, options)


def _number(low: int, high: int) -> Draw:
    return lambda rng: int(rng.integers(low, high))


def _time(rng: np.random.Generator) -> str:
    return f"{int(rng.integers(24)):02d}:{int(rng.integers(12)) * 5:02d}"


@dataclass(frozen=True)
class OfferedTool:
    """Tool with its parameters, and requests for it.

    Args:
        name: the name that calls use.
        does: the tool in words.
        parameters: name -> (type of JSON, draw of a value).
        request: a sentence that asks for the tool, with the parameters in braces.
    """

    name: str
    does: str
    parameters: Mapping[str, tuple[str, Draw]]
    request: str

    def schema(self) -> dict[str, Any]:
        """Return name, description and parameters as data, as a prompt shows them."""
        types = {name: kind for name, (kind, _) in self.parameters.items()}
        return {"name": self.name, "description": self.does, "parameters": types}


TOOLS: tuple[OfferedTool, ...] = tuple(
    OfferedTool(name, does, parameters, request)
    for name, does, parameters, request in (
        (
            *("get_weather", "The weather in a city now."),
            {"city": ("string", _among(CITIES)), "unit": ("string", _among(UNITS))},
            "Tell me the weather in {city} now, in {unit}.",
        ),
        (
            *("get_forecast", "The weather in a city on the coming days."),
            {"city": ("string", _among(CITIES)), "days": ("integer", _number(2, 10))},
            "Give me the forecast for {city} for {days} days.",
        ),
        (
            *("set_alarm", "Ring at a time of day."),
            {"time": ("string", _time), "label": ("string", _among(SUBJECTS))},
            "Wake me at {time} with the label {label}.",
        ),
        (
            *("set_timer", "Ring after some minutes."),
            {"minutes": ("integer", _number(1, 90))},
            "Let me know when {minutes} minutes are over.",
        ),
        (
            *("send_message", "Send a message to a person."),
            {"to": ("string", _among(NAMES)), "text": ("string", _among(SUBJECTS))},
            "Write the one word {text} to {to}.",
        ),
        (
            *("call_person", "Call a person on the telephone."),
            {"person": ("string", _among(NAMES))},
            "Put me through to {person}.",
        ),
        (
            *("search_articles", "Find articles on a subject."),
            {"subject": ("string", _among(SUBJECTS)), "limit": ("integer", _number(1, 20))},
            "Find up to {limit} articles on {subject}.",
        ),
        (
            *("search_products", "Find products of a shop."),
            {"item": ("string", _among(ITEMS)), "max_price": ("integer", _number(5, 500))},
            "Which {item} can I buy for at most {max_price} euros?",
        ),
        (
            *("order_product", "Order a number of pieces of a product."),
            {
                "item": ("string", _among(ITEMS)),
                "pieces": ("integer", _number(1, 9)),
                "express": ("boolean", _among((True, False))),
            },
            "Order {pieces} pieces of the product {item}, with express delivery: {express}.",
        ),
        (
            *("book_train", "Book a seat in a train."),
            {
                "origin": ("string", _among(CITIES[:5])),
                "destination": ("string", _among(CITIES[5:])),
                "time": ("string", _time),
            },
            "I want to take the train from {origin} to {destination} at {time}.",
        ),
        (
            *("book_table", "Reserve a table in a restaurant."),
            {"guests": ("integer", _number(2, 12)), "time": ("string", _time)},
            "Reserve a table for {guests} guests at {time}.",
        ),
        (
            *("convert_currency", "Convert an amount of euros."),
            {"amount": ("integer", _number(1, 1000)), "currency": ("string", _among(("USD", "JPY", "INR", "BRL")))},
            "Convert {amount} euros into {currency}.",
        ),
        (
            *("translate_word", "Translate an English word."),
            {"word": ("string", _among(ITEMS)), "language": ("string", _among(("French", "Thai", "Swahili")))},
            "Translate the word {word} into {language}.",
        ),
        (
            *("add_to_list", "Put an item on the shopping list."),
            {"item": ("string", _among(ITEMS)), "pieces": ("integer", _number(1, 9))},
            "Put {item} on my shopping list, {pieces} times.",
        ),
    )
)
