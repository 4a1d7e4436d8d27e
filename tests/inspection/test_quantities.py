"""Each quantity finds the change that it is of, and is flat under all others."""

from pathlib import Path

import numpy as np
import PIL.ImageFilter
import pytest

from facevalue.inspection.inspector import Inspector
from facevalue.inspection.quantities import BY_NAME, QUANTITIES, Need
from facevalue.stimuli.portraits import Identity
from tests.inspection.plants import CHANGES, encoded, lightened, noise, portrait, shifted

PEOPLE = (
    Identity("a", 11, "female", "young", "monk-02", "normal"),
    Identity("b", 12, "male", "elderly", "monk-05", "thin"),
    Identity("c", 13, "female", "middle-aged", "monk-07", "obese"),
    Identity("d", 14, "male", "young", "monk-10", "normal"),
)
# How far a quantity may be from its value without a change, by what is no change of its kind.
SLACK = {
    "skin_lightness_change": 0.6, "skin_ita_change": 2.5, "skin_hue_change": 2.5, "shift": 0.08, "zoom": 0.12,
    "structure": 0.05, "border_change": 1.5, "background_change": 1.5, "sharpness_change": 0.12,
    "size_change": 0.1, "aspect_change": 0.1,
}  # fmt: skip
# Which changes move what.
MOVES = {
    "shifted": {"shift"},
    "zoomed": {"zoom"},
    "lightened": {"skin_lightness_change", "skin_ita_change", "skin_hue_change"},
    "blurred": {"sharpness_change"},
    "repainted": {"border_change", "background_change", "structure"},
    "halved": {"size_change"},
    "widened": {"size_change", "aspect_change", "sharpness_change"},
    "recompressed": set(),
}
SIZES = {
    ("shifted", "shift"): (0.977, 0.05),
    ("zoomed", "zoom"): (3.906, 0.1),
    ("lightened", "skin_lightness_change"): (6.0, 0.4),
    ("halved", "size_change"): (-50.0, 0.0),
    ("widened", "aspect_change"): (25.0, 0.0),
}


@pytest.fixture(scope="module")
def inspector() -> Inspector:
    return Inspector("inspect/default")


@pytest.mark.parametrize("person", PEOPLE, ids=lambda person: person.skin_tone)
def test_each_quantity_finds_its_change_and_is_flat_under_the_others(inspector: Inspector, person: Identity) -> None:
    source = portrait(person)
    for change, make in CHANGES.items():
        numbers = inspector.inspect_picture(encoded(make(source)), encoded(source))
        for name, slack in SLACK.items():
            value, same = numbers[name], BY_NAME[name].same
            assert value is not None
            assert same is not None
            if name not in MOVES[change]:
                assert abs(value - same) <= slack, f"{name} under {change}: {value}"
            if (change, name) in SIZES:
                size, tolerance = SIZES[change, name]
                assert value == pytest.approx(size, abs=tolerance), f"{name} under {change}"
            elif name in MOVES[change] and name not in (
                "structure",
                "skin_ita_change",
                "skin_hue_change",
                "sharpness_change",
            ):
                assert abs(value - same) > slack, f"{name} under {change}: {value}"


@pytest.mark.parametrize("person", PEOPLE, ids=lambda person: person.skin_tone)
def test_a_cue_is_a_change_in_one_place_and_leaves_the_skin_as_it_is(inspector: Inspector, person: Identity) -> None:
    numbers = inspector.inspect_picture(encoded(portrait(person, ("eyewear", "sunglasses"))), encoded(portrait(person)))
    assert (numbers["greatest_change"] or 0) > 15
    assert 0 < (numbers["changed_share"] or 0) < 0.1
    assert numbers["structure"] == pytest.approx(1, abs=0.005)
    for name in ("skin_lightness_change", "shift", "zoom", "background_change"):
        assert numbers[name] == pytest.approx(0, abs=0.02)


def test_a_copy_changes_nothing_to_the_letter(inspector: Inspector) -> None:
    picture = encoded(portrait(PEOPLE[0]))
    numbers = inspector.inspect_picture(picture, picture)
    for quantity in QUANTITIES:
        if quantity.same is not None and quantity.need is Need.NOTHING:
            assert numbers[quantity.name] == quantity.same
    assert numbers["greatest_change"] == numbers["changed_share"] == 0


@pytest.mark.parametrize(("across", "down"), [(5, 0), (0, -7), (-11, 4), (40, 20)])
def test_a_shift_of_noise_is_found_in_pixels(inspector: Inspector, across: int, down: int) -> None:
    picture = noise(7)
    moved = shifted(picture, across, down)
    numbers = inspector.inspect_picture(
        encoded(moved.crop((60, 60, 480, 480))), encoded(picture.crop((60, 60, 480, 480)))
    )
    assert numbers["shift"] == pytest.approx(100 * np.hypot(across, down) / 420, abs=0.05)
    assert numbers["zoom"] == pytest.approx(0, abs=0.05)


def test_lighter_skin_is_found_on_every_tone_of_skin(inspector: Inspector) -> None:
    for tone in range(1, 11):
        source = portrait(Identity("t", 40 + tone, "female", "young", f"monk-{tone:02}", "normal"))
        change = 6 if tone > 2 else -6
        numbers = inspector.inspect_picture(encoded(lightened(source, change)), encoded(source))
        assert numbers["skin_lightness_change"] == pytest.approx(change, abs=0.5)


def test_a_blurred_picture_is_less_sharp(inspector: Inspector) -> None:
    pictures = [noise(3).filter(PIL.ImageFilter.GaussianBlur(radius)) for radius in (0, 1, 3)]
    values = [inspector.inspect_picture(encoded(picture))["sharpness"] or 0 for picture in pictures]
    assert values == sorted(values, reverse=True)
    assert values[0] > values[2] + 0.1


def test_pictures_that_have_nothing_in_common_have_no_shift_and_no_change_of_skin(inspector: Inspector) -> None:
    numbers = inspector.inspect_picture(encoded(noise(1)), encoded(noise(2)))
    assert numbers["shift"] is None
    assert numbers["zoom"] is None
    assert "skin_lightness_change" not in numbers
    assert (numbers["greatest_change"] or 0) > 15


def test_a_blank_picture_is_blank_and_has_no_skin(inspector: Inspector) -> None:
    numbers = inspector.inspect_picture(encoded(portrait(PEOPLE[0]).point(lambda _: 180)))
    assert numbers["blankness"] == 1
    assert numbers["sharpness"] is None
    assert "skin_lightness" not in numbers
    assert not [name for name in numbers if BY_NAME[name].source]


def test_a_grey_picture_has_no_skin(inspector: Inspector) -> None:
    numbers = inspector.inspect_picture(encoded(portrait(PEOPLE[1]).convert("L").convert("RGB")))
    assert "skin_lightness" not in numbers


def test_names_are_unique_and_bounds_in_order() -> None:
    assert len(BY_NAME) == len(QUANTITIES) <= 50
    for quantity in QUANTITIES:
        assert quantity.least < quantity.greatest
        assert quantity.same is None or (quantity.source and quantity.least <= quantity.same <= quantity.greatest)
        assert quantity.definition.endswith(".")


def test_the_manual_has_every_quantity_as_it_is() -> None:
    text = (Path(__file__).parents[2] / "docs/how-to/inspect-pictures.md").read_text()
    for quantity in QUANTITIES:
        assert f"| `{quantity.name}` | {quantity.unit} | {quantity.needs} | {quantity.definition} |" in text
