"""A line where nothing is answered: a server that accepts and never answers is no silence."""

import time
from pathlib import Path

import pytest
from obstore.store import MemoryStore

from facevalue.models.base import Capabilities
from facevalue.runs import progress as silence
from facevalue.runs.runner import run
from facevalue.store.objects import Objects
from tests.runs.remote import Notes, go
from tests.runs.tiny import TinyModel, tiny_study
from tests.store.faulty import URL

SENTENCE = "No answer has come for 0.2 s; requests wait for --timeout. Ctrl-C ends this."


class Unprobed(TinyModel):
    """Takes its time to show what it can do."""

    @property
    def capabilities(self) -> Capabilities:
        time.sleep(0.5)
        return Capabilities()

    @capabilities.setter
    def capabilities(self, _: Capabilities) -> None:
        return


def asked(model: TinyModel, folder: Path | None) -> list[str]:
    study, notes = tiny_study(faces=2), Notes()
    if folder is None:
        go(Objects(URL, MemoryStore()), model, study, notes=notes)
    else:
        run(study, model, folder, progress=notes)
    return [note for note in notes.notes if "No answer" in note]


@pytest.mark.parametrize("stored", ["folder", "objects"])
@pytest.mark.parametrize("kind", ["first reply", "probe", "none"])
def test_nobody_waits_without_a_word(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, stored: str, kind: str) -> None:
    monkeypatch.setattr(silence, "SILENT", 0.2 if kind != "none" else 60.0)
    model = Unprobed() if kind == "probe" else TinyModel(delay=0.5 if kind == "first reply" else 0.0)
    told = asked(model, tmp_path / "run" if stored == "folder" else None)
    assert set(told) == ({SENTENCE} if kind != "none" else set())
