import os
import shutil

import pytest

from tests.ui.lab import HOW_TO_GET_IT, NOTEBOOKS, browse, find_chromium, serve


@pytest.fixture(scope="session")
def browser():
    if find_chromium() is None:
        if os.environ.get("REQUIRE_BROWSER"):
            pytest.fail(HOW_TO_GET_IT)
        pytest.skip(HOW_TO_GET_IT)
    with browse() as browser:
        yield browser


@pytest.fixture(scope="session")
def folder(tmp_path_factory):
    """A copy of the notebooks, so that no test writes to the real ones."""
    copy = tmp_path_factory.mktemp("lab") / "notebooks"
    shutil.copytree(NOTEBOOKS, copy, ignore=shutil.ignore_patterns(".*"))
    return copy


@pytest.fixture(scope="session")
def server(browser, folder, tmp_path_factory):
    with serve(folder, tmp_path_factory.mktemp("state")) as server:
        yield server
