// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// Tests the operator panels of the page without a browser, over a mock channel that can fail to open:
//   node operator_page_test.mjs WEB_DIRECTORY
import assert from "node:assert/strict";
import { join } from "node:path";
import { pathToFileURL } from "node:url";

// The parts of a DOM document that the panels use.
class Element extends EventTarget {
  children = [];
  dataset = {};
  style = {};
  append(...children) { this.children.push(...children); }
  replaceChildren(...children) { this.children = children; }
  setAttribute(name, value) { this[name] = value; }
}
const elements = new Map();
const byId = (id) => elements.get(id) ?? elements.set(id, new Element()).get(id);
globalThis.Element = Element;
globalThis.document = {
  getElementById: byId,
  createElement: () => Object.assign(new Element(), { getContext: () => ({}) }),
  querySelector: () => new Element(),
};

/** A mock server. `accepts`: whether connections open. `entities`: the number that it reports. */
const server = { accepts: true, entities: 100, opened: 0, socket: null };
globalThis.WebSocket = class {
  readyState = 0;
  constructor() {
    ++server.opened;
    server.socket = this;
    queueMicrotask(() => {
      if (!server.accepts) { this.readyState = 3; this.onerror(); this.onclose(); return; }
      this.readyState = 1;
      this.onopen();
    });
  }
  send(text) {
    const { op, id } = JSON.parse(text);
    const answer = { stats: { entities: server.entities, bytes_sent: 0, sessions: [{ relevant: 3 }] },
                     rules: { revision: 1, editable: true, nodes: [], warnings: [], names: { flags: [], keys: [], values: [] } } }[op];
    if (op === "find") this.reply({ op: "found", observer: 7, id });
    else if (answer) this.reply({ op, ...answer, id });
  }
  reply(message) { queueMicrotask(() => this.onmessage({ data: JSON.stringify(message) })); }
  close() {
    if (this.readyState === 3) return;
    this.readyState = 3;
    this.onclose();
  }
};

let now = 0;
const timers = new Map();
globalThis.setTimeout = (run, ms) => timers.set(run, { at: now + ms, every: null }) && run;
globalThis.setInterval = (run, ms) => timers.set(run, { at: now + ms, every: ms }) && run;
globalThis.clearTimeout = (run) => timers.delete(run);
/** Advances the time by `ms` and runs the timers that become due. */
async function pass(ms) {
  for (const end = now + ms; now < end; now += 100) {
    for (const [run, timer] of timers) {
      if (timer.at > now) continue;
      if (timer.every === null) timers.delete(run);
      else timer.at += timer.every;
      run();
    }
    for (let i = 0; i < 30; ++i) await null;
  }
}

const { OperatorPage } = await import(pathToFileURL(join(process.argv[2], "operator_page.mjs")));
let missing = null;
const client = { state: "joined", nonce: "00" };
const scene = { drawn: { own: null, ghosts: [] }, truth: null };
const view = { center: { x: 0, y: 0 }, halfWidth: 1, halfHeight: 1 };
const page = new OperatorPage("ws://127.0.0.1/operator",
                              { client, scene, view, tabs: { current: "world" }, figures: { mark() {} }, showMissing: (why) => { missing = why; } });
const shown = () => [byId("entities").textContent, byId("rules-world").textContent?.split(",")[0], missing];

// The world statistics are refreshed, and cleared when the channel closes.
void page.joined();
assert.equal(byId("rules-none").hidden, true);
await pass(100);
assert.equal(byId("entities").textContent, 100);
// This world has no nodes, so the panel shows a note instead.
assert.deepEqual([byId("rules-none").hidden, byId("rules-help").hidden], [false, true]);
server.entities = 120;
await pass(1500);
assert.deepEqual(shown(), [120, "1 client: 3 relevant pairs", ""]);
server.accepts = false;
server.socket.close();
await pass(100);
assert.deepEqual(shown(), ["–", "", ""]);

// The page shows why operator data is missing, and clears the message when the channel opens.
await page.joined();
assert.match(missing, /^The operator channel cannot be opened/);
server.accepts = true;
await page.joined();
await pass(100);
assert.deepEqual(shown(), [120, "1 client: 3 relevant pairs", ""]);

// A channel that does not open is retried with growing delays while the client is joined.
server.accepts = false;
server.socket.close();
server.opened = 0;
await pass(20_000);
assert.equal(server.opened, 3);
server.accepts = true;
await pass(20_000);
assert.deepEqual([server.opened, page.channel.isOpen], [4, true]);
server.accepts = false;
server.socket.close();
await pass(2500);
assert.equal(server.opened, 5, "the retry delay starts over");
client.state = "closed";
await pass(60_000);
assert.equal(server.opened, 5);
console.log("operator page: passed");
