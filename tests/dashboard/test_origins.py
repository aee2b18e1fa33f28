"""What a person may write after `--dashboard`, what it names, and what is shown of it."""

from __future__ import annotations

import pytest

from kvobs.dashboard.catalog import Catalog, Upstream
from kvobs.dashboard.origins import (
    Local,
    Remote,
    Shipped,
    at_revision,
    check_address,
    read_origin,
    secrets_of,
    shown,
    unknown_name,
)
from kvobs.errors import UsageError

SHA = "ab" * 32


def entry(name: str, topic: str, **other: object) -> Upstream:
    """An entry of a small catalogue."""
    place = {"repository": "o/r", "path": f"{name}.json", "revision": "1" * 40, "sha256": SHA} | other
    return Upstream(name=name, topic=topic, licence="MIT", **place)  # type: ignore[arg-type]


CATALOG = Catalog(
    (
        entry("vllm-2026-08", "vllm"),
        entry("llm-d-overview", "llm-d"),
        entry("llm-d-gateway", "llm-d"),
        entry("kserve-epp", "kserve"),
        entry("grafana-com-12239-2", "dcgm", repository=None, path=None, revision="2", grafana_com=12239, sha256=None),
    )
)


def remote(text: str) -> Remote:
    """Read what must be something to download."""
    origin = read_origin(text, CATALOG)
    assert isinstance(origin, Remote)
    return origin


@pytest.mark.parametrize("text", ["dcgm", "vllm"])
def test_ours(text: str) -> None:
    """`dcgm` and `vllm` are kvobs' own, whatever topics the catalogue has."""
    assert read_origin(text, CATALOG) == Shipped(text)


@pytest.mark.parametrize(
    "text", ["a.json", "boards", "./vllm", "/abs/a.json", "-", "C:\\a.json", "~/a", "über.json", "a b.json"]
)
def test_paths(text: str) -> None:
    """Whatever is no name, number or address is a path."""
    assert read_origin(text, CATALOG) == Local(text)


@pytest.mark.parametrize("text", ["vllm-2026-08", "kserve-epp", "kserve"])
def test_names(text: str) -> None:
    """A name of the catalogue, or a topic that has one dashboard only, is that file at its commit."""
    found = remote(text)
    assert found.url == f"https://raw.githubusercontent.com/o/r/{'1' * 40}/{found.name}.json"
    assert (found.sha256, found.immutable) == (SHA, True)
    assert found.file_name == f"{found.name}.json"


def test_a_name_and_a_number_are_one_place() -> None:
    """A revision on Grafana.com is pinned once, by whichever name it was asked for."""
    assert remote("grafana-com-12239-2").key == remote("grafana:12239@2").key


def test_grafana_com() -> None:
    """With a revision the bytes are settled; without one they are once it is known."""
    named, newest = remote("grafana:12239@2"), remote("grafana:12239")
    assert named.url == "https://grafana.com/api/dashboards/12239/revisions/2/download"
    assert named.immutable
    assert newest.url is None
    assert newest.place == "https://grafana.com/grafana/dashboards/12239"
    assert at_revision(newest, 2, CATALOG) == named
    assert named.file_name == "grafana-12239-2.json"


def test_an_address() -> None:
    """An address may change what it gives, unless it says the checksum."""
    plain = remote("https://a.example/d.json")
    pinned = remote(f"https://a.example/d.json#sha256={SHA.upper()}")
    assert (plain.sha256, plain.immutable, plain.url) == (None, False, "https://a.example/d.json")
    assert (pinned.sha256, pinned.immutable, pinned.url) == (SHA, True, "https://a.example/d.json")


REFUSED = {
    "": "names no dashboard",
    "a\0b": "names no dashboard",
    "llm-d": "the topic of 2 dashboards: llm-d-overview, llm-d-gateway",
    "grafana:": "is not grafana:ID",
    "grafana:12239@latest": "is not grafana:ID",
    "grafana:0": "is not grafana:ID",
    "grafana:1/../2": "is not grafana:ID",
    "http://a.example/d.json": "over plain http anybody on the way can change it",
    "ftp://a.example/d.json": "nothing but https",
    "file:///etc/passwd": "nothing but https",
    "https:///d.json": "nothing but https",
    "https://a.example:99999/d": "cannot be read",
    "https://[::1/d": "cannot be read",
    "https://a.example/d#sha256=12": "64 hexadecimal digits",
}


@pytest.mark.parametrize("text", REFUSED)
def test_what_names_nothing(text: str) -> None:
    """What can name no dashboard, or several, is wrong usage, with a hint."""
    with pytest.raises(UsageError, match=REFUSED[text]) as raised:
        read_origin(text, CATALOG)
    assert raised.value.hint


@pytest.mark.parametrize("host", ["localhost", "127.0.0.1", "127.8.0.1", "[::1]", "a.localhost"])
def test_plain_http_on_this_machine(host: str) -> None:
    """Nobody stands between a program and its own machine."""
    assert remote(f"http://{host}:8080/d.json").url == f"http://{host}:8080/d.json"


def test_a_redirect_from_this_machine_may_stay_on_it() -> None:
    """A redirect leads to this machine only from there."""
    check_address("https://127.0.0.1/b", after="http://localhost:1/a")
    with pytest.raises(UsageError, match="an address of this machine"):
        check_address("https://127.0.0.1/b", after="https://a.example/a")


TOKEN = "Wren-in-a-query-4"
SHOWN = {
    "https://a.example/d.json": "https://a.example/d.json",
    f"https://me:{TOKEN}@a.example/d.json": "https://***@a.example/d.json",
    f"https://{TOKEN}@a.example:8443/": "https://***@a.example:8443/",
    f"https://a.example/d?token={TOKEN}&raw": "https://a.example/d?token=***&raw=***",
    f"https://a.example/d#{TOKEN}": "https://a.example/d",
    f"https://me:{TOKEN}@[fe80::1]/d": "https://***@[fe80::1]/d",
    f"https://me:{TOKEN}@[::1/d": "an address that cannot be read",
    "https://a.example/\x1b[31mred\n": "https://a.example/?[31mred",
}


@pytest.mark.parametrize("url", SHOWN)
def test_what_is_shown_of_an_address(url: str) -> None:
    """Nobody sees user, password, query or fragment, and nothing moves the cursor."""
    assert shown(url) == SHOWN[url]


@pytest.mark.parametrize("url", [url for url in SHOWN if TOKEN in url and "[::1/" not in url])
def test_no_secret_in_what_is_kept_of_an_address(url: str) -> None:
    """Name, key, file name, place and repr of a source hold no credential."""
    found = remote(url)
    assert TOKEN not in f"{found!r} {found.name} {found.key} {found.place} {found.file_name}"


def test_addresses_are_told_apart_by_their_queries_and_not_by_their_users() -> None:
    """The key is the same for one place, whoever asks, and differs where the query does."""
    keys = [remote(f"https://{rest}").key for rest in ("a.example/d?r=1", "me:x@a.example/d?r=1", "a.example/d?r=2")]
    assert keys[0] == keys[1] != keys[2]


def test_what_a_message_of_a_library_may_repeat() -> None:
    """Every form of a secret in an address is known, escaped or not."""
    assert {"p w", "p%20w", "me", "t=s", "s"} <= secrets_of("https://me:p%20w@a.example/?t=s")


FILE_NAMES = {
    "https://a.example/x/vllm.json": "vllm.json",
    "https://a.example/": "a.example.json",
    "https://a.example/..": "dashboard.json",
    "https://a.example/a/..%2f..%2fetc%2fpasswd": "passwd.json",
    "https://a.example/%2e%2e": "dashboard.json",
    "https://a.example/.bashrc": "bashrc.json",
    "https://a.example/a%00b.json": "a-b.json",
    "https://a.example/C:%5Cwindows%5Csystem.json": "C-windows-system.json",
    "https://a.example/-rf.json": "rf.json",
    "https://a.example/%F0%9F%92%A9.json": "dashboard.json",
    "https://a.example/a%0Ab.json": "a-b.json",
    f"https://a.example/{'x' * 5000}.json": f"{'x' * 100}.json",
}


@pytest.mark.parametrize("url", FILE_NAMES, ids=lambda url: url[:50])
def test_file_names(url: str) -> None:
    """What a server calls a file cannot lead out of a folder, hide, or be longer than a name may be."""
    assert remote(url).file_name == FILE_NAMES[url]


@pytest.mark.parametrize(
    ("text", "said", "hint"),
    [
        ("vlm", "no file here, and no dashboard", "did you mean vllm? "),
        ("llmd", "no file here, and no dashboard", "llm-d"),
        ("zzz", "no file here, and no dashboard", "kvobs dashboards list"),
        ("a/b.json", "a/b.json does not exist", ""),
    ],
)
def test_a_word_that_is_nothing(text: str, said: str, hint: str) -> None:
    """A word that is neither file nor name brings up what may be meant."""
    error = unknown_name(text, CATALOG)
    assert said in str(error)
    assert hint in (error.hint or "")
