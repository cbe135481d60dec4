// The shown path of a conversation, and where it is scrolled to.
import {path} from './conversation.js';
import {byId, element} from './dom.js';
import {icon, mountain} from './icons.js';
import {MessageView} from './message.js';

const NEAR = 60;  // pixels from the end that count as being there
const IDEAS = [
  ['Explain', 'how a caldera comes to be, in three sentences.'],
  ['Write', 'a haiku about rain on warm stone.'],
  ['Show', 'a Python function that counts the words of a file.'],
  ['Compare', 'tea and coffee in a table.'],
];

export class Thread {
  // actions: those of MessageView, and idea(text)
  constructor(actions) {
    this.actions = actions;
    this.box = byId('thread');
    this.scroller = byId('scroller');
    this.toEnd = byId('to-end');
    this.toEnd.setAttribute('aria-label', 'To the end of the conversation');
    this.toEnd.append(icon('down'));
    this.toEnd.addEventListener('click', () => this.scrollToEnd());
    this.views = [];
    this.follow = true;
    this.scroller.addEventListener('scroll', () => {
      this.follow = this.scroller.scrollHeight - this.scroller.scrollTop - this.scroller.clientHeight < NEAR;
      this.showToEnd();
    }, {passive: true});
    new ResizeObserver(() => this.keepEnd()).observe(this.scroller);
  }

  scrollToEnd() {
    this.follow = true;
    this.scroller.scrollTop = this.scroller.scrollHeight;
    this.showToEnd();
  }

  keepEnd() {
    if (this.follow) this.scroller.scrollTop = this.scroller.scrollHeight;
    this.showToEnd();
  }

  showToEnd() {
    this.toEnd.hidden = this.follow || this.scroller.scrollHeight <= this.scroller.clientHeight;
  }

  // Keeps what is on the page already as far as it is the same.
  show(conversation, replies) {
    const nodes = path(conversation);
    let same = 0;
    while (same < nodes.length && same < this.views.length && this.views[same].node === nodes[same]) same++;
    for (const view of this.views.splice(same)) view.article.remove();
    this.box.querySelector('.welcome')?.remove();
    for (const view of this.views) view.update(replies.get(view.node.id) ?? null);
    for (const node of nodes.slice(same)) {
      const view = new MessageView(conversation, node, this.actions);
      this.views.push(view);
      this.box.append(view.article);
    }
    if (!nodes.length) this.box.append(this.welcome());
    this.keepEnd();
  }

  viewOf(node) {
    return this.views.find((view) => view.node === node);
  }

  welcome() {
    const here = ['localhost', '127.0.0.1', '[::1]'].includes(location.hostname);
    return element('div', {class: 'welcome'}, mountain(),
      element('p', {class: 'welcome-title'}, 'What shall we talk about?'),
      element('p', {class: 'hint'}, here ? 'The model runs on this computer, and what you write stays on it.'
        : `The model runs on ${location.hostname}. Conversations are kept in this browser.`),
      element('div', {class: 'ideas'}, ...IDEAS.map(([first, rest]) =>
        element('button', {type: 'button', class: 'idea', onclick: () => this.actions.idea(`${first} ${rest}`)}, element('strong', {}, first), ` ${rest}`))));
  }
}
