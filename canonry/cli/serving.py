"""`canonry mcp`."""

from __future__ import annotations

import argparse

from canonry.cli.contexts import inventory_of
from canonry.cli.sessions import driven
from canonry.contexts.server import serve_session, serve_tools
from canonry.contexts.tools import tools_for
from canonry.errors import UsageError


def mcp(given: argparse.Namespace) -> None:
    if not (given.task or given.session):
        if given.more_calls or given.more_tokens:
            raise UsageError("there is no budget to raise without a session; name one with --session")
        with inventory_of(given) as inventory:
            serve_tools(tools_for(inventory, writing=given.write), given.role)
        return
    if (
        given.role != "player"
        or given.spoiler_level
        or given.forbid_tags
        or given.story_time is not None
        or given.as_of
    ):
        raise UsageError("the task says for which role it is; leave --role and its limits out")
    if given.write:
        raise UsageError("a session keeps what is called, and writes no notes; leave --write out")
    with driven(given) as session:
        if given.session:
            session.take_up()
        serve_session(session)
