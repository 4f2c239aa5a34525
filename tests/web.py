"""A web server on this machine that serves one file, as badly as a test asks."""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


@dataclass
class Site:
    """What is served and how; a list is one behaviour a request, its last one for all that follow."""

    content: bytes
    tags: list[str | None] = field(default_factory=lambda: ['"one"'])
    cuts: list[int | None] = field(default_factory=lambda: [None])      # bytes after which the connection breaks
    statuses: list[int] = field(default_factory=lambda: [200])
    knows_ranges: bool = True
    says_length: bool = True
    asked: list[str | None] = field(default_factory=list)               # the Range of each request
    address: str = ""

    def turn(self, behaviours: list) -> object:
        return behaviours[min(len(self.asked) - 1, len(behaviours) - 1)]


@contextmanager
def serving(site: Site) -> Iterator[Site]:
    """The site at site.address until the block ends."""
    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            _answer(self, site)

        def log_message(self, *words: object) -> None:
            pass

    with listening(Handler) as address:
        site.address = f"{address}/file.tar.gz"
        yield site


@contextmanager
def listening(handler: Callable[..., Any]) -> Iterator[str]:
    """The address on this machine where a server has its requests handled so until the block ends."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def _answer(request: BaseHTTPRequestHandler, site: Site) -> None:
    asked = request.headers.get("Range")
    site.asked.append(asked)
    tag, cut, status = site.turn(site.tags), site.turn(site.cuts), site.turn(site.statuses)
    first = int(asked.removeprefix("bytes=").removesuffix("-")) if asked else 0
    if not site.knows_ranges or request.headers.get("If-Range") not in (None, tag):
        first = 0
    body = site.content[first:]
    request.send_response(206 if first and status == 200 else status)
    if first:
        request.send_header("Content-Range", f"bytes {first}-{len(site.content) - 1}/{len(site.content)}")
    if site.says_length:
        request.send_header("Content-Length", str(len(body)))
    if tag:
        request.send_header("ETag", tag)
    request.end_headers()
    request.wfile.write(body if cut is None else body[:cut])
    request.close_connection = True
