"""Vocabulary of the lexer: words, commands and characters with their readings."""

from __future__ import annotations

import re
from fractions import Fraction


def _names(text: str) -> list[str]:
    return text.split()


FUNCTIONS = {
    name: name
    for name in _names(
        """
        sin cos tan cot sec csc sinh cosh tanh arcsin arccos arctan arccot arcsec arccsc ln log exp sqrt
        """
    )
} | {
    **{"asin": "arcsin", "acos": "arccos", "atan": "arctan", "arsinh": "arcsinh", "arcosh": "arccosh"},
    **{"artanh": "arctanh", "arcsinh": "arcsinh", "arccosh": "arccosh", "arctanh": "arctanh", "asinh": "arcsinh"},
    **{"acosh": "arccosh", "atanh": "arctanh", "lg": "lg", "abs": "abs", "floor": "floor", "ceil": "ceil"},
    **{"ceiling": "ceil", "cbrt": "cbrt", "factorial": "factorial", "binomial": "binomial", "binom": "binomial"},
}
# Accents over a name; a name with an accent is another name.
ACCENTS = frozenset(_names("vec hat bar dot ddot tilde overrightarrow widehat widetilde"))
# Commands that count as a name at the beginning of a subscript.
SUBSCRIPT_WORDS = frozenset(_names("max min odot oplus inf sup"))
# "sinx": a function and the variable after it.
GLUED = re.compile("(sin|cos|tan|cot|csc|ln)([xyz])")
CONSTANTS = {"pi": "pi", "infinity": "oo", "Infinity": "oo", "inf": "oo", "oo": "oo", "infty": "oo"}
GREEK = frozenset(
    _names(
        """
        alpha beta gamma delta epsilon varepsilon zeta eta theta vartheta iota kappa lambda mu nu xi rho sigma tau
        upsilon phi varphi chi psi omega Gamma Delta Theta Lambda Xi Pi Sigma Upsilon Phi Psi Omega ell hbar
        """
    )
)
# Greek letters that may be spelled without a backslash: neither products of variables nor words of a language.
SPELLED_GREEK = frozenset(_names("alpha beta gamma delta epsilon theta sigma omega phi"))
CONNECTIVES = frozenset(("or", "and"))


def is_product(run: str) -> bool:
    """Return True if four or more letters can only be a product of variables: neighbours in the alphabet, such as wxyz.

    Letters that include i, o or u do not count, as they may form words.
    """
    letters = sorted(run)
    neighbours = ord(letters[-1]) - ord(letters[0]) == len(letters) - 1 == len(set(letters)) - 1
    return neighbours and run.isascii() and run.islower() and not set("iou") & set(letters)


# Words of up to three letters, which would otherwise read as products of variables.
SHORT_WORDS = frozenset(
    _names(
        """
        is it of on no yes to by as at be if so an we he do go up us me my am pm the for not but all any one two six
        ten are was has had can may let get set sum max min gcd lcm mod int del def try out odd day mon tue wed thu
        fri sat sun jan feb mar apr jun jul aug sep oct nov dec dne der dim det ker arg sgn sup her his she him you
        our its new old big low few top end red far cat dog man use via per var lim dif ans and or in nan nor nil
        eval exec
        """
    )
)

# Factors in words, in the short scale, which count as such directly after a number.
MAGNITUDES = {
    **{"dozen": 12, "hundred": 100, "thousand": 10**3, "million": 10**6, "billion": 10**9, "trillion": 10**12},
}
# Words of arithmetic, which are not counted nouns.
ARITHMETIC = frozenset(
    _names(
        """
        hundreds thousands millions billions trillions dozens googol squared cubed times plus minus over less more
        fewer doubled tripled double triple twice thrice half divided multiplied below above negative zero three four
        five seven eight nine eleven twelve twenty thirty forty fifty sixty seventy eighty ninety permille promille
        binary octal hexadecimal decimal exponent power remainder modulo imaginary approximately about around
        """
    )
) | frozenset(MAGNITUDES)
# Words that deny or doubt what stands next to them, or make it depend on something.
DOUBTS = frozenset(
    _names(
        """
        not never neither nor none doubt doubtful hardly wrong incorrect false untrue isn doesn cannot can't isn't
        doesn't aren't wasn't maybe perhaps possibly probably might could would should either unless except without
        instead guess estimate estimated roughly almost nearly approximately about around likely unlikely unclear
        unknown impossible if when whenever where provided otherwise whether suppose assume assuming contradiction
        """
    )
)
# Nouns that change the number before them: they are compared as units and never ignored.
PORTIONS = frozenset(
    _names(
        """
        halve third quarter fourth fifth sixth seventh eighth ninth tenth eleventh twelfth twentieth hundredth
        thousandth millionth billionth pair score couple trio fold gross
        """
    )
)

IGNORED = frozenset(
    _names(
        """
        left right big Big bigg Bigg bigl bigr Bigl Bigr biggl biggr Biggl Biggr middle displaystyle textstyle
        scriptstyle limits nolimits quad qquad thinspace enspace medspace thickspace negthinspace mathstrut strut
        """
    )
)
PUNCTUATION = {
    **{"cdot": "*", "times": "*", "ast": "*", "div": "/", "pm": "±", "mp": "∓", "le": "≤", "leq": "≤", "leqslant": "≤"},
    **{"ge": "≥", "geq": "≥", "geqslant": "≥", "ne": "≠", "neq": "≠", "lt": "<", "gt": ">", "in": "∈", "cup": "∪"},
    **{"cap": "∩", "setminus": "∖", "lfloor": "⌊", "rfloor": "⌋", "lceil": "⌈", "rceil": "⌉", "langle": "⟨"},
    **{"rangle": "⟩", "vert": "|", "lvert": "|", "rvert": "|", "lbrace": "\\{", "rbrace": "\\}", "lbrack": "["},
    **{"rbrack": "]", "lparen": "(", "rparen": ")", "colon": ":", "degree": "°", "emptyset": "∅", "varnothing": "∅"},
    **{"approx": "≈", "mid": "mid", "prime": "'", "bigcup": "∪"},
    **{"land": "and", "wedge": "and", "lor": "or", "vee": "or", "percent": "%", "pounds": "£", "euro": "€"},
}
COMMANDS = {
    **{name: "frac" for name in ("frac", "dfrac", "tfrac", "cfrac")},
    **{name: "binom" for name in ("binom", "dbinom", "tbinom")},
    "mathbb": "mathbb",
}
TEXT = frozenset(_names("text textbf textit textrm textnormal textsf mbox mathrm operatorname"))
STYLE = frozenset(_names("mathbf mathit mathsf boldsymbol bm mathcal"))
ESCAPED = {"{": "\\{", "}": "\\}", "%": "%", "$": "$", "\\": "\\\\", "|": None, "&": None, "#": None, "_": None}

UNICODE = str.maketrans(
    {
        **dict.fromkeys("\u2212\u2013\u2010\u2011\ufe63", "-"),
        **dict.fromkeys("\u00b7\u22c5\u2219\u2217\u00d7", "*"),
        **dict.fromkeys("\u00f7\u2215\u2044", "/"),
        **dict.fromkeys("\u00a0\u2003\u2002\u2005\n\t\r", " "),
        **dict.fromkeys("\u2009\u202f", "\\,"),
        # Full-width digits and signs; full-width letters look like others and stay refused.
        **{chr(0xFEE0 + ord(sign)): sign for sign in "0123456789!%()*+,-./:;<=>[]^{|}"},
        **{"\u3000": " ", "\u3001": ","},
        **dict.fromkeys("\u2264\u2a7d", "≤"),
        **dict.fromkeys("\u2265\u2a7e", "≥"),
        **{
            chr(0x3B1 + k): f"\\{name} "
            for k, name in enumerate(_names("alpha beta gamma delta epsilon zeta eta theta"))
        },
        **{chr(0x3B9 + k): f"\\{name} " for k, name in enumerate(_names("iota kappa lambda mu nu xi"))},
        **{chr(0x3C0): "\\pi ", chr(0x3C1): "\\rho ", chr(0x3C3): "\\sigma ", chr(0x3C4): "\\tau "},
        **{chr(0x3C5 + k): f"\\{name} " for k, name in enumerate(_names("upsilon phi chi psi omega"))},
        **{"Δ": "\\Delta ", "Γ": "\\Gamma ", "Θ": "\\Theta ", "Φ": "\\Phi ", "Ω": "\\Omega ", "Ψ": "\\Psi "},
        **{chr(0x2460 + k): f"\\textcircled{{{k + 1}}}" for k in range(20)},
        **{"∞": "\\infty ", "′": "'", "ℝ": "\\mathbb{R}", "ℚ": "\\mathbb{Q}", "ℤ": "\\mathbb{Z}", "ℕ": "\\mathbb{N}"},
        **{"ℂ": "\\mathbb{C}", "∧": "\\land ", "∨": "\\lor ", "µ": "\\mu ", "℃": "°C", "℉": "°F"},
    }
)
SUPERSCRIPTS = {**{character: str(k) for k, character in enumerate("⁰¹²³⁴⁵⁶⁷⁸⁹")}, "⁻": "-", "⁺": "+", "ⁿ": "n"}
SUBSCRIPTS = {character: str(k) for k, character in enumerate("₀₁₂₃₄₅₆₇₈₉")}
VULGAR = {
    **{"½": Fraction(1, 2), "⅓": Fraction(1, 3), "⅔": Fraction(2, 3), "¼": Fraction(1, 4), "¾": Fraction(3, 4)},
    **{"⅕": Fraction(1, 5), "⅖": Fraction(2, 5), "⅗": Fraction(3, 5), "⅘": Fraction(4, 5), "⅙": Fraction(1, 6)},
    **{"⅚": Fraction(5, 6), "⅛": Fraction(1, 8), "⅜": Fraction(3, 8), "⅝": Fraction(5, 8), "⅞": Fraction(7, 8)},
}
HYPERBOLIC_AND_CIRCULAR = tuple(_names("sin cos tan cot sec csc sinh cosh tanh"))
