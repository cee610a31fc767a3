"""The order of the stages. Prefect is imported in `flows.reindex` alone; what it must know beforehand is set here.

A configured Prefect server (PREFECT_API_URL) is used; otherwise a temporary one is started and stopped, without
telemetry, with its files in a folder of canonry's own (unless Prefect is set up for this user) and a quiet log.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from canonry.errors import CanonryError


def default_prefect_home() -> Path:
    """Where the temporary server keeps its database, apart from other users of Prefect."""
    cache = os.environ.get("XDG_CACHE_HOME") or os.environ.get("LOCALAPPDATA") or str(Path.home() / ".cache")
    return Path(cache) / "canonry" / "prefect"


os.environ.setdefault("DO_NOT_TRACK", "1")
os.environ.setdefault("PREFECT_SERVER_ANALYTICS_ENABLED", "false")
os.environ.setdefault("PREFECT_SERVER_EPHEMERAL_STARTUP_TIMEOUT_SECONDS", "180")
if (
    not ({"PREFECT_API_URL", "PREFECT_PROFILE"} & os.environ.keys())
    and not (Path.home() / ".prefect" / "profiles.toml").exists()
):
    os.environ.setdefault("PREFECT_HOME", str(default_prefect_home()))
os.environ.setdefault("PREFECT_LOGGING_LEVEL", "ERROR")
os.environ.setdefault("PREFECT_LOGGING_SERVER_LEVEL", "CRITICAL")
os.environ.setdefault("PREFECT_LOGGING_TO_API_WHEN_MISSING_FLOW", "ignore")


@contextmanager
def server_errors() -> Iterator[None]:
    """A flow whose temporary server did not start, in a line that says what to do."""
    try:
        yield
    except RuntimeError as error:
        if "ephemeral" not in str(error):
            raise
        raise CanonryError(
            "Prefect's temporary server did not start; repeat the command with --in-process, or start a server and set PREFECT_API_URL"
        ) from error
