// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// Roots, relations and cells in client.mjs, over a module that is made up here; and that the real one has
// what is called:  node client_groups_test.mjs WEB_DIRECTORY MODULE
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
/** Rows of words at an address; what the module would have there. */
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
  pv_client_root_of: (_, ghost) => (ghost === 3 ? 1 : -1),  // as wasm gives them: signed
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

// Arguments of calls: numbers, texts and rotations, to us and from us.
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
assert.throws(() => client.call("sya"), /RangeError: no call to the server is named 'sya', but: say$/);
assert.ok(client.call("say", null, NO_GHOST) && client.call("say", { txet: undefined }));
given.length = 0;
assert.throws(() => client.call("say", { txet: "é" }), /RangeError: 'say' has no argument 'txet', but: text, loud, turn$/);
assert.deepEqual(client.schema.calls[0].types, ["text", "number", "rotation"]);
// Of a call that is thrown nothing is left for the next one, and what is no rotation is none.
assert.throws(() => client.call("say", { text: "bob", loud: NaN }), /RangeError: NaN is no number/);
assert.throws(() => client.call("say", { text: "bob", loud: 1, turn: { x: 0, y: 0, z: 0, w: 1 } }), /RangeError: a rotation is/);
for (const turn of [[], [0, 0, 1], [0, 0, 0, 0, 1], 5, "0001x", [0, 0, "e", 1], { x: 1 }])
  assert.throws(() => client.call("say", { text: "bob", turn }), /RangeError: a rotation is four numbers/);
assert.deepEqual(given, []);
assert.ok(client.call("say", { loud: 5, turn: new Float32Array([1, 0, 0, 0]) }));
assert.deepEqual(given.splice(0), [[2, 1, 0, 0, 0], [0, NO_GHOST, 0, 5, 0]]);

// What can be the number of no ghost; at the border to the module most of it would become 0.
const noGhosts = [undefined, null, NaN, "nobody", {}, -1, 0.9, 2 ** 32];

// A call about a ghost names one; of one that has gone it is *not now*, for a spectator's role *never*.
Object.assign(answers, { pv_client_rpc_about_ghost: () => 1, pv_client_rpc_callers: () => 2 });
const ours = Socket.last;
for (const role of ["player", "spectator"]) {
  const its = new PurviewClient(null, { url: "", role, WebSocket: Socket });
  await its.connect();
  Socket.last.onmessage({ data: new ArrayBuffer(8) });
  for (const none of noGhosts) assert.throws(() => its.call("say", {}, none), /RangeError: 'say' is about a ghost/);
  if (role === "player") assert.equal(its.call("say", {}, NO_GHOST), true);  // the module would say no
  else assert.throws(() => its.call("say", {}, 3), /RangeError: 'say' is for players/);
  its.leave();
}
Socket.last = ours;
given.length = 0;

// A command is bytes, whatever holds them.
const sent = [];
answers.pv_client_send_command = (_, size) => { sent.push([...new Uint8Array(memory.buffer, 1024, size)]); return 1; };
const four = Uint8Array.of(9, 1, 2, 3, 8);
for (const command of [four.slice(1, 4), four.slice(1, 4).buffer, new DataView(four.buffer, 1, 3), four.subarray(1, 4)])
  assert.ok(client.sendCommand(command));
assert.deepEqual(sent.splice(0), Array(4).fill([1, 2, 3]));
for (const none of ["123", {}, [1, 2, 3], null, undefined, 3, new Uint8Array(201)]) assert.equal(client.sendCommand(none), false);
assert.deepEqual(sent, []);

// Messages of the game, in order, once the client has joined; they are the listener's own.
const heard = [];
client.on("message", (bytes) => { assert.equal(client.state, "joined"); heard.push(bytes); });
messages = [[1, 2, 3], [], [4]];
Socket.last.onmessage({ data: new ArrayBuffer(8) });
new Uint8Array(memory.buffer, 16384).fill(9);
assert.deepEqual(heard.map((bytes) => [...bytes]), [[1, 2, 3], [], [4]]);

// A listener that begins anew hears the next one, and one that another has ended nothing any more.
{
  const letters = [];
  const hear = (bytes) => {
    letters.push(bytes[0]);
    assert.ok(letters.length < 9, "one message is told without end");
    again();
  };
  let end = () => {};
  const again = () => { end(); end = client.on("message", (bytes) => hear(bytes)); };
  again();
  const endFirst = client.on("message", () => { endOther(); endFirst(); });
  const endOther = client.on("message", () => { letters.push("other"); });
  messages = [[7], [8]];
  Socket.last.onmessage({ data: new ArrayBuffer(8) });
  assert.deepEqual(letters, [7, 8]);
  end();
}

// What came is told before whom it belongs to; a listener may look at anything.
const told = [];
client.on("enter", ({ ghost, reason }) => { told.push(`enter ${ghost} ${reason}`); });
client.on("relation", (relation) => { told.push(relation); assert.equal(client.rootOf(relation.ghost), 1); });
events = put(4096, [[3, 0, 1, 8, 0]]);
relations = put(8192, [[3, 3, 1, NO_GHOST, 1], [3, 1, 1, 1, 4]]);
Socket.last.onmessage({ data: new ArrayBuffer(8) });
assert.deepEqual(told, ["enter 3 promoted", { ghost: 3, oldRoot: 3, newRoot: 1, oldParent: NO_GHOST, newParent: 1 },
                        { ghost: 3, oldRoot: 1, newRoot: 1, oldParent: 1, newParent: 4 }]);
// Relations alone are told, too.
events = 0;
relations = put(8192, [[3, 1, 3, 4, NO_GHOST]]);
Socket.last.onmessage({ data: new ArrayBuffer(8) });
assert.deepEqual(told[3], { ghost: 3, oldRoot: 1, newRoot: 3, oldParent: 4, newParent: NO_GHOST });

// What is another is told behind them, and to nobody who did not ask; components by number, the last one too.
changes = put(12288, [[3, 0x80000005, 0], [4, 0, 1]]);
relations = 0;
Socket.last.onmessage({ data: new ArrayBuffer(8) });
assert.equal(told.length, 4);
assert.ok(!called.has("pv_client_change_count"));
client.on("change", (change) => told.push(change));
Socket.last.onmessage({ data: new ArrayBuffer(8) });
assert.deepEqual(told.slice(4), [{ ghost: 3, components: [0, 2, 31], ownerChanged: false }, { ghost: 4, components: [], ownerChanged: true }]);

// A name, or a number, that is none is said at once, and not read as 0.
for (const read of ["value", "text", "rotation", "reference"]) {
  for (const [component, field] of [[undefined, undefined], [-1, 0], [0, -1], [0.5, 0], [0, NaN]])
    assert.throws(() => client[read](3, component, field), RangeError);
}
assert.throws(() => client.isTold(3, -1), RangeError);
assert.throws(() => client.get(3, "purse", "coins"), /no component is named 'purse', but: none/);
assert.throws(() => client.on("entered", () => {}), RangeError);

// Messages to the game: bytes or a text, and what can never be is said at once.
const letters = [];
Object.assign(answers, {
  pv_client_message_room: () => 20_000,
  pv_client_send_message: (_, size) => letters.push([...new Uint8Array(memory.buffer, 20_000, size)]) <= 3 ? 1 : 0,
});
assert.deepEqual([client.sendMessage("hé"), client.sendMessage(Uint8Array.of(1, 2)), client.sendMessage(""), client.sendMessage("!")],
                 [true, true, true, false]);
assert.deepEqual(letters.slice(0, 3), [[104, 195, 169], [1, 2], []]);
assert.throws(() => client.sendMessage(7), RangeError);
assert.throws(() => client.sendMessage("x".repeat(65_535)), /65534 bytes at most, and this one 65535/);
client.leave();
assert.equal(client.sendMessage("hello"), false);

// What comes before *joined* waits; who has joined may answer what came with it.
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

  // The tick to draw goes on evenly, also where none comes; jitter hardly shows; far off it jumps.
  let newest = 100, now = 0;
  const clock = Object.getOwnPropertyDescriptor(performance, "now");  // its own, or of its prototype
  Object.defineProperty(performance, "now", { value: () => now, configurable: true });
  const comes = (tick, at) => { [newest, now, events] = [tick, at, 0]; Socket.last.onmessage({ data: new ArrayBuffer(8) }); };
  Object.assign(answers, { pv_client_newest_tick: () => newest, pv_client_tick_hz: () => 20 });
  comes(100, 1000);
  assert.deepEqual([1000, 1025, 1500].map((at) => other.viewTick(at)), [98, 98.5, 108]);
  assert.equal(other.viewTick(2000, 0), 120);
  comes(122, 2000);  // two ticks before its time
  assert.ok(Math.abs(other.viewTick(2000, 0) - 120.2) < 1e-9);
  comes(200, 2000);
  assert.deepEqual([other.viewTick(2000, 0), other.viewTick(2050, 0)], [200, 201]);
  comes(456, 14_800);  // looked at long after it came, with no other since
  assert.ok(Math.abs(other.viewTick(27_600, 0) - 712) < 1e-9);
  if (clock === undefined) delete performance.now;
  else Object.defineProperty(performance, "now", clock);
  other.leave();
}

// Of one ghost, and of nobody.
Object.assign(answers, {
  pv_client_is_owned: (_, ghost) => (ghost === 3 ? 1 : 0), pv_client_kind_of: (_, ghost) => (ghost === 3 ? 2 : -1),
  pv_client_parent_of: (_, ghost) => (ghost === 3 ? 1 : -1), pv_client_place: () => 512,
});
new Float32Array(memory.buffer, 512, 3).set([1, 2.5, 0]);
assert.deepEqual([client.isOwned(3), client.isOwned(9), client.kindOf(3), client.kindOf(9), client.parentOf(3), client.parentOf(9)],
                 [true, false, 2, -1, 1, NO_GHOST]);
assert.deepEqual(client.place(3, 10.5), [1, 2.5, 0]);
const asked = [];
const about = ["value", "text", "rotation", "orientation", "reference", "isOwned", "kindOf", "parentOf", "place", "rootOf", "cellOf", "isTold", "keptAs"];
for (const read of about) {
  const name = `pv_client_${read.replace(/[A-Z]/, (letter) => `_${letter.toLowerCase()}`)}`;
  answers[name] = (_, ghost) => { asked.push(ghost >>> 0); return 512; };
  for (const ghost of [0, NO_GHOST - 1, NO_GHOST, ...noGhosts]) client[read](ghost, 0, 0);
  assert.deepEqual(asked.splice(0), [0, NO_GHOST - 1, NO_GHOST, ...noGhosts.map(() => NO_GHOST)], read);
}
const nobody = new PurviewClient(null, { url: "", WebSocket: Socket });
assert.deepEqual([nobody.isOwned(3), nobody.kindOf(3), nobody.parentOf(3), nobody.place(3, 1), nobody.call("say")],
                 [false, -1, NO_GHOST, [0, 0, 0], false]);

WebAssembly.instantiate = instantiate;
const real = new Set(WebAssembly.Module.exports(await WebAssembly.compile(await readFile(modulePath))).map(({ name }) => name));
for (const name of [...called, ...Object.keys(answers)]) assert.ok(real.has(name), `the module has no ${name}`);
console.log(`passed: ${called.size} functions called`);
