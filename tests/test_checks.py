from __future__ import annotations

import math
from typing import Any, Literal

import numpy as np
import pytest
from palaestra.checks import (
    Declared,
    WatchedMapping,
    check_choice,
    check_count,
    check_number,
    check_numbers,
    check_share,
    declared,
    declared_options,
    keyword_declared,
    option,
)
from palaestra.errors import InputError


def test_a_number_in_its_range_is_returned_as_a_float():
    assert check_number("x", 2, 0, 2) == 2.0
    assert isinstance(check_number("x", 2), float)


@pytest.mark.parametrize("wrong", [math.nan, math.inf, True, "1", None, 3, -1])
def test_another_number_is_refused_with_its_range(wrong: Any):
    with pytest.raises(InputError, match="x must be a"):
        check_number("x", wrong, 0.0, 2.0)


def test_a_whole_number_beyond_every_float_is_refused():
    with pytest.raises(InputError, match="x must be a finite"):
        check_number("x", 10**5000)


def test_the_message_states_value_and_remedy():
    with pytest.raises(InputError, match=r"x must be a number in \[0, 2\], not 3"):
        check_number("x", 3, 0.0, 2.0)
    with pytest.raises(InputError, match="at least 1, not 0"):
        check_number("x", 0, low=1.0)
    with pytest.raises(InputError, match=r"at least 1 \(tokens\), not 0.5"):
        check_count("x", 0.5, low=1, unit="tokens")


@pytest.mark.parametrize("wrong", [0, True, 1.0, "1", None])
def test_a_count_is_a_whole_number_from_its_lowest(wrong: Any):
    assert check_count("x", 1, low=1) == 1
    with pytest.raises(InputError):
        check_count("x", wrong, low=1)


def test_a_choice_is_one_of_the_names():
    assert check_choice("mode", "max", ("max", "exact")) == "max"
    with pytest.raises(InputError, match="'exact'"):
        check_choice("mode", "exakt", ("max", "exact"))


@pytest.mark.parametrize("wrong", ["c", "", None, [], "ab"])
def test_another_choice_is_refused_whatever_its_type(wrong: Any):
    with pytest.raises(InputError, match="mode:"):
        check_choice("mode", wrong, ("a", "b"))


@pytest.mark.parametrize("wrong", [0, -1.5, math.nan, math.inf, "much"])
def test_a_number_above_a_bound_excludes_the_bound(wrong: Any):
    assert check_number("tau", 0.5, above=0) == 0.5
    with pytest.raises(InputError, match="tau must be a finite number above 0"):
        check_number("tau", wrong, above=0)


def test_a_share_may_have_to_be_positive():
    assert check_share("x", 0) == 0.0
    assert check_share("x", 1, positive=True) == 1.0
    with pytest.raises(InputError, match="above 0 and at most 1, not 0"):
        check_share("x", 0, positive=True)
    with pytest.raises(InputError, match=r"in \[0, 1\], not 2"):
        check_share("x", 2)


def test_numbers_of_numpy_are_numbers():
    assert check_number("x", np.float32(0.5)) == 0.5
    assert check_count("n", np.int64(3), low=1) == 3
    assert isinstance(check_count("n", np.int64(3)), int)


@pytest.mark.parametrize("wrong", [[1.0, math.nan], [math.inf], ["x"], None, 3, [10**400]])
def test_a_sequence_of_numbers_holds_finite_ones_only(wrong: Any):
    assert check_numbers("returns", [1, 0.5]) == (1.0, 0.5)
    with pytest.raises(InputError, match="returns"):
        check_numbers("returns", wrong)


@declared
class Kettle(Declared):
    """Boil water.

    Raises:
        InputError: an option out of range.
    """

    litres: float = option(above=0, high=2, says="amount of water.")
    cups: int = option(default=1, low=1, high=6, says="number of cups.")
    mode: Literal["fast", "slow"] = option(default="fast")
    lid: bool = option(default=True)
    limit: int | None = option(default=None, low=1)
    label: str = option(default="", check=lambda name, value: f"{name} {value}".strip())

    def setup(self) -> None:
        if self.cups > 3 * self.litres:
            raise InputError(f"cups={self.cups} is too many.")


def test_the_constructor_of_declared_options_checks_and_keeps_each():
    kettle = Kettle(1, cups=np.int64(2), lid=1, label="blue")
    assert vars(kettle) == {
        **{"litres": 1.0, "cups": 2, "mode": "fast", "lid": True, "limit": None, "label": "label blue"},
    }
    assert type(kettle.cups) is int
    assert kettle.lid is True


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"litres": 0}, "litres must be a finite number above 0 and at most 2, not 0"),
        ({"litres": 1, "cups": 7}, "cups must be a whole number from 1 to 6, not 7"),
        ({"litres": 1, "mode": "fats"}, "did you mean 'fast'"),
        ({"litres": 1, "limit": 0}, "limit must be a whole number of at least 1"),
        ({"litres": 1, "cups": 4}, "cups=4 is too many"),
    ],
)
def test_a_declared_option_out_of_range_is_refused(options: dict[str, Any], message: str):
    with pytest.raises(InputError, match=message):
        Kettle(**options)


def test_what_options_say_stands_in_the_docstring_before_the_exceptions():
    assert list(declared_options(Kettle)) == ["litres", "cups", "mode", "lid", "limit", "label"]
    assert (Kettle.__doc__ or "").split("\n\n")[1:] == [
        "Args:\n    litres: amount of water.\n    cups: number of cups.",
        "Raises:\n    InputError: an option out of range.",
    ]


def test_an_annotated_attribute_beside_options_must_be_an_option():
    with pytest.raises(TypeError, match=r"rest must be declared by option"):

        @declared
        class _(Declared):  # pyright: ignore[reportUnusedClass]
            rest: int = 0
            cups: int = option(default=1)


def test_a_subclass_adds_options_and_changes_defaults_of_its_base():
    @keyword_declared
    class Travel(Kettle):
        """Boil water anywhere."""

        cups: int = 2
        volts: float = option(default=110, says="of the socket.")

    @keyword_declared
    class Plain(Kettle):
        """Adds no option."""

        weight: float = 1.0  # an attribute like any other

    assert vars(Plain(0.7)) == vars(Kettle(0.7))
    assert "litres: amount of water" in (Plain.__doc__ or "")

    @keyword_declared
    class Cup(Kettle):
        cups: int = option(default=1, init=False)

    assert Cup(0.7).cups == 1
    with pytest.raises(TypeError, match="cups"):
        Cup(0.7, cups=2)  # type: ignore[call-arg]
    assert vars(Travel(0.7)) == {**vars(Kettle(0.7)), "cups": 2, "volts": 110.0}
    with pytest.raises(InputError, match="cups must be a whole number from 1 to 6"):
        Travel(0.7, cups=7)
    assert (Travel.__doc__ or "").split("\n\n")[1:] == [
        "Args:\n    litres: amount of water.\n    cups: number of cups.\n    volts: of the socket.",
        "Raises:\n    InputError: an option out of range.",
    ]
    with pytest.raises(TypeError):
        Travel(0.7, 2, "fast", True, None, "", 220)  # type: ignore[misc]


def test_none_stands_for_a_default_that_the_setup_works_out():
    @declared
    class Pot(Declared):
        cups: int = option()
        litres: float = option(default=None, above=0)

        def setup(self) -> None:
            self.litres = self.cups / 4 if self.litres is None else self.litres

    assert Pot(2, None).litres == Pot(2, 0.5).litres == Pot(cups=2).litres == 0.5
    with pytest.raises(InputError, match="cups"):
        Pot(None)  # type: ignore[arg-type]


def test_a_class_without_options_is_set_up_too():
    @declared
    class Bare(Declared):
        def setup(self) -> None:
            self.ready = True

    assert Bare().ready


@pytest.mark.parametrize(
    ("read", "keys"),
    [
        (lambda found: found["a"], {"a"}),
        (lambda found: found.get("b"), {"b"}),
        (lambda found: found.get("c", 0), {"c"}),
        (lambda found: found.pop("a"), {"a"}),
        (lambda found: "a" in found, set()),
        (lambda found: list(found), set()),
        (lambda found: dict(found), {"a", "b"}),
        (lambda found: {**found}, {"a", "b"}),
        (lambda found: found | {}, {"a", "b"}),
        (lambda found: found.copy(), {"a", "b"}),
        (lambda found: list(found.items()), {"a", "b"}),
        (lambda found: list(found.values()), {"a", "b"}),
    ],
)
def test_a_watched_mapping_knows_which_keys_were_read(read: Any, keys: set[str]):
    found = WatchedMapping({"a": 1, "b": 2})
    read(found)
    assert found.read == keys
    assert isinstance(found, dict)
