// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// The legend of the map: its symbols, and how many of each are in view. If the truth (the server's complete world) is
// not available, one line shows why.
import { byId, grouped, put } from "./dom.mjs";
import { TEAM_COLORS, spriteIcon } from "./sprites.mjs";

const EVERY_MS = 250;
const ICON_PIXELS = 24;

export class MapKey {
  #scene;
  #view;
  #flag;
  #team = null;

  /** `flag()`: the name of the first flag of the world, such as "cloaked"; "" if it is unknown. */
  constructor(scene, view, flag) {
    this.#scene = scene;
    this.#view = view;
    this.#flag = flag;
    for (const [id, sprite] of [["key-sent", "sheep"], ["key-withheld", "sheep"], ["key-hidden", "deer"]]) byId(id).append(spriteIcon(sprite, ICON_PIXELS));
    setInterval(() => this.#count(), EVERY_MS);
  }

  /** Shows why the truth is not available; "": it is available. */
  showMissing(why) {
    put(byId("truth-missing"), "textContent", why);
    put(byId("truth-missing"), "hidden", why === "");
    byId("truth").disabled = why !== "";
    byId("truth-row").classList.toggle("off", why !== "");
  }

  #count() {
    const { own, ghosts, withheld } = this.#scene.drawn;
    const team = own?.team ?? 0;
    if (team !== this.#team) {
      this.#team = team;
      byId("key-you").replaceChildren(spriteIcon(`player${team % TEAM_COLORS.length}`, ICON_PIXELS));
    }
    const { center, halfWidth, halfHeight } = this.#view;
    const inView = ({ x, y }) => Math.abs(x - center.x) < halfWidth && Math.abs(y - center.y) < halfHeight;
    const words = (things) => grouped(things.filter(inView).length);
    const hidden = this.#scene.withheld.filter((entity) => entity.hidden);
    put(byId("sent-count"), "textContent", words(ghosts));
    put(byId("withheld-count"), "textContent", withheld === null ? "" : words(this.#scene.withheld));
    byId("withheld-unit").style.visibility = withheld === null ? "hidden" : "";
    put(byId("hidden-row"), "hidden", this.#flag() === "" || hidden.length === 0);
    put(byId("hidden-name"), "textContent", `withheld, ${this.#flag()}`);
    put(byId("hidden-count"), "textContent", words(hidden));
  }
}
