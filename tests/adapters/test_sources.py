"""Files are read with plain errors, and written whole or not at all."""

import io
import os
import stat
import sys
import tempfile
from contextlib import contextmanager

import pytest

from kvobs.adapters import sources
from kvobs.errors import ActionError, DocumentError, UsageError


def test_found(tmp_path):
    """A file is itself, a folder all the .json below it, sorted; `-` is standard input."""
    for name in ("b.json", "a/c.json", "a/notes.txt"):
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        path.write_text("{}")

    assert sources.found(str(tmp_path / "b.json")) == [str(tmp_path / "b.json")]
    assert sources.found(str(tmp_path)) == [str(tmp_path / "a/c.json"), str(tmp_path / "b.json")]
    assert sources.found("-") == ["-"]
    assert sources.found("missing.json") == ["missing.json"]


def test_empty_folder(tmp_path):
    """A folder without dashboards is no silent success."""
    with pytest.raises(DocumentError, match=r"no \.json file under"):
        sources.found(str(tmp_path))


def test_unreadable(tmp_path):
    """A file that cannot be read is named, with the reason."""
    with pytest.raises(DocumentError, match="does not exist"):
        sources.read_bytes(str(tmp_path / "missing.json"))
    with pytest.raises(DocumentError, match="cannot be read: Is a directory"):
        sources.read_bytes(str(tmp_path))
    with pytest.raises(DocumentError, match="is no path"):
        sources.read_bytes("a\0b")


def test_too_large(tmp_path, monkeypatch):
    """A file over the limit is refused before it fills the memory."""
    monkeypatch.setattr(sources, "MAX_BYTES", 10)
    path = tmp_path / "large.json"
    path.write_bytes(b"x" * 11)

    with pytest.raises(DocumentError, match="more than 10 bytes"):
        sources.read_bytes(str(path))


def test_files(tmp_path):
    """Each document of a folder comes with its place; one that cannot be read brings its error and stops no other."""
    (tmp_path / "a.json").write_text('{"a": 1}')
    (tmp_path / "b.json").mkdir()
    (tmp_path / "b.json" / "c.json").write_text("{")
    (tmp_path / "notes.txt").write_text("no dashboard")
    (tmp_path / "empty").mkdir()

    contents = dict(sources.read_files(str(tmp_path)))

    assert contents == {str(tmp_path / "a.json"): b'{"a": 1}', str(tmp_path / "b.json" / "c.json"): b"{"}
    for place in ("missing.json", str(tmp_path / "empty")):
        ((named, error),) = sources.read_files(place)
        assert (named, isinstance(error, DocumentError)) == (place, True)


def test_values(tmp_path):
    """A values file is read as Helm reads it; one that is missing or no text is a wrong argument."""
    path = tmp_path / "values.yaml"
    path.write_text("a: {b: on}\n")
    assert sources.read_values(str(path)) == {"a": {"b": True}}

    path.write_bytes(b"a: \xff")
    with pytest.raises(UsageError, match="not UTF-8"):
        sources.read_values(str(path))
    with pytest.raises(UsageError, match="does not exist"):
        sources.read_values(str(tmp_path / "missing.yaml"))


def test_write_keeps_mode_and_link(tmp_path):
    """An existing file keeps its mode, and a link to it stays a link."""
    path, link = tmp_path / "a.json", tmp_path / "link.json"
    path.write_text("old")
    path.chmod(0o640)
    link.symlink_to(path)

    sources.write_atomic(str(link), b"new")

    assert path.read_text() == "new"
    assert link.is_symlink()
    assert stat.S_IMODE(path.stat().st_mode) == 0o640
    assert sorted(os.listdir(tmp_path)) == ["a.json", "link.json"]


def test_write_new_file(tmp_path):
    """A new file gets the mode that the user's umask says, and its folders are made."""
    before = os.umask(0o027)
    try:
        paths = sources.write_files(str(tmp_path / "x" / "y"), {"a.json": b"{}", "b.json": b"[]"})
    finally:
        os.umask(before)

    assert [os.path.basename(path) for path in paths] == ["a.json", "b.json"]
    assert stat.S_IMODE(os.stat(paths[0]).st_mode) == 0o640


def test_write_fails_whole(tmp_path, monkeypatch):
    """Where the last step fails the old file stands and nothing else is left."""
    path = tmp_path / "a.json"
    path.write_text("old")

    def refused(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "replace", refused)
    with pytest.raises(ActionError, match="cannot be written: No space left on device"):
        sources.write_atomic(str(path), b"new")

    assert path.read_text() == "old"
    assert os.listdir(tmp_path) == ["a.json"]


def test_write_below_a_file(tmp_path):
    """A folder that cannot be made is an error with its reason."""
    (tmp_path / "file").write_text("")

    with pytest.raises(ActionError, match="cannot be written"):
        sources.write_atomic(str(tmp_path / "file" / "a.json"), b"{}")


@pytest.mark.parametrize(
    ("name", "file_told", "folder_told"),
    [
        ("file", None, "file is no folder"),
        ("file/below", "Not a directory", "file is no folder"),
        ("to-file", None, "file is no folder"),
        ("to-nothing", None, None),
        ("to-itself", "symbolic links", "to-itself is no folder"),
        ("folder", "it is a folder", None),
        ("folder/new", None, None),
        ("not/there/yet", None, None),
        ("x" * 300, "name too long", None),
    ],
)
def test_what_can_be_written(tmp_path, name, file_told, folder_told):
    """Where no file or folder can be is told beforehand, and nothing is made or changed by asking."""
    (tmp_path / "file").write_text("old")
    (tmp_path / "folder").mkdir()
    for link, target in (("to-file", "file"), ("to-nothing", "missing/too"), ("to-itself", "to-itself")):
        (tmp_path / link).symlink_to(target)
    before = sorted(tmp_path.rglob("*"))

    for told, expected in (
        (sources.not_a_file_to_write(str(tmp_path / name)), file_told),
        (sources.not_a_folder_to_write(str(tmp_path / name)), folder_told),
    ):
        assert (told is None) == (expected is None), told
        assert expected is None or expected in told
    assert sorted(tmp_path.rglob("*")) == before


@pytest.mark.parametrize("device", ["/dev/null", "/dev/full", "/dev/stdout"])
def test_a_device_can_be_written(device):
    """A device or a pipe is written to as it is, whoever may write to its folder."""
    assert sources.not_a_file_to_write(device) is None


def test_what_may_not_be_written():
    """A folder that is closed for this user is told, by its name; a file in it, which would be replaced, as well."""
    with tempfile.TemporaryDirectory(dir="/tmp") as folder, as_a_user(folder):
        closed = os.path.join(folder, "closed")
        os.mkdir(closed)
        os.chmod(closed, 0o500)
        for place in (closed, os.path.join(closed, "new"), os.path.join(closed, "new", "too")):
            assert sources.not_a_folder_to_write(place) == f"you may not write to folder {closed}"
        assert sources.not_a_file_to_write(os.path.join(closed, "new")) == f"you may not write to folder {closed}"
        assert sources.not_a_file_to_write(os.path.join(folder, "new")) is None


@contextmanager
def as_a_user(folder):
    """Be somebody to whom *folder* belongs and who may not do everything, as root may."""
    if os.geteuid() != 0:
        yield
        return
    os.chown(folder, NOBODY, NOBODY)
    os.setresuid(NOBODY, NOBODY, 0)
    try:
        yield
    finally:
        os.setresuid(0, 0, 0)


NOBODY = 65534


def test_stdin(monkeypatch):
    """`-` reads standard input, as bytes."""
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"\xef\xbb\xbf{}")))

    assert sources.read_bytes("-") == b"\xef\xbb\xbf{}"


def test_place_from_anywhere(tmp_path, monkeypatch):
    """What is on this machine is named by its absolute path; an address stays one, and so does what is not there."""
    (tmp_path / "chart").mkdir()
    monkeypatch.chdir(tmp_path)

    assert sources.from_anywhere("chart") == sources.from_anywhere(f"{tmp_path}/chart") == str(tmp_path / "chart")
    assert [sources.from_anywhere(each) for each in ("oci://a/b", "repo/chart")] == ["oci://a/b", "repo/chart"]


NO_NAMES = [
    "../x",
    "a/../../x",
    "/etc/x",
    "",
    ".",
    "..",
    "a//b",
    "a/",
    "a\0b",
    "a\nb",
    "x" * 256,
    "é" * 200,
    "a/\x1b[31m",
]


@pytest.mark.parametrize("name", NO_NAMES)
def test_a_name_leads_nowhere_else(tmp_path, name):
    """A file name that leads out of the folder, or is none, is refused before anything is written."""
    for write in (
        lambda: sources.write_files(str(tmp_path / "out"), {"good.json": b"{}", name: b"{}"}),
        lambda: sources.write_new(str(tmp_path / "out"), name, b"{}"),
    ):
        with pytest.raises(ActionError, match="cannot be the name of a file"):
            write()

    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("name", ["a.json", "a/b.json", "..a", "con", "ü.json", "-rf", "x" * 255])
def test_a_name_within(tmp_path, name):
    """Any other name is a file in the folder, or in one below it."""
    (path,) = sources.write_files(str(tmp_path), {name: b"{}"})

    assert os.path.realpath(path) == path == str(tmp_path / name)


def test_write_new(tmp_path):
    """A file is written once; the same content again is no change, another content is refused, a link not followed."""
    assert sources.write_new(str(tmp_path), "a.json", b"{}") == str(tmp_path / "a.json")
    assert sources.write_new(str(tmp_path), "a.json", b"{}") == str(tmp_path / "a.json")
    (tmp_path / "link.json").symlink_to(tmp_path / "absent")
    (tmp_path / "folder").mkdir()

    for name in ("a.json", "link.json", "folder"):
        with pytest.raises(ActionError, match="is there with other content"):
            sources.write_new(str(tmp_path), name, b"[]")

    assert (tmp_path / "a.json").read_bytes() == b"{}"
    assert not (tmp_path / "absent").exists()
