"""The Python package, as it is installed. Usage: test_krafla.py MODEL MIXTURE [TestClass.test]

MODEL: a small .mlb with a tokenizer and a template (tests/data/models/tiny-chat, converted). MIXTURE: one of experts
(tests/data/models/qwen3_moe, converted).
"""
import asyncio
import gc
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import threading
import time
import unittest

import krafla
import numpy as np

MODEL = sys.argv.pop(1)
MIXTURE = sys.argv.pop(1)
TEXT = "In the beginning God created the heaven and the earth."


def resident_kb():
    with open("/proc/self/statm", encoding="ascii") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE") // 1024


class Basics(unittest.TestCase):
    def setUp(self):
        self.model = krafla.Model(MODEL, threads=1)
        self.session = self.model.session(context=256)

    def test_text_and_ids(self):
        ids = self.model.encode(TEXT)
        self.assertEqual(self.model.decode(ids), TEXT)
        self.session.append(TEXT)
        self.assertEqual(self.session.ids, ids)
        self.assertEqual(len(self.session), len(ids))

    def test_logits_are_a_view_that_outlives_the_session(self):
        self.session.append(TEXT)
        view = self.session.logits
        copy = view.copy()
        self.assertEqual(view.shape, (self.model.info["n_vocab"],))
        self.assertFalse(view.flags.writeable)
        self.assertFalse(view.flags.owndata)
        self.session.close()
        del self.session
        gc.collect()
        np.testing.assert_array_equal(view, copy)

    def test_rows(self):
        ids = self.model.encode(TEXT)
        rows = self.session.logits_of(ids)
        self.assertEqual(rows.shape, (len(ids), self.model.info["n_vocab"]))
        np.testing.assert_array_equal(rows[-1], self.session.logits)
        with self.model.session() as other:
            hidden = other.hidden_of(ids)
            self.assertEqual(hidden.shape, (len(ids), self.model.info["n_embd"]))
            self.assertRaises(krafla.StateError, lambda: other.logits)
            other.truncate(0)
            np.testing.assert_array_equal(other.embed(ids, pool="last"), hidden[-1])
            other.truncate(0)
            self.assertAlmostEqual(float(np.linalg.norm(other.embed(ids, normalize=True))), 1, 5)

    def test_generate(self):
        self.session.append(TEXT)
        with self.session.fork() as fork:
            tokens = list(fork.generate(krafla.Sampler(3, temperature=2), max_tokens=20, ignore_end=True,
                                        top=2))
            self.assertEqual(fork.finish, "length")
        self.assertEqual(sum(token.id >= 0 for token in tokens), 20)
        self.assertLessEqual(tokens[0].logprob, 0)
        self.assertEqual(len(tokens[0].top), 2)
        text = "".join(token.text for token in tokens)
        stop = text[5:9]
        stopped = "".join(token.text for token in self.session.generate(
            krafla.Sampler(3, temperature=2), ignore_end=True, stop=[stop]))
        self.assertEqual(stopped, text[:text.index(stop)])
        self.assertEqual(self.session.finish, "stop")

    def test_chat(self):
        chat = krafla.Chat(self.model)
        chat.add("user", "In the beginning")
        events = list(chat.reply(self.session, max_tokens=8, ignore_end=True))
        self.assertTrue(all(event.kind == "content" for event in events))
        text = "".join(event.text for event in events)
        self.assertEqual(chat.messages[1], {"role": "assistant", "content": text})
        chat.add("user", "And?")
        for _ in chat.reply(self.session, max_tokens=8, ignore_end=True):
            break
        self.assertEqual(len(chat.messages), 4)
        self.assertGreater(self.session.reused, 0)
        chat.truncate(1)
        self.assertEqual(self.model.chat(chat.messages), chat.encode())
        self.assertRaises(krafla.UnsupportedError, chat.add,
                          {"role": "user", "content": [{"type": "image_url", "image_url": "x"}]})
        chat.set_tools([{"type": "function", "function": {"name": "add"}}])
        self.assertEqual(chat.call_form("add").form, "json")
        call = list(chat.parse('{"name": "add", "arguments": {"a": 1}}'))
        self.assertEqual([event.kind for event in call], ["call", "arguments", "call_end"])
        self.assertEqual(chat.messages[-1]["tool_calls"][0]["function"], {"name": "add", "arguments": {"a": 1}})
        full = krafla.Chat(self.model, [{"role": "user", "content": "x" * 3000}])
        self.assertRaises(krafla.ContextFull, lambda: list(full.reply(self.session)))
        self.assertRaises(ValueError, krafla.Chat, self.model, full="x")

    def test_sampler_stages(self):
        names = [stage.name for stage in krafla.stages() if stage.in_default_chain]
        self.assertEqual(names[:4], ["logit_bias", "custom", "penalties", "dry"])
        self.assertEqual(names[-1], "temperature")
        logits = np.array([1, 4, 2, 3], dtype=np.float32)
        self.assertEqual(krafla.Sampler(logit_bias={1: -float("inf")}).sample(logits), 3)
        sampler = krafla.Sampler(1, top_k=2, temperature=0.5)
        for _ in range(50):
            self.assertIn(sampler.sample(logits), (1, 3))
        self.assertEqual([id for id, _ in sampler.top(9)], [1, 3])
        self.assertAlmostEqual(sampler.top(9)[1][1] - sampler.top(9)[0][1], -2, 5)
        self.assertEqual(sampler.add("temperature", t=0).sample(logits), 1)
        self.assertRaises(ValueError, krafla.Sampler, logit_bias={1: float("nan")})
        self.assertRaises(ValueError, krafla.Sampler, dry_multiplier=float("nan"))
        krafla.Sampler(dry_multiplier=0.8, mirostat_tau=3).break_at(self.model).sample(logits)

    def test_custom_stage(self):
        seen = []

        def even_only(ids, values, history):
            seen.append(list(history))
            values[ids % 2 == 1] = -np.inf

        self.session.append(TEXT)
        with self.session.fork() as fork:
            tokens = list(fork.generate(krafla.Sampler(3, temperature=2, custom=even_only), max_tokens=10,
                                        ignore_end=True, top=3))
        ids = [token.id for token in tokens if token.id >= 0]
        self.assertTrue(all(id % 2 == 0 for id in ids))
        self.assertTrue(all(id % 2 == 0 for token in tokens for id, _ in token.chain_top))
        self.assertEqual(seen[3], ids[:3])

        def broken(ids, values, history):
            raise ZeroDivisionError

        with self.assertRaises(ZeroDivisionError):
            list(self.session.generate(krafla.Sampler(custom=broken), max_tokens=2))
        self.assertRaises(ZeroDivisionError, krafla.Sampler(custom=broken).sample, self.session.logits)

        def nothing(ids, values, history):
            values[:] = -np.inf

        self.assertRaises(ValueError, krafla.Sampler(custom=nothing).sample, self.session.logits)

    def test_leaving_the_loop_keeps_the_session(self):
        self.session.append(TEXT)
        n = len(self.session)
        for _ in self.session.generate(ignore_end=True):
            break
        self.assertGreaterEqual(len(self.session), n)
        self.session.append(TEXT)

    def test_save_edit_truncate(self):
        self.session.append(TEXT)
        logits = self.session.logits.copy()
        for cache in (True, False):
            with self.model.session(context=256) as other:
                other.restore(self.session.save(cache=cache))
                np.testing.assert_array_equal(other.logits, logits)
        ids = self.session.ids
        self.session.edit(ids[:5] + [7] + ids[6:])
        self.assertEqual(self.session.reused, 5)
        self.session.truncate(3)
        self.assertEqual(self.session.ids, ids[:3])

    def test_errors(self):
        self.assertRaises(krafla.NotFound, krafla.Model, "/nonexistent.mlb")
        self.assertRaises(ValueError, self.session.append, [-1])
        self.assertRaises(krafla.ContextFull, self.session.append, [1] * 300)
        self.assertRaises(krafla.ModelError, self.session.restore, b"x" * 200)
        self.assertRaises(MemoryError, krafla.Model, MODEL, load="read", budget=1000)
        self.assertRaises(krafla.NotFound, krafla.Sampler().add, "no_such_stage")
        self.assertRaises(ValueError, krafla.Sampler, top_p=2.0)
        try:
            krafla.Model("/nonexistent.mlb")
        except krafla.Error as error:
            self.assertEqual(error.name, "KRAFLA_E_NOT_FOUND")
        self.session.close()
        self.assertRaises(krafla.StateError, self.session.append, [1])

    def test_progress_that_raises(self):
        class Enough(Exception):
            pass

        def stop(done, total):
            raise Enough

        self.assertRaises(Enough, krafla.Model, MODEL, load="read", progress=stop)
        with self.model.session() as session:
            self.assertRaises(Enough, session.append, [1] * 50, stop)
            self.assertEqual(len(session), 0)

    def test_constraints(self):
        import json
        schema = {"type": "object", "properties": {"n": {"type": "integer", "minimum": 1, "maximum": 9},
                                                   "w": {"enum": ["a", "b"]}},
                  "required": ["n", "w"], "additionalProperties": False}
        constraint = krafla.Constraint.json_schema(self.model, schema, space="none", in_order=True)
        self.session.append(TEXT)
        for seed in range(4):
            with self.session.fork() as fork:
                sampler = krafla.Sampler(seed, temperature=1.5)
                text = "".join(t.text for t in fork.generate(sampler, max_tokens=60, constraint=constraint))
                self.assertEqual(fork.finish, "complete")
                value = json.loads(text)
                self.assertEqual(list(value), ["n", "w"])
                self.assertIn(value["n"], range(1, 10))
        with self.session.fork() as fork:
            made = krafla.Constraint.choices(self.model, ["north", "south"])
            self.assertIn("".join(t.text for t in fork.generate(constraint=made)), ("north", "south"))
        for make, text in ((krafla.Constraint.regex, "(x"), (krafla.Constraint.grammar, "root ::= y")):
            self.assertRaises(krafla.ArgumentError, make, self.model, text)
        self.assertRaises(krafla.UnsupportedError, krafla.Constraint.json_schema, self.model, {"contains": {}})
        self.assertRaises(TypeError, krafla.Constraint)
        chat = krafla.Chat(self.model, [{"role": "user", "content": "Go."}],
                           tools=[{"name": "go", "parameters": {"type": "object", "properties": {}}}])
        krafla.Constraint.calls(chat, "go")
        self.assertRaises(krafla.NotFound, krafla.Constraint.calls, chat, "fly")

    def test_scheduler(self):
        prompts = [TEXT, TEXT + " And the earth was", "He said", "In the"]
        alone = []
        for i, prompt in enumerate(prompts):
            session = self.model.session(context=256)
            session.append(prompt)
            alone.append([(t.id, t.text, t.logprob, t.top) for t in session.generate(
                krafla.Sampler(i, temperature=1), max_tokens=20, ignore_end=True, top=2)])
        with krafla.Scheduler(self.model, context=256, parallel=3) as scheduler:
            requests = [scheduler.add(prompt, krafla.Sampler(i, temperature=1), max_tokens=20, ignore_end=True, top=2)
                        for i, prompt in enumerate(prompts)]
            for request, wanted, prompt in zip(requests, alone, prompts):
                self.assertEqual([(t.id, t.text, t.logprob, t.top) for t in request], wanted)
                self.assertEqual((request.finish, len(request)), ("length", 20))
                self.assertEqual(request.prompt_tokens, len(self.model.encode(prompt)))
            again = scheduler.add(TEXT, max_tokens=1)
            again.text()
            self.assertGreater(again.reused, 0)
            info = scheduler.info
            self.assertEqual(info.waiting, 0)
            self.assertGreater(info.reused_tokens, 0)
            constraint = krafla.Constraint.choices(self.model, ["yes", "no"])
            self.assertIn(scheduler.add("Well?", constraint=constraint).text(), ("yes", "no"))
            waiting = [scheduler.add(TEXT, max_tokens=200, ignore_end=True) for _ in range(300)]
            waiting[-1].cancel()
            with self.assertRaises(krafla.Cancelled):
                waiting[-1].text()
            with self.assertRaises(krafla.ContextFull):
                scheduler.add([1] * 300)
            with self.assertRaises(krafla.UnsupportedError):
                scheduler.add(TEXT, krafla.Sampler(custom=lambda ids, values, history: None))
        with self.assertRaises(krafla.Cancelled):
            waiting[-2].text()
        with tempfile.TemporaryDirectory() as folder:
            texts = pathlib.Path(folder) / "texts"
            for reused in (False, True):
                with krafla.Scheduler(self.model, context=256, folder=texts) as scheduler:
                    request = scheduler.add(prompts[0], krafla.Sampler(0, temperature=1), max_tokens=20, ignore_end=True)
                    self.assertEqual([t.id for t in request], [t[0] for t in alone[0]])
                    self.assertEqual(request.reused > 0, reused)
        with self.assertRaises(krafla.StateError):
            scheduler.add(TEXT)

        async def both():
            async def text(request):
                return "".join([token.text async for token in request])
            with krafla.Scheduler(self.model, context=256) as scheduler:
                return await asyncio.gather(*(text(scheduler.add(p, max_tokens=10, ignore_end=True)) for p in prompts[:2]))
        texts = asyncio.run(both())
        for prompt, got in zip(prompts, texts):
            session = self.model.session(context=256)
            session.append(prompt)
            self.assertEqual(got, "".join(t.text for t in session.generate(max_tokens=10, ignore_end=True)))

    def test_llama(self):
        with krafla.Llama(MODEL, n_ctx=256, seed=1) as llm:
            self.assertEqual(llm.detokenize(llm.tokenize(b"In the", add_bos=False)), b"In the")
            whole = llm(TEXT, max_tokens=8, temperature=0)
            parts = list(llm(TEXT, max_tokens=8, temperature=0, stream=True))
            self.assertEqual(whole["choices"][0]["text"],
                             "".join(part["choices"][0]["text"] for part in parts))
            chat = llm.create_chat_completion([{"role": "user", "content": "In the"}], max_tokens=4)
            self.assertEqual(chat["choices"][0]["message"]["role"], "assistant")
            self.assertIn(chat["choices"][0]["finish_reason"], ("stop", "length"))
            chat = llm.create_chat_completion(
                [{"role": "user", "content": "x"}], max_tokens=40,
                response_format={"type": "json_schema", "json_schema": {"schema": {"enum": ["yes", "no"]}}})
            self.assertIn(chat["choices"][0]["message"]["content"], ('"yes"', '"no"'))
            self.assertEqual(chat["choices"][0]["finish_reason"], "stop")
            grammar = krafla.LlamaGrammar.from_string('root ::= "a" [0-9]{3}')
            self.assertRegex(llm("x", max_tokens=9, grammar=grammar)["choices"][0]["text"], "^a[0-9]{3}$")
            self.assertEqual(len(llm.embed("In the")), self.model.info["n_embd"])
            self.assertGreaterEqual(llm.token_bos(), 0)
            self.assertEqual(llm("", max_tokens=3)["usage"]["prompt_tokens"], 1)
            self.assertRaises(krafla.StateError, llm, [], max_tokens=3)
            stream = llm(TEXT, max_tokens=4, stream=True)
            next(stream)
            with self.assertRaises(krafla.StateError):
                llm(TEXT, max_tokens=4)
            self.assertTrue(list(stream))
            llm(TEXT, max_tokens=4)


class Living(unittest.TestCase):
    def test_load_and_unload_keep_memory_flat(self):
        def cycle():
            with krafla.Model(MODEL, threads=2, load="read") as model, model.session() as session:
                session.append(TEXT)
                list(session.generate(max_tokens=3))

        for _ in range(20):
            cycle()
        gc.collect()
        before = resident_kb()
        for _ in range(200):
            cycle()
        gc.collect()
        # The allocator's own movement is some 800 KB either way; a model that stayed would be 20 MB.
        self.assertLess(resident_kb() - before, 4096, "KB more after 200 cycles")

    def test_two_threads(self):
        model = krafla.Model(MODEL, threads=1)
        shared = model.session(context=256)
        refused = []
        texts = []

        def work(session):
            try:
                for _ in range(20):
                    session.append(TEXT)
                    text = "".join(token.text for token in session.generate(max_tokens=5))
                    session.truncate(0)
                    # Between two calls of one thread the other may have changed what both use.
                    if session is not shared:
                        texts.append(text)
            except krafla.StateError as error:
                refused.append(error)

        threads = [threading.Thread(target=work, args=(session,))
                   for session in (shared, shared, model.session(), model.session())]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(60)
            self.assertFalse(thread.is_alive(), "frozen")
        self.assertEqual((len(texts), len(set(texts))), (40, 1))
        shared.truncate(0)
        shared.append(TEXT)
        self.assertEqual("".join(token.text for token in shared.generate(max_tokens=5)), texts[0])

    def test_asyncio(self):
        model = krafla.Model(MODEL, threads=1)

        async def speak():
            session = model.session(context=256)
            session.append(TEXT)
            return [token.id async for token in session.agenerate(max_tokens=10, ignore_end=True)]

        async def main():
            replies = await asyncio.gather(speak(), speak(), speak())
            session = model.session(context=256)
            session.append(TEXT)

            async def endless():
                async for _ in session.agenerate(krafla.Sampler(1, temperature=3), ignore_end=True):
                    pass

            task = asyncio.ensure_future(endless())
            await asyncio.sleep(0)
            task.cancel()
            try:
                await task
            except asyncio.CancelledError:
                pass
            return replies

        replies = asyncio.run(main())
        self.assertEqual(replies[0], replies[1])
        self.assertEqual(replies[0], replies[2])

    def test_interrupt(self):
        model = krafla.Model(MODEL, threads=1)
        session = model.session(context=1 << 9)
        session.append(TEXT)
        # A shell ignores it in what it starts in the background, and Python then leaves it so.
        self.addCleanup(signal.signal, signal.SIGINT, signal.signal(signal.SIGINT, signal.default_int_handler))
        threading.Timer(0.05, lambda: os.kill(os.getpid(), signal.SIGINT)).start()
        started = time.monotonic()
        with self.assertRaises(KeyboardInterrupt):
            while True:
                for _ in session.generate(krafla.Sampler(1, temperature=3), ignore_end=True):
                    pass
                session.truncate(5)
        self.assertLess(time.monotonic() - started, 1)
        session.truncate(5)
        session.append(TEXT)
        # Also in a call that reads much, which is done whole or not at all.
        session = model.session(context=1 << 10, batch=1)
        texts = [[start + i % 400 for i in range(1000)] for start in (1, 2)]
        threading.Timer(0.05, lambda: os.kill(os.getpid(), signal.SIGINT)).start()
        with self.assertRaises(KeyboardInterrupt):
            while True:
                for text in texts:
                    session.edit(text)
        self.assertIn(session.ids, ([], *texts))

    def test_close_while_another_thread_works(self):
        model = krafla.Model(MODEL, threads=1)
        text = [1 + i % 400 for i in range(1000)]
        for work in (lambda session: session.edit(text), lambda session: session.embed(text)):
            session = model.session(context=1 << 10, batch=1)
            thread = threading.Thread(target=work, args=(session,))
            thread.start()
            time.sleep(0.02)
            session.close()
            thread.join()
            with self.assertRaises(krafla.StateError):
                session.append(TEXT)

    def test_exit_with_live_objects(self):
        program = f"""
import krafla
model = krafla.Model({MODEL!r}, threads=2)
session = model.session()
session.append({TEXT!r})
reply = session.generate(ignore_end=True)
next(reply)
view = session.logits
keep = [model, session, reply, view]
"""
        done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60,
                              check=False)
        self.assertEqual((done.returncode, done.stdout, done.stderr), (0, "", ""))

    def test_the_set_is_chosen_at_import(self):
        done = subprocess.run([sys.executable, "-c", "import krafla; print(krafla.isa)"],
                              env={**os.environ, "KRAFLA_ISA": krafla.isa}, capture_output=True, text=True,
                              check=True)
        self.assertEqual(done.stdout.strip(), krafla.isa)
        done = subprocess.run([sys.executable, "-c", "import krafla"],
                              env={**os.environ, "KRAFLA_ISA": "z80"}, capture_output=True, text=True,
                              check=False)
        self.assertIn("ImportError", done.stderr)


class Streaming(unittest.TestCase):
    IDS = [(7 * i * i + 3) % 512 for i in range(40)]

    def logits(self, **options):
        with krafla.Model(MIXTURE, **options) as model, model.session(context=64) as session:
            session.append(self.IDS)
            return session.logits.copy(), model.residency if "ram_budget" in options else None

    def test_experts_read_from_the_file(self):
        want, _ = self.logits()
        with self.assertRaisesRegex(MemoryError, "want at least ([0-9]+)") as refused:
            krafla.Model(MIXTURE, ram_budget=1)
        least = int(str(refused.exception).split("want at least ")[1].split(":")[0])
        with tempfile.TemporaryDirectory() as folder:
            heat_map = os.path.join(folder, "heat")
            got, info = self.logits(ram_budget=least, reader="cache", heat_map=heat_map)
            np.testing.assert_array_equal(got, want)
            self.assertTrue(os.path.exists(heat_map))
        self.assertEqual(info["reader"], "cache")
        self.assertLess(info["slots"], info["experts"])
        self.assertGreater(info["misses"], 0)
        self.assertRaises(ValueError, krafla.Model, MIXTURE, ram_budget=0, reader="tape")

    def test_trim(self):
        with krafla.Model(MIXTURE, ram_budget=1 << 30) as model:
            full = model.residency["slab_bytes"]
            self.assertLess(model.trim(0), full)
            self.assertEqual(model.trim(), full)
        with krafla.Model(MIXTURE) as model:
            self.assertRaises(krafla.StateError, model.trim)
            with self.assertRaises(krafla.StateError):
                model.residency.keys()


if __name__ == "__main__":
    unittest.main()
