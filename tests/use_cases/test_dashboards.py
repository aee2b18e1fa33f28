"""`kvobs dashboards` and `--dashboard` whole: from the command line to a server, its cache and files."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml
from typer.testing import CliRunner, Result

from kvobs.adapters.assets import catalog, shipped_dashboards
from kvobs.adapters.dashboard_cache import sha256_of
from kvobs.cli import command_line
from kvobs.errors import UsageError
from kvobs.settings import Settings
from kvobs.use_cases.dashboards import list_dashboards, pull
from kvobs.use_cases.inputs import read_dashboards
from tests.adapters.site import BODY, DASHBOARD, Proxy, Site, ok, page, status

ROOT = Path(__file__).parents[2]
REAL_DASHBOARDS = ROOT.parent / "shared" / "dashboards"
SECRET = "Plover-in-the-address-3"


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Site, Proxy]]:
    """A server, and a proxy that leads every host to it."""
    with Site(tmp_path_factory.mktemp("site")) as site, Proxy(site.port) as proxy:
        yield site, proxy


@pytest.fixture
def site(served: tuple[Site, Proxy], monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Site:
    """The world as one machine sees it: each address of the catalogue is the server's, the cache is empty."""
    site, proxy = served
    for name in ("ALL_PROXY", "all_proxy", "https_proxy", "no_proxy", "SSL_CERT_DIR", "NETRC"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HTTPS_PROXY", proxy.url)
    monkeypatch.setenv("NO_PROXY", "localhost,127.0.0.1")
    monkeypatch.setenv("SSL_CERT_FILE", str(site.ca_file))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("HOME", str(tmp_path))
    site.pages.clear()
    site.requests.clear()
    return site


def dashboard(number: int) -> bytes:
    """One of several dashboards."""
    return json.dumps(DASHBOARD | {"uid": f"theirs-{number}", "title": f"Theirs {number}"}).encode()


def place(name: str) -> str:
    """Where an entry of the catalogue is, as the server knows it."""
    entry = catalog().named(name)
    assert entry is not None
    return entry.url.removeprefix("https://")


def typed(*arguments: str) -> Result:
    """Give a command line to kvobs in this process."""
    return CliRunner().invoke(command_line(), list(arguments))


def kvobs(*arguments: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    """Run `python -m kvobs` from a folder, as a program of its own."""
    env = os.environ | {"PYTHONPATH": str(ROOT)}
    words = [sys.executable, "-m", "kvobs", *arguments]
    return subprocess.run(words, capture_output=True, text=True, env=env, cwd=cwd, check=False)


def test_every_kind_of_source_at_once(site: Site, tmp_path: Path) -> None:
    """Names, numbers, addresses, files and folders mix, any number of times; ours come first and once."""
    site.pages |= {
        place("vllm-overview"): [ok(dashboard(1))],
        "grafana.com/api/dashboards/12239/revisions/2/download": [ok(dashboard(2))],
        "/d.json": [ok(dashboard(3))],
    }
    (tmp_path / "boards").mkdir()
    for number in (4, 5):
        (tmp_path / "boards" / f"{number}.json").write_bytes(dashboard(number))
    (tmp_path / "6.json").write_bytes(dashboard(6))
    sources = [
        "dcgm",
        "vllm-overview",
        "grafana:12239@2",
        site.url(),
        str(tmp_path / "boards"),
        str(tmp_path / "6.json"),
    ]

    read = read_dashboards(sources)

    assert read.unreadable == ()
    ours = len(shipped_dashboards())
    assert [document["title"] for _, document in read.documents][:ours] == [
        json.loads(content)["title"] for _, content in shipped_dashboards()
    ]
    assert [document.get("uid") for _, document in read.documents][ours:] == [f"theirs-{n}" for n in range(1, 7)]
    assert [source for source, _ in read.documents][ours : ours + 3] == ["vllm-overview", "grafana:12239@2", site.url()]


def test_one_that_is_named_twice_is_read_once(tmp_path: Path) -> None:
    """A file, its folder, and a copy of it are one dashboard: Grafana would refuse the second of one uid."""
    for name in ("a.json", "copy-of-a.json", "b.json"):
        (tmp_path / name).write_bytes(dashboard(2 if name == "b.json" else 1))
    read = read_dashboards([str(tmp_path / "a.json"), str(tmp_path), str(tmp_path / "a.json")])

    ours = len(shipped_dashboards())
    assert [source for source, _ in read.documents][ours:] == [str(tmp_path / "a.json"), str(tmp_path / "b.json")]


def test_pull_of_what_is_here_already(site: Site, tmp_path: Path) -> None:
    """A file is nothing to download, and is not said to be missing."""
    (tmp_path / "d.json").write_bytes(dashboard(1))
    (told,) = pull([str(tmp_path / "d.json")]).dashboards

    assert (told.outcome, told.error) == ("failed", f"{tmp_path}/d.json is here already")
    assert "--dashboard" in (told.hint or "")


def test_one_that_fails_stops_no_other(site: Site, tmp_path: Path) -> None:
    """Each source that cannot be had is named with why and what to do; the others are read."""
    site.pages |= {"/ok.json": [ok()], "/login.json": [page("Sign in")], place("nvidia-dcgm-exporter"): [ok()]}
    sources = [
        site.url("/login.json"),
        "nvidia-dcgm-exporter",
        site.url("/none.json"),
        "vlm",
        str(tmp_path / "no.json"),
    ]

    read = read_dashboards([*sources, site.url("/ok.json")])

    assert [source for source, _ in read.unreadable] == sources
    login, other_bytes, absent, unknown, no_file = (why for _, why in read.unreadable)
    assert "gave a web page ('Sign in')" in login
    assert f"sha256 {sha256_of(BODY)}, expected " in other_bytes
    assert "(HTTP 404)" in absent
    assert "did you mean vllm" in unknown
    assert "does not exist" in no_file
    assert [document["title"] for _, document in read.documents][len(shipped_dashboards()) :] == ["Theirs"]


@pytest.mark.parametrize("source", ["llm-d", "http://a.example/d.json", "grafana:x", "https://a.example/#sha256=1"])
def test_what_names_nothing_ends_before_anything_is_read(site: Site, source: str) -> None:
    """A source that can name no dashboard is wrong usage, before the first download."""
    with pytest.raises(UsageError):
        read_dashboards([site.url(), source])
    assert site.requests == []


def test_a_path_of_the_same_name_is_told(site: Site, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A name is a name also where a folder is called so; a person is told how to say the folder."""
    site.pages[place("vllm-overview")] = [ok()]
    (tmp_path / "vllm-overview").mkdir()
    monkeypatch.chdir(tmp_path)

    read = read_dashboards(["vllm-overview"])

    assert read.warnings["vllm-overview"][0] == "vllm-overview is also here; to name it: ./vllm-overview"


def test_render_takes_a_downloaded_dashboard_and_shows_no_credential(site: Site, tmp_path: Path) -> None:
    """A dashboard from an address with a login ends in a ConfigMap; the login stands nowhere."""
    where = f"/d.json?token={SECRET}"
    site.pages |= {where: [ok()], "/none.json": [status(404)]}
    urls = [site.url(path).replace("//", f"//me:{SECRET}@") for path in (where, "/none.json")]
    words = [word for url in urls for word in ("--dashboard", url)]

    online = kvobs("render", *words, cwd=tmp_path)
    offline = kvobs("render", *words, "--offline", cwd=tmp_path)

    for done in (online, offline):
        assert done.returncode == 1
        assert SECRET not in done.stdout + done.stderr
    assert online.stdout == offline.stdout
    assert "! https://***@localhost:" in online.stderr
    assert "--offline downloads nothing" in offline.stderr
    maps = [each for each in yaml.safe_load_all(online.stdout) if each and each["kind"] == "ConfigMap"]
    assert "Theirs" in {json.loads(text)["title"] for each in maps for text in each["data"].values()}
    kept = [path.read_text() for path in (tmp_path / "cache").rglob("*") if path.is_file()]
    assert kept
    assert not [text for text in kept if SECRET in text]
    assert SECRET not in repr(Settings(dashboards=tuple(urls)))


def test_list(site: Site) -> None:
    """The list says of each checksum whose it is; a download turns an unknown one into a pinned one."""
    site.pages[place("vllm-overview")] = [ok()]

    before = {each.name: each for each in list_dashboards().dashboards}
    pull(["vllm-overview"])
    after = {each.name: each for each in list_dashboards().dashboards}

    assert [name for name in before if before[name] != after[name]] == ["vllm-overview"]
    assert (before["vllm-overview"].checksum, after["vllm-overview"].checksum) == ("unknown", "pinned")
    assert (after["vllm-overview"].sha256, after["vllm-overview"].cached) == (sha256_of(BODY), True)
    assert (before["vllm"].checksum, before["nvidia-dcgm-exporter"].checksum) == ("shipped", "known")
    assert list(before)[:3] == ["dcgm", "two-lenses", "vllm"]
    assert len(before) == len(catalog()) + 3


def test_list_of_a_topic() -> None:
    """A topic narrows the list; a word that is none brings up those that are."""
    assert {each.topic for each in list_dashboards("llm-d").dashboards} == {"llm-d"}
    with pytest.raises(UsageError, match="no topic") as raised:
        list_dashboards("llmd")
    assert "llm-d" in (raised.value.hint or "")


def test_pull_into_a_folder(site: Site, tmp_path: Path) -> None:
    """Each lands as a file; a second run changes nothing, and a file that was edited is not written over."""
    site.pages |= {place("vllm-overview"): [ok(dashboard(1))], "/x/..%2f..%2fevil.json": [ok(dashboard(2))]}
    names = ["vllm", "vllm-overview", site.url("/x/..%2f..%2fevil.json")]
    out = tmp_path / "out"

    first = pull(names, directory=str(out))
    written = {path.name: path.read_bytes() for path in out.iterdir()}
    second = pull(names, directory=str(out))
    (out / "evil.json").write_text("mine")
    third = pull(names, directory=str(out))

    assert written == {
        "vllm.json": dict(shipped_dashboards())["vllm.json"],
        "vllm-overview.json": dashboard(1),
        "evil.json": dashboard(2),
    }
    assert [each.outcome for each in first.dashboards] == ["shipped", "downloaded", "downloaded"]
    assert (first.exit_code, second.exit_code, third.exit_code) == (0, 0, 3)
    assert "is there with other content" in (third.dashboards[2].error or "")
    assert (out / "evil.json").read_text() == "mine"


def test_pull_where_one_of_many_fails(site: Site) -> None:
    """A topic is all of its dashboards; the command says which could not be had, and exits with 1."""
    paths = [each.url.removeprefix("https://") for each in catalog().of_topic("llm-d") if each.sha256 is None]
    site.pages |= {path: [ok(dashboard(number))] for number, path in enumerate(paths)}

    done = typed("dashboards", "pull", "llm-d", "-o", "json")

    document = json.loads(done.stdout)
    assert document["kind"] == "PullReport"
    assert done.exit_code == document["exit_code"] == 1
    outcomes = [each["outcome"] for each in document["dashboards"]]
    assert (outcomes.count("downloaded"), outcomes.count("failed")) == (
        len(paths),
        len(catalog().of_topic("llm-d")) - len(paths),
    )


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (("pull",), 2, "name the dashboards, or --all"),
        (("pull", "vllm-overview", "--all"), 2, "name the dashboards, or --all"),
        (("pull", "vllm-overview", "--refresh", "--offline"), 2, "exclude each other"),
        (("pull", "vllm-overview", "--offline"), 1, "--offline downloads nothing"),
        (("pull", "vlm"), 1, "did you mean vllm"),
        (("pull", "vllm-overview", "--ca-file", "/nonexistent.pem"), 2, "--ca-file: /nonexistent.pem"),
        (("list", "nonsense"), 2, "is no topic"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, tuple) else "",
)
def test_exits(site: Site, arguments: tuple[str, ...], code: int, said: str) -> None:
    """Each failure is a sentence and its exit code."""
    done = typed("dashboards", *arguments)

    assert done.exit_code == code, done.stderr
    assert said in done.stdout + done.stderr


@pytest.mark.skipif(not REAL_DASHBOARDS.is_dir(), reason="the real dashboards are not beside this checkout")
def test_the_whole_catalogue(site: Site) -> None:
    """Every entry whose bytes are here, or known to nobody, can be pulled: it has its checksum, and is a dashboard."""
    real = {sha256_of(content): content for path in REAL_DASHBOARDS.glob("*.json") if (content := path.read_bytes())}
    site.pages |= {
        each.url.removeprefix("https://"): [ok(real.get(each.sha256, BODY) if each.sha256 else BODY)]
        for each in catalog()
    }
    elsewhere = [each.name for each in catalog() if each.sha256 and each.sha256 not in real]

    report = pull(everything=True)

    assert [each.name for each in report.dashboards if each.error] == elsewhere
    assert {each.outcome for each in report.dashboards if each.name not in elsewhere} == {"downloaded"}
    assert len(report.dashboards) - len(elsewhere) > 70
    assert len(site.requests) == len(catalog())
