"""The design of VIGNETTE as arithmetic: Table 8, its samples, and how variants hang together."""

from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from facevalue.errors import DataError
from facevalue.studies.vignette.design import Cast, Layout, product_layout, prompts
from facevalue.studies.vignette.pictures import casts, everyone
from facevalue.studies.vignette.settings import SETTINGS, selection
from facevalue.types import OptionValue

DEFAULTS: dict[str, OptionValue] = {setting.name: setting.default for setting in SETTINGS}
TABLE_8 = {  # identity, activity and identity-activity contrast
    "ability": ((3375, 27750, 249750), (3375, 27750, 249750)),
    "age": ((2700, 24975, 199800), (2700, 24975, 199800)),
    "nationality": ((24375, 72150, 1803750), (24375, 72150, 1803750)),
    "race": ((6825, 38850, 505050), (6825, 38850, 505050)),
    "physical traits": ((58500, 111000, 4329000), (49950, 102675, 3696300)),
    "religion": ((4950, 33300, 366300), (4950, 33300, 366300)),
    "socioeconomic": ((107325, 149850, 7942050), (107325, 149850, 7942050)),
    "gender": ((75, 5550, 5550), None),
}


def layout(**options: OptionValue) -> Layout:
    chosen = selection({**DEFAULTS, **options})
    return product_layout(casts(everyone(chosen)), chosen, options.get("overlaps") == "drop", released=False)


@pytest.fixture(scope="module")
def whole() -> Layout:
    return layout()


def test_every_cell_of_table_8(whole: Layout) -> None:
    found = {
        (b.constants["gender"], b.constants["dimension"], b.constants["contrast"]): b.stimuli
        for b in whole.design.blocks
    }
    for dimension, sides in TABLE_8.items():
        for gender, cells in zip(("male", "female"), sides, strict=True):
            for contrast, count in zip(("identity", "activity", "identity-activity"), cells or (), strict=False):
                assert found.pop((gender, dimension, contrast)) == count
    portraits: Counter[str] = Counter()
    for (gender, _, contrast), count in found.items():
        assert contrast == "portrait"
        portraits[gender] += count
    assert portraits == {"male": 2775, "female": 2660}


def test_what_is_asked_of_each_contrast() -> None:
    asked = {
        c: Counter(p.paradigm for p in prompts(c)) for c in ("identity", "activity", "identity-activity", "portrait")
    }
    assert asked == {
        "identity": {"factuality": 2, "perception": 4, "decision": 6},
        "activity": {"perception": 4},
        "identity-activity": {"factuality": 4, "perception": 8},
        "portrait": {"stereotype": 60},
    }
    released = prompts("identity", irrelevant=True)
    assert Counter(p.paradigm for p in released)["decision"] == 9


def test_overlapping_identities_are_paired_unless_they_are_dropped() -> None:
    kept, dropped = (
        layout(dimension=["age"], contrast=["portrait"]),
        layout(dimension=["age"], contrast=["portrait"], overlaps="drop"),
    )
    assert kept.design.size > dropped.design.size
    names = dropped.design.trials(np.arange(dropped.design.size)).select("identity_1", "identity_2").unique()
    assert ("child", "little") not in {tuple(sorted(map(str, row))) for row in names.iter_rows()}


@given(st.integers(1, 3000), st.integers(0, 5))
def test_a_sample_has_the_size_that_was_asked_for_and_all_variants_of_what_it_asks(size: int, seed: int) -> None:
    small = VARIANTS
    if size < 12:
        return
    numbers = small.sample(size, seed, 1)
    assert 0 <= size - numbers.size < 12 * 4
    assert np.unique(numbers).size == numbers.size
    frame = small.design.trials(numbers)
    pair = small.pair_numbers(numbers)
    counts = Counter(zip(pair.tolist(), frame["prompt"].to_list(), frame["shown"].to_list(), strict=True))
    for (number, prompt, shown), count in counts.items():
        assert count == (4 if shown == "picture" else 2)
        if prompt not in ("doing 1", "doing 2", "who 1", "who 2"):
            assert (number, prompt, "text" if shown == "picture" else "picture") in counts


VARIANTS = layout(
    dimension=["religion"], contrast=["identity", "portrait"], wording=["1", "2"], reference=["identity", "position"],
    shown=["picture", "text"], activity=["cooking", "fishing"],
)  # fmt: skip


def test_samples_give_each_paradigm_and_block_an_equal_share(whole: Layout) -> None:
    frame = whole.design.trials(whole.sample(10_000, 1, 1))
    counts = frame.group_by("block", "paradigm").len()["len"]
    assert counts.len() == sum(len({p.paradigm for p in prompts(b.constants["contrast"])}) for b in whole.design.blocks)
    assert set(counts.to_list()) == {60, 95, 96}  # the two portraits of gender are asked about 60 times in all


def test_a_sample_larger_than_the_design_is_an_error() -> None:
    small = layout(dimension=["gender"], contrast=["portrait"])
    assert small.sample(60, 1, 1).size == 60
    with pytest.raises(DataError, match="61 cannot be drawn: the design has 60"):
        small.sample(61, 1, 1)


def test_a_sample_too_small_for_one_prompt_with_its_variants_is_an_error() -> None:
    with pytest.raises(DataError, match="too small"):
        VARIANTS.sample(1, 1, 1)


def test_identities_of_different_dimensions_are_no_pair() -> None:
    with pytest.raises(DataError, match="two identities within one dimension"):
        layout(identity=["old", "doctor"], contrast=["identity"])


def test_a_cast_without_activities_has_portraits_alone() -> None:
    cast = Cast("male", "age", (), ("old", "young"), ())
    assert cast.axes("identity", drop=False) is None
    portraits = cast.axes("portrait", drop=False)
    assert portraits is not None
    assert len(portraits[0]) == 1
