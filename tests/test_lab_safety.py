"""Who gets into the lab, and what a message may be: a real server, its files and its websocket."""

import asyncio
import sys
import time
from contextlib import ExitStack, suppress

import pytest
from websockets.exceptions import ConnectionClosed, InvalidStatus

from maxmargin.laboratory.server import MAX_CONNECTIONS, MAX_MESSAGE, Guard, Guarded, Throttle, guard_for
from serving import ask, hear, served
from serving import lab as lab
from serving import own_lab as own_lab

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="signals")


def refused(server, **options):
    with pytest.raises(InvalidStatus) as caught, server.connect(**options):
        pass
    return caught.value.response.status_code


# Who gets in


def test_files_have_the_right_types_and_protecting_headers(lab):
    response, content = lab.get("/results.js")
    assert response.status == 200 and content
    assert response.headers["content-type"].startswith("text/javascript")
    assert response.headers["x-content-type-options"] == "nosniff"
    assert response.headers["referrer-policy"] == "no-referrer"
    policy = response.headers["content-security-policy"]
    assert policy.startswith("default-src 'self';") and "frame-ancestors 'none'" in policy
    assert "unsafe" not in policy and "*" not in policy
    assert lab.get("/results.css")[0].headers["content-type"].startswith("text/css")


def test_an_unchanged_file_is_not_sent_again(lab):
    tag = lab.get("/results.js")[0].headers["etag"]
    response, content = lab.get("/results.js", **{"If-None-Match": tag})
    assert response.status == 304 and content == b""
    assert response.headers["cache-control"] == "no-cache"


@pytest.mark.parametrize(
    "path", ["/server.py", "/../server.py", "/..%2fserver.py", "/%2e%2e/server.py", "/page", "/a/b.js"]
)
def test_only_files_of_the_page_are_served(lab, path):
    assert lab.get(path)[0].status == 404


def test_only_reading_is_possible(lab):
    assert lab.get("/results.js", method="POST")[0].status == 405
    assert lab.get("/results.js", method="HEAD")[0].status == 200


@pytest.mark.parametrize(
    "host", ["evil.example", "evil.example:80", "127.0.0.1.evil.net", "a@127.0.0.1"]
)
def test_a_foreign_host_is_refused(lab, host):
    response, _ = lab.get("/results.js", Host=host)
    assert response.status == 421
    assert refused(lab, additional_headers={"Host": host}) in (400, 421)


@pytest.mark.parametrize(
    "origin", ["http://evil.example", "null", "http://localhost:1", "file://", "https://"]
)
def test_a_foreign_origin_is_refused(lab, origin):
    assert lab.get("/results.js", Origin=origin)[0].status == 403
    assert refused(lab, origin=origin) == 403


def test_the_length_of_a_refusal_is_told_once():
    """By the server, for a websocket: some versions of uvicorn would send both, which is malformed."""
    sent = []

    async def send(message):
        sent.append(message)

    scope = {
        "type": "websocket",
        "path": "/ws",
        "query_string": b"",
        "headers": [(b"host", b"evil.example")],
        "extensions": {"websocket.http.response": {}},
    }
    asyncio.run(Guarded(None, guard_for("127.0.0.1"))(scope, None, send))
    start, *_ = sent
    assert start["type"] == "websocket.http.response.start" and start["status"] == 421
    names = [name for name, _ in start["headers"]]
    assert b"x-content-type-options" in names and b"content-length" not in names


def test_a_connection_must_say_its_origin(lab):
    assert refused(lab, origin=None) == 403


def test_loopback_has_three_names_and_a_free_port():
    guard = guard_for("127.0.0.1")
    for host in ("127.0.0.1", "localhost:9", "LOCALHOST:9", "[::1]:9"):
        assert guard.knows_host(host), host  # a forwarded port is as good
    for host in (
        "",
        "::1",
        "localhost.",
        "localhost:x",
        "10.0.0.1",
        "localhost/",
        "[::1",
        "localhost:99999",
    ):
        assert not guard.knows_host(host), host
    assert guard.token is None and guard.lets_in("")


def test_on_a_network_the_token_is_needed(tmp_path):
    with served(tmp_path, host="0.0.0.0") as server:
        port = server.host.rpartition(":")[2]
        server.host = f"127.0.0.1:{port}"
        server.origin = f"http://{server.host}"
        token, server.query = server.query, ""
        assert token.startswith("token=") and len(token) > 30
        assert refused(server) == 403
        assert server.get()[0].status == 403
        assert server.get("/?token=wrong")[0].status == 403
        assert server.get(f"/?{token}")[0].status in (200, 404)
        assert server.get("/results.js", Host=f"evil.example:{port}")[0].status == 421
        server.query = token
        with server.connect() as page:
            assert ask(page, 1, "echo", value=3)["answer"]["value"] == 3
        server.stop()
        assert "not encrypted" in server.process.stderr.read()


def test_tokens_are_compared_whole():
    guard = Guard(frozenset({"a"}), "secret")
    assert guard.lets_in("token=secret") and guard.lets_in("x=1&token=secret")
    for query in ("", "token=", "token=secre", "token=secrets", "token=%C3%A9", "secret"):
        assert not guard.lets_in(query)


# What a message may be


HOSTILE = {
    "not JSON": "hello",
    "empty": "",
    "half": '{"id": 1, "ask": "echo"',
    "a list": "[]",
    "a number": "7",
    "null": "null",
    "deep": "[" * 100_000,
    "deep objects": '{"id": 1, "ask": "echo", "value": ' + '{"a":' * 100_000,
    "a huge number": '{"id": 1, "ask": "echo", "value": ' + "9" * 100_000 + "}",
    "a huge id": '{"id": 1e400, "ask": "echo"}',
    "a negative id": '{"id": -1, "ask": "echo"}',
    "NaN": '{"id": 1, "ask": "echo", "value": NaN}',
    "id of another kind": '{"id": "1", "ask": "echo"}',
    "a truth value as id": '{"id": true, "ask": "echo"}',
    "no ask": '{"id": 1}',
    "ask of another kind": '{"id": 1, "ask": ["echo"]}',
    "unknown ask": '{"id": 1, "ask": "__import__"}',
    "channel of another kind": '{"id": 1, "ask": "echo", "channel": {}}',
    "a long channel": '{"id": 1, "ask": "echo", "channel": "' + "x" * 1000 + '"}',
    "half a character": '{"id": 1, "ask": "\\ud800"}',
    "binary": b"\x00\xff\x00",
    "too large": '{"id": 1, "ask": "echo", "value": "' + "x" * MAX_MESSAGE + '"}',
}


@pytest.mark.parametrize("name", HOSTILE)
def test_a_malformed_message_gets_an_error_and_the_server_lives_on(lab, name):
    with lab.connect() as page:
        page.send(HOSTILE[name])
        reply = hear(page)
        assert reply["id"] in (1, None) and len(reply["error"]) > 10
        assert ask(page, 2, "echo", value="é∑\x00")["answer"]["value"] == "é∑\x00"


def test_a_reply_to_a_message_that_is_too_large_names_its_request(lab):
    with lab.connect() as page:
        page.send(HOSTILE["too large"])
        assert hear(page) == {
            "id": 1,
            "error": "A message must be at most 4 MiB. Send fewer rows or columns.",
        }


def test_far_too_large_ends_the_connection_alone(lab):
    with lab.connect() as other, lab.connect() as page:
        with suppress(ConnectionClosed):  # it may be closed while it still sends
            page.send("x" * (5 * MAX_MESSAGE))
        with pytest.raises(ConnectionClosed):
            hear(page)
        assert "answer" in ask(other, 1, "echo")


def test_invalid_utf8_ends_the_connection_alone(lab):
    with lab.connect() as other, lab.connect() as page:
        page.send(b"\xff\xfe", text=True)
        with pytest.raises(ConnectionClosed):
            hear(page)
        assert "answer" in ask(other, 1, "echo")


def test_the_number_of_connections_is_limited(own_lab):
    with ExitStack() as pages:
        for _ in range(MAX_CONNECTIONS):
            pages.enter_context(own_lab.connect())
        assert refused(own_lab) == 503
    with own_lab.connect() as page:
        assert "answer" in ask(page, 1, "echo")


def test_a_throttle_lets_a_burst_pass_and_then_holds_to_its_rate(monkeypatch):
    now = 1000.0
    monkeypatch.setattr(time, "monotonic", lambda: now)
    throttle = Throttle(rate=100, burst=50)
    assert [throttle.wait() for _ in range(50)] == [0.0] * 50
    assert [throttle.wait() for _ in range(50)] == pytest.approx([k / 100 for k in range(1, 51)])
    now += 0.75  # the fifty that wait are covered, and twenty-five more
    assert [throttle.wait() for _ in range(26)] == pytest.approx([0.0] * 25 + [0.01])
