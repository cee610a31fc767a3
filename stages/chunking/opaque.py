"""Embedded binary data in a text: the payload of a base64 data URI, which no reader can read and no search finds."""

from __future__ import annotations

import re

MIN_PAYLOAD_CHARS = 64

_HEAD = re.compile(r"data:[\w.+/-]{0,100}(?:;[\w.+=-]{1,60}){0,4};base64,\Z", re.IGNORECASE | re.ASCII)
_HEAD_CHARS = 400
_START = re.compile(r";base64,", re.IGNORECASE)
_DIGITS = r"[A-Za-z0-9+/_-]"
_PAYLOAD = re.compile(
    rf"(?:{_DIGITS}|%[0-9A-Fa-f]{{2}}){{{MIN_PAYLOAD_CHARS},}}+={{0,2}}+"
    rf"(?:(?:\r\n?|\n)[ \t]*{_DIGITS}{{40,}}+={{0,2}}+)*+"
    rf"(?:(?:\r\n?|\n)[ \t]*{_DIGITS}+(?:={{1,2}}+|(?=[)\"'>])))?"
)


def find_payloads(text: str) -> list[tuple[int, int]]:
    """The character spans of the payloads, in order."""
    spans: list[tuple[int, int]] = []
    start = _START.search(text)
    while start:
        at = start.end()
        head = text[max(0, at - _HEAD_CHARS) : at]
        payload = _PAYLOAD.match(text, at) if _is_data_uri(head) else None
        if payload:
            spans.append(payload.span())
            at = payload.end()
        start = _START.search(text, at)
    return spans


def _is_data_uri(head: str) -> bool:
    begin = head.lower().rfind("data:")
    return begin >= 0 and _HEAD.match(head, begin) is not None
