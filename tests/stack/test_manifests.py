import json

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from kvobs.adapters.helm_manifests import manifest_objects
from kvobs.stack.facts import Ref
from kvobs.stack.manifests import to_yaml
from tests.cluster.build import crd_files


def _config_map(data, name="a"):
    return {
        "kind": "ConfigMap",
        "data": data,
        "metadata": {"labels": {"x": "y"}, "name": name},
        "apiVersion": "v1",
    }


def test_a_stream_is_readable():
    """Identity first, lines as a literal block, text that looks like something else in quotes."""
    objects = [
        _config_map({"note": "two\nlines\n", "e": "1e3", "yes": "y", "port": "8080"}),
        _config_map({}, "b"),
    ]

    assert to_yaml(objects) == (
        "---\n"
        "apiVersion: v1\n"
        "kind: ConfigMap\n"
        "metadata:\n"
        "  name: a\n"
        "  labels:\n"
        "    x: 'y'\n"
        "data:\n"
        "  note: |\n"
        "    two\n"
        "    lines\n"
        "  e: '1e3'\n"
        "  'yes': 'y'\n"
        "  port: '8080'\n"
        "---\n"
        "apiVersion: v1\n"
        "kind: ConfigMap\n"
        "metadata:\n"
        "  name: b\n"
        "  labels:\n"
        "    x: 'y'\n"
        "data: {}\n"
    )


def test_a_dashboard_stays_the_json_that_it_is():
    """Compact JSON stands on one line of a literal block, without a quote doubled or a line folded."""
    document = json.dumps({"title": "it's 100 %", "panels": [{"expr": 'up{job="x"}'}] * 40}, separators=(",", ":"))

    text = to_yaml([_config_map({"d.json": document})])

    assert f"  d.json: |-\n    {document}\n" in text


def test_no_value_of_a_secret_is_printed():
    """What a Secret holds stays out of files and logs; what is printed cannot be applied by mistake."""
    secret = {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {"name": "s"},
        "stringData": {"password": "hunter2"},
    }

    text = to_yaml([secret])

    assert "hunter2" not in text
    assert "data:\n  password: <hidden>\n" in text


@pytest.mark.parametrize("text", ["a\rb", "a\x85b", "a\u2028b" * 50, "a\u2029b\n", "\ufeffa", "\x00", "tab\there"])
def test_odd_characters_come_through(text):
    """Whatever YAML itself would take for a line end or not print at all."""
    objects = [_config_map({"k": text, text: "v"})]

    assert list(yaml.safe_load_all(to_yaml(objects))) == objects


def test_shared_parts_are_written_out():
    """No anchors: a reader sees each object whole."""
    labels = {"a": "b"}
    one = {
        "apiVersion": "v1",
        "kind": "X",
        "metadata": {"name": "n", "labels": labels},
        "spec": {"labels": labels},
    }

    assert "&" not in to_yaml([one])


TEXT = st.text(max_size=130) | st.from_regex(r"[-+]?[0-9_.:exob]{1,8}", fullmatch=True)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | TEXT,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXT, inner, max_size=3),
    max_leaves=12,
)


@given(st.lists(JSON, max_size=3))
def test_reading_gives_back_what_was_written(values):
    """Every value survives, whatever it looks like; and the bytes are the same each time."""
    objects = [{"apiVersion": "v1", "kind": "X", "metadata": {"name": "n"}, "spec": value} for value in values]

    text = to_yaml(objects)

    assert list(yaml.safe_load_all(text)) == objects
    assert to_yaml(objects) == text


@pytest.mark.parametrize("text", ["1e3", "0o17", "0x1F", "1_000", "12:30:00", ".inf", "Y", "no", "null", "~", "-.5"])
def test_text_that_another_reader_takes_for_more_is_quoted(text):
    """kubectl reads more spellings as numbers and booleans than PyYAML does."""
    assert f"k: '{text}'\n" in to_yaml([_config_map({"k": text})])


def test_definitions_by_either_writer() -> None:
    """Definitions go through a faster writer where there is one: it writes what the other writes, byte for byte."""
    for file in crd_files("prometheus-operator")[:3]:
        (definition,) = manifest_objects(file.read_text())
        slow = to_yaml([{**definition, "kind": "Other"}])

        assert to_yaml([definition]) == slow.replace("kind: Other", "kind: CustomResourceDefinition", 1)


def test_only_a_public_secret_shows_its_values() -> None:
    """A Secret shows its values where it is named as public, and nowhere else."""
    pair = [{"apiVersion": "v1", "kind": "Secret", "metadata": {"name": name}, "data": {"k": "dg=="}} for name in "ab"]

    assert to_yaml(pair, public={Ref("Secret", "", "b")}).count("dg==") == 1
    assert to_yaml(pair).count("dg==") == 0
