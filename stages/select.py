"""select: paths as the user named them -> the files to import, and what was left out with the reason."""

from __future__ import annotations

import os
import stat
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from canonry.errors import RejectedFile

KINDS = {".md": "markdown", ".markdown": "markdown", ".txt": "text"}
FOLDER_RULES = "canonry.toml"


@dataclass(frozen=True, slots=True)
class Selected:
    """A file to import. `name` is how it is called: its path inside the imported folder, or its own name."""

    path: Path
    name: str
    folder: Path | None  # the imported folder it came from; its canonry.toml applies
    origin: str = ""  # what its source is known by, where that is not its path
    beside: Path | None = None  # the file whose folders speak for it, where these are not its own

    @property
    def identity(self) -> str:
        return self.origin or str(self.path.resolve())

    @property
    def place(self) -> Path:
        """Where the rules of its folders are looked for."""
        return (self.beside or self.path).resolve()


@dataclass(slots=True)
class Selection:
    """What `select_files` found, in a stable order."""

    files: list[Selected] = field(default_factory=list)
    rejected: list[RejectedFile] = field(default_factory=list)
    apart_from: Path | None = None
    ignored: Counter[str] = field(default_factory=Counter)  # other files in the folders, by their ending

    def ignored_line(self) -> str:
        """One line on files of other types, empty where there are none."""
        if not self.ignored:
            return ""
        kinds = ", ".join(
            f"{count} {_shown(ending) or 'without ending'}" for ending, count in self.ignored.most_common(6)
        )
        count = self.ignored.total()
        return f"{count} file{'s' * (count != 1)} of other types left out ({kinds}); canonry reads .md and .txt"


def select_files(paths: Sequence[Path], *, apart_from: Path | None = None) -> Selection:
    """The files under `paths`, each once: a file as it is, a folder with everything below it, hidden names and links left out.

    The folder `apart_from` (canonry's own data) is never entered.
    """
    selection = Selection(apart_from=apart_from.resolve() if apart_from else None)
    for path in paths:
        try:
            mode = path.stat().st_mode
        except OSError as error:
            reason = "does not exist; check the name" if isinstance(error, FileNotFoundError) else _os_reason(error)
            selection.rejected.append(RejectedFile(_shown(str(path)), reason))
            continue
        if stat.S_ISDIR(mode):
            before = len(selection.files) + len(selection.rejected)
            _select_folder(path, selection)
            if len(selection.files) + len(selection.rejected) == before:
                selection.rejected.append(
                    RejectedFile(_shown(str(path)), "holds no .md or .txt file; name the folder that does")
                )
        else:
            _select_one(
                Selected(path, path.name, path.parent if (path.parent / FOLDER_RULES).is_file() else None),
                mode,
                selection,
            )
    selection.files = list({file.path.resolve(): file for file in reversed(selection.files)}.values())[::-1]
    return selection


def _select_one(file: Selected, mode: int, selection: Selection) -> None:
    if not stat.S_ISREG(mode):
        selection.rejected.append(
            RejectedFile(_shown(str(file.path)), "is not a regular file (a pipe, socket or device); give a text file")
        )
    elif file.path.suffix.lower() not in KINDS:
        selection.rejected.append(
            RejectedFile(_shown(str(file.path)), "is neither .md nor .txt; save it as one of these and import that")
        )
    elif _has_odd_name(file.name):
        selection.rejected.append(
            RejectedFile(ascii(file.name), "has a name that is not valid Unicode; rename it and import again")
        )
    else:
        selection.files.append(file)


def _select_folder(folder: Path, selection: Selection) -> None:
    for path in _walk(folder, selection):
        name = path.relative_to(folder).as_posix()
        if path.name == FOLDER_RULES:
            continue
        mode = path.lstat().st_mode
        if stat.S_ISLNK(mode):
            selection.rejected.append(
                RejectedFile(
                    _shown(name),
                    f"is a link to {_shown(str(path.readlink()))}; links in a folder are not followed, import the file it points to",
                )
            )
        elif path.suffix.lower() not in KINDS:
            selection.ignored[path.suffix.lower()] += 1
        else:
            _select_one(Selected(path, name, folder), mode, selection)


def _walk(folder: Path, selection: Selection) -> Iterator[Path]:
    """Every file and link below a folder, sorted; hidden names left out, no link followed."""
    if selection.apart_from is not None and folder.resolve() == selection.apart_from:
        return
    try:
        entries = sorted(os.scandir(folder), key=lambda entry: entry.name)
    except OSError as error:
        selection.rejected.append(RejectedFile(_shown(str(folder)), _os_reason(error)))
        return
    for entry in entries:
        if entry.name.startswith("."):
            continue
        if entry.is_dir(follow_symlinks=False):
            yield from _walk(Path(entry.path), selection)
        else:
            yield Path(entry.path)


def _os_reason(error: OSError) -> str:
    return f"cannot be read ({(error.strerror or str(error)).lower()}); check its permissions"


def _has_odd_name(name: str) -> bool:
    return not name.isprintable()


def _shown(name: str) -> str:
    """A name for a message: what a terminal could take for a command, and half characters, as escapes."""
    return "".join(char if char.isprintable() else char.encode("unicode_escape").decode("ascii") for char in name)
