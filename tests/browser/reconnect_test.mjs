// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// What the page says while it has no server: the first reason stays until it has joined again.
//   node reconnect_test.mjs WEB_DIRECTORY
import assert from "node:assert/strict";
import { resolve } from "node:path";
import { pathToFileURL } from "node:url";

const { Reconnect } = await import(pathToFileURL(resolve(process.argv[2], "reconnect.mjs")));

globalThis.setTimeout = () => 0;  // nobody connects here
globalThis.clearTimeout = () => {};

/** A page whose client comes to these states, one after the other; what it says after each. */
function said(...states) {
  let follow = null;
  const client = { closeReason: "none", refuseReason: "none", reasonText: "", on(_, listener) { follow = listener; }, connect: async () => {} };
  let text = "";
  new Reconnect(client, (now) => { text = now; });
  return states.map(([state, reason = "none", reasonText = ""]) => {
    Object.assign(client, { reasonText, closeReason: state === "closed" ? reason : "none", refuseReason: state === "refused" ? reason : "none" });
    follow(state);
    return text;
  });
}

const stopped = "The server has stopped; trying again …";
const lost = "Connection lost (lost); trying again …";

// A server that is stopped says so; that nobody answers then is no news.
assert.deepEqual(said(["joined"], ["closed", "shutting_down"], ["connecting"], ["closed", "lost"], ["connecting"], ["closed", "timeout"]),
                 ["", stopped, stopped, stopped, stopped, stopped]);
// The first of two silences stays, too.
assert.deepEqual(said(["joined"], ["closed", "lost"], ["closed", "timeout"]), ["", lost, lost]);
assert.deepEqual(said(["joined"], ["closed", "timeout"], ["closed", "lost"])[2], "Connection lost (timeout); trying again …");
// What a server says is news, whatever was before.
assert.equal(said(["closed", "lost"], ["closed", "malformed"])[1], "Connection lost (malformed); trying again …");
assert.equal(said(["closed", "shutting_down"], ["refused", "full"])[1], "The server is full; trying again in about 1 s …");
assert.equal(said(["closed", "malformed"], ["closed", "shutting_down"])[1], stopped);
// What a game said stays as well, and so does a refusal.
assert.equal(said(["closed", "shutting_down", "back at noon"], ["closed", "lost"])[1], "The server has stopped (back at noon); trying again …");
assert.equal(said(["closed", "never_joined", "too slow"], ["closed", "lost"])[1], "Connection lost (too slow); trying again …");
assert.equal(said(["refused", "full"], ["closed", "lost"])[1], "The server is full; trying again …");
// Who has joined again begins anew.
assert.equal(said(["closed", "shutting_down"], ["joined"], ["closed", "lost"])[2], lost);
console.log("reconnect: ok");
