// Chat with one or two models: streams answers, and shows the request as code.

const root = document.getElementById('playground');
const byId = (id) => document.getElementById(id);

if (root) {
  const { csrf, url } = root.dataset;
  const talks = byId('talks');
  const compare = byId('compare');
  const send = byId('send');
  const stop = byId('stop');
  let running = null;

  const conversations = new Map();
  const all = () => [...talks.querySelectorAll('.talk')];
  const messagesOf = (talk) => {
    if (!conversations.has(talk)) conversations.set(talk, []);
    return conversations.get(talk);
  };

  const bubble = (talk, kind, text) => {
    const place = talk.querySelector('.said');
    place.querySelector('.hint')?.remove();
    const element = document.createElement('div');
    element.className = kind;
    element.textContent = text;
    place.append(element);
    place.scrollTop = place.scrollHeight;
    return element;
  };

  const request = (talk, messages) => {
    const body = { model: talk.querySelector('select').value, messages: [...messages], stream: true };
    const system = byId('system').value.trim();
    if (system) body.messages.unshift({ role: 'system', content: system });
    const temperature = byId('temperature').value.trim();
    const most = byId('max-tokens').value.trim();
    if (temperature) body.temperature = Number(temperature);
    if (most) body.max_tokens = Number(most);
    return body;
  };

  // Events of a stream, as the text of their data.
  const events = async function* (body) {
    const reader = body.pipeThrough(new TextDecoderStream()).getReader();
    let text = '';
    for (;;) {
      const { value, done } = await reader.read();
      if (done) return;
      text += value;
      const parts = text.split(/\r?\n\r?\n/);
      text = parts.pop();
      for (const part of parts) {
        const lines = part.split(/\r?\n/).filter((line) => line.startsWith('data:'));
        if (lines.length > 0) yield lines.map((line) => line.slice(5).trimStart()).join('\n');
      }
    }
  };

  const ask = async (talk, prompt, signal) => {
    const messages = messagesOf(talk);
    messages.push({ role: 'user', content: prompt });
    bubble(talk, 'user', prompt);
    const answer = bubble(talk, 'assistant', '…');
    let text = '';
    try {
      const response = await fetch('/playground/chat', {
        method: 'POST',
        headers: { 'content-type': 'application/json', 'x-csrf-token': csrf },
        body: JSON.stringify(request(talk, messages)),
        signal,
      });
      if (!response.ok) {
        const failure = await response.json().catch(() => null);
        throw new Error(failure?.error?.message ?? `The service answered with status ${response.status}.`);
      }
      for await (const data of events(response.body)) {
        if (data === '[DONE]') break;
        const event = JSON.parse(data);
        if (event.error) throw new Error(event.error.message);
        text += event.choices?.[0]?.delta?.content ?? '';
        if (text) answer.textContent = text;
        const place = talk.querySelector('.said');
        place.scrollTop = place.scrollHeight;
      }
      messages.push({ role: 'assistant', content: text });
      if (!text) answer.textContent = '(empty answer)';
    } catch (error) {
      if (text) messages.push({ role: 'assistant', content: text });
      else {
        answer.remove();
        messages.pop();
      }
      bubble(talk, 'failed', error.name === 'AbortError' ? 'Stopped.' : error.message);
    }
  };

  byId('ask').addEventListener('submit', async (event) => {
    event.preventDefault();
    event.stopPropagation();
    const prompt = byId('prompt').value.trim();
    if (!prompt || running) return;
    running = new AbortController();
    send.disabled = true;
    stop.hidden = false;
    byId('prompt').value = '';
    await Promise.all(all().map((talk) => ask(talk, prompt, running.signal)));
    running = null;
    send.disabled = false;
    stop.hidden = true;
    byId('prompt').focus();
    show();
  });
  byId('prompt').addEventListener('keydown', (event) => {
    if (event.key === 'Enter' && (event.ctrlKey || event.metaKey)) byId('ask').requestSubmit();
  });
  stop.addEventListener('click', () => running?.abort());

  byId('clear').addEventListener('click', () => {
    for (const talk of all()) {
      conversations.delete(talk);
      talk.querySelector('.said').replaceChildren();
    }
    byId('prompt').focus();
    show();
  });

  compare.addEventListener('click', () => {
    const [first, second] = all();
    const on = !second;
    compare.setAttribute('aria-pressed', String(on));
    compare.textContent = on ? 'Show one model' : 'Compare two models';
    if (second) {
      conversations.delete(second);
      second.remove();
    } else {
      const other = first.cloneNode(true);
      other.setAttribute('aria-label', 'Second model');
      const select = other.querySelector('select');
      select.id = 'model-1';
      select.selectedIndex = Math.min(1, select.length - 1);
      other.querySelector('label').htmlFor = 'model-1';
      other.querySelector('.said').replaceChildren();
      talks.append(other);
    }
    show();
  });

  const indented = (value, by) => JSON.stringify(value, null, 2).replace(/\n/g, `\n${by}`);
  const show = () => {
    const [talk] = all();
    const prompt = byId('prompt').value.trim() || 'Hello';
    const body = request(talk, [...messagesOf(talk), { role: 'user', content: prompt }]);
    const { stream, ...rest } = body;
    byId('code-curl').textContent = `curl ${url}/v1/chat/completions \\
  -H "Authorization: Bearer $AGENT_API_KEY" \\
  -H 'Content-Type: application/json' \\
  -d '${JSON.stringify(body).replace(/'/g, "'\\''")}'`;
    const options = Object.entries(rest).map(([name, value]) => `    ${name}=${indented(value, '    ')},`);
    byId('code-python').textContent = `import os
from openai import OpenAI

client = OpenAI(base_url="${url}/v1", api_key=os.environ["AGENT_API_KEY"])
stream = client.chat.completions.create(
${options.join('\n')}
    stream=True,
)
for event in stream:
    if event.choices:
        print(event.choices[0].delta.content or "", end="")`;
    byId('code-typescript').textContent = `import OpenAI from "openai";

const client = new OpenAI({ baseURL: "${url}/v1", apiKey: process.env.AGENT_API_KEY });
const stream = await client.chat.completions.create(${indented(body, '')});
for await (const event of stream) {
  process.stdout.write(event.choices[0]?.delta?.content ?? "");
}`;
  };
  root.addEventListener('input', show);
  show();
}
