"""The HTML report, in a real browser: what it shows, where, and what it cannot be made to do."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from kvobs.report.html import to_html
from kvobs.use_cases.verify_report import VerifyReport
from tests import verify_reports
from tests.chromium import Page, chromium, needs_chromium

REPORTS = {
    "everything": verify_reports.everything(),
    "hostile": verify_reports.hostile(),
    "lit": verify_reports.lit(),
    "nothing": VerifyReport(prometheus="monitoring/k8s"),
}

BOXES = """[...document.querySelectorAll('.panel')].map(each => {
    const box = each.getBoundingClientRect();
    return {id: each.id, board: each.id.split('p')[0], row: [...document.querySelectorAll('.row')].indexOf(
            each.closest('.row')),
        left: box.left, top: box.top, right: box.right, bottom: box.bottom, width: box.width,
        title: each.querySelector('h4').innerText, said: each.querySelector('summary').innerText};
})"""

CONTRASTS = """(() => {
    const context = document.createElement('canvas').getContext('2d', {willReadFrequently: true});
    const rgb = colour => {
        context.clearRect(0, 0, 1, 1);
        context.fillStyle = colour;
        context.fillRect(0, 0, 1, 1);
        return [...context.getImageData(0, 0, 1, 1).data];
    };
    const light = ([r, g, b]) => [r, g, b].map(each => each / 255)
        .map(each => each <= 0.04045 ? each / 12.92 : ((each + 0.055) / 1.055) ** 2.4)
        .reduce((sum, each, at) => sum + each * [0.2126, 0.7152, 0.0722][at], 0);
    const ground = element => {
        for (let each = element; each; each = each.parentElement) {
            const colour = rgb(getComputedStyle(each).backgroundColor);
            if (colour[3] === 255) return colour;
        }
        return rgb(getComputedStyle(document.documentElement).backgroundColor);
    };
    const found = {};
    for (const element of document.querySelectorAll('body *')) {
        const own = [...element.childNodes].some(each => each.nodeType === 3 && each.data.trim());
        if (!own || !element.checkVisibility()) continue;
        const [one, other] = [rgb(getComputedStyle(element).color), ground(element)].map(light);
        const contrast = (Math.max(one, other) + 0.05) / (Math.min(one, other) + 0.05);
        const name = element.tagName + '.' + element.className;
        found[name] = Math.min(found[name] ?? 99, contrast);
    }
    return found;
})()"""


@pytest.fixture(scope="module")
def page() -> Iterator[Page]:
    """Give a browser, for all tests of this file."""
    with chromium() as browser:
        yield browser


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Give each report as a file."""
    folder = tmp_path_factory.mktemp("html")
    for name, report in REPORTS.items():
        (folder / f"{name}.html").write_text(to_html(report), encoding="utf-8")
    return {name: folder / f"{name}.html" for name in REPORTS}


def boxes(page: Page) -> dict[str, dict[str, Any]]:
    """Return the panels that can be seen, by anchor, in the order of the document."""
    return {each["id"]: each for each in page.run(BOXES) if each["width"]}


def apart(one: dict[str, Any], other: dict[str, Any]) -> bool:
    """Whether two boxes share no point."""
    return bool(
        one["right"] <= other["left"] + 0.5
        or other["right"] <= one["left"] + 0.5
        or one["bottom"] <= other["top"] + 0.5
        or other["bottom"] <= one["top"] + 0.5
    )


def assert_within(page: Page, panel: str, width: int) -> None:
    """See that what a panel has opened is below its line, and reaches over no edge."""
    box, line = page.run(
        f"[...document.querySelectorAll('#{panel} .body, #{panel} summary')].reverse()"
        ".map(each => each.getBoundingClientRect().toJSON())"
    )
    assert 0 <= box["left"] < box["right"] <= width, panel
    assert 0 <= box["top"] - line["bottom"] < 12, panel


@needs_chromium
@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
@pytest.mark.parametrize("width", [390, 700, 1280])
@pytest.mark.parametrize("name", sorted(REPORTS))
def test_nothing_overlaps_nothing_is_wider_than_the_window_and_nobody_is_asked(
    page: Page, files: dict[str, Path], name: str, width: int, dark: bool
) -> None:
    """At every width, in both modes: panels apart, no sideways scrolling, one request, no complaint."""
    page.open(files[name], width=width, dark=dark)
    seen = list(boxes(page).values())
    assert len(seen) == sum(len(board.panels) for board in REPORTS[name].boards)
    for at, one in enumerate(seen):
        assert 0 <= one["left"] <= one["right"] <= width
        assert all(apart(one, other) for other in seen[at + 1 :])
    assert page.run("document.documentElement.scrollWidth") <= width
    assert page.requests == [files[name].as_uri()]
    assert page.console == []


@needs_chromium
def test_panels_stand_as_in_grafana(page: Page, files: dict[str, Path]) -> None:
    """Columns and order are the grid's; repeats stand beside each other, and panels without a place flow."""
    page.open(files["everything"], width=1280)
    seen = boxes(page)
    about, running, waiting, cache, preempted, llama, qwen, drafts = (seen[f"b0p{number}"] for number in range(8))
    unit = (about["width"] + 6) / 24

    assert [round((each["width"] + 6) / unit) for each in (about, running, waiting, cache)] == [24, 6, 6, 12]
    assert about["bottom"] <= running["top"] == waiting["top"] == cache["top"]
    assert running["right"] <= waiting["left"]
    assert waiting["right"] <= cache["left"]
    assert running["bottom"] <= preempted["top"]
    assert preempted["left"] == running["left"]
    assert abs(preempted["bottom"] - cache["bottom"]) < 1
    assert [round((each["width"] + 6) / unit) for each in (llama, qwen)] == [12, 12]
    assert llama["top"] == qwen["top"] > cache["bottom"]
    assert drafts["top"] >= llama["bottom"]
    first, utilisation, power = (seen[f"b1p{number}"] for number in range(3))
    assert first["bottom"] <= utilisation["top"] == power["top"]
    assert utilisation["right"] <= power["left"]


@needs_chromium
def test_a_narrow_window_has_one_column(page: Page, files: dict[str, Path]) -> None:
    """Below 700 pixels each panel has the whole width, in reading order."""
    page.open(files["everything"], width=390)
    seen = list(boxes(page).values())
    assert len({(each["left"], each["width"]) for each in seen}) == 1
    assert [each["top"] for each in seen] == sorted(each["top"] for each in seen)
    assert [each["title"] for each in seen][:4] == ["About", "Requests running", "Requests waiting", "KV cache"]


@needs_chromium
def test_what_is_said_of_a_panel(page: Page, files: dict[str, Path]) -> None:
    """State and cause stand on each panel in words; a click shows the sentence, the fix, the query."""
    page.open(files["everything"], width=1280)
    seen = boxes(page)
    assert [" ".join(seen[each]["said"].split()) for each in ("b0p0", "b0p1", "b0p4", "b0p5", "b1p0", "b1p1")] == [
        "– not checked it asks nothing",
        "✕ broken KVO-405 no target",
        "✓ lit 2 series, all 0",
        "◐ dark KVO-702 no traffic yet",
        "○ expected, accepted KVO-506 optional feature off",
        "? unknown KVO-901 could not ask",
    ]
    assert not page.run("document.querySelector('#b0p1 .body').checkVisibility()")
    page.run("document.querySelector('#b0p1 summary').click()")
    told = page.run("document.querySelector('#b0p1 .body').innerText")
    fixes = verify_reports.NO_TARGET.fix.splitlines()
    for text in (verify_reports.NO_TARGET.said, *fixes, "0 of 31 active targets", "Panel 2"):
        assert text in told
    assert_within(page, "b0p1", 1280)
    page.run("document.querySelector('#b0p3 summary').click()")
    assert page.run("[...document.querySelectorAll('.panel details[open]')].map(e => e.parentElement.id)") == ["b0p3"]
    page.run("document.dispatchEvent(new KeyboardEvent('keydown', {key: 'Escape'}))")
    assert page.run("document.querySelectorAll('.panel details[open]').length") == 0


@needs_chromium
def test_an_opened_panel_stays_in_the_window(page: Page, files: dict[str, Path]) -> None:
    """Wherever the panel is, what it opens reaches over no edge."""
    for width in (700, 1280):
        page.open(files["hostile"], width=width)
        for panel in boxes(page):
            page.run(f"document.querySelector('#{panel} summary').click()")
            assert_within(page, panel, width)
            assert page.run("document.documentElement.scrollWidth") <= width


@needs_chromium
def test_the_causes_come_first_each_with_what_it_darkens(page: Page, files: dict[str, Path]) -> None:
    """Causes stand before the dashboards, worst and largest first, with the command and a link to each panel."""
    page.open(files["everything"])
    heads = page.run("[...document.querySelectorAll('.causes .id')].map(each => each.innerText)")
    assert heads == ["KVO-405", "KVO-104", "KVO-502", "KVO-901", "KVO-702", "KVO-506"]
    assert page.run(
        "document.querySelector('.causes').getBoundingClientRect().bottom"
        " <= document.querySelector('#boards').getBoundingClientRect().top"
    )
    first = "document.querySelector('.causes li')"
    codes = page.run(f"[...{first}.querySelectorAll('.fix code')].map(each => each.innerText)")
    assert codes == verify_reports.NO_TARGET.fix.splitlines()
    links = page.run(f"[...{first}.querySelectorAll('a')].map(each => each.getAttribute('href'))")
    assert links == ["#b0p1", "#b0p2"]
    page.run(f"{first}.querySelector('details').open = true; {first}.querySelector('a').click()")
    page.until(lambda: page.run("document.querySelector('#b0p1 details').open"))


@needs_chromium
def test_commands_are_there_to_be_copied_and_sentences_to_be_read(page: Page, files: dict[str, Path]) -> None:
    """Each command has its own button, without the remark beside it; a sentence has none."""
    page.open(files["everything"])
    card = "[...document.querySelectorAll('.causes > li')].find(each => each.innerText.includes('{}'))"
    for cause, commands in (("KVO-405", 2), ("KVO-104", 1), ("KVO-502", 0), ("KVO-702", 0)):
        here = card.format(cause)
        assert page.run(f"{here}.querySelectorAll('.fix button').length") == commands, cause
    told = page.run(f"{card.format('KVO-104')}.querySelector('code').innerText")
    assert told == "kubectl -n monitoring label configmap extra grafana_dashboard=1"
    assert "for the sidecar" in page.run(f"{card.format('KVO-104')}.innerText")
    assert page.run(f"{card.format('KVO-502')}.querySelector('.said').innerText") == verify_reports.RENAMED.fix


@needs_chromium
def test_every_link_leads_somewhere(page: Page, files: dict[str, Path]) -> None:
    """No anchor is missing, none is there twice, and no link leaves the page."""
    page.open(files["everything"])
    assert page.run("[...document.querySelectorAll('a')].every(e => e.matches('[href^=\"#\"]'))")
    assert page.run(
        "[...document.querySelectorAll('a')].filter(e => !document.getElementById(e.hash.slice(1))).map(e => e.hash)"
    ) == []  # fmt: skip
    ids = page.run("[...document.querySelectorAll('[id]')].map(each => each.id)")
    assert len(ids) == len(set(ids))


@needs_chromium
def test_the_filter(page: Page, files: dict[str, Path]) -> None:
    """States and words narrow down what is shown; what is left moves together; both can be taken back."""
    page.open(files["everything"], width=1280)
    everything = boxes(page)

    def press(state: str) -> None:
        page.run(f"document.querySelector('[data-filter=\"{state}\"]').click()")

    def write(text: str) -> None:
        page.run(f"search.value = {json.dumps(text)}; search.dispatchEvent(new Event('input'))")

    press("broken")
    assert [each["title"] for each in boxes(page).values()] == ["Requests running", "Requests waiting", "KV cache"]
    assert page.run("shown.innerText") == "3 of 11 panels"
    assert page.run("document.querySelector('[data-filter=broken]').getAttribute('aria-pressed')") == "true"
    assert not page.run("document.querySelectorAll('.board')[1].checkVisibility()")
    press("dark")
    assert list(boxes(page)) == ["b0p1", "b0p2", "b0p3", "b0p5"]
    write("kvo-702 LLAMA")
    assert list(boxes(page)) == ["b0p5"]
    write("no such panel")
    assert boxes(page) == {}
    assert page.run("document.getElementById('none').checkVisibility()")
    write("")
    press("broken")
    press("dark")
    assert boxes(page) == everything
    assert page.run("shown.innerText") == ""
    assert page.console == []


@needs_chromium
@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
def test_every_text_can_be_read(page: Page, files: dict[str, Path], dark: bool) -> None:
    """Each text stands out from its ground by 4.5 to 1 (WCAG AA), in both modes, and the modes differ."""
    page.open(files["everything"], dark=dark)
    page.run("document.querySelectorAll('details').forEach(each => { each.removeAttribute('name'); each.open = true })")
    contrasts = page.run(CONTRASTS)
    assert len(contrasts) > 20
    assert {name: contrast for name, contrast in contrasts.items() if contrast < 4.5} == {}
    ground = page.run("getComputedStyle(document.body).backgroundColor")
    assert (max(map(int, re.findall(r"\d+", ground))) < 64) == dark


@needs_chromium
def test_what_is_hostile_is_text(page: Page, files: dict[str, Path]) -> None:
    """A title that is a script, an end of one, an image or a bidirectional trick is shown, and is nothing else."""
    page.open(files["hostile"])
    assert page.run("document.scripts.length") == 1
    assert page.run("document.querySelectorAll('img, iframe, object, embed, link, base, form').length") == 0
    assert page.run("[...document.querySelectorAll('*')].flatMap(e => e.getAttributeNames())"
                    ".filter(e => e.startsWith('on') || ['style', 'src'].includes(e)).length") == 0  # fmt: skip
    assert page.run("document.title").startswith("kvobs verify: ")
    titles = page.run("[...document.querySelectorAll('.board > h2')].map(each => each.textContent)")
    assert titles == [re.sub("[\x00\x1b\x07\ud800]", "\ufffd", each) for each in verify_reports.HOSTILE]


@needs_chromium
def test_the_policy_lets_nothing_in(page: Page, files: dict[str, Path]) -> None:
    """A script, a style or an image that got into the page all the same would not be run, used or fetched."""
    page.open(files["lit"])
    page.run("""(() => {
        const script = document.createElement('script');
        script.textContent = 'document.title = "owned"';
        document.body.append(script);
        document.body.setAttribute('style', 'color: rgb(1, 2, 3)');
        const image = document.createElement('img');
        image.src = 'http://127.0.0.1:9/x.png';
        document.body.append(image);
    })()""")
    page.until(lambda: len([each for each in page.console if "Content Security Policy" in each]) >= 3)
    assert page.run("document.title") != "owned"
    assert page.run("getComputedStyle(document.body).color") != "rgb(1, 2, 3)"
    assert page.run("document.images[0].naturalWidth") == 0


@needs_chromium
def test_what_assistive_technology_is_told(page: Page, files: dict[str, Path]) -> None:
    """Landmarks, one first heading, no level left out, a name for all that can be pressed."""
    page.open(files["everything"])
    assert page.run("['header', 'main', 'footer', '[role=search]'].map(e => document.querySelectorAll(e).length)") == [
        1, 1, 1, 1,
    ]  # fmt: skip
    levels = page.run("[...document.querySelectorAll('h1, h2, h3, h4')].map(each => +each.tagName[1])")
    assert levels.count(1) == 1
    assert levels[0] == 1
    nodes = page.call("Accessibility.getFullAXTree")["nodes"]
    roles = [(each["role"]["value"], each.get("name", {}).get("value", "")) for each in nodes if not each["ignored"]]
    named = ("article", "button", "link", "searchbox", "region", "search")
    assert [role for role, name in roles if role in named[:4] and not name] == []
    assert {"main", "banner", "contentinfo", "search", "searchbox", "article"} <= {role for role, _ in roles}
    assert ("article", "KV cache") in roles


@needs_chromium
def test_without_its_script_the_page_is_whole(page: Page, files: dict[str, Path]) -> None:
    """With scripts off every panel is there, opens, and no control is that would do nothing."""
    page.call("Emulation.setScriptExecutionDisabled", value=True)
    try:
        page.open(files["everything"])
        assert len(boxes(page)) == 11
        assert page.run("[...document.querySelectorAll('button, input')].filter(e => e.checkVisibility()).length") == 0
        page.run("document.querySelector('#b0p1 summary').click()")
        assert page.run("document.querySelector('#b0p1 .body').checkVisibility()")
    finally:
        page.call("Emulation.setScriptExecutionDisabled", value=False)


@needs_chromium
def test_on_paper(page: Page, files: dict[str, Path]) -> None:
    """Printed, the grid stays and what can be pressed is gone."""
    page.open(files["everything"], width=1000)
    page.call("Emulation.setEmulatedMedia", media="print")
    assert page.run("[...document.querySelectorAll('button, input')].filter(e => e.checkVisibility()).length") == 0
    seen = boxes(page)
    assert seen["b0p1"]["top"] == seen["b0p2"]["top"]
    page.call("Emulation.setEmulatedMedia", media="")


def test_the_same_report_gives_the_same_bytes() -> None:
    """Nothing of the page depends on when or where it is made."""
    assert to_html(verify_reports.everything()) == to_html(verify_reports.everything())


@pytest.mark.parametrize("name", sorted(REPORTS))
def test_the_page_needs_nothing_else(name: str) -> None:
    """No element names an address that would be loaded, and the file is UTF-8."""
    text = to_html(REPORTS[name])
    text.encode()
    elements = re.findall(r"<[a-z][^>]*>", text)
    assert [each for each in elements if re.search(r"\s(src|srcset|action|data|poster|background)=", each)] == []
    assert [each for each in elements if re.search(r"\shref=(?!\"#)", each)] == []
    assert "@import" not in text
    assert "url(" not in text.partition("</style>")[0]
