// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// A tour of a few steps. Each step ends when the visitor has done it, or skips it. The tour is shown at the first
// visit, and later on request. Uses no page elements.
import { setting, store } from "./settings.mjs";

const CHECK_EVERY_MS = 150;
const PRAISE_MS = 3500;

/**
 * @typedef {object} Step
 * @property {string} title
 * @property {() => boolean} isPossible False: the step is left out.
 * @property {() => void} begin
 * @property {() => string} words What to do, at this moment.
 * @property {() => boolean} isDone
 * @property {() => string} praise What the visitor has seen.
 * @property {() => {x: number, y: number, name: string} | null} place What the step points to on the map.
 * @property {() => Element | null} element What it points to beside the map.
 */

export class Tour {
  /** "off", "step", "done" (the praise of a step is shown), "end" (the last words are shown). */
  state = "off";
  /** @type {Step[]} */
  steps = [];
  index = 0;
  /** Whether each step was done, not skipped. */
  done = [];
  /** What the visitor has seen in the step that was just done. */
  praise = "";
  #all;
  #isReady;
  #listener;
  #timer;

  /**
   * `isReady()`: whether there is a world to show. Calls `listener()` several times per second while the tour is shown,
   * and when it ends.
   * @param {Step[]} steps
   */
  constructor(steps, isReady, listener) {
    this.#all = steps;
    this.#isReady = isReady;
    this.#listener = listener;
    setInterval(() => this.#check(), CHECK_EVERY_MS);
  }

  get isShown() { return this.state !== "off"; }
  /** @returns {Step | null} */
  get step() { return this.state === "step" || this.state === "done" ? this.steps[this.index] : null; }

  /** Starts it if this browser has not shown it yet. */
  offer() { if (setting("tour") === null && this.state === "off") this.start(); }

  start() {
    this.steps = this.#all.filter((step) => step.isPossible());
    this.done = this.steps.map(() => false);
    this.#go(0);
  }

  /** To the next step; at the end: closes the tour. */
  next() {
    if (this.state === "end") this.end();
    else this.#go(this.index + 1);
  }

  end() {
    clearTimeout(this.#timer);
    this.state = "off";
    store("tour", "seen");
    this.#listener();
  }

  #go(index) {
    clearTimeout(this.#timer);
    this.index = index;
    this.state = index < this.steps.length ? "step" : "end";
    if (this.state === "step") this.steps[index].begin();
    else store("tour", "seen");
    this.#listener();
  }

  #check() {
    if (this.state === "off") return;
    if (this.state === "step" && this.#isReady() && this.steps[this.index].isDone()) {
      this.state = "done";
      this.done[this.index] = true;
      this.praise = this.steps[this.index].praise();
      this.#timer = setTimeout(() => this.next(), PRAISE_MS);
    }
    this.#listener();
  }
}
