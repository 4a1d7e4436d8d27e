"""Families of tests and pre-registration."""

import hashlib
from pathlib import Path
from unittest.mock import patch

import numpy as np
import numpy.typing as npt
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from facevalue.errors import DataError, FaceValueError, UnknownNameError
from facevalue.measures.families import (
    ANY_LABEL,
    MAX_BYTES,
    Family,
    apply_families,
    parse_preregistration,
    read_preregistration,
)
from facevalue.measures.multitest import adjust_p

Array = npt.NDArray[np.float64]

chances = st.lists(st.one_of(st.floats(0, 1), st.just(float("nan"))), min_size=0, max_size=30)


@given(p=chances, method=st.sampled_from([("holm", "holm"), ("bh", "fdr_bh"), ("by", "fdr_by")]))
def test_adjustment_agrees_with_statsmodels_and_leaves_nan_out(p: list[float], method: tuple[str, str]) -> None:
    from statsmodels.stats.multitest import multipletests

    values = np.array(p, dtype=np.float64)
    tested = ~np.isnan(values)
    q = adjust_p(values, method[0])
    assert np.isnan(q[~tested]).all()
    if tested.any():
        with patch("gc.collect"):  # which it calls each time, and which is slow where much is loaded
            expected = multipletests(values[tested], method=method[1])[1]
        np.testing.assert_allclose(q[tested], expected, atol=1e-12)


def test_adjustment_refuses_what_is_no_p_value() -> None:
    with pytest.raises(ValueError, match="between 0 and 1"):
        adjust_p(np.array([0.1, 1.5]), "holm")
    with pytest.raises(UnknownNameError, match="Did you mean 'holm'"):
        adjust_p(np.array([0.1]), "holmes")


# Families of a table of estimates


def table() -> pl.DataFrame:
    rows = [
        ("shift", "hair", None, 0.01, None, None),
        ("shift", "hat", None, 0.04, None, None),
        ("shift", "hair", "hiring", 0.2, None, None),
        ("shift", "hat", "hiring", None, None, None),
        ("spread", None, "hiring", 0.03, 0.5, "Table 11"),
    ]
    frame = pl.DataFrame(rows, schema=["measure", "attribute", "scenario", "p", "q", "family"], orient="row")
    return frame.with_columns(versus=pl.lit(None, pl.String))


def test_families_are_judged_each_for_itself() -> None:
    declared = Family("overall", "confirmatory", "shift", {"scenario": None})
    besides = Family("by scenario", "exploratory", "shift", {"scenario": (ANY_LABEL,)}, method="bh")
    out = apply_families([besides, declared], table())
    assert out["q"].to_list() == [0.02, 0.04, 0.2, None, 0.5]
    assert out["family"].to_list() == ["overall", "overall", "by scenario", "by scenario", "Table 11"]
    assert out["kind"].to_list() == ["confirmatory", "confirmatory", "exploratory", "exploratory", None]
    assert out["p"].to_list() == table()["p"].to_list()


def test_what_was_declared_is_not_explored_again() -> None:
    declared = Family("hair", "confirmatory", "shift", {"attribute": ("hair",), "scenario": None})
    out = apply_families([Family("all shifts", "exploratory", "shift", method="bh"), declared], table())
    assert out["family"].to_list()[:3] == ["hair", "all shifts", "all shifts"]
    assert out["q"].to_list()[:3] == pytest.approx([0.01, 0.08, 0.2])


def test_a_family_whose_tests_were_all_impossible_has_no_q() -> None:
    out = apply_families(
        [Family("hat", "confirmatory", "shift", {"attribute": ("hat",), "scenario": ("hiring",)})], table()
    )
    assert out.filter(pl.col("family") == "hat")["q"].to_list() == [None]


def test_no_families_change_nothing() -> None:
    out = apply_families([], table())
    assert out.drop("kind").equals(table())
    assert out["kind"].null_count() == out.height


@pytest.mark.parametrize(
    ("family", "says"),
    [
        (Family("f", "confirmatory", "shifft"), "family 'f': Unknown measure 'shifft'. Did you mean 'shift'?"),
        (
            Family("f", "confirmatory", "shift", {"attribute": ("hairs",)}),
            "family 'f': Unknown attribute 'hairs'. Did you mean 'hair'",
        ),
        (Family("f", "confirmatory", "shift", {"group": ("men",)}), "Unknown label 'group'"),
        (
            Family("f", "confirmatory", "shift", {"scenarios": None}),
            "Unknown label 'scenarios'. Did you mean 'scenario'?",
        ),
        (Family("f", "confirmatory", "spread", {"attribute": ("hair",)}), "selects no estimate of 'spread'"),
        (Family("f", "confirmatory", "spread", {"scenario": None}), "scenario over all"),
    ],
)
def test_a_family_that_names_nothing_says_what_there_is(family: Family, says: str) -> None:
    with pytest.raises(FaceValueError) as error:
        apply_families([family], table())
    assert says in str(error.value)


def test_a_test_belongs_to_one_family_of_a_kind() -> None:
    twice = [Family("a", "confirmatory", "shift"), Family("b", "confirmatory", "shift", {"attribute": ("hair",)})]
    with pytest.raises(DataError, match="'a' and 'b' share tests"):
        apply_families(twice, table())
    with pytest.raises(DataError, match="Two families have the name 'a'"):
        apply_families([twice[0], twice[0]], table())


def test_a_family_is_never_half_built() -> None:
    with pytest.raises(UnknownNameError, match="Did you mean 'confirmatory'"):
        Family("f", "confirmatry", "shift")
    with pytest.raises(DataError, match="alpha"):
        Family("f", "confirmatory", "shift", alpha=5)
    with pytest.raises(DataError, match="names no level"):
        Family("f", "confirmatory", "shift", {"scenario": ()})


# Pre-registration

FILE = """\
alpha = 0.01
[margin]
shift = 0.02
[[family]]
name = "tattoos and fashion"
measure = "shift"
[family.where]
attribute = ["tattoos", "fashion_style"]
scenario = []
group = "*"
[[family]]
name = "spread"
measure = "spread"
method = "by"
alpha = 0.05
"""


def test_a_preregistration_is_read_whole_and_hashed(tmp_path: Path) -> None:
    path = tmp_path / "declared.toml"
    path.write_bytes(FILE.encode())
    declared = read_preregistration(path, measures=["shift", "spread"])
    assert declared.sha256 == hashlib.sha256(path.read_bytes()).hexdigest()
    assert declared.text == FILE
    assert declared.margins == {"shift": 0.02}
    where = {"attribute": ("tattoos", "fashion_style"), "scenario": None, "group": ("*",)}
    assert declared.families == (
        Family("tattoos and fashion", "confirmatory", "shift", where, "holm", 0.01),
        Family("spread", "confirmatory", "spread", {}, "by", 0.05),
    )


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "declares neither a family nor a margin"),
        ("alpha = 0.05", "declares neither"),
        ("alpha = 5\n[margin]\nshift=0.1", "alpha is 5"),
        ("alpha = true\n[margin]\nshift=0.1", "alpha is True"),
        ("[margins]\nshift = 0.1", "Did you mean 'margin'?"),
        ("margin = 0.02", "[margin] is a table"),
        ("[margin]\nshift = 0", "no sample however large could show equivalence"),
        ("[margin]\nshift = nan", "no sample however large"),
        ("[margin]\nshift = inf", "finite"),
        ("[margin]\nshift = '0.02'", "must be a number above 0"),
        (f"[margin]\nshift = 1{'0' * 400}", "must be a number above 0"),
        (f"[margin]\nshift = 1{'0' * 5000}", "not valid TOML"),
        ("[margin]\nshifft = 0.02", "Unknown measure 'shifft'. Did you mean 'shift'?"),
        ("[family]\nname = 'a'", "[[family]]"),
        ("[[family]]\nname = 'a'", "family 'a': 'measure' is missing"),
        ("[[family]]\nmeasure = 'shift'", "family 1: 'name' is missing"),
        ("[[family]]\nname = 'a'\nmeasure = 'vz'", "family 'a': Unknown measure 'vz'"),
        ("[[family]]\nname = 'a'\nmeasure = 'shift'\nmethod = 'fdr'", "Unknown method 'fdr'"),
        ("[[family]]\nname = 'a'\nmeasure = 'shift'\nkind = 'exploratory'", "Unknown key 'kind'"),
        ("[[family]]\nname = 'a'\nmeasure = 'shift'\nwhere = 1", "[family.where] is a table"),
        ("[[family]]\nname = 'a'\nmeasure = 'shift'\nwhere = {attribut = ['x']}", "Did you mean 'attribute'"),
        ("[[family]]\nname = 'a'\nmeasure = 'shift'\nwhere = {attribute = [1]}", "list of texts"),
        ("[[family]]\nname = 'a'\nmeasure = 'shift'\n" * 2, "Two families have the name 'a'"),
        ("x = " + "[" * 5000, "not valid TOML"),
        ("\x00", "not valid TOML"),
        ("#" + "x" * MAX_BYTES, "larger than 256 KiB"),
    ],
)
def test_what_is_wrong_with_a_preregistration_is_named(text: str, says: str) -> None:
    with pytest.raises(FaceValueError) as error:
        parse_preregistration(text.encode(), ["shift", "spread"], ["attribute", "scenario"], name="declared.toml")
    assert says in str(error.value)
    assert str(error.value).startswith("declared.toml")


def test_other_encodings_and_missing_files_are_errors(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="UTF-8"):
        parse_preregistration("[margin]\n'é' = 1".encode("latin-1"))
    for path in (tmp_path, tmp_path / "none.toml"):
        with pytest.raises(DataError, match="pre-registration"):
            read_preregistration(path)


@given(data=st.binary(max_size=200))
def test_any_bytes_give_a_declaration_or_a_clear_error(data: bytes) -> None:
    with pytest.raises(FaceValueError):
        parse_preregistration(data)


def test_any_name_that_was_declared_holds_to_the_end() -> None:
    declared = parse_preregistration(FILE.replace("tattoos and fashion", "hair").encode())
    frame = pl.DataFrame(
        {
            "measure": ["shift", "shift", "spread"],
            "versus": None,
            "attribute": ["tattoos", "fashion_style", None],
            "scenario": [None, None, "hiring"],
            "group": ["women", "men", None],
            "p": [0.01, 0.02, 0.03],
        }
    )
    out = apply_families(declared.families, frame)
    assert out["q"].to_list() == pytest.approx([0.02, 0.02, 0.03])


def test_changes_belong_to_a_family_that_names_them_alone() -> None:
    changes = table().with_columns(versus=pl.lit("no intervention"))
    both = pl.concat([table(), changes], how="vertical_relaxed")
    levels = Family("levels", "confirmatory", "shift", {"scenario": None})
    own = Family("changes", "confirmatory", "shift", {"scenario": None, "versus": ("no intervention",)})
    out = apply_families([levels, own], both)
    assert out.filter(family="levels")["versus"].null_count() == out.filter(family="levels").height == 2
    assert out.filter(family="changes")["versus"].to_list() == ["no intervention"] * 2
