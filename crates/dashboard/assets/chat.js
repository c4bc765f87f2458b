// A conversation in the page: messages are sent, events of the answer shown, questions asked.

const chat = document.querySelector('#chat');
const { path, csrf } = chat.dataset;
const at = (id) => document.getElementById(id);
const [turn, form, text, send, stop, status, dialog] =
  ['turn', 'say', 'text', 'send', 'stop', 'status', 'question'].map(at);

const element = (name, content, properties = {}) => {
  const made = Object.assign(document.createElement(name), properties);
  made.append(...[content].flat());
  return made;
};

const post = async (where, body) => {
  const answer = await fetch(`${path}/${where}`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'x-csrf-token': csrf },
    body: JSON.stringify(body),
  });
  if (answer.ok) return true;
  const problem = await answer.json().catch(() => ({}));
  show(problem.message ?? `The request failed (${answer.status}).`, 'bad');
  return false;
};

const show = (message, kind = '') => {
  turn.append(element('div', element('div', message), { className: `notice ${kind}`, role: kind ? 'alert' : 'note' }));
};

let busy = false;
const setBusy = (is) => {
  busy = is;
  send.disabled = is;
  stop.hidden = !is;
  chat.setAttribute('aria-busy', String(is));
  if (!is) status.textContent = '';
};

// The answer that comes: one part of text, one line for each call.
let words = null;
const calls = new Map();
// The message of this tab that comes back as an event.
let own = null;
// Events changed the page since it was loaded.
let changed = 'busy' in chat.dataset;
const begin = (message) => {
  setBusy(true);
  turn.replaceChildren();
  words = null;
  calls.clear();
  const shown = element('article', [element('h2', 'You'), element('div', message, { className: 'text streaming' })], { className: 'message own' });
  at('messages').append(shown);
  return shown;
};
const article = () => {
  let last = turn.querySelector('.message');
  if (!last) {
    last = element('article', element('h2', 'Agent'), { className: 'message' });
    turn.append(last);
  }
  return last;
};
const say = (more) => {
  if (!words) {
    words = element('div', '', { className: 'streaming' });
    article().append(words);
  }
  words.append(more);
};
const json = (value) => (typeof value === 'string' ? value : JSON.stringify(value, null, 2));

const STEPS = { pending: 'pending', in_progress: 'in progress', completed: 'done' };
const steps = ({ plan }) => element('ol', plan.map(({ step, status: state }) =>
  element('li', [`${step} `, element('span', STEPS[state] ?? state, { className: 'muted' })])));

const events = {
  said: ({ text: message }) => {
    if (own) own = null;
    else begin(message);
  },
  asking: ({ model }) => {
    setBusy(true);
    status.textContent = `${model} is answering`;
  },
  cleared: ({ id }) => { if (!path.endsWith(`/${id}`)) location.replace(`/chats/${id}`); },
  text: ({ text: more }) => say(more),
  tool_call: (event) => {
    words = null;
    if (event.name === 'update_plan' && Array.isArray(event.arguments?.plan)) {
      article().append(steps(event.arguments));
      return;
    }
    const summary = element('summary', `${event.name} …`);
    const details = element('details', [summary, element('pre', json(event.arguments))]);
    calls.set(event.id, { details, summary });
    article().append(details);
    status.textContent = `${event.name} is running`;
  },
  tool_progress: ({ id, text: progress }) => {
    const call = calls.get(id);
    if (call) status.textContent = progress;
  },
  tool_result: (event) => {
    const call = calls.get(event.id);
    if (!call) return;
    call.summary.textContent = `${event.name}: ${event.outcome}, ${event.milliseconds} ms`;
    call.details.append(element('pre', event.text ?? ''));
  },
  waiting: ({ because }) => { status.textContent = `Waiting: ${because}`; },
  cut_short: () => show('The answer was too long and was cut.'),
  trimmed: ({ results, messages, attachments }) => show(
    `The conversation exceeded the context window: ${results} results, ${messages} messages and ${attachments} attachments were cut.`,
  ),
  summarised: ({ messages }) => show(`Earlier messages were replaced by a summary: ${messages}.`),
  attachments_rejected: ({ kind, count }) => show(`The model does not accept this kind of attachment (${kind}): ${count} left out.`),
  unfinished: ({ tools }) => show(`These tool calls may or may not have run: ${tools.join(', ')}.`, 'warn'),
  question: (event) => ask(event),
  question_closed: ({ question }) => answered(question),
  finished: ({ message, outcome }) => { if (outcome !== 'success' && message) show(message, 'warn'); },
  idle: () => finish(),
  closed: () => finish(),
};

const take = (event) => {
  const isEnd = event.type === 'idle' || event.type === 'closed';
  changed ||= !isEnd;
  if (event.error) show([event.error.message, ...event.error.causes, ...event.error.hints].join('. '), 'bad');
  else if (event.warning) show(event.warning.message, 'warn');
  else if (event.shown && event.type !== 'cleared') turn.append(element('pre', event.shown, { className: 'log output', tabIndex: 0 }));
  else return events[event.type]?.(event);
};

// Once an answer is complete, the page of the server shows it with its formatting.
const finish = async () => {
  setBusy(false);
  close();
  if (!changed) return;
  const answer = await fetch(location.href, { headers: { accept: 'text/html' } });
  if (!answer.ok) return;
  const page = new DOMParser().parseFromString(await answer.text(), 'text/html');
  for (const id of ['messages', 'facts']) at(id).replaceWith(page.getElementById(id));
  turn.replaceChildren(...turn.querySelectorAll('.notice, .output'));
  words = null;
  calls.clear();
  changed = false;
  const { dataset } = page.getElementById('chat');
  if ('busy' in dataset) {
    // Another tab has sent the next message.
    next = Number(dataset.next);
    setBusy(true);
  } else {
    text.focus();
  }
};

// Questions: one dialog at a time; the others wait.
const questions = [];
const close = () => {
  questions.length = 0;
  dialog.close();
};
const answered = (number) => {
  const at = questions.findIndex(({ question }) => question === number);
  if (at < 0) return;
  questions.splice(at, 1);
  if (at > 0) return;
  dialog.close();
  if (questions.length > 0) open();
};
const ask = (event) => {
  questions.push(event);
  if (questions.length === 1) open();
};
const reply = async (answer) => {
  const { question } = questions[0];
  if (await post('answers', { question, answer })) answered(question);
};
const section = ([name, content]) => [element('h3', name), element('pre', content, { tabIndex: 0 })];
const NAMES = { once: 'Run once', always: 'Always allow', no: 'Do not run', stop: 'Stop the answer' };

const open = () => {
  const event = questions[0];
  dialog.dataset.question = String(event.question);
  at('question-title').textContent = event.title;
  const body = at('question-body');
  const actions = at('question-actions');
  body.replaceChildren(...(event.sections ?? []).flatMap(section));
  if (event.kind === 'form') {
    const made = inputs(event.schema);
    body.append(element('p', 'Do not enter passwords or other secrets.', { className: 'hint' }));
    body.append(made.form);
    actions.replaceChildren(
      element('button', 'Decline', { type: 'button', onclick: () => reply('decline') }),
      element('button', 'Send', {
        type: 'button', className: 'primary',
        onclick: () => { if (made.form.reportValidity()) reply(made.values()); },
      }),
    );
  } else {
    actions.replaceChildren(...event.choices.map((choice) => element('button', NAMES[choice] ?? choice, {
      type: 'button', value: choice, className: choice === 'once' ? 'primary' : '', onclick: () => reply(choice),
    })));
  }
  dialog.showModal();
};
// A question is answered, not dismissed.
dialog.addEventListener('cancel', (event) => event.preventDefault());

// The inputs of a flat JSON Schema.
const inputs = (schema) => {
  const required = schema.required ?? [];
  const fields = Object.entries(schema.properties ?? {}).map(([name, field], index) => {
    const id = `answer-${index}`;
    const isList = field.type === 'array';
    const one = isList ? field.items ?? {} : field;
    const titled = one.oneOf ?? one.anyOf;
    const options = one.enum ?? titled?.map((it) => it.const);
    const input = options ? document.createElement('select') : document.createElement('input');
    input.id = id;
    input.required = required.includes(name) && field.type !== 'boolean';
    if (options) {
      const titles = one.enumNames ?? titled?.map((it) => it.title) ?? options;
      input.multiple = isList;
      if (!input.required && !isList) input.append(element('option', '', { value: '' }));
      options.forEach((value, at) => input.append(element('option', String(titles[at] ?? value), { value })));
    } else {
      input.type = { boolean: 'checkbox', number: 'number', integer: 'number' }[field.type]
        ?? { email: 'email', uri: 'url', date: 'date' }[field.format] ?? 'text';
      if (field.type === 'number') input.step = 'any';
      for (const [key, property] of [['minLength', 'minLength'], ['maxLength', 'maxLength'], ['minimum', 'min'], ['maximum', 'max']]) {
        if (field[key] !== undefined) input[property] = field[key];
      }
    }
    if (field.default !== undefined) {
      if (input.type === 'checkbox') input.checked = field.default === true;
      else if (isList) for (const option of input.options) option.selected = [field.default].flat().includes(option.value);
      else input.value = field.default;
    }
    const label = element('label', field.title ?? name, { htmlFor: id });
    const hint = field.description ? [element('span', field.description, { className: 'hint' })] : [];
    return { name, field, input, row: element('div', [label, input, ...hint], { className: 'field' }) };
  });
  const form = element('form', fields.map(({ row }) => row), { className: 'stack' });
  form.addEventListener('submit', (event) => event.preventDefault());
  const values = () => Object.fromEntries(fields.flatMap(({ name, field, input }) => {
    if (input.type === 'checkbox') return [[name, input.checked]];
    if (input.multiple) return [[name, [...input.selectedOptions].map(({ value }) => value)]];
    if (input.value === '') return [];
    const isNumber = field.type === 'number' || field.type === 'integer';
    return [[name, isNumber ? Number(input.value) : input.value]];
  }));
  return { form, values };
};

// Only a visible tab listens: browsers open few connections to one host.
let source = null;
let next = Number(chat.dataset.next);
// Events are handled one after another: the end of an answer loads the page again.
let handled = Promise.resolve();
const listen = () => {
  if (source || document.hidden) return;
  source = new EventSource(`${path}/events?from=${next}`);
  source.onmessage = ({ lastEventId, data }) => {
    handled = handled.then(() => {
      const number = Number(lastEventId);
      if (number < next) return undefined;
      next = number + 1;
      return take(JSON.parse(data));
    }).catch(console.error);
  };
  source.onerror = () => { if (source?.readyState === EventSource.CLOSED) source = null; };
};
document.addEventListener('visibilitychange', () => {
  if (document.hidden) {
    source?.close();
    source = null;
  } else {
    listen();
  }
});

form.addEventListener('submit', async (event) => {
  event.preventDefault();
  const message = text.value.trim();
  if (busy || message === '') return;
  setBusy(true);
  await handled;
  const shown = begin(message);
  own = shown;
  status.textContent = 'Starting';
  if (await post('messages', { text: message })) {
    text.value = '';
    listen();
  } else {
    shown.remove();
    own = null;
    setBusy(false);
  }
});
text.addEventListener('keydown', (event) => {
  if (event.key === 'Enter' && (event.ctrlKey || event.metaKey)) form.requestSubmit();
});
stop.addEventListener('click', () => post('stop', {}));

setBusy('busy' in chat.dataset);
// Showing a page again enables its buttons.
addEventListener('pageshow', () => setBusy(busy));
listen();
setInterval(() => { if (!document.hidden) fetch('/alive'); }, 60_000);
