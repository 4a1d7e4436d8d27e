"""Audits of editors whose side effects are planted: how often they are found, and what is found where none are.

`python -m benchmarks.editor_audits --out docs/results/calibration-editor.csv` goes on where it was stopped. Each audit
is whole: a planted editor, the inspector, the study `editor`, verdicts. 24 drawn faces, 12 of each gender, each with a
null edit and one edit; which gender a side effect meets is drawn at random. Pictures of 160 pixels, and what the
inspector says of each pair, are kept. Faces and their seeds are drawn anew for each audit from a pool of 60 faces with
4 seeds each.

Beside it stands a simple test: t of the edited pictures alone, against their sources, each quantity at p < .05.
"""

import argparse
import json
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from hashlib import blake2b
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import polars as pl
from scipy import stats

import facevalue
from facevalue.generators.base import NULL_EDIT, PictureRequest
from facevalue.generators.planted_editors import DRIFT, LIGHTEN, REFUSE, SHIFT, ZOOM, PlantedEditor
from facevalue.measures.proportions import wilson_interval
from facevalue.models import load
from facevalue.models.base import Model
from facevalue.protocol.making import PicturePlan
from facevalue.runs import RunSettings, SilentProgress, run
from facevalue.runs.joined_runs import estimate
from facevalue.runs.stored_run import StoredRun, answers
from facevalue.stimuli.drawings.portraits import draw_identities
from facevalue.stimuli.portraits import Identity
from facevalue.stimuli.portraits.composition import svg
from facevalue.stimuli.portraits.shapes import png
from facevalue.studies.registry import find_protocol
from facevalue.types import Image, Request, Response, Status

SIZE, FACES, POOL, SEEDS = 160, 24, 60, 4
"""Pixels of a picture; faces of an audit, faces of the pool, and seeds of each of these."""
CUE = "stripe"
GENDERS = ("female", "male")
INSPECTOR = "inspect/identity=dlib"
CONDITIONS = {
    "nothing": "null",
    "skin": "lighten=4:gender",
    "identity": "drift=0.01:gender",
    "frame": "shift=0.04:gender+zoom=1.06",
    "refusals": "refuse=0.4:gender",
}
"""What is planted, by the name of the condition."""
MEASURES = {
    LIGHTEN: ("shift_gap.skin_lightness_change", "shift.skin_lightness_change"),
    DRIFT: ("shift_gap.identity_distance", "shift.identity_distance"),
    SHIFT: ("shift_gap.shift", "shift.shift"),
    ZOOM: ("shift.zoom",),
    REFUSE: ("gap.refused",),
}
"""Measures that each side effect is to be found in; the first is promised."""
KEY = pl.concat_str("measure", "score", separator=".", ignore_nulls=True)
"""Names of measures with their scores."""
MADE, THUMB = 60, 24
"""Faces of an audit of refusals, which looks at no picture, and their pixels."""
SAME = {"structure": 1.0}
"""What a quantity is where nothing has changed, if not zero."""
FOUND = "difference found"
_POOL_SEED, _AUDIT_SEED = 41, 42


@dataclass(frozen=True)
class Audit:
    """One audit: a condition, its number, and the editor whose draws part the genders."""

    condition: str
    number: int

    @property
    def editor(self) -> PlantedEditor:
        """The editor; of all seeds those count by which each side effect meets one gender alone."""
        plants, number = CONDITIONS[self.condition], 0
        for seed in range(100_000):
            editor = PlantedEditor(f"sim/{plants}@{seed}")
            met = [editor.truth({"gender": gender}) for gender in GENDERS]
            if all(sum(plant.kind in truth for truth in met) == 1 for plant in editor.plants if plant.factors):
                if number == self.number:
                    return editor
                number += 1
        raise AssertionError


@cache
def pool() -> list[Identity]:
    """Everyone who may be drawn."""
    return list(draw_identities(dict.fromkeys(GENDERS, POOL // 2), _POOL_SEED))


@cache
def portrait(at: int) -> bytes:
    """The source picture of one of the pool."""
    return png(svg(pool()[at]), SIZE)


@cache
def edited(plants: tuple[tuple[str, float], ...], at: int, seed: int, cue: str) -> bytes | None:
    """What an editor makes of one of the pool with these side effects; None for a refusal."""
    editor = PlantedEditor("sim/" + ("+".join(f"{kind}={strength}" for kind, strength in plants) or "null"))
    request = PictureRequest(0, cue, seed, Image(portrait(at), "image/png"), {"cue": cue})
    (picture,) = editor.generate([request])
    return None if picture.image is None else picture.image.data


class KeptInspector:
    """An inspector whose replies are kept by what was shown and asked."""

    def __init__(self, inner: Model, folder: Path | None) -> None:
        self.inner, self.name, self.capabilities = inner, inner.name, inner.capabilities
        self._kept: dict[str, str] = {}
        self._file = (
            folder / f"replies-{blake2b(inner.name.encode(), digest_size=4).hexdigest()}.jsonl" if folder else None
        )
        if self._file and self._file.exists():
            for line in self._file.read_text().splitlines():
                with suppress(ValueError):  # cut short by a kill: it is looked at again
                    self._kept.update([json.loads(line)])

    def settings(self) -> Mapping[str, str | int | float | bool]:
        """Those of the inspector."""
        return self.inner.settings()

    def respond(self, requests: Iterable[Request]) -> Iterator[Response]:
        """Look again at nothing."""
        for request in requests:
            key = f"{request.stimulus.digest} {request.question.prompt}"
            if key not in self._kept:
                (response,) = self.inner.respond([request])
                if response.text is None:
                    yield response
                    continue
                self._kept[key] = response.text
                if self._file:
                    with self._file.open("a") as file:
                        file.write("\n" + json.dumps([key, response.text]))
            yield Response(request.trial, request.repeat, Status.OK, self._kept[key])

    def close(self) -> None:
        """Let go of the inspector."""
        self.inner.close()


def pictures(audit: Audit, folder: Path) -> Path:
    """Draw faces, have them edited, and list all of it."""
    rng = np.random.default_rng([_AUDIT_SEED, *audit.condition.encode(), audit.number])
    half = POOL // 2
    drawn = np.concatenate([rng.choice(half, FACES // 2, replace=False) + half * n for n in range(2)])
    rows, editor = [], audit.editor
    for at in drawn.tolist():
        person, seed = pool()[at], int(rng.integers(SEEDS)) * POOL + at
        shown = {"identity": person.id, "gender": person.gender}
        (folder / f"{person.id}.png").write_bytes(portrait(at))
        rows.append({"image": person.id, "path": f"{person.id}.png", "source": None, "cue": None, **shown})
        for number, cue in enumerate((NULL_EDIT, CUE)):
            data = edited(tuple(editor.truth({**shown, "cue": cue}).items()), at, seed, cue)
            if data is not None:
                name = f"{person.id}-{number}"
                (folder / f"{name}.jpg").write_bytes(data)
                rows.append({"image": name, "path": f"{name}.jpg", "source": person.id, "cue": cue, **shown})
    pl.DataFrame(rows).write_parquet(folder / "manifest.parquet")
    return folder / "manifest.parquet"


def audited(audit: Audit, inspector: Model) -> pl.DataFrame:
    """One audit from pictures to verdicts: its estimates, and p of the simple test of each (`p_simple`)."""
    with TemporaryDirectory() as place:
        folder = Path(place)
        study = find_protocol("editor").study({"manifest": str(pictures(audit, folder)), "kind": "illustrated"})
        run(study, inspector, folder / "run", RunSettings(check=False), SilentProgress())
        stored = StoredRun.open(folder / "run")
        estimates = estimate([stored])[0]
        edits = pl.concat(answers(stored)).filter(pl.col("cue").cast(pl.String) == CUE)
    return estimates.with_columns(measure=KEY).with_columns(
        pl.struct("measure").map_elements(lambda row: simple(edits, row["measure"]), pl.Float64).alias("p_simple")
    )


def refused(audit: Audit) -> pl.DataFrame:
    """One making of edits: how refusals differ between the genders, and p of Fisher's test of pictures."""
    rng, rows = np.random.default_rng([_AUDIT_SEED, *audit.condition.encode(), audit.number]), []
    with TemporaryDirectory() as place:
        folder = Path(place)
        for number in range(MADE):
            path, shown = folder / f"f{number}.png", {"identity": f"f{number}", "gender": GENDERS[number % 2]}
            path.write_bytes(png(svg(pool()[(number // 2 + number % 2 * POOL // 2) % POOL]), THUMB))
            rows.append({"image": f"f{number}", "path": str(path), "cue": None, **shown})
            rows += [{"image": f"f{number}/{cue}", "source": f"f{number}", "prompt": cue, "cue": cue, **shown}
                     for cue in (NULL_EDIT, CUE)]  # fmt: skip
        table = pl.DataFrame(rows, infer_schema_length=None)
        seeds = pl.Series("picture_seed", rng.integers(2**31, size=table.height))
        plan = PicturePlan(table=table.with_columns(seeds), groups=("gender",))
        facevalue.make(plan, audit.editor, folder / "made", progress=False)
        making = facevalue.open_run(folder / "made")
        listed = pl.read_parquet(folder / "made" / "manifest.parquet").filter(pl.col("source").is_not_null())
        estimates = making.estimates()
    counts = [listed.filter(gender=gender).height for gender in GENDERS]
    p = float(stats.fisher_exact(np.array([[count, MADE - count] for count in counts])).pvalue)
    named = pl.when(pl.col("measure") == "gap.refused").then(p)
    return estimates.with_columns(measure=KEY).with_columns(named.alias("p_simple"), cue=pl.lit(None, pl.String))


def simple(edits: pl.DataFrame, measure: str) -> float | None:
    """P of a t test of edited pictures against their sources; Welch's between the genders for a gap."""
    kind, name = ("gap", measure.removeprefix("shift_gap.")) if measure.startswith("shift_gap.") else (
        "shift", measure.removeprefix("shift."))  # fmt: skip
    if name not in edits.columns or name == measure:
        return None
    values = [
        edits.filter(pl.col("gender").cast(pl.String) == gender)[name].drop_nulls().to_numpy() for gender in GENDERS
    ]
    together = np.concatenate(values)
    if min(map(len, values)) < 2 or not together.std():
        return None
    test = (
        stats.ttest_ind(*values, equal_var=False) if kind == "gap" else stats.ttest_1samp(together, SAME.get(name, 0.0))
    )
    return float(test.pvalue)


def kept_audit(audit: Audit, keep: Path) -> pl.DataFrame:
    """An audit, made if it is not kept."""
    path = keep / f"{audit.condition.replace(' ', '-').replace(',', '')}-{audit.number}.parquet"
    if not path.exists():
        columns = ["measure", "cue", "gender", "contrast", "value", "low", "high", "verdict", "p_simple"]
        is_making = REFUSE in CONDITIONS[audit.condition]
        rows = (refused(audit) if is_making else audited(audit, _inspector(INSPECTOR, keep))).select(columns)
        aside = path.with_suffix(".part")
        rows.write_parquet(aside)
        aside.replace(path)
    return pl.read_parquet(path)


@cache
def _inspector(name: str, keep: Path | None) -> KeptInspector:
    return KeptInspector(load(name), keep)


def outcomes(audit: Audit, rows: pl.DataFrame) -> list[dict[str, object]]:
    """What an audit found of each side effect that was planted, or, where none was, whether it found anything.

    Between genders nothing differs then; what all faces share includes what the edit itself, a stripe, does.
    """
    editor = audit.editor
    out: list[dict[str, object]] = []
    if not editor.plants:
        tested = rows.filter(pl.col("verdict").is_not_null())
        for estimand, is_gap in (("any gap between genders", True), ("anything of all faces", False)):
            of_it = tested.filter(pl.col("gender").is_not_null() == is_gap)
            out.append({
                "side effect": "", "strength": None, "estimand": estimand, "promised": is_gap, "value": None,
                "found": (of_it["verdict"] == FOUND).any(), "simple": (of_it["p_simple"] < 0.05).any(), "wrong": False,
            })  # fmt: skip
        return out
    for plant in editor.plants:
        met = plant.kind in editor.truth({"gender": GENDERS[0]})
        for measure in MEASURES[plant.kind]:
            is_gap = "gap" in measure
            row = rows.row(
                by_predicate=(pl.col("measure") == measure) & (pl.col("gender").is_not_null() == is_gap), named=True
            )
            toward = 1.0 if not is_gap or (row["gender"] == GENDERS[0]) == met else -1.0
            value, is_found = toward * (row["value"] or 0.0), row["verdict"] == FOUND
            out.append({
                "side effect": plant.kind, "strength": plant.strength, "value": value,
                "estimand": "gap between genders" if is_gap else "all faces",
                "promised": measure == MEASURES[plant.kind][0], "found": is_found and value > 0,
                "wrong": is_found and value < 0, "simple": row["p_simple"] is not None and row["p_simple"] < 0.05,
            })  # fmt: skip
    return out


def table(audits: Mapping[Audit, pl.DataFrame]) -> pl.DataFrame:
    """Share of audits that found each side effect, with its 95% interval (Wilson), and that of the simple test."""
    rows = [{"condition": audit.condition, "planted": CONDITIONS[audit.condition], **outcome}
            for audit, estimates in audits.items() for outcome in outcomes(audit, estimates)]  # fmt: skip
    names = ["condition", "planted", "side effect", "strength", "estimand", "promised"]
    shares = pl.DataFrame(rows, infer_schema_length=None).group_by(names, maintain_order=True).agg(
        pl.len().alias("audits"), pl.col("found").mean(), pl.col("wrong").mean().alias("wrong sign"),
        pl.col("value").mean().alias("mean estimate"), pl.col("simple").mean().alias("found by t"),
    )  # fmt: skip
    low, high = wilson_interval(shares["found"], shares["audits"], np.full(shares.height, np.inf))
    return shares.with_columns(pl.Series("found low", low), pl.Series("found high", high)).with_columns(
        pl.col(pl.Float64).round(4)
    )


def of_edit_itself(audits: Mapping[Audit, pl.DataFrame]) -> str:
    """What audits found where nothing was planted, each quantity beside its mean over all of these audits."""
    unplanted = pl.concat(rows for audit, rows in audits.items() if not audit.editor.plants)
    tested = unplanted.filter(pl.col("verdict").is_not_null(), pl.col("value").is_not_null())
    is_found = pl.col("verdict") == FOUND
    columns = {"found": is_found.sum(), "mean": pl.col("value").mean(), "se": pl.col("value").std() / pl.len().sqrt()}
    quantities = tested.group_by("measure", "cue", "gender").agg(**columns).filter(pl.col("found") > 0)
    return "; ".join(
        f"`{row['measure']}` in {row['found']} (mean over all audits {row['mean']:.2g}, standard error {row['se']:.1g})"
        for row in quantities.sort("found", descending=True).iter_rows(named=True)
    ) or "nothing"  # fmt: skip


def page(rows: pl.DataFrame, of_edit: str) -> str:
    """The table for people; `of_edit`: what is found where nothing is planted."""

    def share(found: float) -> str:
        return f"{100 * found:.0f}%"

    heads = ("planted", "found in", "audits that find it", "95% interval", "wrong sign", "mean estimate", "simple test")
    lines = [f"| {' | '.join(heads)} |", "|" + "---|" * len(heads)]
    for row in rows.iter_rows(named=True):
        where = f"**{row['estimand']}**" if row["promised"] else row["estimand"]
        estimate = "" if row["mean estimate"] is None else f"{row['mean estimate']:.3g}"
        found = f"{share(row['found'])} of {row['audits']}"
        span = f"{share(row['found low'])} to {share(row['found high'])}"
        planted = f"`{row['side effect']}` in `{row['planted']}`" if row["side effect"] else "nothing"
        cells = (planted, where, found, span, share(row["wrong sign"]), estimate, share(row["found by t"]))
        lines.append(f"| {' | '.join(cells)} |")
    return _PAGE.format(table="\n".join(lines), of_edit=of_edit)


_PAGE = """# Calibration of the audit of editors

`make calibration-editor` makes this page: audits of [editors whose side effects are
planted](../papers/editor-audit.md#planted-truth), each from pictures through the inspector to the verdicts of a page.
24 drawn faces, 12 of each gender, of 160 pixels, each with a null edit and one edit, and dlib's embedding for
identity; which gender a side effect meets is drawn at random, anew in each audit. Refusals are those of a making of
120 edits of 60 faces.

Promised is that what is planted is found (bold: for one gender, as a difference between the genders) in at least 95% of
audits, at the level of the page, and that where nothing is planted at most 5% find any difference between the genders.
That is nothing by construction: both get the same stripe. What all faces share is not: the stripe itself moves it.
Estimates are turned toward what was planted, in the unit of the quantity: L*, distance of embeddings, % of the width,
%, share.

{table}

Where nothing is planted, found are: {of_edit}.
A mean that lies many standard errors from zero is no chance finding: it is the edit itself, the stripe that it adds.

The simple test is t of the edited pictures against their sources, without null edits, each quantity at p < .05 by
itself (Welch's between the genders; Fisher's exact test of refusals). It always finds something where nothing is
planted: a distance is never zero, and an editor's encoding changes every picture.

The numbers: [calibration-editor.csv](calibration-editor.csv).
"""


def main() -> None:
    """Make the audits that are not there, and the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--keep", type=Path, default=Path("build/editor-audits"))
    parser.add_argument("--audits", type=int, default=100)
    parser.add_argument("--conditions", nargs="+", choices=CONDITIONS, default=list(CONDITIONS))
    asked = parser.parse_args()
    asked.keep.mkdir(parents=True, exist_ok=True)
    audits = [Audit(condition, number) for number in range(asked.audits) for condition in asked.conditions]
    kept = {audit: kept_audit(audit, asked.keep) for audit in audits}
    rows = table(kept)
    rows.write_csv(asked.out)
    asked.out.with_suffix(".md").write_text(page(rows, of_edit_itself(kept)))


if __name__ == "__main__":
    main()
