// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// Labels on the map: the own player, the sent and the withheld entities, and the radii. The map follows the player, so
// the labels keep their positions on the screen.
import { make, put } from "./dom.mjs";

const EDGE_PIXELS = 6;
/** Least radius of a circle, in pixels, that has a label inside. */
const ROOM_PIXELS = 62;
/** Least space above a circle for a label, including the legend of a narrow map. */
const ABOVE_PIXELS = 82;

/** Offset of a label from its position, as fractions of its size. */
const ANCHORS = { center: [-0.5, -0.5], below: [-0.5, 0], above: [-0.5, -1], left: [-1, -0.5], right: [0, -0.5] };

export class MapLabels {
  #view;
  #labels;

  /** `parent`: lies over the canvas. */
  constructor(view, parent) {
    this.#view = view;
    this.#labels = Object.fromEntries(["you", "sent", "withheld", "enter", "leave"].map((name) => {
      const element = make("span", { className: `name ${name}`, hidden: true });
      parent.append(element);
      return [name, { element, at: "" }];
    }));
  }

  /**
   * @param {{own: {x: number, y: number, cloaked: boolean} | null, withheld: number | null}} drawn
   * @param {{enter: number, leave: number}[]} radii
   * @param {boolean} isPicking The next click selects an entity, so labels that would cover entities are hidden.
   */
  draw({ own, withheld }, radii, isPicking) {
    if (own === null) {
      for (const name of Object.keys(this.#labels)) this.#put(name, "");
      return;
    }
    const { pixel } = this.#view;
    const middle = this.#view.pointOf(own);
    const widest = radii.reduce((best, radius) => (best === null || radius.leave > best.leave ? radius : best), null);
    const inner = widest === null ? 2 * ROOM_PIXELS : widest.enter / pixel;
    const outer = widest === null ? 2 * ROOM_PIXELS : widest.leave / pixel;
    const toward = (degrees, distance) => ({ x: middle.x + Math.cos(degrees / 180 * Math.PI) * distance, y: middle.y + Math.sin(degrees / 180 * Math.PI) * distance });
    this.#put("you", own.cloaked ? "you, cloaked" : "you", { x: middle.x, y: middle.y + 18 }, "below");
    this.#put("sent", inner > ROOM_PIXELS && !isPicking ? "sent to you" : "", toward(-90, inner * 0.62), "center");
    const isRoomAbove = middle.y - outer > ABOVE_PIXELS;
    this.#put("withheld", withheld !== null && withheld > 0 && !isPicking ? "withheld from you" : "", isRoomAbove ? toward(-90, outer + 8) : toward(90, outer + 27), isRoomAbove ? "above" : "below");
    this.#put("enter", widest === null ? "" : `enter radius ${metersOf(widest.enter)}`, toward(90, inner - 5), "above");
    this.#put("leave", widest === null ? "" : `leave radius ${metersOf(widest.leave)}`, toward(90, outer + 5), "below");
  }

  /** "" hides the label; it is also hidden where it does not fit. */
  #put(name, text, { x, y } = { x: 0, y: 0 }, anchor = "center") {
    const { element } = this.#labels[name];
    if (text === "") return put(element, "hidden", true);
    put(element, "hidden", false);
    put(element, "textContent", text);
    const { clientWidth, clientHeight } = this.#view.canvas;
    const isInside = x > EDGE_PIXELS && y > EDGE_PIXELS && x < clientWidth - EDGE_PIXELS && y < clientHeight - EDGE_PIXELS;
    const [dx, dy] = ANCHORS[anchor];
    const at = isInside ? `translate(${Math.round(x)}px, ${Math.round(y)}px) translate(${dx * 100}%, ${dy * 100}%)` : "translate(-1000px, 0)";
    if (this.#labels[name].at === at) return;
    this.#labels[name].at = at;
    element.style.transform = at;
  }
}

/** 60 as "60 m". */
const metersOf = (meters) => `${Number(meters.toFixed(meters < 10 ? 2 : 1))} m`;
