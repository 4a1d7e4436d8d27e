"""Samples of people: equal numbers in every cell of age, skin tone and build."""

from collections.abc import Mapping
from itertools import product

from facevalue.errors import DataError, UnknownNameError
from facevalue.stimuli.portraits.levels import AGES, BUILDS, GENDERS, SKIN_TONES, Identity
from facevalue.stimuli.portraits.streams import Stream

CELLS: tuple[tuple[str, str, str], ...] = tuple(product(AGES, SKIN_TONES, BUILDS))


def sample_identities(counts: Mapping[str, int], seed: int) -> list[Identity]:
    """Return identities, so many of each gender, balanced over age x skin tone x build within it.

    Of n identities of a gender, each of the 90 cells holds n // 90, and a seeded choice of n % 90 cells one
    more. A longer list with the same seed begins with the shorter one. Cells are mixed along the list.

    >>> [person.id for person in sample_identities({"male": 2, "female": 1}, seed=1)]
    ['m-0001', 'm-0002', 'f-0001']
    """
    for gender, n in counts.items():
        if gender not in GENDERS:
            raise UnknownNameError("gender", gender, GENDERS)
        if n < 0:
            raise DataError(f"The number of {gender} identities must not be negative: {n}.")
    people: list[Identity] = []
    for gender in GENDERS:
        n = counts.get(gender, 0)
        cells = Stream(seed, f"cells:{gender}").shuffle(CELLS)
        for i in range(n):
            age, tone, build = cells[i % len(cells)]
            identity_seed = Stream(seed, f"identity:{gender}:{i}").index(2**53)
            people.append(Identity(f"{gender[0]}-{i + 1:04d}", identity_seed, gender, age, tone, build))
    return people
