"""Languages of a text by its letters and its commonest words, for the constraint "language".

A language with a script of its own is known by its letters. Languages that share a script are told apart by words that
are frequent in one and rare in the others, of which sentences in running text are full.
"""

from __future__ import annotations

from collections.abc import Mapping

# Script -> ranges of code points.
_SCRIPTS: Mapping[str, tuple[tuple[int, int], ...]] = {
    "latin": ((0x41, 0x5A), (0x61, 0x7A), (0xC0, 0x24F), (0x1E00, 0x1EFF)),
    "cyrillic": ((0x400, 0x52F),),
    "arabic": ((0x600, 0x6FF),),
    "hebrew": ((0x590, 0x5FF),),
    "devanagari": ((0x900, 0x97F),),
    "bengali": ((0x980, 0x9FF),),
    "gurmukhi": ((0xA00, 0xA7F),),
    "gujarati": ((0xA80, 0xAFF),),
    "tamil": ((0xB80, 0xBFF),),
    "telugu": ((0xC00, 0xC7F),),
    "kannada": ((0xC80, 0xCFF),),
    "malayalam": ((0xD00, 0xD7F),),
    "thai": ((0xE00, 0xE7F),),
    "hangul": ((0xAC00, 0xD7A3),),
    "kana": ((0x3040, 0x30FF), (0x4E00, 0x9FFF)),
}

# Language of IFEval -> its script, and frequent words where others share the script.
LANGUAGES: Mapping[str, tuple[str, str]] = {
    "en": ("latin", "the of and to in is that it was for on are with as his they at be this have from not you we"),
    "es": ("latin", "el la los las de que y en un una es por con para se no su al lo como más pero está son muy"),
    "pt": ("latin", "o a os as de que e em um uma é por com para não se do da dos na no ao mais mas está são muito"),
    "fr": ("latin", "le la les de des et en un une est que qui dans pour pas sur ce il elle au aux du avec sont nous"),
    "de": ("latin", "der die das und in den von zu mit ist im nicht ein eine auf für sich des dem auch es an wir sind"),
    "it": ("latin", "il lo la gli le di che e in un una è per con non si del della dei nel sono più ma anche al come"),
    "pl": ("latin", "i w na z do się nie to jest że o jak po co dla od przez tak ale za są był czy już ma"),
    "fi": ("latin", "ja on ei se että hän oli mutta kun niin tämä ovat myös joka olla kuin sen mitä minä ole tai vain"),
    "sw": ("latin", "na ya wa kwa ni za katika la kuwa cha hii huyo kama lakini yake wake pia hiyo watu sana au si"),
    "vi": ("latin", "và của là có trong được cho một không các những người này với đã để khi từ đến như rất tôi ở"),
    "ru": ("cyrillic", "и в не на что он с как это по но из у за то все она так его мы от очень был я вы есть"),
    "uk": ("cyrillic", "і в не на що він з як це по але із у за та все вона так його ми від дуже був я ви є й"),
    "bg": ("cyrillic", "и в не на че той с като това по но от за се са е да ще тя така го ние много беше аз вие има"),
    "ar": ("arabic", "في من على إلى أن هذا التي كان لا ما هو هي عن مع ذلك الذي كل هذه قد أو لم بعد"),
    "fa": ("arabic", "در به از که این را با است برای آن یک می تا بر هم ها بود شد اما یا ما هر خود"),
    "ur": ("arabic", "کے میں کی ہے اور سے کا کو اس کہ پر نے ہیں ایک یہ بھی تھا وہ لیے نہیں جو تو"),
    "hi": ("devanagari", "के में की है और से का को इस कि पर ने हैं एक यह भी था वह लिए नहीं जो तो"),
    "mr": ("devanagari", "आहे आणि या च्या ते ही हे मध्ये एक तो ती आहेत होते की मी नाही पण साठी आपण होता"),
    "ne": ("devanagari", "छ र को मा का ले हो यो पनि छन् लागि एक थियो त गर्न गरेको भएको हुन् तर म छैन"),
    **{
        code: (script, "")
        for code, script in (
            *(("he", "hebrew"), ("bn", "bengali"), ("pa", "gurmukhi"), ("gu", "gujarati"), ("ta", "tamil")),
            *(("te", "telugu"), ("kn", "kannada"), ("ml", "malayalam"), ("th", "thai"), ("ko", "hangul")),
            ("ja", "kana"),
        )
    },
}


def share_of_language(text: str, language: str) -> float:
    """Return the share of a text, in [0, 1], that is of a language.

    That is the share of its letters that are of the language's script; where others share the script, 0 unless more of
    the words are frequent words of this language than of any other.

    Args:
        text: any text.
        language: a code in `LANGUAGES`, such as "de".
    """
    script, frequent = LANGUAGES[language]
    letters = [ord(letter) for letter in text if letter.isalpha()]
    inside = sum(any(low <= letter <= high for low, high in _SCRIPTS[script]) for letter in letters)
    if not inside:
        return 0.0
    if frequent:
        words = text.casefold().split()
        words = [word.strip(".,;:!?\"'()¿¡«»„“”،۔।") for word in words]
        counts = {
            code: sum(word in set(likely.split()) for word in words)
            for code, (other, likely) in LANGUAGES.items()
            if other == script
        }
        if not counts[language] or counts[language] < max(counts.values()):
            return 0.0
    return inside / len(letters)
