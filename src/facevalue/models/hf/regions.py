"""Regions of a picture that its tokens stand for.

A family's own processor decides that: how the picture is scaled, cropped, padded or cut into tiles, and in which order
the parts are told. Each rule here is that of one family, and a family without a rule is refused: a map on a wrong grid
looks as good as one on the right grid.
"""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import ceil, isqrt
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from facevalue.errors import ModelError
from facevalue.models.hf.framing import Frame, Size, frame, scaled_size
from facevalue.models.hf.loading import Loaded

if TYPE_CHECKING:
    from torch import Tensor

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
Inputs = Mapping[str, "Tensor"]

_TILE = re.compile(r"<row_(\d+)_col_(\d+)>")


@dataclass(frozen=True, slots=True, eq=False)
class Regions:
    """The tokens that stand for pictures, in the order of the prompt.

    `positions`: where each stands in the prompt, shape (tokens,); with `crossing`, where some layers look at pictures
    by cross-attention, where each stands among what is looked at. `picture`: which it belongs to, from 0. `boxes`:
    left, top, right and bottom of what it stands for, as shares of the picture's width and height, shape (tokens, 4);
    NaN for a token that stands for no part of it: the end of a row, a tile as a whole, or padding.
    """

    positions: Ints
    picture: Ints
    boxes: Floats
    crossing: bool = False

    @property
    def is_of_picture(self) -> npt.NDArray[np.bool_]:
        """Mask of the tokens that stand for a part of a picture, shape (tokens,)."""
        return ~np.isnan(self.boxes[:, 0])


@dataclass(frozen=True, slots=True)
class _Window:
    """Area that one view of the picture covers, as shares of its width and height; may reach beyond it."""

    left: float = 0.0
    top: float = 0.0
    right: float = 1.0
    bottom: float = 1.0

    def cells(self, rows: int, columns: int) -> Floats:
        """Cut into a grid; boxes row by row, shape (rows * columns, 4)."""
        x = self.left + (self.right - self.left) * np.arange(columns + 1) / columns
        y = self.top + (self.bottom - self.top) * np.arange(rows + 1) / rows
        row, column = (index.ravel() for index in np.indices((rows, columns)))
        return np.stack([x[column], y[row], x[column + 1], y[row + 1]], axis=1)


_WHOLE = _Window()
_CROSSING = ("mllama",)
"""Model types whose pictures are no part of the text."""


def regions(loaded: Loaded, inputs: Inputs, sizes: Sequence[Size]) -> Regions:
    """Say what each token of pictures of these sizes stands for; a `ModelError` if there is no rule that holds."""
    rule = _rule(loaded)
    config = loaded.model.config
    crossing = config.model_type in _CROSSING
    if crossing:
        shape = inputs["pixel_values"].shape
        positions = np.arange(shape[1] * shape[2] * int(loaded.model.get_submodule("model.vision_model").num_patches))
    else:
        positions = np.flatnonzero(inputs["input_ids"][0].cpu().numpy() == config.image_token_id)
    frames = [frame(loaded.processor.image_processor, size) for size in sizes]
    regions = list(rule(loaded, inputs, [pair.outer for pair in frames]))
    boxes = np.concatenate(regions)
    if len(regions) != len(sizes) or len(boxes) != len(positions):
        raise ModelError(
            f"{loaded.name} was expected to take {len(boxes)} tokens for its pictures, and takes "
            f"{len(positions)}: its processor is set in a way that is not known here."
        )
    boxes = np.concatenate([_remove_frame(*pair) for pair in zip(regions, frames, sizes, strict=True)])
    picture = np.repeat(np.arange(len(regions)), [len(region) for region in regions])
    return Regions(positions, picture, _inside(boxes), crossing)


def check_known(loaded: Loaded) -> None:
    """Raise a `ModelError` if it isn't known what the tokens of this model's pictures stand for."""
    if not loaded.sees:
        raise ModelError("This is a text-only model: it looks at no picture.")
    _rule(loaded)


def _remove_frame(boxes: Floats, framed: Frame, size: Size) -> Floats:
    """Turn shares of what the processor was given into shares of the picture in it."""
    scale = np.divide(framed.outer, size)
    offset = np.divide((framed.left, framed.top), size)
    return boxes * np.tile(scale, 2) - np.tile(offset, 2)


def _inside(boxes: Floats) -> Floats:
    """Cut off what lies beside the picture; NaN for what lies beside it altogether."""
    inside = np.clip(boxes, 0.0, 1.0)
    with np.errstate(invalid="ignore"):
        inside[~((inside[:, 2] > inside[:, 0]) & (inside[:, 3] > inside[:, 1]))] = np.nan
    return inside


def _llava(loaded: Loaded, inputs: Inputs, sizes: Sequence[Size]) -> Iterator[Floats]:
    """LLaVA-1.5: scaled to a shortest side, the middle cut out; patches row by row."""
    images, patch = loaded.processor.image_processor, loaded.model.config.vision_config.patch_size
    size_shown = tuple(inputs["pixel_values"].shape[-2:])
    for size in sizes:
        full = scaled_size(images, size)
        crop = images.crop_size if getattr(images, "do_center_crop", None) else None
        wide, high = (crop["width"], crop["height"]) if crop else full
        if (high, wide) != size_shown:
            raise ModelError(f"{loaded.name}'s processor makes pictures of another size than is known here.")
        x, y = (full[0] - wide) // 2, (full[1] - high) // 2
        window = _Window(x / full[0], y / full[1], (x + wide) / full[0], (y + high) / full[1])
        used = _Window(*_cut(window, wide // patch * patch / wide, high // patch * patch / high))
        yield used.cells(high // patch, wide // patch)


def _cut(window: _Window, wide: float, high: float) -> tuple[float, float, float, float]:
    """Leave out what is too narrow for a whole patch at the right and the bottom."""
    right = window.left + (window.right - window.left) * wide
    return window.left, window.top, right, window.top + (window.bottom - window.top) * high


def _llava_next(loaded: Loaded, inputs: Inputs, sizes: Sequence[Size]) -> Iterator[Floats]:
    """LLaVA-NeXT: the whole, squeezed to a square; then tiles, as one picture row by row, each row with an end.

    For the tiles the picture is scaled into the best of several shapes and padded in the middle of it; rows and columns
    of patches that are all padding are left out (Liu et al. 2024, "LLaVA-NeXT", and the published code).
    """
    from transformers.image_processing_utils import select_best_resolution  # noqa: PLC0415

    images, vision = loaded.processor.image_processor, loaded.model.config.vision_config
    side = inputs["pixel_values"].shape[-1]
    if side != vision.image_size or side % vision.patch_size or inputs["pixel_values"].shape[-2] != side:
        raise ModelError(f"{loaded.name}'s processor makes tiles of another size than its vision model's.")
    across = side // vision.patch_size
    for width, height in sizes:
        high, wide = select_best_resolution((height, width), images.image_grid_pinpoints)
        if wide / width < high / height:
            new = wide, min(ceil(height * (wide / width)), high)
        else:
            new = min(ceil(width * (high / height)), wide), high
        x, y = (wide - new[0]) // 2, (high - new[1]) // 2
        window = _Window(-x / new[0], -y / new[1], (wide - x) / new[0], (high - y) / new[1])
        rows, columns = high // side * across, wide // side * across
        cells = window.cells(rows, columns).reshape(rows, columns, 4)
        if width / height > columns / rows:
            margin = (rows - int(round(height * (columns / width), 7))) // 2
            cells = cells[margin : rows - margin]
        else:
            margin = (columns - int(round(width * (rows / height), 7))) // 2
            cells = cells[:, margin : columns - margin]
        ends = np.full((len(cells), 1, 4), np.nan)
        tiles = np.concatenate([cells, ends], axis=1).reshape(-1, 4)
        yield np.concatenate([_WHOLE.cells(across, across), tiles])


def _qwen(loaded: Loaded, inputs: Inputs, _: Sequence[Size]) -> Iterator[Floats]:
    """Qwen-VL: scaled to whole patches, which are merged, by two and two; row by row."""
    merged = int(loaded.model.config.vision_config.spatial_merge_size)
    for frames, rows, columns in inputs["image_grid_thw"].tolist():
        if frames != 1:
            raise ModelError(f"{loaded.name} was shown {frames} frames: there are maps of pictures only.")
        yield _WHOLE.cells(rows // merged, columns // merged)


def _idefics3(loaded: Loaded, inputs: Inputs, _: Sequence[Size]) -> Iterator[Floats]:
    """Idefics3 and SmolVLM: scaled to whole tiles, row by row, each told by its row and column; then the whole."""
    ids = inputs["input_ids"][0].tolist()
    image = loaded.model.config.image_token_id
    names = loaded.tokenizer.convert_ids_to_tokens(ids)
    tiles: list[tuple[int, int, int]] = []
    for start, stop in _runs(ids, image):
        side = isqrt(stop - start)
        name = names[start - 1] if start else ""
        if side * side != stop - start:
            raise ModelError(f"{loaded.name} takes {stop - start} tokens for a tile: not known to be a square.")
        if tile := _TILE.fullmatch(name):
            tiles.append((int(tile[1]), int(tile[2]), side))
        elif name == "<global-img>":
            down, across = (max((tile[at] for tile in tiles), default=0) for at in (0, 1))
            grid = _WHOLE.cells(max(down, 1), max(across, 1))
            windows = [
                _Window(*grid[(row - 1) * across + column - 1]).cells(own_cells, own_cells)
                for row, column, own_cells in tiles
            ]
            yield np.concatenate([*windows, _WHOLE.cells(side, side)])
            tiles = []
        else:
            raise ModelError(f"{loaded.name} tells a tile by {name!r}: which part of the picture isn't known.")


def _runs(ids: Sequence[int], token: int) -> Iterator[tuple[int, int]]:
    """Yield where each unbroken row of a token begins and ends."""
    start = None
    for place, token_there in enumerate([*ids, None]):
        if token_there == token and start is None:
            start = place
        elif token_there != token and start is not None:
            yield start, place
            start = None


def _gemma3(loaded: Loaded, inputs: Inputs, sizes: Sequence[Size]) -> Iterator[Floats]:
    """Gemma-3: squeezed to a square, its patches averaged to a smaller square; row by row."""
    if len(inputs["pixel_values"]) != len(sizes):
        raise ModelError(f"{loaded.name} was shown crops besides the pictures (pan and scan): switch that off.")
    side = isqrt(int(loaded.model.config.mm_tokens_per_image))
    for _ in sizes:
        yield _WHOLE.cells(side, side)


def _mllama(loaded: Loaded, inputs: Inputs, sizes: Sequence[Size]) -> Iterator[Floats]:
    """Llama-3.2-Vision: scaled into a canvas of tiles, at its top left; each tile is told as a whole, then by patches.

    The tiles follow row by row, then padding up to the most tiles that there may be.
    """
    from transformers.models.mllama.image_processing_pil_mllama import (  # noqa: PLC0415
        get_all_supported_aspect_ratios,
        get_image_size_fit_to_canvas,
    )

    images, patch = loaded.processor.image_processor, int(loaded.model.config.vision_config.patch_size)
    side, most_tiles = inputs["pixel_values"].shape[-1], inputs["pixel_values"].shape[2]
    if side % patch or side != images.size["height"] or most_tiles != images.max_image_tiles:
        raise ModelError(f"{loaded.name}'s processor makes tiles of another size than is known here.")
    across = side // patch
    shapes = get_all_supported_aspect_ratios(most_tiles)
    nowhere = np.full((1, 4), np.nan)
    for (width, height), number in zip(sizes, inputs["aspect_ratio_ids"][0].tolist(), strict=True):
        down, along = shapes[number - 1]
        canvas = down * side, along * side
        high, wide = get_image_size_fit_to_canvas(height, width, *canvas, side)
        window = _Window(0.0, 0.0, canvas[1] / wide, canvas[0] / high)
        cells = window.cells(down * across, along * across).reshape(down, across, along, across, 4).swapaxes(1, 2)
        tiles = [np.concatenate([nowhere, tile.reshape(-1, 4)]) for row in cells for tile in row]
        yield np.concatenate([*tiles, *[np.repeat(nowhere, across**2 + 1, axis=0)] * (most_tiles - down * along)])


_Rule = Callable[[Loaded, Inputs, Sequence[Size]], Iterator[Floats]]
_RULES: dict[str, _Rule] = {
    "gemma3": _gemma3,
    "idefics3": _idefics3,
    "llava": _llava,
    "llava_next": _llava_next,
    "mllama": _mllama,
    "qwen2_5_vl": _qwen,
    "qwen2_vl": _qwen,
    "qwen3_vl": _qwen,
    "smolvlm": _idefics3,
}
# Whose pixels are prepared as the rules say; with other classes the same family may do otherwise.
_PROCESSORS = re.compile(
    r"(CLIP|Llava|LlavaNext|Siglip|Qwen2VL|Idefics3|SmolVLM|Gemma3|Mllama)ImageProcessor(Pil|Fast)?"
)


def _rule(loaded: Loaded) -> _Rule:
    config = loaded.model.config
    name = type(loaded.processor.image_processor).__name__
    vision = config.vision_config.model_type
    right = vision in ("clip_vision_model", "siglip_vision_model") or not config.model_type.startswith("llava")
    if config.model_type in _RULES and right and _PROCESSORS.fullmatch(name):
        return _RULES[config.model_type]
    model_name = loaded.name if right else f"{config.model_type} with {vision}"
    rules = ", ".join(_RULES)
    raise ModelError(
        f"It is not known here which part of a picture each token stands for in {model_name} (its pictures are "
        f"prepared by {name}), so there is no attention map of it. Known: {rules}."
    )
