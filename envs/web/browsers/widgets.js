// Runtime of the widgets of a page; browsers/widgets.py says what they are, and has the twin of each operation.
'use strict';
(() => {
const RULES = RULES_OF_WIDGETS;
const tokens = (e, name) => (e.getAttribute(name) || '').split(' ').filter(Boolean);
const words = text => text.split(/\s+/).filter(Boolean).join(' ');
const shown = e => !e.hasAttribute('hidden');
const set = (e, name, value) => value === null ? e.removeAttribute(name) : e.setAttribute(name, value);
const rootOf = e => e.closest('[data-widget]');

function effectsOf(part, event) {
  const root = part && rootOf(part);
  if (!root) return [];
  return tokens(root, 'data-widget').flatMap(widget =>
    tokens(part, 'data-part').flatMap(one => RULES[`${widget} ${event} ${one}`] || []));
}

function find(part, target) {
  if (target === 'self') return [part];
  if (target === 'controlled') return [document.getElementById(part.getAttribute('aria-controls'))].filter(Boolean);
  const root = rootOf(part);
  return [...root.querySelectorAll('[data-part]')].filter(
    e => tokens(e, 'data-part').includes(target) && rootOf(e) === root);
}

function writeValue(e, text) {
  // Without characters that a document cannot hold.
  const value = text.replace(/[^\t\n\r\x20-\ud7ff\ue000-\ufffd\u{10000}-\u{10ffff}]/gu, '');
  if (e.tagName === 'TEXTAREA') e.textContent = '\n' + value;
  else e.setAttribute('value', value);
  e.value = value;
}

// Values of fields become those of the document, which holds the whole state.
function keepValues() {
  for (const e of document.querySelectorAll('input, textarea, select')) {
    if (e.tagName === 'SELECT') {
      const chosen = [...e.options].map(o => o.selected);
      [...e.options].forEach((o, i) => o.toggleAttribute('selected', chosen[i]));
      [...e.options].forEach((o, i) => { o.selected = chosen[i]; });
    } else if (e.type === 'checkbox' || e.type === 'radio') {
      if (e.checked !== e.defaultChecked) e.toggleAttribute('checked', e.checked);
    } else if (!['hidden', 'submit', 'button', 'reset', 'image', 'file'].includes(e.type)) {
      if (e.value !== e.defaultValue) writeValue(e, e.value);
    }
  }
}

const operations = {
  set: (part, targets, name, value) => targets.forEach(e => set(e, name, value)),
  flip: (part, targets, name, first, second) => targets.forEach(e =>
    set(e, name, e.getAttribute(name) === first ? second : first)),
  write: (part, targets, form) => targets.forEach(e => writeValue(e, form.replace(/\{\w+\}/g, found => ({
    '{text}': words(part.textContent), '{data}': part.getAttribute('data-value') || '', '{field}': e.value})[found]))),
  filter: (part, targets) => {
    const wanted = part.value.trim().toLowerCase();
    targets.forEach(e => set(e, 'hidden', words(e.textContent).toLowerCase().includes(wanted) ? null : ''));
  },
  click: (part, targets) => targets.filter(shown).slice(0, 1).forEach(e => run(e, 'click')),
  trap: (part, targets) => targets.forEach(e => {
    for (; e.parentElement && e !== document.body; e = e.parentElement)
      for (const other of e.parentElement.children) if (other !== e) set(other, 'inert', '');
  }),
  free: () => document.querySelectorAll('[inert]').forEach(e => set(e, 'inert', null)),
  step: (part, targets, by) => {
    const next = targets[Math.max(0, targets.findIndex(shown)) + by];
    if (next) targets.forEach(e => set(e, 'hidden', e === next ? null : ''));
  },
  sort: (part, targets) => {
    const head = part.closest('th'), column = [...head.parentElement.children].indexOf(head);
    const falls = head.getAttribute('aria-sort') === 'ascending', number = targets.filter(shown).length;
    for (const other of head.parentElement.children) set(other, 'aria-sort', null);
    set(head, 'aria-sort', falls ? 'descending' : 'ascending');
    let rows = targets.map(e => {
      const cell = e.children[column];
      return [cell.getAttribute('data-value') || words(cell.textContent).toLowerCase(), e];
    });
    if (rows.every(([key]) => /^-?[0-9]+(\.[0-9]+)?$/.test(key))) rows = rows.map(([key, e]) => [Number(key), e]);
    rows.sort(([a], [b]) => (a < b ? -1 : a > b ? 1 : 0) * (falls ? -1 : 1));
    rows.forEach(([, e], place) => {
      e.parentElement.append(e);
      set(e, 'hidden', place < number ? null : '');
    });
  },
  reveal: (part, targets, number) => {
    const left = targets.filter(e => !shown(e));
    left.slice(0, number).forEach(e => set(e, 'hidden', null));
    if (left.length <= number) set(part, 'hidden', '');
  },
  window: part => { window.open(part.getAttribute('data-value'), part.getAttribute('data-window') || '_blank'); },
  move: (part, targets) => targets.filter(e => e.querySelector('button[aria-pressed=true]')).forEach(card => {
    part.closest('section').append(card);
    writeValue(card.querySelector('input'), part.getAttribute('data-value'));
  }),
};

function run(part, event) {
  for (const [name, target, ...rest] of effectsOf(part, event)) operations[name](part, find(part, target), ...rest);
}

function handle(part, event) {
  if (!effectsOf(part, event).length) return false;
  keepValues();
  run(part, event);
  return true;
}

const partOf = target => target.closest('[data-part]');
document.addEventListener('click', e => { handle(partOf(e.target), 'click'); });
document.addEventListener('input', e => { handle(partOf(e.target), 'input'); });
document.addEventListener('keydown', e => { if (handle(partOf(e.target), e.key)) e.preventDefault(); });
// A card that is dragged with the mouse is grabbed, and dropped in the lane where the button is released.
let carried = null;
document.addEventListener('pointerdown', e => { carried = e.target.closest('[data-part~=card]'); });
document.addEventListener('pointerup', e => {
  const card = carried, lane = document.elementFromPoint(e.clientX, e.clientY)?.closest('section');
  const drop = lane?.querySelector('[data-part~=drop]');
  carried = null;
  if (!card || !drop || lane.contains(card)) return;
  handle(card.querySelector('[data-part~=grab]'), 'click');
  handle(drop, 'click');
});
document.addEventListener('tick', () => {
  keepValues();
  for (const toast of document.querySelectorAll('[data-left]')) {
    const left = Number(toast.getAttribute('data-left')) - 1;
    set(toast, 'data-left', left > 0 ? String(left) : null);
    if (left <= 0) set(toast, 'hidden', '');
  }
});
})();
