"""What the pages on own studies show: their files are studies, their code is what runs in the tests."""

import re
import tomllib
from pathlib import Path

import polars as pl
import pytest

from facevalue import studies
from facevalue.protocol.settings import defaults
from facevalue.types import OptionValue
from tests.protocol.conftest import Reader

DOCS = Path(__file__).parents[2] / "docs"
BLOCKS = re.findall(r"```toml\n(.*?)```", (DOCS / "reference/own-studies.md").read_text(), re.DOTALL)

PICTURES = tuple(
    f"photographs/{path}.jpg"
    for path in (
        "basketball_player/ME_male/12",
        "basketball player/Asian_female/2",
        "nurse/asian_female/1",
        "nurse/white_male/1",
    )
)


@pytest.mark.parametrize("text", BLOCKS, ids=[block.split("\n")[0] for block in BLOCKS])
def test_each_file_of_the_page_is_a_study(text: str, read: Reader) -> None:
    tomllib.loads(text)
    (read.folder / "page.toml").write_text(text)
    for path in PICTURES:
        (read.folder / path).parent.mkdir(parents=True, exist_ok=True)
        (read.folder / path).touch()
    hats = zip(PICTURES, ("none", "cap", "bow"), strict=False)
    (read.folder / "pairs.csv").write_text("path,set,hat\n" + "\n".join(f"{path},1,{hat}" for path, hat in hats))
    edits = zip(PICTURES, ("", PICTURES[0], PICTURES[0]), ("", "no change", "cap"), strict=False)
    (read.folder / "edits.csv").write_text(
        "path,source,cue,identity\n" + "\n".join(f"{path},{source},{cue},1" for path, source, cue in edits)
    )
    protocol = studies.protocol(str(read.folder / "page.toml"))
    given: dict[str, OptionValue] = {}
    if protocol.extras.making is not None:  # it shows what is made for it
        making = protocol.extras.making()
        table = making.plan(defaults(making.settings)).table
        paths = pl.Series("path", [f"{number}.png" for number in range(table.height)])
        table.with_columns(paths).write_parquet(read.folder / "made.parquet")
        given["manifest"] = str(read.folder / "made.parquet")
    assert protocol.study(given).design.size > 0


def test_the_page_quotes_the_declaration_that_runs() -> None:
    ran = (Path(__file__).parent / "test_python_declaration.py").read_text()
    page = (DOCS / "how-to/add-a-protocol.md").read_text()
    code = ran[ran.index("LOAN = Protocol(") : ran.index("@pytest.fixture")].rstrip()
    assert code in page
    assert len(page.split("```python\n")[1].split("```")[0].splitlines()) <= 150
