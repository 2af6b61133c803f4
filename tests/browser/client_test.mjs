// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// What client.mjs does when it is called at odd moments, when its timers do not run, and when a listener
// fails, against a real server; and how the page goes on after a refusal and in another world:
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

/** A client that notes its states and its sockets. */
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

/** Runs `body` while intervals are made that never fire, as in a page in the background, nearly. */
async function withoutTimers(body) {
  const { setInterval } = globalThis;
  globalThis.setInterval = () => null;
  try { await body(); } finally { globalThis.setInterval = setInterval; }
}

const cases = {
  async "a connection under way is left"() {
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

  async "one who leaves on hearing that it connects, has left"() {
    const { client, states, sockets } = newClient();
    client.on("state", (state) => { if (state === "connecting") client.leave(); });
    await client.connect();
    await sleep(300);
    assert.deepEqual([client.state, states, sockets.length], ["closed", ["connecting", "closed"], 0]);
  },

  /** What the module says is still of the connection before. */
  async "one who leaves on hearing that it connects again, is said to have left"() {
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

  async "of two connections at once there is one"() {
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

  async "nothing is told after one has left, or connected anew"() {
    for (const name of ["leave", "connect"]) {
      const { client, states, sockets } = newClient();
      const told = [];
      const held = new Set();
      let enters = 0;
      client.on("state", (state) => { if (state === "connecting") held.clear(); });
      client.on("enter", () => { if (++enters === 3) void client[name](); });
      client.on("enter", ({ ghost }) => { told.push(states.at(-1)); held.add(ghost); });
      client.on("leave", ({ ghost }) => held.delete(ghost));
      await client.connect();
      await until("three enters", () => enters >= 3);
      if (name === "leave") await sleep(500);
      else await joined(client);
      assert.ok(!told.includes("closed"), `${name}: told ${told}`);
      if (name === "leave") assert.equal(enters, 3);
      else assert.equal(held.size, client.ghostCount);
      assert.equal(sockets.length, name === "leave" ? 1 : 2);
      client.leave();
    }
  },

  async "the view is complete once for each connection, after enters"() {
    const { client } = newClient();
    const heard = [];
    client.on("enter", () => heard.push("enter"));
    client.on("viewComplete", () => { heard.push(`complete ${client.isViewComplete}`); });
    for (let round = 0; round < 2; ++round) {
      heard.length = 0;
      await client.connect();
      await joined(client);
      await until("the view is complete", () => client.isViewComplete);
      await sleep(300);
      assert.equal(heard.filter((one) => one !== "enter").join(), "complete true");
      assert.ok(heard.indexOf("complete true") > 0, "something entered before");
    }
    client.leave();
  },

  async "one who leaves on joining is the last to hear of it"() {
    const { client } = newClient();
    const heard = [];
    client.on("state", (state) => { if (state === "joined") client.leave(); });
    client.on("state", (state) => heard.push(state));
    await client.connect();
    await until("closed", () => client.state === "closed");
    assert.equal(heard.at(-1), "closed");
  },

  async "a listener that throws takes nothing from others, and its error is seen"() {
    const { client } = newClient();
    let [before, after] = [0, 0];
    client.on("enter", () => { if (++before === 1) throw new Error("a listener's"); });
    client.on("enter", () => { ++after; });
    client.on("leave", () => { --before; --after; });
    await client.connect();
    await joined(client);
    assert.deepEqual([before, after], [client.ghostCount, client.ghostCount]);
    assert.deepEqual(uncaught.splice(0), ["a listener's"]);
    client.leave();
  },

  /** The server forgets who says nothing for ten seconds. */
  async "a client whose timers do not run joins, and stays"() {
    const clients = [newClient(), newClient({ turnMs: 60_000 })];
    await withoutTimers(() => Promise.all(clients.map(({ client }) => client.connect())));
    await Promise.all(clients.map(({ client }) => joined(client)));
    const heard = clients.map(({ client }) => client.newestTick);
    await sleep(12_000);
    for (const [i, { client, states }] of clients.entries()) {
      assert.deepEqual([client.state, states], ["joined", ["connecting", "joining", "joined"]], client.closeReason);
      assert.ok(client.newestTick > heard[i] + 100, "it hears all the time");
      client.leave();
    }
  },

  async "where no socket can be made, connect fails and the client is closed"() {
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

  async "it is told why a connection ended, and the server our name"() {
    const sockets = [];
    const sent = [];
    const Watched = class extends WebSocket {
      constructor(...args) { super(...args); sockets.push(this); }
      send(bytes) { sent.push(Buffer.from(bytes)); super.send(bytes); }
    };
    const credential = Buffer.of(6, 0, 7, 0, 255, 7, 0, 254);  // behind its size
    const tells = (text) => sent.splice(0).some((bytes) => bytes.includes(text) && bytes.includes(credential));
    const named = (name, credential) =>
      new PurviewClient(module, { url, turnMs: 20, name, credential, WebSocket: Watched });
    const client = named("Zoë", Uint8Array.of(7, 0, 255, 7, 0, 254));
    await client.connect();
    assert.equal(client.closeReason, "none");
    await joined(client);
    assert.ok(tells("Zoë"));
    sockets[0].terminate();
    await until("closed", () => client.state === "closed");
    assert.equal(client.closeReason, "lost");
    await client.connect();
    await joined(client);
    assert.ok(tells("Zoë"));
    client.leave();
    assert.deepEqual([client.state, client.closeReason], ["closed", "left"]);
    assert.throws(() => named("", "x".repeat(513)), RangeError);
    // 32 bytes, and no half characters.
    const long = named(`${"x".repeat(31)}ë`, "");
    await long.connect();
    await joined(long);
    const said = Buffer.concat(sent.splice(0));
    assert.ok(said.includes("x".repeat(31)) && !said.includes(`${"x".repeat(31)}\xc3`, "latin1"));
    long.leave();
    assert.equal(long.closeReason, "left");
    // Bytes of any kind, as they were when they were given.
    const key = credential.subarray(2).slice();
    const buffer = key.buffer.slice(key.byteOffset, key.byteOffset + key.length);
    const keyed = named("Zoë", buffer);
    new Uint8Array(buffer).fill(0);
    await keyed.connect();
    await joined(keyed);
    assert.ok(tells("Zoë"));
    keyed.leave();
    assert.throws(() => named("", 5), TypeError);
  },

  async "an option that is undefined is as one that is not given"() {
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
      assert.notEqual([...new Array(client.ghostCount * 4).keys()].findIndex((ghost) => client.isOwned(ghost)), -1, "a player has somebody");
      client.leave();
    } finally {
      globalThis.WebSocket = open;
    }
  },

  async "where nothing can be told of us, connect fails and the client is closed"() {
    const client = new PurviewClient(module, { url, name: 5, WebSocket });
    await assert.rejects(client.connect());
    assert.deepEqual([client.state, client.closeReason], ["closed", "lost"]);
  },

  async "refusals that may pass are tried again, ever later, the others not"() {
    const { setTimeout, clearTimeout } = globalThis;
    const waits = [];
    let timer = null;
    globalThis.setTimeout = (run, ms) => { waits.push(ms); return (timer = run); };
    globalThis.clearTimeout = (run) => { if (timer === run) timer = null; };
    try {
      let [connects, follow, text] = [0, null, ""];
      const client = { refuseReason: "none", closeReason: "timeout", reasonText: "", on: (_, its) => { follow = its; }, connect: async () => { ++connects; } };
      new Reconnect(client, (said) => { text = said; });
      /** Whether it connects again after this, and with which words. */
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
      assert.equal(text, "The world does not let you in.");
      client.reasonText = "members only";
      assert.ok(!after("refused", "join"));
      assert.equal(text, "The world does not let you in: members only.");
      client.reasonText = "Members only!";
      assert.ok(!after("refused", "join"));
      assert.equal(text, "The world does not let you in: Members only!");
      client.reasonText = "members only";
      client.closeReason = "left";
      assert.ok(!after("closed"));
      client.closeReason = "kicked";
      assert.ok(!after("closed"));
      assert.equal(text, "The world has sent you away: members only.");
      [client.closeReason, client.reasonText] = ["timeout", ""];
      assert.ok(!after("joined"));
      assert.equal(text, "");
      assert.ok(after("closed"));
      assert.ok(after("refused", "full"));
      assert.deepEqual(waits.splice(0).map((ms) => ms >= 500 && ms < 1500), [true, true]);
      // Who connects meanwhile is not disturbed.
      follow("closed");
      follow("connecting");
      assert.equal(timer, null);
    } finally {
      Object.assign(globalThis, { setTimeout, clearTimeout });
    }
  },

  async "kinds have the names of the world that was joined last"() {
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
    assert.deepEqual(uncaught.splice(0), [], "errors that nobody caught");
    console.log(`passed: ${name}`);
  } catch (error) {
    ++failed;
    console.error(`failed: ${name}\n${error.stack}`);
    uncaught.length = 0;
  }
}
await stopServer(server);
process.exit(failed === 0 ? 0 : 1);
