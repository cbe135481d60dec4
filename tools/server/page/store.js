// Conversations in the browser's IndexedDB; every tab hears of what another one stored. Where there is no database (some private
// windows), they live as long as the page.
import {merge} from './conversation.js';

const NAME = 'krafla';
const TABLE = 'conversations';

function promised(request) {
  return new Promise((resolve, reject) => {
    request.onsuccess = () => resolve(request.result);
    request.onerror = () => reject(request.error);
  });
}

class DatabaseStore {
  constructor(database) {
    this.database = database;
    this.persistent = true;
  }

  table(mode) {
    return this.database.transaction(TABLE, mode).objectStore(TABLE);
  }

  all() {
    return promised(this.table('readonly').getAll());
  }

  get(id) {
    return promised(this.table('readonly').get(id));
  }

  // Reads, merges and writes in one transaction, so that no tab's message is lost. `created`: whether it may be new; else one that
  // another tab deleted stays deleted, and null comes back.
  async put(conversation, created) {
    const table = this.table('readwrite');
    const stored = await promised(table.get(conversation.id));
    if (!stored && !created) return null;
    const merged = stored ? merge(conversation, stored) : conversation;
    await promised(table.put(merged));
    return merged;
  }

  remove(id) {
    return promised(this.table('readwrite').delete(id));
  }
}

class MemoryStore {
  constructor() {
    this.conversations = new Map();
    this.persistent = false;
  }

  async all() { return [...this.conversations.values()]; }
  async get(id) { return this.conversations.get(id); }
  async put(conversation) {
    this.conversations.set(conversation.id, conversation);
    return conversation;
  }
  async remove(id) { this.conversations.delete(id); }
}

async function open() {
  try {
    const request = indexedDB.open(NAME, 1);
    request.onupgradeneeded = () => request.result.createObjectStore(TABLE, {keyPath: 'id'});
    const database = await promised(request);
    database.onversionchange = () => database.close();
    return new DatabaseStore(database);
  } catch {
    return new MemoryStore();
  }
}

// {persistent, all, get, put, remove}; `heard(id)` is called for what other tabs change.
export async function openStore(heard) {
  const store = await open();
  const channel = new BroadcastChannel(NAME);
  channel.onmessage = ({data}) => heard(data);
  return {
    persistent: store.persistent,
    all: () => store.all(),
    get: (id) => store.get(id),
    async put(conversation, created = false) {
      const stored = await store.put(structuredClone(conversation), created);
      channel.postMessage(conversation.id);
      return stored;
    },
    async remove(id) {
      await store.remove(id);
      channel.postMessage(id);
    },
  };
}
