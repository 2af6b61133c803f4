// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// The text that names the deciding step of an explanation:  node why_words_test.mjs WEB_DIRECTORY
import assert from "node:assert/strict";
import { join } from "node:path";
import { pathToFileURL } from "node:url";

const { decision } = await import(pathToFileURL(join(process.argv[2], "why_panel.mjs")));

const step = (op, what, so_far) => ({ op, what, answer: true, so_far });
const node = (name, result, steps = [], rest = {}) => ({ name, member: true, combine: "add", result, steps, ...rest });
const NEAR = [step("add", "distance 10.0 of 60.0, leave radius 66.0 (it was in)", true)];
const decide = (stage, relevant, nodes, rest = {}) =>
  decision({ stage, relevant, held: false, hidden_member: null, promoted_by: null, nodes, ...rest });
const yes = (nodes, rest) => decide("a node matches", true, nodes, rest);
const no = (nodes, rest) => decide("no node matches", false, nodes, rest);

assert.equal(yes([node("near", true, NEAR)]), "step 1 decides: add distance 10.0 of 60.0");
assert.equal(no([node("near", false, [...NEAR, step("subtract", "cloaked is set", false)])]), "step 2 decides: subtract cloaked is set");
assert.equal(no([node("near", false, [step("add", "distance 80.0 of 60.0", false)])]), "no step adds it");
assert.equal(no([]), "there are no nodes");
assert.equal(yes([node("all", true)]), "a node without steps matches");

// A node that is evaluated only in some ticks keeps its last result until the next evaluation.
assert.equal(yes([node("near", true, [step("add", "distance 80.0 of 60.0", false)])]), "a node matched at its last evaluation");

// A node decides nothing about an entity that is not its member.
const other = node("rooms", false, NEAR, { member: false });
assert.equal(no([other, node("near", false, [step("add", "distance 80.0 of 60.0", false)])]), "no step adds it");
assert.equal(no([other]), "no node applies to it");
assert.equal(yes([other, node("near", true, NEAR)]), "step 1 of “near” decides: add distance 10.0 of 60.0");

// A matching subtract node decides, even after a node that matched. If it does not match, it has no effect.
assert.equal(no([node("near", true, NEAR), node("fog", true, NEAR, { combine: "subtract" })]), "node “fog” subtracts it");
assert.equal(no([node("near", true, NEAR), node("pass", false, [], { combine: "require" })]), "node “pass” is required and does not match");
assert.equal(yes([node("near", true, NEAR), node("fog", false, NEAR, { combine: "subtract" })]), "step 1 of “near” decides: add distance 10.0 of 60.0");

// Results that no step decides.
assert.equal(decide("owned", true, []), "decided before the rules: owned");
assert.equal(decide("explicit only", false, [node("near", true, NEAR)]), "decided before the rules: explicit only");
assert.equal(decide("promoted", true, [node("near", false)], { promoted_by: 7 }), "no node matches it, but a node matches its descendant, entity 7");
assert.equal(yes([node("near", false)], { held: true }), "no node matches it any more, but its minimum relevance time is not over");
assert.equal(decide("force hidden", false, [], { hidden_member: 3 }), "entity 3 of its group is hidden with all its descendants: force hidden");
console.log("why in words: passed");
