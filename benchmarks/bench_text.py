"""What texts cost: all analyses of a full-size set of descriptions, and ten million words in flat memory.

Run with `python -m benchmarks.bench_text`. Two cores; from texts in memory, or made on the way, to the tables.
"""

from collections.abc import Iterator
from time import perf_counter

import numpy as np
import numpy.typing as npt
import polars as pl

from benchmarks._harness import Result, at_most, finish, fresh, peak_mb
from facevalue.annotations import counts, lexicon, sentiment
from facevalue.annotations import sentiment as vader
from facevalue.annotations.counts import Tokeniser, WordCounter
from facevalue.measures.group_words import published_words, rate_differences, strict_words, text_sums, word_rate

IMAGES, EACH, WORDS = 700, 16, 100
RACES, GENDERS, OCCUPATIONS = 5, 2, 7
CORES, CHUNK = 2, 10_000
SECONDS, GROWTH, MEGABYTES = 15, 150, 1_000
LISTS = 17


def vocabulary(rng: np.random.Generator) -> npt.NDArray[np.str_]:
    """Eight thousand words, a tenth of them with a rating in VADER's lexicon."""
    syllables = [f"{a}{b}" for a in "bdfgklmnprst" for b in ("a", "e", "i", "o", "u", "ar", "en", "ol")]
    made = ["".join(rng.choice(syllables, rng.integers(1, 4))) for _ in range(7200)]
    rated = [word for word in vader.lexicon().valence if word.isalpha()]
    words = np.array([*made, *rng.choice(rated, 800, replace=False)])
    rng.shuffle(words)
    return words


def lists(rng: np.random.Generator, words: npt.NDArray[np.str_]) -> lexicon.Lexicon:
    """As many word lists as the protocol has, of eighteen words each."""
    made = {f"list {n}": tuple(str(w) for w in rng.choice(words, 18, replace=False)) for n in range(LISTS)}
    return lexicon.Lexicon("made", "1", "benchmark", made)


def descriptions(texts: int, images: int) -> Iterator[pl.DataFrame]:
    """Texts of about a hundred words in five sentences, their words by Zipf's law; each image says one word often."""
    rng = np.random.default_rng(1)
    words = vocabulary(rng)
    chance = 1 / np.arange(2, len(words) + 2)
    chance /= chance.sum()
    for start in range(0, texts, CHUNK):
        size = min(CHUNK, texts - start)
        image = np.arange(start, start + size) * images // texts
        drawn = words[rng.choice(len(words), (size, WORDS), p=chance)].astype(object)
        drawn[:, 7] = words[1000 + image % 5000]
        drawn[:, 0::20] = np.char.capitalize(drawn[:, 0::20].astype(str))
        drawn[:, 19::20] = drawn[:, 19::20] + "."
        group = image % (RACES * GENDERS)
        yield pl.DataFrame(
            {
                "text": [" ".join(row) for row in drawn],
                "image": image,
                "race": [f"race {r}" for r in group % RACES],
                "gender": [f"gender {g}" for g in group // RACES],
                "occupation": (image // (RACES * GENDERS)) % OCCUPATIONS,
            }
        )


def full_size() -> list[tuple[str, float]]:
    """Seconds of each analysis of 11,200 descriptions."""
    frame = pl.concat(descriptions(IMAGES * EACH, IMAGES))
    entries = lists(np.random.default_rng(2), vocabulary(np.random.default_rng(1)))
    images = frame.unique("image", maintain_order=True)
    unit = frame["image"].to_numpy().astype(np.int64)
    strata = images["occupation"].cast(pl.String).to_list()
    times: list[tuple[str, float]] = []

    def took(what: str, start: float) -> None:
        times.append((what, perf_counter() - start))

    start = perf_counter()
    per_text = frame.hstack(counts.token_lengths(frame, "text").rename({"tokens": "length"}))
    took("lengths", start)
    start = perf_counter()
    per_text = per_text.hstack(lexicon.count(frame, "text", entries))
    took("word lists", start)
    start = perf_counter()
    per_text = per_text.hstack(sentiment.score(frame, "text"))
    took("sentiment by sentence", start)
    start = perf_counter()
    for column in ("race", "gender"):
        sentiment.concatenated_sentiment(frame, "text", column)
    took("sentiment as published", start)
    start = perf_counter()
    published, strict = (WordCounter(IMAGES, way) for way in (Tokeniser.MARKED, Tokeniser.WORDS))
    for counter in (published, strict):
        counter.add(frame, "text", unit)
    took("words by image, two ways", start)
    start = perf_counter()
    for column in ("race", "gender"):
        published_words(published.counts(), images[column].to_list(), f"{column} 0")
    took("marked words as published", start)
    start = perf_counter()
    for column in ("race", "gender"):
        strict_words(strict.counts(), images[column].to_list(), f"{column} 0", strata=strata)
    took("marked words, 1,000 permutations", start)
    start = perf_counter()
    for column in ("race", "gender"):
        placed = per_text.with_columns(group=column, unit="image")
        for values, per in ((list(entries.lists), "tokens"), (["characters", "length", *sentiment.SCORES], "")):
            sums = text_sums(placed, {name: name for name in values}, per)
            word_rate(sums)
            rate_differences(sums)
    took("rates, lengths and sentiment by group", start)
    return times


def streamed(texts: int) -> tuple[float, float]:
    """Seconds and peak memory of all that streams, over texts about the same images, made on the way and not kept."""
    entries = lists(np.random.default_rng(2), vocabulary(np.random.default_rng(1)))
    counter = WordCounter(IMAGES, Tokeniser.WORDS)
    parts, labels, spent = [], [], 0.0
    for frame in descriptions(texts, IMAGES):
        start = perf_counter()
        counter.add(frame, "text", frame["image"].to_numpy().astype(np.int64))
        numbers = [counts.token_lengths(frame, "text").rename({"tokens": "length"}), sentiment.score(frame, "text")]
        parts.append(pl.concat([*numbers, lexicon.count(frame, "text", entries)], how="horizontal"))
        labels.append(frame.drop("text"))
        spent += perf_counter() - start
    start = perf_counter()
    per_text = pl.concat(labels).hstack(pl.concat(parts))
    placed = per_text.with_columns(group="race", unit="image")
    word_rate(text_sums(placed, {name: name for name in entries.lists}, "tokens"))
    races = pl.concat(labels).unique("image", maintain_order=True)["race"].to_list()
    strict_words(counter.counts(), races, "race 0", resamples=200)
    return spent + perf_counter() - start, peak_mb()


def main() -> None:
    """Measure, print, store."""
    times = [(what, float(took)) for what, took in fresh(full_size, cores=CORES)]
    results = [Result(f"11,200 descriptions: {what}", took, "s") for what, took in times]
    results.append(at_most("11,200 descriptions: in all", sum(took for _, took in times), "s", SECONDS))
    peaks = {}
    for millions in (1, 3, 10):
        spent, peaks[millions] = fresh(streamed, millions * 10_000, cores=CORES)
        results.append(Result(f"{millions} million words: time", spent, "s"))
        if millions < 10:
            results.append(Result(f"{millions} million words: peak memory", peaks[millions], "MB"))
    results.append(at_most("10 million words: peak memory", peaks[10], "MB", MEGABYTES))
    results.append(at_most("from 3 to 10 million words: more memory", peaks[10] - peaks[3], "MB", GROWTH))
    finish("text", "Texts: 11,200 descriptions of 100 words, and ten million words, two cores", results)


if __name__ == "__main__":
    main()
