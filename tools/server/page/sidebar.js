// The list of conversations: newest first by day, searched, renamed, deleted (and brought back).
import {titleOf} from './conversation.js';
import {byId, element} from './dom.js';
import {icon} from './icons.js';

const DAY = 24 * 3600 * 1000;

function groupOf(time) {
  const today = new Date().setHours(0, 0, 0, 0);
  if (time >= today) return 'Today';
  if (time >= today - DAY) return 'Yesterday';
  if (time >= today - 6 * DAY) return 'This week';
  return new Date(time).toLocaleDateString(undefined, {month: 'long', year: 'numeric'});
}

export class Sidebar {
  // actions: {rename(conversation, title), remove(conversation), exportOne(conversation)}
  constructor(actions) {
    this.actions = actions;
    this.list = byId('conversations');
    this.search = byId('search');
    this.none = byId('no-conversations');
    this.search.addEventListener('input', () => this.draw());
    this.narrow = matchMedia('(max-width: 780px)');
    this.narrow.addEventListener('change', () => this.toggle(!this.narrow.matches));
    byId('hide-sidebar').append(icon('close'));
    byId('show-sidebar').append(icon('menu'));
    byId('hide-sidebar').addEventListener('click', () => this.toggle(false));
    byId('show-sidebar').addEventListener('click', () => this.toggle(true));
    byId('backdrop').addEventListener('click', () => this.toggle(false));
    this.toggle(!this.narrow.matches, false);
  }

  toggle(open = !this.open, focus = true) {
    this.open = open;
    document.body.classList.toggle('with-sidebar', open);
    byId('sidebar').inert = !open;
    byId('show-sidebar').setAttribute('aria-expanded', String(open));
    // On a narrow page it lies over the conversation, which is then out of reach.
    byId('backdrop').hidden = !(open && this.narrow.matches);
    byId('main-column').inert = open && this.narrow.matches;
    if (focus) (open ? byId('hide-sidebar') : byId('show-sidebar')).focus();
  }

  show(conversations, current) {
    this.conversations = conversations;
    this.current = current;
    this.draw();
  }

  matches(conversation, wanted) {
    if (titleOf(conversation).toLowerCase().includes(wanted)) return true;
    return Object.values(conversation.nodes).some((node) => node.content.toLowerCase().includes(wanted));
  }

  draw() {
    if (this.renaming) return;
    const wanted = this.search.value.trim().toLowerCase();
    const found = this.conversations.filter((conversation) => !wanted || this.matches(conversation, wanted)).sort((a, b) => b.updated - a.updated);
    const focused = this.list.contains(document.activeElement) ? document.activeElement.dataset.key : null;
    const groups = new Map();
    for (const conversation of found) {
      const name = groupOf(conversation.updated);
      if (!groups.has(name)) groups.set(name, []);
      groups.get(name).push(conversation);
    }
    this.list.replaceChildren(...[...groups].map(([name, members], at) => element('li', {},
      element('h2', {class: 'group', id: `group-${at}`}, name),
      element('ul', {'aria-labelledby': `group-${at}`}, ...members.map((one) => this.row(one))))));
    this.none.hidden = found.length > 0;
    this.none.textContent = wanted ? 'Nothing found.' : 'Your conversations will be here.';
    if (focused) this.list.querySelector(`[data-key="${focused}"]`)?.focus();
  }

  row(conversation) {
    const title = titleOf(conversation);
    const button = (name, label, run) => element('button', {type: 'button', class: 'icon-button small', 'aria-label': `${label}: ${title}`, title: label,
      'data-key': `${name}-${conversation.id}`, onclick: run}, icon(name));
    const item = element('li', {class: `conversation${conversation.id === this.current ? ' current' : ''}`},
      element('a', {href: `#${conversation.id}`, dir: 'auto', 'data-key': conversation.id, 'aria-current': conversation.id === this.current ? 'page' : null,
        title, onclick: () => { if (this.narrow.matches) this.toggle(false); }}, title),
      element('span', {class: 'conversation-actions'},
        button('edit', 'Rename', () => this.rename(conversation, item)),
        button('download', 'Export', () => this.actions.exportOne(conversation)),
        button('remove', 'Delete', () => this.actions.remove(conversation))));
    return item;
  }

  rename(conversation, item) {
    this.renaming = true;
    const input = element('input', {type: 'text', class: 'rename', 'aria-label': 'Title', maxlength: 120, value: titleOf(conversation)});
    const finish = (keep) => {
      if (!this.renaming) return;
      this.renaming = false;
      if (keep && input.value.trim()) this.actions.rename(conversation, input.value.trim());
      this.draw();
      this.list.querySelector(`[data-key="${conversation.id}"]`)?.focus();
    };
    input.addEventListener('keydown', (event) => {
      if (event.key === 'Enter' && !event.isComposing) finish(true);
      else if (event.key === 'Escape') {
        event.stopPropagation();
        finish(false);
      }
    });
    input.addEventListener('blur', () => finish(true));
    item.replaceChildren(input);
    input.focus();
    input.select();
  }
}
