"""Constraints on the form of a text: each kind with a text that keeps it and one that breaks it."""

from __future__ import annotations

from typing import Any

import pytest
from palaestra.errors import InputError
from palaestra.rewards import verify
from palaestra.rewards.verifiers.constraints import KINDS
from palaestra.rewards.verifiers.further_constraints import FURTHER_KINDS
from palaestra.rewards.verifiers.languages import LANGUAGES, share_of_language
from palaestra.rewards.verifiers.text_parts import count_phrase, count_sentences

# kind, parameters, a text that keeps it, one that breaks it
FIXTURES: list[tuple[str, dict[str, Any], str, str]] = [
    ("words", {"min": 3, "max": 4}, "It's a well-known fact", "one two"),
    ("words", {"max": 2}, "one two", "one two three"),
    ("sentences", {"min": 2, "max": 2}, "It costs 3.5 euros. Really!", "One. Two. Three."),
    ("paragraphs", {"min": 2}, "a\n\nb", "a\nb"),
    ("lines", {"max": 2}, "a\n\nb", "a\nb\nc"),
    ("bullets", {"min": 2, "max": 2}, "List:\n- a\n* b", "- a\n-b"),
    ("characters", {"max": 5}, " abcde ", "abcdef"),
    ("placeholders", {"min": 1}, "Dear [name]", "Dear name"),
    ("highlights", {"min": 2}, "this *word* here, **bold**", "2 * 3 * 4 and *one*"),
    ("capital-words", {"max": 1}, "It is NOT so", "IT IS"),
    ("occurrences", {"text": "cat", "min": 2, "max": 2}, "Cat and cat, concatenated", "cat"),
    ("letters", {"text": "q", "min": 2}, "Queen, quick", "Queen"),
    ("parts", {"text": "***", "min": 2, "max": 2}, "one\n***\ntwo\n***\n", "one"),
    ("lower", {}, "all small 1", "Not all"),
    ("upper", {}, "ALL BIG 1", "ALL bIG"),
    ("no-commas", {}, "a; b", "a, b"),
    ("json", {}, '```json\n{"a": 1}\n```', "{a: 1}"),
    ("quoted", {}, ' "text" ', '"text'),
    ("title", {}, "<<Poem>>\nx", "<Poem>"),
    ("keywords", {"texts": ["red", "blue sky"]}, "Blue\nsky, red sun", "blue sky, reddish"),
    ("any-of", {"texts": ["yes", "no"]}, "Yes!", "nothing"),
    ("forbidden", {"texts": ["red"]}, "reddish", "a red one"),
    ("starts-with", {"text": "Once"}, " Once more", "once more"),
    ("ends-with", {"text": "The end."}, "It is. The end.\n", "The end"),
    ("paragraph-starts", {"text": "then", "paragraph": 2}, "First this.\n\n**Then** that.", "Then this."),
    ("unique-words", {"min": 2, "max": 2}, "Go, go away", "go GO"),
    ("questions", {"min": 1, "max": 1}, "So?! Yes.", "So. Yes."),
    ("exclamations", {"min": 2, "max": 2}, "So!!! Yes!", "So!!! Yes."),
    ("numbers", {"min": 2, "max": 2}, "3.5 euros in 1999", "a4 and 3"),
    ("commas", {"min": 1, "max": 1}, "a, b", "a b"),
    ("quotations", {"min": 1}, 'He said "no".', 'He said "no.'),
    ("brackets", {"min": 1}, "one (two)", "one )two("),
    ("emoji", {"min": 1}, "good \U0001f600", "good :)"),
    ("hashtags", {"min": 1}, "#sea and #1", "# sea, #1"),
    ("hyphenated-words", {"min": 1}, "a well-known fact", "a well - known fact"),
    ("palindromes", {"min": 1}, "Level ground", "aa a level-headed"),
    ("numbered-items", {"min": 2, "max": 2}, "1. a\n2) b", "1 a\n2b"),
    ("headings", {"min": 1}, "## Title\nx", "##Title\nx"),
    ("table-rows", {"min": 2}, "| a | b |\n| c | d |", "| a | b |\nc | d"),
    ("code-blocks", {"min": 1, "max": 1}, "```\nx\n```", "`x`"),
    ("longest-word", {"max": 4}, "four by two", "three by two"),
    ("shortest-word", {"min": 3}, "four and two", "four or two"),
    ("repeats", {"max": 1}, "no word twice", "no word, No"),
    ("sentence-words", {"min": 2, "max": 3}, "One two. One two three!", "One two. One!"),
    ("paragraph-sentences", {"min": 2, "max": 2}, "A. B.\n\nC. D.", "A. B.\n\nC."),
    ("line-characters", {"max": 3}, "abc\n\nde", "abcd\ne"),
    ("columns", {"min": 2, "max": 2}, "a,b\nc,d", "a,b\nc"),
    ("sorted-lines", {}, "ant\nBee\ncat", "bee\nant"),
    ("growing-lines", {}, "a\nbb\nccc", "a\nbb\ncc"),
    ("growing-sentences", {}, "One. One two. One two three.", "One two. One two."),
    ("chained-sentences", {}, "I see the sea. Sea is wide.", "I see the sea. It is wide."),
    ("framed", {}, "So it is. Who knows? So it is!", "So it is. So it is."),
    ("title-case", {}, "The Sea And 2 Boats", "The sea"),
    ("labelled-lines", {}, "name: sea\nsize: big", "name: sea\nbig"),
    ("acrostic", {"text": "SEA"}, "- so\n- each\n- all", "so\nall"),
    ("sentence-starts", {"text": "then"}, "Then go. then come.", "Then go. Come."),
    ("initials", {"text": "s"}, "Seven seas sing", "Seven blue seas"),
    ("line-starts", {"text": "> "}, "> a\n> b", "> a\nb"),
    ("line-ends", {"text": ";"}, "a;\nb;", "a;\nb"),
    ("tagged", {"text": "note"}, " <note>x</note>\n", "<note>x</note>."),
    ("language", {"text": "de"}, "Der Hund und die Katze sind im Haus.", "The dog and the cat are in the house."),
    ("word", {"text": "sea", "word": 2}, "The Sea is", "Sea is the"),
    ("in-order", {"texts": ["red", "blue sky"]}, "A red and blue\nsky", "blue sky, red"),
    ("together", {"texts": ["red", "blue"]}, "No. A red and blue one.", "A red one. A blue one."),
]
# Language -> a sentence in it.
SENTENCES = {
    "en": "The children are in the garden with their dog.",
    "es": "Los niños están en el jardín con su perro.",
    "pt": "As crianças não estão em casa com o cachorro.",
    "fr": "Les enfants sont dans le jardin avec leur chien.",
    "it": "I bambini sono nel giardino con il loro cane, che è molto grande.",
    "pl": "Dzieci są w ogrodzie i nie ma psa, ale jest kot.",
    "fi": "Lapset ovat puutarhassa ja koira on talossa, mutta kissa ei ole.",
    "sw": "Watoto wa shule ni katika bustani na mbwa wake.",
    "vi": "Những người bạn của tôi đang ở trong vườn với một con chó.",
    "ru": "Дети играют в саду, но собака была дома, и все это знают.",
    "uk": "Діти є в саду, але собака була вдома, і всі це знають, як він.",
    "bg": "Децата са в градината, но кучето е у дома и не ще да се върне.",
    "ar": "كان الأطفال في الحديقة مع الكلب على الرغم من ذلك",
    "fa": "این کودکان در باغ با سگ خود هستند که آن را می بینند",
    "ur": "بچے باغ میں ہیں اور یہ کتا بھی وہاں کے لیے نہیں تھا",
    "hi": "बच्चे बगीचे में हैं और यह कुत्ता भी घर में नहीं है",
    "mr": "मुले बागेत आहेत आणि हे कुत्रा घरात नाही पण ते मोठे आहे",
    "ne": "केटाकेटीहरू बगैंचामा छन् र कुकुर घरमा छ तर यो ठूलो छैन",
    "ja": "子供たちは庭で犬と遊んでいます。",
    "ko": "아이들은 정원에서 개와 놀고 있습니다.",
    "th": "เด็กๆ เล่นกับสุนัขในสวน",
    "he": "הילדים משחקים בגן עם הכלב",
}


def test_a_sentence_is_of_its_own_language_alone():
    for language, sentence in SENTENCES.items():
        found = [code for code in LANGUAGES if share_of_language(sentence, code) >= 0.5]
        assert found == [language], sentence


def test_further_kinds_are_thirty_or_more_beyond_those_of_ifeval():
    assert len(FURTHER_KINDS) >= 30 + len({"language"})


def test_every_kind_has_fixtures():
    assert {fixture[0] for fixture in FIXTURES} == set(KINDS)


@pytest.mark.parametrize(("kind", "parameters", "kept", "broken"), FIXTURES)
def test_a_text_that_keeps_it_and_one_that_breaks_it(kind: str, parameters: dict[str, Any], kept: str, broken: str):
    reference = [{"kind": kind, **parameters}]
    assert verify("constraints", kept, reference).success
    verdict = verify("constraints", broken, reference)
    assert (verdict.score, verdict.success) == (0.0, False)
    assert kind in verdict.feedback


def test_the_score_is_the_share_that_is_kept_and_success_is_all():
    reference = [{"kind": "lower"}, {"kind": "no-commas"}, {"kind": "words", "max": 2}, {"kind": "words", "min": 9}]
    verdict = verify("constraints", "one two", reference)
    assert (verdict.score, verdict.success) == (0.75, False)


def test_a_blank_text_keeps_nothing():
    for text in ("", " \n", "\u00a0"):
        verdict = verify("constraints", text, [{"kind": "no-commas"}, {"kind": "forbidden", "texts": ["a"]}])
        assert (verdict.score, verdict.malformed) == (0.0, True)


def test_sentences_by_hand():
    assert count_sentences('He said "No." Then he left') == 2
    assert count_sentences("Wait... what?! (Yes.) ...") == 3


def test_a_phrase_counts_as_whole_words():
    assert count_phrase("The art of art, artful ART", "art") == 3
    assert count_phrase("a.b a.b", "a.b") == 2


@pytest.mark.parametrize(
    "text",
    ["." * 199_999 + "x", '."' * 90_000, "\n " * 90_000, "-" * 199_999, "a'" * 90_000, "<<" * 90_000, "[" * 199_999],
)
def test_long_texts_get_a_verdict(text: str):
    reference = [{"kind": kind, **parameters} for kind, parameters, *_ in FIXTURES]
    assert not verify("constraints", text, reference).success


@pytest.mark.parametrize(
    "reference",
    [
        *([], None, [{}], [{"kind": "words"}], [{"kind": "words", "max": -1}], [{"kind": "words", "max": 1.5}]),
        *([{"kind": "keywords"}], [{"kind": "keywords", "texts": []}], [{"kind": "keywords", "texts": "ab"}]),
        *([{"kind": "lower", "max": 1}], [{"kind": "poem"}], [{"kind": "starts-with", "text": " "}]),
    ],
)
def test_constraints_that_cannot_be_used_are_refused(reference: Any):
    with pytest.raises(InputError, match="constraint"):
        verify("constraints", "x", reference)
