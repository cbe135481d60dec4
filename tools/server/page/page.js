// Puts the page together: which conversation is open, what a message sets going, what is drawn when.
import {Reading} from './announce.js';
import {Composer} from './composer.js';
import {addNode, createConversation, path, select, titleOf, touch} from './conversation.js';
import {byId, toast} from './dom.js';
import {exportConversations, readFile} from './exchange.js';
import {icon, mountain} from './icons.js';
import {Library, OWNER} from './library.js';
import {Reply} from './reply.js';
import {Server} from './server.js';
import {loadDefaults, openSettings} from './settings.js';
import {listen, openHelp} from './shortcuts.js';
import {Sidebar} from './sidebar.js';
import {setUpTheme} from './theme_switch.js';
import {Thread} from './thread.js';

let current = createConversation(loadDefaults());
const library = new Library();
const server = new Server(() => show());
const thread = new Thread({
  edit: (node, text) => say(node.parent, text),
  regenerate: (node) => regenerate(node),
  choose(node) {
    select(current, node);
    show();
    keep(current);
  },
  idea(text) {
    composer.set(text);
    composer.focus();
  },
});
const composer = new Composer({
  send: (text) => say(path(current).at(-1)?.id ?? '', text),
  stop: () => stop(),
});
const sidebar = new Sidebar({
  rename(conversation, title) {
    Object.assign(conversation, {title, titled: true});
    touch(conversation);
    keep(conversation);
    show();
  },
  exportOne: (conversation) => exportConversations([conversation], titleOf(conversation)),
  async remove(conversation) {
    await library.remove(conversation);
    if (conversation === current) newConversation();
    else show();
    toast(`“${titleOf(conversation)}” was deleted.`, 'Undo', async () => {
      await keep(conversation);
      location.hash = conversation.id;
      show();
    });
  },
});

// Redraws all that depends on the open conversation; what did not change stays.
function show() {
  const title = titleOf(current);
  byId('title').textContent = title;
  document.title = current.title ? `${title} – Krafla` : 'Krafla';
  sidebar.show([...library.conversations.values()], current.id);
  server.showModels(current.model);
  thread.show(current, library.running);
  showState();
}

function running() {
  return path(current).map((node) => library.running.get(node.id)).find(Boolean) ?? null;
}

function showState() {
  composer.showRunning(running() !== null);
  const figures = path(current).findLast((node) => node.figures?.promptTokens !== undefined)?.figures;
  composer.showContext(figures ? figures.promptTokens + (figures.replyTokens ?? 0) : 0, server.modelFor(current.model)?.context);
}

async function keep(conversation) {
  try {
    await library.save(conversation);
  } catch (error) {
    toast(`The conversation could not be stored: ${error.message}`);
  }
}

// A message below `parent` ('': the first), and the reply to it.
function say(parent, text) {
  if (running()) stop();
  const message = addNode(current, parent, {role: 'user', content: text});
  answer(message.id);
}

// The failed attempt is tried again in its place; any other reply gets a version beside it.
function regenerate(node) {
  if (running()) stop();
  if (node.state === 'failed' && !node.content && !node.reasoning && !node.calls.length) answer(node.parent, node);
  else answer(node.parent);
}

function answer(parent, again = null) {
  const conversation = current;
  const node = again ?? addNode(conversation, parent, {role: 'assistant'});
  Object.assign(node, {reasoning: '', calls: [], figures: {}, finish: null, model: server.modelFor(conversation.model)?.id ?? ''});
  const reply = new Reply(conversation, node, {owner: OWNER, changed: () => draw(reply), save: () => keep(conversation)});
  library.running.set(node.id, reply);
  const ended = reply.run().then(() => end(reply));
  if (location.hash.slice(1) !== conversation.id) history.replaceState(null, '', `#${conversation.id}`);
  composer.id = conversation.id;
  keep(conversation);
  show();
  thread.scrollToEnd();
  return ended;
}

// Once a frame at most; a hidden page has no frames, and nobody to draw for.
function draw(reply) {
  if (reply.drawing || document.hidden) return;
  reply.drawing = requestAnimationFrame(() => {
    reply.drawing = null;
    const view = reply.conversation === current ? thread.viewOf(reply.node) : null;
    if (!view) return;
    reply.reading ??= new Reading(view);
    reply.reading.view = view;
    reply.reading.tell(view.update(reply));
    thread.keepEnd();
  });
}

function end(reply) {
  library.running.delete(reply.node.id);
  if (reply.drawing) cancelAnimationFrame(reply.drawing);
  show();
  const view = reply.conversation === current ? thread.viewOf(reply.node) : null;
  if (view) (reply.reading ?? new Reading(view)).end(reply.node);
  if (reply.error?.kind === 'key') server.askKey(() => { server.load(); regenerate(reply.node); });
}

function stop() {
  running()?.stop();
}

function open(conversation) {
  current = conversation;
  thread.follow = true;
  composer.open(library.conversations.has(current.id) ? current.id : 'new');
  library.endAbandoned(current);
  show();
  thread.scrollToEnd();
}

function newConversation() {
  if (location.hash) history.pushState(null, '', location.pathname + location.search);
  open(createConversation(loadDefaults()));
  composer.focus();
}

function followAddress() {
  const id = location.hash.slice(1);
  if (id === current.id) return;
  const conversation = library.conversations.get(id);
  if (conversation) open(conversation);
  else newConversation();
}

function showSettings() {
  openSettings(current, {
    changed() {
      touch(current);
      if (library.conversations.has(current.id)) keep(current);
    },
    editKey: () => server.askKey(),
  });
}

async function importFile(input) {
  const [file] = input.files;
  input.value = '';
  if (!file) return;
  try {
    const read = readFile(await file.text(), new Set(library.conversations.keys()));
    for (const conversation of read) await keep(conversation);
    toast(`${read.length} conversation${read.length === 1 ? '' : 's'} imported.`);
    if (read.length === 1) location.hash = read[0].id;
    show();
  } catch (error) {
    toast(error.message);
  }
}

function setUp() {
  byId('brand').append(mountain(), 'Krafla');
  byId('new-chat').append(icon('plus'), 'New conversation');
  byId('open-settings').append(icon('sliders'));
  byId('import').append(icon('upload'));
  byId('export').append(icon('download'));
  byId('help').append(icon('keyboard'));
  setUpTheme();
  byId('new-chat').addEventListener('click', () => {
    if (sidebar.narrow.matches) sidebar.toggle(false, false);
    newConversation();
  });
  byId('open-settings').addEventListener('click', showSettings);
  byId('help').addEventListener('click', openHelp);
  byId('import').addEventListener('click', () => byId('import-file').click());
  byId('import-file').addEventListener('change', (event) => importFile(event.target));
  byId('export').addEventListener('click', () => exportConversations([...library.conversations.values()], 'Krafla conversations'));
  byId('model').addEventListener('change', (event) => {
    current.model = event.target.value;
    touch(current);
    if (library.conversations.has(current.id)) keep(current);
    showState();
  });
  document.querySelector('.skip').addEventListener('click', (event) => {
    event.preventDefault();
    composer.focus();
  });
  window.addEventListener('hashchange', followAddress);
  window.addEventListener('popstate', followAddress);
  window.addEventListener('pagehide', () => { for (const reply of library.running.values()) reply.stop(); });
  document.addEventListener('visibilitychange', () => { if (!document.hidden) show(); });
  listen({
    stop,
    newConversation,
    search() {
      if (!sidebar.open) sidebar.toggle(true, false);
      byId('search').focus();
    },
    toggleSidebar: () => sidebar.toggle(),
    settings: showSettings,
    focusPrompt: () => composer.focus(),
    editLast() {
      const last = path(current).findLast((node) => node.role === 'user');
      if (last && !running()) thread.viewOf(last)?.edit();
    },
    regenerateLast() {
      const last = path(current).at(-1);
      if (last?.role === 'assistant') regenerate(last);
    },
  });
}

async function start() {
  setUp();
  await library.open((id) => {
    if (id === current.id && !library.conversations.has(id) && thread.views.length) newConversation();
    else show();
  });
  if (!library.store.persistent) toast('This browser stores nothing here: conversations last as long as the page.');
  const wanted = library.conversations.get(location.hash.slice(1));
  if (wanted) {
    open(wanted);
  } else {
    if (location.hash) history.replaceState(null, '', location.pathname + location.search);
    open(current);
  }
  setInterval(() => { if (library.endAbandoned(current)) show(); }, 1500);
  if (!composer.touch) composer.focus();
  await server.load();
  document.body.dataset.ready = 'true';
}

start();
