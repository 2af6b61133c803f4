// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// Tests which entities of the truth this client does not have:  node withheld_test.mjs WEB_DIRECTORY
import assert from "node:assert/strict";
import { resolve } from "node:path";
import { pathToFileURL } from "node:url";

const { withheldOf } = await import(pathToFileURL(resolve(process.argv[2], "withheld.mjs")));

/** Encodes a truth frame of [x, y, kind, flags] as docs/operator.md describes it. */
function frameOf(...entities) {
  const bytes = new ArrayBuffer(entities.length * 12);
  const [floats, words] = [new Float32Array(bytes), new Uint16Array(bytes)];
  entities.forEach(([x, y, kind, flags = 0], i) => {
    floats.set([x, y], i * 3);
    words.set([kind, flags], i * 6 + 4);
  });
  return { count: entities.length, floats, words };
}
const ghost = (x, y, kind, owned = false) => ({ x, y, kind, owned });
const withheldPositions = (...rest) => withheldOf(...rest).map(({ x, y }) => [x, y]);

// An entity without a ghost is withheld. `hidden` is its first flag.
assert.deepEqual(withheldOf(frameOf([10, 20, 3], [50, 60, 4, 1]), []),
                 [{ x: 10, y: 20, kind: 3, hidden: false }, { x: 50, y: 60, kind: 4, hidden: true }]);
assert.deepEqual(withheldOf(frameOf(), [ghost(0, 0, 1)]), []);
// An entity with a nearby ghost of its kind is not withheld.
assert.deepEqual(withheldPositions(frameOf([10, 20, 3], [12, 20, 4]), [ghost(11, 21, 3)]), [[12, 20]]);
assert.deepEqual(withheldPositions(frameOf([10, 20, 3]), [ghost(16, 20, 3)]), [[10, 20]]);
// A ghost matches only the nearest entity. The cloaked one beside it stays withheld.
assert.deepEqual(withheldPositions(frameOf([10, 20, 3], [10.5, 20, 3, 1], [11, 20, 3]), [ghost(10.1, 20, 3), ghost(10.9, 20, 3)]), [[10.5, 20]]);
// The result does not depend on the order: a ghost always matches the nearer entity.
assert.deepEqual(withheldPositions(frameOf([8, 0, 1], [10, 0, 1]), [ghost(9.5, 0, 1), ghost(10.1, 0, 1)]), []);
assert.deepEqual(withheldPositions(frameOf([10, 0, 1], [7.8, 0, 1]), [ghost(10.1, 0, 1), ghost(9.5, 0, 1)]), []);
// The own, predicted ghost may be further ahead.
assert.deepEqual(withheldPositions(frameOf([0, 0, 1]), [ghost(9, 0, 1, true)]), []);
assert.deepEqual(withheldPositions(frameOf([0, 0, 1]), [ghost(9, 0, 1, false)]), [[0, 0]]);
// The same for negative positions and at cell borders of the grid.
for (let at = -9; at < 9; at += 0.5) assert.deepEqual(withheldPositions(frameOf([at, -at, 2]), [ghost(at + 2, -at - 2, 2)]), [], `${at}`);

// The result equals a brute-force match: nearest pairs first, each ghost and each entity at most once.
let state = 1;
const next = (bound) => (state = (Math.imul(state, 1103515245) + 12345) >>> 0) / 2 ** 32 * bound;
for (let round = 0; round < 50; ++round) {
  const entities = Array.from({ length: 60 }, () => [Math.fround(next(40) - 20), Math.fround(next(40) - 20), Math.floor(next(3))]);
  const ghosts = entities.filter(() => next(1) < 0.5).map(([x, y, kind]) => ghost(x + next(2) - 1, y + next(2) - 1, kind));
  const pairs = entities.flatMap(([x, y, kind], i) => ghosts.map((it, g) => ({ i, g, same: it.kind === kind, meters: Math.hypot(it.x - x, it.y - y) })))
    .filter(({ same, meters }) => same && meters <= 3).sort((a, b) => a.meters - b.meters);
  const [known, taken] = [new Set(), new Set()];
  for (const { i, g } of pairs) if (!known.has(i) && !taken.has(g)) { known.add(i); taken.add(g); }
  assert.deepEqual(withheldPositions(frameOf(...entities), ghosts), entities.filter((_, i) => !known.has(i)).map(([x, y]) => [x, y]));
}
console.log("withheld: passed");
