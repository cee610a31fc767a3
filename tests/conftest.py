"""What the tests share: a campaign in a temporary folder, made of real files."""

from __future__ import annotations

import functools
import re
import shutil
import sqlite3
from collections.abc import Callable, Hashable, Iterator
from contextlib import closing
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from _pytest.fixtures import FixtureFunctionDefinition

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


class Kept:
    """Folders that many tests want alike: each is built once a process, and every test gets a copy of its own."""

    def __init__(self, factory: pytest.TempPathFactory) -> None:
        self._factory = factory
        self._made: dict[tuple[Hashable, ...], tuple[Path, object]] = {}

    def fill(self, folder: Path, build: Callable[..., object], *arguments: Hashable) -> object:
        """Leave in a folder what `build(folder, *arguments)` makes there; what it returned."""
        key = (build.__module__, build.__qualname__, *arguments)
        if key not in self._made:
            first = self._factory.mktemp("kept")
            self._made[key] = first, build(first, *arguments)
        original, returned = self._made[key]
        shutil.copytree(original, folder, dirs_exist_ok=True)
        for catalog in (folder / "data" / "raw").glob("*/catalog.sqlite"):
            _move_originals(catalog, str(original.resolve()), str(folder.resolve()))
        return returned


def _move_originals(catalog: Path, folder: str, to: str) -> None:
    """Let a catalog name the copies of the files that were read; its log stays, where a reader has left one."""
    log = catalog.with_name(catalog.name + "-wal")
    was_left = log.exists()
    with closing(sqlite3.connect(catalog)) as db, db:
        db.execute("PRAGMA synchronous = OFF")
        db.execute("UPDATE knowledge_source SET original_path = replace(original_path, ?, ?)", (folder, to))
    if was_left:
        log.touch()


@pytest.fixture(scope="session")
def kept(tmp_path_factory: pytest.TempPathFactory) -> Kept:
    return Kept(tmp_path_factory)


Once = Callable[..., None]


@pytest.fixture
def once(kept: Kept, tmp_path: Path) -> Once:
    """Leave in the test's folder what a function, given a folder, makes there: it is called once for all tests."""

    def fill(build: Callable[..., object], *arguments: Hashable) -> None:
        kept.fill(tmp_path, build, *arguments)

    return fill


class Workshop:
    """A data directory under construction: create campaigns, write files, import them, ask."""

    def __init__(self, root: Path, kept: Kept | None = None) -> None:
        self.root = root
        self.data = root / "data"
        self._kept = kept
        self._open: list[canonry.Campaign] = []

    def create(self, campaign: str = "vell", **settings: str) -> Layout:
        """A new campaign without an embedder; settings by name with `_` for the first `.` (chunk_target="40")."""
        at = Layout(self.data, campaign)
        named = {re.sub("^(chunk|embed|judge)_", r"\1.", key): value for key, value in settings.items()}
        at.catalog.parent.mkdir(parents=True, exist_ok=True)
        at.catalog.write_bytes(_new_catalog(campaign, frozenset(({"embedder": "none"} | named).items())))
        return at

    def once(self, build: Callable[..., Layout], *arguments: Hashable) -> Layout:
        """The campaign that `build(workshop, *arguments)` makes: it is called once for all tests, and each gets a copy."""

        def fill(folder: Path, build: Callable[..., Layout], *arguments: Hashable) -> str:
            with closing(Workshop(folder)) as first:
                return build(first, *arguments).campaign

        assert self._kept is not None
        return Layout(self.data, str(self._kept.fill(self.root, fill, build, *arguments)))

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


@functools.cache
def _new_catalog(campaign: str, settings: frozenset[tuple[str, str]]) -> bytes:
    """The file of a campaign that has nothing but its settings."""
    with TemporaryDirectory() as folder:
        path = Path(folder) / "catalog.sqlite"
        with closing(Catalog.create(path, campaign)) as catalog:
            catalog.set_settings(dict(settings))
        assert [entry.name for entry in Path(folder).iterdir()] == [path.name]  # and no log of writes beside it
        return path.read_bytes()


def built_once(build: Callable[[Workshop], Layout]) -> FixtureFunctionDefinition:
    """Makes a fixture of a function that makes a campaign in a workshop: `Workshop.once`, under the function's name."""

    @pytest.fixture(name=build.__name__)
    def copy(workshop: Workshop) -> Layout:
        return workshop.once(build)

    return copy


def set_lock(at: Layout, source_id: str, locked: bool = True) -> None:
    """Lock a source, or unlock it."""
    with writing(at), closing(Catalog.open(at.catalog, write=True)) as catalog:
        proposals.set_locked(catalog.connection, source_id, locked)


@pytest.fixture
def workshop(tmp_path: Path, kept: Kept) -> Iterator[Workshop]:
    """A data directory that a test fills."""
    workshop = Workshop(tmp_path, kept)
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
