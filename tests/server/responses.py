"""/v1/responses: items in, items and events out."""
import json
import unittest

from serving import Server

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
                              ({"max_output_tokens": 0}, "max_output_tokens")):
            answer = self.server.post("/v1/responses", {**ASK, **fields})
            self.assertEqual((answer.status, answer.error["param"]), (400, param), answer)
