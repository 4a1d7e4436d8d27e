"""Maps over pictures: the colours, the picture below, and the legend that says what a colour means."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from PIL import Image, ImageDraw, ImageFont

Floats = npt.NDArray[np.float64]
Bytes = npt.NDArray[np.uint8]

OPACITY = 0.7
"""Of the colours over the picture, which is grey below them. The same everywhere, so that a colour means one thing."""
HEIGHT = 384
"""Height of a picture in pixels."""
_WIDEST = 1_024
_GAP, _FOOT, _BAR = 12, 64, 14
_LETTERS = 13
_HIDDEN = 0.35  # brightness of what the model was not shown


def colours(count: int = 256) -> Bytes:
    """Return a scale of colours from dark blue over grey to light yellow, shape (count, 3).

    A straight line in the OKLab space (Ottosson 2020), in which equal steps look equal: from lightness 0.22 to 0.94, so
    that it stays a scale when printed in grey, and from blue to yellow, which people who confuse red and green tell
    apart.

    >>> colours(3).tolist()
    [[4, 21, 70], [114, 125, 121], [249, 238, 157]]
    """
    ends = np.array([[0.22, -0.01, -0.095], [0.94, -0.02, 0.1]])
    line = ends[0] + (ends[1] - ends[0]) * np.linspace(0, 1, count)[:, None]
    mixed = np.array(
        [[1, 0.3963377774, 0.2158037573], [1, -0.1055613458, -0.0638541728], [1, -0.0894841775, -1.291485548]]
    )
    cones = (line @ mixed.T) ** 3
    to_rgb = np.array(
        [
            [4.0767416621, -3.3077115913, 0.2309699292],
            [-1.2684380046, 2.6097574011, -0.3413193965],
            [-0.0041960863, -0.7034186147, 1.707614701],
        ]
    )
    linear = cones @ to_rgb.T  # all of the line lies within what a screen can show
    coded = np.where(linear <= 0.0031308, 12.92 * linear, 1.055 * linear ** (1 / 2.4) - 0.055)
    return np.rint(255 * coded).astype(np.uint8)


@dataclass(frozen=True, slots=True, eq=False)
class Map:
    """Attention to each pixel of a picture, shape (height, width), as a multiple of an even spread over all shown.

    NaN for pixels that the model was not shown.
    """

    times_even: Floats

    @property
    def top(self) -> float:
        """Top of the scale of colours: the value that all but a hundredth of the pixels stay below, and at least 1."""
        values = self.times_even[~np.isnan(self.times_even)]
        return max(float(np.quantile(values, 0.99)), 1.0) if values.size else 1.0


def spread(values: npt.ArrayLike, boxes: npt.ArrayLike, size: tuple[int, int]) -> Map:
    """Spread what tokens have, >= 0, over the pixels that they stand for; where they overlap, a pixel has the sum.

    `boxes` are left, top, right and bottom as shares of width and height, shape (tokens, 4); NaN for no place.

    >>> spread([3, 1], [[0, 0, 0.5, 1], [0.5, 0, 1, 1]], (4, 1)).times_even.tolist()
    [[1.5, 1.5, 0.5, 0.5]]
    """
    width, height = size
    total, seen = np.zeros((height, width)), np.zeros((height, width))
    for value, box in zip(np.asarray(values, dtype=np.float64), np.asarray(boxes, dtype=np.float64), strict=True):
        if np.isnan(box[0]):
            continue
        (x, across), (y, down) = (
            _covered_pixels(box[0] * width, box[2] * width),
            _covered_pixels(box[1] * height, box[3] * height),
        )
        place = slice(y, y + down.size), slice(x, x + across.size)
        cover = np.outer(down, across)
        total[place] += value * cover / cover.sum()
        seen[place] += cover
    is_seen = seen > 0.5  # of a pixel
    mean = float(total[is_seen].mean()) if is_seen.any() else 0.0
    relative = total / mean if mean > 0 else np.zeros_like(total)
    return Map(np.where(is_seen, relative, np.nan))


def _covered_pixels(start: float, stop: float) -> tuple[int, Floats]:
    """Return the first pixel between two places, and how much of it and of each further one lies between them."""
    first, last = int(np.floor(start)), max(int(np.ceil(stop)), int(np.floor(start)) + 1)
    pixels = np.arange(first, last)
    return first, np.clip(np.minimum(stop, pixels + 1) - np.maximum(start, pixels), 1e-9, 1)


def fit_picture(picture: Image.Image) -> Image.Image:
    """Return a picture at the size in which it is shown: 384 pixels high, at most 1,024 wide."""
    scale = min(HEIGHT / picture.height, _WIDEST / picture.width)
    return picture.convert("RGB").resize((max(round(picture.width * scale), 1), max(round(picture.height * scale), 1)))


def overlay(picture: Image.Image, relevance: Map, title: str) -> Image.Image:
    """Show a picture at the size of its map and, beside it, the map over it, with a title and a legend.

    What the model was not shown is dark in the second one, and has no colour.
    """
    pixels = np.asarray(picture.convert("RGB"), dtype=np.float64)
    grey = np.repeat(np.asarray(picture.convert("L"), dtype=np.float64)[:, :, None], 3, axis=2)
    is_known = ~np.isnan(relevance.times_even)
    share = np.clip(np.where(is_known, relevance.times_even, 0) / relevance.top, 0, 1)
    table = colours()
    blended = OPACITY * table[np.rint(255 * share).astype(np.int64)] + (1 - OPACITY) * grey
    over = np.where(is_known[:, :, None], blended, _HIDDEN * grey)
    joined = np.concatenate([pixels, np.full((pixels.shape[0], _GAP, 3), 255.0), over], axis=1)
    ticks = [(0.0, "0")]
    if relevance.top >= 1.25:
        ticks.append((1 / relevance.top, "1: even"))
    ticks.append((1.0, f"{relevance.top:.2g} or more"))
    legend = OPACITY * table + (1 - OPACITY) * 128.0  # as over a grey of middle brightness
    return _add_frame(np.rint(joined).astype(np.uint8), title, "times what an even spread would give", ticks, legend)


def heads(shares: npt.ArrayLike, title: str) -> Image.Image:
    """Show a share of each head, in [0, 1], shape (layers, heads), layers downwards, with a title and a legend."""
    values = np.asarray(shares, dtype=np.float64)
    cell = int(np.clip(480 // max(values.shape), 4, 32))
    top = max(float(values.max()), 1e-9)
    cells = colours()[np.rint(255 * np.clip(values / top, 0, 1)).astype(np.int64)]
    pixels = cells.repeat(cell, axis=0).repeat(cell, axis=1)
    legend = "share of the head's attention (heads across, layers down)"
    return _add_frame(pixels, title, legend, [(0.0, "0"), (1.0, f"{top:.2g}")], colours())


def _add_frame(
    pixels: Bytes, title: str, legend: str, ticks: list[tuple[float, str]], scale: npt.NDArray[np.generic]
) -> Image.Image:
    """Put a title above, and a bar of the colours with its numbers below."""
    font = ImageFont.load_default(size=_LETTERS)
    height, width = pixels.shape[:2]
    needed = max(font.getlength(text) for text in (title, legend))
    frame = Image.new("RGB", (int(max(width, needed, 320)) + 2 * _GAP, height + 2 * _GAP + _LETTERS + _FOOT), "white")
    draw = ImageDraw.Draw(frame)
    draw.text((_GAP, _GAP - 4), title, fill="black", font=font)
    y = _GAP + _LETTERS + 6
    frame.paste(Image.fromarray(pixels), (_GAP, y))
    y += height + 8
    bar = min(max(width, 320), 480)
    steps = np.rint(scale[np.arange(bar) * len(scale) // bar]).astype(np.uint8)
    frame.paste(Image.fromarray(np.broadcast_to(steps, (_BAR, bar, 3)).copy()), (_GAP, y))
    ends = 0.0
    for place, text in sorted(ticks):
        x = _GAP + place * (bar - 1)
        length = font.getlength(text)
        left = min(max(x - length / 2, _GAP), _GAP + bar - length)
        draw.line([(x, y), (x, y + _BAR + 3)], fill="black")
        if left > ends or place == 1.0:
            draw.text((left, y + _BAR + 3), text, fill="black", font=font)
            ends = left + length + 8
    draw.text((_GAP, y + _BAR + 4 + _LETTERS + 4), legend, fill="black", font=font)
    return frame
