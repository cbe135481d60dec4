"""One chat request over the standard library, as the measurements send them."""
import http.client
import json


def post(url, body):
    """url: of urllib.parse.urlsplit. The answer, whose lines come as they are sent; asserts status 200."""
    connection = http.client.HTTPConnection(url.hostname, url.port, timeout=600)
    connection.request("POST", "/v1/chat/completions", json.dumps(body), {"Content-Type": "application/json"})
    answer = connection.getresponse()
    assert answer.status == 200, answer.read()
    return answer
