// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// The rules as one operator edits them, beside those that run. Knows the operator channel and no
// page. Sliders and switches go to the server as they move, a few times a second; texts wait for
// apply(). Whoever sets rules, the newest revision is what runs, and what is shown. Types:
// rule_draft.d.mts.

const APPLY_EVERY_MS = 250;   // often enough to follow a slider, seldom enough for a thousand observers
const TRY_AFTER_MS = 350;     // a pause in typing

const words = (text) => text.trim().replace(/\s+/g, " ");

/** What the server is told of nodes: steps that are switched off stay here. */
function wireOf(nodes) {
  return nodes.map(({ steps, enabled, ...rest }) => {
    const texts = steps.filter((step) => words(step.text) !== "");
    const on = texts.filter((step) => step.on);
    // A node without steps says yes to everything: one whose steps are all off must say nothing.
    const silent = on.length === 0 && texts.length > 0;
    return { ...rest, enabled: enabled && !silent, steps: (silent ? texts : on).map((step) => step.text) };
  });
}

/** The step of `nodes` that became step `index` on the wire. */
function stepOnWire(nodes, node, index) {
  const texts = nodes[node]?.steps.filter((step) => words(step.text) !== "") ?? [];
  const on = texts.filter((step) => step.on);
  return (on.length > 0 ? on : texts)[index] ?? null;
}

const isSame = (a, b) => a.length === b.length && a.every((node, i) =>
  node.name === b[i].name && (node.enabled !== false) === (b[i].enabled !== false) &&
  node.steps.length === b[i].steps.length && node.steps.every((text, s) => words(text) === words(b[i].steps[s])));

export class RuleDraft {
  /** As the server told last; null while there is no channel. */
  running = null;
  /** What is being edited: nodes as in the protocol, but steps are {text, on}. */
  nodes = [];
  /** Sliders and switches apply at once. */
  live = true;
  /** The observer of whom a dry run should speak in particular. */
  watched = null;
  /** {step or null, node or null, text, column} of the last refusal; isAnswer: the server's own. */
  error = null;
  /** The last dry run of just this draft. */
  trial = null;
  /** "shown": somebody else set the rules that are shown; "waiting": and our edits are not among them, and wait for apply(). */
  elsewhere = "";
  #channel;
  #listeners = new Set();
  #before = null;      // nodes that ran before ours; null: what runs is not ours, or it is these nodes
  #typed = false;      // there are texts that only apply() sends
  #sending = false;
  #heard = null;       // rules that the server told while ours were on their way
  #again = false;      // apply() was called while something was on its way
  #sentAt = -Infinity;
  #sendTimer = null;
  #tryTimer = null;
  #edits = 0;          // answers about a draft before the newest are not about it

  constructor(channel) {
    this.#channel = channel;
    channel.on("rules", (rules) => this.#take(rules));
    channel.on("closed", () => this.#forget());
    channel.on("open", () => this.#askWhatRuns());
  }

  /** Calls `listener()` after every change of anything here. Returns a function that ends it. */
  onChange(listener) {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** The draft is not what runs. */
  get isPending() { return this.running !== null && !isSame(wireOf(this.nodes), this.running.nodes); }
  get canRevert() { return this.isPending || this.#before !== null; }
  /** The server takes no rules from operators; dry runs it does. */
  get isReadOnly() { return this.running?.editable === false; }
  get isSending() { return this.#sending; }

  // -- edits --------------------------------------------------------------------------------------

  /** A text that is being typed: tried, and sent by apply(). */
  setText(step, text) { this.#edit(() => { step.text = text; this.#typed = true; }); }
  /** A text that a slider made. */
  slide(step, text) { this.#edit(() => { step.text = text; }); }
  switchStep(step, on) { this.#edit(() => { step.on = on; }); }
  switchNode(node, enabled) { this.#edit(() => { node.enabled = enabled; }); }
  /** By -1 or 1; false at an end. */
  moveStep(node, step, by) {
    const from = node.steps.indexOf(step);
    const to = from + by;
    if (from < 0 || to < 0 || to >= node.steps.length) return false;
    this.#edit(() => { node.steps.splice(to, 0, ...node.steps.splice(from, 1)); });
    return true;
  }
  addStep(node) {
    const step = { text: "", on: true };
    this.#edit(() => { node.steps.push(step); this.#typed = true; });
    return step;
  }
  removeStep(node, step) { this.#edit(() => { node.steps.splice(node.steps.indexOf(step), 1); }); }
  /** The text that runs in its place, if there is one. */
  restoreText(step) {
    this.nodes.forEach((node, n) => {
      for (let s = 0; s < (this.running?.nodes[n]?.steps.length ?? 0); ++s) {
        if (stepOnWire(this.nodes, n, s) === step) this.setText(step, this.running.nodes[n].steps[s]);
      }
    });
  }

  #edit(change) {
    if (this.running === null) return;
    change();
    ++this.#edits;
    this.elsewhere = this.elsewhere === "waiting" ? "waiting" : "";
    this.trial = null;
    this.error = null;
    if (!this.isPending) this.#typed = false;
    this.#follow();
    this.#changed();
  }

  // -- to the server ------------------------------------------------------------------------------

  apply() {
    clearTimeout(this.#tryTimer);
    return this.#send();
  }

  /** Where ours run, back to the rules from before them, in force at once. Rules of others stay, and edits are only forgotten. */
  async revert() {
    if (this.running === null) return;
    this.nodes = [];
    this.#show(this.#before ?? this.running.nodes);
    if (this.#before !== null || this.#sending) await this.#send();
  }

  /** Takes what runs, and forgets what was typed. */
  takeRunning() { if (this.running !== null) this.#show(this.running.nodes); }

  #show(nodes, elsewhere = "") {
    this.#typed = false;
    this.elsewhere = elsewhere;
    this.error = null;
    this.trial = null;
    this.#adopt(nodes);
    this.#changed();
  }

  /** A dry run: who would gain and lose what. */
  async tryOut() {
    clearTimeout(this.#tryTimer);
    if (this.running === null) return;
    const edits = this.#edits;
    const answer = await this.#ask({ op: "try_rules", nodes: wireOf(this.nodes), observer: this.watched });
    if (edits !== this.#edits) return;  // another one is on its way
    this.error = answer.op === "error" ? this.#located(answer) : null;
    this.trial = answer.op === "error" ? null : answer;
    this.#changed();
  }

  /** The draft goes to the server by itself, or waits for apply() and is tried. */
  #follow() {
    clearTimeout(this.#sendTimer);
    clearTimeout(this.#tryTimer);
    if (!this.live || this.#typed || this.isReadOnly || this.elsewhere === "waiting") {
      this.#again = false;
      this.#tryTimer = setTimeout(() => { if (this.isPending) void this.tryOut(); }, TRY_AFTER_MS);
    } else if (this.isPending && !this.#sending) {
      this.#sendTimer = setTimeout(() => this.#send(), Math.max(0, this.#sentAt + APPLY_EVERY_MS - performance.now()));
    }
  }

  async #send() {
    clearTimeout(this.#sendTimer);
    if (this.running === null) return;
    this.#again = this.#sending;
    if (this.#sending) return;
    this.#sending = true;
    this.#sentAt = performance.now();
    const nodes = wireOf(this.nodes);
    const before = this.#before ?? this.running.nodes;
    const edits = this.#edits;
    this.#changed();
    const answer = await this.#ask({ op: "set_rules", nodes, revision: this.running.revision });
    this.#sending = false;
    if (this.running === null) return this.#changed();
    const isEdited = edits !== this.#edits;
    if (answer.op === "error") {
      // Rules of others that were ahead of ours are no mistake: the server tells them, and ours wait.
      if (!isEdited && answer.revision === undefined) this.error = this.#located(answer);
    } else {
      this.#before = isSame(before, answer.nodes) ? null : before;
      this.running = answer;
      this.elsewhere = "";
      this.trial = null;
      if (!isEdited) {
        this.#typed = false;
        this.error = null;
        this.#adopt(answer.nodes);
      }
    }
    const heard = this.#heard;
    this.#heard = null;
    if (heard !== null) this.#take(heard);
    // The server drops what a slow reader does not take: other rules may run than were told.
    const isUntold = answer.isAnswer === false || (answer.revision ?? this.running.revision) !== this.running.revision;
    if (answer.op === "error" && isUntold) this.#askWhatRuns();
    if (this.#again && this.elsewhere !== "waiting") void this.#send();
    else if (isEdited) this.#follow();
    this.#changed();
  }

  /** The answer comes as "rules". */
  #askWhatRuns() { void this.#channel.ask({ op: "rules" }).catch(() => {}); }

  async #ask(request) {
    try {
      return await this.#channel.ask(request);
    } catch (problem) {
      const tail = request.op === "set_rules" ? ": these rules may run or not" : "";
      return { op: "error", text: `${problem.message}${tail}`, isAnswer: false };
    }
  }

  #located({ text, node, step, column, isAnswer = true }) {
    return { text, isAnswer, column: column ?? 0, node: this.nodes[node] ?? null, step: step === undefined || step < 0 ? null : stepOnWire(this.nodes, node, step) };
  }

  // -- from the server ----------------------------------------------------------------------------

  #take(rules) {
    if (this.#sending) { this.#heard = rules; return; }
    const known = this.running;
    const wasPending = this.isPending;
    this.running = rules;
    if (known === null) {
      this.nodes = [];
      this.#show(rules.nodes);
    } else if (rules.revision !== known.revision) {
      this.#before = null;
      if (wasPending && this.isPending) {
        this.elsewhere = "waiting";
        this.trial = null;
        ++this.#edits;
        this.#follow();
      } else {
        return this.#show(rules.nodes, "shown");
      }
    }
    this.#changed();
  }

  /** The draft becomes these nodes; steps that are switched off here stay beside them. */
  #adopt(nodes) {
    ++this.#edits;
    clearTimeout(this.#sendTimer);
    const mine = wireOf(this.nodes);
    const isAlike = nodes.length === mine.length &&
      nodes.every((node, i) => node.name === mine[i].name && node.steps.length === mine[i].steps.length);
    if (isAlike) {
      nodes.forEach(({ steps, enabled = true, ...rest }, n) => {
        const node = this.nodes[n];
        steps.forEach((text, s) => { stepOnWire(this.nodes, n, s).text = text; });
        node.steps = node.steps.filter((step) => words(step.text) !== "");
        if (mine[n].enabled !== enabled) {
          node.enabled = enabled;
          for (const step of enabled && node.steps.every((step) => !step.on) ? node.steps : []) step.on = true;
        }
        Object.assign(node, rest);
      });
      return;
    }
    this.nodes = nodes.map(({ steps, enabled = true, ...rest }) => {
      const fresh = { ...rest, enabled, steps: steps.map((text) => ({ text, on: true })) };
      const old = this.nodes.find((node) => node.name === fresh.name)?.steps ?? [];
      if (old.some((step) => step.on)) {
        old.forEach((step, s) => {
          const isBack = steps.some((text) => words(text) === words(step.text));
          if (!step.on && !isBack && words(step.text) !== "") fresh.steps.splice(Math.min(s, fresh.steps.length), 0, step);
        });
      }
      return fresh;
    });
  }

  #forget() {
    clearTimeout(this.#sendTimer);
    clearTimeout(this.#tryTimer);
    ++this.#edits;
    this.running = null;
    this.#before = null;
    this.#typed = false;
    this.#again = false;
    this.#heard = null;
    this.elsewhere = "";
    this.trial = null;
    this.error = null;
    this.#changed();
  }

  #changed() {
    for (const listener of [...this.#listeners]) {  // who is added now hears the next one
      if (this.#listeners.has(listener)) listener();
    }
  }
}
