// Icons as lines on a grid of 24, drawn for this page; they take the colour of the text around them.
const NAMESPACE = 'http://www.w3.org/2000/svg';
const LINES = {
  menu: 'M4 7h16M4 12h16M4 17h10',
  close: 'M6 6l12 12M18 6 6 18',
  plus: 'M12 5v14M5 12h14',
  send: 'M12 19V5M6 11l6-6 6 6',
  stop: 'M8 8h8v8H8z',
  copy: 'M9 9h10v10H9zM5 15V5h10',
  check: 'M5 12.5l4.5 4.5L19 7',
  edit: 'M4 20l1-4L16 5l3 3L8 19zM14 7l3 3',
  again: 'M19.5 12a7.5 7.5 0 1 1-2.3-5.4M19.5 4v4.5H15',
  left: 'M14 6l-6 6 6 6',
  right: 'M10 6l6 6-6 6',
  down: 'M12 5v14M6 13l6 6 6-6',
  sliders: 'M4 7h9M17 7h3M4 17h3M11 17h9M15 5v4M9 15v4',
  remove: 'M5 7h14M10 7V4.5h4V7M7 7l1 13h8l1-13M10.5 11v5M13.5 11v5',
  upload: 'M12 15V4M7.5 8.5 12 4l4.5 4.5M5 15v4.5h14V15',
  download: 'M12 4v11M7.5 10.5 12 15l4.5-4.5M5 15v4.5h14V15',
  keyboard: 'M3 6.5h18v11H3zM7 10h.01M11 10h.01M15 10h.01M18 10h.01M8 14h8',
  sun: 'M12 8a4 4 0 1 0 0 8 4 4 0 0 0 0-8zM12 2.5v2M12 19.5v2M2.5 12h2M19.5 12h2M5.3 5.3l1.4 1.4M17.3 17.3l1.4 1.4M5.3 18.7l1.4-1.4M17.3 6.7l1.4-1.4',
  moon: 'M19.5 14.5A8 8 0 0 1 9.5 4.5a8 8 0 1 0 10 10z',
  system: 'M3.5 5h17v11h-17zM9 20h6M12 16v4',
  alert: 'M12 4 2.5 20h19zM12 10v5M12 17.5v.01',
  tool: 'M14.5 6.5a4 4 0 0 1 5-1l-2.8 2.8 1 1 2.8-2.8a4 4 0 0 1-5.5 5L8 18.5a1.8 1.8 0 0 1-2.5-2.5l7-7a4 4 0 0 1 2-2.5z',
};

export function icon(name) {
  const svg = document.createElementNS(NAMESPACE, 'svg');
  svg.setAttribute('viewBox', '0 0 24 24');
  svg.setAttribute('class', 'icon');
  svg.setAttribute('aria-hidden', 'true');
  const path = document.createElementNS(NAMESPACE, 'path');
  path.setAttribute('d', LINES[name]);
  svg.append(path);
  return svg;
}

// The mountain: two slopes and what comes out between them.
export function mountain() {
  const svg = document.createElementNS(NAMESPACE, 'svg');
  svg.setAttribute('viewBox', '0 0 32 24');
  svg.setAttribute('class', 'mountain');
  svg.setAttribute('aria-hidden', 'true');
  for (const [part, line] of [
    ['slope', 'M0 22 11 4.1c.4-.7 1-1 1.8-1h6.4c.8 0 1.4.3 1.8 1L32 22z'],
    ['lava', 'M11.3 3.1h9.4c-.1 2.3-1 3.8-2.5 4.3-.4 2 1 3.3.6 5.5-.3 1.6-1.2 2.4-1.1 4.3-1.3-1.3-2.3-2.8-2-4.7.3-2 .8-3.2-.1-5.1-2.3 0-4.1-1.8-4.3-4.3z'],
  ]) {
    const path = document.createElementNS(NAMESPACE, 'path');
    path.setAttribute('d', line);
    path.setAttribute('class', part);
    svg.append(path);
  }
  return svg;
}
