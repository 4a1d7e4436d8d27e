"""Simulated editors: what is planted is in the pixels, for whom the seed draws, and nowhere else."""

import io

import numpy as np
import numpy.typing as npt
import PIL.Image
import pytest

from facevalue.errors import ModelSpecError, UnknownNameError
from facevalue.generators.base import NULL_EDIT, GeneratedPicture, GeneratorOptions, PictureRequest
from facevalue.generators.planted_editors import Jitter, PlantedEditor
from facevalue.stimuli.drawings.portraits import draw_identities
from facevalue.stimuli.pixels import lab, to_rgb
from facevalue.stimuli.portraits.composition import svg
from facevalue.stimuli.portraits.shapes import png
from facevalue.types import Image, Status

SIZE = 128
STILL = Jitter(0.0, 0.0, 0.0)
CHEEK = slice(62, 68), slice(50, 54)  # rows and columns of skin beside the nose
PEOPLE = [person for person in draw_identities({"female": 6, "male": 6}, 1) if person.skin_tone > "monk-03"]


def source(at: int = 0) -> Image:
    return Image(png(svg(PEOPLE[at]), SIZE), "image/png")


def request(number: int = 1, *, at: int = 0, seed: int = 5, cue: str = "glasses", **levels: str) -> PictureRequest:
    return PictureRequest(number, "Add glasses.", seed, source(at), {"cue": cue, **levels})


def edited(spec: str, wanted: PictureRequest, jitter: Jitter = STILL) -> GeneratedPicture:
    (picture,) = PlantedEditor(spec, jitter=jitter).generate([wanted])
    return picture


def pixels(picture: GeneratedPicture | Image) -> npt.NDArray[np.uint8]:
    image = picture.image if isinstance(picture, GeneratedPicture) else picture
    assert image is not None
    return np.asarray(PIL.Image.open(io.BytesIO(image.data)).convert("RGB"))


def lightness(picture: GeneratedPicture | Image) -> float:
    return float(np.median(lab(pixels(picture))[(*CHEEK, 0)]))


def group_met(kind: str) -> tuple[int, str, str]:
    """A seed that draws one gender and not the other, and which."""
    for seed in range(20):
        editor = PlantedEditor(f"sim/{kind}:gender@{seed}")
        groups = {gender: bool(editor.truth({"gender": gender})) for gender in ("female", "male")}
        if len(set(groups.values())) == 2:
            return seed, *sorted(groups, key=lambda gender: not groups[gender])  # type: ignore[return-value]
    raise AssertionError


def test_colours_there_and_back_are_the_same() -> None:
    colours = np.random.default_rng(1).integers(0, 256, (500, 3), dtype=np.uint8)
    assert (to_rgb(lab(colours)) == colours).all()
    assert lab(np.array([255, 0, 0], np.uint8)).round(2) == pytest.approx([53.24, 80.09, 67.2], abs=0.02)


@pytest.mark.parametrize("amount", [-8, 3, 6])
@pytest.mark.parametrize("at", range(4))
def test_skin_is_lighter_by_the_planted_steps_and_the_ground_is_not(amount: int, at: int) -> None:
    plain = edited("sim/null", request(at=at))
    lighter = edited(f"sim/lighten={amount}", request(at=at))
    assert lightness(lighter) - lightness(plain) == pytest.approx(amount, abs=0.6)
    assert np.abs(pixels(lighter)[:12].astype(int) - pixels(plain)[:12]).max() <= 3


def test_only_the_groups_that_the_seed_draws_are_met_and_a_null_edit_is_of_nobody() -> None:
    seed, met, spared = group_met("lighten")
    spec = f"sim/lighten=6:gender@{seed}"
    base = lightness(edited("sim/null", request()))
    assert lightness(edited(spec, request(gender=met))) - base == pytest.approx(6, abs=0.6)
    for other in (request(gender=spared), request(gender=met, cue=NULL_EDIT), request()):
        assert lightness(edited(spec, other)) == pytest.approx(base, abs=0.2)


def test_groups_are_drawn_at_random_so_that_they_mean_nothing() -> None:
    names = [f"level {number}" for number in range(400)]
    met = [bool(PlantedEditor("sim/lighten:group@3").truth({"group": name})) for name in names]
    assert 160 < sum(met) < 240
    both = [bool(PlantedEditor("sim/lighten:group:cue@3").truth({"group": name, "cue": "hat"})) for name in names]
    assert sum(both) in (0, sum(met))


def test_a_null_edit_writes_the_picture_again() -> None:
    null = edited("sim/lighten=20+shift=0.2+zoom=1.4+drift=0.05+refuse=1", request(cue=NULL_EDIT))
    assert null.status is Status.OK
    assert np.abs(pixels(null).astype(int) - pixels(source())).mean() < 1


def test_the_frame_is_shifted_and_scaled_by_what_is_planted() -> None:
    before = pixels(source()).astype(int)
    shifted = pixels(edited("sim/shift=0.125", request())).astype(int)
    assert np.abs(shifted[85:108, 16:] - before[85:108, :-16]).mean() < 2  # the eighth part of 128 pixels
    zoomed = pixels(edited("sim/zoom=2", request())).astype(int)
    halved = np.asarray(PIL.Image.fromarray(zoomed.astype(np.uint8)).resize((64, 64))).astype(int)
    assert np.abs(halved[40:] - before[32:96, 32:96][40:]).mean() < 4


def test_drift_moves_the_face_and_nothing_around_it() -> None:
    plain, drifted = (pixels(edited(spec, request())).astype(int) for spec in ("sim/null", "sim/drift=0.02"))
    difference = np.abs(drifted - plain).max(axis=2)
    assert difference[85:].max() <= 16
    assert difference[45:75, 48:80].mean() > 8


def test_refusals_come_as_often_as_planted_and_without_a_picture() -> None:
    spec, wanted = "sim/refuse=0.3", [request(number, seed=number) for number in range(200)]
    pictures = list(PlantedEditor(spec).generate(wanted))
    refused = [picture for picture in pictures if picture.status is Status.REFUSED]
    assert 40 <= len(refused) <= 80
    assert all(picture.image is None and picture.error for picture in refused)


def test_a_picture_depends_on_its_request_and_on_nothing_before_it() -> None:
    spec = "sim/lighten=4+drift=0.01+shift=0.02"
    alone = edited(spec, request(seed=9), Jitter())
    _, after = PlantedEditor(spec).generate([request(0, at=1), request(seed=9)])
    assert after.image == alone.image
    assert edited(spec, request(seed=10), Jitter()).image != alone.image


def test_editors_differ_in_what_is_planted_and_in_nothing_else() -> None:
    plain = edited("sim/null", request(seed=9), Jitter())
    assert edited("sim/lighten=0@3", request(seed=9), Jitter()).image == plain.image
    assert edited("sim/lighten=5", request(seed=9), Jitter()).image != plain.image


def test_what_cannot_be_edited_is_an_error_and_no_exception() -> None:
    nothing = PictureRequest(1, "A man.", 1)
    broken = PictureRequest(2, "Add glasses.", 1, Image(b"no picture", "image/png"))
    first, second = PlantedEditor("sim/null").generate([nothing, broken])
    assert (first.status, second.status) == (Status.ERROR, Status.ERROR)
    assert "makes none" in (first.error or "")
    assert "not a PNG" in (second.error or "")


def test_settings_say_what_is_planted() -> None:
    settings = PlantedEditor("sim/lighten=6:gender+refuse=0.2:age@7").settings()
    assert {"seed": 7, "lighten": 6.0, "lighten_of": "gender", "refuse": 0.2}.items() <= settings.items()


def test_options_that_would_be_ignored_are_refused() -> None:
    assert PlantedEditor("sim/null", GeneratorOptions()).plants == ()
    for options in (GeneratorOptions(size=(64, 64)), GeneratorOptions(settings={"steps": 3})):
        with pytest.raises(ModelSpecError, match="keeps the size of a picture and has no settings"):
            PlantedEditor("sim/null", options)


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ("sim/lightn=6", "Unknown planted side effect 'lightn'. Did you mean 'lighten'?"),
        ("sim/", "Unknown planted side effect ''"),
        ("sim/null+zoom", "Unknown planted side effect 'null'"),
        ("sim/lighten=six", "write lighten=6 or lighten=6:FACTOR"),
        ("sim/lighten=1.2.3", "write lighten=6 or lighten=6:FACTOR"),
        ("sim/lighten:", "write lighten=6 or lighten=6:FACTOR"),
        ("sim/refuse=2", "goes from 0 to 1, not to 2"),
        ("sim/zoom=-1", "goes from 0.5 to 2, not to -1"),
        ("sim/lighten=6+lighten=3", "plants lighten twice"),
        ("sim/lighten@x", "is not a whole number: write sim/lighten@7"),
    ],
)
def test_a_plant_that_is_none_is_named(spec: str, message: str) -> None:
    with pytest.raises((ModelSpecError, UnknownNameError)) as error:
        PlantedEditor(spec)
    assert message in str(error.value)
