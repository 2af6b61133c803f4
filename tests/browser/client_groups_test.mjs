// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// Roots, relations and cells in client.mjs, on a mock module. Also checks that the real module exports every
// function that the client calls:
//   node client_groups_test.mjs WEB_DIRECTORY MODULE
import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { webcrypto } from "node:crypto";
import { pathToFileURL } from "node:url";

const [web, modulePath] = process.argv.slice(2);
globalThis.crypto ??= webcrypto;
const { NO_CELL, NO_GHOST, PurviewClient } = await import(pathToFileURL(join(web, "client.mjs")));

const memory = new WebAssembly.Memory({ initial: 1 });
const words = new Uint32Array(memory.buffer);
/** Writes rows of words at an address, as the module would. Returns the number of rows. */
const put = (at, rows) => { words.set(rows.flat(), at / 4); return rows.length; };
let [events, relations, changes] = [0, 0, 0];
const called = new Set();
const answers = {
  pv_client_create: () => 8,
  pv_client_state: () => 2,
  pv_client_input: () => 1024,
  pv_client_take_events: () => events,
  pv_client_events: () => 4096,
  pv_client_relation_count: () => relations,
  pv_client_relations: () => 8192,
  pv_client_change_count: () => changes,
  pv_client_changes: () => 12288,
  pv_client_root_of: (_, ghost) => (ghost === 3 ? 1 : -1),  // signed, as wasm returns it
  pv_client_orientation: () => 512,
  pv_client_cell_grid_count: () => 2,
  pv_client_cell_of: (_, ghost, grid) => (ghost === 3 ? 20 + grid : -1),
};
let messages = [];
answers.pv_client_next_message = () => {
  const [bytes] = messages.splice(0, 1);
  if (bytes !== undefined) new Uint8Array(memory.buffer, 16384).set(bytes);
  answers.pv_client_message_size = () => bytes.length;
  return bytes === undefined ? 0 : 1;
};
answers.pv_client_message = () => 16384;
const module = new Proxy({ memory, _initialize: undefined }, {
  get: (its, name) => (name in its ? its[name] : (...rest) => { called.add(name); return answers[name]?.(...rest) ?? 0; }),
});
const instantiate = WebAssembly.instantiate;
WebAssembly.instantiate = async () => ({ exports: module });
class Socket {
  readyState = 1;
  constructor() { Socket.last = this; }
  send() {}
  close() {}
}

const client = new PurviewClient(null, { url: "", WebSocket: Socket });
assert.deepEqual([client.rootOf(3), client.cellOf(3), client.cellGridCount], [NO_GHOST, NO_CELL, 0]);
await client.connect();
assert.deepEqual([client.rootOf(3), client.rootOf(9)], [1, NO_GHOST]);
assert.deepEqual([client.cellGridCount, client.cellOf(3), client.cellOf(3, 1), client.cellOf(9)], [2, 20, 21, NO_CELL]);
new Float32Array(memory.buffer, 512, 4).set([0, 0, 1, 0]);
assert.deepEqual(client.orientation(3, 10.5), [0, 0, 1, 0]);

// RPC arguments: numbers, texts and rotations, sent and received.
const utf8 = new TextEncoder();
const names = ["say", "text", "loud", "turn"];
const given = [];
Object.assign(answers, {
  pv_client_rpc_count: () => 1, pv_client_argument_count: () => 3, pv_client_rpc_to_server: () => 1,
  pv_client_kind_count: () => 1,
  pv_client_rpc_name: () => 20_000, pv_client_argument_name: (_, r, a) => 20_000 + 16 * (a + 1),
  pv_client_argument_type: (_, r, a) => [1, 0, 2][a],
  pv_client_take_calls: () => 0, pv_client_calls: () => 24_000, pv_client_call_values: () => 24_064,
  pv_client_call_text: (_, value) => (value === 0 ? 20_100 : 20_200),
  pv_client_give_text: (_, a, size) => { given.push([a, new TextDecoder().decode(new Uint8Array(memory.buffer, 1024, size))]); },
  pv_client_give_rotation: (_, a) => { given.push([a, ...new Float64Array(memory.buffer, 1024, 4)]); },
  pv_client_call: (_, rpc, ghost, count) => { given.push([rpc, ghost, ...new Float64Array(memory.buffer, 1024, count)]); return 1; },
});
const write = (at, text) => { new Uint8Array(memory.buffer).set([...utf8.encode(text), 0], at); };
names.forEach((name, i) => { write(20_000 + 16 * i, name); });
Socket.last.onmessage({ data: new ArrayBuffer(8) });  // joined
const calls = [];
client.on("call", ({ name, values }) => { calls.push([name, values]); });
write(20_100, "grüß dich");
answers.pv_client_call_rotation = () => 20_304;
new Float32Array(memory.buffer, 20_304, 4).set([0, 0, 1, 0]);
new Float64Array(memory.buffer, 24_064, 3).set([0, 2.5, 0]);
answers.pv_client_take_calls = () => { answers.pv_client_take_calls = () => 0; return put(24_000, [[0, NO_GHOST, 0, 3, 0]]); };
Socket.last.onmessage({ data: new ArrayBuffer(8) });
assert.deepEqual(calls, [["say", { text: "grüß dich", loud: 2.5, turn: [0, 0, 1, 0] }]]);
assert.ok(client.call("say", { turn: [0, 1, 0, 0], text: `é${"x".repeat(100)}`, loud: 3 }));
assert.deepEqual(given.splice(0), [[0, `é${"x".repeat(62)}`], [2, 0, 1, 0, 0], [0, NO_GHOST, 0, 3, 0]]);
assert.ok(client.call("say"));
assert.deepEqual(given.splice(0), [[0, NO_GHOST, 0, 0, 0]]);
assert.throws(() => client.call("sya"), /RangeError: unknown call to the server: 'sya'; available: say$/);
assert.ok(client.call("say", null, NO_GHOST) && client.call("say", { txet: undefined }));
given.length = 0;
assert.throws(() => client.call("say", { txet: "é" }), /RangeError: 'say' has no argument 'txet'; available: text, loud, turn$/);
assert.deepEqual(client.schema.calls[0].types, ["text", "number", "rotation"]);
// A call that throws leaves no arguments behind. An invalid rotation throws.
assert.throws(() => client.call("say", { text: "bob", loud: NaN }), /RangeError: NaN is not a number/);
assert.throws(() => client.call("say", { text: "bob", loud: 1, turn: { x: 0, y: 0, z: 0, w: 1 } }), /RangeError: a rotation must be/);
for (const turn of [[], [0, 0, 1], [0, 0, 0, 0, 1], 5, "0001x", [0, 0, "e", 1], { x: 1 }])
  assert.throws(() => client.call("say", { text: "bob", turn }), /RangeError: a rotation must be four numbers/);
assert.deepEqual(given, []);
assert.ok(client.call("say", { loud: 5, turn: new Float32Array([1, 0, 0, 0]) }));
assert.deepEqual(given.splice(0), [[2, 1, 0, 0, 0], [0, NO_GHOST, 0, 5, 0]]);

// Invalid ghost numbers. Most of them would become 0 when they are passed to the module.
const noGhosts = [undefined, null, NaN, "none", {}, -1, 0.9, 2 ** 32];

// An RPC about a ghost needs a ghost number. NO_GHOST is allowed, since the ghost may have left. An RPC for players
// throws for a spectator.
Object.assign(answers, { pv_client_rpc_about_ghost: () => 1, pv_client_rpc_callers: () => 2 });
const ours = Socket.last;
for (const role of ["player", "spectator"]) {
  const its = new PurviewClient(null, { url: "", role, WebSocket: Socket });
  await its.connect();
  Socket.last.onmessage({ data: new ArrayBuffer(8) });
  for (const none of noGhosts) assert.throws(() => its.call("say", {}, none), /RangeError: 'say' needs a ghost id/);
  if (role === "player") assert.equal(its.call("say", {}, NO_GHOST), true);  // the real module would refuse it
  else assert.throws(() => its.call("say", {}, 3), /RangeError: 'say' is for players only/);
  its.leave();
}
Socket.last = ours;
given.length = 0;

// A command accepts bytes in any kind of buffer.
const sent = [];
answers.pv_client_send_command = (_, size) => { sent.push([...new Uint8Array(memory.buffer, 1024, size)]); return 1; };
const four = Uint8Array.of(9, 1, 2, 3, 8);
for (const command of [four.slice(1, 4), four.slice(1, 4).buffer, new DataView(four.buffer, 1, 3), four.subarray(1, 4)])
  assert.ok(client.sendCommand(command));
assert.deepEqual(sent.splice(0), Array(4).fill([1, 2, 3]));
for (const none of ["123", {}, [1, 2, 3], null, undefined, 3, new Uint8Array(201)]) assert.equal(client.sendCommand(none), false);
assert.deepEqual(sent, []);

// Game messages arrive in order after the client has joined. The listener owns its copy of the bytes.
const received = [];
client.on("message", (bytes) => { assert.equal(client.state, "joined"); received.push(bytes); });
messages = [[1, 2, 3], [], [4]];
Socket.last.onmessage({ data: new ArrayBuffer(8) });
new Uint8Array(memory.buffer, 16384).fill(9);
assert.deepEqual(received.map((bytes) => [...bytes]), [[1, 2, 3], [], [4]]);

// A listener added during dispatch starts with the next message. One removed during dispatch gets no more.
{
  const letters = [];
  const receive = (bytes) => {
    letters.push(bytes[0]);
    assert.ok(letters.length < 9, "one message is dispatched endlessly");
    again();
  };
  let end = () => {};
  const again = () => { end(); end = client.on("message", (bytes) => receive(bytes)); };
  again();
  const endFirst = client.on("message", () => { endOther(); endFirst(); });
  const endOther = client.on("message", () => { letters.push("other"); });
  messages = [[7], [8]];
  Socket.last.onmessage({ data: new ArrayBuffer(8) });
  assert.deepEqual(letters, [7, 8]);
  end();
}

// Enter events come before relations. A listener may read any client state.
const reported = [];
client.on("enter", ({ ghost, reason }) => { reported.push(`enter ${ghost} ${reason}`); });
client.on("relation", (relation) => { reported.push(relation); assert.equal(client.rootOf(relation.ghost), 1); });
events = put(4096, [[3, 0, 1, 8, 0]]);
relations = put(8192, [[3, 3, 1, NO_GHOST, 1], [3, 1, 1, 1, 4]]);
Socket.last.onmessage({ data: new ArrayBuffer(8) });
assert.deepEqual(reported, ["enter 3 promoted", { ghost: 3, oldRoot: 3, newRoot: 1, oldParent: NO_GHOST, newParent: 1 },
                        { ghost: 3, oldRoot: 1, newRoot: 1, oldParent: 1, newParent: 4 }]);
// Relations without other events are also emitted.
events = 0;
relations = put(8192, [[3, 1, 3, 4, NO_GHOST]]);
Socket.last.onmessage({ data: new ArrayBuffer(8) });
assert.deepEqual(reported[3], { ghost: 3, oldRoot: 1, newRoot: 3, oldParent: 4, newParent: NO_GHOST });

// Change events come after relations, and only if there is a listener. Components are numbers from 0 to 31.
changes = put(12288, [[3, 0x80000005, 0], [4, 0, 1]]);
relations = 0;
Socket.last.onmessage({ data: new ArrayBuffer(8) });
assert.equal(reported.length, 4);
assert.ok(!called.has("pv_client_change_count"));
client.on("change", (change) => reported.push(change));
Socket.last.onmessage({ data: new ArrayBuffer(8) });
assert.deepEqual(reported.slice(4), [{ ghost: 3, components: [0, 2, 31], ownerChanged: false }, { ghost: 4, components: [], ownerChanged: true }]);

// An invalid name or number throws at once, instead of being read as 0.
for (const read of ["value", "text", "rotation", "reference"]) {
  for (const [component, field] of [[undefined, undefined], [-1, 0], [0, -1], [0.5, 0], [0, NaN]])
    assert.throws(() => client[read](3, component, field), RangeError);
}
assert.throws(() => client.isReplicated(3, -1), RangeError);
assert.throws(() => client.get(3, "purse", "coins"), /unknown component 'purse'; available: none/);
assert.throws(() => client.on("entered", () => {}), RangeError);

// Messages to the game are bytes or text. A message that can never be sent throws at once.
const letters = [];
Object.assign(answers, {
  pv_client_message_room: () => 20_000,
  pv_client_send_message: (_, size) => letters.push([...new Uint8Array(memory.buffer, 20_000, size)]) <= 3 ? 1 : 0,
});
assert.deepEqual([client.sendMessage("hé"), client.sendMessage(Uint8Array.of(1, 2)), client.sendMessage(""), client.sendMessage("!")],
                 [true, true, true, false]);
assert.deepEqual(letters.slice(0, 3), [[104, 195, 169], [1, 2], []]);
assert.throws(() => client.sendMessage(7), RangeError);
assert.throws(() => client.sendMessage("x".repeat(65_535)), /the message has 65535 bytes; the limit is 65534$/);
client.leave();
assert.equal(client.sendMessage("hello"), false);

// Events before *joined* are queued. Their listeners run after the join, so they can send commands.
{
  const order = [];
  answers.pv_client_state = () => 1;
  const other = new PurviewClient(null, { url: "", WebSocket: Socket });
  other.on("state", (state) => order.push(state));
  other.on("enter", ({ ghost }) => order.push(ghost, other.sendCommand(Uint8Array.of(1))));
  await other.connect();
  [events, relations, changes] = [put(4096, [[5, 0, 1, 0, 0]]), 0, 0];
  Socket.last.onmessage({ data: new ArrayBuffer(8) });
  assert.deepEqual(order, ["connecting", "joining"]);
  answers.pv_client_state = () => 2;
  Socket.last.onmessage({ data: new ArrayBuffer(8) });
  assert.deepEqual(order, ["connecting", "joining", "joined", 5, true]);

  // The view tick advances evenly, also between packets. Jitter has little effect. After a large difference it
  // jumps.
  let newest = 100, now = 0;
  const clock = Object.getOwnPropertyDescriptor(performance, "now");  // undefined if it is inherited
  Object.defineProperty(performance, "now", { value: () => now, configurable: true });
  const arrive = (tick, at) => { [newest, now, events] = [tick, at, 0]; Socket.last.onmessage({ data: new ArrayBuffer(8) }); };
  Object.assign(answers, { pv_client_newest_tick: () => newest, pv_client_tick_hz: () => 20 });
  arrive(100, 1000);
  assert.deepEqual([1000, 1025, 1500].map((at) => other.viewTick(at)), [98, 98.5, 108]);
  assert.equal(other.viewTick(2000, 0), 120);
  arrive(122, 2000);  // two ticks early
  assert.ok(Math.abs(other.viewTick(2000, 0) - 120.2) < 1e-9);
  arrive(200, 2000);
  assert.deepEqual([other.viewTick(2000, 0), other.viewTick(2050, 0)], [200, 201]);
  arrive(456, 14_800);  // read long after its arrival, without newer packets
  assert.ok(Math.abs(other.viewTick(27_600, 0) - 712) < 1e-9);
  if (clock === undefined) delete performance.now;
  else Object.defineProperty(performance, "now", clock);
  other.leave();
}

// Reads of an existing and of an unknown ghost.
Object.assign(answers, {
  pv_client_is_owned: (_, ghost) => (ghost === 3 ? 1 : 0), pv_client_kind_of: (_, ghost) => (ghost === 3 ? 2 : -1),
  pv_client_parent_of: (_, ghost) => (ghost === 3 ? 1 : -1), pv_client_position: () => 512,
});
new Float32Array(memory.buffer, 512, 3).set([1, 2.5, 0]);
assert.deepEqual([client.isOwned(3), client.isOwned(9), client.kindOf(3), client.kindOf(9), client.parentOf(3), client.parentOf(9)],
                 [true, false, 2, -1, 1, NO_GHOST]);
assert.deepEqual(client.position(3, 10.5), [1, 2.5, 0]);
const ghostIds = [];
const about = ["value", "text", "rotation", "orientation", "reference", "isOwned", "kindOf", "parentOf", "position", "rootOf", "cellOf", "isReplicated", "retention"];
for (const read of about) {
  const name = `pv_client_${read.replace(/[A-Z]/, (letter) => `_${letter.toLowerCase()}`)}`;
  answers[name] = (_, ghost) => { ghostIds.push(ghost >>> 0); return 512; };
  for (const ghost of [0, NO_GHOST - 1, NO_GHOST, ...noGhosts]) client[read](ghost, 0, 0);
  assert.deepEqual(ghostIds.splice(0), [0, NO_GHOST - 1, NO_GHOST, ...noGhosts.map(() => NO_GHOST)], read);
}
const noClient = new PurviewClient(null, { url: "", WebSocket: Socket });
assert.deepEqual([noClient.isOwned(3), noClient.kindOf(3), noClient.parentOf(3), noClient.position(3, 1), noClient.call("say")],
                 [false, -1, NO_GHOST, [0, 0, 0], false]);

WebAssembly.instantiate = instantiate;
const real = new Set(WebAssembly.Module.exports(await WebAssembly.compile(await readFile(modulePath))).map(({ name }) => name));
for (const name of [...called, ...Object.keys(answers)]) assert.ok(real.has(name), `the module has no ${name}`);
console.log(`passed: ${called.size} functions called`);
