"""What explorers share, on the page: every kind of control by keyboard and by mouse, pointing,
clicks, arrows that are dragged, a player, the back row."""

import ast
import re

import pytest
import torch
from playwright.sync_api import expect

from chapter3_helpers.explorers import attention_explorer, dot_products_explorer, model_explorer
from chapter3_helpers.explorers.attention.mechanisms import V2
from chapter3_helpers.explorers.core.controls import (
    Buttons,
    Clicked,
    DropDown,
    Seed,
    Slider,
    Steps,
    Switch,
    TextField,
    Thumbnails,
)
from tests.ui.driver import PageExplorer
from tools.lab import errors, open_notebook, run_all, write_notebook

BIG = """
from chapter3_helpers.explorers import attention_explorer
attention_explorer(made="at random", d_out=4)
"""
PLAYED = """
from chapter3_helpers.explorers.core.controls import Slider
from chapter3_helpers.explorers.core.panels import Note
from chapter3_helpers.explorers.core.widget import Explorer

Explorer(
    "played",
    [Slider("a", "a", 0, "This one is played", low=0, high=5, play=100)],
    lambda a: a,
    lambda state: [Note(f"step {state}")],
)
"""
ARROWS = """
from chapter3_helpers.explorers import dot_products_explorer
dot_products_explorer()
"""
MODEL = """
import torch
from chapter3_helpers.explorers import model_explorer
weights = torch.rand(3, 4, 30, 30, generator=torch.manual_seed(0)).tril()
model_explorer(weights / weights.sum(-1, keepdim=True), [f"t{i % 7} " for i in range(30)])
"""
ASKED = """
import torch
from tokenizers import Tokenizer, decoders, models, pre_tokenizers
from chapter3_helpers.explorers import model_explorer
from chapter3_helpers.real_model import Llama

letters = sorted(pre_tokenizers.ByteLevel.alphabet())
tokenizer = Tokenizer(models.BPE({letter: i for i, letter in enumerate(letters)}, []))
tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
tokenizer.decoder = decoders.ByteLevel()
with torch.random.fork_rng():
    torch.manual_seed(3)
    model = Llama(256, 24, 20, 4, 2, 32, context_length=40)
model_explorer(model, "say it", tokenizer=tokenizer)
"""
MARKUP = '<b id="typed">bold</b> & "quoted"'


@pytest.fixture(scope="module")
def page(browser, server, folder):
    cells = BIG, PLAYED, ARROWS, MODEL, ASKED, "print('below\\n' * 60)"
    write_notebook(folder / "parts.ipynb", *cells, kernel=False)  # it is asked for one
    page = open_notebook(browser, server, "parts.ipynb")
    asked = []
    page.on("request", lambda request: asked.append(request.url))
    page.set_viewport_size({"width": 1440, "height": 780})
    run_all(page)
    yield page
    assert errors(page) == []
    assert [url for url in asked if not url.startswith((server.url, "blob:", "data:"))] == []
    page.close()


@pytest.fixture
def big(page):
    """The big explorer, at its start."""
    explorer = PageExplorer(
        page,
        page.locator(".c3-explorer").first,
        attention_explorer(made="at random", d_out=4),
    )
    explorer.reset()
    return explorer


def test_every_kind_of_control_moves_by_keyboard_and_by_mouse(big):
    kinds = {type(control): control for control in reversed(big.model.controls)}
    del kinds[Clicked]  # by a click on the picture: below
    assert set(kinds) == {Buttons, DropDown, Seed, Slider, Steps, Switch, TextField, Thumbnails}
    for kind, control in kinds.items():
        for move in (big.move_by_keyboard, big.move_by_mouse):
            big.reset()
            if kind is Switch:
                big.control(kinds[DropDown]).locator("select").select_option(V2)
                big.settle("it should be v2", lambda settings: settings["mechanism"] == V2)
            big.drive(control, move)


AT = """(root, side) => Array.from(root.querySelectorAll(`.c3-view [data-at-${side}]`),
    e => e.tagName + ' ' + (e.dataset.q ?? '-') + ' ' + (e.dataset.k ?? '-'))"""


def marked(explorer, side: str) -> set[str]:
    """Return what is marked as the query or as the key: tag, query, key."""
    return set(explorer.root.evaluate(AT, side))


def test_pointing_marks_query_and_key_in_every_panel_at_once(big, page):
    table, lines = big.root.locator("table.c3m"), big.root.locator(".c3lines")
    table.locator("tr").nth(4).locator("td").nth(1).hover()
    weighty = {f"path 3 {key}" for key in range(4)}  # later keys are hidden
    assert marked(big, "q") == {"TR 3 -", "text 3 -", *weighty}
    assert {"TH - 1", "TD - 1", "text - 1"} < marked(big, "k")
    shadow = "e => getComputedStyle(e).boxShadow.includes('rgb(0, 114, 178)')"
    assert table.locator("tr").nth(4).locator("td").nth(5).evaluate(shadow)
    assert not table.locator("tr").nth(5).locator("td").nth(5).evaluate(shadow)
    dark = "all => all.filter(e => getComputedStyle(e).opacity > 0.5).map(e => e.dataset.q)"
    lines.locator("text[data-q='5']").hover()
    assert set(lines.locator("path").evaluate_all(dark)) == {"5"}
    assert marked(big, "k") == set()
    page.mouse.move(0, 0)
    assert marked(big, "q") == set()


def test_a_click_shows_the_arithmetic_beside_and_the_cell_stays_where_it_was(big, page):
    cell = big.root.locator("table.c3m tr").nth(5).locator("td").nth(1)
    cell.scroll_into_view_if_needed()
    assert cell.evaluate("e => getComputedStyle(e).cursor") == "pointer"
    for _ in range(2):  # a second click on the same cell is heard as well
        before = cell.bounding_box()
        cell.click()
        big.settle("show row 4, column 1", lambda s: (s["row"], s["column"]) == (4, 1))
        expect(big.root.locator(".c3path")).to_contain_text("what “Bob” takes from “1 saw”")
        after = cell.bounding_box()
        assert (after["x"], after["y"]) == pytest.approx((before["x"], before["y"]), abs=2)
        page.keyboard.press("ArrowDown")  # from the row that was clicked
        assert page.evaluate("document.activeElement.innerText") == "saw"
        assert marked(big, "k") == set()  # the keyboard points now, not the mouse at rest
        big.root.get_by_role("radio", name="weights", exact=True).click()
        big.settle("show the weights", lambda settings: settings["show"] == "weights")
    big.root.locator(".c3lines text[data-k='3']").click()
    big.settle("row 4, column 3", lambda s: (s["row"], s["column"]) == (4, 3))
    page.mouse.move(0, 0)


def test_the_keyboard_reaches_all_labels_of_a_side_in_one_stop_and_keeps_its_place(big, page):
    def focused():
        return page.evaluate("document.activeElement.ariaLabel ?? document.activeElement.innerText")

    big.root.locator("table.c3m [data-stop=query]").first.focus()
    page.keyboard.press("ArrowDown")
    assert focused() == "saw"
    assert {"TR 1 -", "text 1 -"} < marked(big, "q")
    page.keyboard.press("Enter")
    big.settle("row 1 as one number", lambda s: (s["row"], s["show"]) == (1, "one number"))
    assert focused() == "saw"  # in the new picture
    page.keyboard.press("Shift+Tab")
    page.keyboard.press("End")
    assert focused() == "dogs"
    for _ in range(2):
        page.keyboard.press("Tab")
    assert focused().startswith("Ann attends most to")
    page.keyboard.press("Tab")
    page.keyboard.press("ArrowDown")
    assert focused().startswith("1 saw is attended to most by")


def test_controls_stay_in_sight_while_panels_scroll_under_them(big, page):
    controls, scroller = big.root.locator(".c3-controls"), page.locator(".jp-WindowedPanel-outer")
    big.root.evaluate("root => root.scrollIntoView({block: 'start'})")
    scroller.evaluate("panel => panel.scrollBy(0, 200)")
    page.wait_for_timeout(200)
    top = scroller.bounding_box()["y"]
    assert big.root.bounding_box()["y"] < top - 100
    assert controls.bounding_box()["y"] == pytest.approx(top, abs=2)
    big.root.evaluate("root => root.scrollIntoView({block: 'start'})")


def test_controls_leave_the_picture_free_where_the_window_is_low(big, page):
    page.set_viewport_size({"width": 853, "height": 480})  # 1280 x 720 at 150 %
    assert (
        big.root.locator(".c3-controls").evaluate("e => getComputedStyle(e).position") == "static"
    )
    page.set_viewport_size({"width": 1440, "height": 780})


def test_a_new_sentence_is_read_out_once_it_stands(big):
    heard = big.root.get_by_role("status")
    for _ in range(2):
        big.root.locator(".c3-control-row input:not(:checked)").last.press("Space")
        big.settle()
        expect(heard).to_have_text(big.root.locator(".c3-view .c3 > p").first.inner_text())


def test_end_reaches_the_end_of_options_that_grew(big):
    for name, wanted in (("d_out", 24), ("num_heads", 24)):
        big.root.locator(f".c3-control-{name} .noUi-handle").press("End")
        big.settle(f"{name} should be at its end", lambda s, n=name, w=wanted: s[n] == w)


def test_markup_is_shown_as_text_and_an_empty_text_leaves_the_last_picture_dimmed(big):
    big.press("Python")
    for text in (MARKUP, ""):
        big.root.locator(".c3-control-text input").fill(text)
        big.settle(f"{text!r} should be there", lambda settings, t=text: settings["text"] == t)
        big.settle_code()
        assert big.root.locator("#typed").count() == 0
    expect(big.root.get_by_role("alert")).to_have_text("Type at least one word.")
    assert big.root.locator(".c3-stale table.c3m").count() == 1
    big.reset()
    big.settle_code()
    assert big.root.locator(".c3-stale").count() == 0
    big.press("Python")


def test_a_seed_stays_as_it_was_typed_and_a_word_says_what_is_one(big, page):
    seed, shown = big.root.locator(".c3-control-seed"), big.root.locator(".c3-view").inner_text()
    for typed in ("1.5", "5000", "-3"):
        seed.locator("input").click()
        page.keyboard.press("Control+a")
        page.keyboard.type(typed)
        page.keyboard.press("Enter")
        expect(seed.get_by_role("alert")).to_contain_text("a whole number from 0 to 999")
        expect(seed.locator("input")).to_have_value(typed)
        assert big.root.locator(".c3-view").inner_text() == shown
    big.reset()
    expect(seed.get_by_role("alert")).to_have_count(0)


def test_a_number_that_is_typed_beside_a_slider_goes_to_the_nearest_stop(big, page):
    number = big.root.locator(".c3-control-dropout .widget-readout")
    number.click()
    page.keyboard.press("Control+a")
    page.keyboard.type("0.27")
    page.keyboard.press("Enter")
    expect(number).to_have_text("0.30")


# The kinds of cells there are, and how far the notebook is scrolled.
NOTEBOOK = """() => [[...document.querySelectorAll('.jp-Notebook .jp-Cell')].map(e => e.className),
    document.querySelector('.jp-WindowedPanel-outer').scrollTop]"""
COMMANDS = ("a", "b", "x", "m", "d", "d", "Enter", "Delete", "ArrowUp", "ArrowDown")
PLACES = ("select", ".noUi-handle", "[type=radio]:checked", "[type=checkbox]", "[data-stop=query]")


def test_no_key_reaches_jupyterlab_from_an_explorer_or_while_it_is_presented(big, page):
    def press_commands():
        cells, scrolled = page.evaluate(NOTEBOOK)
        for key in COMMANDS:
            page.keyboard.press(key)
        page.wait_for_timeout(100)
        step = 60  # an arrow on a button scrolls so far on any page
        assert page.evaluate(NOTEBOOK) == [cells, pytest.approx(scrolled, abs=step)]
        within = ".c3-explorer:focus, .c3-explorer :focus"
        expect(page.locator(within)).to_have_count(1, timeout=5000)

    big.root.locator("select").first.select_option(V2)
    for place in (*PLACES, ".c3-tools button"):
        big.root.locator(f"{place} >> visible=true").first.focus()
        press_commands()
    big.reset()
    last = big.model.settings
    big.root.locator(".c3-control-row :checked").press("ArrowRight")  # round to the first
    big.settle_at(last | {"row": 0})
    big.press("Present")
    expect(big.root).to_have_class(re.compile("c3-present"))
    big.root.locator(".c3-view p").first.click()
    press_commands()
    page.evaluate("document.querySelector('.jp-Cell').focus()")
    press_commands()
    page.keyboard.press("Escape")
    expect(big.root).not_to_have_class(re.compile("c3-present"))


def test_space_scrolls_nothing_and_escape_leads_from_a_control_to_the_cell(big, page):
    for place in (".noUi-handle", "[data-stop=query]", "[type=text]"):
        big.root.locator(f"{place} >> visible=true").first.focus()
        before = page.evaluate(NOTEBOOK)
        page.keyboard.press("Space")
        page.wait_for_timeout(300)  # as long as it would scroll
        assert page.evaluate(NOTEBOOK) == before
        page.keyboard.press("Escape")
        expect(page.locator(".jp-Cell:focus")).to_have_count(1, timeout=5000)


def test_the_back_row_sees_one_picture(big):
    big.press("Present")
    expect(big.root.locator(".c3-view .c3lines")).to_have_count(0)
    expect(big.root.locator(".c3-control-seed")).to_be_hidden()
    expect(big.root.locator(".c3-control-row")).to_be_visible()
    big.press("Leave (Esc)")
    expect(big.root.locator(".c3-view .c3lines")).to_be_visible()


def test_a_player_walks_to_the_end(page):
    root = page.locator(".c3-explorer").nth(1)
    root.locator(".c3-control-a .jupyter-button").first.click()
    expect(root.locator(".c3-view")).to_contain_text("step 5")


def test_the_head_of_an_arrow_follows_mouse_finger_and_keys(page):
    arrows = PageExplorer(page, page.locator(".c3-explorer").nth(2), dot_products_explorer())
    arrows.root.evaluate("root => root.scrollIntoView({block: 'start'})")
    plane = arrows.root.locator("svg g rect").first.bounding_box()
    unit, middle = plane["width"] / 4.4, plane["width"] / 2

    def on_page(x, y):
        return plane["x"] + middle + unit * x, plane["y"] + middle - unit * y

    def drag_by_mouse(start, end):
        page.mouse.move(*on_page(*start))
        page.mouse.down()
        page.mouse.move(*on_page(*end), steps=8)
        page.mouse.up()

    finger = page.context.new_cdp_session(page)

    def drag_by_finger(start, end):
        for kind, spots in {"Start": [start], "Move": [end], "End": []}.items():
            points = [dict(zip("xy", on_page(*spot), strict=True)) for spot in spots]
            finger.send("Input.dispatchTouchEvent", {"type": f"touch{kind}", "touchPoints": points})

    def settle(**wanted):  # to a degree, as much as a pixel is
        arrows.clicked = {"direction": wanted.pop("direction", None)}
        arrows.settle(
            f"it should be at {wanted}",
            lambda found: (
                {name: found[name] for name in wanted} == pytest.approx(wanted, abs=1.01)
                and all(found[name] == wanted[name] for name in wanted if name != "angle")
            ),
        )

    drag_by_mouse((0.75, 1.3), (-1, -1))
    settle(angle=-135, length_a=1.4)
    drag_by_mouse((1, 0), (0, 3))  # a stays where it is
    settle(angle=135, length_a=1.4, length_b=2.0, direction=90)
    drag_by_finger((-1, -1), (1.5, 0))
    settle(angle=-90, length_a=1.5, direction=90)
    arrows.root.locator("[data-stop='drag a']").focus()
    for key, angle, length in (("Right", -90, 1.6), ("Down", -94, 1.6), ("Left", -94, 1.5)):
        page.keyboard.press(f"Arrow{key}")
        settle(angle=angle, length_a=length, direction=90)
    arrows.press("Reset")
    settle(angle=60, length_a=1.5, length_b=1.0)


def test_a_frame_over_a_picture_moves_by_mouse_and_arrows_and_the_picture_stays(page):
    weights = torch.rand(3, 4, 30, 30, generator=torch.manual_seed(0)).tril()
    tokens = [f"t{i % 7} " for i in range(30)]
    model = model_explorer(weights / weights.sum(-1, keepdim=True), tokens)
    heads = PageExplorer(page, page.locator(".c3-explorer").nth(3), model)
    all_heads = heads.root.locator(".c3-board [data-board]")

    def settle(**chosen):
        heads.clicked |= chosen
        heads.settle(f"{chosen} should be shown")

    def place(board, column, row):  # the middle of one of 4 times 3, say
        (across, columns), (down, rows) = column, row
        box = board.bounding_box()
        return {
            "x": (across + 0.5) / columns * box["width"],
            "y": (down + 0.5) / rows * box["height"],
        }

    def click(board, column, row):
        board.click(position=place(board, column, row))

    picture = heads.root.locator(".c3-board image")
    picture.evaluate("image => (image.dataset.kept = '')")
    click(all_heads, (2, 4), (1, 3))
    settle(layer=1, head=2)
    for key, chosen in (
        ("ArrowDown", {"layer": 2, "head": 2}),
        ("ArrowRight", {"layer": 2, "head": 3}),
        ("ArrowRight", {"layer": 2, "head": 3}),  # it was the last
        ("ArrowUp", {"layer": 1, "head": 3}),
        ("Home", {"layer": 1, "head": 0}),
    ):
        page.keyboard.press(key)
        settle(**chosen)
        expect(all_heads).to_be_focused()
    expect(all_heads).to_have_attribute("aria-valuetext", "layer 1, head 0")
    expect(heads.root.locator(".c3-board [tabindex='0']")).to_have_count(1)
    large = heads.root.locator(".c3large [data-board]")
    click(large, (3, 30), (11, 30))
    settle(row=11)
    read = heads.root.locator(".c3read")
    weight = model.state(model.settings | heads.clicked).weights[11, 3]
    expect(read).to_have_text(f"\u206811 t4\u2069 → \u20683 t3\u2069: {weight:.2f}")
    page.keyboard.press("ArrowUp")
    settle(row=10)
    large.hover(position=place(large, (29, 30), (28, 30)))
    expect(read).to_have_text("\u206828 t0\u2069 → \u206829 t1\u2069: hidden")
    large.hover(position=place(large, (9, 30), (10, 30)))
    assert "TR - 9" in marked(heads, "k")
    page.mouse.move(0, 0)
    expect(read).to_have_text("point at a weight to read it")
    heads.root.get_by_text("evenness", exact=True).first.click()
    best = model.state(model.settings).measures["evenness"].order()[0]
    heads.settle("it should be sorted", lambda found: found["sort"] == "evenness")
    heads.root.locator(".c3rank tr").nth(1).click()
    settle(layer=best // 4, head=best % 4)
    expect(picture).to_have_attribute("data-kept", "")
    heads.clicked = {}
    heads.reset()


def test_a_head_is_switched_off_by_click_and_by_keyboard_and_a_text_is_typed(page):
    space = {}
    *made, last = ast.parse(ASKED).body
    exec(compile(ast.Module(made, []), "<cell>", "exec"), space)
    asked = PageExplorer(page, page.locator(".c3-explorer").nth(4), eval(ast.unparse(last), space))
    asked.root.evaluate("root => root.scrollIntoView({block: 'start'})")
    board, switch = asked.root.locator("[data-board]"), asked.root.locator(".c3switch")
    box = board.bounding_box()
    x, y = (16.5 / 20 * box["width"], 0.5 / 4 * box["height"])  # there are more layers than heads
    board.click(position={"x": x, "y": y})
    asked.clicked |= {"layer": 16, "head": 0}
    asked.settle("layer 16, head 0 should be shown")
    page.keyboard.press("ArrowDown")
    asked.clicked["head"] = 1
    asked.settle("an arrow should lead to the head below")
    switch.click()
    asked.settle("a click should switch it off", lambda found: found["off"] == "16.1")
    crosses = asked.root.locator(".c3-board path.off")
    expect(crosses).to_have_count(1)
    expect(asked.root.locator(".c3wrote th")).to_have_text(["all heads", "without 16.1"])
    expect(switch).to_be_focused()
    page.keyboard.press("Enter")
    asked.settle("Enter should switch it on", lambda found: found["off"] == "")
    expect(switch).to_be_focused()
    page.keyboard.press("Space")
    asked.settle("Space should switch it off", lambda found: found["off"] == "16.1")
    text, off = (asked.root.locator(f".c3-control-{name} input") for name in ("text", "off"))
    text.fill("say it again")
    page.wait_for_timeout(300)
    expect(asked.root.locator(".c3wrote i").first).to_have_text("say it")  # it waits for Enter
    text.press("Enter")
    asked.clicked["row"] = 11
    asked.settle("the text should be read", lambda found: found["text"] == "say it again")
    off.fill("16.1 sixteen")
    off.press("Enter")
    expect(asked.root.get_by_role("alert")).to_contain_text("such as 16.0, not sixteen.")
    expect(asked.root.locator(".c3-stale .c3wrote")).to_have_count(1)
    off.fill("0.0 16.1")
    off.press("Enter")
    asked.settle("both should be off", lambda found: found["off"] == "0.0 16.1")
    asked.press("Present")
    expect(switch).to_be_visible()
    switch.focus()
    page.keyboard.press("Enter")
    expect(off).to_have_value("0.0")
    expect(crosses).to_have_count(1)
    expect(asked.root.locator(".c3wrote svg")).to_have_count(0)
    fits = "root => root.scrollHeight <= root.clientHeight && root.scrollWidth <= root.clientWidth"
    assert asked.root.evaluate(fits)
    page.keyboard.press("Escape")
