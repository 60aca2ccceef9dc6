"""A hub on this machine: it answers as the Hugging Face hub does, and can break off in the middle of a file."""

import hashlib
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread

COMMIT = "0123456789abcdef0123456789abcdef01234567"
BROKEN_AT = 3000  # so many bytes of a file that breaks off


class Hub:
    """What a hub has and does, and what it was asked for: (method, file, range)."""

    def __init__(self, folder: Path, repository: str = "lab/model"):
        self.folder, self.repository = folder, repository
        self.asked: list[tuple[str, str, str | None]] = []
        self.breaks: list[str] = []  # files that break off, once for each time that they stand here
        self.lies: dict[str, bytes] = {}  # files that are others than their digest says
        self.url = ""

    def answer(self, handler: BaseHTTPRequestHandler, method: str) -> None:
        start = f"/{self.repository}/resolve/"
        name = handler.path.removeprefix(start).partition("/")[2]
        self.asked.append((method, name, handler.headers.get("Range")))
        file = self.folder / name
        if not handler.path.startswith(start):
            refuse(handler, 401, "RepoNotFound")
        elif not file.is_file():
            refuse(handler, 404, "EntryNotFound")
        else:
            self.send(handler, method, name, file.read_bytes())

    def send(self, handler: BaseHTTPRequestHandler, method: str, name: str, data: bytes) -> None:
        digest, size = hashlib.sha256(data).hexdigest(), len(data)
        data = self.lies.get(name, data)
        first = int((handler.headers.get("Range") or "bytes=0-").removeprefix("bytes=").partition("-")[0])
        handler.send_response(206 if handler.headers.get("Range") else 200)
        handler.send_header("X-Repo-Commit", COMMIT)
        handler.send_header("ETag", f'"{digest}"')
        handler.send_header("X-Linked-Etag", f'"{digest}"')
        handler.send_header("X-Linked-Size", str(size))
        handler.send_header("Content-Length", str(len(data) - first))
        if handler.headers.get("Range"):
            handler.send_header("Content-Range", f"bytes {first}-{len(data) - 1}/{len(data)}")
        handler.end_headers()
        if method == "GET":
            if name in self.breaks:
                self.breaks.remove(name)
                data, handler.close_connection = data[: first + BROKEN_AT], True
            handler.wfile.write(data[first:])


def refuse(handler: BaseHTTPRequestHandler, status: int, code: str) -> None:
    handler.send_response(status)
    handler.send_header("X-Error-Code", code)
    handler.send_header("X-Repo-Commit", COMMIT)
    handler.send_header("Content-Length", "0")
    handler.end_headers()


@contextmanager
def serving(hub: Hub) -> Iterator[Hub]:
    """Within the block, the hub answers at `hub.url`."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_HEAD(self) -> None:
            hub.answer(self, "HEAD")

        def do_GET(self) -> None:
            hub.answer(self, "GET")

        def log_message(self, *_: object) -> None:
            """Nothing on the screen."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    hub.url = f"http://127.0.0.1:{server.server_port}"
    Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield hub
    finally:
        server.shutdown()
        server.server_close()
