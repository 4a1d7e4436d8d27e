"""Pictures with a known change: what quantities are tried on."""

import io
from collections.abc import Callable

import numpy as np
import PIL.Image
import PIL.ImageFilter

from facevalue.inspection.inspector import skin_region
from facevalue.inspection.views import PictureView
from facevalue.stimuli.pixels import lab
from facevalue.stimuli.portraits import Identity, png, svg
from facevalue.types import Image

Picture = PIL.Image.Image


def encoded(picture: Picture, kind: str = "PNG", quality: int = 90) -> Image:
    buffer = io.BytesIO()
    picture.save(buffer, kind, quality=quality)
    return Image(buffer.getvalue(), f"image/{kind.lower()}")


def portrait(identity: Identity, cue: tuple[str, str] | None = None, size: int = 512) -> Picture:
    return PIL.Image.open(io.BytesIO(png(svg(identity, cue), size=size))).convert("RGB")


def noise(seed: int, side: int = 540) -> Picture:
    """Smooth noise in colour: in a photograph, too, neighbours are alike."""
    pixels = np.random.default_rng(seed).integers(0, 256, (side, side, 3), dtype=np.uint8)
    blurred = np.asarray(PIL.Image.fromarray(pixels).filter(PIL.ImageFilter.GaussianBlur(4)), dtype=float)
    spread = (blurred - blurred.mean()) * 5 + 128
    return PIL.Image.fromarray(np.clip(spread, 0, 255).astype(np.uint8))


def shifted(picture: Picture, across: int, down: int = 0) -> Picture:
    return PIL.Image.fromarray(np.roll(np.asarray(picture), (down, across), (0, 1)))


def zoomed(picture: Picture, pixels: int) -> Picture:
    """Enlarged by twice as many pixels, and cut to its size."""
    width, height = picture.size
    larger = picture.resize((width + 2 * pixels, height + 2 * pixels), PIL.Image.Resampling.BICUBIC)
    return larger.crop((pixels, pixels, pixels + width, pixels + height))


def lightened(picture: Picture, lightness: float) -> Picture:
    """Its skin alone, by so much L*: by the shade of grey that does it, found by trying."""
    view = PictureView(picture, "image/png")
    region = skin_region(view.lab)
    assert region is not None
    mask = np.asarray(PIL.Image.fromarray(region).resize(picture.size, PIL.Image.Resampling.NEAREST))
    pixels = np.asarray(picture).astype(float)
    before = np.median(lab(np.asarray(picture)[mask])[:, 0])

    def tried(factor: float) -> np.ndarray[tuple[int, ...], np.dtype[np.uint8]]:
        lighter = pixels.copy()
        lighter[mask] *= factor
        return np.clip(lighter.round(), 0, 255).astype(np.uint8)

    low, high = 0.5, 1.6
    for _ in range(24):
        middle = (low + high) / 2
        low, high = (low, middle) if np.median(lab(tried(middle)[mask])[:, 0]) - before > lightness else (middle, high)
    return PIL.Image.fromarray(tried(low))


def repainted(picture: Picture) -> Picture:
    """With another background: what is of the colour of its corner."""
    pixels = np.array(picture)
    pixels[(np.abs(pixels.astype(int) - pixels[2, 2].astype(int)) <= 3).all(axis=-1)] = (90, 140, 200)
    return PIL.Image.fromarray(pixels)


def recompressed(picture: Picture) -> Picture:
    return PIL.Image.open(io.BytesIO(encoded(picture, "JPEG", 92).data)).convert("RGB")


CHANGES: dict[str, Callable[[Picture], Picture]] = {
    "recompressed": recompressed,
    "shifted": lambda picture: shifted(picture, 5),
    "zoomed": lambda picture: zoomed(picture, 10),
    "lightened": lambda picture: lightened(picture, 6),
    "blurred": lambda picture: picture.filter(PIL.ImageFilter.GaussianBlur(2)),
    "repainted": repainted,
    "halved": lambda picture: picture.resize((picture.width // 2, picture.height // 2)),
    "widened": lambda picture: picture.resize((picture.width * 5 // 4, picture.height)),
}
