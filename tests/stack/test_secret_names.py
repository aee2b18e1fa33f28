"""What is a secret in values and objects, by its name and by its text."""

from __future__ import annotations

from typing import Any

import pytest

from kvobs.stack.objects import HIDDEN
from kvobs.stack.secret_names import masked, secret_texts

VALUES = {
    "grafana": {
        "adminPassword": "correct horse",
        "admin": {"existingSecret": "a-name", "passwordKey": "a-key"},
        "env": {"API_TOKEN": "token-of-mine", "LEVEL": "debug"},
        "plugins": [{"auth": ["listed-one", 12345]}],
        "pin": {"pwd": "abc"},
    },
    "prometheus": {"enabled": True},
}


def test_secret_texts_of_values() -> None:
    """Those below names that say so, the longest first; names of Secrets, and what is too short to be one, are none."""
    assert secret_texts(VALUES) == ("correct horse", "token-of-mine", "listed-one", "12345")


@pytest.mark.parametrize(
    ("value", "name", "want"),
    [
        ("plain", "url", "plain"),
        ("plain", "apiToken", HIDDEN),
        ("", "apiToken", ""),
        (True, "automountServiceAccountToken", True),
        ("node-role", "key", "node-role"),
        ('{"title": "tokens"}', "llm-tokens.json", '{"title": "tokens"}'),
        ("a correct horse rides", "text", f"a {HIDDEN} rides"),
        ([{"name": "X_SECRET", "value": "v"}], "env", [{"name": "X_SECRET", "value": HIDDEN}]),
        ({"secretName": "s", "items": ({"key": "k"},)}, "secret", {"secretName": "s", "items": [{"key": "k"}]}),
        (None, "password", None),
    ],
)
def test_what_may_be_shown(value: Any, name: str, want: Any) -> None:
    """Texts only are hidden: by the name that they stand under, or by what they are."""
    assert masked(value, ["correct horse"], name) == want
