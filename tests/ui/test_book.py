"""The book, as ``make book`` builds it: from a folder, without a network, sliders included."""

import json
import os
import re
from pathlib import Path
from urllib.parse import quote

import pytest
from playwright.sync_api import expect

from tests.ui.driver import luminance
from tools.glossary import TERMS
from tools.notebook_files import NOTEBOOKS, closed_cells, notebook_paths, read
from tools.questions_page import rows

BOOK = NOTEBOOKS.parent / "docs" / "_build" / "html"
built = pytest.mark.skipif(
    not (BOOK / "index.html").exists() and "REQUIRE_BROWSER" not in os.environ,
    reason="there is no book: make book",
)
pytestmark = built
PAGES = ["index", "package", *(f"notebooks/{path.stem}" for path in notebook_paths())]
OPEN = "document.querySelectorAll('details').forEach(fold => fold.open = true)"


@pytest.fixture(scope="module")
def page(browser):
    yield from offline_page(browser)


def offline_page(browser):
    """Open a page without a network, which keeps what it asks for and what fails."""
    context = browser.new_context(offline=True, viewport={"width": 1200, "height": 900})
    page = context.new_page()
    page.asked, page.failed = [], []
    page.on("request", lambda request: page.asked.append(request.url))
    page.on("pageerror", lambda error: page.failed.append(str(error)))
    yield page
    context.close()


def visit(page, name: str, rest: str = "") -> None:
    page.goto((BOOK / f"{name}.html").as_uri() + rest)


def notebook_path(name: str):
    return NOTEBOOKS.parent / f"{name}.ipynb"


def notebook_of(name: str):
    return read(notebook_path(name))


def words_of(name: str) -> str:
    """Return what a page's notebook says outside its code."""
    cells = notebook_of(name).cells
    return "".join(cell.source for cell in cells if cell.cell_type == "markdown")


@pytest.mark.parametrize("name", PAGES)
def test_a_page_asks_for_nothing_from_elsewhere_and_draws_its_formulas_and_recordings(page, name):
    page.asked.clear()
    page.failed.clear()
    visit(page, name)
    recordings = page.locator(".c3-explorer")
    expect(page.locator(".c3-explorer:has(.c3-tools)")).to_have_count(recordings.count())
    answers = page.locator("details.below-input")
    assert answers.count() == (len(closed_cells(notebook_of(name))) if "/" in name else 0)
    assert set(answers.locator("summary").all_inner_texts()) <= {"Show what came out", ""}
    page.evaluate(OPEN)
    assert [url for url in page.asked if not url.startswith(("file:", "data:"))] == []
    assert page.failed == []
    sizes = page.locator("math").evaluate_all(
        "all => all.map(math => math.clientHeight || math.getBoundingClientRect().height)"
    )
    assert all(size > 5 for size in sizes)
    assert sizes or not name.startswith("notebooks/") or "$" not in words_of(name)
    assert not re.search(r"\$[^$\n]+\\[a-z]+", page.locator("article").inner_text())
    unnamed = page.locator("article .cell_output > img:is(:not([alt]), [alt=''])")
    assert unnamed.count() == 0
    if "/" in name:
        link = page.locator(".btn-notebook").get_attribute("href")
        assert (BOOK / name).parent.joinpath(link).read_bytes() == notebook_path(name).read_bytes()
    cut_off = "all => all.filter(pre => pre.scrollWidth > pre.clientWidth + 1).length"
    assert page.locator("article .cell_input pre").evaluate_all(cut_off) == 0


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("12_performance#exercises", "13_performance.html#exercises"),
        (
            "09_transformer_block#find-what-came-before",
            "10_induction_heads.html#what-each-layer-does",
        ),
        (
            "07_fused_multihead#which-calls-use-the-fused-kernel",
            "13_performance.html#which-calls-use-the-fused-kernel",
        ),
        ("05_dropout#a-head-reads-riddles", "05_dropout.html#does-it-help"),
    ],
)
def test_an_address_from_before_leads_to_where_its_text_is_now(page, old, new):
    name, _, place = old.partition("#")
    visit(page, f"notebooks/{name}", f"#{place}")
    page.wait_for_url(f"**/notebooks/{new}")
    _, _, anchor = new.partition("#")
    assert not anchor or page.locator(f"[id='{anchor}']").count() == 1


def test_a_folded_section_opens_when_it_is_linked_to_or_searched_for(page):
    number, text = folded_section()
    visit(page, "search", f"?q={text} zzyzx")
    result = page.locator("#search-results a").filter(has_text=number).first
    expect(result).to_be_visible(timeout=20_000)
    result.click()
    expect(page.locator("details.folded[open]").first).to_be_visible()
    expect(page.locator("details.folded[open]").get_by_text(text).first).to_be_in_viewport()


def folded_section() -> tuple[str, str]:
    """Return the number of a notebook and a word that only a folded section of it has."""
    places: dict[str, set] = {}
    for path in notebook_paths():
        cells, folded = read(path).cells, False
        for cell in cells:
            if cell.cell_type == "markdown" and cell.source.startswith("#"):
                folded = bool(cell.metadata.get("jp-MarkdownHeadingCollapsed"))
            where = path.stem[:2] if folded and cell.cell_type == "markdown" else None
            for word in re.findall(r"\b[a-z]{9,}\b", cell.source):
                places.setdefault(word, set()).add(where)
    return next(
        (*where, word) for word, where in places.items() if len(where) == 1 and None not in where
    )


SEARCH = "texts => texts.map(text => c3Search(text).map(result => result.page))"


def test_a_result_of_the_search_says_page_section_and_line(page):
    visit(page, "search", "?q=rotary")
    results = page.locator("#search-results li")
    expect(results.first).to_be_visible(timeout=20_000)
    said = results.all_inner_texts()
    assert len({*said}) == len(said) > 5
    for part in ("a", ".c3-where", ".context"):
        assert all(results.locator(part).all_inner_texts())
        expect(results.locator(part)).to_have_count(len(said))
    visit(page, "search", "?q=zzyzx")
    expect(page.locator("#search-results")).to_have_text("No section has any of these words.")


def test_words_of_practice_and_whole_numbers_are_found(page):
    wanted = {
        "00_why_attention": ("RNN", "LSTM"),
        "03_trainable_qkv": ("fully connected",),
        "08_positions": ("invariant",),
        "10_induction_heads": ("rollout", "warm-up", "learning rate", "newline", "bf16"),
        "12_grouped_query_kv_cache": ("throughput", "recompute", "cross-attention"),
    }
    visit(page, "search", "?q=softmax")
    expect(page.locator("#search-results a").first).to_be_visible(timeout=20_000)
    pairs = [(word, f"notebooks/{name}") for name, words in wanted.items() for word in words]
    found = page.evaluate(SEARCH, [word for word, _ in pairs])
    assert not [
        (*pair, pages[:3])
        for pair, pages in zip(pairs, found, strict=True)
        if pair[1] not in pages[:3]
    ]
    plain, with_comma = page.evaluate(SEARCH, ["1024", "1,024"])
    assert plain == with_comma
    assert "notebooks/13_performance" in plain


def test_what_readers_asked_and_their_words_lead_to_the_answers(page):
    answered = [row for row in rows() if row["answer"]]
    asked = [(text, row) for row in answered for text in (row["question"], *row["words"])]
    visit(page, "search", "?q=softmax")
    expect(page.locator("#search-results a").first).to_be_visible(timeout=20_000)
    found = page.evaluate(SEARCH, [text for text, _ in asked])
    right = [f"notebooks/{row['answer']['notebook']}" for _, row in asked]
    assert not [
        (text, pages)
        for (text, _), pages, wanted in zip(asked, found, right, strict=True)
        if wanted not in pages[:2]
    ]
    visit(page, "notebooks/questions")
    question = next(row["question"] for row in answered if row["verdict"] == "fold")
    page.get_by_role("link", name=question).click()
    expect(page.locator("details.folded[open]")).to_have_count(1)


@built
def test_on_a_phone_the_arithmetic_of_what_is_touched_comes_into_view(browser):
    context = browser.new_context(
        offline=True, viewport={"width": 390, "height": 844}, has_touch=True, is_mobile=True
    )
    page = context.new_page()
    visit(page, "notebooks/05_dropout")
    page.locator(".c3-explorer [data-click] td[data-k]").nth(1).tap()
    expect(page.locator(".c3-explorer .c3path").first).to_be_in_viewport(ratio=0.99)
    expect(page.locator("#pst-back-to-top")).to_be_hidden()
    cut = page.locator(".c3-explorer .c3w:has(>.c3m)").evaluate_all(
        "all => all.filter(e => e.scrollWidth > e.clientWidth).length"
    )
    assert cut == 0  # seven columns of a picture fit
    context.close()


TRACEBACK = """RuntimeError: Expected all tensors to be on the same device, but got mat2 is on
cuda:0, different from other tensors on cpu (when checking argument in method wrapper_CUDA_bmm),
File site-packages/torch/nn/modules/module.py, line 1775, in _wrapped_call_impl"""


def test_a_table_that_goes_on_beyond_the_edge_fades_there(page):
    page.set_viewport_size({"width": 390, "height": 844})
    visit(page, PAGES[0])
    table = page.locator(".pst-scrollable-table-container:has(a[href*='16_heads'])")
    expect(table).to_have_class(re.compile("goes-on"))
    table.evaluate("box => box.scrollTo(box.scrollWidth, 0)")
    expect(table).not_to_have_class(re.compile("goes-on"))
    page.set_viewport_size({"width": 1280, "height": 720})


def test_a_pasted_traceback_is_searched_for_at_once(page):
    visit(page, "search", f"?q={quote(TRACEBACK)}")
    expect(page.locator("#search-results a").first).to_be_visible(timeout=20_000)


def test_a_page_says_which_it_is(page):
    for name in (
        PAGES[-2],
        PAGES[2],
    ):  # the sidebar remembers how far it was scrolled for the first
        visit(page, name)
        number = Path(name).name[:2]
        assert page.title().startswith(number)
        here = page.locator(".bd-sidebar-primary").get_by_role("link", name=f"{number} ")
        expect(here).to_be_in_viewport(ratio=1)


def test_paper_is_light_and_shows_what_is_folded_but_of_answers_what_was_opened(page):
    ink = "getComputedStyle(document.querySelector('article p')).color"
    page.emulate_media(color_scheme="dark")
    visit(page, PAGES[4])
    dark = page.evaluate(ink)
    closed = page.locator("details:is(.folded, .hide):not([open])")
    answers = page.locator("details:not(.folded, .hide)", has_text="Answer")
    assert closed.count() > 0
    answers.last.evaluate("answer => answer.open = true")
    page.evaluate("dispatchEvent(new Event('beforeprint'))")
    assert closed.count() == 0
    page.emulate_media(media="print", color_scheme="dark")
    expect(answers.first).to_be_hidden()  # on paper is what the reader opened
    expect(answers.last.locator("summary")).to_be_visible()
    expect(page.locator(".c3-controls").first).to_be_hidden()
    expect(page.locator(".c3-view").first).to_be_visible()
    on_paper = page.evaluate(ink)
    page.evaluate("dispatchEvent(new Event('afterprint'))")
    page.emulate_media(media="null", color_scheme="light")
    assert (luminance(dark) > 0.7, luminance(on_paper) < 0.3) == (True, True)


def test_a_slider_plays_to_its_end(page):
    page.clock.install()
    visit(page, PAGES[2])
    root = page.locator(".c3-explorer:has(.c3-play)").first
    root.get_by_role("button", name="Play").click()
    expect(root.get_by_role("button", name="Stop")).to_be_visible()
    page.clock.run_for(60_000)
    expect(root.get_by_role("button", name="Play")).to_be_visible()
    slider = root.locator("input[type=range]").first
    assert slider.evaluate("slider => slider.value === slider.max")


def test_a_switch_that_is_not_recorded_is_a_switch_and_no_word(page):
    visit(page, "notebooks/08_positions")
    switch = page.locator(".c3-unrecorded").get_by_role("checkbox")
    expect(switch).to_be_disabled()
    expect(switch).not_to_be_checked()


FUSED = "FusedMultiHeadAttention"


def test_an_entry_of_the_package_leads_to_its_code_and_back_and_a_name_to_its_entry(page):
    page.asked.clear()
    visit(page, "package")
    entry = page.locator(f"dl:has(> dt[id='chapter3_helpers.fused_multihead.{FUSED}'])")
    entry.get_by_role("link", name="[source]").first.click()
    code = page.locator(f"#{FUSED}")
    expect(code).to_be_in_viewport()
    expect(code).to_contain_text("functional.scaled_dot_product_attention(")
    assert [url for url in page.asked if not url.startswith(("file:", "data:"))] == []
    code.get_by_role("link", name="[docs]").first.click()
    expect(entry).to_be_in_viewport()
    names = page.locator("article a[href*='#chapter3_helpers']:has(> code)").evaluate_all(
        "all => all.map(link => [link.textContent, link.hash])"
    )
    assert len(names) > 50
    assert [name for name, place in names if not place.endswith(f".{name}")] == []
    assert {name for name, _ in names}.isdisjoint({"num_heads", "weight"}), "arguments, mostly"
    entry.get_by_role("link", name="MultiHeadAttention", exact=True).first.click()
    expect(
        page.locator("[id='chapter3_helpers.fused_multihead.MultiHeadAttention']")
    ).to_be_in_viewport()


SCORES = """root => [...root.querySelectorAll('input[type=radio]')].slice(0, 6).map(token => {
    token.click();
    const slider = root.querySelector('input[type=range]'), seen = [];
    for (let step = 0; step <= slider.max; step++) {
        slider.value = step;
        slider.dispatchEvent(new Event('input'));
        seen.push(JSON.parse(root.dataset.chosen).score);
    }
    return seen.filter(label => label.includes('as it was')).length;
})"""


def test_every_score_of_02_can_be_put_back(page):
    visit(page, "notebooks/02_softmax")
    page.evaluate(OPEN)
    root = page.locator("#softmax_explorer")
    expect(root.locator(".c3-tools")).to_be_visible()
    assert root.evaluate(SCORES) == [1] * 6


def test_a_row_is_chosen_whatever_the_heads_are_sorted_by(page):
    visit(page, "notebooks/10_induction_heads")
    page.evaluate(OPEN)
    root = page.locator("#model_explorer-weights")
    root.locator("label", has_text="evenness").click()
    picture = root.locator(".c3large [data-board]")
    box = picture.bounding_box()
    picture.click(position={"x": 9, "y": 0.5 / 21 * box["height"]})
    assert json.loads(root.get_attribute("data-chosen"))["sort"] == "evenness"
    expect(root.locator(".c3b caption")).to_contain_text("where 0 ")


def test_a_term_leads_to_the_notebook_that_builds_it_in_chinese_too(page):
    visit(page, "search", "?q=多头")
    expect(page.locator("#search-results a").first).to_have_attribute(
        "href", re.compile("06_multihead_wrapper")
    )
    texts = [(name, row) for row in TERMS for name in (*row.names, *row.chinese)]
    found = page.evaluate(SEARCH, [text for text, _ in texts])
    missed = [
        text
        for (text, row), pages in zip(texts, found, strict=True)
        if f"notebooks/{row.path.stem}" not in pages
    ]
    assert missed == []
    two = page.evaluate(SEARCH, ["权重"])  # the end of 注意力权重
    assert "notebooks/02_softmax" in two[0]
    visit(page, "notebooks/04_masking")
    page.get_by_role("link", name="causal", exact=True).click()
    expect(page.locator("#term-causal-attention")).to_be_in_viewport()


def test_the_one_page_prints_on_four_sheets(page):
    visit(page, "notebooks/one_page")
    expect(page.locator(".c3-tools")).to_be_visible()
    printed = page.pdf(prefer_css_page_size=True)
    assert len(re.findall(rb"/Type /Page\b", printed)) == 4
    assert re.search(rb"/MediaBox \[0 0 59[45]\S* 84[12]", printed), "A4"


@pytest.mark.parametrize("name", ["02_softmax", "04_masking", "10_induction_heads"])
def test_no_picture_is_white_in_the_dark_theme(page, name):
    visit(page, f"notebooks/{name}")
    page.evaluate(OPEN)
    page.evaluate("document.documentElement.dataset.theme = 'dark'")
    shown = page.locator('.cell_output img:not([alt=""]):visible')
    said = shown.evaluate_all(
        "all => all.map(e => [...e.classList, getComputedStyle(e).backgroundColor])"
    )
    assert len(said) > 3
    for *kinds, ground in said:
        heatmap = "cells" in kinds and "only-dark" in kinds and ground == "rgba(0, 0, 0, 0)"
        assert heatmap or kinds == ["inked"], "what is inked is turned round by its style"
    page.evaluate("document.documentElement.dataset.theme = 'light'")
