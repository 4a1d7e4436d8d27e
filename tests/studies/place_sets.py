"""Sets of pictures that show one person in several places, of one colour each, and their list."""

from collections.abc import Callable, Sequence
from pathlib import Path

from PIL import Image


def place_sets(folder: Path, places: Sequence[str], sets: int, column: str, level: Callable[[int], str]) -> Path:
    """Make the pictures and the list of them; `level`: of a set, what stands in `column`."""
    rows = [f"path,set,context,{column}"]
    for number in range(sets):
        for at, place in enumerate(places):
            path = folder / f"{number}_{place}.png"
            Image.new("RGB", (8, 8), (25 * number, 80 * at, 120)).save(path)
            rows.append(f"{path.name},s{number},{place},{level(number)}")
    manifest = folder / "religion.csv"
    manifest.write_text("\n".join(rows))
    return manifest
