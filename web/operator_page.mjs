// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// The operator panels of the page, over a separate connection: the truth (the server's complete world), the rules, and
// explanations of relevance.
import { byId } from "./dom.mjs";
import { OperatorChannel } from "./operator.mjs";
import { entitiesAt, pick } from "./pick.mjs";
import { RuleDraft } from "./rule_draft.mjs";
import { RulesPanel } from "./rules_panel.mjs";
import { circlesOf } from "./step_text.mjs";
import { WhyMap } from "./why_map.mjs";
import { WhyPanel } from "./why_panel.mjs";
import { WhyQuestion, endOf } from "./why_question.mjs";

const TRUTH_RECT_EVERY_MS = 500;
const STATS_EVERY_MS = 1000;
const OPEN_AGAIN_MS = 2000;
const OPEN_AGAIN_MS_MAX = 30_000;
const PICK_PIXELS = 16;
const OWN_WITHIN_M = 10;  // search radius around the drawn own player, which lags slightly behind the server

export class OperatorPage {
  #client;
  #scene;
  #view;
  #tabs;
  #observer = null;  // observer of this client
  #revision = null;
  #showMissing;
  #openAgainMs = OPEN_AGAIN_MS;
  #opening;
  #rulesPanel;
  #panel;
  #map;

  /** `showMissing(why)`: shows why the truth is unavailable; "": it is available. */
  constructor(url, { client, scene, view, tabs, figures, showMissing }) {
    this.#client = client;
    this.#scene = scene;
    this.#view = view;
    this.#tabs = tabs;
    this.#showMissing = showMissing;
    this.channel = new OperatorChannel(url);
    this.channel.on("truth", (frame) => { if (byId("truth").checked) scene.truth = frame; });
    this.channel.on("closed", () => {
      this.#observer = this.#revision = null;
      scene.truth = null;
      this.#showStats(null);
      this.#openAgain();
    });
    this.channel.on("rules", ({ revision }) => {
      if (this.#revision !== null && revision !== this.#revision) figures.mark(revision);
      this.#revision = revision;
    });
    byId("truth").addEventListener("change", () => this.#requestTruth());
    setInterval(() => { if (byId("truth").checked) this.#requestTruth(); }, TRUTH_RECT_EVERY_MS);

    this.rules = new RuleDraft(this.channel);
    this.#rulesPanel = new RulesPanel(this.rules);
    setInterval(() => this.#requestStats(), STATS_EVERY_MS);

    this.why = new WhyQuestion(this.channel, () => tabs.current === "why");
    this.#panel = new WhyPanel(this.why, {
      channel: this.channel, me: (slot) => this.#me(slot), endOf: (entity) => this.#endOf(entity), ghosts: () => scene.drawn.ghosts, truth: () => byId("truth").checked,
      middle: () => ({ ...view.center }), reach: () => view.halfHeight,
    });
    this.#map = new WhyMap(view, byId("names"));
  }

  /** Call when the client has joined, possibly again and on another server. */
  async joined() {
    try {
      if (!this.channel.isOpen) await this.channel.open();
      this.#openAgainMs = OPEN_AGAIN_MS;
      this.#showMissing("");
      this.#requestTruth();
      void this.#requestStats();
      this.#observer = this.rules.watched = (await this.channel.ask({ op: "find", nonce: this.#client.nonce })).observer ?? null;
      if (this.why.first === null || this.why.first.isMe) this.why.choose("first", await this.#me("first"));
    } catch (problem) {
      this.#showMissing(`${problem.message[0].toUpperCase()}${problem.message.slice(1)}.`);
      if (!this.channel.isOpen) this.#openAgain();
    }
  }

  /** Reopens the channel with increasing delay, because the client may stay joined all the time. */
  #openAgain() {
    clearTimeout(this.#opening);
    this.#opening = setTimeout(() => { if (this.#client.state === "joined" && !this.channel.isOpen) void this.joined(); }, this.#openAgainMs);
    this.#openAgainMs = Math.min(this.#openAgainMs * 2, OPEN_AGAIN_MS_MAX);
  }

  /** Handles a click on the map while the explanation panel is open. */
  async pick(place) {
    try {
      const radius = Math.max(PICK_PIXELS * this.#view.pixel, this.#view.markSize(1.2, 130));
      const found = await pick(this.channel, place, radius, this.#scene.drawn.ghosts, byId("truth").checked);
      if (found === null) this.#panel.missed();
      else this.#panel.take(this.#endOf(found));
    } catch (problem) {
      this.#panel.missed(problem.message);
    }
  }

  /** The circles of add steps in the current rules, if known: [{enter, leave}]. */
  radii() { return circlesOf(this.rules.running?.nodes ?? []); }

  draw(now) {
    if (this.#tabs.current === "why") this.#map.draw(this.why, this.#scene.drawn.own, now);
    else this.#map.hide();
  }

  /** Returns this client as an end of the query: its observer (`first`) or its entity (`second`). */
  async #me(slot) {
    const own = this.#scene.drawn.own;
    if (slot === "first") return { name: "me", isMe: true, observer: this.#observer, entity: null };
    const found = own && (await entitiesAt(this.channel, own, OWN_WITHIN_M)).find((entity) => entity.observer === this.#observer);
    if (!found) throw new Error("this client has no entity of its own");
    return this.#endOf(found);
  }

  #endOf(entity) {
    const end = endOf(entity);
    return entity.observer !== null && entity.observer === this.#observer ? { ...end, name: "me", isMe: true } : end;
  }

  async #requestStats() {
    if (!this.channel.isOpen) return;
    const stats = await this.channel.ask({ op: "stats" }).catch(() => null);
    if (stats?.op === "stats") this.#showStats(stats);
  }

  /** `stats` null: not available. */
  #showStats(stats) {
    byId("entities").textContent = stats?.entities ?? "–";
    this.#rulesPanel.showWorld(stats);
  }

  #requestTruth() {
    const on = byId("truth").checked;
    if (!on) this.#scene.truth = null;
    const [w, h] = [this.#view.halfWidth * 1.2, this.#view.halfHeight * 1.2];
    const { x, y } = this.#view.center;
    this.channel.tell({ op: "truth", on, rect: [x - w, y - h, x + w, y + h] });
  }
}
