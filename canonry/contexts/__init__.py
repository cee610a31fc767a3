"""What a model is given for a task: eligible items, an exact selection of them, and a checked text within budgets.

item        one thing that could be given, and what is said of it; never how relevant it is
blocks      items that a caller supplies, read from JSON
roles       which role may be given which item
game        a running game, as it is on disk now
failures    every way in which a selection is refused
inventory   the eligible items of a campaign, a game and a caller, for one role
tiers       whole items into a hot and a working budget
assembly    an exact selection, checked, as a text for a prompt
task        what a selection is for, and what it may cost
calls       search, fetch, select, stop: one contract for every driver
session     the calls of one task, kept as events and taken up again
journal     the events, texts and notes of a campaign, in SQLite
memory      notes derived from passages, never canon
lines, server, tools      the drivers: a pipe, an MCP client
"""
