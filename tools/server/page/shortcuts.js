// The keys, and the dialog that lists them.
import {byId, element} from './dom.js';
import {icon} from './icons.js';

const LIST = [
  ['Enter', 'send the message'], ['Shift+Enter', 'a new line'], ['Esc', 'stop the reply'], ['↑', 'edit the last message (in an empty prompt)'],
  ['Alt+R', 'regenerate the last reply'], ['/', 'to the prompt'], ['Ctrl+Shift+O', 'new conversation'], ['Ctrl+K', 'search the conversations'],
  ['Ctrl+B', 'show or hide the conversations'], ['Ctrl+,', 'settings'], ['?', 'this list'],
];

export function openHelp() {
  const dialog = byId('shortcuts');
  dialog.replaceChildren(
    element('div', {class: 'dialog-head'}, element('h2', {id: 'shortcuts-title'}, 'Keyboard'),
      element('button', {type: 'button', class: 'icon-button', 'aria-label': 'Close', onclick: () => dialog.close()}, icon('close'))),
    element('dl', {class: 'shortcuts'}, ...LIST.map(([keys, what]) => element('div', {},
      element('dt', {}, ...keys.split(/(?<=.)\+/).map((key) => element('kbd', {}, key))), element('dd', {}, what)))));
  if (!dialog.open) dialog.showModal();
}

const isField = (node) => node.matches?.('input, textarea, select, [contenteditable]');

// actions: {stop, newConversation, search, toggleSidebar, settings, focusPrompt, editLast, regenerateLast}
export function listen(actions) {
  document.addEventListener('keydown', (event) => {
    if (event.defaultPrevented || event.isComposing || document.querySelector('dialog[open]')) return;
    const command = event.ctrlKey || event.metaKey;
    const key = event.key.toLowerCase();
    const run = (action) => {
      event.preventDefault();
      action();
    };
    if (key === 'escape') actions.stop();
    else if (command && event.shiftKey && key === 'o') run(actions.newConversation);
    else if (command && !event.shiftKey && key === 'k') run(actions.search);
    else if (command && !event.shiftKey && key === 'b') run(actions.toggleSidebar);
    else if (command && key === ',') run(actions.settings);
    else if (event.altKey && !command && event.code === 'KeyR') run(actions.regenerateLast);
    else if (key === 'arrowup' && event.target === byId('prompt') && !byId('prompt').value) run(actions.editLast);
    else if (!command && !event.altKey && !isField(event.target)) {
      if (key === '/') run(actions.focusPrompt);
      else if (event.key === '?') run(openHelp);
    }
  });
}
