// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// The entities of a truth frame (the server's complete world) that this client does not have. A truth frame has no
// ghost ids, so each ghost is matched with the nearest entity of its kind.

const NEAR_M = 3;        // maximum distance between a ghost and its entity
const OWN_NEAR_M = 12;  // a predicted ghost is ahead of the server

/**
 * @typedef {object} Withheld
 * @property {number} x
 * @property {number} y
 * @property {number} kind
 * @property {boolean} hidden Whether it has the first flag of the schema, such as cloaked.
 */

/**
 * @param {{count: number, floats: Float32Array, words: Uint16Array}} frame A truth frame.
 * @param {{x: number, y: number, kind: number, owned: boolean}[]} ghosts Kinds by number.
 * @returns {Withheld[]}
 */
export function withheldOf({ count, floats, words }, ghosts) {
  const cells = cellsOf(ghosts);
  const pairs = [];  // an entity and a nearby ghost of its kind
  for (let i = 0; i < count; ++i) {
    const [x, y] = [floats[i * 3], floats[i * 3 + 1]];
    for (const g of cells.get(cellOf(x, y)) ?? []) {
      const ghost = ghosts[g];
      if (ghost.kind !== words[i * 6 + 4]) continue;
      const meters = Math.hypot(x - ghost.x, y - ghost.y);
      if (meters <= (ghost.owned ? OWN_NEAR_M : NEAR_M)) pairs.push({ i, g, meters });
    }
  }
  pairs.sort((a, b) => a.meters - b.meters);
  const known = new Uint8Array(count);
  const taken = new Uint8Array(ghosts.length);
  for (const { i, g } of pairs) {
    if (known[i] !== 0 || taken[g] !== 0) continue;
    known[i] = taken[g] = 1;
  }
  const withheld = [];
  for (let i = 0; i < count; ++i) {
    if (known[i] === 0) withheld.push({ x: floats[i * 3], y: floats[i * 3 + 1], kind: words[i * 6 + 4], hidden: (words[i * 6 + 5] & 1) !== 0 });
  }
  return withheld;
}

const CELL_M = 4;  // at least NEAR_M
const cellOf = (x, y) => Math.floor(x / CELL_M) * 0x100000 + Math.floor(y / CELL_M);

/** Returns a map of cells. Each ghost is in all cells that may contain its entity. */
function cellsOf(ghosts) {
  const cells = new Map();
  ghosts.forEach(({ x, y, owned }, g) => {
    const reach = owned ? OWN_NEAR_M : NEAR_M;
    for (let cx = Math.floor((x - reach) / CELL_M); cx <= Math.floor((x + reach) / CELL_M); ++cx) {
      for (let cy = Math.floor((y - reach) / CELL_M); cy <= Math.floor((y + reach) / CELL_M); ++cy) {
        const cell = cx * 0x100000 + cy;
        if (!cells.has(cell)) cells.set(cell, []);
        cells.get(cell).push(g);
      }
    }
  });
  return cells;
}
