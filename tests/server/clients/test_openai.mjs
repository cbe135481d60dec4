// The `openai` package of npm against every endpoint of a running ml_server, as test_openai.py does with Python's.
//
// Usage, in the folder that has node_modules: KRAFLA_URL=http://... node --test .../test_openai.mjs
import assert from 'node:assert/strict';
import {createRequire} from 'node:module';
import {test} from 'node:test';

const OpenAI = createRequire(`${process.cwd()}/`)('openai');
const client = new OpenAI({baseURL: `${process.env.KRAFLA_URL}v1`, apiKey: 'none', maxRetries: 0, timeout: 300_000});
const model = (await client.models.list()).data[0].id;
const messages = [{role: 'user', content: 'In the beginning'}];
const weather = {type: 'function', function: {name: 'get_weather', description: 'The "weather" of a <city>: ```json {}```', parameters: {
  type: 'object', properties: {city: {enum: ['Paris', 'Rome']}}, required: ['city'], additionalProperties: false}}};
const time = {type: 'function', function: {name: 'get_time'}};
const schema = {type: 'object', properties: {name: {enum: ['Ada', 'Bob']}, old: {type: 'boolean'}}, required: ['name', 'old'], additionalProperties: false};

const chat = (fields = {}) => client.chat.completions.create({model, messages, max_tokens: 12, temperature: 0, ...fields});
const textOf = async (stream) => {
  let text = '';
  for await (const chunk of stream) text += chunk.choices[0]?.delta.content ?? '';
  return text;
};

test('models', async () => {
  assert.equal((await client.models.retrieve(model)).id, model);
  await assert.rejects(client.models.retrieve('none such'), OpenAI.NotFoundError);
});

test('chat', async () => {
  const reply = await chat();
  assert.equal(reply.choices[0].finish_reason, 'length');
  assert.equal(reply.usage.completion_tokens, 12);
  const again = await chat({messages: [{role: 'user', content: [{type: 'text', text: 'In the '}, {type: 'text', text: 'beginning'}]}]});
  assert.equal(again.choices[0].message.content, reply.choices[0].message.content);
  assert.ok(again.usage.prompt_tokens_details.cached_tokens > 0);
});

test('a stream has the same text, whole or with the helper', async () => {
  const plain = (await chat()).choices[0].message.content;
  const chunks = [];
  for await (const chunk of await chat({stream: true, stream_options: {include_usage: true}})) chunks.push(chunk);
  assert.equal(chunks[0].choices[0].delta.role, 'assistant');
  assert.equal(chunks.map((chunk) => chunk.choices[0]?.delta.content ?? '').join(''), plain);
  assert.equal(chunks.at(-1).usage.completion_tokens, 12);
  assert.equal(chunks.at(-2).choices[0].finish_reason, 'length');
  const helper = client.chat.completions.stream({model, messages, max_tokens: 12, temperature: 0});
  assert.equal(await helper.finalContent(), plain);
});

test('a stream that is left', async () => {
  for (let i = 0; i < 3; i++) {
    const stream = await chat({stream: true, max_tokens: 2000});
    for await (const chunk of stream) {
      assert.ok(chunk.id);
      stream.controller.abort();
      break;
    }
  }
  const controller = new AbortController();
  const asked = client.chat.completions.create({model, messages, max_tokens: 5000}, {signal: controller.signal});
  setTimeout(() => controller.abort(), 30);
  await assert.rejects(asked, OpenAI.APIUserAbortError);
  assert.equal((await chat()).usage.completion_tokens, 12);
});

test('choices, seeds, log-probabilities', async () => {
  const fields = {n: 3, temperature: 1, seed: 5};
  const reply = await chat({...fields, logprobs: true, top_logprobs: 2});
  assert.equal(reply.choices.length, 3);
  for (const choice of reply.choices) {
    assert.equal(choice.logprobs.content.length, 12);
    for (const token of choice.logprobs.content) {
      assert.equal(token.top_logprobs.length, 2);
      assert.ok(token.logprob <= 0);
    }
  }
  const again = await chat(fields);
  assert.deepEqual(again.choices.map((choice) => choice.message.content), reply.choices.map((choice) => choice.message.content));
});

test('tools: auto, none, required, named; streamed too', async () => {
  assert.ok(['length', 'stop', 'tool_calls'].includes((await chat({tools: [weather, time]})).choices[0].finish_reason));
  assert.equal((await chat({tools: [weather], tool_choice: 'none'})).choices[0].message.tool_calls, undefined);
  for (const choice of ['required', {type: 'function', function: {name: 'get_weather'}}]) {
    const fields = {tools: [weather, time], tool_choice: choice, max_tokens: 200};
    const reply = (await chat(fields)).choices[0];
    assert.equal(reply.finish_reason, 'tool_calls');
    const call = reply.message.tool_calls[0];
    const given = JSON.parse(call.function.arguments);
    if (call.function.name === 'get_weather') assert.ok(['Paris', 'Rome'].includes(given.city));
    if (choice !== 'required') assert.equal(call.function.name, 'get_weather');
    const helper = client.chat.completions.stream({model, messages, temperature: 0, ...fields});
    const final = await helper.finalChatCompletion();
    assert.deepEqual(final.choices[0].message.tool_calls[0].function.arguments, call.function.arguments);
  }
});

test('the loop that runs tools by itself', async () => {
  const asked = [];
  const run = {...weather, function: {...weather.function, parse: JSON.parse, function: ({city}) => {
    asked.push(city);
    return 'sunny';
  }}};
  const runner = client.chat.completions.runTools({model, messages, max_tokens: 200, temperature: 0, tools: [run],
    tool_choice: {type: 'function', function: {name: 'get_weather'}}});
  await runner.done();
  assert.ok(asked.length > 0 && asked.every((city) => ['Paris', 'Rome'].includes(city)));
});

test('schemas', async () => {
  const response_format = {type: 'json_schema', json_schema: {name: 'person', strict: true, schema}};
  const person = JSON.parse((await chat({response_format, max_tokens: 200})).choices[0].message.content);
  assert.ok(['Ada', 'Bob'].includes(person.name));
  const object = (await chat({response_format: {type: 'json_object'}, max_tokens: 400, temperature: 1, seed: 1})).choices[0];
  if (object.finish_reason === 'stop') assert.equal(typeof JSON.parse(object.message.content), 'object');
});

test('completions', async () => {
  const prompt = 'In the beginning';
  const one = await client.completions.create({model, prompt, max_tokens: 8, temperature: 0, logprobs: 2, echo: true});
  assert.ok(one.choices[0].text.startsWith(prompt));
  assert.ok(one.choices[0].logprobs.tokens.length >= 8);
  const two = await client.completions.create({model, prompt: ['In the', 'beginning'], max_tokens: 4, temperature: 0});
  assert.deepEqual(two.choices.map((choice) => choice.index), [0, 1]);
  let text = prompt;
  for await (const chunk of await client.completions.create({model, prompt, max_tokens: 8, temperature: 0, stream: true})) text += chunk.choices[0]?.text ?? '';
  assert.equal(text, one.choices[0].text);
});

test('embeddings', async () => {
  const plain = await client.embeddings.create({model, input: ['one', 'two'], encoding_format: 'float'});
  const packed = await client.embeddings.create({model, input: ['one', 'two']});  // base64, the library's own default
  plain.data.forEach((row, i) => {
    assert.ok(Math.abs(row.embedding.reduce((sum, x) => sum + x * x, 0) - 1) < 1e-4);
    row.embedding.forEach((x, k) => assert.ok(Math.abs(x - packed.data[i].embedding[k]) < 1e-6));
  });
});

test('responses', async () => {
  const fields = {model, input: 'In the beginning', max_output_tokens: 12, temperature: 0};
  const reply = await client.responses.create(fields);
  assert.equal(reply.output_text, (await chat()).choices[0].message.content);
  let text = '';
  let last;
  for await (const event of await client.responses.create({...fields, stream: true})) {
    if (event.type === 'response.output_text.delta') text += event.delta;
    last = event;
  }
  assert.equal(text, reply.output_text);
  assert.equal(last.type, 'response.incomplete');
  const tools = [{type: 'function', name: 'get_weather', strict: true, parameters: weather.function.parameters}];
  const called = await client.responses.create({...fields, tools, tool_choice: 'required', max_output_tokens: 200});
  const call = called.output.find((item) => item.type === 'function_call');
  const next = await client.responses.create({...fields, tools, input: [{role: 'user', content: 'In the beginning'}, call,
    {type: 'function_call_output', call_id: call.call_id, output: 'sunny'}]});
  assert.ok(next.usage.input_tokens > called.usage.input_tokens);
});

test('errors', async () => {
  const long = [{role: 'user', content: 'word '.repeat(50_000)}];
  const image = [{role: 'user', content: [{type: 'image_url', image_url: {url: 'data:x'}}]}];
  for (const [fields, param] of [[{temperature: -1}, 'temperature'], [{max_tokens: 0}, 'max_tokens'], [{messages: []}, 'messages'],
    [{messages: image}, null], [{messages: long}, null]]) {
    for (const stream of [false, true]) {
      await assert.rejects(chat({...fields, stream}), (error) => {
        assert.ok(error instanceof OpenAI.BadRequestError);
        if (param) assert.equal(error.param, param);
        return true;
      });
    }
  }
  await assert.rejects(chat({model: 'none such'}), OpenAI.NotFoundError);
  assert.equal((await chat()).usage.completion_tokens, 12);
});
