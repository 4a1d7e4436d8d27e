"""Yes-no questions in a study's own words, and slots that nothing would fill: what is asked is read, or refused."""

from collections.abc import Iterable, Iterator
from pathlib import Path

import numpy as np
import pytest

import facevalue as fv
from facevalue.errors import DataError
from facevalue.models.base import Capabilities
from facevalue.prompts.phrases import slots
from facevalue.types import Request, Response, Status
from tests.plain_model import PlainModel
from tests.protocol.conftest import MINIMAL, Reader

GERMAN = MINIMAL.replace('"yes-no"', '"yes-no"\nyes = "ja"\nno = "nein"')
SLOTTED = MINIMAL.replace('"yes-no"', '"yes-no"\nyes = "{said}"\nno = "{denied}"').replace(
    '[factor.job]\nlevels = ["nurse", "cook"]',
    '[[item]]\njob = "nurse"\nsaid = "hire"\ndenied = "reject"\n[[item]]\njob = "cook"\nsaid = "ja"\ndenied = "nein"',
)


class Speaker(PlainModel):
    """Answers each question with the option that the first name gets, in words around it."""

    name = "speaker"
    capabilities = Capabilities(probabilities="none", images_per_request=1, seeds=True)

    def respond(self, requests: Iterable[Request]) -> Iterator[Response]:
        for request in requests:
            yes, no = (option.text for option in request.question.options)
            said = yes if "Emily" in request.question.prompt else no
            yield Response(request.trial, request.repeat, Status.OK, f"**{said.capitalize()}**, weil.")


@pytest.mark.parametrize("text", [GERMAN, SLOTTED])
def test_the_words_that_are_asked_for_are_read(text: str, read: Reader, tmp_path: Path) -> None:
    read(text)
    run = fv.run(fv.study(read.folder / "small.toml"), Speaker(), tmp_path / "run")
    shares = run.answers()["share"].to_numpy()
    assert np.isfinite(shares).all()
    assert {*shares.tolist()} == {0.0, 1.0}
    shift = run.estimates().filter(measure="shift")
    assert {*shift["value"].to_list()} == {-1.0}


@pytest.mark.parametrize(
    ("before", "after", "says"),
    [
        ('"yes-no"', '"yes-no"\nyes = "no"', "line 17: 'no' and 'No' are one word"),
        ('"yes-no"', '"yes-no"\nno = "-"', "line 17: '-' has no letter or digit"),
        ('[factor.job]', 'system = "You hire a {job}."\n[factor.job]', "{job} in the system message is"),
        ('"yes-no"', '"yes-no"\n[variant.kind]\nbefore = "As a {job}:"', "{job} in the texts that 'kind' puts"),
        ('"yes-no"', '"yes-no"\n[variant.kind]\nturns = [["user", "A {job}?"], ["assistant", "Yes."]]', "{job} in the"),
    ],
)  # fmt: skip
def test_what_would_be_asked_in_braces_or_not_be_told_apart_is_refused(
    before: str, after: str, says: str, read: Reader
) -> None:
    with pytest.raises(DataError) as error:
        read.changed(before, after).study()
    assert str(error.value).startswith("small.toml")
    assert says in str(error.value)


@pytest.mark.parametrize(
    "judged",
    [
        'question = "Is it {job}?"\ncategories = ["warm", "cold"]',
        'question = "What?"\ncategories = { warm = "Warm to a {job}", cold = "Cold" }',
        'question = "What?"\ninstruction = "It is about a {job}."\ncategories = ["warm", "cold"]',
    ],
)
def test_slots_in_the_words_of_a_judge_are_refused(judged: str, read: Reader) -> None:
    assert slots(judged) == ["job"]
    changed = f'"text"\n[answer.judged.tone]\n{judged}\n[[estimand]]\nstatistic = "shift"\nscores = ["tone_warm"]\n'
    with pytest.raises(DataError, match=r"^small.toml: line \d+: \{job\} in what a judge is asked \(tone\)"):
        read(MINIMAL.partition('"yes-no"')[0] + changed).study()
