// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// The message of the page while it is not connected. The first reason stays until the page has joined again.
//   node reconnect_test.mjs WEB_DIRECTORY
import assert from "node:assert/strict";
import { resolve } from "node:path";
import { pathToFileURL } from "node:url";

const { Reconnect } = await import(pathToFileURL(resolve(process.argv[2], "reconnect.mjs")));

globalThis.setTimeout = () => 0;  // no reconnects in this test
globalThis.clearTimeout = () => {};

/** Returns the message of a page after each of these client states. */
function messagesAfter(...states) {
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
const closed = "Connection lost (the server closed it or cannot be reached)";
const silent = "Connection lost (the server sends nothing)";
const lost = `${closed}; trying again …`;

// The message of a server that stops stays. Later connection failures do not replace it.
assert.deepEqual(messagesAfter(["joined"], ["closed", "shutting_down"], ["connecting"], ["closed", "lost"], ["connecting"], ["closed", "timeout"]),
                 ["", stopped, stopped, stopped, stopped, stopped]);
// After two lost connections, the first message stays, too.
assert.deepEqual(messagesAfter(["joined"], ["closed", "lost"], ["closed", "timeout"]), ["", lost, lost]);
assert.deepEqual(messagesAfter(["joined"], ["closed", "timeout"], ["closed", "lost"])[2], `${silent}; trying again …`);
// A later reason from the server follows the first one and does not replace it.
assert.equal(messagesAfter(["closed", "lost"], ["closed", "malformed"])[1], `${closed}. Since then: Connection lost (malformed); trying again …`);
assert.equal(messagesAfter(["closed", "shutting_down"], ["refused", "full"])[1],
             "The server has stopped. Since then: The server is full; trying again in about 1 s …");
assert.deepEqual(messagesAfter(["closed", "timeout"], ["refused", "full"], ["closed", "lost"], ["refused", "shutting_down"]).slice(2),
                 [`${silent}. Since then: The server is full; trying again …`,
                  `${silent}. Since then: The server is shutting down; trying again in about 2 s …`]);
// The same reason again is not repeated.
assert.equal(messagesAfter(["closed", "shutting_down"], ["closed", "shutting_down"])[1], stopped);
// The first reason also stays when there are no more tries.
assert.equal(messagesAfter(["closed", "shutting_down"], ["refused", "version"])[1],
             "The server has stopped. Since then: This page is for another version of the server. Please reload it.");
assert.equal(messagesAfter(["joined"], ["closed", "kicked", "too rude"])[1], "You were disconnected by the game: too rude.");
// A reason text from the game also stays, and so does a refusal.
assert.equal(messagesAfter(["closed", "shutting_down", "back at noon"], ["closed", "lost"])[1], "The server has stopped (back at noon); trying again …");
assert.equal(messagesAfter(["closed", "never_joined", "too slow"], ["closed", "lost"])[1], "Connection lost (too slow); trying again …");
assert.equal(messagesAfter(["refused", "full"], ["closed", "lost"])[1], "The server is full; trying again …");
// A join clears the earlier messages.
assert.equal(messagesAfter(["closed", "shutting_down"], ["joined"], ["closed", "lost"])[2], lost);
console.log("reconnect: ok");
