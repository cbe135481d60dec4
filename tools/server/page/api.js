// The server's interface as far as the page uses it. Addresses are relative, so a proxy may put the page below a path.
import {RequestError, errorOf, events} from './stream.js';

const KEY = 'krafla.key';

export const key = {
  // For this tab alone unless it is to be remembered.
  get: () => sessionStorage.getItem(KEY) ?? localStorage.getItem(KEY) ?? '',
  set(value, remember) {
    localStorage.removeItem(KEY);
    sessionStorage.removeItem(KEY);
    if (value) (remember ? localStorage : sessionStorage).setItem(KEY, value);
  },
};

async function send(path, options = {}) {
  const headers = {...(options.body ? {'Content-Type': 'application/json'} : {})};
  if (key.get()) headers.Authorization = `Bearer ${key.get()}`;
  let response;
  try {
    response = await fetch(path, {...options, headers, cache: 'no-store', credentials: 'same-origin'});
  } catch (error) {
    if (error.name === 'AbortError') throw error;
    throw new RequestError('network', error.message);
  }
  if (response.ok) return response;
  let body = null;
  try {
    body = await response.json();
  } catch {
    // A proxy's page, say: the status alone tells.
  }
  throw errorOf(body, response.status, response.headers.get('Retry-After'));
}

// [{id, context}]: the models that the server has, with the positions that a conversation has, or null.
export async function models() {
  const {data} = await (await send('v1/models')).json();
  const list = data.map((model) => ({id: String(model.id), context: model.meta?.n_ctx ?? null}));
  if (list.length && list.every((model) => model.context === null)) {
    try {
      const props = await (await send('props')).json();
      const context = props.default_generation_settings?.n_ctx ?? null;
      for (const model of list) model.context = context;
    } catch {
      // Without it the page shows no share of the context.
    }
  }
  return list;
}

// Yields the chunks of a streamed chat completion; ends normally only where the server said that it is complete.
export async function* complete(request, signal) {
  const response = await send('v1/chat/completions', {method: 'POST', body: JSON.stringify(request), signal});
  const source = events(response.body);
  let finished = false;
  try {
    for (;;) {
      const {done, value: data} = await source.next();
      if (done) break;
      if (data === '[DONE]') {
        source.next().catch(() => {});  // not waited for: the response ends by itself, and its connection serves again
        return;
      }
      const chunk = parse(data);
      finished ||= Boolean(chunk.choices?.[0]?.finish_reason);
      yield chunk;
    }
  } catch (error) {
    source.return();
    if (error instanceof RequestError || error.name === 'AbortError') throw error;
    throw new RequestError('cut', error.message);
  }
  if (!finished) throw new RequestError('cut', '');
}

function parse(data) {
  let chunk;
  try {
    chunk = JSON.parse(data);
  } catch {
    throw new RequestError('server', `an event that is no JSON: ${data.slice(0, 80)}`);
  }
  if (chunk.error) throw errorOf(chunk, Number(chunk.error.code) || 500);
  return chunk;
}

// What happened and what can be done about it, in words.
export function errorText({kind, message, details}) {
  const said = message ? ` The server says: ${message}` : '';
  switch (kind) {
    case 'network': return 'The server cannot be reached. Is it still running?';
    case 'key': return `The server wants an API key, or another one.${said}`;
    case 'busy': return `The server is busy.${details.retryAfter ? ` It asks for ${details.retryAfter} s of patience.` : ''}${said}`;
    case 'context':
      return 'The conversation is longer than the model’s context' +
        `${details.promptTokens && details.context ? ` (${details.promptTokens} of ${details.context} tokens)` : ''}. ` +
        `Edit an earlier message or begin a new conversation.${said}`;
    case 'request': return `The server refused the request.${said || ` Status ${details.status}.`}`;
    case 'cut': return 'The connection ended before the reply was complete.';
    default: return `The server failed.${said || ` Status ${details.status}.`}`;
  }
}
