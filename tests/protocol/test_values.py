"""Values of estimands without resampling are the very values that come with it: groups left out are told alike."""

from pathlib import Path

import polars as pl
import pytest

import facevalue as fv
from facevalue.measures.cluster_bootstrap import values_only
from facevalue.measures.estimates import label_columns
from facevalue.protocol.study import Study
from facevalue.runs.stored_run import answers
from tests.protocol.conftest import Reader

PICTURES = """name = "small"
[pictures]
kind = "portraits"
people = "12"
[pictures.cues]
eyewear = ["thick-rimmed"]
[sampling]
seeds = [1, 2]
[prompt]
text = "Is this person {trait}? Answer with only {options}."
[factor.trait]
levels = ["kind", "lazy"]
"""
YES = '[answer]\nkind = "yes-no"\n'
LEFT_OUT = """[answer]
kind = "choice"
options = ["yes", "no", "unsure"]
[answer.scores.score_a]
yes = 1
no = -1
unsure = "left out"
[answer.scores.score_b]
yes = 1
no = 0
unsure = 0
"""


def of(statistic: str, **keys: str) -> str:
    return f'[[estimand]]\nstatistic = "{statistic}"\n' + "".join(f"{key} = {value}\n" for key, value in keys.items())


def check(study: Study, frame: pl.DataFrame) -> None:
    full = study.analyse({"sim": iter([frame])})
    with values_only():
        quick = study.analyse({"sim": iter([frame])})
    labels = ["measure", *label_columns(full)]
    first, second = (table.select(*labels, "value", "n", "clusters").sort(labels) for table in (quick, full))
    assert full["value"].is_not_null().any()
    for name in ("n", "clusters", "value"):
        apart = first.filter(~first[name].eq_missing(second[name]))
        assert first.select(labels).equals(second.select(labels))
        assert not apart.height, (name, apart, second.filter(~first[name].eq_missing(second[name])))


@pytest.mark.parametrize(
    "text",
    [
        YES + of("mean", by='["trait"]') + of("shift", by='["trait"]', size="true"),
        YES + of("gap", factor='"gender"', by='["trait"]') + of("gap", factor='"trait"'),
        YES + of("gap", factor='"age"', of_shifts="true") + of("lean"),
        YES + of("spread", factor='"gender"') + of("spread", factor='"age"', by='["trait"]', measure='"by_age"'),
        YES + of("tally", factor='"gender"') + of("tally", factor='"variation"', measure='"moved"'),
        YES + of("flip", by='["trait"]'),
        LEFT_OUT + of("mean") + of("gap", factor='"gender"') + of("gap", factor='"trait"', by='["gender"]'),
        '[answer]\nkind = "rating"\nlow = 1\nhigh = 7\n' + of("mean") + of("gap", factor='"gender"', welch="true"),
        '[answer]\nkind = "list"\n' + of("similarity", by='["trait"]') + of("mean"),
    ],
)  # fmt: skip
def test_values_counts_and_units_are_the_same(text: str, read: Reader, tmp_path: Path) -> None:
    text = PICTURES + text
    read(text.replace(" Answer with only {options}.", "") if 'kind = "list"' in text else text)
    opened = fv.run(tmp_path / "small.toml", "sim/strong", tmp_path / "run", progress=False)
    check(opened.stored.study, pl.concat(answers(opened.stored)))
