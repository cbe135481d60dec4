// Markdown inside a paragraph: code, emphasis, links, breaks. One pass over the text and one over its marks, both linear, since a reply
// may be 100 KB of asterisks. Makes nodes, never markup.
import {element} from './dom.js';

const ENTITIES = {amp: '&', lt: '<', gt: '>', quot: '"', apos: "'", nbsp: '\u00a0', ndash: '\u2013', mdash: '\u2014', hellip: '\u2026',
  copy: '\u00a9', times: '\u00d7', rarr: '\u2192', larr: '\u2190', le: '\u2264', ge: '\u2265', ne: '\u2260'};
const ESCAPABLE = /[!-/:-@[-`{-~]/;
// What keeps the time linear and the elements shallow, whatever the text.
const MAX_LOOSE = 200;
const MAX_LABEL = 1000;
const MAX_RUN = 6;
const MAX_OPEN = 30;
const WORD = /[\p{L}\p{N}]/u;
const SPACE = /\s/;

// The address if a click on it may do nothing but open a page or a letter, else null.
export function safeAddress(text) {
  try {
    const address = new URL(text);
    return ['http:', 'https:', 'mailto:'].includes(address.protocol) ? address.href : null;
  } catch {
    return null;
  }
}

function link(address, ...children) {
  return element('a', {href: address, target: '_blank', rel: 'noopener noreferrer nofollow'}, ...children);
}

function decodeEntity(name) {
  if (name[0] !== '#') return ENTITIES[name] ?? null;
  const code = /^#x/i.test(name) ? parseInt(name.slice(2), 16) : parseInt(name.slice(1), 10);
  return code > 0 && code <= 0x10ffff && (code < 0xd800 || code > 0xdfff) ? String.fromCodePoint(code) : '\ufffd';
}

class Reader {
  constructor(text, inLink) {
    this.text = text;
    this.at = 0;
    this.inLink = inLink;
    this.parts = [];  // nodes, and marks {mark, count, opens, closes} that may become emphasis
    this.plain = '';
    this.noCode = new Set();  // lengths of backtick runs that do not come again
    this.loose = 0;  // brackets that nothing closes
  }

  flush() {
    if (this.plain) this.parts.push(document.createTextNode(this.plain));
    this.plain = '';
  }

  add(node) {
    this.flush();
    this.parts.push(node);
  }

  match(pattern) {  // sticky
    pattern.lastIndex = this.at;
    return pattern.exec(this.text);
  }

  code() {
    const run = this.match(/`+/y)[0];
    const start = this.at + run.length;
    this.at = start;
    if (!this.noCode.has(run.length)) {
      const runs = /`+/g;
      runs.lastIndex = start;
      for (let found; (found = runs.exec(this.text));) {
        if (found[0].length !== run.length) continue;
        let content = this.text.slice(start, found.index).replace(/\n/g, ' ');
        if (/^ .* $/.test(content) && content.trim()) content = content.slice(1, -1);
        this.add(element('code', {}, content));
        this.at = runs.lastIndex;
        return;
      }
      this.noCode.add(run.length);
    }
    this.plain += run;
  }

  // [label](address "title"), and an image, which is never fetched, as a link to it.
  link(image) {
    const start = this.at + (image ? 2 : 1);
    const end = this.loose > MAX_LOOSE ? -1 : closing(this.text, start);
    const target = end < 0 ? null : /^\(\s*(?:<([^<>\n]{0,2000})>|([^\s()<>]{0,2000}(?:\([^\s()<>]{0,200}\)[^\s()<>]{0,200}){0,4}))(?:\s+"([^"\n]{0,500})")?\s*\)/
      .exec(this.text.slice(end + 1, end + 4000));
    if (end < 0) this.loose++;
    const address = target && safeAddress(target[1] ?? target[2]);
    if (!target || this.inLink) {
      this.plain += image ? '![' : '[';
      this.at = start;
      return;
    }
    const label = this.text.slice(start, end);
    const children = renderInline(label || (target[1] ?? target[2]), true);
    if (address) this.add(link(address, ...(image ? ['\u{1f5bc}\ufe0e '] : []), ...children));
    else for (const child of children) this.add(child);  // an address that is not for following stays its label
    this.at = end + 1 + target[0].length;
  }

  mark() {
    const run = this.match(/\*+|_+|~+/y)[0];
    const before = this.text[this.at - 1] ?? ' ';
    const after = this.text[this.at + run.length] ?? ' ';
    this.at += run.length;
    if ((run[0] === '~' && run.length !== 2) || run.length > MAX_RUN) {
      this.plain += run;
      return;
    }
    const blankBefore = SPACE.test(before), blankAfter = SPACE.test(after);
    const signBefore = !blankBefore && !WORD.test(before), signAfter = !blankAfter && !WORD.test(after);
    const left = !blankAfter && (!signAfter || blankBefore || signBefore);
    const right = !blankBefore && (!signBefore || blankAfter || signAfter);
    const inWord = run[0] === '_' && left && right;
    this.flush();
    this.parts.push({mark: run[0], count: run.length, opens: left && (!inWord || signBefore), closes: right && (!inWord || signAfter)});
  }

  read() {
    const {text} = this;
    while (this.at < text.length) {
      const c = text[this.at];
      let found;
      if (c === '\\' && ESCAPABLE.test(text[this.at + 1] ?? '')) {
        if ((found = this.match(/\\\(([^\n]{1,500}?)\\\)/y))) {
          this.add(element('code', {class: 'math'}, found[1].trim()));
          this.at += found[0].length;
        } else {
          this.plain += text[this.at + 1];
          this.at += 2;
        }
      } else if (c === '`') this.code();
      else if (c === '*' || c === '_' || c === '~') this.mark();
      else if (c === '[') this.link(false);
      else if (c === '!' && text[this.at + 1] === '[') this.link(true);
      else if (c === '\n' || (c === '\\' && text[this.at + 1] === '\n')) {
        this.at += c === '\n' ? 1 : 2;
        this.plain = this.plain.replace(/ +$/, '');
        this.add(element('br'));
      } else if (c === '&' && (found = this.match(/&(#x[0-9a-f]{1,6}|#[0-9]{1,7}|[a-z]{2,8});/iy)) && decodeEntity(found[1]) !== null) {
        this.plain += decodeEntity(found[1]);
        this.at += found[0].length;
      } else if (c === '<' && !this.inLink && (found = this.match(/<((?:https?:\/\/|mailto:)[^\s<>]{1,2000})>/iy)) && safeAddress(found[1])) {
        this.add(link(safeAddress(found[1]), found[1]));
        this.at += found[0].length;
      } else if (c === 'h' && !this.inLink && !WORD.test(text[this.at - 1] ?? ' ') && (found = this.match(/https?:\/\/[^\s<>"`*]{1,2000}/y))) {
        const address = trimAddress(found[0]);
        if (safeAddress(address)) this.add(link(safeAddress(address), address));
        else this.plain += address;
        this.at += address.length;
      } else {
        found = this.match(/[^\\`*_~[!\n&<h]+/y);
        this.plain += found ? found[0] : c;
        this.at += found ? found[0].length : 1;
      }
    }
    this.flush();
    return emphasise(this.parts);
  }
}

// A bare address ends before the sentence's own signs, and before a bracket that it did not open.
function trimAddress(address) {
  let text = address.replace(/[.,;:!?'_~]+$/, '');
  while (text.endsWith(')') && text.split('(').length < text.split(')').length) text = text.slice(0, -1).replace(/[.,;:!?]+$/, '');
  return text;
}

// Where the bracket opened before `from` closes, or -1.
function closing(text, from) {
  let depth = 1;
  for (let i = from; i < text.length && i < from + MAX_LABEL; i++) {
    if (text[i] === '\\') i++;
    else if (text[i] === '[') depth++;
    else if (text[i] === ']' && --depth === 0) return i;
  }
  return -1;
}

// CommonMark's way: each closing mark takes the nearest opening one of its kind.
function emphasise(parts) {
  const open = {'*': [], _: [], '~': []};
  const out = [];
  const drop = (depth) => { for (const stack of Object.values(open)) while (stack.length && stack.at(-1) >= depth) stack.pop(); };
  for (const part of parts) {
    if (part instanceof Node) {
      out.push(part);
      continue;
    }
    let {count} = part;
    const stack = open[part.mark];
    while (part.closes && count > 0 && stack.length) {
      const at = stack.at(-1);
      const opener = out[at];
      const used = part.mark === '~' ? 2 : Math.min(2, opener.count, count);
      const tag = part.mark === '~' ? 'del' : used === 2 ? 'strong' : 'em';
      const node = element(tag, {}, ...out.splice(at + 1).map(asNode));
      opener.count -= used;
      count -= used;
      drop(at + (opener.count > 0 ? 1 : 0));
      if (opener.count === 0) out.pop();
      out.push(node);
    }
    if (count === 0) continue;
    if (part.opens) {
      stack.push(out.length);
      if (stack.length > MAX_OPEN) stack.shift();
      out.push({...part, count});
    } else {
      out.push(document.createTextNode(part.mark.repeat(count)));
    }
  }
  return out.map(asNode);
}

const asNode = (part) => part instanceof Node ? part : document.createTextNode(part.mark.repeat(part.count));

export function renderInline(text, inLink = false) {
  return new Reader(text, inLink).read();
}
