// What pages do beyond forms and links: dialogs, copying, tabs, live parts, values of bars.

const say = (text) => {
  const place = document.querySelector('#said');
  if (place) place.textContent = text;
};

document.addEventListener('click', async (event) => {
  const target = event.target.closest('[data-dialog], [data-close], [data-copy]');
  if (event.target instanceof HTMLDialogElement) event.target.close();
  if (!target) return;
  if (target.dataset.dialog) document.getElementById(target.dataset.dialog)?.showModal();
  if ('close' in target.dataset) target.closest('dialog')?.close();
  if (target.dataset.copy) {
    const text = document.getElementById(target.dataset.copy)?.textContent ?? '';
    try {
      await navigator.clipboard.writeText(text);
      say('Copied');
      flash(target, 'Copied');
    } catch {
      say('Copying is not allowed here; select the text instead');
    }
  }
});

const flash = (button, text) => {
  const label = button.querySelector('span') ?? button;
  const before = label.textContent;
  if (before === text) return;
  label.textContent = text;
  setTimeout(() => { label.textContent = before; }, 1500);
};

// A form is sent once.
document.addEventListener('submit', (event) => {
  for (const button of event.target.querySelectorAll('button:not([type=button])')) {
    setTimeout(() => { button.disabled = true; });
  }
});
addEventListener('pageshow', () => {
  for (const button of document.querySelectorAll('form button:disabled')) button.disabled = false;
});

document.addEventListener('change', (event) => {
  event.target.closest('form[data-auto]')?.requestSubmit();
});

// Parts with headings become tabs; without JavaScript all of them are shown.
for (const group of document.querySelectorAll('[data-tabs]')) {
  const parts = [...group.querySelectorAll(':scope > [data-tab]')];
  const list = document.createElement('div');
  list.setAttribute('role', 'tablist');
  list.setAttribute('aria-label', group.dataset.tabs);
  const show = (chosen) => parts.forEach((part, at) => {
    const tab = list.children[at];
    part.hidden = part !== chosen;
    tab.setAttribute('aria-selected', String(part === chosen));
    tab.tabIndex = part === chosen ? 0 : -1;
  });
  for (const [at, part] of parts.entries()) {
    const tab = document.createElement('button');
    tab.type = 'button';
    tab.textContent = part.dataset.tab;
    tab.id = `${group.id}-tab-${at}`;
    part.id ||= `${group.id}-part-${at}`;
    tab.setAttribute('role', 'tab');
    tab.setAttribute('aria-controls', part.id);
    part.setAttribute('role', 'tabpanel');
    part.setAttribute('aria-labelledby', tab.id);
    tab.addEventListener('click', () => show(part));
    list.append(tab);
  }
  list.addEventListener('keydown', (event) => {
    const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    if (!step) return;
    const at = [...list.children].indexOf(document.activeElement);
    const next = list.children[(at + step + parts.length) % parts.length];
    next.click();
    next.focus();
  });
  group.prepend(list);
  if (parts.length > 0) show(parts[0]);
}

// Bars tell their value in the head of their chart.
for (const chart of document.querySelectorAll('.chart')) {
  const output = chart.querySelector('output');
  chart.addEventListener('pointerover', (event) => {
    output.textContent = event.target.closest('.bar')?.querySelector('title').textContent ?? '';
  });
  chart.addEventListener('pointerleave', () => { output.textContent = ''; });
}

// A live part is fetched again: after each event of a stream, or every few seconds.
const refresh = async (part) => {
  const answer = await fetch(location.href, { headers: { accept: 'text/html' } });
  if (!answer.ok) return;
  const page = new DOMParser().parseFromString(await answer.text(), 'text/html');
  const fresh = page.getElementById(part.id);
  if (fresh && fresh.innerHTML !== part.innerHTML) part.replaceChildren(...fresh.childNodes);
  return fresh;
};
for (const part of document.querySelectorAll('[data-every]')) {
  setInterval(() => { if (!document.hidden) refresh(part); }, Number(part.dataset.every) * 1000);
}
for (const part of document.querySelectorAll('[data-events]')) {
  const events = new EventSource(part.dataset.events);
  let running = Promise.resolve();
  const next = () => {
    running = running.then(() => refresh(part)).then((fresh) => {
      if (fresh && !fresh.dataset.events) events.close();
    });
  };
  events.onmessage = next;
  for (const kind of (part.dataset.kinds ?? '').split(' ')) events.addEventListener(kind, next);
}
