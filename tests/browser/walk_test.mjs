// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// Tests the commands that keys send to the game:  node walk_test.mjs WEB_DIRECTORY
import assert from "node:assert/strict";
import { join } from "node:path";
import { pathToFileURL } from "node:url";

const keys = new EventTarget();
globalThis.addEventListener = keys.addEventListener.bind(keys);
globalThis.document = new EventTarget();
globalThis.Element = class {};
const { Walk } = await import(pathToFileURL(join(process.argv[2], "walk.mjs")));

const CLOAK = 3;
const client = { sent: [], on(name, listener) { this.emit = listener; }, sendCommand(bytes) { this.sent.push([...bytes]); } };
const drawn = { own: null };
new Walk(client, { isReady: true, controls: {} }, drawn);
const press = (code) => {
  client.sent = [];
  keys.dispatchEvent(Object.assign(new Event("keydown"), { code }));
  return client.sent;
};

client.emit("joined");
assert.deepEqual(press("KeyC"), [[CLOAK, 1]]);
assert.deepEqual(press("KeyC"), [[CLOAK, 0]]);
assert.deepEqual(press("KeyC"), [[CLOAK, 1]]);
// After a rejoin the player is a new entity, which is not cloaked.
client.emit("closed");
client.emit("joined");
assert.deepEqual(press("KeyC"), [[CLOAK, 1]]);
// In another world, players may start cloaked. The first press then removes the cloak.
client.emit("joined");
drawn.own = { x: 0, y: 0, cloaked: true };
assert.deepEqual(press("KeyC"), [[CLOAK, 0]]);
assert.deepEqual(press("KeyC"), [[CLOAK, 1]], "the state changes without waiting for the server");
console.log("walk: passed");
