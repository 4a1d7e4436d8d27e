"""Files of limits: what they say, and each mistake with its line."""

import math
from pathlib import Path

import pytest

from facevalue.errors import DataError
from facevalue.limits.limits_file import KEYS, parse_limits, read_limits, stated_limits

WHOLE = """
# What may be.
[[limit]]
name = "cues"
study = "stylisticbias"
measure = "shift"
by = ["variation"]
where = {variation = ["sunglasses"], scenario = "kind"}
missing = "leave out"
absolute = 0.2

[[limit]]
measure = "impact_ratio"
at_least = 0.8

[[limit]]
measure = "missing_share"
rise = 0.05

[[limit]]
measure = "shift"
findings = 2
detects = 0.1
"""


def parse(text: str) -> str:
    """The error of a file."""
    with pytest.raises(DataError) as error:
        parse_limits(text.encode(), "l.toml")
    return str(error.value)


def test_a_file_says_all_that_a_limit_has() -> None:
    cues, ratio, rise, few = parse_limits(WHOLE.encode(), "l.toml")
    assert (cues.name, cues.study, cues.measure, cues.by, cues.line) == (
        "cues",
        "stylisticbias",
        "shift",
        ("variation",),
        3,
    )
    assert cues.where == {"variation": ("sunglasses",), "scenario": ("kind",)}
    assert (cues.labels, cues.counts_missing) == (("variation", "scenario"), False)
    assert (cues.at_least, cues.at_most, cues.of_change) == (-0.2, 0.2, False)
    assert (ratio.name, ratio.at_most) == ("impact_ratio, at least 0.8", math.inf)
    assert (rise.name, rise.of_change, rise.at_least) == ("change in missing_share, at most 0.05", True, -math.inf)
    assert (few.findings, few.detects) == (2, 0.1)
    assert few.name == "findings of shift, at most 2, and none of 0.1 missed"


def test_the_documentation_names_every_key() -> None:
    page = (Path(__file__).parents[2] / "docs/how-to/gate.md").read_text(encoding="utf-8")
    assert [key for key in KEYS if f"`{key}`" not in page] == []


LIMIT = '[[limit]]\nmeasure = "shift"\n'


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "has no limit: begin each with a line [[limit]]"),
        ("[limit]\nabsolute = 1", "line 1: 'limit' is written as [[limit]] tables"),
        ("[[limits]]\nabsolute = 1", "line 1: Unknown table 'limits'. Did you mean 'limit'?"),
        (f"{LIMIT}absolute = .2", "Numbers begin with a digit: write 0.2."),
        (f"{LIMIT}absolute = 'x'", "line 3: 'absolute' is a number, not 'x'"),
        (f"{LIMIT}absolute = nan", "line 3: 'absolute' is a number, not nan"),
        (f"{LIMIT}at_most = inf", "line 3: 'at_most' is a number, not inf"),
        (f"{LIMIT}absolute = -0.2", "line 3: 'absolute' is a number above zero, not -0.2"),
        (f"{LIMIT}change = 0", "no interval, however narrow, lies within less"),
        (f"{LIMIT}absolut = 0.2", "line 3: Unknown key 'absolut'. Did you mean 'absolute'?"),
        (LIMIT, "line 1: the limit sets no bound: absolute, at_least"),
        (f"{LIMIT}absolute = 0.2\nchange = 0.1", "line 4: 'absolute' and 'change' are limits of two kinds"),
        (f"{LIMIT}absolute = 0.2\nat_most = 0.1", "line 4: 'absolute' is for either way: leave 'at_most' out"),
        (f"{LIMIT}change = 0.2\nfall = 0.1", "line 4: 'change' is for either way"),
        (f"{LIMIT}at_least = 0.3\nat_most = 0.1", "line 3: no interval lies between 0.3 and 0.1"),
        ("[[limit]]\nabsolute = 0.2", "'measure' is missing"),
        ("[[limit]]\nfindings = 0\nby = ['variation']", "line 3: 'measure' is missing: labels are those of a measure"),
        (f"{LIMIT}findings = -1", "line 3: 'findings' is a whole number from 0, not -1"),
        (f"{LIMIT}findings = 0.5", "line 3: 'findings' is a whole number from 0, not 0.5"),
        (f"{LIMIT}detects = 0.1", "'findings' is missing"),
        ("[[limit]]\nfindings = 0\ndetects = 0.1", "line 3: 'detects' is in the unit of a measure"),
        (f"{LIMIT}findings = 0\nmissing = 'count'", "line 4: 'missing' goes with limits of values"),
        (f"{LIMIT}absolute = 0.2\nmissing = 'ignore'", "line 4: Unknown treatment of missing answers 'ignore'"),
        (f"{LIMIT}absolute = 0.2\nby = [1]", "line 4: 'by' is a list of texts in quotes"),
        (f"{LIMIT}absolute = 0.2\nby = ['a', 'a']", "line 4: 'by' names 'a' twice"),
        (f"{LIMIT}absolute = 0.2\nwhere = 'a'", "line 4: 'where' is a table"),
        (f"{LIMIT}absolute = 0.2\nwhere = {{a = []}}", "line 4: 'where' names no level of 'a'"),
        (f"{LIMIT}absolute = 0.2\n{LIMIT}absolute = 0.2", "line 4: the limit in line 1 is called"),
        (f"{LIMIT}absolute = 0.2\nabsolute = 0.3", "is not valid TOML: Cannot overwrite a value"),
    ],
)
def test_each_mistake_is_named_with_its_line(text: str, words: str) -> None:
    assert words in parse(text)


def test_a_file_that_is_not_there_names_the_nearest(tmp_path: Path) -> None:
    (tmp_path / "limits.toml").write_text(WHOLE)
    with pytest.raises(DataError, match=r"Did you mean 'limits.toml'"):
        read_limits(tmp_path / "limit.toml")


def test_limits_of_python_are_checked_alike() -> None:
    with pytest.raises(DataError, match="Unknown key 'absolut'"):
        stated_limits([{"measure": "shift", "absolut": 0.2}])
    with pytest.raises(DataError, match="has no limit"):
        stated_limits([])


def test_a_score_may_stand_behind_the_name_of_its_measure() -> None:
    (limit,) = parse_limits(b'[[limit]]\nmeasure = "log_odds.as released"\nabsolute = 1', "l.toml")
    assert (limit.measure, limit.where) == ("log_odds", {"score": ("as released",)})
    (stated,) = parse_limits(
        b'[[limit]]\nmeasure = "log_odds"\nwhere = {score = "as released"}\nabsolute = 1', "l.toml"
    )
    assert limit == stated
    twice = '[[limit]]\nmeasure = "log_odds.as released"\nwhere = {score = "all"}\nabsolute = 1'
    assert "'measure' and 'where' both name a score" in parse(twice)
