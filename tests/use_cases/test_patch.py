"""`kvobs patch`: sources in, results where they were asked for, and one bad file stops no other."""

import io
import json
import os
import sys

import pytest

from kvobs.errors import UsageError
from kvobs.use_cases.patch import PatchSettings, patch

INPUTS = [{"name": "DS_P", "type": "datasource", "pluginId": "prometheus"}]
EXPORT = {"__inputs": INPUTS, "title": "x", "panels": [{"datasource": "${DS_P}"}, {"datasource": "${DS_P}"}]}
PATCHED = {"title": "x", "panels": [{"datasource": "prom-1"}, {"datasource": "prom-1"}]}
GIVEN = {"datasources": ("prometheus=prom-1:Prometheus",)}


@pytest.fixture
def folder(tmp_path):
    """Return a folder with a good dashboard, a bad one, and a good one in a folder below."""
    (tmp_path / "in" / "below").mkdir(parents=True)
    (tmp_path / "in" / "a.json").write_text(json.dumps(EXPORT, indent=2) + "\n")
    (tmp_path / "in" / "b.json").write_text('{"panels": [')
    (tmp_path / "in" / "below" / "c.json").write_text(json.dumps(EXPORT))
    return tmp_path


def test_stdout(folder):
    """Without a place the one result is the report's text for standard output, laid out as it came."""
    report = patch(PatchSettings(sources=(str(folder / "in/a.json"),), **GIVEN))

    assert report.stdout == json.dumps(PATCHED, indent=2) + "\n"
    assert report.exit_code == 0
    (file,) = report.files
    assert (file.written, file.changed, file.unresolved, file.loadable) == (None, True, 0, True)
    assert [row.path for row in file.references] == ["$.panels[0].datasource", "$.panels[1].datasource"]
    assert {row.reference_class for row in file.references} == {"input"}


def test_stdin(monkeypatch, tmp_path):
    """`-` is standard input; with a folder for the results it has a name of its own there."""
    for settings, place in (({}, None), ({"directory": str(tmp_path)}, str(tmp_path / "stdin.json"))):
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(json.dumps(EXPORT).encode())))

        report = patch(PatchSettings(sources=("-",), **GIVEN, **settings))

        assert report.files[0].written == place
    assert json.loads((tmp_path / "stdin.json").read_text()) == PATCHED


def test_in_place(folder):
    """Each file is written back, the bad one stays, is reported, and makes the exit code 1."""
    report = patch(PatchSettings(sources=(str(folder / "in"),), in_place=True, **GIVEN))

    assert json.loads((folder / "in/a.json").read_text()) == PATCHED
    assert json.loads((folder / "in/below/c.json").read_text()) == PATCHED
    assert (folder / "in/b.json").read_text() == '{"panels": ['
    assert report.exit_code == 1
    assert [file.error for file in report.files] == [None, "not JSON: expecting value (line 1, column 13)", None]
    assert report.stdout is None


def test_in_place_leaves_what_is_right(folder):
    """A file without anything to change keeps its bytes and is not written."""
    path = folder / "in/a.json"
    path.write_text('{ "panels":[], "title" :"x"}')
    before = path.stat()

    report = patch(PatchSettings(sources=(str(path),), in_place=True, **GIVEN))

    assert report.files[0].written is None
    assert not report.files[0].changed
    assert path.read_text() == '{ "panels":[], "title" :"x"}'
    assert path.stat().st_mtime_ns == before.st_mtime_ns


def test_directory(folder):
    """Results keep their paths below the folder that they came from."""
    report = patch(PatchSettings(sources=(str(folder / "in"),), directory=str(folder / "out"), **GIVEN))

    written = [os.path.relpath(file.written, folder) for file in report.files if file.written]
    assert written == ["out/a.json", "out/below/c.json"]
    assert json.loads((folder / "out/a.json").read_text()) == PATCHED
    assert json.loads((folder / "in/a.json").read_text()) == EXPORT


def test_file(folder):
    """One result goes to one file."""
    report = patch(PatchSettings(sources=(str(folder / "in/a.json"),), file=str(folder / "x.json"), **GIVEN))

    assert report.files[0].written == str(folder / "x.json")
    assert json.loads((folder / "x.json").read_text()) == PATCHED


def test_unresolved_is_exit_code_1(folder):
    """A reference that nothing was given for is counted, and makes the exit code 1."""
    report = patch(PatchSettings(sources=(str(folder / "in/a.json"),)))

    assert report.exit_code == 1
    assert report.files[0].unresolved == 2


def test_place_that_cannot_be_written(folder):
    """A result that cannot be written is an action that failed: exit code 3, and the others are written."""
    (folder / "out").mkdir()
    (folder / "out" / "below").write_text("in the way")

    report = patch(PatchSettings(sources=(str(folder / "in"),), directory=str(folder / "out"), **GIVEN))

    assert report.exit_code == 3
    assert "cannot be written" in report.files[2].error
    assert (folder / "out/a.json").exists()


def test_missing_source(folder):
    """A source that is not there is reported like a bad one."""
    report = patch(PatchSettings(sources=("missing.json", str(folder / "in/a.json")), directory=str(folder), **GIVEN))

    assert report.exit_code == 1
    assert report.files[0].error == "missing.json does not exist"
    assert report.files[1].written


def test_only(folder):
    """With --only nothing else is touched, and what is left can be resolved later."""
    path = str(folder / "in/a.json")
    report = patch(PatchSettings(sources=(path,), only="$.panels[0]", in_place=True, **GIVEN))

    half = json.loads((folder / "in/a.json").read_text())
    assert half == {**EXPORT, "panels": [{"datasource": "prom-1"}, {"datasource": "${DS_P}"}]}
    assert [row.path for row in report.files[0].references] == ["$.panels[0].datasource"]
    patch(PatchSettings(sources=(path,), in_place=True, **GIVEN))
    assert json.loads((folder / "in/a.json").read_text()) == PATCHED


def test_list(folder):
    """With --list references are shown and nothing is written, which is no failure."""
    report = patch(
        PatchSettings(sources=(str(folder / "in/a.json"), str(folder / "in/below/c.json")), list_only="$..datasource")
    )

    assert report.exit_code == 0
    assert report.listing
    assert report.stdout is None
    assert [len(file.references) for file in report.files] == [2, 2]


def test_inputs(folder):
    """A value for an input is used by name; one that no dashboard uses is pointed out."""
    report = patch(PatchSettings(sources=(str(folder / "in/a.json"),), inputs=("DS_P=a=b", "DS_Q=x")))

    assert json.loads(report.stdout)["panels"][0] == {"datasource": "a=b"}
    assert report.warnings == ("--input DS_Q was given, and no dashboard uses it",)


WRONG = {
    "two places": ({"in_place": True, "file": "x"}, "exclude each other"),
    "list and write": ({"list_only": "$", "in_place": True}, "--list writes nothing"),
    "list and only": ({"list_only": "$", "only": "$"}, "exclude each other"),
    "stdin in place": ({"sources": ("-",), "in_place": True}, "cannot be patched in place"),
    "stdin twice": ({"sources": ("-", "-"), "directory": "x"}, "stands twice"),
    "nothing": ({"sources": ()}, "no dashboard was named"),
    "two to stdout": ({"sources": ("a", "b")}, "2 dashboards cannot go to one place"),
    "two to one file": ({"sources": ("a", "b"), "file": "x"}, "2 dashboards cannot go to one place"),
    "two of one name": ({"sources": ("a/x.json", "b/x.json"), "directory": "d"}, "would both be written to"),
    "no jsonpath": ({"only": "$["}, "no JSONPath"),
    "bad datasource": ({"datasources": ("prometheus",)}, "is not TYPE=UID"),
    "empty uid": ({"datasources": ("prometheus=:Name",)}, "is not TYPE=UID"),
    "impossible uid": ({"datasources": ("prometheus=${x}",)}, "cannot be the UID"),
    "bad input": ({"inputs": ("DS_P",)}, "is not NAME=VALUE"),
}


@pytest.mark.parametrize("name", WRONG)
def test_wrong_usage(name):
    """Settings that make no sense are refused before anything is read or written."""
    settings, message = WRONG[name]

    with pytest.raises(UsageError, match=message):
        patch(PatchSettings(**{"sources": ("a.json",), **settings}))


def test_empty_folder(tmp_path):
    """A folder without dashboards is reported."""
    report = patch(PatchSettings(sources=(str(tmp_path),), in_place=True))

    assert report.exit_code == 1
    assert "no .json file" in report.files[0].error
