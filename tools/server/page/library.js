// The conversations of this tab, kept equal with what is stored and with what other tabs do.
import {isAbandoned, retitle, touch} from './conversation.js';
import {randomId} from './dom.js';
import {openStore} from './store.js';

export const OWNER = randomId();  // of the replies that this page writes

function copyFields(mine, theirs) {
  for (const key of Object.keys(mine)) if (!(key in theirs)) delete mine[key];
  Object.assign(mine, theirs);
}

export class Library {
  // `changed(id)`: another tab changed or deleted that conversation.
  async open(changed) {
    this.changed = changed;
    this.conversations = new Map();
    this.stored = new Set();
    this.running = new Map();  // id of a message -> the Reply that writes it here
    this.store = await openStore((id) => this.heard(id));
    for (const conversation of await this.store.all()) this.add(conversation);
  }

  add(conversation) {
    this.conversations.set(conversation.id, conversation);
    this.stored.add(conversation.id);
  }

  async heard(id) {
    const theirs = await this.store.get(id);
    const mine = this.conversations.get(id);
    if (!theirs) this.forget(id);
    else if (mine) this.take(mine, theirs);
    else this.add(theirs);
    this.changed(id);
  }

  // Objects stay the same ones, since the page holds on to them. Which versions are shown is each tab's own business.
  take(mine, theirs) {
    for (const [id, node] of Object.entries(theirs.nodes)) {
      if (!mine.nodes[id]) mine.nodes[id] = node;
      else if (node.revised > mine.nodes[id].revised && !this.running.has(id)) copyFields(mine.nodes[id], node);
    }
    mine.selected = {...theirs.selected, ...mine.selected};
    if (theirs.updated <= mine.updated) return;
    copyFields(mine.settings, theirs.settings);
    const {title, titled, updated, model, system} = theirs;
    Object.assign(mine, {title, titled, updated, model, system});
  }

  forget(id) {
    const conversation = this.conversations.get(id);
    this.conversations.delete(id);
    this.stored.delete(id);
    for (const [node, reply] of this.running) if (conversation?.nodes[node]) reply.stop();
  }

  // Stores it; what another tab added comes back into it.
  async save(conversation) {
    retitle(conversation);
    this.conversations.set(conversation.id, conversation);
    const merged = await this.store.put(conversation, !this.stored.has(conversation.id));
    if (!merged) {  // deleted by another tab
      this.forget(conversation.id);
      this.changed(conversation.id);
      return;
    }
    this.stored.add(conversation.id);
    this.take(conversation, merged);
  }

  async remove(conversation) {
    this.forget(conversation.id);
    await this.store.remove(conversation.id);
  }

  // Replies whose tab is gone are over. Returns whether there were any.
  endAbandoned(conversation) {
    const over = Object.values(conversation.nodes).filter((node) => isAbandoned(node, OWNER));
    for (const node of over) {
      node.state = 'stopped';
      delete node.owner;
      delete node.beat;
      touch(conversation, node);
    }
    if (over.length) this.save(conversation);
    return over.length > 0;
  }
}
