// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// A tour of a few steps. Each step ends when the visitor has done or skipped it. The tour starts at the first
// visit, and later when the visitor clicks its button. Uses no page elements.
import { setting, store } from "./settings.mjs";

const CHECK_EVERY_MS = 150;
const OUTCOME_MS = 3500;

/**
 * @typedef {object} Step
 * @property {string} title
 * @property {() => boolean} isPossible Whether the step can be done here; otherwise the tour omits it.
 * @property {() => void} begin
 * @property {() => string} words The current instruction.
 * @property {() => boolean} isDone
 * @property {() => string} outcome What the step has shown.
 * @property {() => {x: number, y: number, name: string} | null} place The map position that the step points to, with a label.
 * @property {() => Element | null} element The element outside the map that the step points to.
 */

export class Tour {
  /** "off", "step", "done" (the outcome of a step is shown), "end" (the closing text is shown). */
  state = "off";
  /** @type {Step[]} */
  steps = [];
  index = 0;
  /** Whether each step was done, not skipped. */
  done = [];
  /** What the step that was just done has shown. */
  outcome = "";
  #all;
  #isReady;
  #listener;
  #timer;

  /**
   * `isReady()`: whether the client has joined. Calls `listener()` several times per second while the tour is shown,
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

  /** Starts the tour if this browser has not shown it yet. */
  offer() { if (setting("tour") === null && this.state === "off") this.start(); }

  start() {
    this.steps = this.#all.filter((step) => step.isPossible());
    this.done = this.steps.map(() => false);
    this.#go(0);
  }

  /** Goes to the next step. At the end: closes the tour. */
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
      this.outcome = this.steps[this.index].outcome();
      this.#timer = setTimeout(() => this.next(), OUTCOME_MS);
    }
    this.#listener();
  }
}
