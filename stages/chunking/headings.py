"""The text of a heading as a reader sees it: without marks, emphasis, links and tags."""

from __future__ import annotations

import html
import re

_PLAIN_CHARS = 1000  # markup in a longer heading is left as it is

_PUNCTUATION = "!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~"
_SHIFT = 0x10FF00  # a private plane: characters that are shielded from the rules below
_SHIELD = {ord(char): _SHIFT + ord(char) for char in _PUNCTUATION}
_UNSHIELD = {shielded: char for char, shielded in _SHIELD.items()}

_CODE = re.compile(r"(?<!`)(`+)(?!`)(.+?)(?<!`)\1(?!`)")
_ESCAPE = re.compile(r"\\([!-/:-@\[-`{-~])")
_COMMENT = re.compile(r"<!--.*?-->")
_AUTOLINK = re.compile(r"<((?:https?|mailto|ftp):[^<>\s]*)>")
_TAG = re.compile(r"</?[A-Za-z][^<>]*>")
_WIKI = re.compile(r"!?\[\[(?:[^\[\]|]*\|)?([^\[\]|]*)\]\]")
_TARGET = r"(?:\((?:[^()]|\([^()]*\))*\)|\[[^\[\]]*\])"
_IMAGE = re.compile(r"!\[([^\[\]]*)\]" + _TARGET)
_LINK = re.compile(r"\[([^\[\]]*)\]" + _TARGET)
_ATTRIBUTES = re.compile(r"\s*\{[#.][^{}]*\}\s*$")
_STARS = re.compile(r"(\*{1,3}|~~)(?=\S)(.+?)(?<=\S)\1")
_UNDERSCORES = re.compile(r"(?<!\w)(_{1,3})(?=\S)(.+?)(?<=\S)\1(?!\w)")


def clean_heading(title: str) -> str:
    """The readable text of a Markdown heading, on one line. The raw title when nothing readable is left of it."""
    raw = " ".join(title.split())
    if len(raw) > _PLAIN_CHARS or raw.isalnum():
        return raw
    text = _ESCAPE.sub(lambda match: match[1].translate(_SHIELD), _CODE.sub(_shielded_code, raw))
    text = _COMMENT.sub("", text)
    text = _AUTOLINK.sub(r"\1", text)
    text = _TAG.sub("", text)
    text = _WIKI.sub(r"\1", text)
    text = _LINK.sub(r"\1", _IMAGE.sub(r"\1", text))
    text = _ATTRIBUTES.sub("", text)
    for emphasis in (_STARS, _STARS, _UNDERSCORES, _UNDERSCORES):
        text = emphasis.sub(r"\2", text)
    text = html.unescape(text).translate(_UNSHIELD)
    return " ".join(text.split()) or raw


def _shielded_code(match: re.Match[str]) -> str:
    inner = match[2]
    if inner.startswith(" ") and inner.endswith(" ") and inner.strip():
        inner = inner[1:-1]
    return inner.translate(_SHIELD)
