// Not a module, so that it runs before the first paint: a page that is to be dark must not flash white.
try {
  const theme = localStorage.getItem('krafla.theme');
  if (theme === 'light' || theme === 'dark') document.documentElement.dataset.theme = theme;
} catch {
  // Without storage the system's choice holds.
}
