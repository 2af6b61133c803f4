// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// All sprites of the map, drawn once onto one canvas. The map draws copies from this canvas.
import { deer, patrol, person, player, sheep, token } from "./sprite_beings.mjs";
import { cart, chest, crate, fir, item, oak, thing, turret, wagon } from "./sprite_things.mjs";

export const CELL = 128;
export const CELLS_PER_ROW = 8;
/** Fraction of the cell above the feet of an upright sprite. */
export const FEET = 112 / CELL;
/** Body and outline of the teams; 0: without a team. */
export const TEAM_COLORS = [
  ["#cfd6d9", "#6d787d"], ["#ee5a52", "#8c231f"], ["#3f8fe0", "#174879"], ["#f4c62f", "#86650a"], ["#4fbf67", "#1f6632"],
  ["#c564d8", "#672874"], ["#f2903c", "#86460f"], ["#2fc3a3", "#11624f"], ["#ef7fae", "#8b2f57"],
];

/**
 * @typedef {object} Sprite
 * @property {string} name
 * @property {number} meters Edge of its cell.
 * @property {number} pixels Least edge of its cell in CSS pixels.
 * @property {boolean} turns Whether it is seen from above and turns. Otherwise it stands upright and may be mirrored.
 * @property {(pen: CanvasRenderingContext2D) => void} draw
 */

const upright = (name, meters, pixels, draw) => ({ name, meters, pixels, turns: false, draw });
const turning = (name, meters, pixels, draw) => ({ name, meters, pixels, turns: true, draw });
const perTeam = (name, meters, pixels, draw) => TEAM_COLORS.map(([color, edge], team) => upright(`${name}${team}`, meters, pixels, (pen) => draw(pen, color, edge)));

/** @type {Sprite[]} */
export const SPRITES = [
  ...perTeam("player", 5, 25, player), ...perTeam("patrol", 4.4, 21, patrol), ...perTeam("token", 3, 19, token),
  upright("person", 0.9, 16, person), upright("sheep", 3.4, 18, sheep), upright("deer", 4.4, 21, deer),
  upright("oak", 10, 26, (pen) => oak(pen, "#1f5230", "#3d8a4c", "#66b062")), upright("birch", 9, 24, (pen) => oak(pen, "#40662a", "#76a344", "#a5c964")),
  upright("fir", 10, 27, (pen) => fir(pen, "#153f33", "#2c7355", "#4b9a70")),
  upright("item", 2.6, 15, item), upright("crate", 2.2, 11, crate), upright("chest", 2.6, 15, chest), upright("thing", 2.4, 13, thing),
  turning("wagon", 7, 24, wagon), turning("cart", 6.8, 26, cart), turning("turret", 3, 11, turret),
];

const numbers = new Map(SPRITES.map(({ name }, i) => [name, i]));

/** The number of a sprite. */
export function spriteOf(name) {
  const number = numbers.get(name);
  if (number === undefined) throw new RangeError(`no sprite '${name}'`);
  return number;
}

let sheet = null;

/** The canvas with all sprites, row by row. */
export function spriteSheet() {
  if (sheet !== null) return sheet;
  sheet = document.createElement("canvas");
  sheet.width = CELL * CELLS_PER_ROW;
  sheet.height = CELL * Math.ceil(SPRITES.length / CELLS_PER_ROW);
  const pen = sheet.getContext("2d");
  SPRITES.forEach((sprite, i) => {
    pen.save();
    pen.translate(i % CELLS_PER_ROW * CELL, Math.floor(i / CELLS_PER_ROW) * CELL);
    sprite.draw(pen);
    pen.restore();
  });
  return sheet;
}

/** A small canvas with one sprite, for text. */
export function spriteIcon(name, pixels) {
  const icon = document.createElement("canvas");
  icon.className = "sprite";
  icon.width = icon.height = pixels * 2;  // sharp on dense screens
  icon.style.width = icon.style.height = `${pixels}px`;
  const number = spriteOf(name);
  icon.getContext("2d").drawImage(spriteSheet(), number % CELLS_PER_ROW * CELL, Math.floor(number / CELLS_PER_ROW) * CELL, CELL, CELL, 0, 0, pixels * 2, pixels * 2);
  return icon;
}
