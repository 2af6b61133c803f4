// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// Mouse and fingers on the map: press, aim, and zoom with the wheel, two fingers or buttons.

const BUTTON_ZOOM = 1.4;

export class MapPointer {
  #view;
  #actions;
  #fingers = new Map();  // touching points by pointer id
  #tap = null;           // id of a finger that may become a press
  #pressed = null;       // the pointer that presses

  /**
   * `actions`: {press(place), release(), aim(place), actsAtOnce()}, with positions in the world. A mouse presses when
   * its button goes down. A finger presses when it is lifted, or at once if `actsAtOnce()`; a zoom is no press.
   */
  constructor(view, actions, zoomIn, zoomOut) {
    this.#view = view;
    this.#actions = actions;
    const { canvas } = view;
    canvas.addEventListener("pointerdown", (event) => this.#down(event));
    canvas.addEventListener("pointermove", (event) => this.#move(event));
    addEventListener("pointerup", (event) => this.#up(event, true));
    addEventListener("pointercancel", (event) => this.#up(event, false));
    canvas.addEventListener("wheel", (event) => {
      event.preventDefault();
      view.halfHeight *= Math.exp(event.deltaY * 0.001);
    }, { passive: false });
    zoomIn.addEventListener("click", () => { view.halfHeight /= BUTTON_ZOOM; });
    zoomOut.addEventListener("click", () => { view.halfHeight *= BUTTON_ZOOM; });
  }

  #placeOf({ clientX, clientY }) {
    const bounds = this.#view.canvas.getBoundingClientRect();
    return this.#view.placeAt(clientX - bounds.left, clientY - bounds.top);
  }

  #down(event) {
    const isFinger = event.pointerType === "touch";
    if (isFinger) this.#fingers.set(event.pointerId, event);
    this.#actions.aim(this.#placeOf(event));
    this.#tap = isFinger && this.#fingers.size === 1 && !this.#actions.actsAtOnce() ? event.pointerId : null;
    if (this.#fingers.size > 1) this.#release();
    else if (this.#tap === null) this.#press(event);
  }

  #move(event) {
    this.#actions.aim(this.#placeOf(event));
    if (!this.#fingers.has(event.pointerId)) return;
    const before = this.#spread();
    this.#fingers.set(event.pointerId, event);
    if (this.#fingers.size === 2) this.#view.halfHeight *= before / this.#spread();
  }

  #up(event, isWanted) {
    this.#fingers.delete(event.pointerId);
    if (this.#tap === event.pointerId) {
      this.#tap = null;
      if (isWanted) this.#press(event);
    }
    if (this.#pressed === event.pointerId) this.#release();
  }

  #press(event) {
    this.#pressed = event.pointerId;
    this.#actions.press(this.#placeOf(event));
  }

  #release() {
    this.#pressed = null;
    this.#actions.release();
  }

  /** Returns the distance between two fingers in pixels. */
  #spread() {
    const [a, b] = [...this.#fingers.values()];
    return b === undefined ? 1 : Math.max(1, Math.hypot(a.clientX - b.clientX, a.clientY - b.clientY));
  }
}
