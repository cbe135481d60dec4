"""Who cannot see, has no mouse, a small screen, other colours."""
import unittest

from axe_playwright_python.sync_playwright import Axe

from harness import LAST, PageTest, expect

LUMINANCE = "getComputedStyle(document.body).backgroundColor.match(/\\d+/g).slice(0, 3).reduce((sum, part) => sum + Number(part), 0) / 3"


class Access(PageTest):
    def judge(self, where):
        found = Axe().run(self.page).response["violations"]
        serious = [(where, one["id"], one["help"], [node["html"][:120] for node in one["nodes"][:3]]) for one in found if one["impact"] in ("serious", "critical")]
        self.assertEqual(serious, [])

    def test_axe_finds_no_serious_fault(self):
        for scheme in ("light", "dark"):
            self.page.emulate_media(color_scheme=scheme)
            self.page.keyboard.press("Control+Shift+O")
            self.judge(f"{scheme}, empty")
            self.say("/sample tour.md")
            self.say("/think a little")
            self.page.locator(f"{LAST} summary").click()
            self.say("/tool weather")
            self.expected_faults = ("429",)
            self.say("/busy")
            self.page.mouse.move(0, 0)
            self.judge(f"{scheme}, conversation")
            self.page.keyboard.press("Control+,")
            self.judge(f"{scheme}, settings")
            self.page.keyboard.press("Escape")
            self.page.click("#help")
            self.judge(f"{scheme}, shortcuts")
            self.page.keyboard.press("Escape")
        self.page.set_viewport_size({"width": 390, "height": 800})
        self.judge("narrow")
        self.page.click("#show-sidebar")
        self.judge("narrow, list")

    def test_light_and_dark(self):
        self.page.emulate_media(color_scheme="dark")
        self.assertLess(self.page.evaluate(LUMINANCE), 60)
        self.page.emulate_media(color_scheme="light")
        self.assertGreater(self.page.evaluate(LUMINANCE), 200)
        button = self.page.locator("#theme")
        for label, dark in (("light", False), ("dark", True)):
            button.click()
            expect(button).to_have_attribute("aria-label", f"Colours: {label}")
            self.assertEqual(self.page.evaluate(LUMINANCE) < 60, dark)
        self.page.reload()
        self.assertLess(self.page.evaluate(LUMINANCE), 60)
        self.page.locator("#theme").click()
        self.assertGreater(self.page.evaluate(LUMINANCE), 200)

    def test_keyboard_alone(self):
        page = self.page
        expect(page.locator("#prompt")).to_be_focused()
        page.keyboard.type("one")
        page.keyboard.press("Shift+Enter")
        page.keyboard.type("two")
        page.keyboard.press("Enter")
        self.settled()
        self.assertEqual(self.server.requests[-1]["messages"][0]["content"], "one\ntwo")
        expect(page.locator("#prompt")).to_be_focused()
        page.keyboard.press("Enter")  # nothing to send
        self.assertEqual(len(self.server.requests), 1)
        page.keyboard.press("ArrowUp")
        expect(page.get_by_role("textbox", name="Edit the message")).to_be_focused()
        page.keyboard.press("Escape")
        page.keyboard.press("/")
        expect(page.locator("#prompt")).to_be_focused()
        page.keyboard.type("/not a shortcut?")
        expect(page.locator("#prompt")).to_have_value("/not a shortcut?")
        page.keyboard.press("Control+b")
        expect(page.locator("#sidebar")).not_to_be_in_viewport()
        expect(page.locator("#show-sidebar")).to_be_focused()
        page.keyboard.press("?")
        expect(page.get_by_role("dialog", name="Keyboard")).to_be_visible()
        page.keyboard.press("Escape")
        page.keyboard.press("Control+b")
        # Everything is reached by Tab, each with a name and something to see of the focus.
        expect(page.locator("#hide-sidebar")).to_be_focused()
        seen = []
        for _ in range(40):
            page.keyboard.press("Tab")
            seen.append(page.evaluate("""() => {
                const node = document.activeElement;
                return [node.id || node.dataset.action || node.className || node.tagName,
                        node === document.body || node.id === 'prompt' || getComputedStyle(node).outlineStyle !== 'none'];
            }"""))
        names = [name for name, _ in seen]
        self.assertIn("skip", names)
        names = names[names.index("skip"):] + names[:names.index("skip")]  # from the top of the page
        for name in ("skip", "hide-sidebar", "new-chat", "search", "import", "export", "help", "theme", "model", "open-settings", "copy", "edit", "regenerate", "prompt", "send"):
            self.assertIn(name, names)
        self.assertEqual([name for name, visible in seen if not visible], [])
        self.assertLess(names.index("new-chat"), names.index("model"))
        self.assertLess(names.index("regenerate"), names.index("prompt"))

    def test_an_input_method_takes_its_enter(self):
        self.page.fill("#prompt", "にほん")
        self.page.evaluate("""document.querySelector('#prompt').dispatchEvent(
            new KeyboardEvent('keydown', {key: 'Enter', isComposing: true, bubbles: true, cancelable: true}))""")
        self.page.wait_for_timeout(200)
        self.assertEqual(self.server.requests, [])

    def test_a_screen_reader_hears_each_paragraph_once(self):
        self.say("/sample tour.md")
        told = self.page.locator("#announcer p")
        expect(told.last).to_have_text("The reply is complete.")
        texts = told.all_inner_texts()
        self.assertEqual(texts[0], "A tour of the text")
        self.assertIn("Code, 6 lines.", texts)
        self.assertEqual(texts.count("That was all."), 1)
        expect(self.page.locator("#announcer")).to_have_attribute("aria-live", "polite")

    def test_right_to_left(self):
        self.say("مرحبا بالعالم")
        for selector in (".message.user .body", f"{LAST} .body p"):
            self.assertEqual(self.page.eval_on_selector(selector, "node => getComputedStyle(node).direction"), "rtl")

    def test_follows_the_end_unless_the_reader_went_up(self):
        self.say("/sample tour.md")
        at_end = "(() => { const node = document.querySelector('#scroller'); return node.scrollHeight - node.scrollTop - node.clientHeight < 4; })()"
        self.page.wait_for_function(at_end)
        self.say("/hold a b c", wait=False)
        expect(self.reply()).to_contain_text("… …")
        self.page.evaluate("document.querySelector('#scroller').scrollTop = 0")
        expect(self.page.locator("#to-end")).to_be_visible()
        self.server.go.set()
        self.settled()
        self.assertEqual(self.page.evaluate("document.querySelector('#scroller').scrollTop"), 0)
        self.page.click("#to-end")
        self.page.wait_for_function(at_end)


class Phone(PageTest):
    options = {"has_touch": True, "is_mobile": True}

    def setUp(self):
        super().setUp()
        self.page.set_viewport_size({"width": 390, "height": 800})

    def test_on_a_phone(self):
        self.page.reload()
        expect(self.page.locator("#sidebar")).not_to_be_in_viewport()
        self.page.fill("#prompt", "one")
        self.page.press("#prompt", "Enter")  # a new line there
        self.assertEqual(self.server.requests, [])
        self.page.tap("#send")
        self.settled()
        self.page.tap("#show-sidebar")
        expect(self.page.locator("#new-chat")).to_be_in_viewport()
        self.page.locator("#new-chat").tap()
        expect(self.page.locator("#sidebar")).not_to_be_in_viewport()
        expect(self.page.locator(".welcome")).to_be_visible()
        self.page.tap("#show-sidebar")
        self.page.locator(".conversation a").tap()
        expect(self.reply()).to_have_text("one")
        self.assertLessEqual(self.page.evaluate("document.documentElement.scrollWidth"), 390)


if __name__ == "__main__":
    unittest.main()
