// Where a message is written: Enter sends (on a touch screen the button alone does), Shift+Enter breaks the line, Escape stops a reply.
import {byId, element} from './dom.js';
import {icon} from './icons.js';

const DRAFTS = 'krafla.draft.';

export class Composer {
  // actions: {send(text), stop()}
  constructor(actions) {
    this.actions = actions;
    this.prompt = byId('prompt');
    this.send = byId('send');
    this.stop = byId('stop');
    this.send.append(icon('send'), element('span', {class: 'sr-only'}, 'Send'));
    this.send.title = 'Send (Enter)';
    this.stop.append(icon('stop'), element('span', {class: 'sr-only'}, 'Stop'));
    this.stop.title = 'Stop (Esc)';
    this.touch = matchMedia('(pointer: coarse)').matches;
    byId('composer-hint').textContent = this.touch ? '' : 'Enter sends, Shift+Enter breaks the line. Models make mistakes.';
    byId('composer').addEventListener('submit', (event) => {
      event.preventDefault();
      this.submit();
    });
    this.stop.addEventListener('click', () => actions.stop());
    this.prompt.addEventListener('input', () => this.changed());
    this.prompt.addEventListener('keydown', (event) => {
      // While an input method composes a word, Enter takes the word.
      if (event.key !== 'Enter' || event.shiftKey || event.isComposing || event.keyCode === 229 || this.touch) return;
      event.preventDefault();
      this.submit();
    });
  }

  submit() {
    const text = this.prompt.value.trim();
    if (!text || this.running) return;
    this.set('');
    this.actions.send(text);
  }

  set(text) {
    this.prompt.value = text;
    this.changed();
  }

  focus() {
    this.prompt.focus({preventScroll: true});
  }

  changed() {
    this.fit();
    this.send.disabled = !this.prompt.value.trim();
    if (this.id === undefined) return;
    if (this.prompt.value) sessionStorage.setItem(DRAFTS + this.id, this.prompt.value);
    else sessionStorage.removeItem(DRAFTS + this.id);
  }

  // As high as its text, up to what the style allows.
  fit() {
    if (CSS.supports('field-sizing', 'content')) return;
    this.prompt.style.height = 'auto';
    this.prompt.style.height = `${this.prompt.scrollHeight}px`;
  }

  // The draft of that conversation, kept while the tab is open.
  open(id) {
    this.id = undefined;
    this.set(sessionStorage.getItem(DRAFTS + id) ?? '');
    this.id = id;
  }

  showRunning(running) {
    this.running = running;
    const focused = document.activeElement === this.send || document.activeElement === this.stop;
    this.stop.hidden = !running;
    this.send.hidden = running;
    if (focused) (running ? this.stop : this.prompt).focus();
  }

  // How much of the context the conversation takes; null: not known.
  showContext(used, size) {
    const box = byId('context');
    box.hidden = !(used > 0 && size > 0);
    if (box.hidden) return;
    const share = Math.min(1, used / size);
    box.setAttribute('aria-label', `Context: ${used} of ${size} tokens`);
    box.title = `${used.toLocaleString()} of ${size.toLocaleString()} tokens of context`;
    box.classList.toggle('full', share > 0.9);
    box.style.setProperty('--share', share);
    box.replaceChildren(element('span', {class: 'meter', 'aria-hidden': 'true'}), `${used.toLocaleString()} / ${size.toLocaleString()}`);
  }
}
