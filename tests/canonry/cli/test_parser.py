from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator
from importlib import import_module

import pytest

from canonry.cli.parser import build_parser, parse


def commands(
    parser: argparse.ArgumentParser, names: tuple[str, ...] = ()
) -> Iterator[tuple[tuple[str, ...], argparse.ArgumentParser]]:
    """Every command and group below a parser, with the words that call it."""
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            for name, below in action.choices.items():
                yield (*names, name), below
                yield from commands(below, (*names, name))


ALL = dict(commands(build_parser()))
RUNNABLE = {names: parser for names, parser in ALL.items() if parser.get_default("run")}
DESIGNED = """
    demo|campaign create|campaign list|campaign show|campaign delete|import|reindex|status|source list|source show|source text|source chunks|
    source edit|source enable|source disable|source delete|source history|query|
    why|pack|history list|history show|correct|conflicts|export|restore|verify|doctor
""".replace("\n", "").split("|")


@pytest.mark.parametrize("command", [" ".join(words.split()) for words in DESIGNED])
def test_the_commands_of_the_design_exist(command: str) -> None:
    assert tuple(command.split()) in RUNNABLE


@pytest.mark.parametrize("names", [(), *ALL], ids=" ".join)
def test_every_command_has_a_help_that_names_every_option(
    names: tuple[str, ...], run_cli: Callable[..., tuple[int, str, str]]
) -> None:
    code, out, err = run_cli(*names, "--help")
    assert (code, err) == (0, "")
    assert out.startswith(f"usage: canonry {' '.join(names)}".strip())
    parser = ALL.get(names, build_parser())
    for action in parser._actions:
        assert all(option in out for option in action.option_strings)


@pytest.mark.parametrize("names", RUNNABLE, ids=" ".join)
def test_every_command_says_what_it_does_and_every_option_of_a_query_what_it_means(names: tuple[str, ...]) -> None:
    parser = RUNNABLE[names]
    assert parser.description
    if names == ("query",):
        assert all(action.help for action in parser._actions if action.dest not in ("limit",))


@pytest.mark.parametrize("names", RUNNABLE, ids=" ".join)
def test_every_command_has_the_global_options(names: tuple[str, ...]) -> None:
    options = {option for action in RUNNABLE[names]._actions for option in action.option_strings}
    assert {"--data", "--json", "-q", "--quiet", "-v", "--verbose"} <= options


@pytest.mark.parametrize("names", RUNNABLE, ids=" ".join)
def test_every_command_leads_to_a_function_that_is_there(names: tuple[str, ...]) -> None:
    run = RUNNABLE[names].get_default("run")
    named = dict(zip(run.__code__.co_freevars, (cell.cell_contents for cell in run.__closure__), strict=True))
    assert callable(getattr(import_module(f"canonry.cli.{named['module']}"), named["function"]))


@pytest.mark.parametrize(
    "arguments",
    [["--data", "x", "--json", "-c", "v", "query", "lamp"], ["query", "--data", "x", "lamp", "--json", "-c", "v"]],
    ids=["before", "after"],
)
def test_global_options_may_stand_before_the_command_and_after_it(arguments: list[str]) -> None:
    given = parse(arguments)
    assert (str(given.data), given.json, given.campaign, given.text) == ("x", True, "v", "lamp")


def test_what_is_not_given_comes_from_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CANONRY_DATA", "/lore")
    monkeypatch.setenv("CANONRY_CAMPAIGN", "vell")
    given = parse(["query", "lamp"])
    assert (str(given.data), given.campaign, given.json, given.quiet, given.verbose) == (
        "/lore",
        "vell",
        False,
        False,
        0,
    )
    assert parse(["query", "lamp", "-c", "abbey"]).campaign == "abbey"


def test_the_defaults_of_a_query_are_the_strict_ones() -> None:
    given = parse(["query", "lamp"])
    assert (given.spoiler_level, given.role, given.forbid_tags, given.limit, given.mode) == (0, "player", (), 8, None)


WRONG = [
    [], ["nonsense"], ["query"], ["query", "a", "b"], ["query", "a", "--limit", "many"], ["query", "a", "--mode", "telepathy"],
    ["import"], ["import", "a", "--class", "gospel"], ["import", "a", "--visibility", "secret"], ["import", "a", "--spoiler-level", "high"],
    ["import", "a", "--on-duplicate", "guess"], ["reindex", "--runner", "dask"], ["source"], ["source", "show"], ["campaign"], ["campaign", "create"],
    ["source", "edit", "a", "--priority", "urgent"], ["query", "a", "--nonsense"],
]  # fmt: skip


@pytest.mark.parametrize("arguments", WRONG, ids=" ".join)
def test_wrong_usage_is_exit_code_2_and_says_nothing_on_standard_output(
    arguments: list[str], run_cli: Callable[..., tuple[int, str, str]]
) -> None:
    code, out, err = run_cli(*arguments)
    assert (code, out) == (2, "")
    assert "usage: canonry" in err


def test_the_version_is_the_package_s(run_cli: Callable[..., tuple[int, str, str]]) -> None:
    import canonry

    assert run_cli("--version")[:2] == (0, f"canonry {canonry.__version__}\n")


def test_a_question_that_begins_with_a_dash_is_asked_after_two_dashes() -> None:
    assert parse(["query", "--", "-salt"]).text == "-salt"


@pytest.mark.parametrize("text", ["-salt", "-5", "- salt"])
def test_a_question_that_begins_with_a_dash_is_a_question(text: str) -> None:
    """A query is words: a dash is harmless."""
    assert parse(["query", text]).text == text
