// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// Draws a WhyQuestion on the map: a line between both ends, the circles of the distance steps around the observer,
// and the position that would change the result.
import { distanceIn, placeIn } from "./why_question.mjs";
import { SHAPE } from "./view.mjs";

const EDGE_PIXELS = 170;  // closer to an edge, a label is placed on the other side of its position
const ROOM_PIXELS = 120;   // a shorter line does not show its length
const FOLLOW_MS = 120;  // positions arrive a few times per second and are smoothed in between

export class WhyMap {
  #view;
  #labels;
  #smooth = new WeakMap();
  #at = 0;

  /** `parent`: contains the canvas and its labels. */
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

  /** `own`: drawn position of this client's player, or null. */
  draw(question, own, now) {
    const share = 1 - Math.exp(-(now - this.#at) / FOLLOW_MS);
    this.#at = now;
    const { first, second, answer } = question;
    const from = first?.isMe ? own : this.#follow(first, share);
    const to = second?.isMe ? own : this.#follow(second, share);
    const { palette } = this.#view;
    const [r, g, b] = answer === null ? palette.neutral : answer.relevant ? palette.yes : palette.no;
    if (from && answer !== null) this.#drawCircles(answer, from);
    if (from && to && to !== from) this.#view.drawLine(from, to, 3, [r, g, b, 0.95], answer?.relevant ? 0 : 7);
    const moved = answer !== null && to ? answer.single.map(placeIn).find(Boolean) ?? null : null;
    if (moved) this.#view.drawLine(to, moved, 2, [...palette.change, 0.85], 4);
    this.#view.drawMarks("why", 3, (write) => {
      if (from) write(from.x, from.y, this.#view.markSize(2.6, 50), SHAPE.ring, ...palette.circle, 1);
      if (to) write(to.x, to.y, this.#view.markSize(2.2, 50), SHAPE.ring, r, g, b, 1);
      if (moved) write(moved.x, moved.y, this.#view.markSize(1.6, 62), SHAPE.ring, ...palette.change, 0.95);
    });
    // Labels are placed on the side away from the line. The own player already has one.
    const left = from && to && to.x < from.x, up = from && to && to.y < from.y;
    this.#label(0, first?.isMe ? null : from, first?.name, { left: !left, up: !up });
    this.#label(1, second?.isMe ? null : to, second?.name, { left, up });
    const meters = from && to ? Math.hypot(from.x - to.x, from.y - to.y) : 0;
    const isRoom = meters / this.#view.pixel > ROOM_PIXELS;
    this.#label(2, isRoom ? { x: (from.x + to.x) / 2, y: (from.y + to.y) / 2 } : null, `${meters.toFixed(1)} m`);
    this.#label(3, moved, answer?.relevant ? "would be hidden here" : "would be shown here", { up: !up });
  }

  hide() { for (const label of this.#labels) label.hidden = true; }

  #drawCircles(answer, from) {
    for (const step of answer.nodes.flatMap((node) => node.steps)) {
      const measured = distanceIn(step.what);
      if (measured === null) continue;
      const [r, g, b] = step.answer ? this.#view.palette.yes : this.#view.palette.no;
      this.#view.drawCircle(from.x, from.y, measured.enter, [r, g, b, 0.95], 2);
      if (measured.leave > measured.enter) this.#view.drawCircle(from.x, from.y, measured.leave, [r, g, b, 0.5], 2);
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

  /** Places the label to the right of the position and below it, unless specified otherwise. */
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
