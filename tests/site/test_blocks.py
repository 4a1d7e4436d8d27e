"""Code blocks of all documents: each is run, or says why not, and every command in them has the options it shows."""

import re
import shlex
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import click
import pytest

from facevalue import studies
from facevalue.cli.app import app
from tests.cli.test_pages import PAGES

ROOT = Path(__file__).parents[2]
DOCUMENTS = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")])
FENCE = re.compile(r"^(?P<ticks>`{3,})(?P<info>[^\n`]*)\n(?P<text>.*?)^(?P=ticks)$", re.MULTILINE | re.DOTALL)
SAYS = re.compile(r"<!-- (?P<whole>blocks )?(?P<how>not run|run by):? (?P<text>.+?) -->")
SHELL = ("", "console", "sh", "text")


@dataclass(frozen=True)
class Block:
    """A code block, and what the page's source says of it."""

    kind: str
    name: str
    text: str
    how: str
    reason: str


def blocks(document: Path) -> Iterator[Block]:
    """Blocks of a page that show code; directives of the site are none."""
    text = document.read_text(encoding="utf-8")
    of_page = next((said for said in SAYS.finditer(text) if said["whole"]), None)
    for fence in FENCE.finditer(text):
        kind, _, name = fence["info"].strip().partition(" ")
        before = SAYS.search(text[: fence.start()].rstrip().rsplit("\n\n", 1)[-1].rsplit("\n", 1)[-1])
        said = before or of_page
        if not kind.startswith("{"):
            yield Block(kind, name, fence["text"], said["how"] if said else "", said["text"] if said else "")


def is_run(document: Path, block: Block) -> bool:
    """Whether a test runs it that looks for blocks of its kind on all pages, or follows the page."""
    followed = document.is_relative_to(ROOT / "docs") and document.relative_to(ROOT / "docs").as_posix() in PAGES
    return (block.kind == "python" and ">>>" in block.text) or (
        followed and bool(block.name or block.kind == "console")
    )


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_each_block_is_run_or_says_why_not(document: Path) -> None:
    left = [block for block in blocks(document) if not is_run(document, block)]
    assert not [block.text.splitlines()[0] for block in left if not block.reason]
    assert not [block.reason for block in left if block.how == "run by" and not (ROOT / block.reason).exists()]


HERE = Path(__file__).relative_to(ROOT).as_posix()
RUN_HERE = [
    (path, block) for path in DOCUMENTS for block in blocks(path) if block.reason == HERE and block.kind == "python"
]


@pytest.mark.parametrize(("document", "block"), RUN_HERE, ids=lambda part: getattr(part, "stem", ""))
def test_code_without_prompts_runs(
    document: Path, block: Block, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    exec(compile(block.text, str(document), "exec"), {})


def commands(text: str) -> Iterator[list[str]]:
    """Words of each command of ours that a block shows; what stands in capitals is a name to fill in."""
    for line in text.replace("\\\n", " ").splitlines():
        command = re.split(r"\s#\s| ; | \|\|? | > | && |\s*\|$", line.strip().removeprefix("$ "))[0]
        if command.startswith("facevalue ") and "..." not in command:
            yield shlex.split(command)[1:]


def wrong_option(words: list[str]) -> str:
    """What a command does not have; empty if it is right."""
    command: click.Command = app
    context = click.Context(app, info_name="facevalue")
    while isinstance(command, click.Group) and words:
        first, *words = words
        if first.startswith("-"):
            return ""
        if command is not app and context.info_name not in ("manifest", "scenes") and first not in studies.STUDIES:
            return ""  # a study of one's own, whose settings are those of its file
        inner = command.get_command(context, first)
        assert inner is not None
        command, context = inner, click.Context(inner, info_name=first, parent=context)
    try:
        command.make_parser(context).parse_args(args=[*words])
    except click.UsageError as error:
        return error.format_message()
    return ""


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_commands_that_documents_show_have_these_options(document: Path) -> None:
    if document.name == "CHANGELOG.md":
        return
    asked = [words for block in blocks(document) if block.kind in SHELL for words in commands(block.text)]
    assert not [(words, wrong) for words in asked if (wrong := wrong_option(list(words)))]


def test_options_that_are_gone_are_seen() -> None:
    (words,) = commands("$ facevalue run vignette --modell sim/strong  # asks\n")
    assert "--modell" in wrong_option(words)
    assert not wrong_option(["manifest", "check", "list.csv", "--for", "vignette"])
