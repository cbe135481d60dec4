"""Keys, Host, Origin, methods, paths."""
import unittest

from serving import FOLDER, Server
import serving

ASK = {"messages": [{"role": "user", "content": "x"}], "max_tokens": 1}
PATH = "/v1/chat/completions"


class Keys(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        keys = serving.FOLDER / "keys"
        keys.write_text("# those of the team\nfirst-key\r\n\n  second-key  \n")
        cls.server = Server.get("--api-key", "cli-key", "--api-key-file", keys)

    def test_keys(self):
        for key in ("cli-key", "first-key", "second-key"):
            for headers in ({"Authorization": f"Bearer {key}"}, {"authorization": f"bearer {key}"}, {"X-API-Key": key}):
                self.assertEqual(self.server.request("POST", PATH, ASK, headers).status, 200, headers)
        for headers in ({}, {"Authorization": "Bearer "}, {"Authorization": "Bearer first-ke"}, {"Authorization": "first-key"},
                        {"Authorization": "Bearer first-keyy"}, {"Authorization": "Basic Zmlyc3Qta2V5"}, {"X-API-Key": ""}):
            answer = self.server.request("POST", PATH, ASK, headers)
            self.assertEqual((answer.status, answer.error["code"]), (401, "invalid_api_key"), headers)
            self.assertNotIn("first-key", answer.body.decode())
        for path in ("/v1/models", "/metrics", "/props"):
            self.assertEqual(self.server.request("GET", path).status, 401)
        self.assertEqual(self.server.request("GET", "/health").status, 200)

    def test_key_before_body(self):
        self.assertEqual(self.server.request("POST", PATH, b"{nonsense").status, 401)


class Browsers(unittest.TestCase):
    def setUp(self):
        self.server = Server.get()

    def status(self, method="POST", **headers):
        return self.server.request(method, PATH, ASK, {k.replace("_", "-"): v for k, v in headers.items()})

    def test_host(self):
        port = self.server.port
        for host in (f"127.0.0.1:{port}", f"localhost:{port}", "localhost", "[::1]:80", "192.168.1.5", "LocalHost", "a.localhost"):
            self.assertEqual(self.status(Host=host).status, 200, host)
        for host in ("evil.example", "evil.example:8080", "127.0.0.1.evil.example", "localhost.evil.example", "1.2.3", "",
                     "[evil]", "127.0.0.1@evil.example"):
            self.assertEqual(self.status(Host=host).status, 403, host)

    def test_origin(self):
        host = f"127.0.0.1:{self.server.port}"
        self.assertEqual(self.status(Origin=f"http://{host}", Host=host).status, 200)
        for origin in ("https://evil.example", "null", "http://localhost:1", "file://", f"http://{host}.evil.example"):
            answer = self.status(Origin=origin, Host=host)
            self.assertEqual(answer.status, 403, origin)
            self.assertIsNone(answer.headers["Access-Control-Allow-Origin"])
            self.assertEqual(self.status("OPTIONS", Origin=origin, Host=host).status, 403)

    def test_listed_origin(self):
        server = Server.get("--allow-origin", "https://app.example", "--allow-host", "My.Name", "--api-key", "k")
        asked = {"Origin": "https://app.example", "Host": "my.name:80"}
        flight = server.request("OPTIONS", PATH, None, {**asked, "Access-Control-Request-Method": "POST"})
        self.assertEqual(flight.status, 204)  # a browser sends no key with it
        self.assertEqual(flight.headers["Access-Control-Allow-Origin"], "https://app.example")
        self.assertIn("Authorization", flight.headers["Access-Control-Allow-Headers"])
        self.assertIn("POST", flight.headers["Access-Control-Allow-Methods"])
        # OpenAI's clients tell their platform in headers of their own, which a browser asks for by name.
        wanted = "authorization,content-type,x-stainless-lang,x-stainless-retry-count"
        flight = server.request("OPTIONS", PATH, None, {**asked, "Access-Control-Request-Headers": wanted})
        self.assertEqual((flight.status, flight.headers["Access-Control-Allow-Headers"]), (204, wanted))
        other = server.request("OPTIONS", PATH, None, {"Origin": "https://other.example", "Access-Control-Request-Headers": wanted})
        self.assertEqual((other.status, other.headers["Access-Control-Allow-Headers"]), (403, None))
        answer = server.request("POST", PATH, ASK, {**asked, "X-API-Key": "k"})
        self.assertEqual((answer.status, answer.headers["Access-Control-Allow-Origin"]), (200, "https://app.example"))
        self.assertIsNone(answer.headers["Access-Control-Allow-Credentials"])
        self.assertEqual(server.request("POST", PATH, ASK, {"Origin": "https://other.example", "X-API-Key": "k"}).status, 403)

    def test_what_is_no_origin(self):
        for origin in ("foo", "", "null", "app.example", "https://", "https://app.example/", "https://app.example:x", "https://a b",
                       "https://app.example:", "//app.example", "https://u@app.example", "https://[app]", "**"):
            done = serving.call("ml_server", serving.model(), "--allow-origin", origin)
            self.assertEqual(done.returncode, 2, (origin, done))
            self.assertIn(b"--allow-origin", done.stderr)
        server = Server.get("--allow-origin", "HTTPS://App.example:443", "--allow-origin", "http://[::1]:8443")
        for origin in ("https://app.example", "http://[::1]:8443"):
            self.assertEqual(server.request("POST", PATH, ASK, {"Origin": origin}).status, 200)

    def test_paths_and_methods(self):
        for path in ("/nope", "/v1/chat/completions/", "/V1/models", "//health", "/../etc/passwd", "/%2e%2e/etc/passwd",
                     "/v1/models/../../etc/passwd", "/page/", "/.git/config", "/CON", "/v1/models/CON", "/slots/0?action=save", "/proc/self/root/etc/passwd"):
            self.assertEqual(self.server.request("GET", path).status, 404, path)
        for method, path in (("GET", PATH), ("POST", "/health"), ("DELETE", "/v1/models"), ("PUT", PATH), ("TRACE", PATH)):
            answer = self.server.request(method, path)
            self.assertEqual(answer.status, 405, (method, path))
            self.assertTrue(answer.headers["Allow"])
        self.assertEqual(self.server.request("HEAD", "/health").status, 200)
        self.assertEqual(self.server.request("GET", "/health?x=%zz").status, 200)
        self.assertEqual(self.server.request("GET", "/health").headers["X-Content-Type-Options"], "nosniff")
