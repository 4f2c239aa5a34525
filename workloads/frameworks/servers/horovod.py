"""Where Horovod's workers find each other: a store of keys beside the first of them, without its framework."""
from horovod.runner.http.http_server import RendezvousHandler, RendezvousHTTPServer

from workloads.spec.cell import Cell


def serve(role: str, cell: Cell, cluster) -> None:
    """Keep what the workers leave for each other until stopped."""
    host, port = cluster.address(role, cluster.rank).split(":")
    RendezvousHTTPServer((host, int(port)), RendezvousHandler, verbose=0).serve_forever()
