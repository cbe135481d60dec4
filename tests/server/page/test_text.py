"""Text stays text: markup in prompts and replies, and Markdown as elements of a short list."""
import random
import unittest

from harness import LAST, PageTest, expect

ALLOWED = {"P", "H3", "H4", "H5", "H6", "UL", "OL", "LI", "BLOCKQUOTE", "HR", "BR", "EM", "STRONG", "DEL", "CODE", "PRE", "A", "TABLE", "THEAD", "TBODY",
           "TR", "TH", "TD", "DIV", "SPAN", "BUTTON", "INPUT", "svg", "path"}
PIECES = ["*", "**", "_", "__", "~~", "`", "```", "```js\n", "[", "](", ")", "![", "<", ">", "<b>", "<script>alert(1)</script>", "<img src=x onerror=alert(1)>",
          "javascript:alert(1)", "https://example.org/", "data:text/html,x", "\n", "\n\n", "- ", "1. ", "> ", "# ", "| a | b |\n", "|--|:-:|\n", "&lt;", "&#60;",
          "&#x3c;script>", "\\", "\\(", "\\)", "$$", "\\[\n", "    ", "a", "word ", "é", "שלום", "🦊", "\u202e", "\x00", "  \n", "---\n", "===\n", "- [ ] ", '"', "'",
          "onclick=", "\r\n"]
RENDER = """async (texts) => {
  const {MarkdownView} = await import('./markdown.js');
  return texts.map((text) => {
    const box = document.createElement('div');
    const view = new MarkdownView(box);
    const whole = new MarkdownView(document.createElement('div'));
    for (let end = 0; end < text.length; end += 1 + Math.floor(text.length / 7)) view.update(text.slice(0, end));
    view.update(text);
    whole.update(text);
    const faults = [];
    if (box.innerHTML !== whole.target.innerHTML) faults.push('grown is not whole');
    for (const node of box.querySelectorAll('*')) {
      if (!ALLOWED.includes(node.tagName)) faults.push(node.tagName);
      for (const {name, value} of node.attributes) {
        if (name.startsWith('on') || ['src', 'srcdoc', 'style', 'srcset', 'action'].includes(name)) faults.push(name);
        if (name === 'href' && !/^(https?|mailto):/.test(value)) faults.push(value);
      }
    }
    return faults;
  });
}"""


class Text(PageTest):
    def test_markup_in_a_prompt_stays_text(self):
        prompt = "<b>bold</b> <script>window.broken = 1</script> <img src=x onerror='window.broken=1'> &amp; *stars*"
        self.say(prompt)
        self.assertEqual(self.page.locator(".message.user .body").inner_text(), prompt)
        self.assertEqual(self.page.locator(".message.user .body *").count(), 0)
        expect(self.reply()).to_contain_text("<script>window.broken = 1</script>")
        self.assertEqual(self.page.locator("#thread").locator("script, img, b").count(), 0)
        expect(self.page.locator("#title")).to_contain_text("<b>bold</b>")
        self.page.keyboard.press("Control+,")
        self.page.get_by_label("System prompt").fill("</textarea><script>window.broken = 1</script>")
        self.page.keyboard.press("Escape")
        self.page.reload()
        expect(self.page.locator(".conversation a")).to_contain_text("<b>bold</b>")
        self.assertIsNone(self.page.evaluate("window.broken ?? null"))

    def test_the_policy_refuses_markup(self):
        self.expected_faults = ("TrustedHTML", "Content Security Policy", "Content-Security-Policy", "TrustedScript", "violates")
        blocked = self.page.evaluate("""() => {
            try { document.createElement('div').innerHTML = '<b>x</b>'; return false; } catch { return true; }
        }""")
        self.assertTrue(blocked)
        self.assertTrue(self.page.evaluate("fetch('http://127.0.0.1:1/').then(() => false, () => true)"))

    def test_markdown(self):
        self.say("/sample tour.md")
        for selector, count in {"h3": 1, "h4": 1, "ol > li": 3, "ol ul > li": 2, "li.task input:checked": 1, "blockquote": 1, "table tbody tr": 3,
                                ".code": 2, "hr": 1, "a": 2, "em": 3, "strong": 2, "del": 1, "pre.math": 1}.items():
            expect(self.reply().locator(selector)).to_have_count(count)
        expect(self.reply().locator("a").first).to_have_attribute("href", "https://example.org/a_(b)")
        expect(self.reply().locator("a").first).to_have_attribute("rel", "noopener noreferrer nofollow")
        self.assertIn("def count_words", self.reply().locator(".code code").first.inner_text())
        # A long line scrolls in its own box, on a phone too.
        for width in (1200, 390):
            self.page.set_viewport_size({"width": width, "height": 800})
            self.assertLessEqual(self.page.evaluate("document.documentElement.scrollWidth"), width)
            self.assertTrue(self.page.evaluate("document.querySelector('#scroller').scrollWidth <= document.querySelector('#scroller').clientWidth"))

    def test_code_is_copied(self):
        self.context.grant_permissions(["clipboard-read", "clipboard-write"])
        self.say("/sample tour.md")
        self.reply().get_by_role("button", name="Copy the code").first.click()
        expect(self.reply().locator(".copy-code").first).to_have_text("Copied")
        self.assertIn("sum(len(line.split())", self.page.evaluate("navigator.clipboard.readText()"))
        self.page.locator(LAST).get_by_role("button", name="Copy the reply").click()
        self.page.wait_for_function("navigator.clipboard.readText().then((text) => text.startsWith('# A tour'))")

    def test_any_text_makes_only_known_elements(self):
        source = random.Random(28)
        texts = ["".join(source.choice(PIECES) for _ in range(source.randrange(60))) for _ in range(2000)]
        code = RENDER.replace("ALLOWED.", f"{sorted(ALLOWED)}.")
        self.expected_faults = ("Trusted",)  # reading innerHTML is allowed, the console may still speak of it
        results = self.page.evaluate(code, texts)
        self.assertEqual([(text, faults) for text, faults in zip(texts, results) if faults], [])
        self.assertEqual(len(results), 2000)

    def test_long_texts_take_time_in_proportion(self):
        pieces = ["a *b* ", "*a ", "**a_b ", "[", "![", "`a``", "> ", "- ", "1. ", "|a", "~~", "<", "&", "[a](", "\\(", "``` ", "*_", "https://", "- [ ] \n",
                  "> - > ", "  - a\n", "a*", '[a](b "', "&#1", "\n\n", "|a|b|\n|-|-|\n"]
        rows = self.page.evaluate("""async (pieces) => {
          const {MarkdownView} = await import('./markdown.js');
          return pieces.map((piece) => {
            const view = new MarkdownView(document.createElement('div'));
            const start = performance.now();
            view.update(piece.repeat(12000 / piece.length));
            let depth = 0;
            for (let node = view.target; node; node = node.lastElementChild) depth++;
            return [piece, performance.now() - start, depth];
          });
        }""", pieces)
        usual = rows[0][1]
        # What takes the square of its length is hundreds of times slower than usual text, a busy machine some times.
        self.assertEqual([row for row in rows if row[1] > 60 * usual + 2000 or row[2] > 300], [])


if __name__ == "__main__":
    unittest.main()
