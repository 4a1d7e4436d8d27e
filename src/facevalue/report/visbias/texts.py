"""What the sections on descriptions show: lengths, sentiment, words of lists, and the words that mark a group."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from markupsafe import Markup

from facevalue.report.components import Lines, Strips, verdict_icon
from facevalue.report.estimates import Estimate
from facevalue.report.formatting import DASH, count, number, share_of_chance
from facevalue.report.verdict import SHORT, verdict_of
from facevalue.report.visbias import findings
from facevalue.report.visbias.quoted import Sentence
from facevalue.report.visbias.view import View

MOST_WORDS = 20
"""Words of each group that are shown."""
_MEASURES = ("characters", "tokens", "positive_sentiment", "negative_sentiment")
_MOST_LINES = 600


@dataclass(frozen=True, slots=True)
class TextBlock:
    """One measure of descriptions by the groups of one dimension."""

    title: str
    strips: Strips | None


@dataclass(frozen=True, slots=True)
class TextPart:
    """Everything measured of descriptions, of one dimension."""

    title: str
    crossed: bool
    sentence: str
    blocks: list[TextBlock]
    differences: Lines
    lists: Lines


@dataclass(frozen=True, slots=True)
class WordRow:
    """A word that marks a group."""

    word: str
    odds: str
    interval: str
    z: str
    tokens: str
    documents: str
    p: str
    q: str
    verdict: str
    icon: Markup
    found: bool
    detail: str
    said: list[tuple[str, bool]]


@dataclass(frozen=True, slots=True)
class WordList:
    """The words of one group beside another."""

    group: str
    against: str
    dimension: str
    tested: int
    found: int
    rows: list[WordRow]
    published: str


class Texts(View):
    """Builds the parts on descriptions."""

    def texts(self, model: str) -> list[TextPart]:
        """Per dimension the groups' lengths, sentiment and listed words, with the differences between groups."""
        names = findings.dimensions(self.numbers, model, *_MEASURES, "listed_words")
        return [self._text(model, name) for name in names]

    def whole(self, model: str) -> Lines:
        """Lengths, sentiment and listed words over all descriptions."""
        pairs = [((self.title(name), DASH), e) for name in _MEASURES
                 for e in self.numbers.all(name, model, "task")]  # fmt: skip
        for name in ("listed_words", "listed_words_published"):
            pairs += [((self.title(name), e["word_list"] or ""), e)
                      for e in self.numbers.all(name, model, "task", "word_list")]  # fmt: skip
        return self.lines(("What", "List"), pairs)

    def _text(self, model: str, dimension: str) -> TextPart:
        blocks = []
        for name in _MEASURES:
            rows = self.numbers.all(name, model, "task", "group", dimension=dimension)
            blocks.append(TextBlock(self.title(name), self._groups(rows)))
        lists = self.numbers.all("listed_words", model, "task", "group", "word_list", dimension=dimension)
        for listed in dict.fromkeys(e["word_list"] for e in lists):
            own = [e for e in lists if e["word_list"] == listed]
            if any(e.value for e in own):
                blocks.append(TextBlock(f"Words of the list “{listed}” per 1,000 words", self._groups(own)))
        differences, found, tested = [], [], 0
        for name in (*_MEASURES, "listed_words"):
            kind = f"{name}_difference"
            rows = self.numbers.all(kind, model, "task", "group", "other_group", dimension=dimension)
            rows += self.numbers.all(kind, model, "task", "group", "other_group", "word_list", dimension=dimension)
            tested += len([e for e in rows if e.q is not None])
            found += [e for e in rows if self.numbers.tested(e)]
            what = self.title(name)
            differences += [
                (
                    (
                        f"{what}: {e['word_list']}" if e["word_list"] else what,
                        self.group(e["group"]),
                        self.group(e["other_group"]),
                    ),
                    e,
                )
                for e in rows
            ]
        differences.sort(key=lambda pair: (not self.numbers.tested(pair[1]), pair[1].q is None, pair[1].q or 0.0))
        published = [
            ((self.title(name), e["word_list"] or DASH, self.group(e["group"])), e)
            for name in ("positive_sentiment_published", "negative_sentiment_published", "listed_words_published")
            for by in ((), ("word_list",))
            for e in self.numbers.all(name, model, "task", "group", *by, dimension=dimension)
        ]
        lists_ = [((self.title("listed_words"), e["word_list"] or DASH, self.group(e["group"])), e) for e in lists]
        sentence = f"Differences between two groups found beyond chance: {len(found)} of {tested:,}."
        title = self.where(dimension)
        shown = [block for block in blocks if block.strips is not None]
        return TextPart(
            title,
            " × " in title,
            sentence,
            shown,
            self.lines(("What", "Group", "Less"), differences[:_MOST_LINES]),
            self.lines(("What", "List", "Group"), [*lists_, *published]),
        )

    def _groups(self, rows: Sequence[Estimate]) -> Strips | None:
        return self.strips(rows, lambda e: (self.group(e["group"]), ""), what="Mean", zero=False,
                           look=lambda _: (0, "plain"))  # fmt: skip

    def words(self, model: str, said: Mapping[tuple[str, str, str], Sentence]) -> list[WordList]:
        """Words that mark each group, those found first, then by z.

        Parameters
        ----------
        model:
            Whose.
        said:
            Sentences by (dimension, group, word).
        """
        rows = findings.marked(self.numbers, model)
        by = ("task", "dimension", "group", "other_group", "word")
        z = {_place(e): e for e in self.numbers.all("marked_word_z", model, *by)}
        ranked = self.numbers.all("marked_word_published", model, *by)
        ranked += self.numbers.all("marked_word_published", model, "task", "dimension", "group", "word")
        out = []
        sides = sorted({(e["dimension"] or "", e["group"] or "", e["other_group"] or "") for e in rows})
        for dimension, group, contrast in sides:
            own = [e for e in rows if (e["dimension"], e["group"], e["other_group"]) == (dimension, group, contrast)]
            own.sort(key=lambda e: (not self.numbers.tested(e), -_z(z.get(_place(e)))))
            lines = [self._word(e, z.get(_place(e)), said) for e in own[:MOST_WORDS]]
            published = sorted(
                (
                    e
                    for e in ranked
                    if e["dimension"] == dimension and e["group"] == group and e["other_group"] in (None, contrast)
                ),
                key=lambda e: e.value or 0.0,
            )
            out.append(WordList(
                self.group(group), self.group(contrast), self.where(dimension), len(own),
                sum(self.numbers.tested(e) for e in own), lines,
                ", ".join(dict.fromkeys(e["word"] or "(empty word)" for e in published[:MOST_WORDS])),
            ))  # fmt: skip
        return out

    def _word(self, e: Estimate, z: Estimate | None, said: Mapping[tuple[str, str, str], Sentence]) -> WordRow:
        verdict = verdict_of(e.verdict)
        quoted = said.get((e["dimension"] or "", e["group"] or "", e["word"] or ""))
        word, icon = (DASH, Markup("")) if verdict is None else (SHORT[verdict], verdict_icon(verdict))
        return WordRow(
            e["word"] or "",
            number(e.value, e.unit, signed=True),
            self.interval(e),
            DASH if z is None else number(z.value, z.unit),
            count(e.n),
            DASH if z is None else count(z.n),
            share_of_chance(e.p),
            share_of_chance(e.q),
            word,
            icon,
            self.numbers.tested(e),
            self.detail(e),
            [] if quoted is None else quoted.parts,
        )


def _place(e: Estimate) -> tuple[str | None, ...]:
    return e["dimension"], e["group"], e["other_group"], e["word"]


def _z(e: Estimate | None) -> float:
    return 0.0 if e is None or e.value is None else abs(e.value)
