"""What the tests share: a campaign in a temporary folder, made of real files."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import pytest

import canonry
from canonry import proposals
from canonry.catalog import Catalog
from canonry.layout import Layout
from canonry.locking import writing
from flows.import_files import Choices, import_files
from flows.import_report import ImportReport
from stages.select import select_files
from tests.servers import Standin, standin

FIXTURES = Path(__file__).parent / "fixtures"


@pytest.fixture(scope="session", autouse=True)
def cache(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A cache of the tests' own, for their subprocesses too."""
    with pytest.MonkeyPatch.context() as patch:
        folder = tmp_path_factory.mktemp("cache")
        patch.setenv("CANONRY_CACHE", str(folder))
        yield folder


@pytest.fixture
def fixtures() -> Path:
    """The folder of the small corpora that we wrote."""
    return FIXTURES


class Workshop:
    """A data directory under construction: create campaigns, write files, import them, ask."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.data = root / "data"
        self._open: list[canonry.Campaign] = []

    def create(self, campaign: str = "vell", **settings: str) -> Layout:
        """A new campaign without an embedder; settings by name with `_` for the first `.` (chunk_target="40")."""
        at = Layout(self.data, campaign)
        catalog = Catalog.create(at.catalog, campaign)
        catalog.set_settings(
            {"embedder": "none"}
            | {re.sub("^(chunk|embed|judge)_", r"\1.", key): value for key, value in settings.items()}
        )
        catalog.close()
        return at

    def write(self, name: str, text: str | bytes) -> Path:
        """A file under the workshop's own folder `lore`; returns its path."""
        path = self.root / "lore" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text if isinstance(text, bytes) else text.encode("utf-8"))
        return path

    def bring(
        self, at: Layout, *paths: Path, decide: str = "refuse", encoding: str | None = None, **options: object
    ) -> ImportReport:
        """Import files or folders; options as in front matter (`class_` for class)."""
        stated = {key.rstrip("_"): value for key, value in options.items()}
        with writing(at):
            return import_files(at, select_files(paths), Choices(stated, encoding, lambda name, twin: decide))

    def ask(self, at: Layout) -> canonry.Campaign:
        """The campaign, open for questions; closed when the test ends."""
        campaign = canonry.open(at.root).campaign(at.campaign)
        self._open.append(campaign)
        return campaign

    def close(self) -> None:
        for campaign in self._open:
            campaign.close()


def set_lock(at: Layout, source_id: str, locked: bool = True) -> None:
    """Lock a source, or unlock it."""
    with writing(at), closing(Catalog.open(at.catalog, write=True)) as catalog:
        proposals.set_locked(catalog.connection, source_id, locked)


@pytest.fixture
def workshop(tmp_path: Path) -> Iterator[Workshop]:
    """A data directory that a test fills."""
    workshop = Workshop(tmp_path)
    yield workshop
    workshop.close()


@pytest.fixture
def run_cli(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Callable[..., tuple[int, str, str]]:
    """Run `canonry` in this process: (exit code, standard output, standard error)."""
    from canonry.cli import main

    monkeypatch.delenv("CANONRY_DATA", raising=False)
    monkeypatch.delenv("CANONRY_CAMPAIGN", raising=False)
    monkeypatch.setenv("COLUMNS", "160")  # a terminal of one width, wherever the tests run

    def run(*arguments: str | Path) -> tuple[int, str, str]:
        try:
            code = main([str(argument) for argument in arguments])
        except SystemExit as stop:
            code = stop.code if isinstance(stop.code, int) else 1
        captured = capsys.readouterr()
        return code, captured.out, captured.err

    return run


@pytest.fixture
def server() -> Iterator[Standin]:
    """An embedding server on loopback."""
    with standin() as server:
        yield server
