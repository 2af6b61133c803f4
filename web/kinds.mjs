// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// What the kinds of entities look like on the map.
import { SHAPE } from "./view.mjs";

const KIND_STYLES = {
  player: { size: 1.6, shape: SHAPE.disc, team: true },
  patrol: { size: 1.3, shape: SHAPE.square, team: true },
  person: { size: 0.28, shape: SHAPE.disc, color: "#9fd0e6" },
  tree: { size: 1.9, shape: SHAPE.triangle, color: "#3f8f5a" },
  item: { size: 0.8, shape: SHAPE.diamond, color: "#f2c14e" },
  sheep: { size: 0.9, shape: SHAPE.disc, color: "#e9ecef" },
  deer: { size: 1.1, shape: SHAPE.disc, color: "#b98557" },
  wagon: { size: 2.2, shape: SHAPE.square, color: "#a9764a" },
  cart: { size: 2.8, shape: SHAPE.square, color: "#5b8fb0" },
  turret: { size: 0.8, shape: SHAPE.disc, color: "#12242e", inMiddle: true },
  crate: { size: 0.9, shape: SHAPE.square, color: "#dbb47c" },
  chest: { size: 0.9, shape: SHAPE.diamond, color: "#f2c14e" },
  thing: { size: 0.8, shape: SHAPE.diamond, color: "#7f8f99" },
};
const OTHER_STYLE = { size: 1.2, shape: SHAPE.disc, color: "#ff8787" };
const TEAM_COLORS = ["#b8c4ca", "#ff6b6b", "#4dabf7", "#ffd43b", "#69db7c", "#da77f2", "#ffa94d", "#38d9a9", "#f783ac"];

const rgb = (hex) => [1, 3, 5].map((i) => parseInt(hex.slice(i, i + 2), 16) / 255);
export const TEAM_RGB = TEAM_COLORS.map(rgb);

/** Styles of a client's kinds, by number: {name, size, shape, rgb, color or team}. */
export class KindStyles {
  #client;
  #schema = null;
  #styles = [];

  constructor(client) { this.#client = client; }

  of(kind) {
    const { schema } = this.#client;
    if (schema !== this.#schema) {  // another after every join
      this.#schema = schema;
      this.#styles = schema.kinds.map((name) => {
        const style = KIND_STYLES[name] ?? OTHER_STYLE;
        return { ...style, rgb: rgb(style.color ?? "#ffffff"), name };
      });
    }
    return this.#styles[kind] ?? { ...OTHER_STYLE, rgb: [1, 1, 1], name: "?" };
  }
}
