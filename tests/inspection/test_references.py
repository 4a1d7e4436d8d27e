"""Colour and structure are those of scikit-image, where that is installed."""

import numpy as np
import pytest

from facevalue.inspection.edits import similarity_map
from facevalue.stimuli.pixels import lab
from tests.inspection.plants import noise

pytest.importorskip("skimage")


def test_cielab_is_that_of_scikit_image() -> None:
    from skimage.color import rgb2lab

    pixels = np.random.default_rng(1).integers(0, 256, (40, 40, 3), dtype=np.uint8)
    np.testing.assert_allclose(lab(pixels), rgb2lab(pixels), atol=0.02)


def test_structure_is_that_of_scikit_image() -> None:
    from skimage.metrics import structural_similarity

    first, second = (np.asarray(noise(seed, 96).convert("L"), dtype=np.float32) / 2.55 for seed in (1, 2))
    mixed = 0.7 * first + 0.3 * second
    _, expected = structural_similarity(  # type: ignore[no-untyped-call]
        first, mixed, data_range=100.0, gaussian_weights=True, sigma=1.5, use_sample_covariance=False, full=True
    )
    np.testing.assert_allclose(similarity_map(first, mixed), expected, atol=1e-3)
