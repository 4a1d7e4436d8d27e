"""Random declarations: files of studies of one's own, most of them valid, with whatever their writers may think of."""

import csv
from io import BytesIO, StringIO
from pathlib import Path
from typing import Any

import PIL.Image
import tomli_w
from hypothesis import strategies as st

from facevalue.stimuli.portraits import ATTRIBUTES

PICTURE = BytesIO()
PIL.Image.new("RGB", (8, 8)).save(PICTURE, "PNG")
NAMES = (
    "job", "city", "age", "gender", "hat", "skin_tone", "kind of hat", "größe", "班级", "名前", "value", "wording",
    "ordering", "options", "block", "trial", "stated", "filled", "scenario", "score", "share", "seed", "path", "text",
    "status", "on", "contrast", "dimension", "rate", "variation", "attribute", "group", "q", "seeds", "model", "sample",
    "shown", "level", "word", "gap", "gap_share", "mass", "other_path", "base_side",
)  # fmt: skip
PLAIN = ("job", "city", "age", "gender", "hat", "colour", "accent", "region")
PLAIN_CUES = tuple(sorted(name for name, one in ATTRIBUTES.items() if len(one.genders) == 2))
LEVELS = (
    "a", "b", "yes", "no", "nurse", "software engineer", "(others)", "1", "01", "1.0", "None", "null", "nan", "true",
    "*", "{job}", "{options}", "|", "a,b", '"', "'", "\\", "\n", "<b>", "&amp;", "\u202e", "医生", "доктор", "طبيب",
    "👩🏽\u200d⚕️", "e\u0301", "é", "x" * 300, " ", "option yes", "base", "male", "female",
)  # fmt: skip
_LETTERS = st.characters(codec="utf-8", exclude_characters="\r\x00")
_WORDS = st.one_of(st.sampled_from(LEVELS), st.text(_LETTERS, min_size=1, max_size=12))
_SCORES = st.one_of(st.integers(-3, 9), st.floats(-5, 5, allow_nan=False).map(lambda value: round(value, 3)))


def _named(draw: st.DrawFn, odd: bool) -> str:
    return draw(st.sampled_from(NAMES if odd and draw(st.integers(0, 3)) == 0 else PLAIN))


def _levels(draw: st.DrawFn, odd: bool, most: int = 4) -> list[str]:
    words = _WORDS if odd else st.sampled_from(("one", "two", "three", "four", "five", "six"))
    return draw(st.lists(words, min_size=1 if odd else 2, max_size=most, unique=True))


def _rows(draw: st.DrawFn, odd: bool, compared: bool) -> tuple[list[dict[str, str]], dict[str, str], list[str]]:
    """Rows, keys of the table of pictures, and factors."""
    units = draw(st.integers(1 if odd else 2, 7))
    factors = {_named(draw, odd): _levels(draw, odd) for _ in range(draw(st.integers(0, 3)))}
    cue, levels = "", ["only"]
    if compared or draw(st.booleans()):
        cue, levels = _named(draw, odd), _levels(draw, odd)
        factors.pop(cue, None)
    unit = draw(st.sampled_from(("identity", "set", "image") if odd or not cue else ("identity", "set")))
    rows = []
    for number in range(units):
        own = {name: draw(st.sampled_from(each)) if odd else each[number % len(each)] for name, each in factors.items()}
        shown = levels if draw(st.integers(0, 4)) or not number else levels[: draw(st.integers(1, len(levels)))]
        if odd and draw(st.integers(0, 9)) == 0:
            shown = [*shown, *shown[:1]]
        for level in shown:
            row = {"identity": f"p{number}", "set": f"s{number}"} | own | ({cue: level} if cue else {})
            if odd and draw(st.integers(0, 7)) == 0 and factors:
                row[next(iter(factors))] = draw(st.sampled_from(next(iter(factors.values()))))
            rows.append(row)
    keys = {"unit": unit} | ({"cue": cue, "base": levels[0]} if cue else {})
    return rows, keys, [*factors, *([cue] if cue else [])]


def _pictures(draw: st.DrawFn, odd: bool, folder: Path) -> tuple[dict[str, Any], list[str]]:
    kind = draw(st.sampled_from(("none", "none", "none", "portraits", "manifest", "folder", "pairs")))
    if kind == "portraits":
        names = draw(st.lists(st.sampled_from(PLAIN_CUES), max_size=2, unique=True))
        cues = {
            name: draw(st.lists(st.sampled_from(sorted(ATTRIBUTES[name].values)), min_size=1, max_size=2, unique=True))
            for name in names
        }
        people = draw(st.sampled_from(("1", "2", "3", "5", "2M,1F", "1F")))
        own = ["gender", "age", "skin_tone", "build", *(["attribute", "variation"] if cues else [])]
        return {"kind": kind, "people": people, "cues": cues}, own
    rows, keys, factors = _rows(draw, odd, kind == "pairs")
    if kind == "none":
        return {"kind": kind, **keys, "rows": rows}, factors
    if kind == "folder":
        levels = _levels(draw, odd=False)
        for unit in range(draw(st.integers(1, 4))):
            (folder / f"set {unit}").mkdir(parents=True)
            for level in levels:
                (folder / f"set {unit}" / f"{level}.png").write_bytes(PICTURE.getvalue())
        return {"kind": kind, "path": str(folder), "cue": "hat", "base": levels[0]}, ["hat"]
    folder.mkdir(parents=True)
    (folder / "one.png").write_bytes(PICTURE.getvalue())
    text = StringIO()
    columns = list(dict.fromkeys(["path", *(name for row in rows for name in row)]))
    table = csv.DictWriter(text, columns)
    table.writeheader()
    for number, row in enumerate(rows):
        name = f"{number}.png"
        (folder / name).write_bytes(PICTURE.getvalue())
        table.writerow({**row, "path": name})
    (folder / "list.csv").write_text(text.getvalue(), encoding="utf-8")
    return {"kind": kind, **keys, "manifest": str(folder / "list.csv")}, factors


def _answer(draw: st.DrawFn, odd: bool) -> tuple[dict[str, Any], list[str]]:
    """The answer, and names of its scores."""
    kind = draw(st.sampled_from(("yes-no", "choice", "rating", "number", "json", "text")))
    answer: dict[str, Any] = {"kind": kind}
    if kind == "yes-no":
        answer["favourable"] = draw(st.sampled_from(("yes", "no")))
        return answer, ["share"]
    if kind == "choice":
        options = _levels(draw, odd, 5)
        answer["options"] = options if draw(st.booleans()) else {name: f"{name}!" for name in options}
        if draw(st.booleans()):
            answer["favourable"] = draw(st.sampled_from(options))
        else:
            answer["scores"] = {name: draw(_SCORES) for name in options}
        if draw(st.booleans()):
            answer["letters"] = draw(st.booleans())
        return answer, ["share" if "favourable" in answer else "score"]
    if kind == "rating":
        low = draw(st.integers(0, 3))
        return answer | {"low": low, "high": low + draw(st.integers(0 if odd else 1, 9))}, ["rating"]
    if kind == "number":
        answer["unit"] = draw(st.sampled_from(("USD", "年", "1")))
        for key, value in (("low", draw(_SCORES)), ("high", draw(st.integers(10, 10**9)))):
            if draw(st.booleans()):
                answer[key] = value
        return answer, ["amount"]
    if kind == "json":
        fields: dict[str, Any] = {}
        for _ in range(draw(st.integers(0 if odd else 1, 3))):
            options = _levels(draw, odd)
            scores = {"options": options, "scores": {name: draw(_SCORES) for name in options}}
            fields[_named(draw, odd)] = scores if draw(st.booleans()) else {"low": 0, "high": draw(st.integers(1, 100))}
        return answer | {"fields": fields}, list(fields)
    answer["take"] = draw(st.lists(st.sampled_from(("characters", "words")), unique=True, max_size=2, min_size=1))
    words = {_named(draw, odd): ["warm", "calm"] for _ in range(draw(st.integers(0, 2)))}
    return answer | {"words": words}, [*answer["take"], *words]


def _estimand(
    draw: st.DrawFn, factors: list[str], scores: list[str], odd: bool, pictures: dict[str, Any]
) -> dict[str, Any]:
    known = factors or ["gender"]
    kinds = ["mean"] + (["gap", "spread"] if factors else [])
    kinds += (
        ["preference"]
        if pictures["kind"] == "pairs"
        else ["shift"]
        if pictures.get("cue") or pictures.get("cues")
        else []
    )
    if odd:
        kinds = ["shift", "mean", "gap", "spread", "preference"]
    table: dict[str, Any] = {"statistic": draw(st.sampled_from(kinds))}
    table["by"] = draw(st.lists(st.sampled_from(known), unique=True, max_size=2))
    if table["statistic"] in ("gap", "spread"):
        table["factor"] = draw(st.sampled_from(known))
        table["by"] = [name for name in table["by"] if name != table["factor"] or (odd and draw(st.booleans()))]
    if table["statistic"] == "spread" and not odd:
        table["by"] = []
    if draw(st.integers(0, 5)) == 0 and (odd or ("shift" in kinds and table["statistic"] == "gap")):
        table["of_shifts"] = True
    if draw(st.integers(0, 5)) == 0:
        table["scores"] = draw(st.lists(st.sampled_from(scores or ["share"]), unique=True, max_size=2))
    if draw(st.integers(0, 3)) == 0:
        table["family"] = draw(st.sampled_from(("family", "家族", "gaps", "cues")))
    if draw(st.integers(0, 4)) == 0:
        table["confirmatory"] = True
        table["correction"] = draw(st.sampled_from(("holm", "bh", "by")))
    if draw(st.integers(0, 5)) == 0:
        table["margin"] = draw(st.sampled_from((0.05, 0.5, 3.0)))
    if table["statistic"] == "gap" and odd and draw(st.integers(0, 2)) == 0:
        table["versus"] = draw(_WORDS)
    return table


@st.composite
def declarations(draw: st.DrawFn, folder: Path) -> str:
    """The text of a file; `folder`, which does not exist yet, gets the pictures."""
    odd = draw(st.integers(0, 3)) == 3
    pictures, of_pictures = _pictures(draw, odd, folder)
    answer, scores = _answer(draw, odd)
    slots = {_named(draw, odd): _levels(draw, odd) for _ in range(draw(st.integers(0, 2)))}
    if not odd:
        slots = {name: levels for name, levels in slots.items() if name not in of_pictures}
    named = [f"{{{name}}}" for name in slots]
    if of_pictures and pictures["kind"] == "none" and draw(st.booleans()):
        named.append(f"{{{draw(st.sampled_from(of_pictures))}}}")
    if answer["kind"] in ("yes-no", "choice") and draw(st.booleans()):
        named.append("{options}")
    prompt: dict[str, Any] = {"text": "What of this? " + " ".join(named)}
    if draw(st.integers(0, 3)) == 0:
        kept = named[1:] if odd and draw(st.integers(0, 3)) == 0 else named
        prompt["paraphrases"] = ["And this? " + " ".join(kept)]
    if draw(st.integers(0, 3)) == 0:
        prompt["system"] = draw(_WORDS)
    wording = ["wording"] if "paraphrases" in prompt else []
    factors = [*of_pictures, *slots, *wording]
    document: dict[str, Any] = {"name": "drawn", "title": draw(_WORDS) if odd else "Drawn", "pictures": pictures}
    document |= {"prompt": prompt, "answer": answer}
    if slots:
        document["factor"] = {
            name: {"levels": levels if draw(st.booleans()) else {level: level.upper() for level in levels}}
            for name, levels in slots.items()
        }
    document["estimand"] = [_estimand(draw, factors, scores, odd, pictures) for _ in range(draw(st.integers(1, 4)))]
    if draw(st.booleans()):
        document["sampling"] = {
            "seeds": draw(st.lists(st.integers(0, 99), min_size=0 if odd else 1, max_size=3, unique=True)),
            "temperature": draw(st.sampled_from((0.0, 0.7, 1.0) if not odd else (0.0, 2.5))),
            "max_tokens": draw(st.integers(-1 if odd else 1, 300)),
        }
    if odd and draw(st.integers(0, 3)) == 0 and factors:
        document["titles"] = {factors[0]: {draw(_WORDS): draw(_WORDS)}}
    if odd and draw(st.integers(0, 9)) == 0:
        document["note"] = draw(_WORDS)
    return tomli_w.dumps(document)
