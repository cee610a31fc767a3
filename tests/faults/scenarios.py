"""The commands that are disturbed: one line of the table each."""

from __future__ import annotations

from tests.faults.harness import CAMPAIGN, Scenario

CREATE = ("campaign", "create", CAMPAIGN, "--set", "embedder=wordbag")
IMPORT = ("import", "{lore}")
REINDEX = ("reindex", "--in-process")
FULL = (CREATE, IMPORT)
OTHER_CUT = ("campaign", "settings", CAMPAIGN, "--set", "chunk.target=10")
SUPERSEDED = (*FULL, ("lore", "second"), IMPORT)
EXPORT = "{lasting}/vell.zip"
GONE = ("campaign", "delete", CAMPAIGN, "--yes")
SOME_GONE = frozenset({0, 1, 3})
ONE_WAS_THERE = frozenset({0, 1})

SCENARIOS = (
    Scenario("create", CREATE, (), again=frozenset({0, 2})),
    Scenario("import first", IMPORT, (CREATE,), in_batches=True),
    Scenario("import second", IMPORT, FULL, lore="second", in_batches=True),
    Scenario("reindex what is stale", REINDEX, (*FULL, OTHER_CUT)),
    Scenario("reindex other vectors", (*REINDEX, "--embedder", "bagofwords"), FULL),
    Scenario("reindex in full", (*REINDEX, "--full"), FULL),
    Scenario("source delete", ("source", "delete", "dredger.md", "--yes"), FULL, again=ONE_WAS_THERE, then=REINDEX),
    Scenario("source edit", ("source", "edit", "ember.md", "--class", "canon", "--spoiler-level", "3"), FULL),
    Scenario("source disable", ("source", "disable", "ember.md"), FULL),
    Scenario("campaign delete", GONE, FULL, again=ONE_WAS_THERE),
    Scenario("pack", ("pack", "ember of part 2"), FULL, unlike=frozenset({"knowledge_retrieval_record"})),
    Scenario("question of an earlier time", ("query", "anvil", "--as-of", "{then}"), SUPERSEDED, lore="second"),
    Scenario("refresh", ("refresh",), FULL, lore="second", in_batches=True, codes=SOME_GONE, again=SOME_GONE),
    Scenario("export", ("export", "{out}/vell.zip", "--force"), FULL),
    Scenario(
        "restore", ("restore", EXPORT), (*FULL, ("export", EXPORT, "--force"), GONE),
        again=frozenset({0, 2}), then=REINDEX, index_later=True,
    ),
    Scenario("upgrade", ("query", "sluice key"), (), fixture="data-v1"),
)  # fmt: skip
