"""Timestamps as the catalog writes them: ISO 8601 in UTC with microseconds, so that they sort as text."""

from __future__ import annotations

from datetime import UTC, datetime, time

from canonry.errors import UsageError


def now() -> str:
    """The present instant, as the catalog writes it."""
    return datetime.now(UTC).isoformat(timespec="microseconds")


def parse_instant(text: str) -> str:
    """A date or an instant as the catalog writes it; UTC where no zone is given, the end of the day for a date."""
    try:
        if "W" in text.upper():
            raise ValueError(text)
        instant = datetime.fromisoformat(text)
        if len(text) <= 10 and "T" not in text:
            instant = datetime.combine(instant.date(), time.max)
        instant = instant.replace(tzinfo=UTC) if instant.tzinfo is None else instant.astimezone(UTC)
    except (ValueError, OverflowError):
        raise UsageError(f"time {text!r} is not a date; write 2026-03-01 or 2026-03-01T18:00") from None
    return instant.isoformat(timespec="microseconds")
