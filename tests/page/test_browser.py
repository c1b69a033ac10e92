"""The page in a real browser: nothing is asked for, nothing goes wrong, and it is readable on every screen."""

from pathlib import Path

import pytest

from fairseq_rope.page.contents import page_contents
from fairseq_rope.page.render import render
from tests.support.browser import Browser, chromium
from tests.support.experiments import experiment

HOSTILE = '<script>document.title = "ran"</script><img src=x onerror="document.title = 1"> &lt;b&gt; {i}'


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    chromium()
    folder = tmp_path_factory.mktemp("browser")
    references = [HOSTILE.replace("{i}", str(i)) for i in range(30)]
    models = {"rope": 0.1, "<b>sinusoidal": 0.4}
    page = render(page_contents([experiment(folder / "work", models, references=references)], list(models)))
    (folder / "ein bericht.html").write_text(page, encoding="utf-8")
    return folder / "ein bericht.html"


@pytest.fixture(params=[(400, False), (1400, True)], ids=["phone", "dark desktop"])
def browser(request: pytest.FixtureRequest, file: Path):
    width, dark = request.param
    opened = Browser(file, width=width, dark=dark)
    yield opened
    opened.close()


def test_it_asks_for_nothing_but_itself_and_has_no_error(browser: Browser, file: Path):
    assert browser.requests() == [file.as_uri()]
    browser.evaluate("document.querySelectorAll('details').forEach(each => each.open = true)")
    assert browser.evaluate("document.title").startswith("work: How does <b>sinusoidal compare with rope?")
    assert browser.requests() == [file.as_uri()]
    assert browser.seen("Log.entryAdded", "Runtime.consoleAPICalled", "Runtime.exceptionThrown") == []


def test_the_page_is_as_wide_as_the_window_and_its_figures_are_there(browser: Browser):
    browser.evaluate("document.querySelectorAll('details').forEach(each => each.open = true)")
    assert browser.evaluate("document.documentElement.scrollWidth <= innerWidth")
    boxes = "[...document.querySelectorAll('figure svg')].map(each => each.getBoundingClientRect())"
    sizes = browser.evaluate(f"{boxes}.map(box => [box.width, box.height])")
    assert len(sizes) == 2
    assert all(width >= 320 and height >= 200 for width, height in sizes)
    # a line of each model, of some length
    paths = "[...document.querySelectorAll('figure svg')[0].querySelectorAll('path')]"
    assert browser.evaluate(f"{paths}.filter(path => path.getTotalLength() > 100).length") > 4
    letters = "[...document.querySelectorAll('figure svg text')].map(each => each.getBoundingClientRect().height)"
    assert min(browser.evaluate(letters)) >= 8


def test_text_has_contrast_in_light_and_dark(browser: Browser):
    texts = "[document.body, ...document.querySelectorAll('a, dd, td small, figcaption, figure svg text')]"
    colors = f"{texts}.map(each => getComputedStyle(each)[each.tagName == 'text' ? 'fill' : 'color'])"
    paper = browser.evaluate("getComputedStyle(document.body).backgroundColor")
    assert all(contrast(color, paper) >= 4.5 for color in set(browser.evaluate(colors)))  # WCAG 2, AA


def contrast(one: str, other: str) -> float:
    light, dark = sorted((luminance(one), luminance(other)), reverse=True)
    return (light + 0.05) / (dark + 0.05)


def luminance(color: str) -> float:
    """Relative luminance as WCAG 2 defines it."""
    channels = [int(part) / 255 for part in color.removeprefix("rgb(").removesuffix(")").split(",")]
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in channels]
    return sum(share * c for share, c in zip((0.2126, 0.7152, 0.0722), linear, strict=True))


def test_all_is_reached_and_opened_with_the_keyboard(browser: Browser):
    closed = browser.evaluate("document.querySelectorAll('details').length")
    for _ in range(60):
        browser.press("Tab")
        if browser.evaluate("document.activeElement.matches('details:not([open]) > summary')"):
            browser.press("Enter")
    assert closed >= 4
    assert browser.evaluate("document.querySelectorAll('details[open]').length") == closed


def test_a_screen_reader_finds_headings_figures_and_tables_by_name(browser: Browser):
    nodes = browser.call("Accessibility.getFullAXTree")["nodes"]
    named = [(node["role"]["value"], node.get("name", {}).get("value", "")) for node in nodes if not node["ignored"]]
    roles = {role for role, _ in named}
    assert {"heading", "table", "columnheader", "rowheader", "main", "navigation"} <= roles
    images = [name for role, name in named if role == "image"]
    assert any(name.startswith("Validation loss over updates") for name in images)
    assert ("region", "Scores") in named
    assert not any(role in ("image", "region", "link", "heading") and not name for role, name in named)
