def pytest_addoption(parser):
    parser.addoption("--notebooks", help="another folder of notebooks to look for golden values in")
