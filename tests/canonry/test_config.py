from __future__ import annotations

import pytest

from canonry.config import ChunkSettings, Settings
from canonry.errors import UsageError


def test_without_any_setting_the_defaults_hold() -> None:
    assert Settings.parse({}) == Settings()


def test_settings_are_read_back_as_they_are_written() -> None:
    settings = Settings.parse(
        {
            "embedder": "static",
            "mode": "hybrid",
            "chunk.target": "300",
            "max_file_bytes": "1000",
            "fusion.method": "convex",
            "fusion.alpha": "0.45",
        }
    )
    assert Settings.parse(settings.as_text()) == settings


@pytest.mark.parametrize("target", [1, 2, 3, 7, 300, 480, 60_000])
def test_the_other_sizes_follow_the_target(target: int) -> None:
    sizes = Settings.parse({"chunk.target": str(target)}).chunk
    assert sizes == ChunkSettings.for_target(target)
    assert 1 <= sizes.min_tokens <= target <= sizes.max_tokens
    assert sizes.overlap_tokens <= target / 2


def test_a_size_that_is_set_stays_beside_a_new_target() -> None:
    sizes = Settings.parse({"chunk.target": "300", "chunk.max": "900", "chunk.overlap": "0"}).chunk
    assert (sizes.target_tokens, sizes.max_tokens, sizes.overlap_tokens) == (300, 900, 0)


def test_what_is_not_set_of_a_served_model_follows_the_model() -> None:
    assert Settings.parse({}).as_text()["embed.query_prefix"] == "auto"
    stored = {
        "embed.query_prefix": "",
        "embed.document_prefix": "auto",
        "embed.max_tokens": "auto",
        "embed.allow_remote": "True",
    }
    embed = Settings.parse(stored).embed
    assert (embed.query_prefix, embed.document_prefix, embed.max_tokens, embed.allow_remote) == ("", None, None, True)
    assert Settings.parse(Settings.parse(stored).as_text()).embed == embed


@pytest.mark.parametrize(
    "stored",
    [
        {"chunk.target": "0"}, {"chunk.target": "-5"}, {"chunk.target": "many"}, {"chunk.target": "4.5"}, {"chunk.target": ""},
        {"chunk.min": "0"}, {"chunk.min": "500"}, {"chunk.max": "100"}, {"chunk.max": "100001"}, {"chunk.overlap": "-1"},
        {"chunk.overlap": "241"}, {"chunk.min": "900", "chunk.max": "800"}, {"chunk.target": "9" * 5_000},
        {"max_file_bytes": "0"}, {"max_file_bytes": "-1"}, {"max_file_bytes": str((1 << 30) + 1)}, {"max_file_bytes": "1MB"},
        {"fusion.method": "magic"}, {"fusion.k": "0"}, {"fusion.k": "x"}, {"fusion.alpha": "1.1"}, {"fusion.weight": "-1"},
        {"fusion.weight": "nan"}, {"mode": "telepathy"}, {"mode": ""}, {"colour": "blue"}, {"chunk.colour": "blue"}, {"chunk": "5"},
        {"embed.batch": "0"}, {"embed.batch": "auto"}, {"embed.timeout": "0"}, {"embed.retries": "-1"}, {"embed.max_tokens": "31"},
        {"embed.dimensions": "7"}, {"embed.dimensions": "many"}, {"embed.encoding": "xml"}, {"embed.allow_remote": "maybe"},
        {"embed.colour": "blue"},
    ],
    ids=str,
)  # fmt: skip
def test_an_impossible_setting_is_refused_in_one_line(stored: dict[str, str]) -> None:
    with pytest.raises(UsageError) as caught:
        Settings.parse(stored)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    "setting",
    [
        "chunk.target=0",
        "chunk.overlap=9999",
        "embedder=gpt",
        "mode=x",
        "nonsense",
        "a=b",
        "max_file_bytes=none",
        "=",
        "embedder=",
    ],
)
def test_the_command_line_stores_no_impossible_setting(run_cli: object, tmp_path: object, setting: str) -> None:
    assert callable(run_cli)
    assert run_cli("campaign", "create", "vell", "--data", tmp_path, "--set", "embedder=none")[0] == 0
    before = run_cli("campaign", "settings", "vell", "--data", tmp_path, "--json")
    code, out, err = run_cli("campaign", "settings", "vell", "--data", tmp_path, "--set", setting)
    assert (code, out, len(err.splitlines())) == (2, "", 1)
    assert run_cli("campaign", "settings", "vell", "--data", tmp_path, "--json") == before
