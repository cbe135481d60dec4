// Conversations as a file, and back. A file may come from anywhere: what is kept of it is what the page knows, of the right type.
import {download, randomId} from './dom.js';
import {KEYS as SETTINGS, validSetting} from './settings.js';

const FORMAT = 'krafla-conversations';
const VERSION = 1;
const MAX_MESSAGES = 100000;

export function exportConversations(conversations, name) {
  const file = {format: FORMAT, version: VERSION, exported: new Date().toISOString(), conversations};
  download(`${name.replace(/[^\p{L}\p{N} _-]+/gu, '').trim().slice(0, 60) || 'conversations'}.json`, JSON.stringify(file, null, 1));
}

const text = (value, otherwise = '') => typeof value === 'string' ? value : otherwise;
const number = (value, otherwise) => Number.isFinite(value) ? value : otherwise;
const record = (value) => value && typeof value === 'object' && !Array.isArray(value) ? value : {};
const STATES = ['done', 'stopped', 'failed'];
const FIGURES = ['promptTokens', 'cachedTokens', 'replyTokens', 'tokensPerSecond', 'firstTokenSeconds', 'thinkingSeconds', 'seed'];

function readNode(value, id, now) {
  if (!['user', 'assistant'].includes(value.role)) return null;
  const node = {id, parent: text(value.parent), role: value.role, content: text(value.content), created: number(value.created, now),
    revised: number(value.revised, now)};
  if (node.role === 'user') return node;
  const figures = record(value.figures);
  return {...node, reasoning: text(value.reasoning), model: text(value.model), error: text(value.error) || null,
    state: STATES.includes(value.state) ? value.state : 'stopped', finish: text(value.finish) || null,
    calls: (Array.isArray(value.calls) ? value.calls : []).slice(0, 1000).map(record)
      .map((call) => ({id: text(call.id), name: text(call.name), arguments: text(call.arguments)})),
    figures: Object.fromEntries(FIGURES.filter((key) => Number.isFinite(figures[key])).map((key) => [key, figures[key]]))};
}

// What hangs on nothing, or on itself in the end, would be there and never be seen: it becomes a first message.
function root(nodes) {
  const rooted = new Set(['']);
  for (const node of Object.values(nodes)) {
    const chain = new Set();
    let at = node;
    while (!rooted.has(at.id)) {
      chain.add(at.id);
      if (!Object.hasOwn(nodes, at.parent) || chain.has(at.parent)) at.parent = '';
      if (at.parent === '') break;
      at = nodes[at.parent];
    }
    for (const id of chain) rooted.add(id);
  }
}

function readConversation(value, taken) {
  const now = Date.now();
  const old = record(value);
  const nodes = {};
  for (const [id, node] of Object.entries(record(old.nodes)).slice(0, MAX_MESSAGES)) {
    const read = id && id !== '__proto__' ? readNode(record(node), id, now) : null;
    if (read) nodes[id] = read;
  }
  root(nodes);
  const selected = Object.fromEntries(Object.entries(record(old.selected)).filter(([parent, child]) =>
    typeof child === 'string' && Object.hasOwn(nodes, child) && nodes[child].parent === parent));
  const settings = Object.fromEntries(SETTINGS.filter((key) => validSetting(key, record(old.settings)[key])).map((key) => [key, old.settings[key]]));
  const id = text(old.id);
  return {id: id && !taken.has(id) ? id : randomId(), title: text(old.title), titled: old.titled === true, created: number(old.created, now),
    updated: number(old.updated, now), model: text(old.model), system: text(old.system), settings, nodes, selected};
}

// The file's conversations; throws an Error whose message says what is wrong with it. `taken`: ids that exist already; a
// conversation with such an id comes in beside it under a new one.
export function readFile(content, taken) {
  let file;
  try {
    file = JSON.parse(content);
  } catch {
    throw new Error('The file is no JSON.');
  }
  if (file?.format !== FORMAT || !Array.isArray(file.conversations)) throw new Error('The file holds no conversations of this page.');
  if (file.version !== VERSION) throw new Error(`The file is of version ${Number(file.version) || '?'}; this page reads version ${VERSION}.`);
  return file.conversations.map((value) => readConversation(value, taken));
}
