"""`kvobs verify --static`: dashboards that are files, judged and rewritten."""

from __future__ import annotations

import io
import json
from pathlib import Path

import pytest

from kvobs.errors import UsageError
from kvobs.report import to_text
from kvobs.use_cases.static import StaticReport, StaticSettings, static

OLD = {
    "title": "Old",
    "uid": "old",
    "panels": [
        {"title": "usage", "targets": [{"expr": "vllm:gpu_cache_usage_perc"}]},
        {"title": "swapped", "targets": [{"expr": "vllm:num_requests_swapped"}]},
    ],
}
NEW = {"title": "New", "uid": "new", "panels": [{"title": "usage", "targets": [{"expr": "vllm:kv_cache_usage_perc"}]}]}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Return a folder with an old dashboard, a new one, and a file that is no JSON."""
    (tmp_path / "old.json").write_text(json.dumps(OLD, indent=4) + "\n")
    (tmp_path / "new.json").write_text(json.dumps(NEW))
    return tmp_path


def run(
    *sources: Path | str, version: str = "0.32.0", rewrite: bool = False, directory: Path | None = None
) -> StaticReport:
    """Run the guard."""
    return static(
        StaticSettings(
            sources=tuple(map(str, sources)),
            vllm_version=version,
            rewrite=rewrite,
            directory=None if directory is None else str(directory),
        )
    )


def states(report: StaticReport) -> dict[str, list[str]]:
    """Return each dashboard's panels' states."""
    return {each.title: [panel.state for panel in each.panels] for each in report.verdicts.boards}


def test_a_folder(folder: Path) -> None:
    """Every dashboard below a folder is judged; something broken is exit code 1, and nothing is written."""
    before = {path: path.read_bytes() for path in folder.iterdir()}
    report = run(folder)
    assert states(report) == {"New": ["lit"], "Old": ["broken", "broken"]}
    assert report.exit_code == 1
    assert report.rewritten == ()
    assert {path: path.read_bytes() for path in folder.iterdir()} == before


def test_what_is_accepted(folder: Path, tmp_path: Path) -> None:
    """`--expect` holds here as it does with a server: what it names fails nothing, what it names in vain is said."""
    expect = tmp_path / "expect.yaml"
    expect.write_text(
        "[{dashboard: old, panel: '*', reason: it is replaced}, {dashboard: New, panel: usage, reason: x}]"
    )
    sources = (str(folder / "old.json"), str(folder / "new.json"))
    report = static(StaticSettings(sources=sources, vllm_version="0.32.0", expect=str(expect)))
    assert (report.exit_code, report.verdicts.causes) == (0, ())
    assert report.verdicts.unmet == (f"{expect}, entry 2: 'usage' is lit; the entry can go",)


def test_an_older_server(folder: Path) -> None:
    """The same dashboards are judged the other way round on an older version."""
    assert states(run(folder, version="v0.8.2")) == {"New": ["broken"], "Old": ["lit", "lit"]}


def test_all_fine(folder: Path) -> None:
    """Nothing dark is exit code 0."""
    assert run(folder / "new.json").exit_code == 0


def test_a_rewrite_in_place(folder: Path) -> None:
    """Exact names are put in, the layout stays, what cannot be renamed is told, and a file without any is untouched."""
    stamp = (folder / "new.json").stat().st_mtime_ns
    report = run(folder, rewrite=True)
    text = (folder / "old.json").read_text()
    assert text == (json.dumps(OLD, indent=4) + "\n").replace("gpu_cache_usage_perc", "kv_cache_usage_perc")
    assert (folder / "new.json").stat().st_mtime_ns == stamp
    assert states(report) == {"New": ["lit"], "Old": ["lit", "broken"]}
    (new, old) = report.rewritten
    assert new.written is None
    assert old.written == str(folder / "old.json")
    assert [each.was for each in old.renamed] == ["vllm:gpu_cache_usage_perc"]
    assert "swaps nothing" in old.left[0].why


def test_a_second_rewrite_does_nothing(folder: Path) -> None:
    """What was rewritten once has nothing left to rename."""
    run(folder, rewrite=True)
    assert [each.written for each in run(folder, rewrite=True).rewritten] == [None, None]


def test_a_rewrite_into_a_folder(folder: Path, tmp_path: Path) -> None:
    """With a folder for the results, the files themselves stay as they are."""
    before = (folder / "old.json").read_bytes()
    report = run(folder / "old.json", rewrite=True, directory=tmp_path / "out")
    assert (folder / "old.json").read_bytes() == before
    assert report.rewritten[0].written == str(tmp_path / "out" / "old.json")
    assert "kv_cache_usage_perc" in (tmp_path / "out" / "old.json").read_text()


def test_a_rewrite_that_cannot_be_written(folder: Path, tmp_path: Path) -> None:
    """What cannot be written is told beside the verdicts, which stand; it fails the run, and stops no other."""
    (folder / "older.json").write_text(json.dumps(OLD))
    (tmp_path / "out" / "old.json").mkdir(parents=True)
    report = run(folder, rewrite=True, directory=tmp_path / "out")
    (new, old, older) = report.rewritten
    assert (new.error, older.error) == (None, None)
    assert old.written is None
    assert f"{tmp_path / 'out' / 'old.json'} cannot be written" in (old.error or "")
    assert older.written == str(tmp_path / "out" / "older.json")
    assert "vllm:kv_cache_usage_perc" in Path(older.written).read_text()
    assert states(report)["Old"] == ["lit", "broken"]
    assert report.exit_code == 3
    assert f"! {old.error}" in to_text(report)


def test_two_of_one_name(folder: Path, tmp_path: Path) -> None:
    """Two dashboards that would go to one place are wrong usage, before anything is written."""
    (folder / "sub").mkdir()
    (folder / "sub" / "old.json").write_text(json.dumps(OLD))
    with pytest.raises(UsageError, match="both go to"):
        run(folder, rewrite=True, directory=tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_a_bad_file_stops_no_other(folder: Path) -> None:
    """A file that is no JSON, or no dashboard, is a finding of its own."""
    (folder / "bad.json").write_text('{"title": }')
    (folder / "other.json").write_text("[]")
    report = run(folder)
    findings = {Path(each.source).name: [f.cause for f in each.findings] for each in report.verdicts.boards}
    assert findings == {"bad.json": ["KVO-101"], "new.json": [], "old.json": [], "other.json": ["KVO-101"]}
    assert report.exit_code == 1


def test_a_shipped_dashboard() -> None:
    """A dashboard of kvobs' own is named, judged, and fits the newest vLLM that is known."""
    report = run("vllm")
    assert report.exit_code == 0
    assert report.verdicts.counts["lit"] > 5


def test_standard_input_has_no_place_to_be_rewritten_to(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """What is no file of the user's needs a folder for the result."""
    text = json.dumps(OLD).encode()
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(text)))
    with pytest.raises(UsageError) as caught:
        run("-", rewrite=True)
    assert "--dir" in (caught.value.hint or "")
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(text)))
    assert run("-", rewrite=True, directory=tmp_path).rewritten[0].written == str(tmp_path / "stdin.json")


@pytest.mark.parametrize("version", ["latest", "", "nightly"])
def test_no_version(version: str, folder: Path) -> None:
    """A tag that names no version is wrong usage."""
    with pytest.raises(UsageError, match="names no version"):
        run(folder, version=version)


def test_no_such_file(tmp_path: Path) -> None:
    """A source that does not exist is wrong usage; so is none."""
    with pytest.raises(UsageError, match="does not exist"):
        run(tmp_path / "none.json")
    with pytest.raises(UsageError, match="no dashboard"):
        run()


def test_a_newer_version_than_known(folder: Path) -> None:
    """A version that is newer than the history is judged as its newest, and the report says so."""
    report = run(folder / "new.json", version="9.9.9")
    assert [each.id for each in report.verdicts.notes] == ["vllm-newer"]
    assert run(folder / "new.json").verdicts.notes == ()
