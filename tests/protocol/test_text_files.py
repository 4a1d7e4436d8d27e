"""Texts in files below a study's folder, as levels of a factor and as columns of items."""

from pathlib import Path

import pytest

import facevalue as fv
from facevalue.errors import FaceValueError
from facevalue.protocol import toml_tables
from facevalue.protocol.protocol import Protocol
from tests.protocol.conftest import MINIMAL, Reader

TEXTS = 'texts = "cvs/*.txt"'
STUDY = (
    MINIMAL.replace('as a {job}?"', 'whose application is this?\\n\\n{cv}"')
    .replace('[factor.job]\nlevels = ["nurse", "cook"]', f"[factor.cv]\n{TEXTS}")
    .replace('by = ["job"]', 'by = ["cv"]')
)
LONG = "Ten years of nursing.\r\n\r\nSpeaks {first} {options}.\n"


@pytest.fixture
def cvs(tmp_path: Path) -> Path:
    folder = tmp_path / "cvs"
    folder.mkdir()
    (folder / "strong.txt").write_text(LONG, newline="")
    (folder / "weak.txt").write_text("Left school early, zurückhaltend.", encoding="utf-8")
    (folder / ".hidden.txt").write_text("no")
    (folder / "note.md").write_text("no")
    return folder


def prompts(protocol: Protocol) -> list[str]:
    study = protocol.study()
    return [question.prompt for question in study.ask(study.design.trials(range(study.design.size)))]


@pytest.mark.usefixtures("cvs")
def test_levels_are_the_files_and_fill_the_slot_as_they_stand(read: Reader) -> None:
    protocol = read(STUDY)
    factor = protocol.asks[""].named_factors[0]
    assert factor.levels == ("strong", "weak")
    assert any("Ten years of nursing.\n\nSpeaks {first} {options}." in prompt for prompt in prompts(protocol))
    assert protocol.titles["cv"] == {"strong": "strong", "weak": "Left school early, zurückhaltend."}


def test_a_run_needs_its_files_no_more(read: Reader, cvs: Path, tmp_path: Path) -> None:
    read(STUDY)
    opened = fv.run(tmp_path / "small.toml", "sim/strong", tmp_path / "run")
    opened.report(tmp_path / "report.html")
    before = opened.estimates()
    for path in cvs.iterdir():
        path.unlink()
    again = fv.open_run(tmp_path / "run")
    assert again.estimates().equals(before)
    again.report(tmp_path / "report.html")


def test_other_texts_are_another_study(read: Reader, cvs: Path, tmp_path: Path) -> None:
    read(STUDY)
    fv.run(tmp_path / "small.toml", "sim/strong", tmp_path / "run")
    (cvs / "weak.txt").write_text("Left school.")
    with pytest.raises(FaceValueError, match="begun with other settings: file of the study"):
        fv.run(tmp_path / "small.toml", "sim/strong", tmp_path / "run")


@pytest.mark.usefixtures("cvs")
def test_columns_of_items_may_be_files(read: Reader) -> None:
    items = "".join(
        f'[[item]]\nname = "{name}"\nquality = "{name}"\ncv = {{file = "cvs/{name}.txt"}}\n'
        for name in ("strong", "weak")
    )
    text = STUDY.replace(f"[factor.cv]\n{TEXTS}\n", items).replace('by = ["cv"]', 'by = ["quality"]')
    protocol = read(text)
    assert protocol.asks[""].named_factors[0].attributes == {"quality": ("strong", "weak")}
    assert any("Ten years of nursing." in prompt for prompt in prompts(protocol))


@pytest.mark.usefixtures("cvs")
def test_files_that_a_file_is_like_name_texts_beside_themselves(read: Reader, tmp_path: Path) -> None:
    read(STUDY, "base.toml")
    (tmp_path / "below").mkdir()
    (tmp_path / "below" / "base.toml").write_text(STUDY.replace("cvs/*.txt", "texts/*.txt"))
    (tmp_path / "below" / "texts").mkdir()
    (tmp_path / "below" / "texts" / "one.txt").write_text("One.")
    (tmp_path / "below" / "texts" / "two.txt").write_text("Two.")
    assert read('like = "below/base.toml"\ntitle = "x"').asks[""].named_factors[0].levels == ("one", "two")
    assert read('like = "base.toml"\ntitle = "x"').asks[""].named_factors[0].levels == ("strong", "weak")


@pytest.mark.usefixtures("cvs")
def test_texts_of_tasks(read: Reader) -> None:
    text = STUDY.replace("[prompt]", "[task.hire.prompt]").replace("[answer]", "[task.hire.answer]")
    assert read(text.replace("[factor.cv]", "[task.hire.factor.cv]")).asks["hire"].named_factors[0].name == "cv"


@pytest.mark.parametrize(
    ("after", "message"),
    [
        ('texts = "cv/*.txt"', r"small\.toml: line 14: There is no folder .*cv of texts"),
        (r'texts = "cv\u0000s/*.txt"', r"line 14: The study names .* which is not below its own folder"),
        ('texts = "cvs/*.docx"', r"line 14: No file is called \*\.docx in "),
        ('texts = "cvs/no.txt"', r"line 14: There is no file .*no\.txt \(a text\)"),
        ('texts = "*/weak.txt"', r"line 14: .*: the star stands for names of files, not of folders"),
        ('texts = "cvs/*a*.txt"', r"line 14: \*a\*\.txt: a pattern of files has one star"),
        ('texts = "../*.txt"', r"line 14: The study names .*which is not below its own folder"),
        ('texts = "/etc/host*"', r"line 14: The study names 'etc', which is not below its own folder"),
        ('texts = "cvs/out.txt"', r"line 14: The study names 'out\.txt', which is not below its own folder"),
        ('texts = "cvs/empty.txt"', r"line 14: empty\.txt holds no text"),
        ('texts = "cvs/latin.txt"', r"line 14: latin\.txt: line 1 is not UTF-8"),
        ('texts = "cvs/large.txt"', r"line 14: .*large\.txt \(a text\) .*64 KiB"),
        ('texts = "cvs/n*"', r"line 14: Two files of .* are called 'note'"),
        ("texts = 5", r"line 14: 'texts' is a text in quotes, not 5"),
        (f'{TEXTS}\nlevels = ["a"]', r"line 14: A factor has either levels, or texts in files"),
        ('text = "cvs/*.txt"', r"line 14: Unknown key 'text'"),
        (f"{TEXTS}\nmost = 3", r"line 15: Unknown key 'most'"),
    ],
)  # fmt: skip
def test_mistakes_are_one_sentence(after: str, message: str, read: Reader, cvs: Path) -> None:
    (cvs / "empty.txt").write_text(" \n")
    (cvs / "latin.txt").write_bytes("zurück".encode("latin-1"))
    (cvs / "large.txt").write_text("x" * (toml_tables.MOST_BYTES + 1))
    (cvs / "out.txt").symlink_to("/etc/hostname")
    (cvs / "note.txt").write_text("x")
    with pytest.raises(FaceValueError, match=message) as refused:
        read(STUDY.replace(TEXTS, after, 1))
    assert "\n" not in str(refused.value)


@pytest.mark.usefixtures("cvs")
def test_mistakes_in_items_have_their_line(read: Reader) -> None:
    text = STUDY.replace(f"[factor.cv]\n{TEXTS}\n", '[[item]]\nname = "a"\ncv = {file = "cvs/non.txt"}\n')
    with pytest.raises(FaceValueError, match=r"line 15: There is no file .*non\.txt"):
        read(text)
    with pytest.raises(FaceValueError, match=r"line 15: Unknown key 'files'\. Did you mean 'file'"):
        read(text.replace("{file =", "{files ="))


def test_too_many_files_are_refused(read: Reader, cvs: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(toml_tables, "MOST_FILES", 1)
    assert cvs.is_dir()
    with pytest.raises(FaceValueError, match=r"More than 1 files are called \*\.txt"):
        read(STUDY)
