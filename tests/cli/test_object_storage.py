"""Runs in object storage from end to end, on a server that speaks S3."""

import datetime
import http.server
import json
import os
import signal
import ssl
import threading
from collections.abc import Iterator
from pathlib import Path

import polars as pl
import pytest

import facevalue as fv
from facevalue.errors import RunError
from facevalue.protocol.study import Study
from facevalue.runs.preparation import Prepared, prepare
from facevalue.runs.settings import RunSettings
from facevalue.store import lease
from facevalue.store import objects as module
from facevalue.store.objects import Objects
from facevalue.store.remote import listed_units, read_run
from facevalue.types import Request, Response
from tests.cli.conftest import Command
from tests.runs.own_studies import study_file
from tests.runs.remote import UNIT, Notes, go
from tests.runs.tiny import TinyModel, keys, mixed, tiny_study
from tests.s3_server import SECRET, Server, serving

STUDY = ("stylisticbias", "--faces", "1M,1F", "--attributes", "eyewear", "--model", "sim/default")
URL = "s3://audit/runs/one"


@pytest.fixture(scope="module")
def shared() -> Iterator[Server]:
    with serving() as server:
        yield server


@pytest.fixture
def server(shared: Server, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Server]:
    for name, value in shared.environment.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setenv("FACEVALUE_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(module, "_FIRST", 3.0)
    yield shared
    shared.tell("well")


def test_prefixes_with_equals_signs_and_schemes_in_capitals_are_urls(facevalue: Command, tmp_path: Path) -> None:
    folder = (tmp_path / "model=a" / "run").as_uri()
    capital = folder.replace("file:", "FILE:")
    assert facevalue("run", *STUDY, "--sample", "198", "--out", capital).status == 0
    for place in (folder, capital, f"one={folder}"):
        assert facevalue("measure", place).status == 0


def estimates(path: str) -> pl.DataFrame:
    return pl.read_csv(path, infer_schema=False).filter(~pl.col("measure").str.contains("drift"))


def test_a_run_in_a_bucket_is_run_resumed_measured_shown_exported_compared_and_checked(
    server: Server, facevalue: Command
) -> None:
    assert facevalue("run", *STUDY, "--out", "folder").status == 0
    done = facevalue("run", *STUDY, "--out", URL)
    assert done.status == 0, done.err
    assert f"facevalue report {URL}" in done.err
    again = facevalue("run", *STUDY, "--out", URL)
    assert "1,800 of 1,800 requests are stored already" in again.err
    for run, to in (("folder", "folder.csv"), (URL, "bucket.csv")):
        assert facevalue("measure", run, "--out", to).status == 0
    assert estimates("folder.csv").height > 50
    assert estimates("folder.csv").equals(estimates("bucket.csv"))
    told = facevalue("verify", URL)
    assert told.out == f"{URL}: sound. 1,800 replies that count in 2 shards.\n"
    told = facevalue("report", URL)
    assert f"Also: {URL}/report.html" in told.out
    assert facevalue("export", URL, "--out", "replies.parquet").out.startswith("1,800 responses")
    assert facevalue("compare", f"a={URL}", "b=folder").status == 0
    (compared,) = json.loads(facevalue("compare", URL, "folder", "--json").out)["studies"]
    assert compared["runs"] == [URL.rpartition("/")[2], "folder"]
    assert facevalue("plan", *STUDY[:5], "--pilot", URL, "--detect", "0.05").status == 0
    told = facevalue("annotate", URL)
    assert told.status == 2
    assert f"'facevalue fetch {URL} --out FOLDER' brings the run into one" in told.err
    assert facevalue("fetch", URL, "--out", "here").status == 0
    assert "1,800 of 1,800" in facevalue("run", *STUDY, "--out", "here").err
    opened = fv.open_run(URL)
    assert repr(opened).startswith(f"Run('{URL}', study='stylisticbias'")
    assert opened.verify().replies == 1_800
    assert opened.complete
    everything = Objects.at(URL)
    stored = [everything.get(one.key) for folder in ("responses",) for one in everything.list(folder)]
    stored += [everything.get(name) for name in ("run.json", "lease.json", "status.json", "report.html")]
    texts = [one[0] for one in stored if one is not None] + [p.read_bytes() for p in Path().rglob("*") if p.is_file()]
    assert len(texts) > 15
    assert not any(SECRET.encode() in text or b"AKIATEST" in text for text in texts)


def test_a_server_that_fails_is_slow_and_restarts_costs_nothing(server: Server) -> None:
    study, objects = tiny_study(faces=100, seeds=(1, 2)), Objects.at("s3://audit/runs/hard")
    server.tell("fail 0.15")
    server.tell("slow 0.02")
    count = iter(range(10**6))

    def reply(request: Request) -> Response:
        if next(count) == 300:
            server.tell("down 1.5")
        return mixed(request)

    model = TinyModel(reply)
    summary = go(objects, model, study, RunSettings(unit=30))
    assert (summary.asked, summary.complete) == (600, True), "also what was written and not confirmed"
    assert len(model.asked) == len(set(keys(model.asked))) == 600
    assert len(listed_units(objects)) == 20
    quiet = Objects.at("s3://audit/runs/easy")
    server.tell("well")
    go(quiet, TinyModel(), study, RunSettings(unit=30))
    assert [one.key[:36] for one in listed_units(quiet)] == [one.key[:36] for one in listed_units(objects)]


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_the_run_in_order_and_the_same_command_resumes(server: Server, number: signal.Signals) -> None:
    objects = Objects.at(f"s3://audit/runs/{number.name.lower()}")
    count = iter(range(10**6))

    def reply(request: Request) -> Response:
        if next(count) == 150:
            os.kill(os.getpid(), number)
        return mixed(request)

    first, second, notes = TinyModel(reply), TinyModel(), Notes()
    summary = go(objects, first, notes=notes)
    assert (summary.interrupted, summary.complete) == (True, False)
    assert any(note.startswith("Stopping: waiting up to") for note in notes.notes)
    assert summary.asked == len(first.asked) == 151
    assert go(objects, second).complete
    assert len(second.asked) == 149


@pytest.mark.parametrize(
    ("code", "says"),
    [
        ("AccessDenied", "Error: No permission to read s3://audit/runs/"),
        ("RequestTimeTooSkewed", "Error: The clock of this machine is wrong"),
        ("InvalidAccessKeyId", "Error: The store does not take the credentials in the environment"),
        ("SignatureDoesNotMatch", "Error: The store does not take the credentials in the environment"),
    ],
)
def test_a_store_that_refuses_is_told_of_in_one_sentence(
    server: Server, facevalue: Command, code: str, says: str
) -> None:
    server.tell(f"say {code}")
    for command in (("run", *STUDY, "--out", "s3://audit/runs/no"), ("measure", "s3://audit/runs/no")):
        done = facevalue(*command)
        assert done.status == 1
        assert says in done.err
        assert done.err.count("\n") == 1
        assert SECRET not in done.err


def test_bad_places_are_told_of_in_one_sentence(server: Server, facevalue: Command) -> None:
    assert "There is no bucket nobucket" in facevalue("run", *STUDY, "--out", "s3://nobucket/a").err
    assert "There is no bucket nobucket" in facevalue("measure", "s3://nobucket/a").err
    assert "s3://audit/nothing holds no run: there is no run.json" in facevalue("report", "s3://audit/nothing").err
    assert facevalue("measure", "s3://audit").status == 2


def test_a_prefix_that_holds_another_run_is_refused(server: Server, facevalue: Command) -> None:
    one = ("stylisticbias", "--faces", "1M,1F", "--model", "sim/default", "--out", "s3://audit/runs/other")
    assert facevalue("run", *one, "--sample", "600").status == 0
    told = facevalue("run", *one, "--sample", "600", "--sample-seed", "2")
    assert "was begun with other settings: sample seed: 0 in the folder, 2 asked" in told.err
    told = facevalue("run", *one[:2], "2M,2F", *one[3:])
    assert "lists other pictures than the study now has" in told.err


def test_a_second_driver_is_refused_and_disturbs_nothing(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lease, "TERM", 5.0)
    objects = Objects.at("s3://audit/runs/two")
    told: list[str] = []

    def reply(request: Request) -> Response:
        if request.trial == 200 and not told:
            thread = threading.Thread(target=second)
            thread.start()
            thread.join(60)
        return mixed(request)

    def second() -> None:
        try:
            go(Objects.at("s3://audit/runs/two"), TinyModel())
        except RunError as error:
            told.append(str(error))

    assert go(objects, TinyModel(reply), settings=UNIT).complete
    assert told[0].startswith(f"s3://audit/runs/two is being driven by process {os.getpid()} on ")


def test_a_certificate_that_is_not_to_be_trusted_ends_it(
    facevalue: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Never(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            raise AssertionError("nothing may be sent")

    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(_certificate(tmp_path))
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Never) as server:
        server.socket = context.wrap_socket(server.socket, server_side=True)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        for name, value in {"ACCESS_KEY_ID": "AKIATEST", "SECRET_ACCESS_KEY": SECRET, "REGION": "us-east-1"}.items():
            monkeypatch.setenv(f"AWS_{name}", value)
        monkeypatch.setenv("AWS_ENDPOINT_URL", f"https://127.0.0.1:{server.server_port}")
        monkeypatch.setenv("AWS_ALLOW_INVALID_CERTIFICATES", "true")  # is not heeded
        told = facevalue("measure", "s3://audit/runs/one")
        server.shutdown()
    assert (
        told.err == "Error: The certificate of the store is not one to be trusted (s3://audit/runs/one/run.json); "
        "nothing was sent.\n"
    )


def _certificate(folder: Path) -> Path:
    """A certificate that nobody vouches for."""
    from cryptography import x509
    from cryptography.hazmat.primitives import hashes, serialization
    from cryptography.hazmat.primitives.asymmetric import ec

    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "127.0.0.1")])
    now = datetime.datetime.now(datetime.UTC)
    made = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(1)
        .not_valid_before(now - datetime.timedelta(days=1))
        .not_valid_after(now + datetime.timedelta(days=1))
        .sign(key, hashes.SHA256())
    )
    path = folder / "certificate.pem"
    form = serialization.Encoding.PEM
    private = key.private_bytes(form, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    path.write_bytes(private + made.public_bytes(form))
    return path


@pytest.mark.slow
def test_an_audit_in_a_bucket_grows_from_its_pilot_to_its_budget(
    server: Server, facevalue: Command, tmp_path: Path
) -> None:
    study, url = study_file(tmp_path, "kind", 900), "s3://audit/audits/grown"
    command = ("audit", "--model", "sim/strong", "--studies", study, "--out", url)
    assert facevalue(*command).status == 0
    objects = Objects.at(f"{url}/runs/kind")
    pilot = {unit.key: objects.get(unit.key) for unit in listed_units(objects)}
    done = facevalue(*command, "--budget", "1200", "--json")
    assert done.status == 0, done.err
    (asked,) = json.loads(done.out)["studies"]
    assert (asked["requests"], asked["asked"], asked["skipped"]) == (1200, 900, 300)
    units = {unit.key: objects.get(unit.key) for unit in listed_units(objects)}
    assert all(units[key] == content for key, content in pilot.items()), "what the pilot stored stays as it is"
    assert f"{url}/runs/kind: sound. 1,200 replies that count" in facevalue("verify", url).out
    again = json.loads(facevalue(*command, "--budget", "1200", "--json").out)
    assert [study["asked"] for study in again["studies"]] == [0]
    folder = facevalue(*command[:-1], "folder", "--budget", "1200")
    assert folder.status == 0
    for place, to in ((f"{url}/runs/kind", "bucket.csv"), ("folder/runs/kind", "folder.csv")):
        assert facevalue("measure", place, "--out", to).status == 0
    assert estimates("bucket.csv").equals(estimates("folder.csv"))


@pytest.mark.slow
def test_an_audit_in_a_bucket_whose_growth_was_cut_short_goes_on(
    server: Server, facevalue: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    study, url = study_file(tmp_path, "kind", 900), "s3://audit/audits/cut"
    command = ("audit", "--model", "sim/strong", "--studies", study, "--out", url)
    assert facevalue(*command).status == 0

    def cut(study: Study, model: str, place: Path | str, settings: RunSettings) -> Prepared:
        if settings.sample == 1_200:
            raise RunError("the end")
        return prepare(study, model, place, settings)

    with monkeypatch.context() as broken:
        broken.setattr("facevalue.runs.audits.audit.prepare", cut)
        assert "the end" in facevalue(*command, "--budget", "1200").err
    assert read_run(Objects.at(f"{url}/runs/kind"))[0].grown == (300,)
    assert facevalue(*command, "--budget", "1200").status == 0
    assert f"{url}/runs/kind: sound. 1,200 replies that count" in facevalue("verify", url).out
