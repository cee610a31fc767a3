"""The campaign that comes with canonry, imported anew and asked its questions: what the regression check compares."""

from __future__ import annotations

import hashlib
from importlib.resources import as_file, files
from pathlib import Path

from canonry.catalog import Catalog
from canonry.config import MODES
from canonry.layout import Layout
from canonry.locking import writing
from eval.asking import ask_all, located
from eval.evaluation import Evaluation, summed_up
from eval.questions import QuestionSet, read_set
from flows.import_files import Choices, import_files
from flows.progress import Progress, silent
from stages.select import select_files

CAMPAIGN = "tolleth"
SET = "demo"
_KS = (1, 5, 10)
_PACKS = "hybrid"  # the mode that finds most; packs of every mode would double the time


def measure(root: Path, progress: Progress = silent) -> tuple[Evaluation, QuestionSet, str]:
    """The evaluation with the default settings, in the empty data directory `root`; its questions; a hash of the lore."""
    at = Layout(root, CAMPAIGN)
    with as_file(files("eval") / "sets" / SET) as folder:
        questions = read_set(folder)
    with writing(at), as_file(files("canonry") / "demo_campaign") as lore:
        Catalog.create(at.catalog, at.campaign).close()
        import_files(at, select_files([lore]), Choices(), progress)
        campaign = hash_of(lore)
    places = located(at, questions)
    results = {mode: ask_all(at, questions.questions, mode, max(_KS), mode == _PACKS, progress) for mode in MODES}
    return summed_up(at, questions, SET, places, results, {}, _KS), questions, campaign


def hash_of(folder: Path) -> str:
    """One hash of all files of a folder, whatever their line ends."""
    digest = hashlib.sha256()
    for path in sorted(path for path in folder.rglob("*") if path.is_file()):
        data = path.read_bytes().replace(b"\r\n", b"\n")
        digest.update(f"{path.relative_to(folder).as_posix()} {len(data)}\n".encode() + data)
    return digest.hexdigest()[:16]
