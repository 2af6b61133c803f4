// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// What the page says decided an explanation:  node why_words_test.mjs WEB_DIRECTORY
import assert from "node:assert/strict";
import { join } from "node:path";
import { pathToFileURL } from "node:url";

const { decision } = await import(pathToFileURL(join(process.argv[2], "why_panel.mjs")));

const step = (op, what, so_far) => ({ op, what, answer: true, so_far });
const node = (name, result, steps = [], rest = {}) => ({ name, member: true, combine: "add", result, steps, ...rest });
const NEAR = [step("add", "distance 10.0 of 60.0, once in of 66.0 (it was in)", true)];
const said = (stage, relevant, nodes, rest = {}) =>
  decision({ stage, relevant, held: false, hidden_member: null, promoted_by: null, nodes, ...rest });
const yes = (nodes, rest) => said("a node says yes", true, nodes, rest);
const no = (nodes, rest) => said("no node says yes", false, nodes, rest);

assert.equal(yes([node("near", true, NEAR)]), "step 1 decides: add distance 10.0 of 60.0");
assert.equal(no([node("near", false, [...NEAR, step("subtract", "cloaked is set", false)])]), "step 2 decides: subtract cloaked is set");
assert.equal(no([node("near", false, [step("add", "distance 80.0 of 60.0", false)])]), "no step adds it");
assert.equal(no([]), "there are no nodes");
assert.equal(yes([node("all", true)]), "a node without steps says yes");

// What a node that waits said last counts, whatever its steps would say now.
assert.equal(yes([node("near", true, [step("add", "distance 80.0 of 60.0", false)])]), "a node said yes when it was asked last");

// A node that is not about the entity decides nothing, whatever its steps say.
const other = node("rooms", false, NEAR, { member: false });
assert.equal(no([other, node("near", false, [step("add", "distance 80.0 of 60.0", false)])]), "no step adds it");
assert.equal(no([other]), "no node is about it");
assert.equal(yes([other, node("near", true, NEAR)]), "step 1 of “near” decides: add distance 10.0 of 60.0");

// A node that takes away is what decided, not one that said yes before; one that says no takes nothing.
assert.equal(no([node("near", true, NEAR), node("fog", true, NEAR, { combine: "subtract" })]), "node “fog” takes it away");
assert.equal(no([node("near", true, NEAR), node("pass", false, [], { combine: "require" })]), "node “pass” is required, and says no");
assert.equal(yes([node("near", true, NEAR), node("fog", false, NEAR, { combine: "subtract" })]), "step 1 of “near” decides: add distance 10.0 of 60.0");

// What no step decides.
assert.equal(said("owned", true, []), "before any rule: owned");
assert.equal(said("explicit only", false, [node("near", true, NEAR)]), "before any rule: explicit only");
assert.equal(said("promoted", true, [node("near", false)], { promoted_by: 7 }), "no node says yes, but one does of entity 7 below it");
assert.equal(yes([node("near", false)], { held: true }), "no node says yes any more; it stays for the rest of its time");
assert.equal(said("force hidden", false, [], { hidden_member: 3 }), "entity 3 of its group is hidden with all below it: force hidden");
console.log("why in words: passed");
