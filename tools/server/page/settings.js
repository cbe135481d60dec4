// What a conversation asks of the sampler, and its system prompt. A setting that is not set is not sent: the server's own holds.
import {byId, element} from './dom.js';
import {icon} from './icons.js';

const DEFAULTS = 'krafla.defaults';
const FIELDS = [
  {key: 'temperature', label: 'Temperature', min: 0, max: 5, step: 0.05, hint: '0 always takes the likeliest token; more is more surprising.'},
  {key: 'top_p', label: 'Top p', min: 0, max: 1, step: 0.01, hint: 'The likeliest tokens that together have this probability.'},
  {key: 'top_k', label: 'Top k', min: 0, max: 1000000, step: 1, hint: 'So many likeliest tokens; 0 is all.'},
  {key: 'min_p', label: 'Min p', min: 0, max: 1, step: 0.01, hint: 'Tokens at least so likely as this share of the likeliest.'},
  {key: 'repeat_penalty', label: 'Repeat penalty', min: 0.1, max: 5, step: 0.05, hint: 'Above 1, what was said becomes less likely.'},
  {key: 'max_tokens', label: 'Longest reply', min: 1, max: 10000000, step: 1, hint: 'In tokens.'},
  {key: 'seed', label: 'Seed', min: 0, max: Number.MAX_SAFE_INTEGER, step: 1, hint: 'The same seed gives the same reply.'},
];
const THINKING = {'': 'As the model does', on: 'On', off: 'Off'};
export const KEYS = [...FIELDS.map((field) => field.key), 'thinking'];

export function validSetting(key, value) {
  if (key === 'thinking') return value === 'on' || value === 'off';
  const field = FIELDS.find((one) => one.key === key);
  return Number.isFinite(value) && value >= field.min && value <= field.max && (field.step !== 1 || Number.isInteger(value));
}

// Settings -> the request's fields.
export function requestFields(settings) {
  const fields = Object.fromEntries(KEYS.filter((key) => key !== 'thinking' && settings[key] !== undefined).map((key) => [key, settings[key]]));
  if (settings.thinking) fields.chat_template_kwargs = {enable_thinking: settings.thinking === 'on'};
  return fields;
}

// {system, settings, model} for new conversations.
export function loadDefaults() {
  try {
    const stored = JSON.parse(localStorage.getItem(DEFAULTS)) ?? {};
    const settings = Object.fromEntries(KEYS.filter((key) => validSetting(key, stored.settings?.[key])).map((key) => [key, stored.settings[key]]));
    return {system: String(stored.system ?? ''), model: String(stored.model ?? ''), settings};
  } catch {
    return {system: '', model: '', settings: {}};
  }
}

export const saveDefaults = (defaults) => localStorage.setItem(DEFAULTS, JSON.stringify(defaults));

function numberField(field, settings, changed) {
  const id = `setting-${field.key}`;
  const wrong = element('span', {class: 'wrong', id: `${id}-wrong`, role: 'alert'});
  const input = element('input', {type: 'number', id, min: field.min, max: field.max, step: field.step === 1 ? 1 : 'any', placeholder: 'server’s own',
    inputmode: 'decimal', value: settings[field.key], 'aria-describedby': `${id}-hint ${id}-wrong`, oninput: () => {
      const empty = input.value === '' && !input.validity.badInput;
      const value = empty ? undefined : input.valueAsNumber;
      const valid = empty || validSetting(field.key, value);
      input.setAttribute('aria-invalid', String(!valid));
      wrong.textContent = valid ? '' : `Between ${field.min} and ${field.max}${field.step === 1 ? ', whole' : ''}`;
      if (!valid) return;
      if (empty) delete settings[field.key];
      else settings[field.key] = value;
      changed();
    }});
  return element('div', {class: 'field'}, element('label', {for: id}, field.label), input,
    element('span', {class: 'hint', id: `${id}-hint`}, field.hint), wrong);
}

// Shows the settings of `conversation`; `changed` is called after each change of them.
export function openSettings(conversation, {changed, editKey}) {
  const dialog = byId('settings');
  const {settings} = conversation;
  const system = element('textarea', {id: 'system', rows: 5, dir: 'auto', placeholder: 'Who the model is to be, and how it is to answer.',
    oninput: () => { conversation.system = system.value; changed(); }});
  system.value = conversation.system;
  const thinking = element('select', {id: 'setting-thinking', onchange: () => {
    if (thinking.value) settings.thinking = thinking.value;
    else delete settings.thinking;
    changed();
  }}, ...Object.entries(THINKING).map(([value, label]) => element('option', {value, selected: (settings.thinking ?? '') === value}, label)));
  const kept = element('span', {role: 'status', class: 'hint'});

  dialog.replaceChildren(
    element('div', {class: 'dialog-head'}, element('h2', {id: 'settings-title'}, 'Settings'),
      element('button', {type: 'button', class: 'icon-button', 'aria-label': 'Close the settings', onclick: () => dialog.close()}, icon('close'))),
    element('p', {class: 'hint'}, 'Of this conversation. They hold from the next reply on.'),
    element('div', {class: 'field'}, element('label', {for: 'system'}, 'System prompt'), system),
    element('div', {class: 'field'}, element('label', {for: 'setting-thinking'}, 'Thinking'), thinking,
      element('span', {class: 'hint'}, 'For models that can reply with or without.')),
    element('div', {class: 'fields'}, ...FIELDS.map((field) => numberField(field, settings, changed))),
    element('div', {class: 'dialog-foot'},
      element('button', {type: 'button', class: 'button', onclick: () => {
        saveDefaults({system: conversation.system, model: conversation.model, settings});
        kept.textContent = 'New conversations begin with these.';
      }}, 'Use for new conversations'),
      element('button', {type: 'button', class: 'button', onclick: () => {
        for (const name of KEYS) delete settings[name];
        changed();
        openSettings(conversation, {changed, editKey});
      }}, 'Clear'),
      element('button', {type: 'button', class: 'button', onclick: () => { dialog.close(); editKey(); }}, 'API key…'), kept));
  if (!dialog.open) dialog.showModal();
}
