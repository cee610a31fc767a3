"""The `canonry` command: parse, call the library, print. Nothing heavy is imported before a command needs it."""

from __future__ import annotations

import argparse
import io
import sqlite3
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from canonry.cli.parser import parse
from canonry.cli.show import printable
from canonry.cli.streams import unbroken
from canonry.database import plain_errors
from canonry.errors import CanonryError, UsageError
from canonry.files import room_for

INTERRUPTED = 130


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command; returns its exit code: 0 done, 1 failed, 2 wrong usage, 3 done but degraded, 130 interrupted."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
    given = parse(arguments)
    try:
        _check_unicode(given)
        with _plain(given):
            code = given.run(given)
        sys.stdout.flush()
        return int(code or 0)
    except CanonryError as error:
        return _complain(str(error), error.exit_code, given)
    except KeyboardInterrupt:
        return _complain(
            "interrupted; what was done so far is kept, and the next run goes on from there", INTERRUPTED, given
        )
    except (OSError, sqlite3.Error, MemoryError) as error:
        return _complain(f"{type(error).__name__}: {error}; run the command again with -vv to see where", 1, given)


@contextmanager
def _plain(given: argparse.Namespace) -> Iterator[None]:
    """A full disk and a damaged database in one line, wherever a command meets them."""
    data = given.data or Path("data")
    try:
        with plain_errors(data, "`canonry reindex --full` makes what is derived anew"):
            yield
    except OSError as error:
        with room_for(Path(error.filename) if isinstance(error.filename, str) else data):
            raise


def _check_unicode(given: argparse.Namespace) -> None:
    """Refuse arguments with bytes that are no text; file names have their own message."""
    for name, value in vars(given).items():
        for text in value if isinstance(value, tuple) else (value,):
            if isinstance(text, str) and any("\ud800" <= char <= "\udfff" for char in text):
                raise UsageError(f"{name.rstrip('_')} {text!a} is not valid Unicode; type it again")


def _complain(message: str, code: int, given: object) -> int:
    print(f"canonry: {printable(message)}", file=sys.stderr)
    if getattr(given, "verbose", 0) >= 2:
        import traceback

        traceback.print_exc()
    return code


def run() -> None:
    """The console script. A reader that goes early, as `head` does, changes nothing of what is done, nor the exit code."""
    sys.stdout, sys.stderr = unbroken(sys.stdout), unbroken(sys.stderr)
    sys.exit(main())
