// A conversation is a tree of messages: an edited message and a regenerated reply stand beside what they were made from, and one path
// from the root is shown. Plain objects, so that they can be stored, exported and merged as they are.
//
//   {id, title, titled, created, updated, model, system, settings, nodes: {id: node}, selected: {parent id or '': child id}}
//   node: {id, parent ('' for the first), role: 'user' | 'assistant', content, created, revised,
//          of replies: reasoning, calls: [{id, name, arguments}], state: 'running' | 'done' | 'stopped' | 'failed', owner, beat, error, model, figures}
import {randomId} from './dom.js';

export function createConversation({model = '', system = '', settings = {}} = {}) {
  const now = Date.now();
  return {id: randomId(), title: '', titled: false, created: now, updated: now, model, system, settings: {...settings}, nodes: {}, selected: {}};
}

export function addNode(conversation, parent, fields) {
  const now = Date.now();
  const node = {id: randomId(), parent, content: '', created: now, revised: now, ...fields};
  conversation.nodes[node.id] = node;
  select(conversation, node);
  return node;
}

export function touch(conversation, node = null) {
  conversation.updated = Math.max(Date.now(), conversation.updated + 1);
  if (node) node.revised = Math.max(Date.now(), node.revised + 1);
}

export function select(conversation, node) {
  conversation.selected[node.parent] = node.id;
  touch(conversation);
}

// The messages beside `node`, itself included, oldest first.
export function siblings(conversation, node) {
  return Object.values(conversation.nodes).filter((other) => other.parent === node.parent)
    .sort((a, b) => a.created - b.created || (a.id < b.id ? -1 : 1));
}

// The path that is shown.
export function path(conversation) {
  const children = new Map();
  for (const node of Object.values(conversation.nodes)) {
    const chosen = children.get(node.parent);
    const preferred = conversation.selected[node.parent];
    if (!chosen || node.id === preferred || (chosen.id !== preferred && node.created > chosen.created)) children.set(node.parent, node);
  }
  const nodes = [];
  const seen = new Set();
  for (let node = children.get(''); node && !seen.has(node.id); node = children.get(node.id)) {
    nodes.push(node);
    seen.add(node.id);
  }
  return nodes;
}

// The path from the root down to `node`.
export function pathTo(conversation, node) {
  const nodes = [];
  for (let at = node; at && nodes.length < 100000; at = conversation.nodes[at.parent]) nodes.unshift(at);
  return nodes;
}

// What the server is sent for a reply to `node`.
export function requestMessages(conversation, node) {
  const messages = pathTo(conversation, node).filter((message) => message.role === 'user' || message.content || message.calls?.length)
    .map((message) => ({
      role: message.role,
      content: message.content,
      ...(message.calls?.length ? {tool_calls: message.calls.map((call) => (
        {id: call.id, type: 'function', function: {name: call.name, arguments: call.arguments}}))} : {}),
    }));
  return conversation.system ? [{role: 'system', content: conversation.system}, ...messages] : messages;
}

export function titleOf(conversation) {
  return conversation.title || 'New conversation';
}

// Unless a person gave a title, the first line of the first message is it.
export function retitle(conversation) {
  if (conversation.titled) return;
  const first = path(conversation)[0];
  const line = first?.content.trim().split('\n')[0] ?? '';
  conversation.title = [...line].length > 60 ? `${[...line].slice(0, 59).join('')}…` : line;
}

// Two tabs may have gone on with one conversation: messages of both stay, of one message the later state, of the rest the later one.
export function merge(mine, theirs) {
  const newer = mine.updated >= theirs.updated ? mine : theirs;
  const older = newer === mine ? theirs : mine;
  const nodes = {...older.nodes};
  for (const node of Object.values(newer.nodes)) {
    if (!nodes[node.id] || nodes[node.id].revised <= node.revised) nodes[node.id] = node;
  }
  return {...newer, nodes, selected: {...older.selected, ...newer.selected}};
}

// A reply that nobody writes any more: its tab was closed or reloaded in the middle. Owners write a beat each second.
export function isAbandoned(node, owner) {
  return node.state === 'running' && node.owner !== owner && Date.now() - (node.beat ?? 0) > 4000;
}
