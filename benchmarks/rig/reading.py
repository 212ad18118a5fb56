"""Lists all pods: `python -m benchmarks.rig.reading KIND KUBECONFIG`; prints how many, and the CPU.

KIND is `typed` (the official client's models) or `ours` (the bot's way). The processor seconds are
those of the list alone, after one request that has opened the connection.
"""

import gc
import json
import sys
import time
from collections.abc import Callable
from typing import Any

from kubernetes import client, config

from bot.cluster.api.connection import Connection, Request
from bot.cluster.api.listing import Listing, read_all
from bot.cluster.resources import PODS
from bot.cluster.view import View

_ARGUMENTS = 3
_PATIENCE_SECONDS = 120


def typed(kubeconfig: str) -> Callable[[], int]:
    """Lists pods as the official client does by itself."""
    untyped: Any = config
    untyped.load_kube_config(kubeconfig)
    api = client.CoreV1Api()
    client.VersionApi().get_code(_request_timeout=_PATIENCE_SECONDS)

    def read() -> int:
        return len(api.list_pod_for_all_namespaces(_request_timeout=_PATIENCE_SECONDS).items)

    return read


def ours(kubeconfig: str) -> Callable[[], int]:
    """Lists pods as a watch of the bot begins: raw pages, the fields it needs, a view."""
    connection = Connection.to(kubeconfig)
    listing = Listing(PODS, "list pods")
    view = View([PODS])
    connection.send(Request("ask for the version", "GET", "/version"))

    def read() -> int:
        found, _ = read_all(connection, listing, "v1")
        view.store(PODS).replace(found)
        return len(found)

    return read


def main() -> None:
    """Lists once and prints one line of JSON."""
    kind, kubeconfig = sys.argv[1:_ARGUMENTS]
    read = {"typed": typed, "ours": ours}[kind](kubeconfig)
    gc.freeze()  # what was imported, as the bot does: it has nothing to do with the list
    began = time.process_time()
    count = read()
    print(json.dumps({"count": count, "cpu_seconds": time.process_time() - began}))


if __name__ == "__main__":
    main()
