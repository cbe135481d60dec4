"""Messages, replies, versions, settings, errors."""
import unittest

from harness import LAST, PageTest, expect


class Chat(PageTest):
    def test_a_reply_streams_and_tells_its_figures(self):
        self.say("/hold one two three", wait=False)
        expect(self.reply()).to_contain_text("… … …")
        expect(self.page.locator("#send")).to_be_hidden()
        expect(self.page.locator("#stop")).to_be_visible()
        self.server.go.set()
        self.settled()
        expect(self.reply()).to_contain_text("two three")
        figures = self.page.locator(f"{LAST} .figures")
        expect(figures).to_contain_text("4 tokens")
        expect(figures).to_contain_text("tokens/s")
        expect(figures).to_contain_text("24 prompt tokens, 12 cached")
        self.assertIn("seed 7", figures.get_attribute("title"))
        expect(self.page.locator("#context")).to_have_attribute("aria-label", "Context: 28 of 4096 tokens")
        request = self.server.requests[0]
        self.assertTrue(request["stream"])
        self.assertEqual(request["stream_options"], {"include_usage": True})
        self.assertEqual(request["messages"], [{"role": "user", "content": "/hold one two three"}])
        self.assertNotIn("temperature", request)
        expect(self.page.locator("#title")).to_have_text("/hold one two three")

    def test_stop_ends_the_request_and_keeps_what_came(self):
        for stop in (lambda: self.page.click("#stop"), lambda: self.page.keyboard.press("Escape")):
            self.server.gone.clear()
            self.say("/hold one two three", wait=False)
            expect(self.reply()).to_contain_text("… …")
            stop()
            self.settled()
            self.assertTrue(self.server.gone.wait(60), "the connection was not closed")
            expect(self.page.locator(f"{LAST} .figures")).to_contain_text("stopped")
            expect(self.reply()).to_contain_text("one")
        self.say("still there")
        expect(self.reply()).to_have_text("still there")
        self.assertEqual([message["role"] for message in self.server.requests[-1]["messages"]], ["user", "assistant"] * 2 + ["user"])

    def test_edit_makes_a_version_beside(self):
        self.say("first")
        self.say("second")
        self.page.locator(".message.user").first.hover()
        self.page.locator(".message.user").first.get_by_role("button", name="Edit").click()
        area = self.page.get_by_role("textbox", name="Edit the message")
        expect(area).to_have_value("first")
        expect(area).to_be_focused()
        area.fill("thrown away")
        area.press("Escape")
        expect(self.page.locator(".message.user .body").first).to_have_text("first")
        self.page.locator(".message.user").first.get_by_role("button", name="Edit").click()
        area.fill("changed")
        area.press("Enter")
        self.settled()
        expect(self.page.locator(".message")).to_have_count(2)
        expect(self.reply()).to_have_text("changed")
        self.assertEqual(self.server.requests[-1]["messages"], [{"role": "user", "content": "changed"}])
        versions = self.page.locator(".message.user .versions")
        expect(versions).to_contain_text("2/2")
        self.page.get_by_role("button", name="Previous version").click()
        expect(self.page.locator(".message")).to_have_count(4)
        expect(self.reply()).to_have_text("second")
        self.page.reload()
        expect(self.page.locator(".message")).to_have_count(4)

    def test_regenerate_keeps_both_replies(self):
        self.say("again and again")
        self.page.get_by_role("button", name="Regenerate").click()
        self.settled()
        expect(self.page.locator(f"{LAST} .versions")).to_contain_text("2/2")
        self.assertEqual(self.server.requests[0]["messages"], self.server.requests[1]["messages"])
        self.page.keyboard.press("Alt+r")
        expect(self.page.locator(f"{LAST} .versions")).to_contain_text("3/3")

    def test_thinking_is_folded(self):
        self.say("/think what is 2 + 2?")
        expect(self.reply()).to_have_text("The answer is 4.")
        thoughts = self.page.locator(f"{LAST} .thoughts")
        expect(thoughts).to_be_hidden()
        self.page.locator(f"{LAST} summary").click()
        expect(thoughts).to_have_text("First, I read the question. Then I think about it.")
        self.say("and more")
        self.assertEqual(self.server.requests[-1]["messages"][1], {"role": "assistant", "content": "The answer is 4."})

    def test_a_tool_call_is_shown_and_sent_back(self):
        self.say("/tool weather?")
        call = self.page.get_by_role("region", name="Call of get_weather")
        expect(call).to_contain_text('"city": "Reykjavík"')
        self.say("go on")
        self.assertEqual(self.server.requests[-1]["messages"][1]["tool_calls"], [
            {"id": "call00000", "type": "function", "function": {"name": "get_weather", "arguments": '{"city": "Reykjavík", "days": 3}'}}])

    def test_the_reading_of_a_prompt_is_shown(self):
        self.say("/prompt long", wait=False)
        expect(self.page.locator(".progress")).to_contain_text("1,500 of 3,000 tokens")
        self.server.go.set()
        self.settled()
        expect(self.page.locator(".progress")).to_be_hidden()

    def test_settings_are_sent_and_wrong_ones_are_not(self):
        self.page.keyboard.press("Control+,")
        dialog = self.page.get_by_role("dialog", name="Settings")
        dialog.get_by_label("System prompt").fill("You are terse.")
        for label, value in (("Temperature", "0.7"), ("Top p", "0.9"), ("Top k", "40"), ("Min p", "0.05"), ("Longest reply", "64"), ("Seed", "7")):
            dialog.get_by_label(label, exact=True).fill(value)
        dialog.get_by_label("Repeat penalty").fill("99")
        expect(dialog.get_by_text("Between 0.1 and 5")).to_be_visible()
        dialog.get_by_label("Thinking").select_option("Off")
        dialog.get_by_role("button", name="Use for new conversations").click()
        self.page.keyboard.press("Escape")
        self.page.locator("#model").select_option("large")
        self.say("hello")
        request = self.server.requests[-1]
        wanted = {"temperature": 0.7, "top_p": 0.9, "top_k": 40, "min_p": 0.05, "max_tokens": 64, "seed": 7, "model": "large",
                  "chat_template_kwargs": {"enable_thinking": False}}
        self.assertEqual({name: request.get(name) for name in wanted}, wanted)
        self.assertNotIn("repeat_penalty", request)
        self.assertEqual(request["messages"][0], {"role": "system", "content": "You are terse."})
        self.page.click("#new-chat")
        self.say("another")
        self.assertEqual(self.server.requests[-1]["seed"], 7)
        self.assertEqual(self.server.requests[-1]["messages"][0]["content"], "You are terse.")

    def test_errors_in_words(self):
        self.expected_faults = ("Failed to load resource", "ERR_", "net::")
        cases = {"/busy": "asks for 3 s", "/full": "(5000 of 4096 tokens)", "/bad": "temperature: 9, want 0 to 5", "/broken": "The server failed.",
                 "/cut a b c d e": "ended before the reply was complete", "/fault a b c d e": "the model's file was changed"}
        for prompt, words in cases.items():
            self.say(prompt)
            expect(self.page.locator(f"{LAST} .failure")).to_contain_text(words)
        expect(self.reply()).to_contain_text("/fault a b")  # what had come stays
        self.say("/busy")
        count = self.page.locator(".message").count()
        self.page.locator(LAST).get_by_role("button", name="Try again").click()
        self.settled()
        self.assertEqual(self.page.locator(".message").count(), count)
        self.server.down = True
        self.say("anybody?")
        expect(self.page.locator(f"{LAST} .failure")).to_contain_text("cannot be reached")


class Key(PageTest):
    key = "open sesame"

    def test_a_key_is_asked_for(self):
        self.expected_faults = ("401",)
        dialog = self.page.get_by_role("dialog", name="API key")
        expect(dialog).to_be_visible()
        dialog.get_by_label("Key", exact=True).fill("open sesame")
        dialog.get_by_role("button", name="Use it").click()
        expect(self.page.locator("#notice")).to_be_hidden()
        self.say("hello")
        expect(self.reply()).to_have_text("hello")
        self.assertIsNone(self.page.evaluate("localStorage.getItem('krafla.key')"))
        self.server.key = "another"
        self.say("and now?", wait=False)
        expect(dialog).to_be_visible()
        dialog.get_by_label("Key", exact=True).fill("another")
        dialog.get_by_label("Remember").check()
        self.page.keyboard.press("Enter")
        dialog.get_by_role("button", name="Use it").click() if dialog.is_visible() else None
        expect(self.reply()).to_have_text("and now?")
        self.assertEqual(self.page.evaluate("localStorage.getItem('krafla.key')"), "another")


if __name__ == "__main__":
    unittest.main()
