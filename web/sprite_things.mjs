// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// Draws trees and things into a cell of 128 x 128. Trees and small things stand with their base at y = 112; vehicles
// are seen from above, face right and have their center at (64, 64).
import { blob, shadow, shape, stroke } from "./sprite_pen.mjs";

/** A tree with a round crown: `dark`, `middle`, `bright`. */
export function oak(pen, dark, middle, bright) {
  shadow(pen, 66, 110, 40, 13);
  stroke(pen, [[64, 80], [64, 108]], 13, "#6b4a30");
  const crown = [[40, 62, 23], [88, 62, 23], [64, 70, 24], [50, 40, 25], [78, 40, 25], [64, 30, 21]];
  for (const [x, y, r] of crown) blob(pen, x, y, r + 4, r + 4, dark);
  for (const [x, y, r] of crown) blob(pen, x, y, r, r, middle);
  for (const [x, y, r] of [[50, 34, 15], [74, 30, 10], [36, 56, 9], [80, 54, 9]]) blob(pen, x, y, r, r * 0.85, bright);
}

export function fir(pen, dark, middle, bright) {
  shadow(pen, 66, 111, 34, 11);
  stroke(pen, [[64, 92], [64, 109]], 11, "#5f4330");
  for (const [top, bottom, half] of [[58, 98, 38], [34, 74, 31], [8, 50, 23]]) {
    shape(pen, [[64, top], [64 + half, bottom], [64 - half, bottom]], middle, dark, 4);
    shape(pen, [[63, top + 9], [62, bottom - 7], [64 - half * 0.66, bottom - 6]], bright);
  }
}

/** A bag of coins. */
export function item(pen) {
  shadow(pen, 64, 110, 30, 9);
  shape(pen, [[52, 50], [76, 50], [96, 86], [88, 106], [40, 106], [32, 86]], "#e2a93b", "#8a5d16", 6);
  shape(pen, [[48, 32], [64, 42], [80, 32], [76, 50], [52, 50]], "#f2c14e", "#8a5d16", 5);
  blob(pen, 54, 80, 8, 10, "#ffe6a3");
}

export function crate(pen) {
  shadow(pen, 64, 108, 38, 9);
  shape(pen, [[32, 46], [96, 46], [96, 106], [32, 106]], "#d3a56b", "#7d5930", 6);
  stroke(pen, [[34, 66], [94, 66]], 4, "#96703f");
  stroke(pen, [[34, 86], [94, 86]], 4, "#96703f");
  stroke(pen, [[38, 50], [90, 102]], 7, "#b98a52");
}

export function chest(pen) {
  shadow(pen, 64, 108, 40, 9);
  shape(pen, [[28, 66], [100, 66], [100, 106], [28, 106]], "#9a6636", "#55371b", 6);
  shape(pen, [[30, 64], [36, 44], [92, 44], [98, 64]], "#b57a43", "#55371b", 6);
  blob(pen, 64, 74, 9, 10, "#f2c14e", "#7d5a14", 4);
}

export function thing(pen) {
  shadow(pen, 64, 110, 32, 9);
  shape(pen, [[34, 104], [40, 70], [62, 54], [88, 68], [96, 104]], "#96a3ab", "#56636b", 6);
  shape(pen, [[48, 74], [62, 62], [68, 70], [54, 84]], "#c3ccd1");
}

/** From above: a bed with a canvas cover and four wheels. */
export function wagon(pen) {
  blob(pen, 66, 68, 52, 34, "#0a1a1050");
  for (const x of [34, 86]) for (const y of [30, 90]) shape(pen, [[x - 9, y], [x + 13, y], [x + 13, y + 8], [x - 9, y + 8]], "#4b3625", "#2d2016", 3);
  shape(pen, [[18, 40], [104, 40], [104, 88], [18, 88]], "#a9764a", "#5c3c22", 5);
  shape(pen, [[24, 42], [82, 42], [82, 86], [24, 86]], "#e9dfc8", "#a8997b", 4);
  for (const x of [40, 56, 70]) stroke(pen, [[x, 44], [x, 84]], 3, "#c9bc9d");
  stroke(pen, [[104, 64], [120, 64]], 6, "#5c3c22");
}

/** From above: a hull with four wheels; the front has a bumper and lamps. */
export function cart(pen) {
  blob(pen, 66, 68, 52, 40, "#0a1a1050");
  for (const x of [32, 92]) for (const y of [22, 94]) shape(pen, [[x - 13, y], [x + 13, y], [x + 13, y + 11], [x - 13, y + 11]], "#2a3138", "#14191d", 3);
  shape(pen, [[16, 36], [92, 34], [114, 48], [114, 80], [92, 94], [16, 92]], "#4f8db5", "#22506e", 6);
  shape(pen, [[24, 46], [74, 46], [74, 82], [24, 82]], "#72aed2");
  shape(pen, [[84, 46], [98, 50], [98, 78], [84, 82]], "#244a63");
  for (const y of [50, 78]) blob(pen, 108, y, 5, 5, "#ffe9a8");
}

export function turret(pen) {
  blob(pen, 64, 64, 30, 30, "#37474f", "#141b20", 6);
  blob(pen, 64, 64, 16, 16, "#5b7079");
}
