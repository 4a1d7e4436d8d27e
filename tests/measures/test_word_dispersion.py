"""Standard errors of words of groups: occurrences of one image belong together, however many there are."""

import numpy as np
import pytest

from facevalue.measures.word_association import association, dispersions, presence, standard_errors


def _counted(times: np.ndarray) -> np.ndarray:
    """Standard errors of one word from its occurrences, shape (sets, groups)."""
    sets, groups = times.shape
    there = (times > 0) @ (1 << np.arange(groups))
    some = np.flatnonzero(there)
    found = presence(
        np.zeros(some.size, np.int64), there[some].astype(np.uint64), 1, np.full(groups, float(sets)), in_sets=True
    )
    sums = [part.sum(axis=0)[:, None].astype(float) for part in (times, times**2, times > 0)]
    return standard_errors(found, dispersions(*sums))[:, 0]


@pytest.mark.parametrize(("shared", "most"), [(0.0, 1.15), (1.0, 2.5)])
def test_it_is_that_of_the_logarithm_of_a_ratio_over_sets_or_more(shared: float, most: float) -> None:
    """Where images of a set have a word often together, it is larger."""
    rng = np.random.default_rng(1)
    rate = 2 * (1 - shared + shared * rng.gamma(1.0, 1.0, (400, 1)))
    times = rng.poisson(rate * np.array([2.0, 1.0]))
    x, y = times[:, 0] / times[:, 0].sum(), times[:, 1] / times[:, 1].sum()
    exact = np.sqrt(((x - y) ** 2).sum()) / np.log(2)
    assert 0.9 * exact < _counted(times)[0] < most * exact


@pytest.mark.parametrize("spread", [0.0, 3.0])
def test_it_is_the_scatter_of_the_score(spread: float) -> None:
    """Audits of the same kind scatter by as much as each says, also where few images have a word very often."""
    rng = np.random.default_rng(2)
    scores, errors = [], []
    for _ in range(300):
        rate = 2 * (1 - spread / 4 + spread * (rng.random((150, 3)) < 0.25))
        times = rng.poisson(rate * np.array([2.0, 1.0, 1.0]))
        scores.append(association(times.sum(axis=0)[:, None].astype(float), np.full(3, 1e6))[0, 0])
        errors.append(_counted(times)[0])
    assert np.mean(errors) == pytest.approx(np.std(scores), rel=0.15)


def test_words_that_each_image_has_once_have_no_dispersion() -> None:
    of_own, of_others = dispersions(*(np.full((2, 1), 7.0) for _ in range(3)))
    assert of_own.tolist() == of_others.tolist() == [[1.0], [1.0]]
