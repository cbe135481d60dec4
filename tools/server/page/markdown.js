// Markdown as models write it: headings, lists, tables, quotes, fenced code, rules; the rest is paragraphs. HTML is text. A view keeps
// the blocks that did not change, so a reply that grows redraws only its end.
import {copyText, element} from './dom.js';
import {highlight} from './highlight.js';
import {icon} from './icons.js';
import {renderInline} from './inline.js';

const MAX_DEPTH = 12;
const FENCE = /^( {0,3})(`{3,}|~{3,})\s*([^`]*)$/;
const HEADING = /^ {0,3}(#{1,6})(?:\s+(.*?))?(?:\s+#+)?\s*$/;
const RULE = /^ {0,3}(?:(?:\*\s*){3,}|(?:-\s*){3,}|(?:_\s*){3,})$/;
const ITEM = /^( {0,3})([-*+]|\d{1,9}[.)])(?:( +)(.*)|)$/;
const QUOTE = /^ {0,3}> ?/;
const DELIMITERS = /^ {0,3}\|?\s*:?-+:?\s*(?:\|\s*:?-+:?\s*)*\|?\s*$/;
const MATH = /^\s*(\\\[|\$\$)/;
const blank = (line) => /^\s*$/.test(line);

// Text -> [{kind, lines, ...}]: how long each block is, not yet what is in it.
function split(lines) {
  const blocks = [];
  for (let i = 0; i < lines.length;) {
    if (blank(lines[i])) {
      i++;
      continue;
    }
    const kind = kindOf(lines, i);
    const end = READ[kind](lines, i);
    blocks.push({kind, lines: lines.slice(i, end)});
    i = end;
  }
  return blocks;
}

function kindOf(lines, i) {
  const line = lines[i];
  if (FENCE.test(line)) return 'fence';
  if (HEADING.test(line)) return 'heading';
  if (RULE.test(line)) return 'rule';
  if (QUOTE.test(line)) return 'quote';
  if (ITEM.test(line)) return 'list';
  if (MATH.test(line)) return 'math';
  if (line.includes('|') && i + 1 < lines.length && lines[i + 1].includes('-') && DELIMITERS.test(lines[i + 1]) &&
      cells(line).length === cells(lines[i + 1]).length) return 'table';
  return 'paragraph';
}

const READ = {  // kind -> the line behind the block that begins at i
  fence(lines, i) {
    const fence = FENCE.exec(lines[i])[2];
    for (let j = i + 1; j < lines.length; j++) {
      const close = /^ {0,3}(`{3,}|~{3,})\s*$/.exec(lines[j]);
      if (close && close[1][0] === fence[0] && close[1].length >= fence.length) return j + 1;
    }
    return lines.length;
  },
  heading: (lines, i) => i + 1,
  rule: (lines, i) => i + 1,
  quote(lines, i) {
    while (i < lines.length && QUOTE.test(lines[i])) i++;
    return i;
  },
  math(lines, i) {
    const close = lines[i].includes('$$') ? '$$' : '\\]';
    if (lines[i].trim().length > 2 && lines[i].trim().slice(2).includes(close)) return i + 1;
    for (let j = i + 1; j < lines.length; j++) {
      if (blank(lines[j])) return j;
      if (lines[j].includes(close)) return j + 1;
    }
    return lines.length;
  },
  table(lines, i) {
    while (i < lines.length && !blank(lines[i]) && lines[i].includes('|')) i++;
    return i;
  },
  // A list goes on over indented lines, over blank ones before an item or an indented line, and lazily over text.
  list(lines, i) {
    const ordered = /^\s*\d/.test(lines[i]);
    let j = i + 1;
    for (; j < lines.length; j++) {
      const line = lines[j];
      if (blank(line)) {
        let next = j + 1;
        while (next < lines.length && blank(lines[next])) next++;
        if (next === lines.length || !(/^ {2,}|^\t/.test(lines[next]) || sameList(lines[next], ordered))) return j;
        j = next - 1;
        continue;
      }
      if (/^ {2,}|^\t/.test(line) || sameList(line, ordered)) continue;
      if (blank(lines[j - 1]) || kindOf(lines, j) !== 'paragraph') return j;
    }
    return j;
  },
  paragraph(lines, i) {
    let j = i + 1;
    while (j < lines.length && !blank(lines[j]) && !/^ {0,3}(=+|-+)\s*$/.test(lines[j]) && kindOf(lines, j) === 'paragraph') j++;
    return j < lines.length && /^ {0,3}(=+|-{2,})\s*$/.test(lines[j]) ? j + 1 : j;  // a line under a heading
  },
};

const sameList = (line, ordered) => {
  const item = ITEM.exec(line);
  return item !== null && !RULE.test(line) && /\d/.test(item[2]) === ordered;
};

const MAKE = {  // kind -> the block's element
  fence(lines) {
    const [, indent, fence, info] = FENCE.exec(lines[0]);
    const last = lines.at(-1).trim();
    const closed = lines.length > 1 && last.length >= fence.length && last === fence[0].repeat(last.length);
    const strip = new RegExp(`^ {0,${indent.length}}`);
    return codeBlock(lines.slice(1, closed ? -1 : undefined).map((line) => line.replace(strip, '')).join('\n'), info.trim().split(/\s/)[0]);
  },
  heading(lines) {
    const [, marks, text] = HEADING.exec(lines[0]);
    return heading(marks.length, text ?? '');
  },
  rule: () => element('hr'),
  quote: (lines, depth) => element('blockquote', {dir: 'auto'}, ...render(lines.map((line) => line.replace(QUOTE, '')), depth + 1)),
  math: (lines) => element('pre', {class: 'math', tabindex: '0'}, lines.join('\n').replace(/^\s*(\\\[|\$\$)\n?|\n?(\\\]|\$\$)\s*$/g, '').trim()),
  table(lines) {
    const align = cells(lines[1]).map((cell) => /^:-*:$/.test(cell) ? 'center' : /:$/.test(cell) ? 'end' : null);
    const row = (line, tag) => {
      const found = cells(line);
      return element('tr', {}, ...align.map((side, k) =>
        element(tag, {class: side, dir: 'auto', scope: tag === 'th' && 'col'}, ...renderInline(found[k] ?? ''))));
    };
    return element('div', {class: 'table', tabindex: '0', role: 'region', 'aria-label': 'Table'},
      element('table', {}, element('thead', {}, row(lines[0], 'th')), element('tbody', {}, ...lines.slice(2).map((line) => row(line, 'td')))));
  },
  list(lines, depth) {
    const first = ITEM.exec(lines[0])[2];
    const ordered = /\d/.test(first);
    const items = [];
    let loose = false;
    let width = 0;
    for (const line of lines) {
      const item = ITEM.exec(line);
      if (item && (items.length === 0 || item[1].length < width) && /\d/.test(item[2]) === ordered) {
        width = item[1].length + item[2].length + Math.min(item[3]?.length ?? 1, 4);
        items.push([item[4] ?? '']);
      } else {
        loose ||= blank(line) && items.at(-1).length > 0;
        items.at(-1).push(line.replace(new RegExp(`^(?: {1,${width}}|\t)`), ''));
      }
    }
    return element(ordered ? 'ol' : 'ul', {start: ordered && parseInt(first, 10) !== 1 && parseInt(first, 10), dir: 'auto'},
      ...items.map((item) => listItem(item, depth, loose)));
  },
  paragraph(lines) {
    const under = lines.length > 1 && /^ {0,3}(=+|-{2,})\s*$/.exec(lines.at(-1));
    if (under) return heading(under[1][0] === '=' ? 1 : 2, lines.slice(0, -1).join('\n'));
    return element('p', {dir: 'auto'}, ...renderInline(lines.map((line) => line.replace(/^\s+/, '')).join('\n').trimEnd()));
  },
};

function listItem(lines, depth, loose) {
  const task = /^\[([ xX])\] (.*)$/.exec(lines[0]);
  if (task) lines = [task[2], ...lines.slice(1)];
  const children = render(lines, depth + 1);
  // A tight list has its text right in the item.
  const content = loose ? children : children.flatMap((child) => child.tagName === 'P' ? [...child.childNodes] : [child]);
  if (task) content.unshift(element('input', {type: 'checkbox', disabled: true, checked: task[1] !== ' ', 'aria-label': task[1] === ' ' ? 'to do' : 'done'}), ' ');
  return element('li', {class: task && 'task', dir: 'auto'}, ...content);
}

// The page's own headings are h1 and h2: those of a reply come below them.
const heading = (level, text) => element(`h${Math.min(level + 2, 6)}`, {dir: 'auto', class: `level-${level}`}, ...renderInline(text));

function cells(line) {
  const row = line.trim().replace(/^\|/, '').replace(/(?<!\\)\|$/, '');
  return row.split(/(?<!\\)\|/).map((cell) => cell.trim().replace(/\\\|/g, '|'));
}

export function codeBlock(code, language) {
  const copy = element('button', {type: 'button', class: 'copy-code', 'aria-label': 'Copy the code', onclick: async () => {
    const copied = await copyText(code);
    copy.replaceChildren(icon(copied ? 'check' : 'alert'), copied ? 'Copied' : 'Not copied');
    setTimeout(() => copy.replaceChildren(icon('copy'), 'Copy'), 2000);
  }}, icon('copy'), 'Copy');
  return element('div', {class: 'code', dir: 'ltr'},
    element('div', {class: 'code-head'}, element('span', {}, language || 'text'), copy),
    element('pre', {tabindex: '0', role: 'region', 'aria-label': `Code${language ? `, ${language}` : ''}`},
      element('code', {}, ...highlight(code, language.toLowerCase()))));
}

function render(lines, depth) {
  if (depth > MAX_DEPTH) return [element('p', {dir: 'auto'}, lines.join('\n'))];
  return split(lines).map((block) => MAKE[block.kind](block.lines, depth));
}

export class MarkdownView {
  constructor(target) {
    this.target = target;
    this.sources = [];
  }

  // Returns how many blocks are finished: all but the last, which may still grow.
  update(text) {
    const blocks = split(text.replace(/\r\n?/g, '\n').replace(/\t/g, '    ').split('\n'));
    const sources = blocks.map((block) => block.lines.join('\n'));
    let same = 0;
    while (same < sources.length && sources[same] === this.sources[same]) same++;
    while (this.target.children.length > same) this.target.lastElementChild.remove();
    for (const block of blocks.slice(same)) this.target.append(MAKE[block.kind](block.lines, 0));
    this.sources = sources;
    return Math.max(0, sources.length - 1);
  }
}
