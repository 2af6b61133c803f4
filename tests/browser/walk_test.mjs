// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// What keys tell the game:  node walk_test.mjs WEB_DIRECTORY
import assert from "node:assert/strict";
import { join } from "node:path";
import { pathToFileURL } from "node:url";

const keys = new EventTarget();
globalThis.addEventListener = keys.addEventListener.bind(keys);
globalThis.document = new EventTarget();
globalThis.Element = class {};
const { Walk } = await import(pathToFileURL(join(process.argv[2], "walk.mjs")));

const CLOAK = 3;
const client = { sent: [], on(name, listener) { this.tell = listener; }, sendCommand(bytes) { this.sent.push([...bytes]); } };
new Walk(client, { isReady: true, controls: {} }, { own: null });
const press = (code) => {
  client.sent = [];
  keys.dispatchEvent(Object.assign(new Event("keydown"), { code }));
  return client.sent;
};

client.tell("joined");
assert.deepEqual(press("KeyC"), [[CLOAK, 1]]);
assert.deepEqual(press("KeyC"), [[CLOAK, 0]]);
assert.deepEqual(press("KeyC"), [[CLOAK, 1]]);
// Who comes back is another player, whom nobody has cloaked.
client.tell("closed");
client.tell("joined");
assert.deepEqual(press("KeyC"), [[CLOAK, 1]]);
console.log("walk: passed");
