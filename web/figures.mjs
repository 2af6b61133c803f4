// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// Small charts of one client over the last minute: relevant entities, bytes, enters and leaves per second, with a
// mark at each change of the rules.
/* global Dygraph */
import { grouped, make } from "./dom.mjs";

const SAMPLE_MS = 500;
const KEPT_MS = 60_000;
const ALONE_MS = 1000;
const RATE_SAMPLES = 2;  // rates are over the last second

/** Samples a client from construction on, whether shown or not. */
export class Figures {
  /** [{at, relevant, bytes, enters, leaves}], oldest first. bytes, enters and leaves are per second. */
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
  { title: "relevant", series: ["relevant"], colors: ["#2ea3c4"], words: (s) => grouped(s.relevant), hint: "Ghosts that this client has" },
  { title: "kB/s in", series: ["bytes"], colors: ["#9a6fd6"], words: (s) => (s.bytes / 1000).toFixed(1), hint: "Received in the last second" },
  { title: "enter, leave /s", series: ["enters", "leaves"], colors: ["#3fae58", "#e0764f"],
    words: (s) => `${grouped(s.enters)}, ${grouped(s.leaves)}`, hint: "Ghosts that entered and left in the last second" },
];

/** Adds three small charts to `parent`. `isShown()`: whether they are visible. Returns a function that draws them. */
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
            // The marks of a moving slider are faint and form a band behind the line.
            const isAlone = mark.at - (figures.marks[i - 1]?.at ?? 0) > ALONE_MS;
            canvas.fillStyle = isAlone ? "#c99a06c0" : "#c99a0638";
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
