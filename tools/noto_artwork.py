"""Takes the artwork that this package ships from the npm package @iconify-json/noto.

    npm pack @iconify-json/noto && tar xzf iconify-json-noto-*.tgz
    python -m tools.noto_artwork package

Writes `src/facevalue/stimuli/noto/artwork.json`: the bodies as they are, people in the medium-light variant alone.
"""

import json
import sys
from pathlib import Path

from facevalue.stimuli.noto.artwork import FIGURES, OCCUPATIONS, PRESENTATIONS, artwork_name
from facevalue.stimuli.noto.persona_scenes import ARTWORK
from facevalue.stimuli.noto.scenes import ACTIVITIES, DRAWINGS

TARGET = Path(__file__).parents[1] / "src/facevalue/stimuli/noto/artwork.json"


def needed() -> tuple[list[str], list[str]]:
    """Return the names of the people, whose skin has a tone, and of all else that is drawn."""
    people = [artwork_name(who, how) for who in OCCUPATIONS for how in PRESENTATIONS]
    people += [name for names in FIGURES.values() for name in names if name]
    scenes = ACTIVITIES.values()
    objects = {prop.name for scene in scenes for prop in (*scene.front, *scene.behind, *scene.low)} - set(DRAWINGS)
    objects |= ARTWORK - set(DRAWINGS)
    return people, sorted(objects)


def main(package: Path) -> None:
    """Write the artwork that is needed out of an unpacked npm package."""
    icons = json.loads((package / "icons.json").read_text(encoding="utf-8"))["icons"]
    about = json.loads((package / "package.json").read_text(encoding="utf-8"))
    people, objects = needed()
    bodies = {name: icons[f"{name}-medium-light-skin-tone"]["body"] for name in people}
    bodies |= {name: icons[name]["body"] for name in objects}
    kept = {
        "package": about["name"], "version": about["version"], "license": about["license"], "bodies": bodies,
    }  # fmt: skip
    TARGET.write_text(json.dumps(kept, indent=0), encoding="utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
