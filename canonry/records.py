"""The values that pass between modules: frozen, slotted, without behaviour of their own."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Marks:
    """What a text says of its own secrecy. `spoiler_level` 0 is safe; `hidden` means narrator-only."""

    spoiler_level: int = 0
    spoiler_tags: tuple[str, ...] = ()  # sorted, distinct
    hidden: bool = False

    def __or__(self, other: Marks) -> Marks:
        """The stricter of both: the higher level, all tags, hidden if either is."""
        return Marks(
            max(self.spoiler_level, other.spoiler_level),
            tuple(sorted({*self.spoiler_tags, *other.spoiler_tags})),
            self.hidden or other.hidden,
        )


@dataclass(frozen=True, slots=True)
class HeadingRule:
    """A `canonry.toml` statement about headings: sections whose heading matches `pattern` carry `marks`.

    `pattern` is a glob, compared without regard to case with the cleaned heading.
    """

    pattern: str
    marks: Marks


@dataclass(frozen=True, slots=True)
class Chunk:
    """A retrievable passage: the bytes [start_byte, end_byte) of one document, and what the text says of them.

    Lines count from 1, both ends included. `lead` is text that the passage needs to be found by but does not hold
    (the header row of a table that was split); it is indexed, never quoted. `marks` are those of the text alone.
    """

    index: int
    start_byte: int
    end_byte: int
    start_line: int
    end_line: int
    heading_path: tuple[str, ...]
    token_count: int
    page: int | None = None
    marks: Marks = field(default_factory=Marks)
    lead: str = ""


CLASSES = ("canon", "reference", "inspiration")
PRIORITIES = ("low", "normal", "high")
VISIBILITIES = ("normal", "hidden")
SCOPES = ("invariant", "initial", "descriptive", "historical")
ENTRY_TYPES = ("character", "foreshadow", "location", "relationship", "fact")  # of knowledge entries
ENTRY_STATUSES = ("approved", "pending", "rejected")
FORESHADOW_STATES = ("buried", "partial", "resolved")


@dataclass(frozen=True, slots=True)
class SourceFacts:
    """What is said of a source and may be changed later; it lives in the catalog and is applied when a query runs.

    `class_` is how true it is. `spoiler_level` 0 is safe. `allowed_roles` empty means every role. `extra` holds the
    front-matter keys that canonry does not know, as JSON, so that nothing is dropped. The five fields after it are of
    knowledge entries (`canonry.suggest`); a chapter is a number or a name.
    """

    title: str
    class_: str = "reference"
    visibility: str = "normal"
    spoiler_level: int = 0
    spoiler_tags: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()
    entities: tuple[str, ...] = ()
    allowed_roles: tuple[str, ...] = ()
    priority: str = "normal"
    always_include: bool = False
    trust: str | None = None
    edition: str | None = None
    uri: str | None = None
    notes: str | None = None
    source_type: str | None = None
    chapter: str | None = None
    order: int | None = None
    scope: str | None = None
    extra: str = "{}"
    importance: int | None = None  # 1 to 5
    status: str | None = None
    foreshadow_state: str | None = None
    source_chapter: str | None = None
    last_mention_chapter: str | None = None


@dataclass(frozen=True, slots=True)
class Source:
    """A source with its live version, as `canonry source show` tells it. Sizes in bytes, times in UTC (ISO 8601)."""

    source_id: str
    campaign_id: str
    facts: SourceFacts
    enabled: bool
    original_filename: str
    original_path: str
    imported_at: str
    updated_at: str
    version_id: str
    content_hash: str
    file_size: int
    mime_type: str
    encoding: str
    parser_version: str
    chunking_version: str
    locked: bool = False  # edits and new texts become proposals
    superseded_by: str | None = None  # the source that holds in its place


@dataclass(frozen=True, slots=True)
class Document:
    """What the chunk stage needs of one version. `key` is the fingerprint of everything that decides its chunks."""

    key: str
    version_id: str
    source_id: str
    content_hash: str
    kind: str  # "markdown" or "text"
    heading_rules: tuple[HeadingRule, ...]
    title: str  # of the text itself: front matter, else the file's name; indexed
    order: tuple[int, str]  # where it stands among its campaign's sources
    spoiler_level: int = 0  # of the source when the plan was made; only for clustering


@dataclass(frozen=True, slots=True)
class Draft:
    """One file of an import, read and stored, before the catalog knows it."""

    document: Document
    facts: SourceFacts
    original_filename: str
    original_path: str
    file_size: int
    encoding: str
    original_hash: str  # of the bytes as they lay in the file; differs from content_hash where text was converted
    heading_rules_json: str
    is_new_source: bool
    stated: tuple[
        str, ...
    ] = ()  # fields of `facts` that the user stated for this import; later imports leave them alone
    normal_hash: str = ""  # as canonry.holdings.normal_hash gives it; '' is filled in by the next import
