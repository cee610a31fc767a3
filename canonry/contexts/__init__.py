"""What a model is given for a task: eligible items, an exact selection of them, and a checked text within budgets.

item        one thing that could be given, and what is said of it; never how relevant it is
blocks      items that a caller supplies, read from JSON
roles       which role may be given which item
failures    every way in which a selection is refused
inventory   the eligible items of a campaign, a game and a caller, for one role
tiers       whole items into a hot and a working budget
assembly    an exact selection, checked, as a text for a prompt
"""
