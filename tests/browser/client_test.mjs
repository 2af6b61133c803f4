// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// Tests client.mjs against a real server: calls at unusual times, missing timers, and listeners that throw. Also
// tests how the page continues after a refusal and in another world:
//   node client_test.mjs WEB_DIRECTORY MODULE PURVIEW_BINARY
import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { webcrypto } from "node:crypto";
import { pathToFileURL } from "node:url";
import { sleep, startServer, stopServer, until } from "./browser.mjs";
import { packageOf } from "./packages.mjs";

const [web, modulePath, binary] = process.argv.slice(2);
globalThis.crypto ??= webcrypto;
const { WebSocket } = packageOf("ws");
const load = (name) => import(pathToFileURL(join(web, name)));
const { PurviewClient, loadPurview } = await load("client.mjs");
const { KindStyles } = await load("kinds.mjs");
const { Reconnect } = await load("reconnect.mjs");
const module = await loadPurview(await readFile(modulePath));

const uncaught = [];
process.on("uncaughtException", (error) => uncaught.push(error.message));

const server = await startServer(binary);
const url = `ws://127.0.0.1:${server.port}/play`;

/** A client that records its states and its sockets. */
function newClient(options = {}) {
  const sockets = [];
  const client = new PurviewClient(module, {
    url, turnMs: 20, ...options,
    WebSocket: class extends WebSocket { constructor(address) { super(address); sockets.push(this); } },
  });
  const states = [];
  client.on("state", (state) => states.push(state));
  return { client, states, open: () => sockets.filter((socket) => socket.readyState < 2).length, sockets };
}
const joined = (client) => until("a client joins", () => client.state === "joined" && client.ghostCount > 20);

/** Runs `body` while new intervals never fire, similar to a page in the background. */
async function withoutTimers(body) {
  const { setInterval } = globalThis;
  globalThis.setInterval = () => null;
  try { await body(); } finally { globalThis.setInterval = setInterval; }
}

const cases = {
  async "leave() during connect() ends the connection attempt"() {
    const { client, states, sockets } = newClient();
    const connecting = client.connect();
    client.leave();
    await connecting;
    await sleep(300);
    assert.deepEqual([client.state, states, sockets.length], ["closed", [], 0]);
    await client.connect();
    await joined(client);
    client.leave();
  },

  async "leave() in the listener of \"connecting\" closes the client"() {
    const { client, states, sockets } = newClient();
    client.on("state", (state) => { if (state === "connecting") client.leave(); });
    await client.connect();
    await sleep(300);
    assert.deepEqual([client.state, states, sockets.length], ["closed", ["connecting", "closed"], 0]);
  },

  /** At that time the module still returns the close reason of the previous connection. */
  async "leave() during a reconnect sets the close reason \"left\""() {
    const other = await startServer(binary);
    const { client } = newClient({ url: `ws://127.0.0.1:${other.port}/play` });
    await client.connect();
    await joined(client);
    await stopServer(other);
    await until("closed", () => client.state === "closed");
    assert.equal(client.closeReason, "shutting_down");
    const end = client.on("state", (state) => { if (state === "connecting") client.leave(); });
    await client.connect();
    assert.deepEqual([client.state, client.closeReason], ["closed", "left"]);
    end();
    await client.connect();
    assert.equal(client.closeReason, "none");
    client.leave();
  },

  async "concurrent connect() calls result in one connection"() {
    const { client, states, open, sockets } = newClient();
    await Promise.all([client.connect(), client.connect()]);
    await joined(client);
    assert.deepEqual([sockets.length, states], [1, ["connecting", "joining", "joined"]]);
    await Promise.all([client.connect(), client.connect(), client.connect()]);
    await joined(client);
    assert.equal(sockets.length, 2);
    client.leave();
    assert.equal(open(), 0);
    assert.equal(client.state, "closed");
  },

  async "no events follow leave() or a new connect()"() {
    for (const name of ["leave", "connect"]) {
      const { client, states, sockets } = newClient();
      const states_at_enter = [];
      const held = new Set();
      let enters = 0;
      client.on("state", (state) => { if (state === "connecting") held.clear(); });
      client.on("enter", () => { if (++enters === 3) void client[name](); });
      client.on("enter", ({ ghost }) => { states_at_enter.push(states.at(-1)); held.add(ghost); });
      client.on("leave", ({ ghost }) => held.delete(ghost));
      await client.connect();
      await until("three enters", () => enters >= 3);
      if (name === "leave") await sleep(500);
      else await joined(client);
      assert.ok(!states_at_enter.includes("closed"), `${name}: events in the states ${states_at_enter.join()}`);
      if (name === "leave") assert.equal(enters, 3);
      else assert.equal(held.size, client.ghostCount);
      assert.equal(sockets.length, name === "leave" ? 1 : 2);
      client.leave();
    }
  },

  async "the view completes once per connection, after the enter events"() {
    const { client } = newClient();
    const events = [];
    client.on("enter", () => events.push("enter"));
    client.on("viewComplete", () => { events.push(`complete ${client.isViewComplete}`); });
    for (let round = 0; round < 2; ++round) {
      events.length = 0;
      await client.connect();
      await joined(client);
      await until("the view is complete", () => client.isViewComplete);
      await sleep(300);
      assert.equal(events.filter((one) => one !== "enter").join(), "complete true");
      assert.ok(events.indexOf("complete true") > 0, "enter events came first");
    }
    client.leave();
  },

  async "\"closed\" is the last state after leave() in the listener of \"joined\""() {
    const { client } = newClient();
    const received = [];
    client.on("state", (state) => { if (state === "joined") client.leave(); });
    client.on("state", (state) => received.push(state));
    await client.connect();
    await until("closed", () => client.state === "closed");
    assert.equal(received.at(-1), "closed");
  },

  async "a listener that throws does not affect others, and its error is reported"() {
    const { client } = newClient();
    let [before, after] = [0, 0];
    client.on("enter", () => { if (++before === 1) throw new Error("error of a listener"); });
    client.on("enter", () => { ++after; });
    client.on("leave", () => { --before; --after; });
    await client.connect();
    await joined(client);
    assert.deepEqual([before, after], [client.ghostCount, client.ghostCount]);
    assert.deepEqual(uncaught.splice(0), ["error of a listener"]);
    client.leave();
  },

  /** The server times out a client that sends nothing for ten seconds. */
  async "a client without timers joins and stays connected"() {
    const clients = [newClient(), newClient({ turnMs: 60_000 })];
    await withoutTimers(() => Promise.all(clients.map(({ client }) => client.connect())));
    await Promise.all(clients.map(({ client }) => joined(client)));
    const ticksBefore = clients.map(({ client }) => client.newestTick);
    await sleep(12_000);
    for (const [i, { client, states }] of clients.entries()) {
      assert.deepEqual([client.state, states], ["joined", ["connecting", "joining", "joined"]], client.closeReason);
      assert.ok(client.newestTick > ticksBefore[i] + 100, "snapshots keep arriving");
      client.leave();
    }
  },

  async "connect() rejects and closes the client if no socket can be created"() {
    const states = [];
    const client = new PurviewClient(module, {
      url, WebSocket: class { constructor() { throw new TypeError("no socket"); } },
    });
    client.on("state", (state) => states.push(state));
    for (let i = 1; i <= 2; ++i) {
      await assert.rejects(client.connect(), /no socket/);
      assert.deepEqual([client.state, states.splice(0)], ["closed", ["connecting", "closed"]]);
      assert.equal(client.closeReason, "lost");
    }
  },

  async "the close reason is available, and the server receives the name"() {
    const sockets = [];
    const sent = [];
    const Watched = class extends WebSocket {
      constructor(...args) { super(...args); sockets.push(this); }
      send(bytes) { sent.push(Buffer.from(bytes)); super.send(bytes); }
    };
    const credential = Buffer.of(6, 0, 7, 0, 255, 7, 0, 254);  // two bytes of size, then the credential
    const isSent = (text) => sent.splice(0).some((bytes) => bytes.includes(text) && bytes.includes(credential));
    const named = (name, credential) =>
      new PurviewClient(module, { url, turnMs: 20, name, credential, WebSocket: Watched });
    const client = named("Zoë", Uint8Array.of(7, 0, 255, 7, 0, 254));
    await client.connect();
    assert.equal(client.closeReason, "none");
    await joined(client);
    assert.ok(isSent("Zoë"));
    sockets[0].terminate();
    await until("closed", () => client.state === "closed");
    assert.equal(client.closeReason, "lost");
    await client.connect();
    await joined(client);
    assert.ok(isSent("Zoë"));
    client.leave();
    assert.deepEqual([client.state, client.closeReason], ["closed", "left"]);
    assert.throws(() => named("", "x".repeat(513)), RangeError);
    // A name is cut to 32 bytes, without a partial character.
    const long = named(`${"x".repeat(31)}ë`, "");
    await long.connect();
    await joined(long);
    const bytes = Buffer.concat(sent.splice(0));
    assert.ok(bytes.includes("x".repeat(31)) && !bytes.includes(`${"x".repeat(31)}\xc3`, "latin1"));
    long.leave();
    assert.equal(long.closeReason, "left");
    // A credential may hold any bytes. It is copied, so later changes of the buffer have no effect.
    const key = credential.subarray(2).slice();
    const buffer = key.buffer.slice(key.byteOffset, key.byteOffset + key.length);
    const keyed = named("Zoë", buffer);
    new Uint8Array(buffer).fill(0);
    await keyed.connect();
    await joined(keyed);
    assert.ok(isSent("Zoë"));
    keyed.leave();
    assert.throws(() => named("", 5), TypeError);
  },

  async "an undefined option equals a missing option"() {
    const open = globalThis.WebSocket;
    globalThis.WebSocket = WebSocket;
    try {
      const undefinedOptions = { role: undefined, name: undefined, credential: undefined, digestEvery: undefined, turnMs: undefined };
      const client = new PurviewClient(module, { url, ...undefinedOptions, WebSocket: undefined });
      let turns = 0;
      client.on("turn", () => { ++turns; });
      await client.connect();
      await joined(client);
      turns = 0;
      await sleep(500);
      assert.ok(turns < 50, `${turns} turns in half a second`);
      assert.notEqual([...new Array(client.ghostCount * 4).keys()].findIndex((ghost) => client.isOwned(ghost)), -1, "a player owns an entity");
      client.leave();
    } finally {
      globalThis.WebSocket = open;
    }
  },

  async "connect() rejects and closes the client if the join request is invalid"() {
    const client = new PurviewClient(module, { url, name: 5, WebSocket });
    await assert.rejects(client.connect());
    assert.deepEqual([client.state, client.closeReason], ["closed", "lost"]);
  },

  async "temporary refusals are retried with growing delays, others are not"() {
    const { setTimeout, clearTimeout } = globalThis;
    const waits = [];
    let timer = null;
    globalThis.setTimeout = (run, ms) => { waits.push(ms); return (timer = run); };
    globalThis.clearTimeout = (run) => { if (timer === run) timer = null; };
    try {
      let [connects, follow, text] = [0, null, ""];
      const client = { refuseReason: "none", closeReason: "timeout", reasonText: "", on: (_, its) => { follow = its; }, connect: async () => { ++connects; } };
      new Reconnect(client, (shown) => { text = shown; });
      /** Returns whether the page reconnects after this state. Sets `text`. */
      const after = (state, reason = "none") => {
        client.refuseReason = reason;
        follow(state);
        const run = timer;
        timer = null;
        const before = connects;
        run?.();
        return connects > before;
      };
      for (const reason of ["full", "address_limit", "full", "shutting_down", "full", "full", "full"])
        assert.ok(after("refused", reason), reason);
      const about = waits.splice(0).map((ms, i) => ms / [1000, 2000, 4000, 8000, 16_000, 30_000, 30_000][i]);
      assert.ok(about.every((part) => part >= 0.5 && part < 1.5) && new Set(about).size > 1, about.join());
      assert.equal(text, "The server is full; trying again in about 30 s …");
      for (const reason of ["version", "schema", "join"]) {
        assert.ok(!after("refused", reason), reason);
        assert.match(text, /\.$/);
      }
      assert.equal(text, "The game refused the join.");
      client.reasonText = "members only";
      assert.ok(!after("refused", "join"));
      assert.equal(text, "The game refused the join: members only.");
      client.reasonText = "Members only!";
      assert.ok(!after("refused", "join"));
      assert.equal(text, "The game refused the join: Members only!");
      client.reasonText = "members only";
      client.closeReason = "left";
      assert.ok(!after("closed"));
      client.closeReason = "kicked";
      assert.ok(!after("closed"));
      assert.equal(text, "You were disconnected by the game: members only.");
      [client.closeReason, client.reasonText] = ["timeout", ""];
      assert.ok(!after("joined"));
      assert.equal(text, "");
      assert.ok(after("closed"));
      assert.ok(after("refused", "full"));
      assert.deepEqual(waits.splice(0).map((ms) => ms >= 500 && ms < 1500), [true, true]);
      // A connection attempt cancels the timer for the next one.
      follow("closed");
      follow("connecting");
      assert.equal(timer, null);
    } finally {
      Object.assign(globalThis, { setTimeout, clearTimeout });
    }
  },

  async "kinds have the names of the last joined world"() {
    const client = { schema: { kinds: ["player", "tree"] } };
    const styles = new KindStyles(client);
    assert.deepEqual([styles.of(0).name, styles.of(1).name, styles.of(1)], ["player", "tree", styles.of(1)]);
    client.schema = { kinds: [] };
    assert.equal(styles.of(0).name, "?");
    client.schema = { kinds: ["zebra", "player"] };
    assert.deepEqual([styles.of(0).name, styles.of(1).name], ["zebra", "player"]);
  },
};

let failed = 0;
for (const [name, run] of Object.entries(cases)) {
  try {
    await run();
    assert.deepEqual(uncaught.splice(0), [], "uncaught errors");
    console.log(`passed: ${name}`);
  } catch (error) {
    ++failed;
    console.error(`failed: ${name}\n${error.stack}`);
    uncaught.length = 0;
  }
}
await stopServer(server);
process.exit(failed === 0 ? 0 : 1);
