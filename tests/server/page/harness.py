"""What the tests of the page share: one browser, a stand-in server and a fresh profile for each test, and every fault of the page a
failure: an error in its console, a request to anywhere else."""
import os
import shutil
import unittest

from playwright.sync_api import expect, sync_playwright

from stand_in import StandIn

expect.set_options(timeout=60_000)
CHROMIUM = os.environ.get("CHROMIUM") or shutil.which("chromium-headless-shell") or shutil.which("chromium")
LAST = ".message.assistant:last-child"


class PageTest(unittest.TestCase):
    key = None
    options = {}

    @classmethod
    def setUpClass(cls):
        cls.playwright = sync_playwright().start()
        # Whatever is not this machine cannot be reached, so a page that needs it fails.
        cls.browser = cls.playwright.chromium.launch(executable_path=CHROMIUM, args=[
            "--no-sandbox", "--disable-dev-shm-usage", "--disable-gpu", "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1"])

    @classmethod
    def tearDownClass(cls):
        cls.browser.close()
        cls.playwright.stop()

    def setUp(self):
        self.server = StandIn(key=self.key)
        self.addCleanup(self.server.shutdown)
        self.faults = []
        self.expected_faults = ()  # what the console may say
        self.context = self.browser.new_context(viewport={"width": 1200, "height": 800}, **self.options)
        self.addCleanup(self.context.close)
        self.page = self.open()

    def tearDown(self):
        self.server.go.set()
        unexpected = [fault for fault in self.faults if not any(text in fault for text in self.expected_faults)]
        self.assertEqual(unexpected, [])

    def open(self, address=""):
        page = self.context.new_page()
        page.set_default_timeout(60_000)
        page.on("pageerror", lambda error: self.faults.append(f"error: {error}"))
        page.on("console", lambda message: message.type in ("error", "warning") and self.faults.append(message.text))
        page.on("request", lambda request: self.watch(request.url))
        page.goto(self.server.url + address)
        page.wait_for_selector("body[data-ready]")
        return page

    def watch(self, url):
        if not url.startswith((self.server.url, "blob:")):
            self.faults.append(f"request to {url}")

    def say(self, text, page=None, wait=True):
        page = page or self.page
        page.fill("#prompt", text)
        page.press("#prompt", "Enter")
        if wait:
            self.settled(page)

    def settled(self, page=None):
        page = page or self.page
        expect(page.locator("#stop")).to_be_hidden()
        expect(page.locator(".message.running")).to_have_count(0)

    def reply(self, page=None):
        return (page or self.page).locator(f"{LAST} .body")

    def stored(self, page=None):
        """What the browser's database holds."""
        return (page or self.page).evaluate("""() => new Promise((resolve, reject) => {
            const request = indexedDB.open('krafla');
            request.onerror = () => reject(request.error);
            request.onsuccess = () => {
              const all = request.result.transaction('conversations').objectStore('conversations').getAll();
              all.onsuccess = () => { request.result.close(); resolve(all.result); };
            };
        })""")
