"""The catalog's schema, as the steps that made it: appended, never edited."""

from __future__ import annotations

APPLICATION_ID = 0x63616E72  # "canr"
MIGRATIONS = (
    """
    CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT NOT NULL) STRICT;
    CREATE TABLE setting (key TEXT PRIMARY KEY, value TEXT NOT NULL) STRICT;
    CREATE TABLE knowledge_source (
        source_id TEXT PRIMARY KEY CHECK (source_id <> '' AND source_id NOT GLOB '*[ ' || char(9, 10, 13) || ']*'),
        campaign_id TEXT NOT NULL,
        title TEXT NOT NULL,
        original_filename TEXT NOT NULL,
        original_path TEXT NOT NULL,
        class TEXT NOT NULL CHECK (class IN ('canon', 'reference', 'inspiration')),
        enabled INTEGER NOT NULL DEFAULT 1 CHECK (enabled IN (0, 1)),
        visibility TEXT NOT NULL CHECK (visibility IN ('normal', 'hidden')),
        spoiler_level INTEGER NOT NULL CHECK (spoiler_level >= 0),
        priority TEXT NOT NULL CHECK (priority IN ('low', 'normal', 'high')),
        always_include INTEGER NOT NULL CHECK (always_include IN (0, 1)),
        trust TEXT, edition TEXT, uri TEXT, notes TEXT, source_type TEXT, chapter TEXT,
        reading_order INTEGER,
        scope TEXT CHECK (scope IN ('invariant', 'initial', 'descriptive', 'historical')),
        heading_rules TEXT NOT NULL DEFAULT '[]' CHECK (json_valid(heading_rules)),
        extra TEXT NOT NULL DEFAULT '{}' CHECK (json_valid(extra)),
        edited TEXT NOT NULL DEFAULT '[]' CHECK (json_valid(edited)),
        imported_at TEXT NOT NULL,
        updated_at TEXT NOT NULL
    ) STRICT;
    CREATE INDEX source_by_path ON knowledge_source (original_path);
    CREATE TABLE knowledge_source_version (
        version_id TEXT PRIMARY KEY,
        source_id TEXT NOT NULL REFERENCES knowledge_source ON DELETE CASCADE,
        number INTEGER NOT NULL CHECK (number >= 1),
        content_hash TEXT NOT NULL CHECK (length(content_hash) = 64),
        original_hash TEXT NOT NULL CHECK (length(original_hash) = 64),
        file_size INTEGER NOT NULL CHECK (file_size >= 0),
        mime_type TEXT NOT NULL CHECK (mime_type IN ('text/markdown', 'text/plain')),
        encoding TEXT NOT NULL,
        text_title TEXT NOT NULL,
        parser_version TEXT NOT NULL,
        chunking_version TEXT NOT NULL,
        imported_at TEXT NOT NULL,
        valid_from TEXT NOT NULL,
        valid_to TEXT CHECK (valid_to IS NULL OR valid_to >= valid_from),
        -- what was said of secrecy when this version came: once superseded it is never shown more openly than that
        stated_level INTEGER NOT NULL DEFAULT 0 CHECK (stated_level >= 0),
        stated_hidden INTEGER NOT NULL DEFAULT 0 CHECK (stated_hidden IN (0, 1)),
        stated_tags TEXT NOT NULL DEFAULT '[]' CHECK (json_valid(stated_tags)),
        stated_roles TEXT NOT NULL DEFAULT '[]' CHECK (json_valid(stated_roles)),
        heading_rules TEXT NOT NULL DEFAULT '[]' CHECK (json_valid(heading_rules)),
        UNIQUE (source_id, number)
    ) STRICT;
    CREATE INDEX version_by_content ON knowledge_source_version (content_hash);
    CREATE UNIQUE INDEX one_live_version ON knowledge_source_version (source_id) WHERE valid_to IS NULL;
    CREATE TABLE source_label (
        source_id TEXT NOT NULL REFERENCES knowledge_source ON DELETE CASCADE,
        kind TEXT NOT NULL CHECK (kind IN ('tag', 'entity', 'spoiler_tag', 'allowed_role')),
        label TEXT NOT NULL CHECK (label <> ''),
        folded TEXT NOT NULL, -- by canonry.text.fold: labels that differ in case alone are the same
        PRIMARY KEY (source_id, kind, folded)
    ) STRICT, WITHOUT ROWID;
    CREATE TABLE knowledge_retrieval_record (
        record_id INTEGER PRIMARY KEY,
        created_at TEXT NOT NULL,
        role TEXT NOT NULL,
        query TEXT NOT NULL,
        supplied TEXT NOT NULL CHECK (json_valid(supplied))
    ) STRICT;
    CREATE VIEW source_tag AS SELECT source_id, label AS tag FROM source_label WHERE kind = 'tag';
    CREATE VIEW source_entity AS SELECT source_id, label AS entity FROM source_label WHERE kind = 'entity';
    """,
    """
    ALTER TABLE knowledge_source ADD COLUMN locked INTEGER NOT NULL DEFAULT 0 CHECK (locked IN (0, 1));
    ALTER TABLE knowledge_source ADD COLUMN superseded_by TEXT REFERENCES knowledge_source ON DELETE SET NULL;
    ALTER TABLE knowledge_source ADD COLUMN superseded_at TEXT;
    -- SHA-256 of the normalised text; '' for versions that were imported before it was kept
    ALTER TABLE knowledge_source_version ADD COLUMN normal_hash TEXT NOT NULL DEFAULT '';
    -- passages that hold where other passages say otherwise; a passage is named by the hash of its text, so that it is
    -- known again wherever it has moved in its source
    CREATE TABLE correction (
        source_id TEXT NOT NULL REFERENCES knowledge_source ON DELETE CASCADE,
        body_hash TEXT NOT NULL,
        of_source_id TEXT NOT NULL REFERENCES knowledge_source ON DELETE CASCADE,
        of_body_hash TEXT NOT NULL,
        made_at TEXT NOT NULL,
        PRIMARY KEY (source_id, body_hash, of_source_id, of_body_hash)
    ) STRICT, WITHOUT ROWID;
    CREATE INDEX correction_of ON correction (of_source_id);
    CREATE TABLE conflict_decision (
        conflict_id TEXT PRIMARY KEY,
        decision TEXT NOT NULL CHECK (decision IN ('prefer', 'correction', 'no conflict')),
        holds TEXT NOT NULL DEFAULT '', -- the source that holds
        note TEXT NOT NULL DEFAULT '',
        decided_at TEXT NOT NULL
    ) STRICT;
    CREATE TABLE proposal (
        proposal_id INTEGER PRIMARY KEY,
        source_id TEXT NOT NULL REFERENCES knowledge_source ON DELETE CASCADE,
        base_version_id TEXT NOT NULL, -- the version that was live when it was made
        kind TEXT NOT NULL CHECK (kind IN ('text', 'facts')),
        proposed TEXT NOT NULL CHECK (json_valid(proposed)),
        origin TEXT NOT NULL DEFAULT '',
        created_at TEXT NOT NULL,
        state TEXT NOT NULL DEFAULT 'pending' CHECK (state IN ('pending', 'accepted', 'rejected')),
        decided_at TEXT,
        note TEXT NOT NULL DEFAULT ''
    ) STRICT;
    CREATE INDEX proposal_of ON proposal (source_id);
    """,
    """
    ALTER TABLE knowledge_source ADD COLUMN importance INTEGER CHECK (importance BETWEEN 1 AND 5);
    ALTER TABLE knowledge_source ADD COLUMN status TEXT CHECK (status IN ('approved', 'pending', 'rejected'));
    ALTER TABLE knowledge_source ADD COLUMN foreshadow_state TEXT
        CHECK (foreshadow_state IN ('buried', 'partial', 'resolved'));
    ALTER TABLE knowledge_source ADD COLUMN source_chapter TEXT;
    ALTER TABLE knowledge_source ADD COLUMN last_mention_chapter TEXT;
    -- what a prompt was given: the selection as it was confirmed, and the whole text; it outlives its sources
    CREATE TABLE context_payload (
        context_id INTEGER PRIMARY KEY,
        created_at TEXT NOT NULL,
        role TEXT NOT NULL,
        spoiler_level INTEGER NOT NULL CHECK (spoiler_level >= 0),
        spoiler_tags TEXT NOT NULL DEFAULT '[]' CHECK (json_valid(spoiler_tags)), -- folded, of what is in it
        binding TEXT NOT NULL CHECK (json_valid(binding)),
        system_prompt TEXT NOT NULL,
        context_summary TEXT NOT NULL,
        details TEXT NOT NULL CHECK (json_valid(details))
    ) STRICT;
    """,
    """
    -- what was said of who knows this text when this version came: known_by and known_from, as canonry.perspective has them
    ALTER TABLE knowledge_source_version ADD COLUMN stated_known TEXT NOT NULL DEFAULT '{}' CHECK (json_valid(stated_known));
    """,
)
