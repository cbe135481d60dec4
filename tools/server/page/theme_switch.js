// Light, dark, or as the system has it; theme.js applies the choice before the first paint.
import {byId} from './dom.js';
import {icon} from './icons.js';

const KEY = 'krafla.theme';
const NEXT = {system: 'light', light: 'dark', dark: 'system'};
const ICONS = {system: 'system', light: 'sun', dark: 'moon'};
const LABELS = {system: 'Colours: as the system', light: 'Colours: light', dark: 'Colours: dark'};

export function setUpTheme() {
  const button = byId('theme');
  const root = document.documentElement;
  const show = () => {
    const theme = root.dataset.theme ?? 'system';
    button.replaceChildren(icon(ICONS[theme]));
    button.setAttribute('aria-label', LABELS[theme]);
    button.title = LABELS[theme];
  };
  const set = (theme) => {
    if (theme === 'light' || theme === 'dark') root.dataset.theme = theme;
    else delete root.dataset.theme;
    show();
  };
  button.addEventListener('click', () => {
    const theme = NEXT[root.dataset.theme ?? 'system'];
    set(theme);
    localStorage.setItem(KEY, theme);
  });
  window.addEventListener('storage', (event) => { if (event.key === KEY) set(event.newValue); });
  show();
}
