// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// Tests the states of the tour, without a page:  node tour_states_test.mjs WEB_DIRECTORY
import assert from "node:assert/strict";
import { resolve } from "node:path";
import { pathToFileURL } from "node:url";

let check = () => {};
let later = null;
globalThis.setInterval = (run) => { check = run; };
globalThis.setTimeout = (run) => (later = run);
globalThis.clearTimeout = () => { later = null; };
const stored = new Map();
globalThis.localStorage = { getItem: (name) => stored.get(name) ?? null, setItem: (name, value) => stored.set(name, value), removeItem: (name) => stored.delete(name) };
const { Tour } = await import(pathToFileURL(resolve(process.argv[2], "tour.mjs")));

const begun = [];
const step = (title, isPossible = true) => ({ title, isPossible: () => isPossible, begin: () => begun.push(title), isDone() { return this.did === true; }, outcome: () => `${title} was done` });
const make = (...steps) => new Tour(steps, () => true, () => {});

// The first visit offers the tour. When a step is done, the next one begins after a while.
const [walk, rule, no, drive] = [step("walk"), step("rule"), step("no", false), step("drive")];
let tour = make(walk, rule, no, drive);
assert.equal(tour.isShown, false);
tour.offer();
assert.deepEqual([tour.state, tour.step.title, begun], ["step", "walk", ["walk"]]);
assert.deepEqual(tour.steps.map(({ title }) => title), ["walk", "rule", "drive"], "an impossible step is omitted");
check();
assert.equal(tour.state, "step");
walk.did = true;
check();
assert.deepEqual([tour.state, tour.step.title, tour.outcome, begun], ["done", "walk", "walk was done", ["walk"]]);
later();
assert.deepEqual([tour.state, tour.step.title, begun], ["step", "rule", ["walk", "rule"]]);
// A step can be skipped. It does not count as done.
tour.next();
assert.deepEqual([tour.state, tour.step.title, tour.done], ["step", "drive", [true, false, false]]);
assert.equal(later, null);
// next() after a finished step does not wait.
drive.did = true;
check();
tour.next();
assert.deepEqual([tour.state, tour.step, later], ["end", null, null]);
assert.equal(stored.get("purview.tour"), "seen");
tour.next();
assert.equal(tour.isShown, false);
// The tour is not offered again, but it can be started again.
tour.offer();
assert.equal(tour.isShown, false);
walk.did = false;
tour.start();
assert.deepEqual([tour.state, tour.step.title, tour.done], ["step", "walk", [false, false, false]]);
tour.end();

// Ending the tour early counts as seen.
stored.clear();
tour = make(step("one"), step("two"));
tour.offer();
tour.end();
assert.deepEqual([tour.isShown, stored.get("purview.tour")], [false, "seen"]);

// In a browser that stores nothing, the tour works and is offered once per page.
globalThis.localStorage = new Proxy({}, { get() { throw new Error("no storage"); } });
const { store } = await import(pathToFileURL(resolve(process.argv[2], "settings.mjs")));
store("tour", null);
tour = make(step("one"));
tour.offer();
assert.equal(tour.isShown, true);
tour.end();
tour.offer();
assert.equal(tour.isShown, false);
console.log("tour states: passed");
