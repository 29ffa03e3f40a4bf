"""Answers of an HTTP server that is told how to behave; a script of them is what the fixture ``server`` takes."""

import re

# Large enough for many chunks of a download, small enough for a quick test.
N_ROWS = 40_000
TABLE = b"".join(b"%d,%d,%s\n" % (row, row % 7, b"ab"[row % 2 : row % 2 + 1]) for row in range(N_ROWS))


def whole(handler, content=TABLE):
    """Answer 200 with everything, whatever range is asked for."""
    send(handler, 200, content)


def ranged(handler, content=TABLE):
    """Answer as a server that knows ranges."""
    begin = int((re.fullmatch(r"bytes=(\d+)-", handler.headers.get("Range", "")) or [0, 0])[1])
    if not begin:
        send(handler, 200, content)
    elif begin >= len(content):
        send(handler, 416, b"", {"Content-Range": f"bytes */{len(content)}"})
    else:
        send(handler, 206, content[begin:], {"Content-Range": f"bytes {begin}-{len(content) - 1}/{len(content)}"})


def cut(n_bytes, content=TABLE):
    """Announce everything (or the rest asked for) and hang up after ``n_bytes``."""

    def answer(handler):
        begin = int((re.fullmatch(r"bytes=(\d+)-", handler.headers.get("Range", "")) or [0, 0])[1])
        headers = {"Content-Range": f"bytes {begin}-{len(content) - 1}/{len(content)}"} if begin else {}
        send(handler, 206 if begin else 200, content[begin : begin + n_bytes], headers, len(content) - begin)

    return answer


def status(code):
    """Answer with an error."""
    return lambda handler: send(handler, code, b"no")


def redirect(path):
    """Send elsewhere."""
    return lambda handler: send(handler, 302, b"", {"Location": path})


def dripping(handler, content=TABLE):
    """Answer in many small pieces, with pauses."""
    handler.send_response(200)
    handler.send_header("Content-Length", str(len(content)))
    handler.end_headers()
    pieces = 20
    step = -(-len(content) // pieces)
    for begin in range(0, len(content), step):
        handler.wfile.write(content[begin : begin + step])
        handler.wfile.flush()
        handler.server.pause.wait(0.01)


def stalling(n_bytes, content=TABLE):
    """Send ``n_bytes`` of everything and then nothing until the test is over."""

    def answer(handler):
        handler.send_response(200)
        handler.send_header("Content-Length", str(len(content)))
        handler.end_headers()
        handler.wfile.write(content[:n_bytes])
        handler.wfile.flush()
        handler.server.pause.wait(60)

    return answer


def send(handler, code, content, headers=(), length=None):
    handler.send_response(code)
    for key, value in dict(headers).items():
        handler.send_header(key, value)
    handler.send_header("Content-Length", str(len(content) if length is None else length))
    handler.end_headers()
    handler.wfile.write(content)
