// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// The driving panel: sliders for a simulated bad connection, statistics of the prediction, and hits of shots with and
// without lag compensation.
import { byId, counted, make, put } from "./dom.mjs";

const EVERY_MS = 100;
const SHOTS_SHOWN = 8;
/** From the center of a turret to the muzzle. */
const BARREL_M = 4;
/** Time for which a shot is visible. */
export const TRACER_MS = 350;

const SLIDERS = [
  { id: "line-delay", set: (network, value) => { network.delayMs = value; }, words: (value) => `${value} ms` },
  { id: "line-jitter", set: (network, value) => { network.jitterMs = value; }, words: (value) => `${value} ms` },
  { id: "line-loss", set: (network, value) => { network.loss = value / 100; }, words: (value) => `${value} %` },
];

export class DrivePanel {
  /** Shots of all visible carts: {from, to, hits, at, own}, oldest first. */
  tracers = [];
  /** Counters of the player's own shots. */
  counts = { shots: 0, hits: 0, hitsPresent: 0 };
  #client;
  #pilot;

  constructor(client, pilot, network) {
    this.#client = client;
    this.#pilot = pilot;
    for (const { id, set, words } of SLIDERS) {
      const slider = byId(id);
      const follow = () => {
        set(network, Number(slider.value));
        byId(`${id}-words`).textContent = words(slider.value);
      };
      slider.addEventListener("input", follow);
      follow();
    }
    byId("predicts").addEventListener("change", (event) => { pilot.predicts = event.target.checked; });
    client.on("call", (call) => { if (call.name === "shot") this.#addShot(call); });
    client.on("state", (state) => { if (state === "joined") this.#reset(); });
    setInterval(() => this.#count(), EVERY_MS);
  }

  /** Draws the visible barrels and shots. */
  draw(view, drawn, now) {
    const { palette } = view;
    for (const turret of drawn.ghosts) {
      if (turret.kind === "turret") view.drawLine(turret, this.#muzzle(turret), 5, [...palette.barrel, 0.95], 0, "shots");
    }
    this.tracers = this.tracers.filter((shot) => now - shot.at < TRACER_MS);
    for (const shot of this.tracers) {
      const faint = 1 - (now - shot.at) / TRACER_MS;
      const color = shot.hits ? palette.hit : palette.miss;
      view.drawLine(shot.own && drawn.own !== null ? drawn.own : shot.from, shot.to, shot.own ? 3 : 2, [...color, faint * (shot.own ? 0.95 : 0.6)], 0, "shots");
    }
  }

  /** Returns the end of a barrel. It points at the target of the turret; the own barrel points at the pointer. */
  #muzzle(turret) {
    const { controls } = this.#pilot;
    const [x, y] = turret.owned ? [controls.targetX, controls.targetY] : this.#target(turret.id);
    const length = Math.hypot(x - turret.x, y - turret.y) || 1;
    return { x: turret.x + (x - turret.x) / length * BARREL_M, y: turret.y + (y - turret.y) / length * BARREL_M };
  }

  #target(ghost) {
    const { components } = this.#client.schema;
    const gun = components.findIndex(({ name }) => name === "gun");
    return ["x", "y"].map((name) => this.#client.value(ghost, gun, components[gun].fields.indexOf(name)));
  }

  #addShot({ ghost, values }) {
    const own = ghost === this.#pilot.state.cart;
    const [hits, hitsPresent] = [values.hits !== 0, values.hits_present !== 0];
    const now = performance.now();
    this.tracers = this.tracers.filter((shot) => now - shot.at < TRACER_MS);  // a hidden page is not drawn
    this.tracers.push({ from: { x: values.from_x, y: values.from_y }, to: { x: values.to_x, y: values.to_y }, hits, own, at: now });
    if (!own) return;
    ++this.counts.shots;
    this.counts.hits += hits ? 1 : 0;
    this.counts.hitsPresent += hitsPresent ? 1 : 0;
    const cell = (hit) => make("span", { className: hit ? "hit" : "miss" }, hit ? "hit" : "missed");
    byId("shots").prepend(make("li", {}, make("span", {}, `shot ${this.counts.shots}`), cell(hits), cell(hitsPresent)));
    while (byId("shots").children.length > SHOTS_SHOWN) byId("shots").lastChild.remove();
  }

  #reset() {
    this.counts = { shots: 0, hits: 0, hitsPresent: 0 };
    this.tracers = [];
    byId("shots").replaceChildren();
  }

  #count() {
    if (byId("panel-drive").hidden) return;
    const state = this.#pilot.state;
    const text = (id, words) => put(byId(id), "textContent", String(words));
    text("drive-state", !this.#pilot.isReady ? "This world has nothing to drive." : this.#pilot.isDriving
      ? `Driving, ${state.speedMps.toFixed(1)} m/s, ${counted(state.rounds, "round")} left.`
      : "On foot. Walk to a cart and press E to board it.");
    text("drive-visible", state.corrections - state.invisible);
    text("drive-corrections", state.corrections);
    text("drive-error", `${Math.round(state.largestErrorM * 100)}`);
    text("drive-waiting", state.waiting);
    text("drive-rate", `${((state.rate - 1) * 100).toFixed(1)}`);
    text("drive-rtt", this.#client.stats.rttMs > 0 ? this.#client.stats.rttMs.toFixed(0) : "–");
    const share = (part) => (this.counts.shots === 0 ? "–" : `${Math.round(part / this.counts.shots * 100)} %`);
    text("shots-fired", this.counts.shots);
    text("shots-rewound", share(this.counts.hits));
    text("shots-present", share(this.counts.hitsPresent));
  }
}
