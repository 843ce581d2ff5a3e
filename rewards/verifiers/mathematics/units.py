"""Units as exact factors: 500 cm is 5 m, 5 cm is not 5 m, and an unknown noun is a new unit."""

from __future__ import annotations

from fractions import Fraction

from .tree import Unit
from .vocabulary import PORTIONS

_F = Fraction


def _table() -> dict[str, Unit]:
    table: dict[str, Unit] = {}

    def define(names: str, factor: Fraction | int | str, pi: int = 0, sign: bool = False, **dimensions: int) -> None:
        unit = Unit(tuple(sorted(dimensions.items())), _F(factor), pi, sign)
        for name in names.split():
            assert name not in table, name
            table[name] = unit

    # Length, in metres.
    define("m meter meters metre metres", 1, length=1)
    for prefix, word, factor in (
        ("n", "nano", _F(1, 10**9)),
        ("u", "micro", _F(1, 10**6)),
        ("m", "milli", _F(1, 1000)),
        ("c", "centi", _F(1, 100)),
        ("d", "deci", _F(1, 10)),
        ("k", "kilo", _F(1000)),
    ):
        define(f"{prefix}m {word}meter {word}meters {word}metre {word}metres", factor, length=1)
    define("in inch inches", "0.0254", length=1)
    define("ft foot feet", "0.3048", length=1)
    define("yd yard yards", "0.9144", length=1)
    define("mi mile miles", "1609.344", length=1)
    # Mass, in kilograms.
    define("kg kilogram kilograms kilo kilos", 1, mass=1)
    define("g gram grams", _F(1, 1000), mass=1)
    define("mg milligram milligrams", _F(1, 10**6), mass=1)
    define("ton tons", "907.18474", mass=1)
    define("tonne tonnes", 1000, mass=1)
    define("lb lbs pound pounds", "0.45359237", mass=1)
    define("oz ounce ounces", "0.028349523125", mass=1)
    # Time, in seconds.
    define("s sec secs second seconds", 1, time=1)
    define("ms millisecond milliseconds", _F(1, 1000), time=1)
    define("min mins minute minutes", 60, time=1)
    define("h hr hrs hour hours", 3600, time=1)
    define("day days", 86400, time=1)
    define("week weeks wk", 604800, time=1)
    # Months and years have no fixed length in seconds, but a year is twelve months.
    define("month months", 1, month=1)
    define("year years yr yrs", 12, month=1)
    # Volume, in cubic metres.
    define("L l liter liters litre litres", _F(1, 1000), length=3)
    define("mL ml milliliter milliliters millilitre millilitres cc", _F(1, 10**6), length=3)
    define("cL cl centiliter centiliters", _F(1, 10**5), length=3)
    define("gal gallon gallons", "0.003785411784", length=3)
    define("quart quarts qt", _F("0.003785411784") / 4, length=3)
    define("pint pints pt", _F("0.003785411784") / 8, length=3)
    define("cup cups", _F("0.003785411784") / 16, length=3)
    # Area, in square metres.
    define("ha hectare hectares", 10_000, length=2)
    define("acre acres", "4046.8564224", length=2)
    # Speed.
    define("mph", _F("1609.344") / 3600, length=1, time=-1)
    define("kph kmh kmph", _F(1000, 3600), length=1, time=-1)
    # Angle, in radians.
    define("rad radian radians", 1, angle=1)
    define("° deg degree degrees", _F(1, 180), 1, angle=1)
    # Physics.
    define("N newton newtons", 1, mass=1, length=1, time=-2)
    define("J joule joules", 1, mass=1, length=2, time=-2)
    define("kJ kilojoule kilojoules", 1000, mass=1, length=2, time=-2)
    define("W watt watts", 1, mass=1, length=2, time=-3)
    define("kW kilowatt kilowatts", 1000, mass=1, length=2, time=-3)
    define("Pa pascal pascals", 1, mass=1, length=-1, time=-2)
    define("kPa", 1000, mass=1, length=-1, time=-2)
    define("Hz hertz", 1, time=-1)
    define("kHz", 1000, time=-1)
    define("MHz", 10**6, time=-1)
    define("A ampere amperes amp amps", 1, current=1)
    define("V volt volts", 1, mass=1, length=2, time=-3, current=-1)
    define("ohm ohms", 1, mass=1, length=2, time=-3, current=-2)
    define("mol mole moles", 1, amount=1)
    define("K kelvin kelvins", 1, temperature=1)
    # Temperature scales with different zeros are not converted.
    define("°C celsius", 1, celsius=1)
    define("°F fahrenheit", 1, fahrenheit=1)
    # Money; only a currency sign may be missing on the other side.
    define("$ USD usd", 1, sign=True, dollar=1)
    define("dollar dollars", 1, dollar=1)
    define("¢ cent cents", _F(1, 100), dollar=1)
    define("€ EUR", 1, sign=True, euro=1)
    define("euro euros", 1, euro=1)
    define("£ GBP", 1, sign=True, sterling=1)
    define("¥ JPY", 1, sign=True, yen=1)
    define("yen", 1, yen=1)
    define("₹ INR", 1, sign=True, rupee=1)
    define("rupee rupees", 1, rupee=1)
    # Counts without a noun.
    define("unit units", 1, unit=1)
    return table


UNITS = _table()
CURRENCY_SIGNS = frozenset("$€£¥₹")
PREFIX_POWERS = {"square": 2, "sq": 2, "cubic": 3, "cu": 3}
SUFFIX_POWERS = {"squared": 2, "cubed": 3}
# Short names that are as often variables or a word.
_AMBIGUOUS = frozenset(("pt", "cc", "ha", "cl", "wk", "amp"))
MAX_EXPONENT = 9


def unit_named(name: str, in_text: bool) -> Unit | None:
    """Return the unit ``name`` or None; outside text also None for names that may be products of variables."""
    unit = UNITS.get(name)
    if unit is None and len(name) > 3:
        unit = UNITS.get(name.lower())
    return None if unit is not None and not in_text and name in _AMBIGUOUS else unit


_SIBILANTS = ("xe", "che", "she", "sse", "zze")


def unit_of_noun(word: str) -> Unit:
    """Return the unit of a counted noun ("apples"): a new dimension, the same in singular and plural."""
    word = word.lower()
    if word.endswith("s") and not word.endswith("ss") and len(word) > 3:
        word = word[:-1]
    if word.endswith("ie"):
        word = word[:-2] + "y"
    elif word.endswith(_SIBILANTS):
        # The singular of boxes is not "boxe".
        word = word[:-1]
    return Unit((("of " + word, 1),))


def is_ignorable(unit: Unit) -> bool:
    """Return True if leaving a unit out does not change the number; it does in "5 halves"."""
    return not any(name.removeprefix("of ") in PORTIONS for name, _ in unit.dimensions)


def combine(parts: list[tuple[Unit, int]]) -> Unit:
    """Multiply units raised to whole powers."""
    dimensions: dict[str, int] = {}
    factor, pi = Fraction(1), 0
    for unit, exponent in parts:
        factor *= unit.factor**exponent
        pi += unit.pi * exponent
        for name, power in unit.dimensions:
            dimensions[name] = dimensions.get(name, 0) + power * exponent
    sign = len(parts) == 1 and parts[0][1] == 1 and parts[0][0].sign
    return Unit(tuple(sorted((name, power) for name, power in dimensions.items() if power)), factor, pi, sign)
