"""Every error that canonry raises on purpose.

CanonryError                 the base: one line that says what, where and what to do
├── UsageError               the call cannot mean anything: wrong option, impossible setting, bad id (exit 2)
├── NotFound                 a campaign, source, version or chunk that does not exist (exit 1)
├── RejectedFile             a file that is not imported, with the reason; the rest of the batch goes on
├── RefusedArchive           an archive that is not restored, with the entry and the reason; nothing was written
├── DamagedData              a stored file that is not what it says it is; the message names the repair
│   └── LaterCatalog         a catalog that a later canonry wrote; whole, but not for this one to read
├── IndexMissing             the campaign has no index yet, or one of another contract; `canonry reindex` builds it
├── Busy                     another process holds the campaign's write lock, named in the message
├── PinDoesNotFit            a pinned passage is larger than the room of its pack
├── InvalidData              (canonlog.problem) content, an event or a save that its schema refuses; a line a problem
├── RefusedBinding           (suggest.binding) ids of a binding that may not be used, each with the reason
├── ContextFailure           (contexts.failures) a selection, a session or an assembly that is refused; a tree of its own
├── NoSpace                  the disk is full or not writable; nothing was left half-written
├── JudgeError               the model that grades passages cannot be used; the order stays as search made it
└── EmbedderError            the embedding model or endpoint cannot be used; lexical search goes on
    └── TextTooLong          some texts are longer than the model takes; they can be cut smaller
"""

from __future__ import annotations

from collections.abc import Callable, Sequence


class CanonryError(Exception):
    """Something a person can act on. The text is one line and ends with what to do."""

    exit_code = 1


class UsageError(CanonryError):
    """The request itself is wrong: an unknown option value, an impossible setting, an id with odd characters."""

    exit_code = 2


class NotFound(CanonryError):
    """What was asked for does not exist in this campaign."""


class RejectedFile(CanonryError):
    """One file that is not imported. `name` is the file as the user wrote it, `reason` why, in words."""

    def __init__(self, name: str, reason: str) -> None:
        super().__init__(f"{name}: {reason}")
        self.name = name
        self.reason = reason

    def __reduce__(self) -> tuple[type[RejectedFile], tuple[str, str]]:
        return RejectedFile, (self.name, self.reason)


class RefusedArchive(CanonryError):
    """An archive that is not restored, as a whole. `entry` is what is wrong in it, empty where it is the file itself."""

    def __init__(self, archive: str, entry: str, reason: str) -> None:
        where = f"{archive}: entry {shown(entry)}" if entry else archive
        super().__init__(f"{where}: {reason}; nothing was restored")
        self.archive = archive
        self.entry = entry
        self.reason = reason

    def __reduce__(self) -> tuple[type[RefusedArchive], tuple[str, str, str]]:
        return RefusedArchive, (self.archive, self.entry, self.reason)


def shown(name: str) -> str:
    """A name from elsewhere as a message may hold it: in quotes, short, its control characters as escapes."""
    short = name if len(name) <= 120 else f"{name[:119]}…"
    return "'" + "".join(c if c.isprintable() else c.encode("unicode_escape").decode("ascii") for c in short) + "'"


class DamagedData(CanonryError):
    """A stored file is missing, truncated or foreign."""


class LaterCatalog(DamagedData):
    """A catalog of a later canonry, which can read it."""


class IndexMissing(CanonryError):
    """There is no index to ask, or it was written under another contract."""


class Busy(CanonryError):
    """Another process is writing to this campaign."""


class PinDoesNotFit(CanonryError):
    """A pinned passage is larger than the room that is left. It is neither dropped nor cut."""


class NoSpace(CanonryError):
    """The disk is full, or the folder cannot be written."""


class EmbedderError(CanonryError):
    """An embedding model cannot be loaded or gave an answer that cannot be used."""


class JudgeError(CanonryError):
    """The model that grades passages cannot be asked, or gave grades that cannot be used."""


class TextTooLong(EmbedderError):
    """Texts that the model refuses for their length. `places` are their places among the texts of the call.

    `smaller(body, prefix, times)` gives the windows of such a text, halved so many times; [] where they cannot be
    made any smaller.
    """

    def __init__(self, message: str, places: Sequence[int], smaller: Callable[[str, str, int], list[str]]) -> None:
        super().__init__(message)
        self.places = tuple(places)
        self.smaller = smaller
