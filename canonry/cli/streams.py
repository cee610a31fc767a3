"""Standard output and error of the `canonry` command, which may be a pipe that its reader closes early (`| head`)."""

from __future__ import annotations

import io
import os
from typing import TYPE_CHECKING, TextIO

if TYPE_CHECKING:
    from _typeshed import ReadableBuffer


class _Pipe(io.FileIO):
    """A file descriptor that swallows what is written after its reader has gone, so that the command goes on to its end."""

    def write(self, data: ReadableBuffer, /) -> int:
        try:
            return super().write(data)
        except BrokenPipeError:
            nothing = os.open(os.devnull, os.O_WRONLY)
            os.dup2(nothing, self.fileno())
            os.close(nothing)
            return super().write(data)


def unbroken(stream: TextIO) -> TextIO:
    """The same stream, but that a closed pipe is no error of the command; what is no file of the system's stays as it is."""
    if not isinstance(stream, io.TextIOWrapper) or not isinstance(
        getattr(stream.buffer, "raw", stream.buffer), io.FileIO
    ):
        return stream
    stream.flush()
    return io.TextIOWrapper(
        io.BufferedWriter(_Pipe(stream.fileno(), "w", closefd=False)),
        encoding=stream.encoding,
        errors=stream.errors,
        line_buffering=stream.line_buffering,
        write_through=stream.write_through,
    )
