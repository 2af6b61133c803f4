// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// Appearance of the kinds of entities on the map.
import { TEAM_COLORS, spriteOf } from "./sprites.mjs";

/** `sprites`: variants, chosen by position. `team`: prefix of the sprite names, which end with the team number. */
const KIND_STYLES = {
  player: { team: "player" },
  patrol: { team: "patrol" },
  person: { sprites: ["person"] },
  tree: { moves: false, sprites: ["oak", "fir", "birch", "fir"] },
  item: { moves: false, sprites: ["item"] },
  sheep: { sprites: ["sheep"] },
  deer: { sprites: ["deer"] },
  wagon: { sprites: ["wagon"], turns: true },
  cart: { sprites: ["cart"], turns: true },
  turret: { sprites: ["turret"], moves: false, turns: true, inMiddle: true },
  crate: { moves: false, sprites: ["crate"] },
  chest: { moves: false, sprites: ["chest"] },
  thing: { moves: false, sprites: ["thing"] },
};

/** A kind that is not in KIND_STYLES is drawn as a pawn, in a color that depends on its name. */
function otherStyle(name) {
  const number = [...name].reduce((sum, letter) => sum * 31 + letter.codePointAt(0), 7) % TEAM_COLORS.length;
  return { sprites: [`token${number}`] };
}

/**
 * @typedef {object} KindStyle
 * @property {string} name
 * @property {boolean} hasTeam
 * @property {boolean} moves Whether it has a direction, and may have a cloak.
 * @property {boolean} turns Whether its sprite is drawn from above and turned in its direction.
 * @property {boolean} inMiddle Whether it is drawn in the middle of its parent when it is a group member.
 * @property {string} icon The name of a sprite for lists.
 * @property {number[]} sprites Numbers of sprites: by team, or variants.
 */

/** @returns {KindStyle} */
function styleOf(name) {
  const { team, sprites, moves = true, turns = false, inMiddle = false } = KIND_STYLES[name] ?? otherStyle(name);
  const names = team === undefined ? sprites : TEAM_COLORS.map((_, number) => `${team}${number}`);
  return { name, hasTeam: team !== undefined, moves, turns, inMiddle, icon: names[team === undefined ? 0 : 2], sprites: names.map(spriteOf) };
}

/** Returns the sprite of an entity. The variant depends only on the position, so ghost and truth have the same. */
export function spriteAt(style, x, y, team) {
  const { sprites } = style;
  if (sprites.length === 1) return sprites[0];
  return sprites[(style.hasTeam ? team : Math.floor(x * 0.5) + Math.floor(y * 0.5) * 7) % sprites.length];
}

/** Styles of a client's kinds, by number. */
export class KindStyles {
  #client;
  #schema = null;
  #styles = [];

  constructor(client) { this.#client = client; }

  /** @returns {KindStyle} */
  of(kind) {
    const { schema } = this.#client;
    if (schema !== this.#schema) {  // the schema object changes with every join
      this.#schema = schema;
      this.#styles = schema.kinds.map(styleOf);
    }
    return this.#styles[kind] ?? styleOf("?");
  }
}
