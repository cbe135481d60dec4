// What the page knows of the server: its models, whether it answers, the key it wants.
import {errorText, key, models} from './api.js';
import {byId, element} from './dom.js';
import {icon} from './icons.js';

export class Server {
  // `changed`: the models are known, or others.
  constructor(changed) {
    this.changed = changed;
    this.models = [];
    this.select = byId('model');
  }

  async load() {
    const notice = byId('notice');
    try {
      this.models = await models();
      notice.hidden = true;
    } catch (error) {
      if (error.kind === 'key') this.askKey(() => this.load());
      notice.replaceChildren(icon('alert'), element('p', {}, error.kind ? errorText(error) : String(error.message)),
        element('button', {type: 'button', class: 'button', onclick: () => this.load()}, 'Try again'));
      notice.hidden = false;
    }
    this.changed();
  }

  // The model that a reply is asked of: the conversation's own if the server has it.
  modelFor(wanted) {
    return this.models.find((model) => model.id === wanted) ?? this.models[0] ?? null;
  }

  showModels(wanted) {
    const chosen = this.modelFor(wanted)?.id;
    this.select.replaceChildren(...this.models.map(({id}) => element('option', {value: id, selected: id === chosen}, id)));
    this.select.disabled = this.models.length < 2;
    this.select.hidden = this.models.length === 0;
  }

  askKey(done = null) {
    const dialog = byId('key');
    const input = element('input', {type: 'password', id: 'key-input', autocomplete: 'off', spellcheck: 'false', value: key.get()});
    const remember = element('input', {type: 'checkbox', id: 'key-remember'});
    dialog.replaceChildren(element('form', {method: 'dialog', onsubmit: (event) => {
      event.preventDefault();
      key.set(input.value.trim(), remember.checked);
      dialog.close();
      (done ?? (() => this.load()))();
    }},
    element('div', {class: 'dialog-head'}, element('h2', {id: 'key-title'}, 'API key')),
    element('p', {class: 'hint'}, 'The server was started with --api-key and answers only those who know it.'),
    element('div', {class: 'field'}, element('label', {for: 'key-input'}, 'Key'), input),
    element('label', {class: 'check'}, remember, ' Remember it in this browser'),
    element('div', {class: 'dialog-foot'},
      element('button', {type: 'button', class: 'button', onclick: () => dialog.close()}, 'Cancel'),
      element('button', {type: 'submit', class: 'button primary'}, 'Use it'))));
    if (!dialog.open) dialog.showModal();
    input.focus();
  }
}
