"""Answers of an HTTP server that is told how to behave; a script of them is what the fixture ``server`` takes."""

# Large enough for many chunks of a download, small enough for a quick test.
N_ROWS = 40_000
TABLE = b"".join(b"%d,%d,%s\n" % (row, row % 7, b"ab"[row % 2 : row % 2 + 1]) for row in range(N_ROWS))


def whole(handler, content=TABLE):
    """Answer 200 with everything."""
    send(handler, 200, content)


def cut(n_bytes, content=TABLE):
    """Announce everything and hang up after ``n_bytes``."""
    return lambda handler: send(handler, 200, content[:n_bytes], length=len(content))


def status(code):
    """Answer with an error."""
    return lambda handler: send(handler, code, b"no")


def redirect(path):
    """Send elsewhere."""
    return lambda handler: send(handler, 302, b"", {"Location": path})


def dripping(handler, content=TABLE):
    """Answer in many small pieces, with pauses."""
    send(handler, 200, b"", length=len(content))
    pieces = 20
    step = -(-len(content) // pieces)
    for begin in range(0, len(content), step):
        handler.wfile.write(content[begin : begin + step])
        handler.wfile.flush()
        handler.server.pause.wait(0.01)


def stalling(n_bytes, content=TABLE):
    """Send ``n_bytes`` of everything and then nothing until the test is over."""

    def answer(handler):
        send(handler, 200, content[:n_bytes], length=len(content))
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
