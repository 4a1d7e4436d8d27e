"""How many images the paper counts for its pairs of people and activities, as blocks.

VIGNETTE, Appendix A.2, Table 8: with n identities in a dimension and 75 activities.
"""

from math import comb

import pytest

from facevalue.design import Axis, Block, Design, Factor, Pairs

ACTIVITIES = Factor("activity", tuple(f"activity {i}" for i in range(75)))


def dimension(name: str, n: int) -> list[Block]:
    """The four kinds of images of one dimension and gender."""
    identity = Factor("identity", tuple(f"{name} {i}" for i in range(n)))
    kinds: dict[str, tuple[Axis, ...]] = {
        "individual": (identity, ACTIVITIES),
        "identity contrast": (Pairs(identity), ACTIVITIES),
        "activity contrast": (identity, Pairs(ACTIVITIES)),
        "identity-activity contrast": (Pairs(identity), Pairs(ACTIVITIES, ordered=True)),
    }
    return [Block(f"{name} {kind}", axes, constants={"kind": kind}) for kind, axes in kinds.items()]


# Dimension, and for men and women: identities, individual images, the three contrasts. As printed.
TABLE_8 = """
Ability                   10 750 3375 27750 249750        10 750 3375 27750 249750
Age                       9 675 2700 24975 199800         9 675 2700 24975 199800
Nationality               26 1950 24375 72150 1803750     26 1950 24375 72150 1803750
Race/Ethnicity/Color      14 1050 6825 38850 505050       14 1050 6825 38850 505050
Physical_Traits           40 3000 58500 111000 4329000    37 2775 49950 102675 3696300
Religion                  12 900 4950 33300 366300        12 900 4950 33300 366300
Socioeconomic_Status      54 4050 107325 149850 7942050   54 4050 107325 149850 7942050
Gender                    2 150 75 5550 5550              0 0 0 0 0
"""
TOTALS = {"male": [167, 12_525, 208_125, 463_425, 15_401_250], "female": [162, 12_150, 199_500, 449_550, 14_763_000]}
ROWS = [line.split() for line in TABLE_8.strip().splitlines()]


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row[0])
def test_each_dimension(row: list[str]) -> None:
    for printed in (row[1:6], row[6:]):
        n, *sizes = map(int, printed)
        if n:
            assert [len(block) for block in dimension(row[0], n)] == sizes
            assert sizes == [75 * n, 75 * comb(n, 2), n * comb(75, 2), comb(n, 2) * 75 * 74]


@pytest.mark.parametrize(("gender", "first"), [("male", 1), ("female", 6)])
def test_all_images_of_a_gender_are_one_design(gender: str, first: int) -> None:
    identities = {row[0]: int(row[first]) for row in ROWS if int(row[first])}
    design = Design(tuple(block for name, n in identities.items() for block in dimension(name, n)))
    kinds = ("individual", "identity contrast", "activity contrast", "identity-activity contrast")
    assert [sum(identities.values()), *(design.select_levels({"kind": [kind]}).size for kind in kinds)] == TOTALS[
        gender
    ]
    assert design.size == sum(TOTALS[gender][1:])
    last = design.trials([design.size - 1])
    assert design.numbers(last).tolist() == [design.size - 1]
