// What a screen reader is told while a reply comes in: each paragraph once, when it is complete. The reply's own element is not live,
// because it changes with every token.
import {byId, element} from './dom.js';

const MAX_LINES = 40;

export function announce(text) {
  const box = byId('announcer');
  box.append(element('p', {}, text));
  while (box.children.length > MAX_LINES) box.firstElementChild.remove();
}

export class Reading {
  constructor(view) {
    this.view = view;
    this.told = 0;
  }

  // Blocks before `finished` are told; a block of code by its beginning alone.
  tell(finished) {
    const blocks = this.view.body.children;
    for (; this.told < Math.min(finished, blocks.length); this.told++) {
      const block = blocks[this.told];
      announce(block.classList.contains('code') ? `Code, ${block.querySelector('code').textContent.split('\n').length} lines.` : block.textContent);
    }
  }

  end(node) {
    this.tell(Infinity);
    announce({done: 'The reply is complete.', stopped: 'The reply was stopped.'}[node.state] ?? 'The reply failed.');
  }
}
