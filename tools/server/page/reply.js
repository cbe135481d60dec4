// One reply on its way: sends the request, puts what comes into the message, measures, and says how it ended.
import {complete, errorText} from './api.js';
import {requestMessages, touch} from './conversation.js';
import {requestFields} from './settings.js';

export class Reply {
  // `changed` is called for whatever comes in, `save` each second and at the end.
  constructor(conversation, node, {owner, changed, save}) {
    Object.assign(this, {conversation, node, owner, changed, save});
    this.controller = new AbortController();
    this.progress = null;  // {done, total} tokens of a prompt that is being read
    this.tokens = 0;
    this.error = null;
  }

  stop() {
    this.stopped = true;
    this.controller.abort();
  }

  // Pieces a second so far, or null: nearly the tokens a second, whose exact number the end tells.
  get rate() {
    const seconds = (performance.now() - this.firstAt) / 1000;
    return this.tokens > 3 && seconds > 0.3 ? (this.tokens - 1) / seconds : null;
  }

  async run() {
    const {node, conversation} = this;
    Object.assign(node, {state: 'running', owner: this.owner, beat: Date.now(), error: null});
    const request = {
      ...requestFields(conversation.settings),
      ...(node.model ? {model: node.model} : {}),
      messages: requestMessages(conversation, conversation.nodes[node.parent]),
      stream: true,
      stream_options: {include_usage: true},
      return_progress: true,
    };
    const timer = setInterval(() => { node.beat = Date.now(); this.keep(); }, 1000);
    this.sentAt = performance.now();
    try {
      for await (const chunk of complete(request, this.controller.signal)) {
        this.take(chunk);
        this.changed();
      }
      node.state = 'done';
    } catch (error) {
      node.state = this.stopped ? 'stopped' : 'failed';
      if (!this.stopped) {
        if (!error.kind) console.error(error);
        this.error = error;
        node.error = error.kind ? errorText(error) : String(error.message);
      }
    } finally {
      clearInterval(timer);
      this.measure();
      delete node.owner;
      delete node.beat;
      this.keep();
      this.changed();
    }
  }

  keep() {
    touch(this.conversation, this.node);
    this.save();
  }

  take(chunk) {
    const {node} = this;
    const {figures} = node;
    if (chunk.prompt_progress) this.progress = {done: chunk.prompt_progress.processed, total: chunk.prompt_progress.total};
    if (Number.isFinite(chunk.seed)) figures.seed = chunk.seed;
    if (chunk.usage) {
      figures.promptTokens = chunk.usage.prompt_tokens;
      figures.replyTokens = chunk.usage.completion_tokens;
      figures.cachedTokens = chunk.usage.prompt_tokens_details?.cached_tokens ?? 0;
    }
    if (chunk.timings?.predicted_n > 1 && chunk.timings.predicted_ms > 0) {
      figures.tokensPerSecond = chunk.timings.predicted_n / chunk.timings.predicted_ms * 1000;
    }
    const choice = chunk.choices?.[0];
    if (choice?.finish_reason) node.finish = choice.finish_reason;
    const delta = choice?.delta;
    if (!delta) return;
    const now = performance.now();
    if (delta.reasoning_content || delta.content || delta.tool_calls) {
      this.firstAt ??= now;
      this.lastAt = now;
      this.progress = null;
      this.tokens++;
    }
    if (delta.reasoning_content) {
      node.reasoning += delta.reasoning_content;
      figures.thinkingSeconds = (now - this.firstAt) / 1000;
    }
    if (delta.content) node.content += delta.content;
    for (const call of delta.tool_calls ?? []) {
      const known = node.calls[call.index ?? node.calls.length] ??= {id: '', name: '', arguments: ''};
      known.id = call.id ?? known.id;
      known.name += call.function?.name ?? '';
      known.arguments += call.function?.arguments ?? '';
    }
  }

  measure() {
    const {figures} = this.node;
    if (this.firstAt === undefined) return;
    figures.firstTokenSeconds = (this.firstAt - this.sentAt) / 1000;
    const tokens = figures.replyTokens ?? this.tokens;
    const seconds = (this.lastAt - this.firstAt) / 1000;
    if (figures.tokensPerSecond === undefined && tokens > 1 && seconds > 0) figures.tokensPerSecond = (tokens - 1) / seconds;
  }
}
