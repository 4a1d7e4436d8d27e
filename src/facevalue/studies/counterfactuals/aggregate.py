"""Aggregation of answers: numbers by trial, words by image, in one pass and bounded memory."""

from collections.abc import Iterator, Sequence

import numpy as np
import numpy.typing as npt
import polars as pl

from facevalue.measures.cluster_bootstrap import Array
from facevalue.studies.counterfactuals.parts import Part
from facevalue.studies.counterfactuals.texts import Lists, Texts

SCORE = "score: "
"""How columns of scores begin: "score: SCORER/LABEL"."""
REFUSED_SCORE, UNREAD = "refused score: ", "unread: "
"""How those of what refusals say begin, and those that say whether a scorer has not read them: "unread: SCORER"."""
WORDS, VALUE = "words", "value"
NOT_ASKED, VALID = -1, 0
_MOST_REASONS = 126
_KINDS = ("reason", "note")


class Answers:
    """One model's answers: numbers and reasons of each trial and repeat, and the words of texts."""

    def __init__(self, parts: Sequence[Part], chunks: Iterator[pl.DataFrame], lists: Lists) -> None:
        self._parts = parts
        self._size = max((part.trials.stop for part in parts), default=0)
        self._numbers: dict[tuple[str, int], Array] = {}
        self._kinds: dict[tuple[str, int], npt.NDArray[np.int8]] = {}
        self.names: dict[str, dict[str, int]] = {kind: {} for kind in _KINDS}
        """Reasons and notes, and the number of each from 1."""
        self.repeats = 0
        self.scores: list[str] = []
        """Scores that the answers carry: SCORER/LABEL."""
        self._declined: list[pl.DataFrame] = []
        self.texts = Texts(parts, lists)
        for chunk in chunks:
            self._add(chunk)

    def _add(self, chunk: pl.DataFrame) -> None:
        trial = chunk["trial"].to_numpy().astype(np.int64)
        repeat = chunk["repeat"].to_numpy().astype(np.int64) if "repeat" in chunk.columns else np.zeros_like(trial)
        scores = [name for name in chunk.columns if name.startswith(SCORE)]
        self.scores += [name.removeprefix(SCORE) for name in scores if name.removeprefix(SCORE) not in self.scores]
        numbers = [name for name in (WORDS, VALUE, *scores) if name in chunk.columns]
        coded = {kind: self._coded(chunk, kind) for kind in _KINDS}
        for at in np.unique(repeat).tolist():
            rows = repeat == at
            self.repeats = max(self.repeats, at + 1)
            for name in numbers:
                values = chunk[name].cast(pl.Float64).fill_null(float("nan")).to_numpy()
                self._array(name, at)[trial[rows]] = values[rows]
            for kind, codes in coded.items():
                kind_codes = self._kinds.setdefault((kind, at), np.full(self._size, NOT_ASKED, dtype=np.int8))
                kind_codes[trial[rows]] = codes[rows]
        if "declined" in chunk.columns and scores:
            columns = ("trial", "repeat", f"^({REFUSED_SCORE}|{UNREAD}).*$")
            self._declined.append(chunk.filter(pl.col("declined").is_not_null()).select(columns))
        if "text" in chunk.columns:
            self.texts.add(trial, chunk["text"])

    def _array(self, name: str, repeat: int) -> Array:
        if (name, repeat) not in self._numbers:
            self._numbers[name, repeat] = np.full(self._size, np.nan)
        return self._numbers[name, repeat]

    def _coded(self, chunk: pl.DataFrame, kind: str) -> npt.NDArray[np.int8]:
        """Reasons or notes as numbers; `VALID` where there is none. What is beyond the most is one more."""
        names_of_kind = self.names[kind]
        if kind not in chunk.columns:
            return np.full(chunk.height, VALID, dtype=np.int8)
        texts = chunk[kind].cast(pl.String)
        for name in texts.unique(maintain_order=True).drop_nulls():
            names_of_kind.setdefault(name, min(len(names_of_kind) + 1, _MOST_REASONS))
        codes = texts.replace_strict(names_of_kind, default=VALID, return_dtype=pl.Int8) if names_of_kind else None
        return np.full(chunk.height, VALID, dtype=np.int8) if codes is None else codes.to_numpy()

    def asked(self, part: Part) -> bool:
        """Whether anything of a block was."""
        return any((self._kinds["reason", at][part.trials] != NOT_ASKED).any() for at in self._repeats("reason"))

    def number(self, part: Part, name: str, prompt: int) -> Array:
        """Numbers of one prompt, shape (images, draws); NaN where there is none. Repeats are further draws."""
        numbers = [self._numbers[name, at][part.trials] for at in range(self.repeats) if (name, at) in self._numbers]
        return self._of_prompt(part, numbers, prompt)

    def released(self, part: Part, name: str, prompt: int) -> tuple[Array, bool] | None:
        """Scores as `number` gives them, with those of refusals, and whether the scorer has not read some of these.

        None where no refusal says anything.
        """
        at = pl.col("trial").cast(pl.Int64) - part.start
        of_prompt = at // part.draws
        in_block = at.is_between(0, part.trials.stop - part.start, closed="left") & (
            of_prompt % len(part.prompts) == prompt
        )
        rows = pl.concat([one.filter(in_block) for one in self._declined]) if self._declined else pl.DataFrame()
        if not rows.height:
            return None
        repeats = [repeat for repeat in range(self.repeats) if (f"{SCORE}{name}", repeat) in self._numbers]
        place_of_repeat = (
            pl.col("repeat").replace_strict(repeats, range(len(repeats)), return_dtype=pl.Int64) * part.draws
        )
        image, draw = rows.select(of_prompt // len(part.prompts), draw=place_of_repeat + at % part.draws)
        scores = self.number(part, f"{SCORE}{name}", prompt)
        scores[image.to_numpy(), draw.to_numpy()] = rows[f"{REFUSED_SCORE}{name}"].fill_null(float("nan")).to_numpy()
        return scores, bool(rows[f"{UNREAD}{name.partition('/')[0]}"].any())

    def kind(self, part: Part, kind: str, prompt: int, code: int | None = None) -> Array:
        """Whether replies have a reason (or note), or one of them: 1 or 0, NaN where nothing was asked."""
        counts = []
        for at in self._repeats(kind):
            codes = self._kinds[kind, at][part.trials]
            has = codes > VALID if code is None else codes == code
            counts.append(np.where(codes == NOT_ASKED, np.nan, has.astype(np.float64)))
        return self._of_prompt(part, counts, prompt)

    def _repeats(self, kind: str) -> list[int]:
        return [at for at in range(self.repeats) if (kind, at) in self._kinds]

    @staticmethod
    def _of_prompt(part: Part, known: list[Array], prompt: int) -> Array:
        if not known:
            return np.full((part.images, 1), np.nan)
        return np.concatenate([part.of_prompt(values, prompt) for values in known], axis=1)


def by_cluster(part: Part, sums: Array, counts: Array) -> tuple[Array, Array]:
    """Sums and counts of images by cluster, for each group and for all of them together."""
    groups, clusters = len(part.groups), part.clusters
    at = part.cluster * groups + part.group
    sums_of_groups = [np.bincount(at, x, clusters * groups).reshape(clusters, groups) for x in (sums, counts)]
    with_totals = [np.hstack([x, x.sum(axis=1, keepdims=True)]) for x in sums_of_groups]
    return with_totals[0], with_totals[1]
