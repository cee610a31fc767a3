"""The canon log: the compact list of what holds in a running game, injected into every model call.

world content, origin (static, checked up front)  →  new game  →  canon log + game state  ←  events

Code alone writes the log. What a model says is kept as an event; a `[FACT: …]` in it is a request to record. Numbers of
luck, the inventory and what an NPC knows lie beside the log in the save, and its schema has no place for them.
"""
