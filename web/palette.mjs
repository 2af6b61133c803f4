// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// The colors of the map by day and by night, as [red, green, blue] or [red, green, blue, alpha] from 0 to 1.

/**
 * @typedef {object} Palette
 * @property {number[]} grass Two tones of ground, mixed by noise.
 * @property {number[]} meadow
 * @property {number[]} sand The shore.
 * @property {number[]} shallow
 * @property {number[]} deep
 * @property {number[]} outside What is beyond the world.
 * @property {number[]} mist Covers the ground outside of the leave radius; with alpha.
 * @property {number[]} light Sprites are multiplied with it.
 * @property {number[]} paleLow Withheld entities: their dark parts.
 * @property {number[]} paleHigh Withheld entities: their bright parts.
 * @property {number} paleAlpha
 * @property {number[]} hidden Withheld entities with the first flag, such as cloaked ones: the tint.
 * @property {number[]} circle Enter and leave radius.
 * @property {number[]} own The ring around the own player.
 * @property {number[]} yes Explanations: relevant.
 * @property {number[]} no Explanations: not relevant.
 * @property {number[]} neutral Explanations: not known yet.
 * @property {number[]} change A position that would change the result; also what the tour points to.
 * @property {number[]} barrel
 * @property {number[]} hit Shots that hit, and others.
 * @property {number[]} miss
 */

/** @type {Palette} */
export const DAY = {
  grass: [0.475, 0.635, 0.33], meadow: [0.6, 0.725, 0.4], sand: [0.87, 0.8, 0.6], shallow: [0.5, 0.76, 0.82], deep: [0.27, 0.55, 0.7],
  outside: [0.72, 0.76, 0.73], mist: [0.86, 0.88, 0.86, 0.62], light: [1, 1, 1],
  paleLow: [0.42, 0.46, 0.48], paleHigh: [0.97, 0.98, 0.98], paleAlpha: 0.62, hidden: [0.85, 0.2, 0.3],
  circle: [0.02, 0.36, 0.5], own: [1, 1, 1],
  yes: [0.05, 0.42, 0.13], no: [0.76, 0.2, 0.06], neutral: [0.2, 0.28, 0.32], change: [0.72, 0.2, 0.62],
  barrel: [0.16, 0.22, 0.26], hit: [0.86, 0.3, 0], miss: [0.24, 0.32, 0.38],
};

/** @type {Palette} */
export const NIGHT = {
  grass: [0.085, 0.165, 0.14], meadow: [0.115, 0.215, 0.165], sand: [0.27, 0.27, 0.22], shallow: [0.09, 0.25, 0.36], deep: [0.05, 0.15, 0.26],
  outside: [0.03, 0.045, 0.06], mist: [0.03, 0.05, 0.07, 0.52], light: [0.86, 0.89, 0.98],
  paleLow: [0.2, 0.26, 0.3], paleHigh: [0.66, 0.74, 0.8], paleAlpha: 0.55, hidden: [0.95, 0.3, 0.4],
  circle: [0.4, 0.83, 0.95], own: [1, 1, 1],
  yes: [0.49, 0.86, 0.55], no: [0.94, 0.6, 0.48], neutral: [0.8, 0.85, 0.9], change: [1, 0.83, 0.23],
  barrel: [0.9, 0.95, 1], hit: [1, 0.83, 0.23], miss: [0.72, 0.82, 0.9],
};
