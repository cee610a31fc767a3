"""Knowledge entries, what is suggested of them for a chapter, and the confirmed context of a prompt.

entries      what a knowledge entry is, and what of it a role may see
words        the words that a goal shares with an entry
score        the formula, its components and the reason codes
labels       what types, kinds and reasons are called, in English and in Chinese
suggestions  approved entries in sight, scored -> the best of them
binding      a selection, read from a file and checked against what is there
blocks       the prompt's blocks, their budgets, and what is dropped
payload      a context as it was confirmed: kept whole, read later
"""
