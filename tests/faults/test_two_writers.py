"""Two commands that write at the same time: one waits for the other, and both end well."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from canonry.catalog import Catalog
from canonry.layout import Layout
from tests.faults.harness import CAMPAIGN, Outcome, Zygote
from tests.faults.scenarios import CREATE, REINDEX
from tests.faults.state import rows_of


@pytest.fixture(scope="module")
def both(zygote: Zygote, tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Zygote, Zygote]]:
    """Two processes that fork commands."""
    second = Zygote(tmp_path_factory.mktemp("second"))
    yield zygote, second
    second.close()


@pytest.fixture
def at(tmp_path: Path, zygote: Zygote) -> Layout:
    assert zygote.run(("--data", str(tmp_path / "data"), *CREATE)).code == 0
    return Layout(tmp_path / "data", CAMPAIGN)


def at_once(both: tuple[Zygote, Zygote], at: Layout, *commands: tuple[str, ...]) -> list[Outcome]:
    """How each of the commands ended, the first started in the one process and the second in the other."""
    ended: list[Outcome | None] = [None] * len(commands)

    def run(number: int) -> None:
        ended[number] = both[number].run(("--data", str(at.root), *commands[number]))

    threads = [threading.Thread(target=run, args=(number,)) for number in range(len(commands))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return [outcome for outcome in ended if outcome is not None]


def names(at: Layout) -> list[str]:
    with closing(Catalog.open(at.catalog)) as catalog:
        return [source.original_filename for source in catalog.sources()]


def test_two_imports_of_one_file_make_one_source(both: tuple[Zygote, Zygote], at: Layout, tmp_path: Path) -> None:
    for number in range(5):
        file = tmp_path / f"lamp{number}.md"
        file.write_text(f"# Lamp {number}\n\nLamp number {number} stands here.\n")
        ended = at_once(both, at, ("import", str(file)), ("import", str(file)))
        assert [outcome.code for outcome in ended] == [0, 0], ended
        assert sorted("already here" in outcome.out for outcome in ended) == [False, True]
    assert names(at) == [f"lamp{number}.md" for number in range(5)]
    assert len(rows_of(at)["knowledge_source_version"]) == 5


def test_two_imports_of_one_text_under_two_names_make_one_source(
    both: tuple[Zygote, Zygote], at: Layout, tmp_path: Path
) -> None:
    files = [tmp_path / name for name in ("a.md", "b.md")]
    for file in files:
        file.write_text("# Lamp\n\nA lamp stands here.\n")
    ended = at_once(both, at, *(("import", str(file)) for file in files))
    assert sorted(outcome.code for outcome in ended) == [0, 1], ended
    assert "has the same content" in "".join(outcome.err for outcome in ended)
    assert len(names(at)) == 1


def test_a_deletion_and_a_reindex_at_once_leave_what_each_would(
    both: tuple[Zygote, Zygote], at: Layout, tmp_path: Path
) -> None:
    for name in ("a.md", "b.md"):
        (tmp_path / name).write_text(f"# Lamp\n\nThe lamp of {name} stands here.\n")
        assert both[0].run(("--data", str(at.root), "import", str(tmp_path / name))).code == 0
    ended = at_once(both, at, ("source", "delete", "a.md", "--yes"), (*REINDEX, "--full"))
    assert [outcome.code for outcome in ended] == [0, 0], ended
    assert names(at) == ["b.md"]
    assert not any(b"lamp of a.md" in path.read_bytes() for path in at.root.rglob("*") if path.is_file())
