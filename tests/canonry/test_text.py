from __future__ import annotations

import string

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from canonry.text import LONGEST_TERM, fold, index_terms, normal_form, parse_query, same_text_form

FOLDED = {
    "capitals": ("The MILL", "the mill"),
    "sharp s": ("Straße", "strasse"),
    "accents": ("Café Ångström Čapek", "cafe angstrom capek"),
    "accent apart": ("Cafe\u0301", "cafe"),
    "letters with a stroke": ("Łódź søster Æsir", "lodz soster aesir"),
    "full width": ("Ｍｉｌｌ１２", "mill12"),
    "ligature": ("ﬁne œuvre", "fine oeuvre"),
    "typographic quotes": ("warden’s “oath”", "warden's  oath "),
    "soft hyphen": ("har\u00adbour", "harbour"),
    "zero width space": ("har\u200bbour", "harbour"),
    "Turkish i": ("İstanbul", "istanbul"),
    "Greek sigma": ("ΣΟΦΟΣ", "σοφοσ"),
    "half-width kana": ("ｶﾞ", "ガ"),
    "Cyrillic keeps its breve": ("Йод", "йод"),
}


@pytest.mark.parametrize(("text", "folded"), FOLDED.values(), ids=FOLDED)
def test_texts_that_read_the_same_fold_to_the_same(text: str, folded: str) -> None:
    assert fold(text) == folded


TERMS = {
    "stems": ("The millers were running mills", "the miller were run mill"),
    "possessive": ("the warden's oath, the warden’s oath", "the warden oath the warden oath"),
    "a contraction is two words": ("don't", "don t"),
    "hyphens and dots part": ("half-orc 3.5 C:\\gate", "half orc 3 5 c gate"),
    "Chinese": ("铜钥匙", "铜钥 钥匙 匙"),
    "one character": ("雨", "雨"),
    "not across punctuation": ("城门，雨", "城门 门 雨"),
    "not across a line": ("城\n门", "城 门"),
    "not across a full-width stop": ("走。水", "走 水"),
    "not across a Japanese dot": ("アリス・リデル", "アリ リス ス リデ デル ル"),
    "Japanese mixed": ("霧の夜に", "霧の の夜 夜に に"),
    "Korean": ("성문은 닫힌다", "성문 문은 은 닫힌 힌다 다"),
    "Thai": ("กุญแจ", "กุ ุญ ญแ แจ จ"),
    "mixed with Latin": ("龙dragon龙", "龙 dragon 龙"),
    "mixed with digits": ("第3章", "第 3 章"),
    "Russian": ("королями", "корол"),
    "emoji alone": ("🗝️", ""),
    "nothing": (" \n", ""),
}


@pytest.mark.parametrize(("text", "terms"), TERMS.values(), ids=TERMS)
def test_terms_are_stems_and_character_pairs(text: str, terms: str) -> None:
    assert index_terms(text) == terms


def test_a_very_long_word_is_indexed_in_pieces() -> None:
    assert [len(term) for term in index_terms("x" * 150).split()] == [
        LONGEST_TERM,
        LONGEST_TERM,
        150 - 2 * LONGEST_TERM,
    ]


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Café", "cafe\u0301"),
        ("Warden’s", "warden's"),
        ("Ｍill", "mill"),
        ("half‑orc", "half-orc"),
        ("Łódź", "lodz"),
        ("１２", "12"),
    ],
    ids=["accent", "apostrophe", "width", "hyphen", "stroke", "digits"],
)
def test_what_is_written_otherwise_is_found_all_the_same(one: str, other: str) -> None:
    assert index_terms(one) == index_terms(other)


ANY_TEXT = st.text(max_size=80) | st.text("城门鍵のガ성กุ aB.'’-_*\"\n0é́\u200d🗝،", max_size=40)


@settings(max_examples=300, deadline=None)
@given(ANY_TEXT)
def test_terms_split_at_ascii_blanks_alone_and_hold_no_ascii_punctuation(text: str) -> None:
    """FTS5's `ascii` tokenizer splits at everything in ASCII that is no letter or digit: it must split where we do."""
    terms = index_terms(text)
    assert terms == " ".join(terms.split(" "))
    assert not set(terms) & set(string.punctuation + "\t\n\r\x0b\x0c\0")
    assert not any("A" <= char <= "Z" for char in terms)
    assert all(0 < len(term) <= LONGEST_TERM for term in terms.split(" ")) or terms == ""
    assert terms.split(" ") == terms.split() or terms == ""


@settings(max_examples=300, deadline=None)
@given(ANY_TEXT)
def test_the_words_of_a_text_are_among_its_own_terms(text: str) -> None:
    """A passage asked for with its own words is found: each term of the query is a term of the index."""
    query = parse_query(text.replace('"', " "))
    stored = index_terms(text.replace('"', " ")).split()
    assert set(query.terms) <= set(stored)
    assert all(any(term.startswith(prefix) for term in stored) for prefix in query.prefixes)


@settings(max_examples=300, deadline=None)
@given(ANY_TEXT)
def test_any_text_parses_to_words_without_syntax(text: str) -> None:
    query = parse_query(text)
    words = [*query.terms, *query.prefixes, *(term for group in (*query.phrases, *query.compounds) for term in group)]
    assert not set("".join(words)) & set(string.punctuation + string.whitespace + "\0")
    assert all(words)


@settings(max_examples=200, deadline=None)
@given(ANY_TEXT)
def test_folding_twice_changes_nothing(text: str) -> None:
    assert fold(fold(text)) == fold(text)


QUERIES = {
    "words": ("red dragon", (), ("red", "dragon"), (), ()),
    "each word once": ("Dragon dragons DRAGON", (), ("dragon",), (), ()),
    "a phrase": ('"blue heron" key', (("blue", "heron"),), ("key",), (), ()),
    "a phrase of one word": ('"heron"', (("heron",),), (), (), ()),
    "typographic quotes": ("“blue heron”", (("blue", "heron"),), (), (), ()),
    "Chinese quotes": ("「铜钥匙」", (("铜钥", "钥匙"),), (), (), ()),
    "a quote that is not closed": ('"blue heron', (), ("blue", "heron"), (), ()),
    "an empty quote": ('"" heron', (), ("heron",), (), ()),
    "a compound with a digit": ("3.5", (), ("3", "5"), (("3", "5"),), ()),
    "a compound of words": ("half-orc", (), ("half", "orc"), (), ()),
    "a number with a dot": ("3.5", (), ("3", "5"), (("3", "5"),), ()),
    "a single Latin letter": ("x", (), ("x",), (), ()),
    "a single character": ("雨", (), (), (), ("雨",)),
    "a pair": ("城门", (), ("城门",), (), ()),
    "a run is no compound": ("铜钥匙", (), ("铜钥", "钥匙"), (), ()),
    "operators": ("a AND b NOT c NEAR(d)", (), ("a", "and", "b", "not", "c", "near", "d"), (), ()),
    "punctuation alone": ("? ... -- *", (), (), (), ()),
}


@pytest.mark.parametrize(("text", "phrases", "terms", "compounds", "prefixes"), QUERIES.values(), ids=QUERIES)
def test_a_question_becomes_words(
    text: str, phrases: object, terms: object, compounds: object, prefixes: object
) -> None:
    query = parse_query(text)
    assert (query.phrases, query.terms, query.compounds, query.prefixes) == (phrases, terms, compounds, prefixes)
    assert bool(query) == bool(phrases or terms or prefixes)


def test_a_phrase_in_an_unspaced_script_is_what_stands_in_the_index() -> None:
    """Inside a longer run the last character of the phrase has no place of its own."""
    stored = f" {index_terms('只有持铜钥匙的人可以通过')} "
    (phrase,) = parse_query("「铜钥匙的人」").phrases
    assert f" {' '.join(phrase)} " in stored


def test_a_phrase_of_one_unspaced_character_is_found_inside_a_run() -> None:
    stored = index_terms("雨季时改走水路").split()
    query = parse_query('"雨"')
    assert query.prefixes or all(set(phrase) <= set(stored) for phrase in query.phrases)


def test_a_phrase_across_an_unspaced_border_is_what_stands_in_the_index() -> None:
    """`城门，雨` is stored as 城门 门 雨: the run's last character stands between."""
    stored = f" {index_terms('守将说城门，雨季时改走')} "
    (phrase,) = parse_query('"城门，雨季"').phrases
    assert f" {' '.join(phrase)} " in stored


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("A toll, paid.", " a  TOLL,\npaid.", True),
        ("Ｃafé", "cafe\u0301", True),
        ("One copper.", "Two coppers.", False),
        ("3.5", "35", False),
    ],
    ids=["white space and case", "forms of one letter", "other words", "a number"],
)
def test_texts_are_copies_when_their_words_are_the_same(one: str, other: str, same: bool) -> None:
    assert (same_text_form(one) == same_text_form(other)) is same


# the form in which two files are the same text

PLAIN = "# Zoë's inn\n\nTen rooms.\n\n  Two stairs."


@pytest.mark.parametrize(
    "other",
    [
        PLAIN.replace("\n", "\r\n"),
        PLAIN.replace("\n", "\r"),
        "\ufeff" + PLAIN,
        PLAIN + "\n\n\n",
        "\n" + PLAIN,
        PLAIN.replace("\n\n", "\n \t\n\n\n"),
        PLAIN.replace("rooms.", "rooms. \t"),
        PLAIN.replace("ë", "e\u0308"),
        PLAIN.replace("Ten", "Ｔｅｎ"),
        PLAIN.replace("Ten ", "Ten\u00a0"),
    ],
    ids=["CRLF", "CR", "BOM", "end", "beginning", "blank lines", "line ends", "NFD", "full width", "hard space"],
)
def test_line_ends_blanks_after_lines_blank_lines_and_unicode_form_make_no_other_text(other: str) -> None:
    assert other != PLAIN
    assert normal_form(other) == normal_form(PLAIN)


@pytest.mark.parametrize(
    "other",
    [
        PLAIN.replace("Ten", "ten"),
        PLAIN.replace("rooms.", "rooms"),
        PLAIN.replace("\n\n", "\n"),
        PLAIN.replace("  Two", "Two"),
        PLAIN.replace("ë", "e"),
        PLAIN.replace("Ten rooms", "Tenrooms"),
        PLAIN.replace("Ten rooms", "Ten  rooms"),
        PLAIN.replace("Ten rooms", "Ten\nrooms"),
    ],
    ids=["case", "punctuation", "paragraphs", "indentation", "accent", "word border", "two blanks", "another break"],
)
def test_everything_else_makes_another_text(other: str) -> None:
    assert normal_form(other) != normal_form(PLAIN)
