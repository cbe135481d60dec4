// Server-sent events out of a response, and what can go wrong with a request as one kind of error.

// What went wrong, for errorText(): kind is 'network', 'key', 'busy', 'context', 'request', 'server' or 'cut'.
export class RequestError extends Error {
  constructor(kind, message, details = {}) {
    super(message);
    this.kind = kind;
    this.details = details;
  }
}

const KINDS = {401: 'key', 403: 'key', 429: 'busy', 503: 'busy'};

export function errorOf(body, status, retryAfter = null) {
  const error = body?.error ?? {};
  const message = typeof error === 'string' ? error : String(error.message ?? '');
  const context = error.code === 'context_length_exceeded' || error.type === 'exceed_context_size_error';
  const kind = context ? 'context' : KINDS[status] ?? (status >= 400 && status < 500 ? 'request' : 'server');
  const seconds = Number(retryAfter);
  return new RequestError(kind, message, {status, param: error.param, promptTokens: error.n_prompt_tokens, context: error.n_ctx,
    retryAfter: retryAfter !== null && Number.isFinite(seconds) ? seconds : null});
}

// Bytes -> the data of each event. A line may end in \n, \r\n or \r; comments (keep-alives) and other fields are passed over.
export async function* events(stream) {
  const reader = stream.pipeThrough(new TextDecoderStream()).getReader();
  let rest = '';
  let data = [];
  try {
    for (;;) {
      const {done, value} = await reader.read();
      rest += value ?? '';
      const lines = rest.split(/\r\n|\n|\r(?!$)/);
      rest = done ? '' : lines.pop();
      for (const line of lines) {
        if (line === '') {
          if (data.length) yield data.join('\n');
          data = [];
        } else if (line.startsWith('data:')) {
          data.push(line.slice(line[5] === ' ' ? 6 : 5));
        }
      }
      if (done) {
        if (data.length) yield data.join('\n');
        return;
      }
    }
  } finally {
    await reader.cancel().catch(() => {});
  }
}
