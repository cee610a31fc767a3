"""What a text states plainly enough for a program to compare: that something is so, or has this value.

    The north gate is open.          (north gate, is)      = open
    The capital of Vell is Orm.      (vell, capital)       = Orm
    Mara's eyes are green.           (mara, eyes)          = green
    Mara is not a knight.            (mara, is)            ≠ a knight
    - Age: 52      under "# Mara"    (mara, age)           = 52
    马拉的年龄是52岁。                 (马拉, 年龄)            = 52岁

Precise rather than complete: a sentence that asks, quotes, supposes or goes on after its statement is not read. Two
claims contradict each other where the same is asserted and denied, or where two values exclude each other: two
numbers of the same unit, two colours, two names of what only one can be, two states of which one rules out the other.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from canonry.text import fold, index_terms
from canonry.vocabulary import NO_FIELD, NO_SUBJECT, NUMBERS, exclude, state_of

IS = "is"
LONGEST_STATEMENT = 240  # characters
_LONGEST_LINE = 20_000  # characters; far more than a passage has
_LONGEST_SUBJECT = 6  # words
_LONGEST_VALUE = 8


@dataclass(frozen=True, slots=True)
class Claim:
    """One statement. `subject` and `attribute` are keys to compare by, `value` is as written, `statement` verbatim."""

    subject: str
    attribute: str
    value: str
    negated: bool
    past: bool
    statement: str


def claims(text: str, about: str = "") -> list[Claim]:
    """The claims of a text in their order.

    `about` is whom a line such as `Age: 52` is of: the heading over it. Without one, `Bridge: destroyed` and
    `bridge = destroyed` say that the bridge is destroyed.
    """
    found: list[Claim] = []
    for line in _lines(text):
        field = _field(line, about)
        if field is not None:
            found.append(field)
            continue
        for sentence in _sentences(line):
            found += _read(sentence)
    return found


def contradict(one: Claim, other: Claim) -> bool:
    """Whether both cannot hold at once."""
    if (one.subject, one.attribute, one.past) != (other.subject, other.attribute, other.past):
        return False
    if one.negated or other.negated:
        return one.negated != other.negated and _key(one.value) == _key(other.value)
    if exclude(one.value, other.value):
        return True
    return one.attribute != IS and _differ(one.value, other.value)


# lines and sentences

_FENCE = re.compile(r"\s*(```|~~~)")
_DECORATION = re.compile(r"^\s*(?:[-*+>|#]+\s+|\d+[.)]\s+|\|\s*)*|[*_`]{1,3}|\s*\|\s*$")
_DECORATED = re.compile(r"[-*+>|#_`]|\d[.)]")
_LINK = re.compile(r"\[\[(?:[^\]|]{0,200}\|)?([^\]]{0,200})\]\]|\[([^\]]{0,200})\]\([^)]{0,500}\)")
_SENTENCE = re.compile(r"(?<=[.!?。！？；;])\s+|(?<=[。！？；])")
_UNSURE = re.compile(
    r"[\"“”„«»「」『』?？:]|\b(?:if|when|whenever|unless|until|while|although|though|perhaps|maybe|some say|it is said|rumou?r|legend|"
    r"supposedly|allegedly|reportedly|believe[sd]?|think[s]?|thought|claim(?:s|ed)?|dream(?:s|ed|t)?|as if|almost|nearly)\b|"
    r"如果|假如|要是|据说|传说|也许|可能|似乎|好像",
    re.IGNORECASE,
)


def _lines(text: str) -> Iterator[str]:
    """Lines of prose and of lists, paragraphs joined, without code and markup."""
    fenced = False
    paragraph: list[str] = []
    for line in text.splitlines():
        if _FENCE.match(line):
            fenced = not fenced
        elif fenced or line.lstrip().startswith("#"):
            pass
        elif line.strip() and not _is_item(line):
            paragraph.append(line.strip())
            continue
        elif line.strip():
            yield from _joined(paragraph)
            paragraph = []
            yield _plain(line)
            continue
        yield from _joined(paragraph)
        paragraph = []
    yield from _joined(paragraph)


def _joined(paragraph: list[str]) -> Iterator[str]:
    """A paragraph as one line; lines that each hold a field stay apart."""
    if any(_FIELD.match(_plain(line)) for line in paragraph):
        yield from map(_plain, paragraph)
    elif paragraph:
        yield _plain(" ".join(paragraph))


def _is_item(line: str) -> bool:
    return bool(re.match(r"\s*([-*+]\s|\d+[.)]\s|\||>)", line))


def _plain(line: str) -> str:
    if len(line) > _LONGEST_LINE:
        return ""
    if "[" in line:
        line = _LINK.sub(lambda match: match[1] or match[2] or "", line)
    return _DECORATION.sub("", line).strip() if _DECORATED.search(line) else line.strip()


def _sentences(line: str) -> Iterator[str]:
    for sentence in _SENTENCE.split(line):
        if sentence and len(sentence) <= LONGEST_STATEMENT:
            yield sentence.strip()


# fields: `Age: 52`

_FIELD = re.compile(r"([^\W\d_][\w '’-]{0,30}?)\s*(?:\|\s*|[:：=]\s+|[：])(\S.{0,60})$")


def _field(line: str, about: str) -> Claim | None:
    match = _FIELD.match(line)
    if match is None:
        return None
    name, value = match[1].strip(), match[2].strip().rstrip(".。")
    words = value.split()
    if fold(name) in NO_FIELD or len(name.split()) > 3 or len(words) > 5 or _is_several(value) or _UNSURE.search(value):
        return None
    return _claim(about, name, value, statement=line) if about else _claim(name, IS, value, statement=line)


def _is_several(value: str) -> bool:
    return bool(re.search(r"[,;/、，|]|\b(?:and|or|to|but)\b|[和或与]", value))


# sentences

_BE = r"(?P<be>is|are|was|were)(?P<not>n['’]t|\s+not(?:\s+a)?|\s+no\s+longer|\s+never)?"
_WORDS = r"[^\W\d_][\w'’ -]*?"
_ENGLISH = re.compile(rf"(?P<subject>{_WORDS})\s+{_BE}\s+(?P<value>[^.!;,()]+?)[.!;]?$")
_OF = re.compile(rf"(?:the\s+)(?P<attribute>{_WORDS})\s+of\s+(?P<owner>{_WORDS})$", re.IGNORECASE)
_OWNED = re.compile(rf"(?P<owner>{_WORDS})(?:['’]s|s['’])\s+(?P<attribute>{_WORDS})$")
_AGE = re.compile(r"(?P<number>\d+|[a-z-]+)\s+years?\s+old$", re.IGNORECASE)
_SINCE = re.compile(
    r"(?P<verb>born|founded|built|forged|written|crowned|killed|slain)\s+(?P<link>in|by|at|on)\s+(?P<value>.+)$"
)
_CHANGE = re.compile(
    rf"(?P<subject>{_WORDS})\s+(?:has\s+|have\s+)?(?P<verb>collapse[sd]?|die[sd]?|burn(?:s|ed|t)?\s+down|close[sd]?|open(?:s|ed)?|"
    r"fall(?:s|en)?|fell|sinks?|sank|sunk|shatter(?:s|ed)?)[.!]?$",
    re.IGNORECASE,
)
_HAS = re.compile(
    rf"(?P<subject>{_WORDS})\s+(?P<be>has|have|had)\s+(?:exactly\s+|only\s+)?(?P<value>[\w-]+)\s+(?P<noun>[a-z]+)[.!]?$"
)
_CHINESE = re.compile(
    r"(?P<subject>[\u3400-\u9fff]{1,10}?)(?P<be>不是|并非|是|仍然?|已经?)(?P<value>[\w\u3400-\u9fff]{1,14})[。！]?$"
)
_ARTICLE = re.compile(r"^(?:the|a|an)\s+", re.IGNORECASE)
_LEADING = re.compile(
    r"^(?:now|still|already|currently|once again|again|completely|entirely|fully|quite|very)\s+", re.IGNORECASE
)
_TRAILING = re.compile(r"\s+(?:now|again|forever|today|at last|by\s+.+|since\s+.+)$", re.IGNORECASE)


def _read(sentence: str) -> Iterable[Claim]:
    found = _chinese(sentence) or _english(sentence) or _change(sentence) or _has(sentence)
    return [found] if found and not _UNSURE.search(sentence) else []


def _english(sentence: str) -> Claim | None:
    match = _ENGLISH.match(sentence)
    if match is None or " and " in match["subject"] or len(match["value"].split()) > _LONGEST_VALUE:
        return None
    subject, value, negated = match["subject"], match["value"], bool(match["not"])
    past = match["be"] in ("was", "were")
    if since := _SINCE.match(value):
        return _claim(subject, f"{since['verb']} {since['link']}", since["value"], negated, sentence=sentence)
    value = _TRAILING.sub("", _LEADING.sub("", value))
    if negated and "no longer" in match["not"]:
        past = False
    if age := _AGE.match(value):
        return _claim(subject, "age", age["number"], negated, past, sentence)
    if owned := _OWNED.match(subject) or _OF.match(subject):
        return (
            None if _is_several(value) else _claim(owned["owner"], owned["attribute"], value, negated, past, sentence)
        )
    if (role := _OF.match(value)) and _is_name(subject):
        return _claim(role["owner"], role["attribute"], subject, negated, past, sentence)
    return None if _is_several(value) else _claim(subject, IS, value, negated, past, sentence)


def _change(sentence: str) -> Claim | None:
    match = _CHANGE.match(sentence)
    return _claim(match["subject"], IS, state_of(match["verb"]) or "", statement=sentence) if match else None


def _has(sentence: str) -> Claim | None:
    match = _HAS.match(sentence)
    if match is None or not (_number(match["value"]) or state_of(match["value"])):
        return None
    return _claim(match["subject"], match["noun"], match["value"], past=match["be"] == "had", statement=sentence)


def _chinese(sentence: str) -> Claim | None:
    match = _CHINESE.match(sentence)
    if match is None:
        return None
    subject, negated = match["subject"], match["be"] in ("不是", "并非")
    if "的" in subject and match["be"] in ("是", "不是", "并非"):
        owner, _, attribute = subject.rpartition("的")
        return _claim(owner, attribute, match["value"], negated, statement=sentence)
    if match["be"] not in ("是", "不是", "并非") and not state_of(match["value"]):
        return None
    return _claim(subject, IS, match["value"], negated, statement=sentence)


def _claim(
    subject: str,
    attribute: str,
    value: str,
    negated: bool = False,
    past: bool = False,
    sentence: str = "",
    statement: str = "",
) -> Claim | None:
    subject, value = _ARTICLE.sub("", subject.strip()), value.strip()
    first = fold(subject).split()[:1]
    if not first or first[0] in NO_SUBJECT or len(subject.split()) > _LONGEST_SUBJECT or not _key(value):
        return None
    key = _key(subject)
    named = attribute if attribute == IS else _key(attribute)
    return Claim(key, named, value, negated, past, sentence or statement) if key and named else None


# values

_NUMBER = re.compile(r"(?P<number>\d[\d,.]*)\s*(?P<unit>.*)$")


def _key(text: str) -> str:
    return index_terms(_ARTICLE.sub("", text.strip()))


def _number(value: str) -> tuple[str, str] | None:
    """(number, unit) of a value that begins with a number, or None."""
    first, _, rest = value.strip().partition(" ")
    if fold(first) in NUMBERS:
        return NUMBERS[fold(first)], _key(rest)
    match = _NUMBER.match(value.strip())
    if match is None:
        return None
    digits = match["number"].rstrip(".,").replace(",", "")
    return digits, _key(match["unit"])


def _is_name(value: str) -> bool:
    """Whether every word but small ones is capitalised, as in a name of one thing."""
    words = [word for word in _ARTICLE.sub("", value.strip()).split() if word not in ("of", "the", "von", "de", "la")]
    return 0 < len(words) <= 4 and all(word[0].isupper() for word in words)


def _differ(one: str, other: str) -> bool:
    """Whether two values of one attribute are of the same sort and not the same."""
    numbers = _number(one), _number(other)
    if numbers[0] and numbers[1]:
        return numbers[0][1] == numbers[1][1] and numbers[0][0] != numbers[1][0]
    terms = set(_key(one).split()), set(_key(other).split())
    if terms[0] <= terms[1] or terms[1] <= terms[0]:
        return False
    return _is_name(one) and _is_name(other) and not terms[0] & terms[1]
