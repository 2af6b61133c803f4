// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// Draws people and animals, seen from the side and facing right, into a cell of 128 x 128. Feet are at y = 112.
import { blob, shadow, shape, stroke } from "./sprite_pen.mjs";

const SKIN = "#e8b996";
const DARK = "#2c2f36";

function legs(pen, places, color, top = 92) {
  for (const x of places) stroke(pen, [[x, top], [x, 110]], 7, color);
}

/** A walker in a cloak of `color`. */
export function player(pen, color, edge) {
  shadow(pen, 64, 112, 26, 8);
  legs(pen, [56, 73], DARK);
  shape(pen, [[64, 44], [86, 66], [92, 98], [36, 98], [42, 66]], color, edge, 5);
  stroke(pen, [[78, 68], [88, 84]], 7, edge);
  blob(pen, 64, 34, 19, 19, SKIN, edge, 5);
  pen.fillStyle = edge;  // hair
  pen.beginPath();
  pen.ellipse(62, 27, 20, 15, 0, Math.PI * 0.95, Math.PI * 1.98);
  pen.fill();
  blob(pen, 71, 35, 2.6, 3.2, DARK);
}

/** A guard: helmet, spear and shield. */
export function patrol(pen, color, edge) {
  shadow(pen, 64, 112, 24, 7);
  stroke(pen, [[92, 20], [92, 108]], 5, "#7b5b3c");
  shape(pen, [[92, 8], [99, 24], [85, 24]], "#d8dee2", "#5b6670", 3);
  legs(pen, [56, 71], DARK);
  shape(pen, [[46, 58], [82, 58], [84, 96], [44, 96]], color, edge, 5);
  blob(pen, 64, 42, 16, 16, SKIN, edge, 4);
  pen.fillStyle = "#9aa6ae";
  pen.strokeStyle = "#59646d";
  pen.lineWidth = 4;
  pen.beginPath();
  pen.ellipse(64, 38, 19, 17, 0, Math.PI, 0);
  pen.closePath();
  pen.fill();
  pen.stroke();
  blob(pen, 48, 78, 13, 16, color, "#f5f2e6", 4);
}

export function person(pen) {
  shadow(pen, 64, 112, 22, 7);
  legs(pen, [57, 71], "#3b4a5c");
  shape(pen, [[50, 56], [78, 56], [82, 96], [46, 96]], "#6ea8c6", "#3a6a85", 5);
  blob(pen, 64, 40, 17, 17, SKIN, "#8a5f45", 4);
}

export function sheep(pen) {
  shadow(pen, 62, 112, 40, 8);
  legs(pen, [40, 52, 72, 82], "#3d3a3c");
  const wool = [[40, 66, 19], [58, 56, 21], [78, 62, 20], [36, 80, 16], [60, 82, 22], [82, 80, 17]];
  for (const [x, y, r] of wool) blob(pen, x, y, r + 3, r + 3, "#a9a294");
  for (const [x, y, r] of wool) blob(pen, x, y, r, r, "#f6f2e7");
  blob(pen, 100, 60, 13, 16, "#4a4548", "#2f2c2f", 3);
  blob(pen, 92, 48, 9, 6, "#f6f2e7");
  blob(pen, 103, 57, 2.5, 2.5, "#fff");
}

export function deer(pen) {
  shadow(pen, 60, 112, 40, 8);
  for (const x of [34, 44, 74, 82]) stroke(pen, [[x, 84], [x, 110]], 6, "#8a5a34");
  shape(pen, [[26, 66], [40, 56], [80, 58], [90, 34], [102, 34], [98, 66], [86, 88], [32, 90]], "#c08850", "#7d5230", 5);
  blob(pen, 103, 36, 15, 9, "#c08850", "#7d5230", 4);
  blob(pen, 27, 66, 6, 8, "#f3e6d2");
  for (const [dx, dy] of [[-6, -20], [6, -22]]) stroke(pen, [[94, 28], [94 + dx, 28 + dy * 0.6], [94 + dx * 2.2, 28 + dy]], 4, "#6d4a2c");
  stroke(pen, [[90, 16], [80, 14]], 4, "#6d4a2c");
  blob(pen, 104, 34, 2.6, 2.6, DARK);
}

/** A pawn for a kind without a drawing of its own. */
export function token(pen, color, edge) {
  shadow(pen, 64, 112, 28, 8);
  shape(pen, [[64, 46], [80, 70], [92, 108], [36, 108], [48, 70]], color, edge, 5);
  blob(pen, 64, 38, 20, 20, color, edge, 5);
  blob(pen, 58, 32, 6, 5, "#ffffff90");
}
