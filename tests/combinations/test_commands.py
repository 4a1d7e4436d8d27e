"""Every command with every option of trials, on every kind of study: a result or one sentence, never a traceback.

Options change which trials there are (`--with`, `--exact`, `--sample`), where answers are stored (folder or URL), and
how many models are asked. Each pair of their levels, of studies and of groups of commands occurs at least once.
"""

from collections.abc import Sequence
from pathlib import Path

import pytest

from tests.cli.conftest import Command, facevalue  # noqa: F401 - fixture
from tests.combinations.cover import Row, all_pairs, cover, pairs_of
from tests.combinations.places import STUDIES, furnish

GROUPS: dict[str, tuple[str, ...]] = {
    "before": (
        "plan STUDY OPTIONS",
        "manifest check LIST",
        "audit AUDIT --plan --budget 900",
        "requests STUDY OPTIONS --model m --form openai --out asked",
        "import asked/requests/openai-001.jsonl --out imported",
        "studies NAME",
    ),
    "read": (
        "status RUN",
        "measure RUN",
        "report RUNS --out page.html",
        "show RUN --trial 0",
        "export RUN --out e.csv",
        "verify RUN",
        "fetch RUN --out fetched",
    ),
    "beside": (
        "compare RUN RUN2 --out c.html",
        "compare RUNS --json",
        "gate RUN --limits limits.toml",
        "gate RUN2 --limits limits.toml --baseline RUN",
        "profile RUNS --out p.html",
        "trend RUN RUN2",
    ),
    "onward": (
        "judge RUN --model sim/default",
        "annotate RUN",
        "review RUN --out packets",
        "view RUN --export pages",
        "pack RUNS --to all.zip",
        "pack --verify all.zip",
    ),
    "whole": (
        "audit AUDIT --model sim/strong --budget 300",
        "status audit",
        "profile audit",
        "gate audit --limits limits.toml",
        "calibrate NAME --repetitions 1 --sizes 1",
    ),
}
"""Commands after a run, by a name: what stands in capitals is replaced."""
FACTORS: dict[str, Sequence[str]] = {
    "study": tuple(STUDIES),
    "commands": tuple(GROUPS),
    "with": ("", "no-image", "mine.toml", "blank-image"),
    "exact": ("", "--exact"),
    "sample": ("", "24"),
    "store": ("folder", "url"),
    "models": ("1", "2"),
}
FEW: dict[str, Sequence[str]] = FACTORS | {
    "study": ("variant.toml", "judged.toml", "pairs.toml"),
    "commands": ("before", "read", "beside", "onward"),
    "with": ("", "no-image", "mine.toml"),
}
"""What each change is tested with; all others are tests that take minutes."""


def _named(row: Row) -> str:
    return "-".join(level for level in row.values() if level)


@pytest.mark.parametrize("row", cover(FEW, 1), ids=_named)
def test_a_few_commands_end_in_a_result_or_one_sentence(row: Row, facevalue: Command) -> None:  # noqa: F811
    follow(row, facevalue)


@pytest.mark.slow
@pytest.mark.parametrize("row", cover(FACTORS, 1), ids=_named)
def test_all_commands_end_in_a_result_or_one_sentence(row: Row, facevalue: Command) -> None:  # noqa: F811
    follow(row, facevalue)


def test_each_pair_of_levels_is_tested() -> None:
    for factors in (FEW, FACTORS):
        assert set().union(*map(pairs_of, cover(factors, 1))) == all_pairs(factors)


def follow(row: Row, command: Command) -> None:
    """Ask a study in one combination, then give each command of its group."""
    furnish(Path())
    study = STUDIES[row["study"]]
    options = [*(["--with", row["with"]] if row["with"] else []), *([row["exact"]] if row["exact"] else [])]
    options += ["--sample", row["sample"]] if row["sample"] else []
    place = f"file://{Path.cwd()}/store/" if row["store"] == "url" else ""
    runs = [f"{place}run{number + 1}" for number in range(int(row["models"]))]
    for number, out in enumerate(runs):
        _ended(command, "run", *study, *options, "--model", f"sim/strong@{number}", "--out", out)
    images = study[study.index("--manifest") + 1] if "--manifest" in study else ""
    words: dict[str, Sequence[str]] = {
        "STUDY": study,
        "NAME": study[:1],
        "OPTIONS": options,
        "RUN": runs[:1],
        "RUN2": runs[-1:],
        "RUNS": runs,
        "LIST": [images or "people.csv", *(["--for", study[0]] if images or study[0].endswith(".toml") else [])],
        "AUDIT": ["--studies", study[0], "--out", f"{place}audit", *(["--images", images] if images else []),
                  *(option for option in options if option not in ("--sample", row["sample"]))],
        "audit": [f"{place}audit"],
    }  # fmt: skip
    for template in GROUPS[row["commands"]]:
        _ended(command, *(word for part in template.split() for word in words.get(part, [part])))


def _ended(command: Command, *words: str) -> None:
    """Give a command; it ends well, or says why not in one sentence."""
    told = " ".join(words)
    try:
        outcome = command(*words)
    except Exception as error:
        raise AssertionError(f"facevalue {told}") from error
    assert "Traceback" not in outcome.out + outcome.err, told
    if outcome.status not in (0, 3, 4):
        assert outcome.err.strip() or outcome.out.strip(), told
