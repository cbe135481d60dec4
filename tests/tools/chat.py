"""The chat on a terminal: streaming, editing, history, commands, Ctrl-C once and twice."""
import time
import unittest

from programs import Terminal, call, models

LEFT, RIGHT, UP, DOWN, HOME, DELETE = b"\x1b[D", b"\x1b[C", b"\x1b[A", b"\x1b[B", b"\x1b[H", b"\x1b[3~"
BACKSPACE, CTRL_C, CTRL_D = b"\x7f", b"\x03", b"\x04"
READY = "> \x1b[3G\x1b[?25h"  # an empty line, drawn
LONG = ["-T", "1", "--seed", "3", "--ctx", "50000"]


class Chat(unittest.TestCase):
    def chat(self, *options, **settings):
        terminal = Terminal("ml_run", models()["chat.mlb"], *options, **settings)
        terminal.expect("/help")
        return terminal

    def test_reply_and_end(self):
        with self.chat("-n", "8") as t:
            t.expect(READY)
            t.send("In the beginning\r")
            t.expect("In the beginning")
            reply = t.expect(READY)
            alone = call("ml_run", models()["chat.mlb"], "-n", "8", "-p", "In the beginning").out
            self.assertIn(alone.replace(b"\n", b"\r\n"), reply)
            t.send(CTRL_D)
            self.assertEqual(t.end(), 0)
            self.assertIn(b"prompt: ", t.seen)

    def test_streams(self):
        with self.chat(*LONG) as t:
            t.expect(READY)
            t.send("x\r")
            t.expect("x\x1b[")
            time.sleep(0.3)
            t.read(1)
            size = len(t.seen)
            self.assertGreater(size, 0)
            t.read(5)
            self.assertGreater(len(t.seen), size)

    def test_interrupt_once_and_twice(self):
        with self.chat(*LONG) as t:
            t.expect(READY)
            t.send("x\r")
            t.expect("\r\n")
            time.sleep(0.3)
            t.send(CTRL_C)
            t.expect("[stopped]")
            t.expect(READY)
            t.send("/help\r")  # it still listens
            t.expect("/clear")
            t.expect(READY)
            t.send(CTRL_C)
            t.expect("again quits")
            t.send(CTRL_C)
            self.assertEqual(t.end(), 130)
            self.assertTrue(t.echoes())

    def test_interrupt_then_again_at_the_prompt(self):
        with self.chat(*LONG) as t:
            t.expect(READY)
            t.send("x\r")
            t.expect("\r\n")
            time.sleep(0.3)
            t.send(CTRL_C)
            t.expect("[stopped]")
            t.expect(READY)
            t.send(CTRL_C)
            self.assertEqual(t.end(), 130)

    def test_interrupt_clears_a_line(self):
        with self.chat("-n", "1") as t:
            t.expect(READY)
            t.send("half a line")
            t.expect("half a line")
            t.send(CTRL_C)
            t.expect(READY)
            t.send("/quit\r")
            self.assertEqual(t.end(), 0)

    def test_editing_wide_characters(self):
        family = "👩‍👩‍👧"
        with self.chat("-n", "1") as t:
            t.expect(READY)
            t.send("你好" + family + "é")
            t.expect("\x1b[10G")  # the prompt, 2 + 2 + 2 + 1 cells, and on the next one
            t.send(LEFT)
            t.expect("\x1b[9G")
            t.send(BACKSPACE)  # all of the emoji, one cluster
            t.expect("> 你好é\x1b[7G")
            t.send(HOME + DELETE)
            t.expect("> 好é\x1b[3G")
            t.send(RIGHT + "日".encode())
            t.expect("> 好日é\x1b[7G")
            t.send(CTRL_C)
            t.expect(READY)

    def test_wraps_at_the_edge(self):
        with self.chat("-n", "1", columns=10) as t:
            t.expect(READY)
            t.send("abcdefg世")  # 2 + 7 cells: the wide one does not fit
            t.expect("> abcdefg\r\n世\x1b[3G")
            t.send(LEFT)
            t.expect("\x1b[1G")
            t.send(LEFT)
            t.expect("\x1b[1A\x1b[9G")

    def test_history(self):
        with self.chat("-n", "1") as t:
            for text in ("first", "second"):
                t.expect(READY)
                t.send(text + "\r")
                t.expect(text)
            t.expect(READY)
            t.send("unsent")
            t.expect("unsent")
            for key, text in ((UP, "second"), (UP, "first"), (DOWN, "second"), (DOWN, "unsent")):
                t.send(key)
                t.expect("> " + text + "\x1b[")

    def test_paste_of_lines_sends_nothing(self):
        with self.chat("-n", "1") as t:
            t.expect("\x1b[?2004h")
            t.expect(READY)
            t.send(b"\x1b[200~one\rtwo\r\nthree\x1b[201~")
            t.expect("> one\r\ntwo\r\nthree\x1b[6G")
            t.send("\r")
            t.expect(READY)

    def test_regen_and_clear(self):
        with self.chat("-n", "4") as t:
            t.expect(READY)
            t.send("/regen\r")
            t.expect("no message")
            t.expect(READY)
            t.send("x\r")
            t.expect("\r\n")
            first = t.expect("\x1b[?2004h")
            t.expect(READY)
            for command in ("/regen\r", "/clear\r", "x\r"):
                t.send(command)
                t.expect("\r\n")
                answer = t.expect("\x1b[?2004h")
                t.expect(READY)
                if command != "/clear\r":
                    self.assertEqual(answer, first, command)  # greedy, the same conversation
            t.send("/bogus\r")
            t.expect("no command /bogus")

    def reply(self, terminal, line):
        """What is written between a line and the next prompt."""
        terminal.send(line + "\r")
        terminal.expect(line + "\x1b[")
        terminal.expect("\r\n")
        answer = terminal.expect("\x1b[?2004h")
        terminal.expect(READY)
        return answer

    def cold(self, text, *options):
        result = call("ml_run", models()["chat.mlb"], "-p", text, *options)
        self.assertEqual(result.code, 0, result)
        return (result.out + b"\n" * (not result.out.endswith(b"\n"))).replace(b"\n", b"\r\n")

    def test_regen_looks_at_no_reply_that_is_gone(self):
        options = ["-n", "16", "--repeat-penalty", "1.8", "--dry-multiplier", "2"]
        want = self.cold("In the beginning", *options)
        with self.chat(*options) as t:
            t.expect(READY)
            for line in ("In the beginning", "/regen", "/regen"):
                self.assertIn(want, self.reply(t, line))
            self.reply(t, "and then")
            self.reply(t, "/clear")
            self.assertIn(want, self.reply(t, "In the beginning"))

    def test_each_reply_has_the_next_seed(self):
        options = ["-n", "12", "-T", "0.7", "--repeat-penalty", "1.3", "--logit-bias", "10-inf"]
        want = [self.cold("x", *options, "--seed", seed) for seed in (7, 8, 9)]
        self.assertEqual(len(set(want)), 3)
        with self.chat(*options, "--seed", "7") as t:
            t.expect(READY)
            for line, reply in zip(("x", "/regen", "/regen"), want):
                self.assertIn(reply, self.reply(t, line))
            self.reply(t, "/clear")
            self.assertIn(want[0], self.reply(t, "x"))

    def test_goes_on_beyond_the_context(self):
        options = ["-n", "20", "--ctx", "64"]
        with self.chat(*options) as t:
            t.expect(READY)
            self.reply(t, "In the beginning")
            for line in ("and the earth was", "without form and void", "and darkness was upon"):
                answer = self.reply(t, line)
                self.assertIn(b"the oldest 2 messages are forgotten", answer)
                self.assertIn(self.cold(line, *options), answer)  # two turns do not fit
            t.send("and darkness was upon the face of the deep " * 3 + "\r")  # too long alone
            t.expect("at most 56")
            t.expect(READY)
            self.assertIn(self.cold(line, *options), self.reply(t, "/regen"))
            t.send(CTRL_D)
            self.assertEqual(t.end(), 0)

    def test_full_context_lives_on(self):
        with self.chat("--ctx", "64", "-T", "1", "--seed", "1") as t:
            t.expect(READY)
            for line in ("x", "and more"):
                self.assertIn(b"is full", self.reply(t, line))
            self.assertIn(b"new conversation", self.reply(t, "/clear"))
            t.send(CTRL_D)
            self.assertEqual(t.end(), 0)

    def test_dumb_terminal(self):
        with self.chat("-n", "2", term="dumb") as t:
            t.expect("> ")
            t.send("hello\n")
            t.expect("> ")
            self.assertNotIn(b"\x1b", t.seen)
            t.send(CTRL_D)
            self.assertEqual(t.end(), 0)

    def test_terminal_is_restored_when_killed(self):
        with self.chat() as t:
            t.expect(READY)
            self.assertFalse(t.echoes())
            t.process.terminate()
            t.end()
            self.assertTrue(t.echoes())

    def test_final_newline_on_a_terminal_only(self):
        with Terminal("ml_run", models()["chat.mlb"], "-p", "x", "-n", "3") as t:
            self.assertEqual(t.end(), 0)
            alone = call("ml_run", models()["chat.mlb"], "-p", "x", "-n", "3").out
            if not alone.endswith(b"\n"):
                alone += b"\n"
            self.assertTrue(t.seen.startswith(alone.replace(b"\n", b"\r\n") + b"prompt: "), t.seen)
