"""Bytes of a document -> passages that can be quoted, each under its headings and with its own secrecy."""

from __future__ import annotations

from stages.chunking.document import VERSION, chunk_document, find_lost_marks
from stages.chunking.front_matter import FrontMatter, read_front_matter
from stages.chunking.marks import MarkError

__all__ = ["VERSION", "FrontMatter", "MarkError", "chunk_document", "find_lost_marks", "read_front_matter"]
