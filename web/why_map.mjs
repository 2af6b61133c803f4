// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// A WhyQuestion on the map: a line between both, the circles of the distance steps around the one
// that looks, and where the other would have to be.
import { distanceIn, placeIn } from "./why_question.mjs";
import { SHAPE } from "./view.mjs";

const YES = [0.49, 0.86, 0.55];
const NO = [0.94, 0.6, 0.48];
const EDGE_PIXELS = 170;  // nearer to an edge, labels go to the other side
const ROOM_PIXELS = 120;   // a shorter line has no room for its length
const FOLLOW_MS = 120;  // places come a few times a second; in between they are followed smoothly

export class WhyMap {
  #view;
  #labels;
  #smooth = new WeakMap();
  #at = 0;

  /** `parent`: what the canvas and its labels lie in. */
  constructor(view, parent) {
    this.#view = view;
    this.#labels = ["first", "second", "between", "moved"].map((name) => {
      const label = document.createElement("span");
      label.className = `map-label ${name}`;
      label.hidden = true;
      parent.append(label);
      return label;
    });
  }

  /** `own`: where this client's player is drawn, or null. */
  draw(question, own, now) {
    const share = 1 - Math.exp(-(now - this.#at) / FOLLOW_MS);
    this.#at = now;
    const { first, second, answer } = question;
    const from = first?.isMe ? own : this.#follow(first, share);
    const to = second?.isMe ? own : this.#follow(second, share);
    const [r, g, b] = answer === null ? [0.8, 0.85, 0.9] : answer.relevant ? YES : NO;
    if (from && answer !== null) this.#drawCircles(answer, from);
    if (from && to && to !== from) this.#view.drawLine(from, to, 2, [r, g, b, 0.9], answer?.relevant ? 0 : 7);
    const moved = answer !== null && to ? answer.single.map(placeIn).find(Boolean) ?? null : null;
    if (moved) this.#view.drawLine(to, moved, 1.5, [1, 0.83, 0.23, 0.7], 4);
    this.#view.drawInstances("why", 3, (write) => {
      if (from) write(from.x, from.y, this.#view.markSize(2.6, 50), SHAPE.ring, 0.37, 0.78, 0.9, 1);
      if (to) write(to.x, to.y, this.#view.markSize(2.2, 50), SHAPE.ring, r, g, b, 1);
      if (moved) write(moved.x, moved.y, this.#view.markSize(1.6, 62), SHAPE.ring, 1, 0.83, 0.23, 0.9);
    });
    // Names stand on the sides that are turned away from the line.
    const left = from && to && to.x < from.x, up = from && to && to.y < from.y;
    this.#label(0, from, first?.name, { left: !left, up: !up });
    this.#label(1, to !== from ? to : null, second?.name, { left, up });
    const metres = from && to ? Math.hypot(from.x - to.x, from.y - to.y) : 0;
    const isRoom = metres / this.#view.pixel > ROOM_PIXELS;
    this.#label(2, isRoom ? { x: (from.x + to.x) / 2, y: (from.y + to.y) / 2 } : null, `${metres.toFixed(1)} m`);
    this.#label(3, moved, answer?.relevant ? "here it would be hidden" : "here it would be seen", { up: !up });
  }

  hide() { for (const label of this.#labels) label.hidden = true; }

  #drawCircles(answer, from) {
    for (const step of answer.nodes.flatMap((node) => node.steps)) {
      const measured = distanceIn(step.what);
      if (measured === null) continue;
      const [r, g, b] = step.answer ? YES : NO;
      this.#view.drawCircle(from.x, from.y, measured.enter, [r, g, b, 0.9], 1.5);
      if (measured.leave > measured.enter) this.#view.drawCircle(from.x, from.y, measured.leave, [r, g, b, 0.35], 1.5);
    }
  }

  #follow(end, share) {
    if (!end?.place) return null;
    const at = this.#smooth.get(end) ?? { ...end.place };
    this.#smooth.set(end, at);
    at.x += (end.place.x - at.x) * share;
    at.y += (end.place.y - at.y) * share;
    return at;
  }

  /** Right of the place and below it, if not otherwise said. */
  #label(index, place, text, { left = false, up = false } = {}) {
    const label = this.#labels[index];
    label.hidden = !place || !text;
    if (label.hidden) return;
    if (label.textContent !== text) label.textContent = text;
    const { x, y } = this.#view.pointOf(place);
    const isAtEdge = (left ? x : this.#view.canvas.clientWidth - x) < EDGE_PIXELS;
    label.classList.toggle("left", left !== isAtEdge);
    label.classList.toggle("up", up);
    label.style.transform = `translate(${Math.round(x)}px, ${Math.round(y)}px)`;
  }
}
