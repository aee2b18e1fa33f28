"""Values as the real Helm reads them: what a chart sees is the same, told to Helm directly or through kvobs."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml

from kvobs.adapters.helm_command import readable_json
from kvobs.errors import UsageError
from kvobs.stack.values import (
    deep_merge,
    given_values,
    parse_set,
    read_values,
    same_values,
    set_integers,
    stack_values,
    user_values,
    wants_admin_secret,
)
from tests.cluster.build import binary

TABLE = Path(__file__).parent.parent / "data" / "values"
CHART = TABLE / "chart"
CASES = yaml.safe_load((TABLE / "cases.yaml").read_text())
READ = [case for case in CASES if "refused" not in case]
REFUSED = [case for case in CASES if "refused" in case]
BY_HELM = [(case, f"helm{major}") for case in READ for major in case.get("helm", (4, 3))]


def says(case: Mapping[str, Any]) -> str:
    """Name a case by its sentence."""
    return str(case["says"])


def seen_by_a_chart(name: str, arguments: list[str], *, stdin: str = "") -> dict[str, Any]:
    """Return what `helm template` shows of the values, or what it says when it refuses them."""
    done = subprocess.run(
        [binary(name), "template", "x", CHART, *arguments], input=stdin, capture_output=True, text=True
    )
    return yaml.safe_load(done.stdout) if done.returncode == 0 else {"refused": done.stderr}


def told_directly(case: Mapping[str, Any], folder: Path) -> list[str]:
    """Return Helm's arguments for a case."""
    arguments = []
    for number, text in enumerate(case.get("values", [])):
        file = folder / f"{number}.yaml"
        file.write_text(text)
        arguments += ["--values", str(file)]
    return [*arguments, *(part for expression in case.get("set", []) for part in ("--set", expression))]


@pytest.mark.parametrize(("case", "name"), BY_HELM, ids=lambda part: part if isinstance(part, str) else says(part))
def test_a_chart_sees_the_same(case: Mapping[str, Any], name: str, tmp_path: Path) -> None:
    """Through kvobs (one document on stdin, large integers beside it) a chart sees what Helm alone shows it."""
    documents = [read_values(text, where="values.yaml") for text in case.get("values", [])]
    values = user_values(documents, case.get("set", []))
    integers = set_integers(deep_merge(*documents), case.get("set", []))

    through_kvobs = seen_by_a_chart(
        name,
        ["--values", "-", *(part for integer in integers for part in ("--set", integer))],
        stdin=readable_json(json.dumps(values).encode()).decode(),
    )

    assert through_kvobs == seen_by_a_chart(name, told_directly(case, tmp_path))


@pytest.mark.parametrize("case", REFUSED, ids=says)
def test_what_helm_refuses_is_refused(case: Mapping[str, Any], tmp_path: Path) -> None:
    """Where Helm refuses an expression kvobs does too, and says where."""
    documents = [read_values(text, where="values.yaml") for text in case.get("values", [])]

    with pytest.raises(UsageError, match=rf"--set .*, position {case['refused']}:") as refused:
        user_values(documents, case["set"])

    assert refused.value.exit_code == 2
    assert refused.value.hint
    assert "refused" in seen_by_a_chart("helm4", told_directly(case, tmp_path))


def test_the_table_is_large_enough() -> None:
    """There are at least thirty cases, and no sentence stands twice."""
    assert len({says(case) for case in CASES}) == len(CASES) >= 30


@pytest.mark.parametrize(
    ("expression", "secret"),
    [
        ("grafana.adminPassword=hunter22,,", "hunter22"),
        ("grafana.adminPassword=hun,ter22", "ter22"),
        ("a={hunter22,b", "hunter22"),
        ("a=1,p=hunter22,a.b=2", "hunter22"),
        ("p=hun\\,ter22,a[x]=1", "ter22"),
    ],
)
def test_a_refusal_repeats_no_value(expression: str, secret: str) -> None:
    """The error shows names and position, never a value, not even the rest of one with a bare comma."""
    with pytest.raises(UsageError) as refused:
        parse_set(expression)

    assert secret not in str(refused.value) + repr(refused.value)


def test_nothing_given_is_changed() -> None:
    """Neither merging nor setting changes what it is given."""
    below = {"a": {"b": [1, {"c": 2}]}}

    assert parse_set("a.b[1].c=3,a.d=4", below) == {"a": {"b": [1, {"c": 3}], "d": 4}}
    assert deep_merge(below, {"a": {"e": 5}}) == {"a": {"b": [1, {"c": 2}], "e": 5}}
    assert below == {"a": {"b": [1, {"c": 2}]}}


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("a: [1\nb: secret\n", "values.yaml, line 2, column 2: this is not YAML"),
        ("a: 1\n- secret\n", "values.yaml, line 2, column 1: this is not YAML"),
        ("- secret\n", "values.yaml, line 1, column 1: values must be a map of names to values"),
        ("secret\n", "values.yaml, line 1, column 1: values must be a map of names to values"),
        ("a: .nan\n", "values.yaml, line 1, column 4: an infinite or undefined number cannot be a value"),
        ("a: &x [*x]\n", "values.yaml, line 1, column 4: an anchor that holds itself"),
        ("a: {[1]: secret}\n", "values.yaml, line 1, column 5: a name must be a string, a number or a boolean"),
        ("a: *secret\n", "values.yaml, line 1, column 4: this is not YAML"),
        ("a: se\x07cret\n", "values.yaml, character 6: special characters are not allowed"),
        ("a: !!binary c2VjcmV0\n", "values.yaml, line 1, column 4: !!binary is not read"),
        ("a: {<<: [1]}\n", "values.yaml, line 1, column 9: << takes a map or a list of maps"),
        ("[" * 2000, "values.yaml: nested too deeply"),
        (
            "a: &a [x, x, x, x, x, x, x, x]\n"
            + "\n".join(
                f"{name}: &{name} [{', '.join([f'*{before}'] * 8)}]"
                for before, name in zip("abcdefg", "bcdefgh", strict=True)
            ),
            "more than 1000000 values; its aliases multiply",
        ),
    ],
    ids=lambda text: text[:20],
)
def test_a_bad_values_file(text: str, said: str) -> None:
    """A file that Helm cannot take is named, with the place and the reason, and none of its text."""
    with pytest.raises(UsageError) as refused:
        read_values(text, where="values.yaml")

    assert said in str(refused.value)
    assert "secret" not in str(refused.value)
    assert refused.value.__cause__ is None


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ({"a": [1, {"b": 2.0}]}, {"a": [1.0, {"b": 2}]}, True),
        ({"a": 9007199254740993}, {"a": 9007199254740992}, True),
        ({"a": True}, {"a": 1}, False),
        ({"a": "1"}, {"a": 1}, False),
        ({"a": [{"b": False}]}, {"a": [{"b": 0}]}, False),
        ({"a": None}, {}, False),
    ],
)
def test_same_values(one: dict[str, Any], other: dict[str, Any], same: bool) -> None:
    """Values are the same when their JSON is: numbers by size, booleans apart from numbers, null apart from nothing."""
    assert same_values(one, other) is same


class TestStackValues:
    """What kvobs puts under the user's values."""

    def test_the_administrator_and_the_folders(self) -> None:
        """On its own: the Secret with Grafana's administrator, and folders by annotation; nothing else."""
        assert stack_values({}, admin_secret="s") == {
            "grafana": {
                "admin": {"existingSecret": "s", "userKey": "admin-user", "passwordKey": "admin-password"},
                "sidecar": {
                    "dashboards": {
                        "folderAnnotation": "grafana_folder",
                        "provider": {"foldersFromFilesStructure": True},
                    }
                },
            }
        }

    @pytest.mark.parametrize(
        "grafana",
        [
            {"adminPassword": "x"},
            {"admin": {"existingSecret": "mine"}},
            {"env": {"GF_SECURITY_ADMIN_PASSWORD__FILE": "/x"}},
            {"env": {"GF_SECURITY_DISABLE_INITIAL_ADMIN_CREATION": True}},
        ],
    )
    def test_an_administrator_of_the_users_own(self, grafana: dict[str, Any]) -> None:
        """A password or Secret that the user names is not pushed aside by ours."""
        assert stack_values({"grafana": grafana}, admin_secret="s")["grafana"].get("admin") == grafana.get("admin")
        assert not wants_admin_secret({"grafana": grafana})

    def test_no_grafana(self) -> None:
        """Without Grafana there is nothing to set."""
        user = {"grafana": {"enabled": False}}

        assert stack_values(user, admin_secret="s") == user
        assert not wants_admin_secret(user)

    def test_a_folder_of_the_users_own(self) -> None:
        """A provider folder that the user chose stays in force."""
        user = {"grafana": {"sidecar": {"dashboards": {"provider": {"folder": "Mine"}}}}}

        assert stack_values(user, admin_secret=None) == user

    def test_the_user_wins(self) -> None:
        """Whatever the user says stands over ours, null included."""
        user = {"grafana": {"sidecar": {"dashboards": {"folderAnnotation": None}}}}

        dashboards = stack_values(user, admin_secret="s")["grafana"]["sidecar"]["dashboards"]
        assert dashboards == {"folderAnnotation": None, "provider": {"foldersFromFilesStructure": True}}


@pytest.mark.parametrize(
    "user",
    [
        {},
        {"a": {"b": [1, 2000000], "c": None}, "d": 1.5},
        {"grafana": {"enabled": False, "admin": {"existingSecret": "s"}}},
        {"grafana": {"adminPassword": "x", "persistence": {"enabled": True}}},
        {"grafana": {"admin": {"existingSecret": "mine", "userKey": "admin-user", "passwordKey": "pw"}}},
        {"grafana": {"admin": {"userKey": "u"}}},
        {"grafana": {"sidecar": {"dashboards": {"folderAnnotation": None}}}},
        {"grafana": {"sidecar": {"dashboards": {"folderAnnotation": "mine"}}}},
        {"grafana": {"sidecar": {"dashboards": {"provider": {"folder": "F", "foldersFromFilesStructure": True}}}}},
    ],
    ids=str,
)
def test_values_of_a_release_are_the_users(user: dict[str, Any]) -> None:
    """What a release stores is taken apart into the user's part and ours, so that a later run makes the same of it."""
    stored = json.loads(json.dumps(stack_values(user, admin_secret="s")))
    given = given_values(stored, admin_secret="s")

    assert given == user
    assert same_values(stack_values(given, admin_secret="s"), stored)
    assert wants_admin_secret(given) == wants_admin_secret(user)


def test_what_kvobs_puts_under_them_moves_on() -> None:
    """A release that an older kvobs made without folders gets them: what was ours then is not the user's now."""
    stored = {"grafana": {"admin": {"existingSecret": "s", "userKey": "admin-user", "passwordKey": "admin-password"}}}

    assert given_values(stored, admin_secret="s") == {}
    assert wants_admin_secret(given_values(stored, admin_secret="s"))


def test_numbers_of_a_release_stay_whole() -> None:
    """A large number that a release stores reaches a chart as a number, as it did when `--set` said it."""
    given = given_values({"limit": 1000000, "list": [{"size": 2**40}], "small": 7}, admin_secret="s")

    assert set_integers(deep_merge(given), ()) == ("limit=1000000", f"list[0].size={2**40}")
    assert json.loads(json.dumps(given)) == {"limit": 1000000, "list": [{"size": 2**40}], "small": 7}


@pytest.mark.parametrize(
    "expression",
    ["grafana.adminPassword=12345678", "a.token=12345678", "secret.inner[0].x=12345678", "tokens[0]=12345678"],
)
def test_no_number_below_a_secret_name_is_an_argument(expression: str) -> None:
    """A password of digits travels in the document, as any other password does."""
    assert set_integers({}, [expression, "max=12345678"]) == ("max=12345678",)
    assert set_integers(given_values(user_values((), [expression]), admin_secret="s"), ()) == ()

    @pytest.mark.parametrize(
        ("persistence", "kept"),
        [
            ({"enabled": True}, True),
            ({"enabled": True, "type": "pvc", "size": "1Gi"}, True),
            ({"enabled": True, "annotations": {"team": "a"}}, True),
            ({"enabled": True, "annotations": {"helm.sh/resource-policy": "delete"}}, False),
            ({"enabled": True, "type": "sts"}, False),
            ({"enabled": True, "existingClaim": "mine"}, False),
            ({"enabled": False}, False),
            ({"size": "1Gi"}, False),
        ],
        ids=["on", "with its type", "other annotations", "the user's own", "sts", "a claim of theirs", "off", "unsaid"],
    )
    def test_the_claim_of_grafana(self, persistence: dict[str, Any], kept: bool) -> None:
        """Helm keeps a claim that it would delete with the release; other values are as the user gave them."""
        made = stack_values({"grafana": {"persistence": persistence}}, admin_secret="s")["grafana"]["persistence"]

        annotations = made.get("annotations", {})
        assert (annotations.get("helm.sh/resource-policy") == "keep") is kept
        ours = {"helm.sh/resource-policy": "keep"} if kept else {}
        given = persistence.get("annotations", {})
        assert made == {**persistence, **({"annotations": {**ours, **given}} if ours or given else {})}

    def test_a_stateful_grafana_keeps_its_claim_itself(self) -> None:
        """What a StatefulSet makes is no object of the release, and its template cannot be changed later."""
        grafana = {"useStatefulSet": True, "persistence": {"enabled": True}}

        assert stack_values({"grafana": grafana}, admin_secret=None)["grafana"]["persistence"] == {"enabled": True}

    def test_the_claim_is_kvobs_own_matter_later_too(self) -> None:
        """Of the stored values, the annotation is not taken for the user's: it goes when persistence does."""
        given = {"grafana": {"persistence": {"enabled": True}}}

        assert given_values(stack_values(given, admin_secret="s"), admin_secret="s") == given
