// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// What one client gets, over the last minute: relevant entities, bytes and enters and leaves a second,
// with a mark at each change of the rules. Small charts.
/* global Dygraph */
import { grouped, make } from "./dom.mjs";

const SAMPLE_MS = 500;
const KEPT_MS = 60_000;
const ALONE_MS = 1000;
const RATE_SAMPLES = 2;  // rates are over the last second

/** Samples a client from its making on, shown or not. */
export class Figures {
  /** [{at, relevant, bytes, enters, leaves}], oldest first; the last three a second. */
  samples = [];
  /** [{at, revision}] */
  marks = [];
  #counts = [];
  #enters = 0;
  #leaves = 0;
  #listeners = new Set();

  constructor(client) {
    client.on("enter", () => { ++this.#enters; });
    client.on("leave", () => { ++this.#leaves; });
    setInterval(() => this.#sample(client), SAMPLE_MS);
  }

  onSample(listener) { this.#listeners.add(listener); }

  mark(revision) { this.marks.push({ at: Date.now(), revision }); }

  #sample(client) {
    const at = Date.now();
    const now = { at, bytes: client.stats.bytesReceived, enters: this.#enters, leaves: this.#leaves };
    this.#counts.push(now);
    if (this.#counts.length > RATE_SAMPLES + 1) this.#counts.shift();
    const old = this.#counts[0];
    const rate = (name) => (at > old.at ? Math.max(0, now[name] - old[name]) * 1000 / (at - old.at) : 0);
    this.samples.push({ at, relevant: client.ghostCount, bytes: rate("bytes"), enters: rate("enters"), leaves: rate("leaves") });
    const isKept = (entry) => entry.at >= at - KEPT_MS;
    this.samples = this.samples.filter(isKept);
    this.marks = this.marks.filter(isKept);
    for (const listener of this.#listeners) listener();
  }
}

const CHARTS = [
  { title: "relevant", series: ["relevant"], colors: ["#5ec8e5"], words: (s) => grouped(s.relevant), hint: "Ghosts that this client holds" },
  { title: "kB/s in", series: ["bytes"], colors: ["#c9a0f0"], words: (s) => (s.bytes / 1000).toFixed(1), hint: "Received in the last second" },
  { title: "enter, leave /s", series: ["enters", "leaves"], colors: ["#7ddc8b", "#f0987a"],
    words: (s) => `${grouped(s.enters)}, ${grouped(s.leaves)}`, hint: "Ghosts that came and that went in the last second" },
];

/** Three small charts in `parent`; `isShown()`: whether they are worth drawing. */
export function showFigures(parent, figures, isShown) {
  const charts = CHARTS.map((chart) => {
    const value = make("b");
    const area = make("div", { className: "spark" });
    parent.append(make("div", { title: `${chart.hint}; the last minute, with a line at each change of the rules` },
                       value, make("span", {}, chart.title), area));
    const data = () => figures.samples.map((s) => [s.at, ...chart.series.map((name) => s[name])]);
    let graph = null;
    return () => {
      const newest = figures.samples.at(-1);
      if (newest === undefined) return;
      value.textContent = chart.words(newest);
      const options = { file: data(), dateWindow: [newest.at - KEPT_MS, newest.at] };
      if (graph !== null) return graph.updateOptions(options);
      graph = new Dygraph(area, options.file, {
        ...options, labels: ["time", ...chart.series], colors: chart.colors, drawAxis: false, drawGrid: false, legend: "never",
        includeZero: true, fillGraph: chart.series.length === 1, strokeWidth: 1.5, interactionModel: {}, highlightCircleSize: 0,
        underlayCallback: (canvas, at, g) => {
          figures.marks.forEach((mark, i) => {
            // Those of a slider on its way are a faint band behind the line.
            const isAlone = mark.at - (figures.marks[i - 1]?.at ?? 0) > ALONE_MS;
            canvas.fillStyle = isAlone ? "#ffd43ba0" : "#ffd43b28";
            canvas.fillRect(Math.round(g.toDomXCoord(mark.at)), at.y, 1, at.h);
          });
        },
      });
    };
  });
  const draw = () => { if (isShown()) for (const chart of charts) chart(); };
  figures.onSample(draw);
  return draw;
}
