"""From text to search terms: one tokenizer for what is indexed and for what is asked.

Text is folded with NFKC and case folding. Latin letters lose their accents and Latin words are stemmed (Snowball
English; Cyrillic words Snowball Russian). Scripts that are written without spaces between words (Chinese, Japanese,
Korean, Thai, Lao, Khmer, Burmese) become overlapping character pairs and the last character of each run, never
across punctuation. A term holds neither white space nor ASCII punctuation, so a store that splits at those keeps it.
"""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass
from itertools import pairwise

import Stemmer

VERSION = "1"
LONGEST_TERM = 64  # characters; a longer word is indexed in pieces of this length

_UNSPACED = (
    "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3005-\u3007\u3041-\u30ff\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff"
    "\uac00-\ud7af\uf900-\ufaff\U00020000-\U0003ffff"
)
_MARKS = "\u0300-\u036f\u0483-\u0487\u0591-\u05c7\u0610-\u061a\u064b-\u065f\u0670\u0900-\u0dff\u200c\u200d"
_KATAKANA_DOT = "\u30fb"
_ASCII_WORD = re.compile(r"[a-z0-9]+")
_RUN_OR_WORD = re.compile(
    rf"(?!{_KATAKANA_DOT})([{_UNSPACED}]+)|((?:(?![{_UNSPACED}])[^\W_])(?:(?![{_UNSPACED}])[^\W_]|[{_MARKS}])*)"
)
_SPACED_WORD = re.compile(rf"[^\W_](?:[^\W_]|[{_MARKS}])*")
_ANY_UNSPACED = re.compile(f"[{_UNSPACED}]")
_POSSESSIVE = re.compile(r"(?<=[a-z])'s\b")
_ACCENTED_LATIN = re.compile("([a-z])[\u0300-\u036f]+")
_PUNCTUATION = str.maketrans({
    "’": "'", "‘": "'", "ʼ": "'", "“": " ", "”": " ", "„": " ", "«": " ", "»": " ", "–": " ", "—": " ", "…": " ",
    "\u00a0": " ", "•": " ", "·": " ", "\ufeff": " ", "\u00ad": None, "\u200b": None, _KATAKANA_DOT: " ",
})  # fmt: skip
_TYPOGRAPHY = (("’", "'"), ("“", " "), ("”", " "), ("—", " "), ("–", " "), ("…", " "), ("‘", "'"), ("\u00a0", " "))
_LATIN_LETTERS = str.maketrans({"ø": "o", "ł": "l", "đ": "d", "æ": "ae", "œ": "oe", "ð": "d", "þ": "th", "ı": "i"})
_ASCII_PUNCTUATION = {code: " " for code in range(128) if not chr(code).isalnum()}
_LINE_END = re.compile(r"\r\n?|\n")
_BLANK_LINES = re.compile(r"\n{3,}")
_NOT_A_WORD = re.compile(r"[\W_]+")
_QUOTED = re.compile(r'"([^"]*)"|“([^“”]*)”|「([^「」]*)」|«([^«»]*)»')


class _Stems(dict[str, str]):
    """Word -> stem, remembered: a corpus repeats its words."""

    def __init__(self) -> None:
        super().__init__()
        self._english = Stemmer.Stemmer("english", 0)
        self._russian = Stemmer.Stemmer("russian", 0)

    def __missing__(self, word: str) -> str:
        if word.isascii():
            stem = str(self._english.stemWord(word))
        elif "\u0400" <= word[0] <= "\u04ff":
            stem = str(self._russian.stemWord(word))
        else:
            stem = word
        if len(stem) > LONGEST_TERM:
            stem = " ".join(stem[at : at + LONGEST_TERM] for at in range(0, len(stem), LONGEST_TERM))
        if len(self) > 500_000:
            self.clear()
        self[word] = stem
        return stem


_stems = _Stems()


def fold(text: str) -> str:
    """The text in its comparable form: NFKC, case folded, Latin letters without accents."""
    if not text.isascii():
        for typographic, plain in _TYPOGRAPHY:
            text = text.replace(typographic, plain)
    if text.isascii():
        return text.lower()
    text = unicodedata.normalize("NFKC", text).casefold().translate(_PUNCTUATION).translate(_LATIN_LETTERS)
    text = _ACCENTED_LATIN.sub(r"\1", unicodedata.normalize("NFD", text))
    return unicodedata.normalize("NFC", text)


def index_terms(text: str) -> str:
    """The terms of a text in order, separated by single spaces, as the lexical store keeps them."""
    folded = fold(text)
    if "'" in folded:
        folded = _POSSESSIVE.sub("", folded)
    if folded.isascii():
        return " ".join(map(_stems.__getitem__, _ASCII_WORD.findall(folded)))
    if not _ANY_UNSPACED.search(folded):
        return " ".join(map(_stems.__getitem__, _SPACED_WORD.findall(folded)))
    terms: list[str] = []
    for run, word in _RUN_OR_WORD.findall(folded):
        if run:
            terms.extend(map("".join, pairwise(run)))
            terms.append(run[-1])
        else:
            terms.append(_stems[word])
    return " ".join(terms)


@dataclass(frozen=True, slots=True)
class Query:
    """What a person typed, as words: never syntax.

    `phrases` were quoted and must occur; a last single character of an unspaced script stands for every pair it
    begins. `terms` are OR-ed. `compounds` are written as one word with a digit (`3.5`): their parts are among the
    terms, and the whole is one more thing to match (words such as `half-orc` rank better by their parts alone).
    `prefixes` are single characters of an unspaced script.
    """

    phrases: tuple[tuple[str, ...], ...] = ()
    terms: tuple[str, ...] = ()
    compounds: tuple[tuple[str, ...], ...] = ()
    prefixes: tuple[str, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.phrases or self.terms or self.prefixes)


def parse_query(text: str) -> Query:
    """The words of a question; empty where it holds none."""
    phrases: list[tuple[str, ...]] = []

    def keep(match: re.Match[str]) -> str:
        phrase = phrase_terms(match.group(match.lastindex or 1))
        if len(phrase) == 1 and is_unspaced(phrase[0]):
            return f" {phrase[0]} "
        if phrase:
            phrases.append(phrase)
        return " "

    groups = _query_terms(_QUOTED.sub(keep, text))
    terms: dict[str, None] = {}
    prefixes: dict[str, None] = {}
    compounds: dict[tuple[str, ...], None] = {}
    for group in groups:
        if len(group) == 1 and is_unspaced(group[0]):
            prefixes[group[0]] = None
            continue
        terms.update(dict.fromkeys(group))
        if len(group) > 1 and any(character.isdigit() for term in group for character in term):
            compounds[tuple(group)] = None
    return Query(tuple(dict.fromkeys(phrases)), tuple(terms), tuple(compounds), tuple(prefixes))


def is_unspaced(term: str) -> bool:
    """Whether a term is a single character of a script without spaces, which stands for every pair it begins."""
    return len(term) == 1 and bool(_ANY_UNSPACED.match(term))


def phrase_terms(text: str) -> tuple[str, ...]:
    """The terms of a phrase as they stand in the index, where its last run may go on."""
    terms = index_terms(text).split()
    if len(terms) > 1 and is_unspaced(terms[-1]) and len(terms[-2]) == 2 and terms[-2][-1] == terms[-1]:
        terms.pop()
    return tuple(terms)


def _query_terms(text: str) -> list[list[str]]:
    """Terms grouped by the word they were written in. An unspaced run is a group of its pairs, and no compound."""
    groups: list[list[str]] = []
    for written in text.split():
        folded = _POSSESSIVE.sub("", fold(written))
        compound: list[str] = []
        for run, word in _RUN_OR_WORD.findall(folded):
            if run:
                groups.extend([pair] for pair in map("".join, pairwise(run)))
                if len(run) == 1:
                    groups.append([run])
            else:
                compound.extend(_stems[word].split(" "))
        if compound:
            groups.append(compound)
    return groups


def same_text_form(text: str) -> str:
    """The form in which two passages count as the same text: folded, white space and punctuation aside."""
    folded = fold(text)
    if folded.isascii():
        return " ".join(folded.translate(_ASCII_PUNCTUATION).split())
    return " ".join(_NOT_A_WORD.sub(" ", folded).split())


def normal_form(text: str) -> str:
    """The form in which two files count as the same text: white space at line ends, runs of blank lines and Unicode form aside.

    NFKC, line feeds alone, no byte-order mark. Case, punctuation and indentation count.
    """
    plain = text if text.isascii() else unicodedata.normalize("NFKC", text.removeprefix("\ufeff"))
    lines = "\n".join(line.rstrip(" \t") for line in _LINE_END.split(plain))
    return _BLANK_LINES.sub("\n\n", lines).strip("\n")


def word_list(text: str) -> frozenset[str]:
    """The words of a text, as they are."""
    return frozenset(text.split())


# Chinese characters and pairs of them, as they are indexed, that carry no subject: particles, pronouns, connectives, what
# questions are asked with.
_FUNCTION_PAIRS = word_list(
    "我们 你们 他们 她们 它们 自己 这个 那个 一个 这些 那些 一些 因为 所以 但是 如果 然后 以及 并且 而且 或者 还是 可以 没有 不是 就是 "
    "已经 正在 应该 需要 之后 之前 以后 以前 这里 那里 其中 之间 什么 什麼 是什 么是 有什 的什 了什 为什 怎么 怎样 如何 多少 多久 有多 "
    "是多 哪个 哪些 哪里 哪位 哪年 哪一 是哪 在哪 有哪 是谁 谁是 谁的 这是 那是 几个 何时 的 了 吗 呢 吧 啊 呀 嘛 是 在 与 和 被"
)
# Words that carry no subject in a question. They are indexed, and asked for where there is nothing else.
FUNCTION_WORDS = _FUNCTION_PAIRS | frozenset(
    index_terms(
        "a about above after again all also am an and any are as at be because been before being below between both but "
        "by can could did do does doing down during each few for from further get got had has have having he her here "
        "hers herself him himself his how i if in into is it its itself just me more most my myself no nor not of off on "
        "once only or other our ours out over own same she should so some such than that the their theirs them then "
        "there these they this those through to too under until up very was we were what when where which while who "
        "whom whose why will with would you your yours "
        "didn doesn wasn weren isn aren couldn shouldn wouldn won don hasn haven hadn t s re ve ll d m"
    ).split()
)
# Words that ask for an answer and not for a subject: whether a passage holds them does not tell whether it answers.
CHATTER = frozenset(index_terms("tell something anything everything please know say").split())
