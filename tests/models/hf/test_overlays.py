"""Maps land where they belong, and their colours mean one thing, also in grey."""

import numpy as np
import numpy.typing as npt
import pytest
from PIL import Image

from facevalue.models.hf.overlays import HEIGHT, Map, colours, fit_picture, heads, overlay, spread

GRID = np.array([[x / 4, y / 2, (x + 1) / 4, (y + 1) / 2] for y in range(2) for x in range(4)])
WHITE = Image.new("RGB", (80, 40), "white")


def oklab(rgb: npt.NDArray[np.uint8]) -> npt.NDArray[np.float64]:
    """From 8-bit sRGB to OKLab (Ottosson 2020), in the direction that `colours` does not go."""
    share = rgb / 255.0
    linear = np.where(share <= 0.04045, share / 12.92, ((share + 0.055) / 1.055) ** 2.4)
    cones = linear @ np.array(
        [[0.4122214708, 0.5363325363, 0.0514459929], [0.2119034982, 0.6806995451, 0.1073969566],
         [0.0883024619, 0.2817188376, 0.6299787005]]
    ).T  # fmt: skip
    lab: npt.NDArray[np.float64] = np.cbrt(cones) @ np.array(
        [[0.2104542553, 0.793617785, -0.0040720468], [1.9779984951, -2.428592205, 0.4505937099],
         [0.0259040371, 0.7827717662, -0.808675766]]
    ).T  # fmt: skip
    return lab


def test_equal_steps_of_the_colours_look_equal_and_stay_a_scale_in_grey() -> None:
    lab = oklab(colours(16))
    steps = np.linalg.norm(np.diff(lab, axis=0), axis=1)
    assert steps.max() / steps.min() < 1.15  # eight bits round a little
    assert np.diff(lab[:, 0]).min() > 0.03
    grey = np.asarray(Image.fromarray(colours()[None]).convert("L"))[0].astype(int)
    assert np.all(np.diff(grey) >= 0)
    assert grey[-1] - grey[0] > 180


@pytest.mark.parametrize("token", range(8))
def test_what_is_planted_on_one_token_lands_on_its_part_of_the_picture(token: int) -> None:
    values = np.zeros(8)
    values[token] = 0.1
    shown = spread(values, GRID, (80, 40)).times_even
    x, y = token % 4, token // 4
    assert np.allclose(shown[20 * y : 20 * y + 20, 20 * x : 20 * x + 20], 8.0)
    assert np.count_nonzero(shown) == 400


def test_what_was_not_shown_has_no_number_and_the_mean_of_the_rest_is_one() -> None:
    boxes = np.vstack([GRID[[1, 2, 5, 6]], [[np.nan] * 4], [[0.25, 0.0, 0.75, 1.0]]])
    shown = spread(np.array([1, 2, 3, 4, 99, 5]), boxes, (81, 43)).times_even
    assert np.isnan(shown[:, :19]).all()
    assert np.isnan(shown[:, 62:]).all()
    assert np.nanmean(shown) == pytest.approx(1.0)


def test_a_tile_adds_to_the_whole() -> None:
    shown = spread([1, 1], np.array([[0, 0, 1, 1], [0, 0, 0.5, 1]]), (2, 1)).times_even
    assert shown.tolist() == [[1.5, 0.5]]


def test_nothing_attended_to_is_nothing_not_missing() -> None:
    shown = spread(np.zeros(8), GRID, (8, 4))
    assert not shown.times_even.any()
    assert shown.top == 1.0


def test_the_brightest_place_of_an_overlay_is_where_most_attention_is() -> None:
    values = np.full(8, 0.5)
    values[6] = 4.0
    made = np.asarray(overlay(WHITE, spread(values, GRID, WHITE.size), "Attention").convert("L")).astype(int)
    left, top = 12 + 80 + 12, 12 + 13 + 6  # the second panel
    cells = [made[top + 20 * y + 10, left + 20 * x + 10] for y in range(2) for x in range(4)]
    assert int(np.argmax(cells)) == 6
    assert len({*cells}) == 2
    assert (made[top : top + 40, 12 : 12 + 80] == 255).all()  # the picture itself


def test_the_picture_below_has_a_fixed_opacity() -> None:
    even = Map(np.ones((40, 80)))
    light, dark = (
        np.asarray(overlay(Image.new("RGB", (80, 40), shade), even, "x")).astype(int)[40, 150]
        for shade in ("white", "black")
    )
    assert np.allclose(light - dark, 0.3 * 255, atol=1)


def test_what_was_not_shown_has_no_colour() -> None:
    half = np.ones((40, 80))
    half[:, :40] = np.nan
    made = np.asarray(overlay(WHITE, Map(half), "x"))
    red, green, blue = (int(value) for value in made[40, 104 + 20])
    assert red == green == blue < 100


def test_a_picture_is_fitted_and_heads_have_a_cell_each() -> None:
    assert fit_picture(Image.new("L", (4000, 1000))).size == (1024, 256)
    assert fit_picture(Image.new("RGB", (10, 20))).size == (HEIGHT // 2, HEIGHT)
    shares = np.zeros((3, 4))
    shares[1, 2] = 0.5
    made = np.asarray(heads(shares, "Heads").convert("L"))
    assert made[31 : 31 + 96, 12 : 12 + 128].argmax() == 32 * 128 + 64
