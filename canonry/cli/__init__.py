"""The `canonry` command: parse, call the library, print. Nothing heavy is imported before a command needs it."""

from __future__ import annotations

import os
import sqlite3
import sys
from collections.abc import Sequence

from canonry.cli.parser import parse
from canonry.errors import CanonryError

INTERRUPTED = 130


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command; returns its exit code: 0 done, 1 failed, 2 wrong usage, 3 done but degraded, 130 interrupted."""
    given = parse(arguments)
    try:
        code = given.run(given)
        sys.stdout.flush()
        return int(code or 0)
    except CanonryError as error:
        return _complain(str(error), error.exit_code, given)
    except KeyboardInterrupt:
        return _complain(
            "interrupted; what was done so far is kept, and the next run goes on from there", INTERRUPTED, given
        )
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except (OSError, sqlite3.Error, MemoryError) as error:
        return _complain(f"{type(error).__name__}: {error}; run the command again with -vv to see where", 1, given)


def _complain(message: str, code: int, given: object) -> int:
    print(f"canonry: {message}", file=sys.stderr)
    if getattr(given, "verbose", 0) >= 2:
        import traceback

        traceback.print_exc()
    return code


def run() -> None:
    """The console script."""
    sys.exit(main())
