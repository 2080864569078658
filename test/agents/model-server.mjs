#!/usr/bin/env node
// A small model server that is no model, for real agent programs without a network: loopback only, no dependencies.
// usage: node model-server.mjs [requests.jsonl]; prints its address, and ends when its standard input does.
//   POST /v1/responses           OpenAI Responses          Codex
//   POST /v1/messages            Anthropic Messages        Claude Code
//   POST /v1/chat/completions    OpenAI Chat Completions   OpenClaw
// What it answers is a function of the conversation that it is sent, so that a test can tell what a program still knows:
//   turn=<prompts of a person that carry a #tag> tags=<all their #tags> kept=<every word after `kept:` in all that was sent>
// The last such prompt may ask for a tool, which is called once: CALL=<name of the tool> <its arguments as JSON, to the end of the line>
import { appendFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { randomBytes } from 'node:crypto';

const [log] = process.argv.slice(2);
const newId = (prefix) => `${prefix}${randomBytes(8).toString('hex')}`;

function textOf(content) {
  if (typeof content === 'string') return content;
  if (Array.isArray(content)) return content.map(textOf).join('\n');
  return content?.text ?? (content?.content === undefined ? '' : textOf(content.content));
}

/** The conversation as a list of {role, text}; a result of a tool has the role `tool`. */
const readers = {
  responses: ({ input = [] }) =>
    (typeof input === 'string' ? [{ role: 'user', content: input }] : input).flatMap((item) => {
      if (/_output$/.test(item.type ?? '')) return [{ role: 'tool', text: textOf(item.output) }];
      return item.role === undefined ? [] : [{ role: item.role, text: textOf(item.content) }];
    }),
  messages: ({ messages = [] }) =>
    messages.flatMap(({ role, content }) =>
      (typeof content === 'string' ? [{ type: 'text', text: content }] : content).flatMap((part) => {
        if (part.type === 'tool_result') return [{ role: 'tool', text: textOf(part.content) }];
        return part.type === 'text' ? [{ role, text: part.text }] : [];
      }),
    ),
  chat: ({ messages = [] }) => messages.map(({ role, content }) => ({ role, text: textOf(content ?? '') })),
};

function decide(conversation, body) {
  const isPrompt = ({ role, text }) => role === 'user' && /#[a-z]\w*/.test(text) && !/^\s*(<|# AGENTS\.md)/.test(text);
  const prompts = conversation.filter(isPrompt);
  const last = prompts.at(-1);
  const isAnswered = conversation.slice(conversation.lastIndexOf(last) + 1).some(({ role }) => role === 'tool');
  const [, tool, json] = (isAnswered ? null : last?.text.match(/\bCALL=(\w+) (.*)/)) ?? [];
  if (tool !== undefined) return { call: { name: tool, input: JSON.parse(json) } };
  const tags = [...new Set(prompts.flatMap(({ text }) => text.match(/#[a-z]\w*/g)))];
  const kept = [...new Set(JSON.stringify(body).match(/(?<=kept:)[a-z0-9-]+/g) ?? [])].sort();
  return { text: `turn=${prompts.length} tags=${tags.join(',')} kept=${kept.join(',')}` };
}

/** How each protocol says it: the events of a stream, and the same as one document. */
const writers = {
  responses({ call, text }, model) {
    const item = call
      ? {
          type: 'function_call',
          id: newId('fc_'),
          call_id: newId('call_'),
          name: call.name,
          arguments: JSON.stringify(call.input),
          status: 'completed',
        }
      : {
          type: 'message',
          id: newId('msg_'),
          role: 'assistant',
          status: 'completed',
          content: [{ type: 'output_text', text, annotations: [] }],
        };
    const usage = {
      input_tokens: 10,
      input_tokens_details: { cached_tokens: 0 },
      output_tokens: 5,
      output_tokens_details: { reasoning_tokens: 0 },
      total_tokens: 15,
    };
    const response = { id: newId('resp_'), object: 'response', created_at: 1, model, status: 'completed', output: [item], usage };
    return {
      events: [
        { type: 'response.created', response: { ...response, status: 'in_progress', output: [], usage: null } },
        { type: 'response.output_item.added', output_index: 0, item },
        { type: 'response.output_item.done', output_index: 0, item },
        { type: 'response.completed', response },
      ],
      document: response,
    };
  },
  messages({ call, text }, model) {
    const block = call ? { type: 'tool_use', id: newId('toolu_'), ...call } : { type: 'text', text };
    const message = {
      id: newId('msg_'),
      type: 'message',
      role: 'assistant',
      model,
      content: [block],
      stop_reason: call ? 'tool_use' : 'end_turn',
      stop_sequence: null,
      usage: { input_tokens: 10, output_tokens: 5 },
    };
    const start = call ? { ...block, input: {} } : { type: 'text', text: '' };
    const delta = call ? { type: 'input_json_delta', partial_json: JSON.stringify(call.input) } : { type: 'text_delta', text };
    return {
      events: [
        { type: 'message_start', message: { ...message, content: [], stop_reason: null } },
        { type: 'content_block_start', index: 0, content_block: start },
        { type: 'content_block_delta', index: 0, delta },
        { type: 'content_block_stop', index: 0 },
        { type: 'message_delta', delta: { stop_reason: message.stop_reason, stop_sequence: null }, usage: message.usage },
        { type: 'message_stop' },
      ],
      document: message,
    };
  },
  chat({ call, text }, model) {
    const about = { id: newId('chatcmpl-'), created: 1, model };
    const usage = { prompt_tokens: 10, completion_tokens: 5, total_tokens: 15 };
    const finish_reason = call ? 'tool_calls' : 'stop';
    const said = call
      ? {
          tool_calls: [
            { index: 0, id: newId('call_'), type: 'function', function: { name: call.name, arguments: JSON.stringify(call.input) } },
          ],
        }
      : { content: text };
    const chunk = (delta, reason = null) => ({
      ...about,
      object: 'chat.completion.chunk',
      choices: [{ index: 0, delta, finish_reason: reason }],
    });
    return {
      events: [chunk({ role: 'assistant', content: '' }), chunk(said), { ...chunk({}, finish_reason), usage }, '[DONE]'],
      document: {
        ...about,
        object: 'chat.completion',
        usage,
        choices: [{ index: 0, finish_reason, message: { role: 'assistant', content: null, ...said } }],
      },
    };
  },
};

const protocolOf = (path) =>
  Object.entries({ responses: /\/responses$/, messages: /\/messages$/, chat: /\/chat\/completions$/ }).find(([, end]) =>
    end.test(path),
  )?.[0];

const server = createServer(async (request, response) => {
  const parts = [];
  for await (const part of request) parts.push(part);
  const path = request.url.split('?')[0];
  const text = Buffer.concat(parts).toString();
  if (log !== undefined) appendFileSync(log, `${JSON.stringify({ method: request.method, path, body: text })}\n`);
  const send = (document, status = 200) => response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(document));
  const protocol = request.method === 'POST' ? protocolOf(path) : undefined;
  if (protocol !== undefined) {
    const body = JSON.parse(text);
    const { events, document } = writers[protocol](decide(readers[protocol](body), body), body.model);
    if (body.stream !== true) return send(document);
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    for (const event of events) {
      if (event.type !== undefined) response.write(`event: ${event.type}\n`);
      response.write(`data: ${typeof event === 'string' ? event : JSON.stringify(event)}\n\n`);
    }
    return response.end();
  }
  if (path.endsWith('/models'))
    return send({ object: 'list', data: [{ id: 'fake-model', object: 'model', created: 1, owned_by: 'fake' }], models: [] });
  if (path.endsWith('/count_tokens')) return send({ input_tokens: 10 });
  return path === '/' ? send({ ok: true }) : send({ error: { message: `nothing answers ${request.method} ${path} here` } }, 404);
});
server.listen(0, '127.0.0.1', () => console.log(`http://127.0.0.1:${server.address().port}`));
process.stdin.on('end', () => process.exit(0)).resume();
