// A page of the environment in a person's browser: what is done on it becomes actions, and each of them is sent.
// GIVEN holds turn, key, numbers (index of a control's element -> id), values (index -> value), task, error, files (names),
// opened (text of the file that is shown), tabs (titles) and place (index of this tab).
(() => {
const all = [...document.querySelectorAll('a,button,input,select,textarea')];
const typed = new Map();
let sent = false;

function write(text) { return JSON.stringify(text); }

function send(...actions) {
  if (sent) return;
  sent = true;
  const fills = [...typed].map(([number, text]) => `fill [${number}] ${write(text)}`);
  fetch('/act', {method: 'POST', body: JSON.stringify({turn: GIVEN.turn, key: GIVEN.key, actions: [...fills, ...actions]})})
    .finally(() => location.reload());
}

for (const [place, value] of Object.entries(GIVEN.values)) {
  const e = all[place];
  if (e.tagName === 'SELECT') [...e.options].forEach((o, i) => { o.selected = value.includes(i); });
  else if (typeof value === 'boolean') e.checked = value;
  else if (e.type === 'file') e.insertAdjacentText('afterend', ` ${value}`);
  else e.value = value;
}

function stop(event) { event.preventDefault(); event.stopImmediatePropagation(); }

document.addEventListener('click', event => {
  const e = event.target.closest('a,button,input'), number = GIVEN.numbers[all.indexOf(e)];
  if (!number) return;
  if (e.matches('[type=file]')) {
    // No file of the person's machine: one of the episode, by its name.
    stop(event);
    const name = prompt(`Which file? ${GIVEN.files.join(', ') || 'There is none so far.'}`, GIVEN.files[0] || '');
    if (name) send(`upload [${number}] ${write(name)}`);
  } else if (e.matches('a,button,[type=submit],[type=button],[type=reset],[type=image]')) {
    stop(event);
    send(`click [${number}]`);
  } else if (e.matches('[type=checkbox],[type=radio]')) send(`click [${number}]`);
}, true);
document.addEventListener('submit', stop, true);
// A card of a board is dragged to a lane.
const lanes = [...document.querySelectorAll('[data-widget~=board] section')];
let dragged = 0;
for (const card of document.querySelectorAll('[data-part~=card]')) card.draggable = true;
document.addEventListener('dragstart', event => {
  dragged = GIVEN.numbers[all.indexOf(event.target.querySelector('[data-part~=grab]'))];
  event.dataTransfer.setData('text/plain', 'card');
});
document.addEventListener('dragover', event => { if (event.target.closest('section')) event.preventDefault(); });
document.addEventListener('drop', event => {
  const lane = event.target.closest('section');
  if (!dragged || !lanes.includes(lane)) return;
  stop(event);
  const there = all.findIndex((e, place) => GIVEN.numbers[place] && lane.contains(e));
  if (there >= 0) return send(`drag [${dragged}] [${GIVEN.numbers[there]}]`);
  // The buttons of lanes have numbers once a card is grabbed.
  const place = all.indexOf(lane.querySelector('[data-part~=drop]'));
  const before = all.filter((_, one) => one < place && GIVEN.numbers[one]).length;
  send(`click [${dragged}]`, `click [${before + lanes.indexOf(lane) + 1}]`);
});
document.addEventListener('input', event => {
  const e = event.target, number = GIVEN.numbers[all.indexOf(e)];
  if (number && e.matches('textarea,input:not([type=checkbox],[type=radio])')) typed.set(number, e.value);
}, true);
document.addEventListener('change', event => {
  const e = event.target, number = GIVEN.numbers[all.indexOf(e)];
  if (number && e.tagName === 'SELECT')
    send(`select [${number}] ${write([...e.selectedOptions].map(o => o.label).join(', '))}`);
  // Lists of suggestions follow what was typed.
  else if (number && e.matches('[data-part~=field]')) send();
}, true);
document.addEventListener('keydown', event => {
  const number = GIVEN.numbers[all.indexOf(event.target)];
  if (number && event.key === 'Enter' && event.target.matches('input:not([type=checkbox],[type=radio])')) {
    stop(event);
    send(`press [${number}] Enter`);
  } else if (event.key === 'Escape' && document.querySelector('[data-widget]')) send('key Escape');
}, true);

const bar = document.createElement('form');
bar.id = 'palaestra-bar';
bar.setAttribute('style', 'position:fixed;inset:auto 0 0 0;z-index:99;display:flex;flex-wrap:wrap;gap:8px;padding:10px;'
  + 'background:#fffbe0;color:#111;border-top:2px solid #111;font:14px/1.4 sans-serif;color-scheme:light');
const task = document.createElement('b'), answer = document.createElement('input');
task.textContent = GIVEN.error ? `${GIVEN.task} (${GIVEN.error})` : GIVEN.task;
task.style.flex = '1 1 100%';
answer.placeholder = 'Answer, or done';
answer.style.cssText = 'width:16rem';
bar.append(task, answer);
const buttons = [['Give the answer', () => `answer ${write(answer.value || 'done')}`], ['Back', () => 'back']];
for (const name of GIVEN.files) buttons.push([`Open ${name}`, () => `open_file ${write(name)}`]);
GIVEN.tabs.forEach((title, place) => {
  if (place !== GIVEN.place) buttons.push([`Tab ${place}: ${title}`, () => `tab ${place}`]);
});
if (GIVEN.tabs.length > 1) buttons.push(['Close this tab', () => 'close_tab']);
for (const [label, action] of buttons) {
  const button = document.createElement('button');
  button.type = 'button';
  button.textContent = label;
  button.onclick = () => send(action());
  bar.append(button);
}
if (GIVEN.opened) {
  const text = document.createElement('pre');
  text.textContent = GIVEN.opened;
  text.style.cssText = 'flex:1 1 100%;max-height:12rem;overflow:auto;margin:0';
  bar.append(text);
}
for (const frame of document.querySelectorAll('page-frame'))
  frame.style.cssText = 'display:block;border:1px solid;padding:8px';
document.body.append(bar);
document.body.style.paddingBottom = `${bar.offsetHeight}px`;
})();
