// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// The rules as edited by one operator, and the current rules. Uses the operator channel and no page elements. Sliders
// and switches are sent while they move, a few times per second; texts wait for apply(). A change by
// another operator replaces the draft, or waits if the draft has local edits. Types: rule_draft.d.mts.

const APPLY_EVERY_MS = 250;   // fast enough for a slider, slow enough for a thousand observers
const TRY_AFTER_MS = 350;     // a pause in typing

const words = (text) => text.trim().replace(/\s+/g, " ");

/** Converts nodes for the server: disabled steps exist only locally. */
function wireOf(nodes) {
  return nodes.map(({ steps, enabled, ...rest }) => {
    const texts = steps.filter((step) => words(step.text) !== "");
    const on = texts.filter((step) => step.on);
    // A node without steps matches everything, so a node with all steps disabled must be disabled.
    const silent = on.length === 0 && texts.length > 0;
    return { ...rest, enabled: enabled && !silent, steps: (silent ? texts : on).map((step) => step.text) };
  });
}

/** The local step that corresponds to step `index` sent to the server. */
function stepOnWire(nodes, node, index) {
  const texts = nodes[node]?.steps.filter((step) => words(step.text) !== "") ?? [];
  const on = texts.filter((step) => step.on);
  return (on.length > 0 ? on : texts)[index] ?? null;
}

const isSame = (a, b) => a.length === b.length && a.every((node, i) =>
  node.name === b[i].name && (node.enabled !== false) === (b[i].enabled !== false) &&
  node.steps.length === b[i].steps.length && node.steps.every((text, s) => words(text) === words(b[i].steps[s])));

export class RuleDraft {
  /** The current rules, as last received from the server; null if there is no channel. */
  running = null;
  /** The edited nodes, as in the protocol, but with steps {text, on}. */
  nodes = [];
  /** Whether sliders and switches apply immediately. */
  live = true;
  /** The observer that a dry run reports in detail. */
  watched = null;
  /** {step or null, node or null, text, column} of the last refusal; isAnswer: it was sent by the server. */
  error = null;
  /** The last dry run of exactly this draft. */
  trial = null;
  /**
   * "shown": rules of another operator are displayed; "waiting": local edits differ from them and wait for apply().
   */
  elsewhere = "";
  #channel;
  #listeners = new Set();
  #before = null;      // nodes in force before the own change; null: no own change is in force
  #typed = false;      // contains texts that only apply() sends
  #sending = false;
  #received = null;    // rules received while a request was pending
  #again = false;      // apply() was called during a pending request
  #sentAt = -Infinity;
  #sendTimer = null;
  #tryTimer = null;
  #edits = 0;          // number of the draft; replies to an older draft are ignored

  constructor(channel) {
    this.#channel = channel;
    channel.on("rules", (rules) => this.#take(rules));
    channel.on("closed", () => this.#forget());
    channel.on("open", () => this.#requestRules());
  }

  /** Calls `listener()` after every change of this object. Returns a function that removes the listener. */
  onChange(listener) {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** Whether the draft differs from the current rules. */
  get isPending() { return this.running !== null && !isSame(wireOf(this.nodes), this.running.nodes); }
  get canRevert() { return this.isPending || this.#before !== null; }
  /** Whether the server accepts only dry runs from operators. */
  get isReadOnly() { return this.running?.editable === false; }
  get isSending() { return this.#sending; }

  // -- edits --------------------------------------------------------------------------------------

  /** Sets a text that is being typed. A dry run follows automatically; apply() sends the text. */
  setText(step, text) { this.#edit(() => { step.text = text; this.#typed = true; }); }
  /** Sets a text from a slider. */
  slide(step, text) { this.#edit(() => { step.text = text; }); }
  switchStep(step, on) { this.#edit(() => { step.on = on; }); }
  switchNode(node, enabled) { this.#edit(() => { node.enabled = enabled; }); }
  /** Moves a step by -1 or 1. Returns false at either end. */
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
  /** Restores the text that is in force for this step, if any. */
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

  /**
   * Discards edits. If rules of this operator are in force, also restores those from before, immediately. Rules that
   * another operator set later stay in force.
   */
  async revert() {
    if (this.running === null) return;
    this.nodes = [];
    this.#show(this.#before ?? this.running.nodes);
    if (this.#before !== null || this.#sending) await this.#send();
  }

  /** Displays the current rules and discards edits. */
  takeRunning() { if (this.running !== null) this.#show(this.running.nodes); }

  #show(nodes, elsewhere = "") {
    this.#typed = false;
    this.elsewhere = elsewhere;
    this.error = null;
    this.trial = null;
    this.#adopt(nodes);
    this.#changed();
  }

  /** Requests a dry run of the draft. Sets `trial` or `error`. */
  async tryOut() {
    clearTimeout(this.#tryTimer);
    if (this.running === null) return;
    const edits = this.#edits;
    const answer = await this.#ask({ op: "try_rules", nodes: wireOf(this.nodes), observer: this.watched });
    if (edits !== this.#edits) return;  // the draft has changed since
    this.error = answer.op === "error" ? this.#located(answer) : null;
    this.trial = answer.op === "error" ? null : answer;
    this.#changed();
  }

  /** Schedules the sending of the draft, or a dry run if the draft waits for apply(). */
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
      // Newer rules of others are not an error: the server sends them, and the local draft waits.
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
    const received = this.#received;
    this.#received = null;
    if (received !== null) this.#take(received);
    // The server drops messages to slow readers, so the rules in force may differ from the received ones.
    const isOutdated = answer.isAnswer === false || (answer.revision ?? this.running.revision) !== this.running.revision;
    if (answer.op === "error" && isOutdated) this.#requestRules();
    if (this.#again && this.elsewhere !== "waiting") void this.#send();
    else if (isEdited) this.#follow();
    this.#changed();
  }

  /** The reply arrives as "rules". */
  #requestRules() { void this.#channel.ask({ op: "rules" }).catch(() => {}); }

  async #ask(request) {
    try {
      return await this.#channel.ask(request);
    } catch (problem) {
      const tail = request.op === "set_rules" ? ": the rules may or may not be in force" : "";
      return { op: "error", text: `${problem.message}${tail}`, isAnswer: false };
    }
  }

  #located({ text, node, step, column, isAnswer = true }) {
    return { text, isAnswer, column: column ?? 0, node: this.nodes[node] ?? null, step: step === undefined || step < 0 ? null : stepOnWire(this.nodes, node, step) };
  }

  // -- from the server ----------------------------------------------------------------------------

  #take(rules) {
    if (this.#sending) { this.#received = rules; return; }
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

  /** Replaces the draft by these nodes and keeps locally disabled steps. */
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
    this.#received = null;
    this.elsewhere = "";
    this.trial = null;
    this.error = null;
    this.#changed();
  }

  #changed() {
    for (const listener of [...this.#listeners]) {  // a listener added now is first called for the next change
      if (this.#listeners.has(listener)) listener();
    }
  }
}
