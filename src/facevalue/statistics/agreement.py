"""Agreement of replies about two pictures, beside two replies about one: flips of an answer, similarity of lists."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from facevalue.answers.lists import SEPARATOR
from facevalue.errors import DataError
from facevalue.measures.answer_matches import Flips, Similarities, answer_flips, list_similarities
from facevalue.measures.cluster_bootstrap import Array, cluster_means
from facevalue.measures.definitions import Measure
from facevalue.measures.estimators import column_shares
from facevalue.measures.missing_data_bounds import Replies, phi_bounds
from facevalue.measures.shift import ShiftCells
from facevalue.statistics.answer_arrays import NOT_ASKED
from facevalue.statistics.breakdown import Breakdown, Codes
from facevalue.statistics.contrasts import require_cue
from facevalue.statistics.shifts import SEED
from facevalue.statistics.statistic import Definitions, Score, Statistic, companion_measures, register

if TYPE_CHECKING:
    from facevalue.measures.estimates import EstimateTable
    from facevalue.statistics.estimand import Estimand
    from facevalue.statistics.scores import ModelScores

_OF_SAME_REPLIES = "what lies beyond its floor is of the same replies; the share itself has some"


class _BesideFloor(Statistic):
    """Replies about a picture and its base compared, beside two replies about one picture; it is not tested."""

    says_difference = False
    paired = True

    def add(
        self, table: "EstimateTable", estimand: "Estimand", model: "ModelScores",
        agreement: Flips | Similarities, names: tuple[str, str, str], at: Codes,
    ) -> None:  # fmt: skip
        """Add what lies beyond the floor, the rate and the floor; `at`: the second picture of each pair."""
        rows, columns = model.breakdown.rows(at, estimand.by), model.breakdown.columns(estimand.by)

        def cells(values: Array) -> ShiftCells:
            return model.cells(values, at, rows, columns)

        beyond, rate, floor = (model.measures[name] for name in names)
        difference = cells(agreement.beyond)
        labels = model.breakdown.make_labels(difference.labels)
        keep = (cells(agreement.rate).shown > 0) & estimand.holds(difference.labels, difference.shown.size)
        means = cluster_means(difference.sums, difference.counts, SEED, largest=1.0)
        table.add(beyond, labels, means.without_tests(), keep=keep)
        bounds = phi_bounds(Replies(*(cells(total).sums for total in agreement[3:])))  # chosen, valid, requested
        for measure, values, ends in ((rate, agreement.rate, bounds), (floor, agreement.floor, None)):
            share = cells(values)
            table.add(measure, labels, replace(column_shares(share.sums, share.counts), bounds=ends), keep=keep)


@register
class Flip(_BesideFloor):
    """Rate at which the answer differs from that about the base, beyond that of a picture asked twice."""

    kind = "flip"
    title = "Flips of the answer"
    lead = (
        "How often the answer differs from that about the base, beyond that about one picture asked twice. Any other "
        "picture would change some answers: this says how far they hang on the picture, not why."
    )
    definitions: ClassVar[Definitions] = {
        "flip": (
            "Flips of the answer beyond those of one picture asked twice: {}",
            "p (1 - p') + p' (1 - p) - (flips of base and change asked twice) / 2, which is (p - p')² on average",
        )
    }
    unbounded = _OF_SAME_REPLIES
    companion_titles = (
        "Answers that differ from that about the base",
        "Answers that differ where one picture is asked twice",
    )

    def check(self, by: Sequence[str], breakdown: Breakdown) -> None:
        """Refuse flips without a base."""
        require_cue(self.kind, breakdown)

    def check_score(self, score: Score, *, sides: bool) -> None:
        """Refuse answers on a scale."""
        self._refuse_left_out(score)
        if score.unit != "probability":
            title = score.title[:1].lower() + score.title[1:]
            raise DataError(f"A flip is of an answer that counts or not; the {title} is on a scale.")

    def companions(self, name: str) -> tuple[str, ...]:
        """Names of the rate of flips, and of that of a picture asked twice."""
        return f"{name}_rate", f"{name}_floor"

    def measures(self, name: str, breakdown: Breakdown, score: Score) -> dict[str, Measure]:
        """Definitions of what lies beyond the floor, of the rate, and of the floor."""
        out = super().measures(name, breakdown, score)
        rate, floor = self.companions(name)
        texts = {
            rate: ("Share of answers that differ from that about the base", "p (1 - p') + p' (1 - p)"),
            floor: ("Share of answers that differ where one picture is asked twice", "2 p (1 - p) n / (n - 1)"),
        }
        return out | companion_measures(out[name], texts, limits=(0.0, 1.0), unbounded="")

    def estimate(self, table: "EstimateTable", estimand: "Estimand", model: "ModelScores") -> None:
        """Add flips beyond the floor, their rate and the floor."""
        if model.answers is None:  # of several models together there is no reply
            return
        answers, sets, name = model.answers, model.breakdown.sets, model.name_of(estimand)
        is_asked = answers.by_prompt(answers.reasons != NOT_ASKED)
        weights, mass = answers.by_prompt(answers.weights), answers.by_prompt(answers.mass)
        agreement = answer_flips(weights.astype(np.float64), mass, is_asked, sets.base_of, sets.variation_rows)
        rate, floor = self.companions(name)
        self.add(table, estimand, model, agreement, (name, rate, floor), sets.variation_rows)


@register
@dataclass(frozen=True, kw_only=True)
class Similarity(_BesideFloor):
    """Similarity of the lists about a picture and its base, or about any two pictures of a unit.

    Attributes
    ----------
    factor:
        The factor in which any two pictures of a unit differ; empty for a picture and its base.
    """

    factor: str = ""

    kind = "similarity"
    of_lists = True
    plural = "similarities"
    of_whole = True
    title = "Similarity of lists"
    lead = (
        "How much of what is named about two pictures of a unit is the same (Jaccard: entries that both lists have, of "
        "all that either has), beside two lists about one picture. Any other picture would change some lists: this "
        "says how far they hang on the picture, not why."
    )
    definitions: ClassVar[Definitions] = {
        "similarity": (
            "Similarity of {} about a picture and its base",
            "mean over pairs of replies of |a ∩ b| / |a ∪ b|, 1 for two empty lists (Jaccard)",
        ),
        "similarity_within": (
            "Similarity of {} about two pictures of one unit",
            "mean over pairs of levels, and of replies, of |a ∩ b| / |a ∪ b|, 1 for two empty lists (Jaccard)",
        ),
    }
    has_direction = False
    is_between_groups = True
    companion_titles = (
        "What two lists about one picture have beyond it",
        "Similarity of two lists about one picture",
    )

    def check(self, by: Sequence[str], breakdown: Breakdown) -> None:
        """Refuse similarities without a base, or of a factor that units have one level of."""
        if not self.factor:
            require_cue(self.kind, breakdown)
            return
        if breakdown.is_of_prompt(self.factor) or not breakdown.sets.varies(self.factor):
            raise DataError(
                f"Lists about pictures of one unit are compared, and no unit has several of {self.factor!r}."
            )
        for name in by:
            if not breakdown.is_of_prompt(name) and breakdown.sets.varies(name):
                raise DataError(
                    f"A similarity of {self.factor!r} is of two pictures of a unit, which differ in {name!r}, too."
                )

    def quantity(self, breakdown: Breakdown) -> str:
        """Name of the similarity: to the base, or of any two."""
        return "similarity_within" if self.factor else self.kind

    def companions(self, name: str) -> tuple[str, ...]:
        """Names of what two lists about one picture have beyond it, and of their similarity."""
        return f"{name}_lost", f"{name}_floor"

    def measures(self, name: str, breakdown: Breakdown, score: Score) -> dict[str, Measure]:
        """Definitions of the similarity, of what is lost, and of the floor."""
        out = super().measures(name, breakdown, score)
        lost, floor = self.companions(name)
        twice = {
            floor: (
                "Similarity of two lists about one picture",
                "mean |a ∩ b| / |a ∪ b| of two replies to one picture",
            )
        }
        beyond = {lost: ("Similarity that two lists about one picture have beyond it", f"{floor} - {name}")}
        return (
            out
            | companion_measures(out[name], beyond, signed=True, limits=(-1.0, 1.0), unbounded=_OF_SAME_REPLIES)
            | companion_measures(out[name], twice, signed=False, limits=(0.0, 1.0))
        )

    def estimate(self, table: "EstimateTable", estimand: "Estimand", model: "ModelScores") -> None:
        """Add similarities, what two lists about one picture have beyond them, and the floor."""
        if model.answers is None:  # of several models together there is no reply
            return
        answers, sets, name = model.answers, model.breakdown.sets, model.name_of(estimand)
        lists = np.nan_to_num(answers.weights, nan=-1).astype(np.int64)
        lists[~(answers.mass > 0)] = -1
        sets_of_texts = [frozenset(text.split(SEPARATOR) if text else ()) for text in answers.texts]
        first, second = model.breakdown.pairs(self.factor) if self.factor else (sets.base_of, sets.variation_rows)
        is_asked = answers.reasons != NOT_ASKED
        agreement = list_similarities(lists, sets_of_texts, is_asked, first, second)
        lost, floor = self.companions(name)
        self.add(table, estimand, model, agreement, (lost, name, floor), second)
