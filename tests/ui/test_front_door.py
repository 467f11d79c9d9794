"""The explorer on the book's first page: its numbers are torch's, and it answers mouse and keys."""

import re
import zipfile
from datetime import datetime
from urllib.parse import unquote, urljoin, urlparse

import pytest
import torch
from playwright.sync_api import expect

from chapter3_helpers.explorers.pronouns import BATCHES
from chapter3_helpers.tasks.pronouns import (
    PRONOUNS,
    WORDS,
    encode,
    reason_first,
    split_sentences,
    trained_reader,
)
from tests.ui.test_book import BOOK, built, visit
from tools.front_door import reader_script
from tools.notebook_files import NOTEBOOKS, numbered_paths

STATIC = NOTEBOOKS.parent / "docs" / "_static"
PAGE = """<!doctype html><html lang="en"><meta charset="utf-8"><title>The explorer alone</title>
<meta name="viewport" content="width=device-width"><link rel="stylesheet" href="front_door.css">
<div id="front-door" class="door"></div>
<script src="front_door_reader.js"></script><script src="front_door.js"></script></html>"""
SENTENCE = "the dog left the milk in the glass because it was sour"
PLAY = "Play the training"


@pytest.fixture(scope="module")
def address(tmp_path_factory):
    return written(tmp_path_factory.mktemp("front_door"))


def written(folder, say=str):
    (folder / "front_door_reader.js").write_text(reader_script(say), "utf-8")
    for name in ("front_door.js", "front_door.css"):
        (folder / name).write_bytes((STATIC / name).read_bytes())
    (folder / "page.html").write_text(PAGE, "utf-8")
    return (folder / "page.html").as_uri()


@pytest.fixture
def page(browser, address):
    context = browser.new_context(offline=True, viewport={"width": 900, "height": 700})
    page = context.new_page()
    page.failed = []
    page.on("pageerror", lambda error: page.failed.append(str(error)))
    page.goto(address)
    yield page
    assert page.failed == []
    context.close()


READ = """texts => texts.map(text => {
    const read = frontDoorReader(FRONT_DOOR), tokens = frontDoorTokens(text);
    return [tokens, FRONT_DOOR.batches.map((_, step) => read(step, tokens))];
})"""


def test_the_numbers_are_torchs_at_every_step(page):
    split = split_sentences()
    texts = [*split.training[:6], *split.new[:6], *split.new_pairs[:6]]
    texts += map(reason_first, split.new_pairs[6:10])
    texts += ["The MILK, was sour.", "sour", "the hungry dog saw the sour soup", " ".join(WORDS)]
    for text, (tokens, steps) in zip(texts, page.evaluate(READ, texts), strict=True):
        wanted, x = encode(text)
        assert tuple(tokens) == wanted
        for batches, found in zip(BATCHES, steps, strict=True):
            reader = trained_reader().states[batches]
            expected = {
                "weights": reader.attention_weights(x),
                "answers": torch.softmax(reader(x), dim=-1),
            }
            for name, values in expected.items():
                numbers = torch.tensor(found[name], dtype=torch.float32)
                torch.testing.assert_close(numbers, values, atol=5e-5, rtol=0)


SEEN = """texts => texts.flatMap(text => {
    const own = document.querySelector("input[type=text]");
    own.value = text;
    own.dispatchEvent(new Event("change"));
    const parts = [...document.querySelectorAll("#front-door *")];
    const said = p => [p.ariaLabel ?? "", ...[...p.childNodes].map(node => node.data ?? "")];
    return parts.flatMap(said);
})"""


def test_all_that_is_said_comes_from_the_catalogue(browser, tmp_path):
    page = browser.new_page()
    page.goto(written(tmp_path, say=lambda text: f"⟦{text}⟧"))
    texts = [SENTENCE, "the dog was sour", "the milk in the tea was sour", "the cat", "gnus", ""]
    for seen in page.evaluate(SEEN, [*texts, "the " * 40]):
        while "⟦" in seen:  # one sentence stands in another
            seen, before = re.sub("⟦[^⟦⟧]*⟧", " ", seen), seen
            assert seen != before
        assert {*re.findall(r"[^\W\d]+", seen)} <= {*WORDS, *PRONOUNS}
    page.close()


# The word with the thickest line, and whether that is much thicker than all others.
LOOKS = """() => {
    const lines = [...document.querySelectorAll('path')];
    const widths = lines.map(line => parseFloat(line.style.strokeWidth));
    const [most, next] = [...widths].sort((a, b) => b - a);
    const word = document.querySelectorAll('.door-words span')[widths.indexOf(most)];
    return [word.textContent, most > 3 * next];
}"""
RIGHT = (
    "Math.max(...[...document.querySelectorAll('path')].map(p => p.getBoundingClientRect().right))"
)


def test_play_shows_how_each_adjective_finds_its_noun(page):
    page.clock.install(time=datetime(2030, 1, 1))
    page.clock.pause_at(datetime(2030, 1, 2))  # or steps pass while a busy machine looks
    said, play = page.get_by_role("status"), page.get_by_role("button", name=PLAY)
    page.clock.run_for(5000)
    expect(page.locator(".door-training span")).to_have_text(
        "500 of 500"
    )  # nothing plays by itself
    play.click()
    expect(said).to_contain_text("Before training, “sour” looks at all words alike")
    expect(said).to_have_attribute("aria-live", "off")
    assert not page.evaluate(LOOKS)[1]
    page.clock.run_for(60_000)
    expect(play).to_be_visible()
    expect(said).to_have_attribute("aria-live", "polite")
    for adjective, noun, pronoun in (
        ("hungry", "dog", "er"),
        ("sour", "milk", "sie"),
        ("cracked", "glass", "es"),
    ):
        page.get_by_text(adjective, exact=True).first.click()
        assert page.evaluate(LOOKS) == [noun, True]
        expect(said).to_have_text(
            re.compile(f"“{adjective}” looks most at “{noun}”.*“{pronoun}”, which is right")
        )
    page.get_by_role("slider").press("Home")
    expect(said).to_contain_text("Before training")


def test_an_unknown_word_is_named_and_the_known_ones_are_offered(page):
    own, alert = page.get_by_role("textbox"), page.get_by_role("alert")
    own.fill("")
    own.press_sequentially("the ca")
    expect(alert).to_be_hidden()  # it may become the cat
    own.fill("the cow saw the milk because it was <b id=typed>salty")
    expect(alert).to_contain_text("“cow”, “<b”, “id=typed>salty”")
    own.fill("the cow saw the milk because it was salty")
    expect(alert).to_contain_text("“cow”")
    expect(page.locator(".door-stale")).to_have_count(1)
    page.locator("details").get_by_role("button", name="cat", exact=True).click()
    expect(own).to_have_value("the cat saw the milk because it was salty")
    page.locator("details").get_by_role("button", name="tea", exact=True).click()
    expect(own).to_have_value("the cat saw the tea because it was salty")
    expect(alert).to_be_hidden()
    expect(page.locator(".door-stale")).to_have_count(0)
    expect(page.get_by_role("status")).to_contain_text("“er”, which is right: “it” is the tea.")
    own.fill("the cat was sour")
    expect(page.get_by_role("status")).to_contain_text("the sentence has no drink")
    own.fill("the cat and")
    own.press("Enter")
    expect(alert).to_contain_text("“and”")
    own.fill(" ".join(["milk"] * 31))
    expect(alert).to_contain_text("30 words")
    page.get_by_role("button", name="Reset").click()
    expect(alert).to_be_hidden()
    expect(own).to_have_value(SENTENCE)


def shown(page) -> list[str]:
    expect(page.get_by_role("status")).not_to_be_empty()
    pressed = page.locator("[aria-pressed=true]").get_attribute("aria-label")
    return [
        pressed,
        page.get_by_role("status").inner_text(),
        page.locator(".door-training span").inner_text(),
    ]


def test_a_link_keeps_sentence_batches_and_word(page, address):
    page.get_by_role("textbox").fill("because it was leaky the cat saw the soup in the cup")
    page.get_by_role("slider").fill("9")
    page.get_by_role("toolbar").get_by_role("button", name="cat").click()
    expect(page).to_have_url(re.compile("#sentence=because.*&batches=45&word=5$"))
    kept = shown(page)
    assert kept[0].startswith("cat")
    page.reload()
    assert shown(page) == kept
    page.evaluate("location.hash = 'batches=0'")
    expect(page.get_by_role("textbox")).to_have_value(SENTENCE)
    expect(page.get_by_role("status")).to_contain_text("Before training")
    for bad in ("batches=soon&word=99", "sentence=&word=-1", "sentence=the+cow&batches=7"):
        page.goto(f"{address}#{bad}")
        page.reload()
        word, _, batches = shown(page)
        assert word.startswith("sour")
        assert batches == "500 of 500"
    page.get_by_role("button", name="Reset").click()
    expect(page).to_have_url(address)


FOCUSED = "document.activeElement.textContent || document.activeElement.value"


def test_everything_can_be_done_with_the_keyboard(page):
    page.keyboard.press("Tab")
    assert page.evaluate(FOCUSED) == PLAY
    outline = "getComputedStyle(document.activeElement).outlineStyle"
    assert page.evaluate(outline) == "solid"
    page.keyboard.press("Enter")
    assert page.evaluate(FOCUSED) == "Stop"
    page.keyboard.press("Enter")
    page.keyboard.press("Tab")
    page.keyboard.press("Home")
    expect(page.get_by_role("status")).to_contain_text("Before training")
    page.keyboard.press("End")
    page.keyboard.press("Tab")  # the words: one stop, and arrows from one to the next
    page.keyboard.press("ArrowLeft")
    page.keyboard.press("Enter")
    expect(page.locator("[aria-pressed=true]")).to_have_accessible_name(re.compile("^was, weight"))
    expect(page.get_by_role("status")).to_contain_text("the weights of “was” mean nothing")
    assert page.evaluate(outline) == "solid"
    page.keyboard.press("Tab")
    page.keyboard.press("ArrowRight")  # from sour to the next adjective
    expect(page.get_by_role("status")).to_contain_text("“cracked” looks most at “glass”")
    page.keyboard.press("Tab")
    page.keyboard.press("Control+A")
    page.keyboard.type("the milk was sour")
    expect(page.get_by_role("toolbar").get_by_role("button")).to_have_count(4)


def test_nothing_is_wider_than_a_phone_and_less_motion_is_none(page):
    page.set_viewport_size({"width": 360, "height": 740})
    expect(page.locator(".door-column")).to_have_count(1)  # a phone that was turned
    for width in (320, 360, 900):
        page.set_viewport_size({"width": width, "height": 740})
        for text in (SENTENCE, " ".join(["because"] * 30)):
            page.get_by_role("textbox").fill(text)
            page.locator("details").evaluate("fold => fold.open = true")
            assert page.evaluate("document.documentElement.scrollWidth") <= width
            column = page.locator(".door-column").count()
            assert column == (width < 500 or text != SENTENCE)
            assert page.evaluate(RIGHT) <= width
    duration = "getComputedStyle(document.querySelector('path')).transitionDuration"
    assert page.evaluate(duration) == "0.25s"
    page.emulate_media(reduced_motion="reduce")
    assert page.evaluate(duration) == "0s"


@built
def test_the_first_page_leads_to_00_to_every_notebook_and_to_the_project(page):
    visit(page, "index")
    expect(page.get_by_role("button", name=PLAY)).to_be_visible()
    start = page.get_by_role("link", name=re.compile("^Start with 00"))
    for link in (start, page.locator("a.right-next")):
        expect(link).to_have_attribute("href", "notebooks/00_why_attention.html")
    for path in numbered_paths():
        link = page.get_by_role("table").get_by_role("link", name=path.stem)
        expect(link).to_have_attribute("href", f"notebooks/{path.stem}.html")
    project = page.get_by_role("link", name="get the project").get_attribute("href")
    file = unquote(urlparse(urljoin((BOOK / "index.html").as_uri(), project)).path)
    names = zipfile.ZipFile(file).namelist()
    assert {"attention/Makefile", "attention/notebooks/00_why_attention.ipynb"} <= set(names)
