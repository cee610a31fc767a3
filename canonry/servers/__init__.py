"""Servers of models, on this machine or at an address that the user named: where they are, and how they are asked."""
