"""A session driven over a pipe: one JSON object a line in, one a line out.

    → {"call": "search", "query": "who sleeps at the gate?"}
    ← {"ok": true, "call": "search", "candidates": […], "left": {"calls": 19, "tokens": 7480}}

The first line out says what the session is for and how its calls look. What cannot be read costs a call and is answered
as any other failure.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, BinaryIO

from canonry.canonlog.document import parse_document
from canonry.canonlog.problem import InvalidData
from canonry.contexts.failures import ContextFailure, MalformedCall
from canonry.contexts.session import Session

MOST_BYTES = 1 << 20
Write = Callable[[Mapping[str, object]], None]


def drive(session: Session, lines: BinaryIO, write: Write) -> None:
    """Answer line by line until the session is stopped or the lines end; then it can be resumed."""
    write({"ok": True, **session.opening()})
    while not session.state.stopped:
        line = lines.readline(MOST_BYTES + 1)
        if not line:
            return
        if line.strip():
            write(_answer(session, line, lines))


def _answer(session: Session, line: bytes, lines: BinaryIO) -> dict[str, object]:
    try:
        name, arguments = _read(line, lines)
    except ContextFailure as failure:
        return session.refuse(failure)
    return session.call(name, arguments)


def _read(line: bytes, lines: BinaryIO) -> tuple[Any, dict[str, Any]]:
    if len(line) > MOST_BYTES:
        while line and not line.endswith(b"\n"):
            line = lines.readline(MOST_BYTES)
        raise MalformedCall(f"a line of more than {MOST_BYTES:,} bytes; send less at once")
    try:
        said = parse_document(line, "line")
    except InvalidData as invalid:
        raise MalformedCall(f"{invalid}; send one JSON object a line") from None
    if not isinstance(said, dict) or "call" not in said:
        raise MalformedCall('line: names no call; send {"call": "search", "query": "…"}')
    return said["call"], {key: value for key, value in said.items() if key != "call"}
