import os

import pytest

from tools.lab import HOW_TO_GET_IT, browse, find_chromium, serve


@pytest.fixture(scope="package")
def browser():
    if find_chromium() is None:
        if os.environ.get("REQUIRE_BROWSER"):
            pytest.fail(HOW_TO_GET_IT)
        pytest.skip(HOW_TO_GET_IT)
    with browse() as browser:
        yield browser


@pytest.fixture(scope="package")
def folder(tmp_path_factory):
    """Where a test puts the notebooks that it opens, none of them the real ones."""
    return tmp_path_factory.mktemp("notebooks")


@pytest.fixture(scope="package")
def server(browser, folder, tmp_path_factory):
    with serve(folder, tmp_path_factory.mktemp("state")) as server:
        yield server
