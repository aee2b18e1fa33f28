"""No credential of verify's is in anything that it says, however the server fails and however the credential came."""

from __future__ import annotations

import logging
from base64 import b64encode
from io import StringIO
from pathlib import Path
from urllib.parse import quote

import pytest

from kvobs.report import to_document, to_json, to_text
from kvobs.report.html import to_html
from kvobs.settings import Reach, Settings, Verification
from kvobs.terminal import Lines
from kvobs.use_cases.verify import verify

from ..adapters.site import Answer, Site, ok, page, reset, status

pytestmark = pytest.mark.usefixtures("without_proxy")

SECRET = "sekrit/t0ken+0815"
SHOWN = (SECRET, quote(SECRET, safe=""), b64encode(f"me:{SECRET}".encode()).decode())
"""The forms in which it travels."""

FAILS: dict[str, Answer] = {
    "refused": status(401),
    "forbidden": status(403),
    "a login page": page("Sign in"),
    "led elsewhere": lambda asked: asked.send(302, {"Location": f"https://login.example/?token={SECRET}"}, b""),
    "broken": reset,
    "an answer of its own": ok(b'{"status":"success","data":{"resultType":"vector","result":[]}}'),
}

API = (
    *("query", "query_range", "labels", "label/__name__/values", "label/namespace/values", "label/model_name/values"),
    *("label/instance/values", "targets", "status/buildinfo", "status/flags", "status/runtimeinfo"),
)

WAYS: dict[str, dict[str, str]] = {
    "a token": {"KVOBS_PROMETHEUS_TOKEN": SECRET},
    "a token of a file": {},
    "a user": {"KVOBS_PROMETHEUS_USER": "me", "KVOBS_PROMETHEUS_PASSWORD": SECRET},
    "a user of the address": {},
}


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("fails", FAILS)
def test_no_credential_is_told(
    site: Site, tmp_path: Path, caplog: pytest.LogCaptureFixture, fails: str, way: str
) -> None:
    """Text, JSON, HTML, repr, progress and every log at its lowest level have no form of it; the server does."""
    for path in API:
        site.play(FAILS[fails], at=f"/api/v1/{path}")
    token_file = tmp_path / "token"
    token_file.write_text(SECRET)
    login = f"me:{quote(SECRET, safe='')}@" if way == "a user of the address" else ""
    reach = Reach(
        url=f"https://{login}localhost:{site.port}",
        token_file=str(token_file) if way == "a token of a file" else None,
        ca_file=str(site.ca_file),
        timeout_s=5.0,
        patience_s=0.0,
    )
    verification = Verification(sources=("two-lenses",), reach=reach)
    progress = StringIO()
    caplog.set_level(logging.DEBUG)
    report = verify(Settings(offline=True), verification, environ=WAYS[way], progress=Lines(progress))
    assert any(form in headers["Authorization"] for _, _, headers in site.requests for form in SHOWN)
    assert report.exit_code in (1, 4)
    said = [
        to_text(report, verbose=True),
        to_json(to_document(report)),
        to_html(report),
        repr((report, verification)),
        progress.getvalue(),
        caplog.text,
    ]
    assert caplog.text
    assert [form for form in SHOWN for each in said if form in each] == []
