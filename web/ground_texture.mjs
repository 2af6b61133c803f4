// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// Makes the textures of the ground: noise that repeats, and the water of a map with soft shores.

const NOISE = 256;
const TEXELS_MAX = 2048;

/** Returns a generator of pseudo-random numbers from 0 to 1. The same seed gives the same numbers. */
function random(seed) {
  let state = seed;
  return () => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return state / 2 ** 32;
  };
}

/** Adds smooth noise with `cells` bumps per side, which repeats at the edges. */
function addNoise(sum, cells, weight, next) {
  const lattice = Float32Array.from({ length: cells * cells }, next);
  const size = NOISE / cells;
  for (let y = 0; y < NOISE; ++y) {
    for (let x = 0; x < NOISE; ++x) {
      const [gx, gy] = [Math.floor(x / size), Math.floor(y / size)];
      const ease = (t) => t * t * (3 - 2 * t);
      const [fx, fy] = [ease(x / size - gx), ease(y / size - gy)];
      const at = (i, j) => lattice[(gy + j) % cells * cells + (gx + i) % cells];
      const top = at(0, 0) * (1 - fx) + at(1, 0) * fx;
      const bottom = at(0, 1) * (1 - fx) + at(1, 1) * fx;
      sum[y * NOISE + x] += weight * (top * (1 - fy) + bottom * fy);
    }
  }
}

/** Returns {size, texels} with two bytes per texel: broad patches, and fine grain with blades of grass. */
export function noiseTexels() {
  const next = random(7);
  const broad = new Float32Array(NOISE * NOISE);
  for (const [cells, weight] of [[4, 0.5], [8, 0.3], [16, 0.2]]) addNoise(broad, cells, weight, next);
  const fine = new Float32Array(NOISE * NOISE);
  for (const [cells, weight] of [[32, 0.45], [128, 0.25]]) addNoise(fine, cells, weight, next);
  const texels = new Uint8Array(NOISE * NOISE * 2);
  for (let i = 0; i < NOISE * NOISE; ++i) {
    const blade = next() < 0.02 ? 0.3 : 0;
    texels[2 * i] = Math.min(255, broad[i] * 255);
    texels[2 * i + 1] = Math.min(255, (fine[i] + 0.08 + blade) * 255);
  }
  return { size: NOISE, texels };
}

/**
 * Returns the water of a map as {width, height, texels}. There are up to four texels per tile, smoothed so that the
 * value is about 128 at the edge of the blocked tiles. `blocked`: a string of 0 and 1, row by row.
 */
export function waterTexels(columns, rows, blocked) {
  const fine = Math.max(1, Math.min(4, Math.floor(TEXELS_MAX / Math.max(columns, rows))));
  const [width, height] = [columns * fine, rows * fine];
  let texels = new Float32Array(width * height);
  for (let y = 0; y < height; ++y) {
    const row = Math.floor(y / fine) * columns;
    for (let x = 0; x < width; ++x) texels[y * width + x] = blocked[row + Math.floor(x / fine)] === "1" ? 255 : 0;
  }
  for (let pass = 0; pass < 2 && fine > 1; ++pass) texels = blurred(blurred(texels, width, height, 1, fine), width, height, width, fine);
  return { width, height, texels: Uint8Array.from(texels) };
}

/** Returns the mean of 2 * reach + 1 texels along a line. `step` 1: along x, `width`: along y. */
function blurred(from, width, height, step, fine) {
  const to = new Float32Array(from.length);
  const reach = Math.floor(fine / 2);
  const length = step === 1 ? width : height;
  const across = step === 1 ? width : 1;
  for (let line = 0; line < from.length / length; ++line) {
    const first = line * across;
    const at = (i) => from[first + Math.min(length - 1, Math.max(0, i)) * step];
    let sum = 0;
    for (let i = -reach; i <= reach; ++i) sum += at(i);
    for (let i = 0; i < length; ++i) {
      to[first + i * step] = sum / (2 * reach + 1);
      sum += at(i + reach + 1) - at(i - reach);
    }
  }
  return to;
}
