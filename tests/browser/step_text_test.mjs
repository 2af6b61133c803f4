// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// Tests the numbers in step texts:  node step_text_test.mjs WEB_DIRECTORY
import assert from "node:assert/strict";
import { join } from "node:path";
import { pathToFileURL } from "node:url";

const { circleOf, circlesOf, numbersOf, opOf, rangeFor } = await import(pathToFileURL(join(process.argv[2], "step_text.mjs")));

/** Returns the names and values of the numbers in a text. */
const named = (text) => numbersOf(text).map(({ label, value }) => `${label} ${value}`).join(", ");
/** Returns the text with its n-th number changed. */
const changed = (text, n, value) => numbersOf(text)[n].textWith(value);

// A change of the radius keeps the margin, in any order of words. A margin of 0 is omitted.
assert.equal(named("add within 60 leave 66"), "radius 60, margin 6");
assert.equal(changed("add within 60 leave 66", 0, 30), "add within 30 leave 36");
assert.equal(changed("add within 60 leave 66", 1, 10), "add within 60 leave 70");
assert.equal(changed("add within 60 leave 66", 1, 0), "add within 60");
assert.equal(changed("require within 1.5", 1, 0.2), "require within 1.5 leave 1.7");
assert.equal(changed("add within 60 of entity leave 66 from owned", 0, 9.5), "add within 9.5 of entity leave 15.5 from owned");
assert.equal(changed("add within 60 of entity leave 66 from owned", 1, 0), "add within 60 of entity from owned");

// Cells, rings, values, sight.
assert.equal(named("add neighborhood 50x30 rings 2 from main"), "width 50, height 30, rings 2");
assert.equal(changed("add neighborhood 50x30x4 rings 2", 1, 12), "add neighborhood 50x12x4 rings 2");
assert.equal(changed("add neighborhood 50x30 rings 2", 2, 3), "add neighborhood 50x30 rings 3");
assert.equal(named("add hexagons 40 rings 1"), "cell side 40, rings 1");
assert.equal(named("add hexagons 40x3 rings 1"), "cell side 40, depth 3, rings 1");
assert.equal(changed("add hexagons 40x3 rings 1", 0, 12.5), "add hexagons 12.5x3 rings 1");
assert.equal(changed("require value level from -3 to 10", 0, 4), "require value level from 4 to 10");
assert.equal(named("require sight within 40 tests 32 grace 20"), "radius 40, tests/tick 32, grace, ticks 20");
assert.equal(named("add area leave 4"), "margin 4");

// Names, quoted names and incomplete steps have no numbers.
for (const text of ["", "add", "add within", "add same team", "subtract flag cloaked", "add same 'room 3'", "add within sixty", "add withn 60", "ad within 60", "add same room 3"]) {
  assert.equal(named(text), "", text);
}
assert.equal(opOf("  subtract flag cloaked"), "subtract");
assert.equal(opOf("addition"), "");

// Only `add` steps by distance have a circle.
assert.deepEqual(circleOf("add within 60 leave 66"), { enter: 60, leave: 66 });
assert.deepEqual(circleOf("add within 60"), { enter: 60, leave: 60 });
assert.deepEqual(circleOf("add sight within 60"), { enter: 60, leave: 60 });
assert.deepEqual(circleOf("add sight within 60 tests 5 grace 20"), { enter: 60, leave: 60 });
for (const text of ["", "require within 60", "add same team", "add neighborhood 50x50 rings 1", "add area leave 4"]) {
  assert.equal(circleOf(text), null, text);
}

// The map shows the circles of enabled nodes that add.
const node = (radius, rest = {}) => ({ name: "a", steps: [`add within ${radius}`, "subtract flag cloaked"], ...rest });
assert.deepEqual(circlesOf([
  node(60), node(50, { combine: "add", enabled: true }), node(40, { combine: "subtract" }), node(30, { combine: "require" }), node(20, { enabled: false }),
]), [{ enter: 60, leave: 60 }, { enter: 50, leave: 50 }]);

// The range of a slider contains its number and has valid values only.
for (const text of ["add within 60 leave 66", "add within 1.5", "add neighborhood 50x30 rings 2", "require value level from -3 to 10", "add within 0.02"]) {
  for (const number of numbersOf(text)) {
    const range = rangeFor(number);
    assert.ok(range.min <= number.value && number.value <= range.max, `${text}: ${number.label}`);
    assert.ok(range.min >= number.least && range.step > 0 && range.max / range.step <= 4000, `${text}: ${number.label}`);
    for (const value of [range.min, range.max]) {
      const again = numbersOf(number.textWith(value)).find(({ label }) => label === number.label);
      assert.ok(Math.abs(again.value - value) < 1e-9, `${text}: ${number.label} ${value} reads back as ${again.value}`);
    }
  }
}
console.log("step text: passed");
