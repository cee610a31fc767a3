"""The MCP server as a process of its own, asked by the official client."""

from __future__ import annotations

import asyncio
import json
import os
import sys
from collections.abc import Awaitable, Callable
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from canonry.canonlog.save import Save, write_save
from canonry.catalog import Catalog
from canonry.contexts.item import Item
from canonry.contexts.journal import open_journal
from canonry.contexts.session import fold
from canonry.dump import dump_rows
from canonry.layout import Layout
from tests.canonry.contexts.conftest import BLOCKS, Stock, id_of
from tests.conftest import Workshop

mcp = pytest.importorskip("mcp", reason="mcp (canonry[mcp]) is not installed")


@pytest.fixture
def ask(at: Layout, tmp_path: Path) -> Callable[..., Any]:
    """What `work` makes of a client that is connected to `canonry mcp` with these arguments."""
    (tmp_path / "blocks.json").write_text(json.dumps(BLOCKS))

    def ask(work: Callable[[Any], Awaitable[Any]], *arguments: str | Path) -> Any:
        async def run() -> Any:
            given = ["-m", "canonry", "mcp", "--data", at.root, "--blocks", tmp_path / "blocks.json", *arguments]
            server = mcp.StdioServerParameters(command=sys.executable, args=[*map(str, given)], env={**os.environ})
            async with mcp.Client(server) as client:
                return await work(client)

        return asyncio.run(run())

    return ask


async def names(client: Any) -> list[str]:
    return [tool.name for tool in (await client.list_tools()).tools]


def test_a_player_has_fewer_tools_than_a_narrator(ask: Any, game: Save, tmp_path: Path) -> None:
    write_save(tmp_path / "game.json", game)
    assert ask(names) == ["search", "fetch", "pack", "assemble"]
    narrator = ask(names, "--role", "narrator", "--save", tmp_path / "game.json", "--write")
    assert narrator == ["search", "fetch", "pack", "assemble", "state", "inspect", "why", "remember"]


def test_a_player_finds_reads_and_assembles(ask: Any, at: Layout) -> None:
    before = rows(at)

    async def work(client: Any) -> None:
        found = (await client.call_tool("search", {"query": "gatekeeper"})).structured_content["candidates"]
        read = (await client.call_tool("fetch", {"ids": [found[0]["id"]]})).structured_content["items"]
        assert read[0]["text"].endswith("The gatekeeper sleeps at noon.")
        made = (await client.call_tool("assemble", {"items": [found[0]["id"]], "working": 500})).structured_content
        assert "gatekeeper sleeps" in made["text"]
        pack = await client.call_tool("pack", {"query": "gatekeeper", "budget": 500})
        assert "gatekeeper sleeps" in pack.structured_content["text"]
        assert json.loads(pack.content[0].text) == pack.structured_content
        assert all(tool.annotations.read_only_hint for tool in (await client.list_tools()).tools)

    ask(work)
    assert rows(at) == before
    assert not at.sessions.exists()


def test_what_is_put_together_is_what_was_read_and_holds_what_is_required(
    ask: Any, stock: Stock, workshop: Workshop, at: Layout
) -> None:
    lamp, gate, cellar = (id_of(stock("narrator"), word) for word in ("whale oil", "gatekeeper", "CELLARWORD"))

    async def assemble(client: Any, **arguments: Any) -> dict[str, Any]:
        answer = await client.call_tool("assemble", arguments)
        assert answer.is_error == ("error" in answer.structured_content)
        return dict(answer.structured_content)

    async def work(client: Any) -> None:
        (read,) = (await client.call_tool("fetch", {"ids": [lamp]})).structured_content["items"]
        ref = {key: read[key] for key in ("id", "fingerprint", "source_id")}
        made = await assemble(client, items=[ref, gate], required=[ref])
        assert [item["id"] for item in made["hot"]] == [lamp, "block:style"]
        stale = await assemble(client, items=[{"id": lamp, "fingerprint": "0" * 32}])
        assert (stale["error"], stale["ids"]) == ("StaleReference", [lamp])
        lacking = await assemble(client, items=[gate], required=[lamp])
        assert (lacking["error"], lacking["ids"]) == ("MissingEvidence", [lamp])
        told = [await assemble(client, items=[gate], required=[id_]) for id_ in (cellar, "block:gold", "nowhere")]
        assert {(one["error"], one["message"].replace(one["ids"][0], "?")) for one in told} == {
            ("MissingEvidence", "'?': not there for player at spoiler level 0; search shows what is")
        }
        assert (await assemble(client, items=[{"id": lamp, "score": 1}]))["error"] == "MalformedCall"
        workshop.bring(at, workshop.write("town.md", "---\nclass: canon\n---\n# Lamp\n\nThe lamp burns tallow.\n"))
        changed = await assemble(client, items=[ref])
        assert (changed["error"], changed["ids"]) == ("StaleReference", [lamp])

    ask(work)


def test_a_pack_says_what_it_left_out_and_why_of_what_the_role_may_see(
    ask: Any, workshop: Workshop, at: Layout
) -> None:
    long = "The lamp needs trimming each night, and again before dawn. " * 60
    secret = f"# Lamp of SECRETNAME {{visibility=hidden}}\n\n{long}\n"
    workshop.bring(at, workshop.write("long.md", f"---\nclass: canon\n---\n# Long lamp\n\n{long}\n\n{secret}"))

    async def work(client: Any) -> dict[str, Any]:
        return dict((await client.call_tool("pack", {"query": "lamp", "budget": 300})).structured_content)

    made = ask(work)
    assert [item["title"] for item in made["items"]] == ["town > Lamp"]
    assert {tuple(one) for one in made["left"]} == {("id", "title", "reason")}
    assert {one["title"] for one in made["left"]} == {"long > Long lamp"}
    assert {one["reason"] for one in made["left"]} == {"over the whole budget"}
    assert made["left_more"] == 0
    assert "SECRETNAME" not in json.dumps(made)
    assert "SECRETNAME" in json.dumps(ask(work, "--role", "narrator")["left"])


def rows(at: Layout) -> list[bytes]:
    with closing(Catalog.open(at.catalog)) as catalog:
        return [*dump_rows(catalog)]


def test_nothing_that_a_client_says_lets_it_see_more(ask: Any, stock: Stock) -> None:
    cellar = id_of(stock("narrator"), "CELLARWORD")
    attempts: list[tuple[str, Any]] = [
        ("search", {"query": "CELLARWORD", "role": "narrator"}), ("search", {"query": "x", "spoiler_level": 9}),
        ("search", {}), ("search", {"query": 7}), ("inspect", {"role": "narrator"}), ("why", {}), ("state", {}), ("remember", {}),
        ("fetch", {"ids": [cellar]}), ("fetch", {"ids": ["block:gold"]}), ("assemble", {"items": [cellar]}), ("drop", {}),
    ]  # fmt: skip

    async def work(client: Any) -> list[Any]:
        return [await client.call_tool(name, arguments) for name, arguments in attempts]

    answers = ask(work)
    assert all(answer.is_error for answer in answers)
    kinds = [answer.structured_content["error"] for answer in answers]
    assert kinds == [*["MalformedCall"] * 8, *["MissingEvidence"] * 3, "MalformedCall"]
    assert "CELLARWORD" not in "".join(answer.content[0].text for answer in answers)


def test_an_item_of_another_campaign_is_not_there(ask: Any, foreign: Item) -> None:
    whole = {"id": foreign.id, "fingerprint": foreign.fingerprint, "source_id": foreign.source_id}
    pairs: list[tuple[str, Any, Any]] = [
        ("fetch", {"ids": [foreign.id]}, {"ids": ["nowhere"]}), ("assemble", {"items": [whole]}, {"items": ["nowhere"]}),
        ("remember", {"text": "x", "ids": [foreign.id]}, {"text": "x", "ids": ["nowhere"]}),
        (
            "why", {"chunk_id": foreign.id, "query": "x", "role": "player"},
            {"chunk_id": "nowhere", "query": "x", "role": "player"},
        ),
    ]  # fmt: skip

    async def work(client: Any) -> None:
        for name, known, unknown in pairs:
            told = []
            for arguments, id_ in ((known, foreign.id), (unknown, "nowhere")):
                answer = await client.call_tool(name, arguments)
                assert answer.is_error
                assert (answer.structured_content["error"], answer.structured_content["ids"]) == (
                    "MissingEvidence",
                    [id_],
                )
                told.append(answer.content[0].text.replace(id_, "?"))
            assert told[0] == told[1], name
            assert not [word for word in ("FOREIGNWORD", "uildhall", "othercampaign") if word in told[0]]
        found = await client.call_tool("search", {"query": "FOREIGNWORD guildhall"})
        assert found.structured_content["candidates"] == []

    ask(work, "-c", "vell", "--role", "narrator", "--write")


def test_a_narrator_looks_at_other_roles_within_its_own_sight(ask: Any, stock: Stock) -> None:
    cellar, end = id_of(stock("narrator"), "CELLARWORD"), id_of(stock("narrator", spoiler_level=9), "ENDWORD")

    async def work(client: Any) -> None:
        seen = (await client.call_tool("inspect", {"role": "simulation", "spoiler_level": 9})).structured_content[
            "items"
        ]
        ids = {item["id"] for item in seen}
        assert "block:plan" in ids
        assert not ids & {"block:sim", end, cellar}
        assert "text" not in seen[0]
        told = await client.call_tool("why", {"chunk_id": cellar, "query": "cellar", "role": "player"})
        assert "hidden" in told.structured_content["reason"]
        for id_ in (end, "nowhere"):
            told = await client.call_tool("why", {"chunk_id": id_, "query": "end", "role": "player"})
            assert told.structured_content["error"] == "MissingEvidence"
        assert (await client.call_tool("inspect", {"role": "Bad Role"})).structured_content["error"] == "UsageError"

    ask(work, "--role", "narrator")


def test_notes_are_kept_only_where_writing_was_asked_for(ask: Any, stock: Stock) -> None:
    lamp = id_of(stock("writer"), "whale oil")

    async def work(client: Any) -> Any:
        return await client.call_tool("remember", {"text": "NOTEWORD", "ids": [lamp]})

    async def work_and_read(client: Any) -> Any:
        assert (await work(client)).structured_content == {"id": "memory:1"}
        return (await client.call_tool("fetch", {"ids": ["memory:1"]})).structured_content["items"][0]

    assert ask(work, "--role", "writer").is_error
    read = ask(work_and_read, "--role", "writer", "--write")
    assert (read["text"], read["derived"]) == ("NOTEWORD", True)


def test_a_game_that_goes_on_is_read_again(ask: Any, game: Save, tmp_path: Path) -> None:
    path = tmp_path / "game.json"
    write_save(path, game)

    async def where(client: Any) -> str:
        items = (await client.call_tool("state", {})).structured_content["items"]
        return next(str(item["text"]) for item in items if item["id"] == "log:location")

    async def work(client: Any) -> None:
        assert await where(client) == "Mother Keddle's pawnshop"
        write_save(path, replace(game, log=replace(game.log, location=replace(game.log.location, name="the Quay"))))
        assert await where(client) == "the Quay"
        path.unlink()
        assert (await client.call_tool("state", {})).structured_content["error"] == "NotFound"

    ask(work, "--save", path)


def test_a_session_is_driven_kept_and_gone_on_with(ask: Any, stock: Stock, at: Layout, tmp_path: Path) -> None:
    (tmp_path / "task.json").write_text(json.dumps({"task": "Write.", "role": "writer", "budget": {"calls": 4}}))

    async def begin(client: Any) -> str:
        assert await names(client) == ["task", "search", "fetch", "select", "stop"]
        task = (await client.call_tool("task", {})).structured_content
        assert task["left"]["calls"] == 4
        refused = await client.call_tool("search", {"query": "lamp", "role": "narrator"})
        assert (refused.is_error, refused.structured_content["left"]["calls"]) == (True, 3)
        assert (await client.call_tool("select", {"items": ["block:plan"]})).structured_content["ok"]
        return str(task["session"])

    session = ask(begin, "--task", tmp_path / "task.json")
    with open_journal(at) as journal:
        assert [ref.id for ref in fold(journal.events(session)).selected] == ["block:plan"]

    async def end(client: Any) -> Any:
        (stale,) = (await client.call_tool("task", {})).structured_content["stale"]
        assert (stale["id"], stale["error"]) == (lamp, "StaleReference")
        return (await client.call_tool("stop", {})).structured_content

    (tmp_path / "blocks.json").unlink()
    with open_journal(at, write=True) as journal:
        lamp, last = id_of(stock("writer"), "whale oil"), len(journal.events(session))
        refs = [{"id": "block:plan"}, {"id": lamp, "fingerprint": "0" * 32}]
        journal.append(session, last + 1, "select", {"selected": refs})
    again = ["-m", "canonry", "mcp", "--data", str(at.root), "--session", session]

    async def run() -> Any:
        async with mcp.Client(
            mcp.StdioServerParameters(command=sys.executable, args=again, env={**os.environ})
        ) as client:
            return await end(client)

    assert "PLANWORD" in asyncio.run(run())["assembly"]["text"]
