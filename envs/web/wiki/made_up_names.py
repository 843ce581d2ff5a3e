"""Made-up names of people, places, works and other things; only given names of people are drawn more than once."""

from __future__ import annotations

from collections.abc import Sequence

from ...code.programs.dice import Dice

_TABLE = """
onsets: B Br C D Dr E F Fl G Gr H I J K Kr L M N O P Pr Qu R S St T Th Tr U V W Y Z
vowels: a e i o u a e o au ei ia
middles: b d g l ll m n nd nn r rd rl rm rn rv s sk st t tt v x z lv mb nt
places: ham ford vale wick mere stead holm burg haven field gate ley minster port stow thorpe
surnames: a am an ard ek el en er ett ian ick in is man on or os ov son ski well
countries: ia land mark or astan ova ene
women: Adela Bettine Corva Delphe Edda Fiora Gesine Hanneke Ilva Jorun Katja Lioba Mirelle Nelda Oriane Petra Quilla
women: Renske Sanne Tilda Ulrike Veska Wilma Xenia Yrsa Zelda
men: Aldo Bertram Casimir Dorian Egon Fabian Gustav Hendrik Igor Jasper Konrad Lorenz Marlow Nestor Osric Pavel Quentin
men: Rurik Stellan Tobias Ulric Viktor Wendel Xaver Yorick Zeno
colours: Amber Ashen Bitter Blind Broken Burning Crimson Distant Empty Frozen Gilded Hollow Iron Last Lost Nameless
colours: Pale Quiet Restless Salt Second Secret Silent Silver Stolen Sunken Unwritten Winter
objects: Anchor Archive Bell Bridge Candle Clock Compass Garden Guest Harbour Hour House Island Key Kingdom Lantern
objects: Letter Mirror Orchard Promise River Road Season Shadow Song Staircase Storm Tide Tower Voice
trades: Shipping Steel Glass Paper Textiles Instruments Brewing Timber Printing Foods Carriages Clocks
patterns: spotted dwarf crested golden marsh alpine striped giant evening hooded
creatures: finch warbler lily moss orchid beetle moth newt fern otter tern vole
"""
_PARTS: dict[str, list[str]] = {}
for _line in _TABLE.strip().splitlines():
    _kind, _words = _line.split(": ")
    _PARTS.setdefault(_kind, []).extend(_words.split())


class NameMaker:
    """Generator of names without repetition. ``taken`` has all names drawn so far; callers may add further names that
    must not be drawn."""

    def __init__(self, dice: Dice):
        self.dice = dice
        self.taken: set[str] = set()

    def _root(self, long: bool = False) -> str:
        dice = self.dice
        root = dice.one(_PARTS["onsets"]) + dice.one(_PARTS["vowels"]) + dice.one(_PARTS["middles"])
        return root + dice.one(_PARTS["vowels"]) + dice.one(_PARTS["middles"]) if long else root

    def _draw(self, *parts: Sequence[str], joint: str = " ") -> str:
        """Draw a new name: a root with an ending if ``parts`` is one list, else one item of each list joined by
        ``joint``."""
        for tries in range(1_000):
            words = [self.dice.one(part) for part in parts]
            name = self._root(tries > 3) + words[0] if len(parts) == 1 else joint.join(words)
            if tries > 20:  # a list is used up
                name = (
                    f"{self._root()}{self.dice.one(_PARTS['surnames'])} {name}"
                    if len(parts) > 1
                    else self._root() + name
                )
            if name not in self.taken:
                self.taken.add(name)
                return name
        raise AssertionError("names are drawn from more than a thousand roots")

    def place(self) -> str:
        return self._draw(_PARTS["places"])

    def country(self) -> str:
        return self._draw(_PARTS["countries"])

    def surname(self) -> str:
        return self._draw(_PARTS["surnames"])

    def given_name(self, female: bool) -> str:
        """Draw a given name; several people may share it."""
        return self.dice.one(_PARTS["women" if female else "men"])

    def work(self) -> str:
        return "The " + self._draw(_PARTS["colours"], _PARTS["objects"])

    def company(self, surname: str) -> str:
        return self._draw((surname,), _PARTS["trades"])

    def species(self, place: str) -> str:
        return self._draw((place,), _PARTS["patterns"], _PARTS["creatures"])
