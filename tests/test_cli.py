"""The command line from outside: what it loads, what it says, how it exits."""

from __future__ import annotations

import json
import re
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import typer.main

import kvobs
from kvobs.cli import command_line

ROOT = Path(__file__).parents[1]
HEAVY = {
    "kubernetes",
    "pyhelm3",
    "pydantic",
    "requests",
    "httpx",
    "prometheus_api_client",
    "rich",
    "yaml",
    "jsonpath_ng",
}
GROUP: Any = typer.main.get_command(command_line())
COMMANDS: dict[str, Any] = GROUP.commands
README = (ROOT / "README.md").read_text()


def run(*arguments: str, env: dict[str, str] | None = None, cwd: Path = ROOT) -> subprocess.CompletedProcess[str]:
    """Run `python -m kvobs` without a terminal, in a clean environment."""
    return subprocess.run(
        [sys.executable, "-m", "kvobs", *arguments],
        capture_output=True,
        text=True,
        stdin=subprocess.DEVNULL,
        env={"PATH": "/usr/bin:/bin", "HOME": "/nonexistent", **(env or {})},
        cwd=cwd,
        check=False,
    )


def modules_loaded(*arguments: str) -> set[str]:
    """Return the top-level names that Python imports while it runs with *arguments*."""
    done = subprocess.run(
        [sys.executable, "-X", "importtime", *arguments], capture_output=True, text=True, check=True, cwd=ROOT
    )
    return {line.rpartition("|")[2].strip() for line in done.stderr.splitlines() if line.startswith("import time:")}


def test_help_loads_no_heavy_library() -> None:
    """`kvobs --help` answers before anything heavy is imported."""
    assert {name.partition(".")[0] for name in modules_loaded("-m", "kvobs", "--help")} & HEAVY == set()


@pytest.mark.parametrize("typed", [(), ("--help",), ("--version",), *((name,) for name in COMMANDS)], ids=" ".join)
def test_a_command_that_is_not_typed_is_its_line_in_the_help(typed: tuple[str, ...]) -> None:
    """Whatever is typed, the list of commands reads as if all were built whole; the one that is typed is."""
    line: Any = typer.main.get_command(command_line(typed))
    context = line.make_context("kvobs", [], resilient_parsing=True)
    whole = GROUP.make_context("kvobs", [], resilient_parsing=True)
    assert line.get_help(context) == GROUP.get_help(whole)
    for name in set(typed) & set(COMMANDS):
        ours, theirs = line.commands[name], COMMANDS[name]
        assert [each.name for each in ours.params] == [each.name for each in theirs.params]


def test_importing_the_package_loads_nothing_else_of_ours() -> None:
    """`import kvobs` costs one module."""
    assert {name for name in modules_loaded("-c", "import kvobs") if name.startswith("kvobs")} == {"kvobs"}


@pytest.mark.parametrize("name", sorted(COMMANDS))
def test_every_command_has_help_and_a_line_in_the_readme(name: str) -> None:
    """A command that exists is explained in `--help` and in the README's table."""
    assert COMMANDS[name].help
    assert f"| `kvobs {name}` |" in README
    done = run(name, "--help")
    assert done.returncode == 0
    assert f"kvobs {name}" in done.stdout


def test_the_readme_names_no_command_that_is_not_there() -> None:
    """Every `kvobs X` of the README is a command."""
    prose = re.sub(r"```.*?```", "", README, flags=re.DOTALL)
    named = set(re.findall(r"(?<![\w./])kvobs ([a-z]+)\b", "\n".join(re.findall(r"`([^`\n]+)`", prose))))
    assert named - {"COMMAND"} <= set(COMMANDS)


def readme_commands() -> list[list[str]]:
    """Return the words of every shell line in the README's console blocks."""
    blocks = re.findall(r"```console\n(.*?)```", README, re.DOTALL)
    return [shlex.split(line, comments=True) for block in blocks for line in block.splitlines() if line.strip()]


@pytest.mark.parametrize("words", readme_commands(), ids=" ".join)
def test_every_shell_line_of_the_readme_is_one_that_works(words: list[str], tmp_path: Path) -> None:
    """A `make` line names a target; a `patch` line is run; the others of kvobs, which want a cluster, are parsed."""
    if words[0] == "make":
        assert re.search(rf"^{words[1]}:", (ROOT / "Makefile").read_text(), re.MULTILINE)
    elif words[:4] == ["python", "-m", "kvobs", "patch"]:
        board = '{"title": "a", "uid": "a", "panels": [{"datasource": {"type": "prometheus", "uid": "my-uid"}}]}'
        (tmp_path / "my-dashboards").mkdir()
        for path in ("dashboard.json", "my-dashboards/other.json"):
            (tmp_path / path).write_text(board)
        done = run(*words[3:], cwd=tmp_path)
        assert done.returncode == 0, done.stderr
    elif words[:3] == ["python", "-m", "kvobs"]:
        COMMANDS[words[3]].make_context(words[3], words[4:])
    else:
        assert words == ["pip", "install", "."]


def test_the_version() -> None:
    """`--version` says which kvobs this is, and needs no command."""
    done = run("--version")
    assert (done.returncode, done.stdout) == (0, f"kvobs {kvobs.__version__}\n")


EXITS = [
    (("nonsense",), 2, "No such command"),
    (("install", "--nonsense"), 2, "No such option"),
    (("install", "--timeout", "soon"), 2, "is not a duration"),
    (("install", "--prometheus", "k8s"), 2, "is not NAMESPACE/NAME"),
    (("install", "--datasource", "prometheus", "--kubeconfig", "/nonexistent"), 4, "/nonexistent"),
    (("install", "--kubeconfig", "/nonexistent/config"), 4, "/nonexistent/config"),
    (("install", "--kubeconfig=~/config"), 4, "/nonexistent/config"),
    (("status",), 4, "kubeconfig"),
    (("diff", "--kubeconfig", "/nonexistent/config"), 4, "/nonexistent/config"),
    (("install", "--dry-run", "--kubeconfig", "/nonexistent/config"), 4, "/nonexistent/config"),
    (("diff", "--timeout", "soon"), 2, "is not a duration"),
    (("install", "--values", "/nonexistent.yaml"), 2, "/nonexistent.yaml"),
    (("render", "--set", "a[b]=1"), 2, "a[b]="),
    (("render", "-n", "Bad Namespace"), 2, "no name that Kubernetes takes"),
    (("install", "--release", "x" * 54), 2, "no name that Kubernetes takes"),
    (("render", "--datasource", "prometheus"), 2, "TYPE=UID"),
    (("render", "--images", "--rbac"), 2, "--images and --rbac print different things"),
    (("render", "--split"), 2, "--dir DIR"),
    (("render", "--images", "--dir", "x"), 2, "--images prints a list"),
    (("render", "--stack", "reuse"), 2, "cannot reuse a stack"),
    (("render", "--with-stack", "--helm", "/nonexistent/helm"), 3, "/nonexistent/helm does not exist"),
    (("render", "--image-registry", "https://r.io"), 2, "is not HOST[:PORT][/PATH]"),
    (("render", "--with-stack", "--chart-version", "62.0.0"), 2, "older than the charts that kvobs knows"),
    (("explain", "KVO-999"), 2, "is no cause that kvobs knows"),
    (("verify", "--kubeconfig", "/nonexistent/config"), 4, "/nonexistent/config"),
    (("verify", "--prometheus", "k8s"), 2, "is not NAMESPACE/NAME"),
    (("verify", "--prometheus", "p:9090"), 2, "--prometheus http://p:9090"),
    (("verify", "a.json", "--kubeconfig", "/nonexistent"), 4, "without a cluster: kvobs verify FILE --prometheus URL"),
    (("verify", "--grafana", "none"), 2, "has no dashboards"),
    (("verify", "--wait", "soon"), 2, "--wait 'soon' is not a duration"),
    (("verify", "--var", "model"), 2, "is not NAME=VALUE"),
    (("verify", "--in-flight", "0"), 2, "at least one query in flight"),
    (("verify", "--report", "/nonexistent/report.html"), 2, "no file can be there"),
    (("verify", "--report", "."), 2, "no file can be there"),
    (("verify", "--report", "x" * 300), 2, "no file can be there: File name too long"),
    (("verify", "--report", "-"), 2, "names no file"),
    (("verify", "a.json", "--prometheus", "http://p:1", "--expect", "/nonexistent.yaml"), 2, "/nonexistent.yaml"),
    (("verify", "--static", "a.json"), 2, "--vllm-version VERSION"),
    (("verify", "--static", "a.json", "--vllm-version", "0.32", "--watch"), 2, "--static asks nobody"),
    (("verify", "--static", "a.json", "--vllm-version", "0.32", "--reach", "proxy"), 2, "so that --reach would say"),
    (("verify", "a.json", "--prometheus", "http://p:9090", "--reach", "port-forward"), 2, "names an address"),
    (("verify", "a.json", "--reach", "proxy", "--tenant", "blue"), 2, "takes neither --token-file nor --tenant"),
    (("verify", "--static", "a.json", "--vllm-version", "0.32", "--at", "now", "--var", "a=b"), 2, "--at and --var"),
    (("verify", "a.json", "--rewrite"), 2, "belong to --static"),
    (("verify", "--static", "a.json", "--vllm-version", "0.32", "--dir", "d"), 2, "--dir is where --rewrite writes"),
    (("verify", "--static", "/nonexistent.json", "--vllm-version", "0.32"), 2, "/nonexistent.json"),
    (("verify", "--static", "vllm", "--vllm-version", "0.3", "--rewrite", "--dir", "README.md"), 2, "is no folder"),
    (("patch", "dashboards/vllm.json", "--dir", "README.md/there"), 2, "README.md is no folder"),
    (("patch", "dashboards/vllm.json", "--file", "dashboards"), 2, "no file can be there: it is a folder"),
    (("render", "--dir", "README.md"), 2, "README.md is no folder"),
    (("dashboards", "pull", "vllm", "--dir", "README.md"), 2, "README.md is no folder"),
    (("patch", "/nonexistent.json"), 1, "/nonexistent.json"),
]


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    EXITS,
    ids=lambda value: " ".join(value) if isinstance(value, tuple) else "",
)
def test_a_failure_says_what_in_a_line_and_exits_with_its_code(
    arguments: tuple[str, ...], code: int, said: str
) -> None:
    """A user's mistake ends in a plain sentence, never a traceback."""
    done = run(*arguments)
    assert done.returncode == code, done.stderr
    assert said in done.stderr + done.stdout
    assert "Traceback" not in done.stderr


def test_a_question_without_a_terminal_is_wrong_usage(tmp_path: Path) -> None:
    """uninstall asks before it acts; with nobody to ask it says which flag answers."""
    kubeconfig = tmp_path / "config"
    kubeconfig.write_text(
        "apiVersion: v1\nkind: Config\ncurrent-context: c\n"
        "clusters: [{name: c, cluster: {server: 'https://127.0.0.1:9'}}]\n"
        "users: [{name: u, user: {token: t}}]\ncontexts: [{name: c, context: {cluster: c, user: u}}]\n"
    )
    done = run("uninstall", "--kubeconfig", str(kubeconfig))
    assert done.returncode == 2
    assert "--yes" in done.stderr


def test_an_error_is_json_too_when_json_is_asked_for() -> None:
    """`-o json` gives a program the error as a document, with the exit code it agrees with."""
    done = run("status", "-o", "json", "--kubeconfig", "/nonexistent")
    document = json.loads(done.stdout)
    assert document["kind"] == "Error"
    assert document["version"] == 1
    assert document["exit_code"] == done.returncode == 4
    assert document["hint"]


def test_verify_writes_its_report_as_one_file(tmp_path: Path) -> None:
    """`--report` is written whichever format stdout has, with the umask's rights, and nothing is left beside it."""
    page = tmp_path / "report.html"
    done = run(
        *("verify", "--static", "dashboards/vllm.json", "--vllm-version", "0.32", "-o", "json", "--report", str(page))
    )
    assert done.returncode == 0, done.stderr
    document = json.loads(done.stdout)
    assert document["kind"] == "StaticReport"
    assert document["verdicts"]["counts"]["lit"] > 0
    assert page.read_text().startswith("<!doctype html>")
    assert [each.name for each in tmp_path.iterdir()] == ["report.html"]


ALONE = ("verify", "vllm", "--prometheus", "http://127.0.0.1:9", "--at", "2026-01-01T00:00:00Z", "-q")
STATIC = ("verify", "--static", "vllm", "--vllm-version", "0.32")


@pytest.mark.parametrize("command", [ALONE, STATIC], ids=["asked", "static"])
def test_a_report_that_cannot_be_written_costs_no_result(command: tuple[str, ...]) -> None:
    """What was found is on stdout although the disk is full under `--report`; the error is told, and is the exit code.

    No server is there to be asked, which takes no time, and is a result too.
    """
    alone = run(*command)
    done = run(*command, "--report", "/dev/full")
    document = json.loads((as_json := run(*command, "--report", "/dev/full", "-o", "json")).stdout)

    assert alone.returncode in (0, 4)
    assert done.stdout == alone.stdout
    assert done.stderr.startswith("kvobs: /dev/full cannot be written: No space left on device\n  what to do: ")
    assert as_json.stderr == done.stderr
    assert done.returncode == as_json.returncode == document["exit_code"] == 3
    assert document["kind"] in ("VerifyReport", "StaticReport")
    assert document["failed"]["message"] in done.stderr


def test_every_cause_can_be_explained_offline() -> None:
    """`kvobs explain` needs no cluster, no home and no network."""
    listed = run("explain")
    assert listed.returncode == 0
    assert run("explain", listed.stdout.split()[3]).returncode == 0
