// Elements without markup: whatever is text goes in as a text node, so nothing that a person, a model or a file wrote is ever parsed
// as HTML. The page's policy (Trusted Types) makes the browser refuse the other way.

// element('a', {class: 'link', href: '#', onclick: f, hidden: true}, 'text', node, null)
export function element(tag, attributes = {}, ...children) {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (value === false || value === null || value === undefined) continue;
    if (name.startsWith('on')) node.addEventListener(name.slice(2), value);
    else node.setAttribute(name, value === true ? '' : value);
  }
  node.append(...children.filter((child) => child !== null && child !== undefined && child !== false));
  return node;
}

export const byId = (id) => document.getElementById(id);

// Ids of conversations and messages. crypto.randomUUID is there only for pages of secure origins, which a server on the local
// network is not.
export function randomId() {
  return Array.from(crypto.getRandomValues(new Uint8Array(12)), (byte) => byte.toString(16).padStart(2, '0')).join('');
}

// The clipboard's own interface is for secure origins alone too.
export async function copyText(text) {
  if (navigator.clipboard && window.isSecureContext) {
    try {
      await navigator.clipboard.writeText(text);
      return true;
    } catch {
      // Refused (no focus, no permission): the old way may still work.
    }
  }
  const area = element('textarea', {class: 'sr-only', 'aria-hidden': 'true'});
  area.value = text;
  const focused = document.activeElement;
  document.body.append(area);
  area.select();
  const copied = document.execCommand('copy');
  area.remove();
  focused?.focus?.();
  return copied;
}

export function download(name, text) {
  const address = URL.createObjectURL(new Blob([text], {type: 'application/json'}));
  element('a', {href: address, download: name}).click();
  setTimeout(() => URL.revokeObjectURL(address), 60000);
}

let toastTimer = 0;
// A line at the bottom for some seconds, with one thing to do about it.
export function toast(text, action = null, run = null) {
  const box = byId('toast');
  clearTimeout(toastTimer);
  const close = () => { box.hidden = true; };
  box.replaceChildren(element('span', {}, text));
  if (action) box.append(element('button', {type: 'button', class: 'text-button', onclick: () => { close(); run(); }}, action));
  box.hidden = false;
  toastTimer = setTimeout(close, action ? 10000 : 4000);
}
