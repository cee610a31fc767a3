from __future__ import annotations

import pytest

from canonry.errors import UsageError
from canonry.timestamps import parse_instant


@pytest.mark.parametrize(
    ("text", "instant"),
    [
        ("2026-03-01", "2026-03-01T23:59:59.999999+00:00"),
        ("2026-03-01T18:00", "2026-03-01T18:00:00.000000+00:00"),
        ("2026-03-01T18:00Z", "2026-03-01T18:00:00.000000+00:00"),
        ("2026-03-01T18:00+02:00", "2026-03-01T16:00:00.000000+00:00"),
        ("2026-03-01 18:00:00.5", "2026-03-01T18:00:00.500000+00:00"),
        ("20260301", "2026-03-01T23:59:59.999999+00:00"),
    ],
)
def test_an_instant_is_utc_and_a_date_is_its_end(text: str, instant: str) -> None:
    assert parse_instant(text) == instant


@pytest.mark.parametrize(
    "text", ["", "yesterday", "2026-13-01", "2026-02-30", "12", "0001-01-01T00:00+14:00", "9999-12-31T23:59-14:00"]
)
def test_what_is_no_date_is_wrong_usage(text: str) -> None:
    with pytest.raises(UsageError):
        parse_instant(text)
