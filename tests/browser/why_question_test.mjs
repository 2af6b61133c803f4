// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// The state of the "why?" query after its channel closed:  node why_question_test.mjs WEB_DIRECTORY
import assert from "node:assert/strict";
import { join } from "node:path";
import { pathToFileURL } from "node:url";

globalThis.setInterval = () => {};
const { WhyQuestion, endOf } = await import(pathToFileURL(join(process.argv[2], "why_question.mjs")));

const channel = {
  isOpen: true,
  requests: [],
  listeners: {},
  on(name, listener) { this.listeners[name] = listener; },
  async ask(request) {
    this.requests.push(request);
    return request.op === "at" ? { op: "at", entities: [] } : { op: "explain", observer: request.observer, entity_text: request.entity };
  },
};
const question = new WhyQuestion(channel, () => true);
const me = { name: "me", isMe: true, observer: 7, entity: null };
const wolf = endOf({ entity: "12", index: 12, kind: "wolf", x: 1, y: 2, observer: null });
const player = endOf({ entity: "13", index: 13, kind: "player", x: 1, y: 2, observer: 8 });

/**
 * Returns [first, second] of an answered query after the channel has closed, and the number of requests sent after
 * that.
 */
async function afterClose(first, second) {
  channel.isOpen = true;
  question.choose("first", first);
  question.choose("second", second);
  await question.ask();
  assert.notEqual(question.answer, null);
  channel.isOpen = false;
  channel.listeners.closed();
  assert.equal(question.answer, null);
  channel.isOpen = true;
  channel.requests = [];
  await question.ask();
  return [question.first, question.second, channel.requests.length];
}

// The query drops ids of other entities, because the next server may use them for different ones. "me" stays.
assert.deepEqual(await afterClose(player, wolf), [null, null, 0]);
assert.deepEqual(await afterClose(me, wolf), [me, null, 0]);
assert.deepEqual(await afterClose(player, { ...player, name: "me", isMe: true }), [null, null, 0]);
console.log("why question: passed");
