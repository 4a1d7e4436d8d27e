"""`facevalue audit` as a user types it: plan, pilot, budget, report, and what is refused."""

import json
from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest

from facevalue.api.audits import AuditOptions, settings_of
from tests.cli.conftest import Command
from tests.runs.own_studies import study_file

MODEL = ("--model", "sim/strong")


@pytest.fixture
def studies(tmp_path: Path) -> str:
    """Two small studies."""
    return f"{study_file(tmp_path, 'kind', 400)},{study_file(tmp_path, 'warm', 400, traits=2)}"


@pytest.mark.slow
def test_from_a_pilot_to_a_report(facevalue: Command, studies: str) -> None:
    pilot = facevalue("audit", *MODEL, "--studies", studies, "--out", "audit")
    assert pilot.status == 0
    assert "A pilot of each study" in pilot.err
    assert "This was a pilot. The same command with --budget goes on with it" in pilot.out
    assert facevalue("audit", *MODEL, "--studies", studies, "--out", "audit").status == 0
    outcome = facevalue("audit", *MODEL, "--studies", studies, "--out", "audit", "--budget", "1500", "--json")
    assert outcome.status == 0
    document = json.loads(outcome.out)
    assert document["complete"]
    assert document["plan"]["requests"] <= 1500
    assert sum(study["asked"] + study["skipped"] for study in document["studies"]) == document["plan"]["requests"]
    html = Path(document["report"]).read_text()
    comparisons = json.loads((Path("audit") / "profile.json").read_text())["comparisons"]
    found = Counter(row["study"] for row in comparisons if row["verdict"].startswith("found"))
    names = [answer["name"] for answer in document["answers"]]
    assert sorted(names) == ["kind", "warm"]
    assert found[names[0]] >= found[names[1]]
    assert html.index("All studies together") < html.index(f'id="{names[0]}"') < html.index(f'id="{names[1]}"')
    assert 'href="runs/kind/report.html"' in html
    assert (Path("audit") / "runs" / "kind" / "report.html").is_file()
    assert "http://" not in html.replace("http://www.w3.org", "")
    less = facevalue("audit", *MODEL, "--studies", studies, "--out", "audit", "--budget", "500")
    assert "budget: 1500 in the folder, 500 asked" in less.err
    refused = facevalue(
        "audit", *MODEL, "--studies", studies, "--out", "audit", "--budget", "1600", "--sample-seed", "2"
    )
    assert refused.status == 1
    assert "sample-seed: 0 in the folder, 2 asked; budget: 1500 in the folder, 1600 asked." in refused.err
    assert facevalue("measure", "audit/runs/warm").status == 0


def test_a_plan_asks_nothing(facevalue: Command, studies: str) -> None:
    outcome = facevalue("audit", "--plan", "--studies", studies, "--budget", "1500")
    assert outcome.status == 0
    assert "Within 1,500 requests" in outcome.out
    assert "points" in outcome.out
    assert not Path("audits").exists()
    document = json.loads(facevalue("audit", "--plan", "--studies", studies, "--json").out)
    assert document["budget"] is None
    assert all(study["sizes"] for study in document["studies"])


def test_money_is_planned_at_the_user_s_prices_and_limits_what_counts_its_tokens(
    facevalue: Command, studies: str, tmp_path: Path
) -> None:
    file = tmp_path / "mine.toml"
    file.write_text(
        'model = "sim/strong"\nbudget = "2usd"\nstudies = ["kind.toml", "warm.toml"]\n'
        '[prices."sim/strong"]\nin = 20\nout = 20\ncurrency = "usd"\n[settings.kind]\npeople = "40"\n'
    )
    outcome = facevalue("audit", "--config", str(file), "--out", "audit", "--json")
    assert outcome.status == 3
    document = json.loads(outcome.out)
    assert "does not count its tokens, so that no limit of cost can be kept" in document["studies"][0]["stopped"]
    assert document["plan"]["budget"] == {"amount": 2.0, "unit": "money", "currency": "usd"}
    assert 0 < document["plan"]["cost"] <= 2


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("modle = 'x'", "line 1: Unknown key 'modle'. Did you mean 'model'?"),
        ("model = 3", "line 1: 'model' is a text in quotes, not 3."),
        ("budget = 0", "line 1: 'budget' is a whole number from 1, not 0."),
        ("budget = '20 quid'", "line 1: A budget is written 20usd"),
        ("budget = 2.5", "line 1: 'budget' is a text in quotes, not 2.5."),
        ("studies = []", "line 1: 'studies' is empty"),
        ("studies = ['visbias', 'visbias']", "line 1: 'studies' names 'visbias' twice."),
        ("studies = ['visbais']", "Unknown study 'visbais'. Did you mean 'visbias'?"),
        ("temperature = -1", "line 1: 'temperature' is at least 0, not -1."),
        ("max_invalid = 2", "line 1: 'max_invalid' is at most 1, not 2."),
        ("stop_when = 'soon'", 'line 1: --stop-when is "decided"'),
        ("stop_when = 3", "line 1: 'stop_when' is a text in quotes, not 3."),
        ("rate = 0", "line 1: 'rate' is above 0, not 0."),
        ("exact = 'yes'", "line 1: 'exact' is true or false, not 'yes'."),
        ("with = 3", "line 1: 'with' is a list of texts in quotes, not 3."),
        ("[prices.m]\nin = 1", "line 1: 'out' is missing: a number."),
        ("[prices.m]\nin = -1\nout = 1", "line 2: A price is that of a million tokens, 0 or more, not -1."),
        ("[prices.m]\nin = 1\nout = 1\nper = 2", "line 4: Unknown key 'per'."),
        ("[prices.m]\nin = 1\nout = 1\ncurrency = 'dollars'", "line 4: 'currency' is three letters"),
        ("[settings]\nvisbias = 3", "line 2: 'visbias' is a table, not 3."),
        ("studies = ['visbias']\n[settings.visbias]\npromts = 1", "Unknown setting of visbias 'promts'."),
        ("budget = '20usd'\nstudies = ['visbias']", "needs the prices of the model"),
        ("format = 'facevalue-audit'\nversion = 1", "is the record of an audit, which FaceValue writes itself"),
        ("model = [", "is not valid TOML"),
    ],
)
def test_a_mistake_in_the_file_is_one_sentence(facevalue: Command, tmp_path: Path, text: str, message: str) -> None:
    (tmp_path / "mine.toml").write_text(text)
    outcome = facevalue("audit", "--plan", "--config", "mine.toml")
    assert outcome.status in (1, 2)
    assert message in outcome.err
    assert outcome.err.count("\n") == 1


def test_what_is_given_comes_before_the_file_also_where_it_is_0(tmp_path: Path) -> None:
    (tmp_path / "mine.toml").write_text("temperature = 1\nmax_invalid = 0.5\nsample_seed = 3\nstudies = ['visbias']")
    options = AuditOptions(config=tmp_path / "mine.toml", temperature=0.0, max_invalid=0.0)
    settings = settings_of(options)
    assert (settings.wishes.temperature, settings.max_invalid) == (0.0, 0.0)
    assert (settings.seed, settings.wishes.studies) == (3, ("visbias",))
    of_file = settings_of(replace(options, temperature=None, max_invalid=None))
    assert (of_file.wishes.temperature, of_file.max_invalid) == (1.0, 0.5)


def test_what_is_wrong_on_the_command_line_is_one_sentence(facevalue: Command, studies: str) -> None:
    assert "Say with --model who is asked" in facevalue("audit", "--studies", studies).err
    assert "give --price-out, too" in facevalue("audit", "--plan", "--price-in", "1", "--studies", studies).err
    assert "is too small for any verdict" in facevalue("audit", "--plan", "--budget", "3", "--studies", studies).err
    assert (
        "needs a place that every node can write to"
        in facevalue("audit", *MODEL, "--studies", studies, "--cluster", "local").err
    )
    Path("full").mkdir()
    (Path("full") / "note.txt").write_text("mine")
    assert "holds something else than an audit" in facevalue("audit", *MODEL, "--studies", studies, "--out", "full").err


@pytest.mark.slow
def test_a_study_is_named_once_above_its_run(facevalue: Command, studies: str, tmp_path: Path) -> None:
    outcome = facevalue("audit", *MODEL, "--studies", studies, "--out", "audit")
    assert "\nkind: Who is kind?\n" in outcome.err
    text = Path(studies.partition(",")[0]).read_text()
    (tmp_path / "kind.toml").write_text(text.replace('title = "', 'title = "Kind: ', 1))
    outcome = facevalue("audit", *MODEL, "--studies", "kind.toml", "--out", "named")
    assert "\nKind: " in outcome.err
    assert "kind: Kind:" not in outcome.err
