"""Takes the letters that forms are drawn with from two npm packages of fonts.

    npm pack @fontsource/arimo @fontsource/courier-prime  # unpack each into a folder of its font's name
    pip install fonttools brotli  # needed here alone
    python -m tools.form_letters FOLDER

Writes `src/facevalue/stimuli/forms_letters.json`: outlines of the Latin letters as SVG paths, y pointing down, with
their widths. Kerning and hinting are left out. Both fonts are under the SIL Open Font License 1.1, and neither has a
reserved name; `forms_letters.LICENSE` has their notices.
"""

import json
import sys
from importlib import import_module
from pathlib import Path
from typing import Any

STYLES = {"label": ("arimo", 400), "title": ("arimo", 700), "value": ("courier-prime", 400)}
"""What each style of a form is written in: font and weight."""
TARGET = Path(__file__).parents[1] / "src/facevalue/stimuli/forms_letters.json"
_CODES = (*range(0x20, 0x7F), *range(0xA1, 0x100), *range(0x2013, 0x2023), 0x2026, 0x20AC)


def letters(file: Path) -> dict[str, Any]:
    """Return the letters of one style: units per em, and for each character its width and outline."""
    font: Any = import_module("fontTools.ttLib").TTFont(file)
    glyphs, names = font.getGlyphSet(), font.getBestCmap()
    out: dict[str, str] = {}
    for code in (code for code in _CODES if code in names):
        pen = import_module("fontTools.pens.svgPathPen").SVGPathPen(glyphs, ntos=lambda at: str(round(at)))
        turned = import_module("fontTools.pens.transformPen").TransformPen(pen, (1, 0, 0, -1, 0, 0))
        glyphs[names[code]].draw(turned)
        out[chr(code)] = f"{round(glyphs[names[code]].width)} {pen.getCommands()}"
    return {"units": int(font["head"].unitsPerEm), "letters": out}


def main(folder: Path) -> None:
    """Write the letters out of unpacked npm packages."""
    kept: dict[str, Any] = {"packages": {}, "styles": {}}
    for style, (font, weight) in STYLES.items():
        about = json.loads((folder / font / "package" / "package.json").read_text(encoding="utf-8"))
        kept["packages"][about["name"]] = {"version": about["version"], "license": about["license"]}
        kept["styles"][style] = letters(folder / font / "package" / "files" / f"{font}-latin-{weight}-normal.woff2")
    TARGET.write_text(json.dumps(kept, indent=0, ensure_ascii=False) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
