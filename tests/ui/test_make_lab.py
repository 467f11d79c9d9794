"""``make lab`` itself: loopback only, with a token, at the first notebook, asking nothing."""

import os
import re
import signal
import subprocess
import urllib.error
import urllib.request

import psutil
import pytest
from playwright.sync_api import expect

from tests.listening import listening_addresses
from tools.lab import free_port
from tools.notebook_files import NOTEBOOKS

ROOT = NOTEBOOKS.parent


@pytest.fixture
def lab(browser):
    """Run ``make lab`` as a reader does, but without a browser of its own; yield its address."""
    command = ["make", "lab", f"LAB_ARGS=--no-browser --port={free_port()}"]
    process = subprocess.Popen(
        command,
        cwd=ROOT,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
    )
    lines = []
    try:
        for line in process.stdout:
            lines.append(line)
            address = re.search(r"http://127\.0\.0\.1:\d+/lab\S*token=\w+", line)
            if address:
                yield process, address[0]
                break
        else:
            raise RuntimeError("make lab ended:\n" + "".join(lines))
    finally:
        os.killpg(process.pid, signal.SIGTERM)
        process.wait(timeout=60)
        process.stdout.close()


def test_make_lab_opens_the_first_notebook(lab, browser):
    process, address = lab
    first = sorted(NOTEBOOKS.glob("*.ipynb"))[0].name
    assert first in address
    page = browser.new_page()
    page.goto(address, timeout=120_000)
    panel = page.locator(".jp-NotebookPanel:visible")  # behind it are those that a reader left open
    expect(panel.locator("h1").first).to_be_visible(timeout=120_000)
    expect(page.get_by_role("tab", name=first)).to_be_visible()
    names = page.locator(".jp-DirListing-itemText")
    expect(names.filter(has_text=".ipynb")).to_have_count(len([*NOTEBOOKS.glob("*.ipynb")]))
    cut = "all => all.filter(e => e.scrollWidth > e.clientWidth).map(e => e.textContent)"
    assert names.evaluate_all(cut) == []
    closed = panel.locator(".jp-OutputPlaceholder .jp-PlaceholderText").first
    assert closed.evaluate("text => getComputedStyle(text).fontSize") == "0px"
    # where the code is folded as well, JupyterLab hides what was closed
    closed.evaluate("e => e.closest('.jp-Cell-outputWrapper').classList.add('lm-mod-hidden')")
    expect(closed).to_be_visible()
    kernel = panel.locator('.jp-Notebook-ExecutionIndicator[data-status="idle"]')
    expect(kernel.first).to_be_visible(timeout=120_000)
    assert page.locator(".jp-mod-dirty").count() == 0  # nothing was changed, so nothing to save

    assert listening_addresses(psutil.Process(process.pid)) == {"127.0.0.1"}

    with pytest.raises(urllib.error.HTTPError) as refused:
        urllib.request.urlopen(re.sub(r"/lab.*", "/api/contents", address), timeout=30)
    assert refused.value.code == 403
    refused.value.close()

    page.wait_for_timeout(500)  # all of the above took long enough for a question to come up
    assert page.get_by_text("Jupyter news").count() == 0
    page.close()
