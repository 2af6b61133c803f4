// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// The WebAssembly client under Node, as an additional walking player:
//   node node_client.mjs ws://127.0.0.1:7780/play SECONDS
// Prints one line of JSON and exits with 0 if it was joined until the end. Needs the package `ws`.
import { createRequire } from "node:module";
import { readFile } from "node:fs/promises";
import { webcrypto } from "node:crypto";
import { loadPurview, PurviewClient } from "./client.mjs";

globalThis.crypto ??= webcrypto;
const require = createRequire(import.meta.url);
let ws;
try {
  ws = require("ws");
} catch {
  ws = require("/usr/share/nodejs/ws");  // Debian's location, for any Node
}
const { WebSocket } = ws;

const [url, seconds] = [process.argv[2], Number(process.argv[3])];
if (!url || !(seconds > 0)) {
  console.error("usage: node node_client.mjs ws://HOST:PORT/play SECONDS");
  process.exit(2);
}

const module = await loadPurview(await readFile(new URL("purview_client.wasm", import.meta.url)));
const client = new PurviewClient(module, { url, digestEvery: 1, WebSocket });
let [enters, leaves, joinedAt, ended] = [0, 0, 0, false];
client.on("enter", () => { ++enters; });
client.on("leave", () => { ++leaves; });
client.on("state", (state) => {
  if (state === "joined") joinedAt = performance.now();
  if (joinedAt > 0 && (state === "closed" || state === "refused")) ended = true;
});
await client.connect();

// The server measures the time from the join to its own end, which may be slightly before this client's end.
const end = performance.now() + seconds * 1000 + 2000;
let largest = 0;
while (!ended && performance.now() < end) {
  const angle = Math.random() * 2 * Math.PI;
  client.sendCommand(Uint8Array.of(1, Math.cos(angle) * 120, Math.sin(angle) * 120));
  largest = Math.max(largest, client.collect(client.newestTick).count);
  await new Promise((resolve) => setTimeout(resolve, 500));
}
const { packetsReceived, packetsMalformed, bytesReceived, orderViolations } = client.stats;
const good = joinedAt > 0 && largest > 0 && orderViolations === 0;
console.log(JSON.stringify({ joined: joinedAt > 0, nonce: client.nonce, enters, leaves, ghosts_max: largest,
                             packets: packetsReceived, malformed: packetsMalformed, bytes_received: bytesReceived, node: process.version }));
client.leave();
process.exit(good ? 0 : 1);
