"""Standard errors of words of groups: occurrences of one image belong together, however many there are."""

import numpy as np
import pytest

from facevalue.studies.counterfactuals.word_association import Occurrences, association_scores, standard_errors


def _error(times: np.ndarray) -> float:
    """Standard error of a word of the first group from its occurrences, shape (sets, groups)."""
    crossed = times * (times.sum(axis=1, keepdims=True) - times)
    sums = (part.sum(axis=0)[:, None].astype(float) for part in (times, times**2, crossed, times > 0))
    return float(standard_errors(Occurrences(*sums))[0, 0])


@pytest.mark.parametrize("shared", [0.0, 1.0])
def test_it_is_that_of_the_logarithm_of_a_ratio_over_sets(shared: float) -> None:
    """Also where images of a set have a word often together."""
    rng = np.random.default_rng(1)
    rate = 2 * (1 - shared + shared * rng.gamma(1.0, 1.0, (400, 1)))
    times = rng.poisson(rate * np.array([2.0, 1.0, 0.5]))
    rest = times[:, 1:].sum(axis=1)
    x, y = times[:, 0] / times[:, 0].sum(), rest / rest.sum()
    assert _error(times) == pytest.approx(np.sqrt(((x - y) ** 2).sum()) / np.log(2))


@pytest.mark.parametrize("spread", [0.0, 3.0])
def test_it_is_the_scatter_of_the_score(spread: float) -> None:
    """Audits of the same kind scatter by as much as each says, also where few images have a word very often."""
    rng = np.random.default_rng(2)
    scores, errors = [], []
    for _ in range(300):
        rate = 2 * (1 - spread / 4 + spread * (rng.random((150, 3)) < 0.25))
        times = rng.poisson(rate * np.array([2.0, 1.0, 1.0]))
        scores.append(association_scores(times.sum(axis=0)[:, None].astype(float), np.full(3, 1e6))[0, 0])
        errors.append(_error(times))
    assert np.mean(errors) == pytest.approx(np.std(scores), rel=0.15)


def test_without_sets_images_scatter_by_themselves() -> None:
    rng = np.random.default_rng(3)
    scores, errors = [], []
    for _ in range(300):
        groups = [rng.binomial(1, share, 200) * rng.integers(1, 4, 200) for share in (0.6, 0.3)]
        tokens, squares, images = (
            np.array([[float(of(own).sum())] for own in groups]) for of in (np.abs, np.square, np.sign)
        )
        scores.append(association_scores(tokens, np.full(2, 1e6))[0, 0])
        found = Occurrences(tokens, squares, np.zeros((2, 1)), images)
        errors.append(standard_errors(found, np.full(2, 200.0))[0, 0])
    assert np.mean(errors) == pytest.approx(np.std(scores), rel=0.15)


def test_a_word_of_one_image_has_no_error() -> None:
    assert np.isnan(_error(np.array([[3, 1], [0, 1]])))
