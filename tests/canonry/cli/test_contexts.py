from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from canonry.layout import Layout
from tests.conftest import Workshop, built_once

Run = Callable[..., tuple[int, str, str]]

BLOCKS = [
    {"id": "gold", "kind": "answer_key", "text": "GOLDWORD did it."},
    {"id": "style", "text": "Present tense.", "pinned": True},
]


@built_once
def at(workshop: Workshop) -> Layout:
    at = workshop.create()
    workshop.write(
        "town.md", "---\nclass: canon\n---\n# Lamp\n\nThe lamp burns.\n\n# Cellar {visibility=hidden}\n\nCELLARWORD.\n"
    )
    workshop.bring(at, workshop.root / "lore")
    return at


@pytest.fixture
def run(workshop: Workshop, at: Layout, run_cli: Run) -> Run:
    """`canonry context …` over a campaign of two passages, with the blocks."""
    (workshop.root / "blocks.json").write_text(json.dumps(BLOCKS))

    def run(*arguments: str | Path) -> tuple[int, str, str]:
        return run_cli("context", *arguments, "--data", workshop.data, "--blocks", workshop.root / "blocks.json")

    return run


def write(workshop: Workshop, said: object) -> Path:
    path = workshop.root / "selection.json"
    path.write_text(json.dumps(said))
    return path


def test_the_items_of_a_role_are_listed_and_none_is_called_relevant(run: Run) -> None:
    code, out, err = run("inspect", "--role", "writer")
    assert (code, "block:style" in out, "block:gold" in out) == (0, True, False)
    assert "2 items for writer. None is called relevant" in err
    items = json.loads(run("inspect", "--role", "writer", "--json", "--text")[1])["items"]
    assert items[0]["id"] == "block:style"
    assert not {key for item in items for key in item if "score" in key or "relevan" in key}


def test_only_eyes_that_may_see_everything_are_told_what_is_withheld(run: Run) -> None:
    assert "withheld" not in json.loads(run("inspect", "--json")[1])
    told = json.loads(run("inspect", "--json", "--as", "narrator")[1])["withheld"]
    assert {"block:gold"} < {item["id"] for item in told}
    assert "CELLARWORD" not in json.dumps(told)


def test_who_else_is_given_lore_and_which_rule_withholds_it_is_for_the_narrator(
    run: Run, workshop: Workshop, at: Layout
) -> None:
    said = "allowed_roles: [narrator, 'npc:mara', 'npc:secretname']\nknown_by: [mara, secretname]\nknown_from: 2"
    path = workshop.write("oath.md", f"---\n{said}\n---\n# Oath\n\nOATHWORD.\n")
    workshop.bring(at, path)
    mara = ("--role", "npc:mara", "--story-time", "2", "--json")

    def oath(*arguments: str) -> dict[str, object]:
        items = json.loads(run("inspect", "--text", *arguments)[1])["items"]
        return next(item for item in items if "OATHWORD" in item["text"])

    everything = oath(*mara, "--as", "narrator")
    assert everything["roles"] == ["narrator", "npc:mara", "npc:secretname"]
    assert (everything["known_by"], everything["known_from"]) == (["mara", "secretname"], 2)
    own = oath(*mara)
    assert (own["roles"], own["known_by"], own["known_from"]) == (["npc:mara"], ["mara"], 2)
    assert oath("--role", "narrator", "--json") == everything
    for arguments in (("inspect", *mara), ("inspect", *mara[:2], "--json"), ("inspect", "--json"), ("inspect",)):
        assert not [word for word in ("secretname", "hidden, for", "perspective") if word in str(run(*arguments))]
    code, out, err = run("assemble", write(workshop, [everything["id"]]), *mara)
    assert (code, "OATHWORD" in out, "secretname" in out + err) == (0, True, False)
    code, out, err = run("inspect", "--as", "narrator")
    assert "withheld: " in err
    assert "visibility: is hidden: for the narrator alone" in err
    assert "role: its source" in err


def test_a_selection_is_printed_for_a_prompt(run: Run, workshop: Workshop) -> None:
    lamp = json.loads(run("inspect", "--json")[1])["items"][1]
    selection = write(workshop, {"selected": [{"id": lamp["id"], "fingerprint": lamp["fingerprint"]}]})
    code, out, err = run("assemble", selection)
    assert (code, "> The lamp burns." in out) == (0, True)
    assert "1 hot and 1 working of 2 items" in err
    code, _, err = run("assemble", selection, "--working", "0")
    assert (code, "left out:" in err) == (3, True)


def test_a_failure_has_a_type_and_names_its_ids(run: Run, workshop: Workshop) -> None:
    code, out, err = run("assemble", write(workshop, ["block:gold"]), "--json")
    assert code == 1
    assert (json.loads(out)["error"], json.loads(out)["ids"]) == ("MissingEvidence", ["block:gold"])
    assert "answer_key" not in out + err
    code, out, _ = run("assemble", write(workshop, ["block:gold"]), "--json", "--as", "narrator")
    assert json.loads(out)["error"] == "ForbiddenRole"
    code, out, err = run("assemble", write(workshop, []), "--hot", "3")
    assert (code, "the hot budget of 3 is" in err) == (1, True)


@pytest.mark.parametrize(
    ("said", "problem"),
    [
        ({"chosen": []}, "is neither selected nor required"),
        ({"selected": "all"}, "is no list of at most"),
        ({"selected": [3]}, "is neither an id nor an object"),
        ({"selected": [{"id": "a", "score": 1}]}, "says how relevant"),
        ({"selected": [{"id": "a", "text": "x"}]}, "is none of id, fingerprint"),
        ({"selected": [{"id": ""}]}, "is no text"),
        (7, "is no selection"),
    ],
)
def test_a_selection_that_cannot_be_read_is_refused_with_its_place(
    run: Run, workshop: Workshop, said: object, problem: str
) -> None:
    code, _, err = run("assemble", write(workshop, said))
    assert (code, problem in err) == (1, True)


def test_wrong_options_are_wrong_usage(run: Run, workshop: Workshop) -> None:
    assert run("inspect", "--origin", "rumour")[0] == 2
    assert run("inspect", "--role", "Bad Role")[0] == 2
    assert run("assemble", write(workshop, []), "--hot", "-1")[0] == 2
    assert run("inspect", "--story-time", "-1")[0] == 2
    assert run("assemble", "nowhere.json")[0] == 1
