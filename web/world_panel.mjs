// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// The first panel: statistics of this client, its bytes over time, the kinds, and a log of enters and leaves.
/* global Dygraph */
import { byId, make } from "./dom.mjs";
import { spriteIcon } from "./sprites.mjs";

const LOG_LINES = 40;
const NUMBERS_EVERY_MS = 200;
const RATES_EVERY_MS = 1000;
const RATES_KEPT = 90;
const ICON_PIXELS = 20;

export class WorldPanel {
  #client;
  #styles;
  #pending = [];
  #history = [];
  #last;
  #chart;
  #schema = null;  // of the legend

  constructor(client, styles) {
    this.#client = client;
    this.#styles = styles;
    for (const name of ["enter", "leave"]) {
      client.on(name, (event) => this.#pending.push({ name, ...event, tick: client.newestTick }));
    }
    client.on("state", (state) => { if (state === "joined") byId("log").replaceChildren(); });
    this.#last = { at: performance.now(), bytesReceived: 0, bytesSent: 0 };
    this.#chart = new Dygraph(byId("chart"), [[new Date(), 0, 0]], {
      labels: ["time", "in", "out"], colors: ["#2ea3c4", "#e0764f"], fillGraph: true, strokeWidth: 1.5, height: 110,
      legend: "always", labelsDiv: byId("chart-legend"), axisLineColor: "#7f8f9970", gridLineColor: "#7f8f9940", includeZero: true, axisLabelWidth: 38,
      axes: { y: { axisLabelFormatter: (v) => `${Math.round(v / 100) / 10}k` }, x: { drawGrid: false, axisLabelWidth: 64 } },
    });
    setInterval(() => this.#countRates(), RATES_EVERY_MS);
    setInterval(() => this.#count(), NUMBERS_EVERY_MS);
  }

  /** Call when the panel becomes visible: a chart that is drawn while hidden has no size. */
  shown() { this.#chart.resize(); }

  #countRates() {
    const { stats } = this.#client;
    const now = performance.now();
    const seconds = (now - this.#last.at) / 1000;
    const rate = (name) => Math.max(0, (stats[name] - this.#last[name]) / seconds);
    const [input, output] = [rate("bytesReceived"), rate("bytesSent")];
    this.#last = { at: now, bytesReceived: stats.bytesReceived, bytesSent: stats.bytesSent };
    byId("rate-in").textContent = (input / 1000).toFixed(1);
    byId("rate-out").textContent = (output / 1000).toFixed(1);
    byId("rtt").textContent = stats.rttMs > 0 ? stats.rttMs.toFixed(0) : "–";
    this.#history.push([new Date(), input, output]);
    if (this.#history.length > RATES_KEPT) this.#history.shift();
    this.#chart.updateOptions({ file: this.#history });
  }

  #count() {
    byId("relevant").textContent = this.#client.ghostCount;
    byId("tick").textContent = this.#client.newestTick;
    this.#flushLog();
    const { schema } = this.#client;
    if (schema !== this.#schema && schema.kinds.length > 0) {
      this.#schema = schema;
      byId("legend").replaceChildren(...schema.kinds.map((name, kind) =>
        make("span", {}, spriteIcon(this.#styles.of(kind).icon, ICON_PIXELS), name)));
    }
  }

  #flushLog() {
    const list = byId("log");
    for (const event of this.#pending.slice(-LOG_LINES)) {
      list.prepend(make("li", { className: event.name }, make("span", {}, `${this.#styles.of(event.kind).name} ${event.ghost}`),
                        event.reason !== "entered" ? make("em", {}, event.reason) : null, make("time", {}, event.tick)));
    }
    this.#pending = [];
    while (list.children.length > LOG_LINES) list.lastChild.remove();
  }
}
