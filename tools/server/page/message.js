// One message on the page: what it says, what it cost, what can be done with it.
import {siblings} from './conversation.js';
import {copyText, element} from './dom.js';
import {icon} from './icons.js';
import {MarkdownView, codeBlock} from './markdown.js';

const FINISHES = {length: 'cut at the longest reply', content_filter: 'filtered', tool_calls: 'calls a tool'};
const plural = (count, word) => `${count.toLocaleString()} ${word}${count === 1 ? '' : 's'}`;
const rateText = (rate) => `${rate.toLocaleString(undefined, {maximumFractionDigits: rate < 100 ? 1 : 0})} tokens/s`;

function figuresOf(node) {
  const {figures} = node;
  const parts = [];
  if (node.state === 'stopped') parts.push('stopped');
  else if (FINISHES[node.finish]) parts.push(FINISHES[node.finish]);
  if (figures.replyTokens !== undefined) parts.push(plural(figures.replyTokens, 'token'));
  if (figures.tokensPerSecond) parts.push(rateText(figures.tokensPerSecond));
  if (figures.promptTokens !== undefined) {
    parts.push(`${plural(figures.promptTokens, 'prompt token')}${figures.cachedTokens ? `, ${figures.cachedTokens.toLocaleString()} cached` : ''}`);
  }
  return parts;
}

function details(node) {
  const {figures} = node;
  return [node.model, figures.firstTokenSeconds !== undefined && `first token after ${figures.firstTokenSeconds.toFixed(2)} s`,
    figures.seed !== undefined && `seed ${figures.seed}`].filter(Boolean).join('\n');
}

export class MessageView {
  // actions: {edit(node, text), regenerate(node), choose(node)}
  constructor(conversation, node, actions) {
    Object.assign(this, {conversation, node, actions});
    this.footer = element('div', {class: 'message-foot'});
    this.body = element('div', {class: 'body'});
    const user = node.role === 'user';
    const heading = element('h2', {class: 'sr-only', id: `by-${node.id}`}, user ? 'You' : 'Reply');
    this.article = element('article', {class: `message ${node.role}`, 'aria-labelledby': `by-${node.id}`, 'data-id': node.id}, heading);
    if (user) {
      this.body.setAttribute('dir', 'auto');
    } else {
      this.thinking = element('details', {class: 'thinking', hidden: true},
        this.summary = element('summary', {}), this.thoughts = element('div', {class: 'text thoughts'}));
      this.thoughtsView = new MarkdownView(this.thoughts);
      this.thinking.addEventListener('toggle', () => this.showThoughts());
      this.body.classList.add('text');
      this.view = new MarkdownView(this.body);
      this.calls = element('div', {class: 'calls'});
      this.progress = element('div', {class: 'progress', hidden: true}, element('span', {}), element('progress', {'aria-label': 'Prompt read'}));
      this.failure = element('div', {class: 'failure', hidden: true});
      this.article.append(this.thinking, this.progress);
    }
    this.article.append(this.body);
    if (!user) this.article.append(this.calls, this.failure);
    this.article.append(this.footer);
    this.update(null);
  }

  // Returns how many of the reply's blocks are finished. `reply`: the Reply that writes it now, or null.
  update(reply) {
    const {node} = this;
    let finished = 0;
    if (node.role === 'user') {
      if (!this.editing && this.shown !== node.content) this.body.textContent = this.shown = node.content;
    } else {
      const running = node.state === 'running';
      finished = this.view.update(node.content);
      this.article.classList.toggle('running', running);
      this.article.classList.toggle('waiting', running && !node.content && !node.reasoning && !node.calls.length);
      this.showThinking(running && !node.content && !node.calls.length);
      this.showCalls();
      this.showProgress(reply?.progress);
      this.showFailure();
    }
    this.showFooter(reply);
    return finished;
  }

  showThinking(now) {
    const {node} = this;
    this.thinking.hidden = !node.reasoning;
    if (!node.reasoning) return;
    const seconds = node.figures.thinkingSeconds;
    const text = now ? 'Thinking…' : seconds >= 1 ? `Thought for ${Math.round(seconds)} s` : 'Thoughts';
    if (this.summary.textContent !== text) this.summary.textContent = text;
    this.thinking.classList.toggle('now', now);
    this.showThoughts();
  }

  showThoughts() {  // not laid out while folded
    if (this.thinking.open) this.thoughtsView.update(this.node.reasoning);
  }

  showCalls() {
    const key = JSON.stringify(this.node.calls);
    if (key === this.callsShown) return;
    this.callsShown = key;
    this.calls.replaceChildren(...this.node.calls.filter(Boolean).map((call) => {
      let text = call.arguments;
      try {
        text = JSON.stringify(JSON.parse(text), null, 2);
      } catch {
        // Not all has come, or the model wrote no JSON: as it is.
      }
      return element('section', {class: 'call', 'aria-label': `Call of ${call.name}`},
        element('p', {}, icon('tool'), 'Calls ', element('strong', {}, call.name || '…')), codeBlock(text, 'json'));
    }));
  }

  showProgress(progress) {
    this.progress.hidden = !progress;
    if (!progress) return;
    this.progress.firstChild.textContent = `Reading the prompt: ${progress.done.toLocaleString()} of ${plural(progress.total, 'token')}`;
    Object.assign(this.progress.lastChild, {max: progress.total, value: progress.done});
  }

  showFailure() {
    const {node} = this;
    this.failure.hidden = !node.error;
    if (!node.error || this.failureShown === node.error) return;
    this.failureShown = node.error;
    this.failure.replaceChildren(icon('alert'), element('p', {role: 'alert'}, node.error),
      element('button', {type: 'button', class: 'button', onclick: () => this.actions.regenerate(node)}, 'Try again'));
  }

  showFooter(reply) {
    const {node} = this;
    const running = node.state === 'running';
    const versions = siblings(this.conversation, node);
    const at = versions.indexOf(node);
    const key = JSON.stringify([running, versions.length, at, node.figures, node.state, node.finish, this.editing]);
    if (running) {
      if (reply?.rate) this.footer.replaceChildren(element('span', {class: 'figures'}, rateText(reply.rate)));
      else this.footer.replaceChildren();
      this.footerShown = null;
      return;
    }
    if (key === this.footerShown) return;
    this.footerShown = key;
    const focused = this.footer.contains(document.activeElement) ? document.activeElement.dataset.action : null;
    const button = (action, name, label, run, disabled = false) => element('button', {type: 'button', class: 'icon-button', 'data-action': action,
      'aria-label': label, title: label, disabled, onclick: run}, icon(name));
    this.footer.replaceChildren(...[
      versions.length > 1 && element('span', {class: 'versions', role: 'group', 'aria-label': 'Versions'},
        button('previous', 'left', 'Previous version', () => this.actions.choose(versions[at - 1]), at === 0),
        element('span', {}, element('span', {'aria-hidden': 'true'}, `${at + 1}/${versions.length}`),
          element('span', {class: 'sr-only'}, `Version ${at + 1} of ${versions.length}`)),
        button('next', 'right', 'Next version', () => this.actions.choose(versions[at + 1]), at === versions.length - 1)),
      !this.editing && node.content && button('copy', 'copy', node.role === 'user' ? 'Copy the message' : 'Copy the reply', (event) => this.copy(event.currentTarget)),
      node.role === 'user' && !this.editing && button('edit', 'edit', 'Edit the message', () => this.edit()),
      node.role === 'assistant' && !node.error && button('regenerate', 'again', 'Regenerate the reply', () => this.actions.regenerate(node)),
      node.role === 'assistant' && element('span', {class: 'figures', title: details(node)}, figuresOf(node).join(' · ')),
    ].filter(Boolean));
    if (focused) this.footer.querySelector(`[data-action="${focused}"]:not(:disabled)`)?.focus();
  }

  async copy(button) {
    const copied = await copyText(this.node.content);
    button.replaceChildren(icon(copied ? 'check' : 'alert'));
    setTimeout(() => button.replaceChildren(icon('copy')), 2000);
  }

  edit() {
    if (this.editing) return;
    this.editing = true;
    const area = element('textarea', {class: 'edit', dir: 'auto', 'aria-label': 'Edit the message', rows: Math.min(16, this.node.content.split('\n').length + 1)});
    area.value = this.node.content;
    const finish = () => {
      this.editing = false;
      this.shown = undefined;
      this.body.classList.remove('editing');
      this.update(null);
      this.footer.querySelector('[data-action="edit"]')?.focus();
    };
    const send = () => {
      const text = area.value.trim();
      if (!text) return;
      finish();
      this.actions.edit(this.node, text);
    };
    area.addEventListener('keydown', (event) => {
      if (event.isComposing) return;
      if (event.key === 'Enter' && !event.shiftKey) {
        event.preventDefault();
        send();
      } else if (event.key === 'Escape') {
        event.preventDefault();
        event.stopPropagation();
        finish();
      }
    });
    this.body.classList.add('editing');
    this.body.replaceChildren(area, element('div', {class: 'edit-foot'},
      element('button', {type: 'button', class: 'button', onclick: finish}, 'Cancel'),
      element('button', {type: 'button', class: 'button primary', onclick: send}, 'Send')));
    this.showFooter(null);
    area.focus();
    area.setSelectionRange(area.value.length, area.value.length);
  }
}
