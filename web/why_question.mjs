// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// The query "why is this entity relevant to this observer?", repeated while the panel is open, because both can
// move. Uses the operator channel and no page elements.
import { entitiesAt } from "./pick.mjs";

const ASK_EVERY_MS = 250;
const STRAY_M = 15;  // maximum movement since the last reply

/** An end of the query is {entity, index, kind, observer, place, name, isMe}; "me" as observer has no place. */
const isChosen = (end) => end !== null && end.problem === undefined;

export class WhyQuestion {
  /** Observer and entity of the query; null: not chosen yet. */
  first = null;
  second = null;
  /** The server's Explanation (operator.d.mts), or null. */
  answer = null;
  /** Why there is no explanation. */
  problem = "";
  #channel;
  #listeners = new Set();
  #number = 0;  // of the newest request
  #open = 0;    // pending requests

  constructor(channel, isShown) {
    this.#channel = channel;
    channel.on("closed", () => {
      // A restarted server assigns the same ids to other entities. "me" is determined again.
      if (!this.first?.isMe) this.first = null;
      this.second = this.answer = null;
      this.#changed();
    });
    setInterval(() => { if (isShown() && this.#open === 0) void this.ask(); }, ASK_EVERY_MS);
  }

  onChange(listener) { this.#listeners.add(listener); }

  choose(slot, end) {
    this[slot] = end;
    ++this.#number;  // a pending reply belongs to the previous query
    this.answer = null;
    this.problem = "";
    void this.ask();
    this.#changed();
  }

  async ask() {
    const { first, second } = this;
    if (!this.#channel.isOpen) return;
    if (first !== null && first.observer === null) {
      this.problem = first.isMe ? "The server has no observer for this client yet."
        : `No observer views from ${first.name}. Choose a player, or Me.`;
      return this.#changed();
    }
    if (!isChosen(first) || !isChosen(second)) return;
    const number = ++this.#number;
    ++this.#open;
    try {
      const [answer] = await Promise.all([
        this.#channel.ask({ op: "explain", observer: first.observer, entity: second.entity }),
        this.#follow(first), this.#follow(second)]);
      const isOther = answer.op === "explain" && (answer.observer !== first.observer || answer.entity_text !== second.entity);
      if (number !== this.#number || isOther) return;
      this.answer = answer.op === "explain" ? answer : null;
      this.problem = answer.op === "explain" ? "" : answer.text;
    } catch (problem) {
      if (number !== this.#number) return;
      this.answer = null;
      this.problem = problem.message;
    } finally {
      --this.#open;
    }
    this.#changed();
  }

  /** Updates the position of an end. */
  async #follow(end) {
    if (end.isMe || !end.place) return;
    const here = await entitiesAt(this.#channel, end.place, STRAY_M);
    const found = here.find((entity) => entity.entity === end.entity);
    if (found !== undefined) end.place = { x: found.x, y: found.y };
  }

  #changed() {
    for (const listener of this.#listeners) listener();
  }
}

/** Makes an end from an entity of an `at` reply. */
export function endOf(entity) {
  return { ...entity, name: `${entity.kind} ${entity.index}`, place: { x: entity.x, y: entity.y }, isMe: false };
}

/** The index of the step that decided the node's result; -1: no step did, because none added. */
export function decidingStep(node) {
  let decided = -1;
  node.steps.forEach((step, i) => {
    if (step.so_far !== (i > 0 && node.steps[i - 1].so_far)) decided = i;
  });
  return decided;
}

/** The index of the node that decided the overall result; -1: no node did, because none added. */
export function decidingNode(nodes) {
  let decided = -1;
  let soFar = false;
  nodes.forEach(({ combine = "add", result }, i) => {
    const then = combine === "add" ? soFar || result : combine === "require" ? soFar && result : soFar && !result;
    if (then !== soFar) decided = i;
    soFar = then;
  });
  return decided;
}

/**
 * Parses "distance 41.2 of 60.0, leave radius 66.0 (it was in)" into {distance, enter, leave, wasIn}; null for others.
 */
export function distanceIn(what) {
  const match = /distance (\d+(?:\.\d+)?) of (\d+(?:\.\d+)?)(?:, leave radius (\d+(?:\.\d+)?) \((it was in|it was not)\))?/.exec(what);
  if (match === null) return null;
  const enter = Number(match[2]);
  return { distance: Number(match[1]), enter, leave: match[3] ? Number(match[3]) : enter, wasIn: match[4] === "it was in" };
}

/** Parses "move it to 12.0, 30.5" into {x, y}; null for others. */
export function placeIn(change) {
  const match = /move it to (-?\d+(?:\.\d+)?), (-?\d+(?:\.\d+)?)/.exec(change);
  return match && { x: Number(match[1]), y: Number(match[2]) };
}
