"""/v1/responses: items in, items and events out."""
import json
import unittest

from serving import Server

CALL = {"type": "function_call", "call_id": "c", "name": "f", "arguments": "{}"}
ASK = {"input": "In the beginning", "max_output_tokens": 12, "temperature": 0}


class Responses(unittest.TestCase):
    def setUp(self):
        self.server = Server.get()

    def test_plain_is_the_chat_reply(self):
        answer = self.server.post("/v1/responses", ASK)
        self.assertEqual(answer.status, 200, answer)
        reply = answer.json
        self.assertEqual((reply["object"], reply["status"]), ("response", "incomplete"))
        self.assertEqual(reply["incomplete_details"], {"reason": "max_output_tokens"})
        chat = self.server.chat("In the beginning", max_tokens=12).json
        self.assertEqual(reply["output"][0]["content"][0]["text"], chat["choices"][0]["message"]["content"])
        self.assertEqual(reply["usage"]["input_tokens"], chat["usage"]["prompt_tokens"])
        self.assertEqual(reply["usage"]["output_tokens"], 12)

    def test_events(self):
        answer = self.server.post("/v1/responses", {**ASK, "stream": True})
        events = []
        for block in answer.body.decode().strip().split("\n\n"):
            name, data = block.split("\n")
            event = json.loads(data.removeprefix("data: "))
            self.assertEqual(name, "event: " + event["type"])
            events.append(event)
        self.assertEqual([e["sequence_number"] for e in events], list(range(len(events))))
        kinds = [e["type"] for e in events]
        self.assertEqual(kinds[:4], ["response.created", "response.in_progress", "response.output_item.added",
                                     "response.content_part.added"])
        self.assertEqual(kinds[-4:], ["response.output_text.done", "response.content_part.done",
                                      "response.output_item.done", "response.incomplete"])
        text = "".join(e["delta"] for e in events if e["type"] == "response.output_text.delta")
        self.assertEqual(text, events[-1]["response"]["output"][0]["content"][0]["text"])
        plain = self.server.post("/v1/responses", ASK).json
        self.assertEqual(text, plain["output"][0]["content"][0]["text"])

    def test_items(self):
        items = [{"type": "message", "role": "user", "content": [{"type": "input_text", "text": "In the beginning"}]}]
        plain = self.server.post("/v1/responses", ASK).json["output"][0]["content"]
        self.assertEqual(self.server.post("/v1/responses", {**ASK, "input": items}).json["output"][0]["content"], plain)
        with_system = self.server.post("/v1/responses", {**ASK, "instructions": "Be short"}).json
        self.assertEqual(with_system["instructions"], "Be short")
        self.assertGreater(with_system["usage"]["input_tokens"], 12)

    def test_refusals(self):
        for fields, param in (({"input": None}, "input"), ({"input": 3}, "input"),
                              ({"input": [{"type": "item_reference", "id": "x"}]}, "input[0]"),
                              ({"input": [{"role": "user", "content": [{"type": "input_image"}]}]}, "input[0].content"),
                              ({"previous_response_id": "resp_1"}, "previous_response_id"),
                              ({"background": True}, "background"), ({"truncation": "auto"}, "truncation"),
                              ({"tools": [{"type": "web_search"}]}, "tools[0].type"),
                              ({"max_output_tokens": 0}, "max_output_tokens"), ({"input": []}, "input"),
                              ({"input": [{"type": "reasoning", "summary": []}]}, "input"),
                              ({"instructions": "Be short", "input": [CALL, {**CALL, "arguments": "{"}]}, "input[1].arguments"),
                              ({"input": [{"role": "user", "content": "x"}, {**CALL, "arguments": "[]"}]}, "input[1].arguments"),
                              ({"input": [{"role": "assistant", "content": "x"}, {**CALL, "name": ""}]}, "input[1].name"),
                              ({"input": [{"role": "", "content": "x"}]}, "input[0].role"),
                              ({"tools": [{"type": "function", "name": "f", "parameters": 3}]}, "tools[0].parameters"),
                              ({"tool_choice": {"type": "function", "name": ""}, "tools": [{"type": "function", "name": "f"}]}, "tool_choice.name"),
                              ({"text": {"format": {"type": "xml"}}}, "text.format.type"),
                              ({"text": {"format": {"type": "json_schema", "name": "x"}}}, "text.format.schema"),
                              ({"text": {"format": {"type": "json_schema", "schema": {"type": "thing"}}}}, "text.format.schema"),
                              ({"response_format": {"type": "xml"}}, "response_format.type")):
            for stream in (False, True):
                answer = self.server.post("/v1/responses", {**ASK, "stream": stream, **fields})
                self.assertEqual((answer.status, answer.error["param"]), (400, param), (fields, answer))
                self.assertTrue(answer.error["message"].startswith(param), answer)

    def text(self, **fields):
        answer = self.server.post("/v1/responses", {**ASK, **fields})
        self.assertEqual(answer.status, 200, (fields, answer))
        return "".join(part["text"] for item in answer.json["output"] for part in item["content"])

    def test_what_a_reply_must_be_is_not_dropped(self):
        both = {"grammar": 'root ::= "zz"', "json_schema": {"const": 1}}
        for stream in (False, True):
            answer = self.server.post("/v1/responses", {**ASK, **both, "stream": stream})
            self.assertEqual((answer.status, answer.error["param"]), (400, "grammar"))
        self.assertEqual(self.text(grammar='root ::= "zz"'), "zz")
        self.assertEqual(self.text(json_schema={"const": 1}), "1")
        schema = {"type": "json_schema", "json_schema": {"name": "one", "schema": {"const": 1}}}
        self.assertEqual(self.text(response_format=schema), "1")
        for fields, param in (({"grammar": ""}, "grammar"), ({"json_schema": {"type": "thing"}}, "json_schema"),
                              ({"response_format": schema, "text": {"format": {"type": "json_object"}}}, "response_format"),
                              ({"grammar": 'root ::= "x"', "text": {"format": {"type": "json_object"}}}, "grammar")):
            answer = self.server.post("/v1/responses", {**ASK, **fields})
            self.assertEqual((answer.status, answer.error["param"]), (400, param), answer)

    def test_sampling_is_that_of_chat(self):
        """Every field of the table has the effect that it has there."""
        plain = {"temperature": 1, "seed": 3}

        def chat(**fields):
            answer = self.server.chat("In the beginning", max_tokens=12, **{**plain, **fields})
            return answer.json["choices"][0]["message"]["content"]

        whole = chat()
        changed = 0
        for fields in ({"stop": whole[3:5]}, {"typical_p": 0.1}, {"top_n_sigma": 0.1}, {"xtc_probability": 1, "xtc_threshold": 0.001},
                       {"dynatemp_range": 0.9}, {"dynatemp_range": 0.9, "dynatemp_exponent": 3}, {"mirostat": 2, "mirostat_tau": 1, "mirostat_eta": 0.5},
                       {"repetition_penalty": 3}, {"repeat_penalty": 3, "repeat_last_n": 1}, {"top_k": 1}, {"min_p": 0.9}, {"top_p": 0.01},
                       {"presence_penalty": 2}, {"frequency_penalty": 2}, {"logit_bias": {"65": 100}}, {"ignore_eos": True},
                       {"dry_multiplier": 5, "dry_base": 3, "dry_allowed_length": 1, "dry_penalty_last_n": -1, "dry_sequence_breakers": ["q"]}):
            there = chat(**fields)
            self.assertEqual(self.text(**{**plain, **fields}), there, fields)
            changed += there != whole
        self.assertGreater(changed, 8)
        for fields in ({"typical_p": 2}, {"stop": 3}, {"dry_multiplier": -1}, {"mirostat": 1}, {"xtc_probability": 2}, {"ignore_eos": 3},
                       {"repeat_last_n": -2}):
            answer = self.server.post("/v1/responses", {**ASK, **fields})
            self.assertEqual((answer.status, answer.error["param"]), (400, next(iter(fields))), answer)

    def test_what_is_not_done_is_refused_by_name(self):
        for fields in ({"n": 2}, {"best_of": 2}, {"logprobs": True}, {"top_logprobs": 3}, {"include": ["message.output_text.logprobs"]},
                       {"max_tokens": 3}, {"max_completion_tokens": 3}, {"messages": []}, {"reasoning_effort": "low"}, {"functions": [{"name": "f"}]},
                       {"add_generation_prompt": False}, {"continue_final_message": True}, {"modalities": ["audio"]}, {"audio": {}}):
            answer = self.server.post("/v1/responses", {**ASK, **fields})
            self.assertEqual((answer.status, answer.error["code"], answer.error["param"]), (400, "unsupported", next(iter(fields))), answer)
        for fields in ({"n": 1}, {"logprobs": False}, {"top_logprobs": 0}, {"include": ["reasoning.encrypted_content"]}, {"include": None},
                       {"messages": None}, {"max_tokens": None}, {"store": True}, {"functions": []}, {"unknown": 3}, {"user": "u"}):
            self.assertEqual(self.server.post("/v1/responses", {**ASK, **fields}).status, 200, fields)
