"""Where processes can be reached from."""

import psutil


def listening_addresses(launcher: psutil.Process) -> set[str]:
    """Return where a process and its children wait for connections, of those still alive."""
    found: set[str] = set()
    try:
        for process in [launcher, *launcher.children(recursive=True)]:
            found |= {
                connection.laddr.ip
                for connection in process.net_connections(kind="inet")
                if connection.status == psutil.CONN_LISTEN
            }
    except psutil.Error:  # it ended while it was asked
        pass
    return found
