"""JupyterLab in headless Chromium, driven as a reader would."""

import contextlib
import os
import re
import secrets
import shutil
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import nbformat
from nbformat.v4 import new_code_cell, new_notebook
from playwright.sync_api import Browser, Page, expect, sync_playwright

from tools.notebook_files import KERNEL

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")
HOW_TO_GET_IT = (
    "No Chromium was found, so nothing was tried in a browser. Install it (Debian: "
    "apt install chromium; Fedora: dnf install chromium; macOS: brew install --cask chromium), "
    "or name one: CHROMIUM=/path/to/chromium make test-ui"
)
# Without these Chromium looks for servers of its own, which a closed network answers slowly.
FLAGS = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)
SETTINGS = """{
  "@jupyterlab/notebook-extension:tracker": {"windowingMode": "none"},
  "@jupyterlab/apputils-extension:notification": {"fetchNews": "false"},
  "@jupyterlab/docmanager-extension:plugin": {"autosave": false}
}"""
THEMES = {"light": "JupyterLab Light", "dark": "JupyterLab Dark"}


expect.set_options(timeout=60_000)


def find_chromium() -> str | None:
    """Return the path of a Chromium, or None."""
    named = os.environ.get("CHROMIUM")
    return named or next(filter(None, map(shutil.which, NAMES)), None)


@dataclass(frozen=True)
class Server:
    """A running JupyterLab."""

    url: str
    token: str

    def address(self, notebook: str) -> str:
        return f"{self.url}/lab/tree/{notebook}?token={self.token}&reset"


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


@contextmanager
def serve(folder: Path, state: Path) -> Iterator[Server]:
    """Run JupyterLab on a folder of notebooks, its own files kept in ``state``."""
    port = free_port()
    config = state / "config" / "labconfig"
    config.mkdir(parents=True, exist_ok=True)
    (config / "default_setting_overrides.json").write_text(SETTINGS)
    token = secrets.token_hex(16)
    command = [
        *(sys.executable, "-m", "jupyterlab", "--allow-root", "--no-browser", "--ip=127.0.0.1"),
        *(f"--port={port}", f"--IdentityProvider.token={token}"),
        *(f"--ServerApp.root_dir={folder}", "--LabApp.extension_manager=readonly"),
    ]
    places = {
        "JUPYTER_CONFIG_DIR": state / "config",
        "JUPYTER_DATA_DIR": state / "data",
        "JUPYTER_RUNTIME_DIR": state / "runtime",
        "IPYTHONDIR": state / "ipython",
    }
    environment = {**os.environ, **{name: str(path) for name, path in places.items()}}
    with (state / "server.log").open("w") as log:
        process = subprocess.Popen(command, env=environment, stdout=log, stderr=log)
    try:
        server = Server(f"http://127.0.0.1:{port}", token)
        _wait_for(server, process, state / "server.log")
        yield server
    finally:
        process.terminate()
        try:
            process.wait(timeout=30)
        except subprocess.TimeoutExpired:  # it waits for its kernels on a slow machine
            process.kill()
            process.wait()


def _wait_for(server: Server, process: subprocess.Popen, log: Path) -> None:
    for _ in range(120):
        if process.poll() is not None:
            break
        try:
            urllib.request.urlopen(f"{server.url}/api", timeout=5).close()
            return
        except OSError:
            time.sleep(0.5)
    raise RuntimeError(f"JupyterLab did not start:\n{log.read_text()}")


@contextmanager
def browse() -> Iterator[Browser]:
    """Start Chromium without a window."""
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=find_chromium(), args=[*FLAGS])
        try:
            yield browser
        finally:
            browser.close()


def write_notebook(path: Path, *sources: str, kernel: bool = True) -> None:
    """Write a notebook of a few cells; it names its kernel, unless JupyterLab is to ask for one."""
    notebook = new_notebook(cells=[new_code_cell(source.strip()) for source in sources])
    if kernel:
        notebook.metadata.kernelspec = KERNEL
    nbformat.write(notebook, path)


def open_notebook(browser: Browser, server: Server, name: str, without: str | None = None) -> Page:
    """Open a notebook and wait for its kernel; addresses that fit ``without`` can't be loaded."""
    page = browser.new_page(viewport={"width": 1600, "height": 1000})
    if without:
        page.route(without, lambda route: route.abort())
    page.set_default_timeout(60_000)
    # JupyterLab may ask which kernel is meant, also late: at the next step this takes the first.
    question = page.locator(".jp-Dialog").get_by_role("button", name="Select Kernel")
    page.add_locator_handler(question, lambda button: button.click())
    page.goto(server.address(name))
    page.wait_for_selector(".jp-Notebook .jp-Cell")
    kernel = page.locator('.jp-Notebook-ExecutionIndicator[data-status="idle"]')
    expect(kernel.first).to_be_visible()
    return page


def run_all(page: Page) -> None:
    """Choose Run All Cells from the menu and wait until the last cell is done."""
    prompts = page.locator(".jp-InputArea-prompt:visible")  # a folded section's are not
    started = prompts.filter(has_text=re.compile(r"\[[*\d]+\]:")).first
    for _ in range(4):  # a page that is still loading swallows the command
        page.locator(".jp-Notebook .jp-Cell").first.click()
        page.get_by_role("menuitem", name="Run", exact=True).click()
        page.get_by_text("Run All Cells", exact=True).click()
        with contextlib.suppress(AssertionError):
            expect(started).to_be_visible(timeout=10_000)
            break
    deadline = time.monotonic() + 300
    expect(started).to_be_visible()
    waiting = page.locator(".jp-InputArea-prompt", has_text="[*]:")
    while waiting.count():
        if time.monotonic() > deadline:
            raise TimeoutError("cells are still running after 300 s")
        page.wait_for_timeout(200)


def choose_theme(page: Page, theme: str) -> None:
    """Choose the light or the dark theme from the menu."""
    page.get_by_role("menuitem", name="Settings", exact=True).click()
    page.get_by_text("Theme", exact=True).hover()
    page.get_by_text(THEMES[theme], exact=True).click()
    light = str(theme == "light").lower()
    page.wait_for_selector(f'body[data-jp-theme-light="{light}"]', state="attached")
    page.wait_for_timeout(500)


def errors(page: Page) -> list[str]:
    """Return every traceback on the page."""
    return page.locator(
        '.jp-OutputArea-output[data-mime-type="application/vnd.jupyter.error"]'
    ).all_inner_texts()
