// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// Shows a Tour: a strip below the map, a ring on the map, and a frame around an element beside it. The strip has its
// own space and covers nothing.
import { byId, make, put, renew } from "./dom.mjs";
import { SHAPE } from "./view.mjs";

const ARROWS = ["→", "↘", "↓", "↙", "←", "↖", "↑", "↗"];
const INSET = 60;      // pixels between the edge and the label of a position outside the view
const PULSE_MS = 700;

export class TourStrip {
  #tour;
  #view;
  #label = make("span", { className: "name point", hidden: true });
  #pointed = null;

  constructor(tour, view) {
    this.#tour = tour;
    this.#view = view;
    byId("names").append(this.#label);
    byId("tour-start").addEventListener("click", () => tour.start());
    byId("tour-next").addEventListener("click", () => tour.next());
    byId("tour-end").addEventListener("click", () => tour.end());
  }

  show() {
    const { state, steps, index, done, outcome } = this.#tour;
    const step = this.#tour.step;
    const isLast = state === "end";
    put(byId("tour"), "hidden", state === "off");
    byId("tour").parentElement.classList.toggle("touring", state !== "off");
    renew(byId("tour-steps"), steps.map(({ title }, i) => {
      const item = make("li", { className: done[i] ? "done" : "", title }, done[i] ? "✓" : String(i + 1));
      if (i === index) item.setAttribute("aria-current", "step");
      return item;
    }));
    put(byId("tour-title"), "textContent", step === null ? "That was the tour." : `${step.title}.`);
    put(byId("tour-words"), "textContent", step === null ? "The ? on the map shows it again." : state === "done" ? outcome : step.words());
    put(byId("tour-next"), "textContent", isLast ? "Close" : state === "done" ? "Next" : "Skip");
    put(byId("tour-next"), "className", state === "step" ? "" : "main");
    put(byId("tour-end"), "hidden", isLast);
    this.#point(state === "step" ? step.element() : null);
  }

  /** Draws the ring and the label at the map position that the step points to. */
  draw(now) {
    const place = this.#tour.state === "step" ? this.#tour.step.place() : null;
    put(this.#label, "hidden", place === null);
    if (place === null) return;
    const { clientWidth, clientHeight } = this.#view.canvas;
    const point = this.#view.pointOf(place);
    const clamped = { x: Math.min(clientWidth - INSET, Math.max(INSET, point.x)), y: Math.min(clientHeight - INSET, Math.max(INSET, point.y)) };
    const isBeyond = point.x < 0 || point.y < 0 || point.x > clientWidth || point.y > clientHeight;
    const turn = Math.round(Math.atan2(point.y - clamped.y, point.x - clamped.x) / (Math.PI / 4));
    put(this.#label, "textContent", isBeyond ? `${ARROWS[(turn + 8) % 8]} ${place.name}` : place.name);
    const at = isBeyond ? clamped : { x: point.x, y: Math.max(INSET + 20, point.y - 26) };
    this.#label.style.transform = `translate(${Math.round(at.x)}px, ${Math.round(at.y)}px) translate(-50%, ${isBeyond ? "-50%" : "-100%"})`;
    if (isBeyond) return;
    const size = this.#view.pixel * (20 + 3 * Math.sin(now / PULSE_MS * 2 * Math.PI));
    this.#view.drawMarks("tour", 1, (write) => write(place.x, place.y, size, SHAPE.ring, ...this.#view.palette.change, 1));
  }

  #point(element) {
    if (element === this.#pointed) return;
    this.#pointed?.classList.remove("pointed");
    this.#pointed = element;
    element?.classList.add("pointed");
    element?.scrollIntoView({ block: "center" });
  }
}
