"""Bad input ends in one plain error or in the right answer, never in a traceback."""

import json

import pytest

from kvobs.dashboard.document import MAX_DEPTH
from kvobs.dashboard.jsontext import Layout, read_json, write_json
from kvobs.dashboard.patch import patch_dashboard
from kvobs.errors import DocumentError, UsageError


def nested(levels, *, key="x"):
    """Return a dashboard with a value so many levels deep, without recursion."""
    value = "end"
    for _ in range(levels):
        value = {key: value} if key else [value]
    return {"title": "Deep", "panels": [], "deep": value}


TEXTS = {
    "empty": (b"", "the document is empty"),
    "blank": (b" \n\t", "the document is empty"),
    "only a byte order mark": (b"\xef\xbb\xbf", "the document is empty"),
    "cut off": (b'{"panels": [', r"not JSON: expecting value \(line 1, column 13\)"),
    "brace too many": (b'{"panels": []}\n}', r"after the end of the document \(line 2, column 1\)"),
    "two documents": (b'{"panels": []} {"panels": []}', r"after the end of the document \(line 1, column 16\)"),
    "trailing comma": (b'{\n  "a": 1,\n}', r"not JSON: .* \(line [23], column \d+\)"),
    "yaml": (b"panels: []", r"not JSON: expecting value \(line 1, column 1\)"),
    "NaN": (b'{"a": "NaN",\n "b": NaN}', r"NaN is not JSON \(line 2, column 7\)"),
    "Infinity": (b'{"a": "say \\"Infinity\\"", "b": -Infinity}', r"-Infinity is not JSON \(line 1, column 32\)"),
    "a number beyond floats": (b'{"a": 1e999}', "larger than any number"),
    "a number of 5000 digits": (b'{"a": ' + b"1" * 5000 + b"}", "not JSON that can be read"),
    "latin-1": ('{"title": "Kö"}'.encode("latin-1"), "not text in utf-8: byte 0xf6 at offset 12"),
    "control character": (b'{"a": "\x01"}', r"not JSON: invalid control character at \(line 1, column 8\)"),
    "deep lists": (b"[" * 100_000, "nested too deeply"),
    "deep objects": (b'{"a":' * 100_000, "nested too deeply"),
}


@pytest.mark.parametrize("name", TEXTS)
def test_text_that_is_no_json(name):
    """Each kind of bad text is refused with what is wrong and where."""
    text, message = TEXTS[name]

    with pytest.raises(DocumentError, match=message):
        read_json(text)


GOOD_TEXTS = {
    "utf-8 with a byte order mark": '{"title": "Größe"}'.encode("utf-8-sig"),
    "utf-16": '{"title": "Größe"}'.encode("utf-16"),
    "utf-16 without a mark": '{"title": "Größe"}'.encode("utf-16-le"),
    "utf-32": '{"title": "Größe"}'.encode("utf-32"),
    "utf-8": '{"title": "Größe"}'.encode(),
    "escaped": b'{"title": "Gr\\u00f6\\u00dfe"}',
    "windows line ends": '{\r\n"title": "Größe"\r\n}\r\n'.encode(),
}


@pytest.mark.parametrize("name", GOOD_TEXTS)
def test_text_in_any_encoding(name):
    """JSON is read in each encoding that it may come in."""
    assert read_json(GOOD_TEXTS[name]).document == {"title": "Größe"}


def test_repeated_key():
    """Of a key that stands twice in an object the last one counts, as in Grafana, and that is said."""
    read = read_json('{"panels": [], "title": "a", "x": {"y": 1, "y": 2}, "title": "b"}')

    assert read.document == {"panels": [], "title": "b", "x": {"y": 2}}
    assert read.warnings == (
        "the key 'y' stands twice in one object; the last one counts",
        "the key 'title' stands twice in one object; the last one counts",
    )


@pytest.mark.parametrize(
    "text", ['{"a": 1}', '{\n  "a": [\n    1\n  ]\n}\n', '{\n\t"a": 1\n}', '{"a": 1, "b": [1, 2]}\n']
)
def test_layout_survives(text):
    """A text that was not changed is written back as it was laid out."""
    read = read_json(text)

    assert write_json(read.document, read.layout) == text


def test_compact():
    """Without a layout a document is one line without blanks, with characters as themselves."""
    assert write_json({"a": [1, "ö{{x}}"]}) == '{"a":[1,"ö{{x}}"]}'


def test_half_a_surrogate_pair():
    """What UTF-8 cannot hold stays escaped, so that the text can be written at all."""
    read = read_json(b'{"a": "\\ud83d"}')

    assert write_json(read.document).encode() == b'{"a":"\\ud83d"}'


@pytest.mark.parametrize("value", [float("nan"), float("inf"), {1, 2}, object()])
def test_what_json_cannot_hold(value):
    """A value that JSON cannot hold is refused."""
    with pytest.raises(DocumentError, match="cannot be written as JSON"):
        write_json({"a": value}, Layout(2, True))


DOCUMENTS = {
    "null": (None, "the document is null"),
    "a list": ([], "the document is a list"),
    "a text": ("{}", "the document is a text"),
    "a number": (1, "the document is a number"),
    "true": (True, "the document is true"),
    "a tuple": ((), "a Python tuple"),
    "an empty object": ({}, "an empty object"),
    "a package": ({"name": "x", "version": "1"}, r"among its keys \(name, version\)"),
    "many keys": (dict.fromkeys("abcdefg", 1), r"\(a, b, c, d, e, …\)"),
    "a ConfigMap": ({"apiVersion": "v1", "kind": "ConfigMap", "data": {}}, "as text, not as JSON"),
    "a GrafanaDashboard": (
        {"apiVersion": "grafana.integreatly.org/v1beta1", "kind": "GrafanaDashboard", "spec": {"json": "{}"}},
        "as text, not as JSON",
    ),
    "a Pod": ({"apiVersion": "v1", "kind": "Pod", "spec": {"containers": []}}, "holds no dashboard in its spec"),
    "an empty resource": ({"apiVersion": "v1", "spec": None}, r"no kind \(v1\) holds no dashboard"),
    "a wrapper around nothing": ({"dashboard": {}, "meta": {}}, "an empty object"),
    "a wrapper around a list": ({"dashboard": [], "meta": {}}, r"among its keys \(dashboard, meta\)"),
}


@pytest.mark.parametrize("name", DOCUMENTS)
def test_json_that_is_no_dashboard(name):
    """Each kind of JSON that is no dashboard is refused with what it is, and a hint."""
    document, message = DOCUMENTS[name]

    with pytest.raises(DocumentError, match=message) as error:
        patch_dashboard(document)

    assert error.value.hint


@pytest.mark.parametrize("key", ["x", "datasource", "panels", None])
def test_bottomless_nesting(key):
    """A document that nests without end is refused, however deep, and whatever it nests in."""
    for levels in (MAX_DEPTH + 1, 5000, 100_000):
        with pytest.raises(DocumentError, match="nested deeper than"):
            patch_dashboard(nested(levels, key=key))


def test_bottomless_panels():
    """Rows in rows without end are refused too."""
    panels = []
    for _ in range(5000):
        panels = [{"type": "row", "panels": panels}]

    with pytest.raises(DocumentError, match="nested deeper than"):
        patch_dashboard({"title": "Deep", "panels": panels})


def test_a_circle():
    """A document that holds itself is refused."""
    document = {"title": "Circle", "panels": []}
    document["self"] = document

    with pytest.raises(DocumentError, match="nested deeper than"):
        patch_dashboard(document)


def test_deep_but_not_too_deep():
    """Nesting up to the limit is fine."""
    document = nested(MAX_DEPTH - 1)

    assert patch_dashboard(document).document is document


def test_what_is_no_json_value():
    """A Python value that is no JSON is refused with its place."""
    with pytest.raises(DocumentError, match=r"\$\.panels\[0\]\.x\[1\] holds a Python set"):
        patch_dashboard({"title": "x", "panels": [{"x": [1, {2}]}]})


def test_subclasses_of_json_types():
    """Dictionaries, lists and texts of other makes are walked like the plain ones."""

    class Text(str):
        pass

    class Members(dict):
        pass

    class Items(list):
        pass

    inputs = [{"name": "DS_P", "type": "datasource", "pluginId": "prometheus"}]
    panels = Items([Members(datasource=Members(type="prometheus", uid="${DS_P}"), url=Text("/x?${DS_P}"), n=True)])

    patched = patch_dashboard({"title": "x", "panels": panels, "__inputs": inputs}, datasources={"prometheus": "p"})

    assert patched.document["panels"] == [{"datasource": {"type": "prometheus", "uid": "p"}, "url": "/x?p", "n": True}]


@pytest.mark.parametrize("uid", ["", " ", "${DS_X}", "$x", "[[x]]", "a${b}"])
def test_impossible_uids(uid):
    """A UID that no Grafana can have is a wrong argument."""
    with pytest.raises(UsageError, match="cannot be the UID of a data source"):
        patch_dashboard({"title": "x", "panels": []}, datasources={"prometheus": uid})


def test_value_with_a_placeholder_for_no_constant():
    """Only a constant may be given a value with a placeholder in it."""
    with pytest.raises(UsageError, match="declares no input DS_X"):
        patch_dashboard({"title": "${DS_X}", "panels": []}, inputs={"DS_X": "${y}"})


def test_constants_that_multiply():
    """Constants that blow up a dashboard are refused before they fill the memory."""
    inputs = [{"name": "C0", "type": "constant", "value": "x" * 1000}]
    inputs += [{"name": f"C{n}", "type": "constant", "value": f"${{C{n - 1}}}" * 10} for n in range(1, 12)]

    with pytest.raises(DocumentError, match="fill in more than"):
        patch_dashboard({"title": "${C11}", "panels": [], "__inputs": inputs})


def test_declarations_without_sense():
    """Declarations of any other shape declare nothing."""
    for odd in (None, 1, "x", [1, None, "x", []], {"name": "x"}, [{"name": 1}, {"name": None}, {"type": "constant"}]):
        document = {"title": "${x}", "panels": [], "__inputs": odd, "templating": {"list": odd}, "__elements": odd}
        patched = patch_dashboard(document)
        assert patched.document == {"title": "${x}", "panels": [], "templating": {"list": odd}}
        assert patch_dashboard({**document, "templating": odd, "rows": odd, "panels": odd}).references == ()


def test_large_document():
    """A dashboard of many megabytes is patched like a small one."""
    panel = {"type": "stat", "datasource": {"type": "prometheus", "uid": "${DS_P}"}, "text": "x" * 200}
    inputs = [{"name": "DS_P", "type": "datasource", "pluginId": "prometheus"}]
    document = {"title": "Large", "panels": [dict(panel) for _ in range(20_000)], "__inputs": inputs}

    patched = patch_dashboard(document, datasources={"prometheus": "p"})

    assert len(patched.references) == 20_000
    assert "${" not in json.dumps(patched.document)
