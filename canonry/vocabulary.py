"""The words that `canonry.claims` goes by: states that exclude each other, names that name nothing, numbers in letters.

A value counts as a state only when it is one of these words and nothing else, so that "open to strangers" is none.
"""

from __future__ import annotations

import re
from itertools import combinations

from canonry.text import fold, word_list

# names of fields that say nothing of what the heading over them names
NO_FIELD = word_list(
    "note notes see source sources tag tags page pages description summary example examples warning tip author text title "
    "chapter scene session date updated created aka alias aliases dm gm player 注 备注 来源 标签 说明"
)
# words that stand for something named elsewhere
NO_SUBJECT = word_list(
    "i you he she it we they this that these those there here who what which everyone everybody someone nobody nothing "
    "everything one all some many most both each none such another others his her its their my our your "
    "today tonight yesterday tomorrow now then "
    "他 她 它 我 你 这 那 我们 他们 她们 这里 那里 这是 那是 谁 什么"
)
# headings that name a part, not a thing
NAMELESS = word_list(
    "overview description summary history background appearance personality notes traits details statistics stats "
    "introduction general information biography profile facts basics attributes relationships goals secrets timeline "
    "geography politics culture economy religion government demographics 概述 简介 描述 背景 外貌 性格 历史 备注 属性"
)
_ENGLISH_NUMBERS = (
    "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen "
    "eighteen nineteen twenty"
)
NUMBERS = {
    **{word: str(number) for number, word in enumerate(re.findall(r"\w+", _ENGLISH_NUMBERS))},
    **{word: str(number) for number, word in enumerate("零一二三四五六七八九十")},
    "no": "0",
}

_STATES = {
    "intact": "intact undamaged unbroken whole 完好 完整",
    "destroyed": "destroyed ruined collapsed demolished razed shattered wrecked fallen collapse collapses die-out burned-down "
    "burnt-down burns-down fell falls shatter shatters 毁 被毁 毁了 毁坏 倒塌 摧毁 已毁",
    "open": "open opened opens 开着 打开 开放",
    "closed": "closed shut sealed locked barred closes close 关闭 关着 封闭 锁着",
    "alive": "alive living 活着 在世",
    "dead": "dead deceased slain killed died dies die 死了 死 已死 去世 死亡",
    "sunk": "sunk sunken sank sinks sink 沉没",
    "afloat": "afloat",
    "full": "full 满",
    "empty": "empty 空",
    "free": "free 自由",
    "captive": "captive imprisoned enslaved jailed 被囚 被俘",
    "inhabited": "inhabited",
    "abandoned": "abandoned deserted uninhabited 废弃",
    "married": "married 已婚",
    "unmarried": "unmarried 未婚",
    "lit": "lit",
    "unlit": "unlit extinguished 熄灭",
    "friendly": "friendly allied 友好",
    "hostile": "hostile 敌对",
    "male": "male 男",
    "female": "female 女",
    "asleep": "asleep 睡着",
    "awake": "awake 醒着",
    "visible": "visible",
    "invisible": "invisible",
    "mortal": "mortal",
    "immortal": "immortal",
}
_COLOURS = word_list(
    "black white red green blue yellow brown grey gray purple violet orange pink silver golden crimson scarlet"
)
_SAME_COLOUR = {"gray": "grey", "violet": "purple", "crimson": "red", "scarlet": "red"}
_GROUPS = (
    ("intact", "destroyed"), ("open", "closed", "destroyed"), ("alive", "dead"), ("afloat", "sunk"), ("full", "empty"),
    ("free", "captive"), ("inhabited", "abandoned"), ("married", "unmarried"), ("lit", "unlit"), ("friendly", "hostile"),
    ("male", "female"), ("asleep", "awake"), ("visible", "invisible"), ("mortal", "immortal"),
)  # fmt: skip
_EXCLUDED = {frozenset(pair) for group in _GROUPS for pair in combinations(group, 2)}
_WORDS = {word: state for state, words in _STATES.items() for word in words.split()} | {
    colour: _SAME_COLOUR.get(colour, colour) for colour in _COLOURS
}


def state_of(value: str) -> str | None:
    """The state that a value names, or None where it is anything else."""
    return _WORDS.get(re.sub(r"\s+", "-", fold(value.strip())))


def exclude(one: str, other: str) -> bool:
    """Whether two values are states of which only one can hold."""
    states = state_of(one), state_of(other)
    if states[0] is None or states[1] is None or states[0] == states[1]:
        return False
    return frozenset(states) in _EXCLUDED or (states[0] in _COLOURS and states[1] in _COLOURS)
