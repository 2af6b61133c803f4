// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// Each request of operator.mjs gets its own reply, whatever else arrives in between:
//   node operator_channel_test.mjs WEB_DIRECTORY
import assert from "node:assert/strict";
import { join } from "node:path";
import { pathToFileURL } from "node:url";

let socket = null;
globalThis.WebSocket = class {
  readyState = 0;
  sent = [];
  constructor() {
    socket = this;
    queueMicrotask(() => { this.readyState = 1; this.onopen(); });
  }
  send(text) { this.sent.push(JSON.parse(text)); }
  close() { this.readyState = 3; this.onclose?.(); }
};
const receive = (message) => socket.onmessage({ data: JSON.stringify(message) });

const { OperatorChannel } = await import(pathToFileURL(join(process.argv[2], "operator.mjs")));
const channel = new OperatorChannel("ws://127.0.0.1/operator");
const rules = [];
channel.on("rules", ({ revision }) => rules.push(revision));
await channel.open();

// Another operator sets rules while this request is in flight, and it is refused. An error without an id belongs to
// a message without a reply.
const set = channel.ask({ op: "set_rules", nodes: [] });
const stats = channel.ask({ op: "stats" });
channel.tell({ op: "truth", on: true });
const [first, second] = socket.sent.map(({ id }) => id);
assert.ok(Number.isInteger(first) && Number.isInteger(second) && first !== second);
receive({ op: "rules", revision: 8, nodes: [] });
receive({ op: "error", text: "truth needs 'rect'" });
receive({ op: "error", about: "set_rules", text: "no such step", id: first });
receive({ op: "stats", entities: 5, id: second });
assert.deepEqual(await set, { op: "error", about: "set_rules", text: "no such step", id: first });
assert.equal((await stats).entities, 5);
assert.deepEqual(rules, [8]);

// A listener added during dispatch starts with the next message. One removed during dispatch gets no more.
const received = [];
let end = () => {};
const again = () => {
  end();
  end = channel.on("rules", ({ revision }) => {
    received.push(revision);
    assert.ok(received.length < 9, "one message is dispatched endlessly");
    again();
  });
};
again();
const endFirst = channel.on("rules", () => { endOther(); endFirst(); });
const endOther = channel.on("rules", () => { received.push("other"); });
for (const revision of [9, 10]) receive({ op: "rules", revision, nodes: [] });
assert.deepEqual(received, [9, 10]);
end();

// A reply that arrives after its request timed out is ignored.
const { setTimeout } = globalThis;
globalThis.setTimeout = (run) => queueMicrotask(run);
await assert.rejects(channel.ask({ op: "at" }), /no reply from the server: at/);
globalThis.setTimeout = setTimeout;
const next = channel.ask({ op: "at" });
receive({ op: "at", entities: ["late"], id: socket.sent.at(-2).id });
receive({ op: "at", entities: ["now"], id: socket.sent.at(-1).id });
assert.deepEqual((await next).entities, ["now"]);

const last = channel.ask({ op: "stats" });
channel.close();
await assert.rejects(last, /closed/);
await assert.rejects(channel.ask({ op: "stats" }), /closed/);
console.log("passed");
