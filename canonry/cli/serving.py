"""`canonry mcp`."""

from __future__ import annotations

import argparse

from canonry.cli.contexts import inventory_of
from canonry.cli.sessions import driven
from canonry.contexts.server import serve_session, serve_tools
from canonry.contexts.tools import tools_for
from canonry.errors import UsageError

_DEFAULTS: dict[str, object] = {"role": "player", "spoiler_level": 0, "forbid_tags": ()}  # where no task says it


def mcp(given: argparse.Namespace) -> None:
    if not (given.task or given.session):
        if given.more_calls or given.more_tokens:
            raise UsageError("there is no budget to raise without a session; name one with --session")
        for name, value in _DEFAULTS.items():
            if getattr(given, name) is None:
                setattr(given, name, value)
        with inventory_of(given) as inventory:
            serve_tools(tools_for(inventory, writing=given.write), given.role)
        return
    if stated := [name for name in (*_DEFAULTS, "story_time", "as_of") if getattr(given, name) is not None]:
        options = ", ".join(f"--{name.replace('_', '-')}" for name in stated)
        raise UsageError(f"the task says for which role it is and with which limits; leave {options} out")
    if given.write:
        raise UsageError("a session keeps what is called, and writes no notes; leave --write out")
    with driven(given) as session:
        if given.session:
            session.take_up()
        serve_session(session)
