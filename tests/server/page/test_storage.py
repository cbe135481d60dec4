"""What the browser keeps: conversations over reloads and tabs, their list, files out and in."""
import json
import pathlib
import tempfile
import unittest

from harness import PageTest, expect


class Storage(PageTest):
    def test_a_reload_keeps_everything(self):
        self.say("remember me")
        self.page.fill("#prompt", "a draft")
        address = self.page.url
        self.page.reload()
        expect(self.page.locator(".message")).to_have_count(2)
        expect(self.reply()).to_have_text("remember me")
        expect(self.page.locator("#prompt")).to_have_value("a draft")
        self.assertEqual(self.page.url, address)
        expect(self.page.locator(".conversation")).to_have_count(1)

    def test_a_reload_in_the_middle_of_a_reply(self):
        self.say("/hold one two three", wait=False)
        expect(self.reply()).to_contain_text("… … …")
        self.page.wait_for_timeout(1500)  # each second is kept
        self.page.reload()
        self.settled()
        expect(self.reply()).to_contain_text("one")
        expect(self.page.locator(".figures")).to_contain_text("stopped")
        self.assertTrue(self.server.gone.wait(60))

    def test_the_list(self):
        for name in ("alpha", "beta", "gamma"):
            self.page.keyboard.press("Control+Shift+O")
            self.say(name)
        rows = self.page.locator(".conversation")
        expect(rows).to_have_text(["gamma", "beta", "alpha"])
        self.page.keyboard.press("Control+k")
        self.page.keyboard.type("bet")
        expect(rows).to_have_text(["beta"])
        rows.first.locator("a").click()
        expect(self.reply()).to_have_text("beta")
        rows.first.hover()
        rows.first.get_by_role("button", name="Rename").click()
        self.page.keyboard.type("Bettina")
        self.page.keyboard.press("Enter")
        expect(self.page.locator("#title")).to_have_text("Bettina")
        self.page.fill("#search", "")
        row = rows.filter(has_text="Bettina")
        row.hover()
        row.get_by_role("button", name="Delete").click()
        expect(rows).to_have_count(2)
        expect(self.page.locator(".welcome")).to_be_visible()
        self.page.get_by_role("button", name="Undo").click()
        expect(rows).to_have_count(3)
        expect(self.reply()).to_have_text("beta")
        self.page.go_back()
        self.page.reload()
        expect(rows).to_have_count(3)

    def test_two_tabs(self):
        self.say("from the first")
        other = self.open(self.page.url.split("/")[-1])
        expect(self.reply(other)).to_have_text("from the first")
        self.say("from the second", other)
        expect(self.reply()).to_have_text("from the second")
        # Both go on at once: neither loses the other's message.
        self.say("/hold a b c", wait=False)
        expect(other.locator(".message.running")).to_have_count(1)
        self.say("meanwhile", other, wait=False)
        expect(other.locator(".message.user").filter(has_text="meanwhile")).to_have_count(1)
        self.server.go.set()
        self.settled()
        self.settled(other)
        self.page.wait_for_timeout(300)
        contents = [node["content"] for node in self.stored()[0]["nodes"].values()]
        self.assertEqual(len(contents), 8)
        self.assertEqual(sum("meanwhile" in content for content in contents), 2)
        # Deleted in one, gone in the other, and not brought back by it.
        self.page.locator(".conversation").hover()
        self.page.get_by_role("button", name="Delete").click()
        expect(other.locator(".conversation")).to_have_count(0)
        expect(other.locator(".welcome")).to_be_visible()

    def test_export_and_import(self):
        self.say("/think of this")
        self.page.get_by_role("button", name="Regenerate").click()
        self.settled()
        before = self.stored()
        with self.page.expect_download() as waiting:
            self.page.click("#export")
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        path = pathlib.Path(folder.name) / waiting.value.suggested_filename
        waiting.value.save_as(path)
        file = json.loads(path.read_text())
        self.assertEqual(file["format"], "krafla-conversations")
        self.assertEqual(file["conversations"], before)
        self.page.locator(".conversation").hover()
        self.page.get_by_role("button", name="Delete").click()
        expect(self.page.locator(".conversation")).to_have_count(0)
        self.page.set_input_files("#import-file", path)
        expect(self.page.locator(".conversation")).to_have_count(1)
        expect(self.reply()).to_have_text("The answer is 4.")
        expect(self.page.locator(".versions")).to_contain_text("2/2")
        [after] = self.stored()
        self.assertEqual({key: value["content"] for key, value in after["nodes"].items()},
                         {key: value["content"] for key, value in before[0]["nodes"].items()})
        self.page.set_input_files("#import-file", path)  # again: beside it
        expect(self.page.locator(".conversation")).to_have_count(2)

    def test_files_that_are_none(self):
        evil = {"format": "krafla-conversations", "version": 1, "conversations": [
            {"id": "__proto__", "title": "<img src=x onerror=alert(1)>", "titled": True, "settings": {"temperature": "NaN", "top_k": -4, "seed": 3, "x": 1},
             "nodes": {"a": {"role": "user", "parent": "b", "content": "loop"}, "b": {"role": "assistant", "parent": "a", "content": ["no"], "calls": [1]},
                       "c": {"role": "system", "content": "not one of ours"}, "d": {"role": "user", "parent": "gone", "content": 7}, "e": None},
             "selected": {"": 5, "a": "c"}}, None, 7, []]}
        cases = {"{": "no JSON", "[]": "no conversations", "null": "no conversations", '{"format":"krafla-conversations","version":9,"conversations":[]}': "version 9",
                 json.dumps(evil): "4 conversations imported"}
        for content, words in cases.items():
            self.page.set_input_files("#import-file", {"name": "x.json", "mimeType": "application/json", "buffer": content.encode()})
            expect(self.page.locator("#toast")).to_contain_text(words)
        for row in self.page.locator(".conversation a").all():
            row.click()
        self.assertEqual(self.page.locator(".conversation img").count(), 0)
        [read] = [one for one in self.stored() if one["title"]]
        self.assertEqual(read["settings"], {"seed": 3})
        self.assertEqual(sorted(read["nodes"]), ["a", "b", "d"])
        self.assertEqual(sorted(node["parent"] for node in read["nodes"].values()), ["", "", "b"])  # the loop is cut
        self.page.keyboard.press("Control+Shift+O")
        self.say("still works")
        expect(self.reply()).to_have_text("still works")


if __name__ == "__main__":
    unittest.main()
