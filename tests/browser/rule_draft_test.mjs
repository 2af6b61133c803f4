// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// The rule draft, with a mock operator channel that has a settable delay, and with changes by other operators:
//   node rule_draft_test.mjs WEB_DIRECTORY
import assert from "node:assert/strict";
import { join } from "node:path";
import { pathToFileURL } from "node:url";

const { RuleDraft } = await import(pathToFileURL(join(process.argv[2], "rule_draft.mjs")));
const sleep = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

const NEAR = ["add within 60 leave 66", "add same team", "subtract flag cloaked"];
const named = (name, steps, rest = {}) => ({ name, type: "grid", refresh: "exact", enabled: true, ...rest, steps });

/** A mock server with rules. It records requests and refuses steps that contain "bad". */
class Channel {
  listeners = { rules: [], open: [], closed: [] };
  revision = 1;
  requests = [];
  delay = 0;
  isEditable = true;
  constructor(...nodes) { this.nodes = nodes; }
  on(name, listener) { this.listeners[name].push(listener); }
  emit(name, detail) { for (const listener of this.listeners[name]) listener(structuredClone(detail)); }
  get rules() { return { op: "rules", revision: this.revision, editable: this.isEditable, nodes: this.nodes, warnings: [], names: { flags: ["cloaked"], keys: ["team"], values: [] } }; }
  /** Sets rules, like any operator. The server normalizes the text. */
  set(nodes) {
    this.nodes = nodes.map((node) => ({ ...node, steps: node.steps.map((text) => text.trim().replace(/\s+/g, " ").replace(/\.0\b/g, "")) }));
    ++this.revision;
    this.emit("rules", this.rules);
  }
  async ask(request) {
    this.requests.push(request);
    await sleep(this.delay);
    if (request.op === "rules") { this.emit("rules", this.rules); return this.rules; }
    for (const [node, { steps }] of request.nodes.entries()) {
      const step = steps.findIndex((text) => /bad/.test(text));
      if (step >= 0) return { op: "error", about: request.op, node, step, column: steps[step].indexOf("bad") + 1, text: "bad" };
    }
    if (request.op === "try_rules") return { op: "try_rules", gains: 1, losses: 2, observers: [], warnings: [] };
    if (request.revision !== this.revision) return { op: "error", about: request.op, revision: this.revision, text: "stale" };
    this.set(request.nodes);
    return this.rules;
  }
  count(op) { return this.requests.filter((request) => request.op === op).length; }
}

async function begin(...nodes) {
  const channel = new Channel(...nodes);
  const draft = new RuleDraft(channel);
  channel.emit("open");
  await sleep(5);
  assert.equal(draft.running.revision, 1);
  return { channel, draft, texts: () => draft.nodes.map((node) => node.steps.map((step) => step.text)) };
}

const tests = {
  async "a moving slider sends four values per second, and always its last value"() {
    const { channel, draft } = await begin(named("near", NEAR));
    const began = performance.now();
    for (let radius = 60; radius >= 30; --radius) {
      draft.slide(draft.nodes[0].steps[0], `add within ${radius} leave ${radius + 6}`);
      await sleep(25);
    }
    const ms = performance.now() - began;
    await sleep(400);
    assert.equal(channel.nodes[0].steps[0], "add within 30 leave 36");
    assert.ok(channel.count("set_rules") >= 3 && channel.count("set_rules") <= ms / 250 + 3, `${channel.count("set_rules")} in ${ms} ms`);
    assert.equal(draft.isPending, false);
    await draft.revert();
    assert.deepEqual(channel.nodes, [named("near", NEAR)]);
    assert.equal(draft.canRevert, false);
  },
  async "a late reply does not move a slider back"() {
    const { channel, draft, texts } = await begin(named("near", NEAR));
    channel.delay = 60;
    draft.slide(draft.nodes[0].steps[0], "add within 50");
    await sleep(20);
    draft.slide(draft.nodes[0].steps[0], "add within 40");
    await sleep(60);
    assert.equal(channel.nodes[0].steps[0], "add within 50");
    assert.equal(texts()[0][0], "add within 40");
    await sleep(400);
    assert.equal(channel.nodes[0].steps[0], "add within 40");
  },
  async "a disabled step stays in the draft and returns to its index"() {
    const { channel, draft, texts } = await begin(named("near", NEAR));
    draft.switchStep(draft.nodes[0].steps[1], false);
    await sleep(20);
    assert.deepEqual(channel.nodes[0].steps, [NEAR[0], NEAR[2]]);
    assert.deepEqual(texts(), [NEAR]);
    draft.switchStep(draft.nodes[0].steps[1], true);
    await sleep(400);
    assert.deepEqual(channel.nodes[0].steps, NEAR);
  },
  async "a node with all steps disabled is disabled itself"() {
    const { channel, draft } = await begin(named("near", NEAR));
    for (const step of draft.nodes[0].steps) draft.switchStep(step, false);
    await sleep(400);
    assert.equal(channel.nodes[0].enabled, false);
    assert.deepEqual(draft.nodes[0].steps.map((step) => step.on), [false, false, false]);
    draft.switchStep(draft.nodes[0].steps[0], true);
    await sleep(400);
    assert.deepEqual(channel.nodes, [named("near", [NEAR[0]])]);
  },
  async "a text is sent by apply() only, and an error is shown at its step"() {
    const { channel, draft } = await begin(named("far", ["add same team"]), named("near", NEAR));
    const [first, second] = draft.nodes[1].steps;
    draft.switchStep(first, false);
    await sleep(20);
    draft.setText(second, "add bad");
    await sleep(450);
    assert.equal(draft.error.step, second);
    assert.equal(draft.error.column, 5);
    await draft.apply();
    assert.equal(draft.error.step, second);
    assert.deepEqual(channel.nodes[1].steps, NEAR.slice(1));
    draft.setText(second, "add  within 20.0");
    await sleep(450);
    assert.deepEqual([draft.error, draft.trial.losses], [null, 2]);
    assert.equal(channel.count("set_rules"), 2);
    await draft.apply();
    assert.deepEqual(channel.nodes[1].steps, ["add within 20", NEAR[2]]);
    assert.equal(second.text, "add within 20");
  },
  async "a slider waits while a text is pending"() {
    const { channel, draft } = await begin(named("near", NEAR));
    draft.setText(draft.nodes[0].steps[1], "add bad");
    draft.slide(draft.nodes[0].steps[0], "add within 10");
    await sleep(300);
    assert.equal(channel.count("set_rules"), 0);
    draft.restoreText(draft.nodes[0].steps[1]);
    draft.slide(draft.nodes[0].steps[0], "add within 11");
    draft.live = true;
    await draft.apply();
    assert.deepEqual(channel.nodes[0].steps, ["add within 11", NEAR[1], NEAR[2]]);
  },
  async "steps can be reordered within the list"() {
    const { channel, draft } = await begin(named("near", NEAR));
    const [first, , last] = draft.nodes[0].steps;
    assert.equal(draft.moveStep(draft.nodes[0], first, -1), false);
    assert.equal(draft.moveStep(draft.nodes[0], last, 1), false);
    assert.equal(draft.moveStep(draft.nodes[0], last, -1), true);
    await sleep(20);
    assert.deepEqual(channel.nodes[0].steps, [NEAR[0], NEAR[2], NEAR[1]]);
  },
  async "changes by others are shown, and a step disabled here is kept"() {
    const { channel, draft, texts } = await begin(named("near", NEAR));
    draft.switchStep(draft.nodes[0].steps[1], false);
    await sleep(20);
    channel.set([named("far", ["add within 300"]), named("near", ["add within 5", NEAR[2], "require flag cloaked"])]);
    assert.equal(draft.elsewhere, "shown");
    assert.equal(draft.isPending, false);
    assert.deepEqual(texts(), [["add within 300"], ["add within 5", NEAR[1], NEAR[2], "require flag cloaked"]]);
    assert.equal(draft.nodes[1].steps[1].on, false);
  },
  async "a value set here and set again by others counts as theirs"() {
    const { channel, draft, texts } = await begin(named("near", NEAR));
    draft.slide(draft.nodes[0].steps[0], "add within 80");
    await sleep(20);
    channel.set([named("near", ["add within 100", NEAR[1], NEAR[2]])]);
    channel.set([named("near", ["add within 80", NEAR[1], NEAR[2]])]);
    assert.deepEqual(texts(), [["add within 80", NEAR[1], NEAR[2]]]);
    assert.equal(draft.elsewhere, "shown");
  },
  async "the next slider value keeps other keys that others set"() {
    const { channel, draft } = await begin(named("near", NEAR, { every_ticks: 1 }));
    draft.slide(draft.nodes[0].steps[0], "add within 80");
    await sleep(20);
    channel.set([named("near", ["add within 80", NEAR[1], NEAR[2]], { every_ticks: 10 })]);
    assert.equal(draft.elsewhere, "shown");
    draft.slide(draft.nodes[0].steps[0], "add within 70");
    await sleep(300);
    assert.deepEqual(channel.nodes, [named("near", ["add within 70", NEAR[1], NEAR[2]], { every_ticks: 10 })]);
  },
  async "a change by others keeps a pending text, and can be taken over"() {
    const { channel, draft, texts } = await begin(named("near", NEAR));
    draft.setText(draft.nodes[0].steps[0], "add within 7");
    channel.set([named("near", ["add within 5"])]);
    assert.equal(draft.elsewhere, "waiting");
    assert.equal(texts()[0][0], "add within 7");
    draft.takeRunning();
    assert.deepEqual(texts(), [["add within 5"]]);
    assert.equal(draft.isPending, false);
  },
  async "there is nothing to revert if only others changed the rules"() {
    const { channel, draft } = await begin(named("near", NEAR));
    channel.set([named("near", ["add within 5"])]);
    assert.equal(draft.canRevert, false);
    draft.slide(draft.nodes[0].steps[0], "add within 6");
    await sleep(20);
    await draft.revert();
    assert.deepEqual(channel.nodes, [named("near", ["add within 5"])]);
  },
  async "a change by others keeps pending edits: without live, read-only, and live"() {
    for (const kind of ["waits", "read-only", "live"]) {
      const { channel, draft, texts } = await begin(named("near", NEAR), named("far", ["add within 200"]));
      draft.live = kind !== "waits";
      channel.isEditable = kind !== "read-only";
      channel.set(channel.nodes);
      draft.slide(draft.nodes[0].steps[0], "add within 7");
      draft.switchStep(draft.nodes[0].steps[1], false);
      channel.set([named("near", NEAR), named("far", ["add within 300"])]);
      draft.slide(draft.nodes[0].steps[0], "add within 8");
      await sleep(300);
      assert.deepEqual([draft.elsewhere, texts()[0][0], draft.nodes[0].steps[1].on], ["waiting", "add within 8", false], kind);
      assert.deepEqual([channel.count("set_rules"), channel.nodes[0].steps], [0, NEAR]);
      if (kind === "read-only") continue;
      await draft.apply();
      assert.deepEqual([channel.nodes[0].steps, draft.elsewhere], [["add within 8", NEAR[2]], ""]);
    }
  },
  async "a dry run has no result for rules that are in force"() {
    const { channel, draft } = await begin(named("near", NEAR));
    channel.delay = 40;
    draft.setText(draft.nodes[0].steps[0], "add within 7");
    void draft.tryOut();
    channel.set([named("near", ["add within 7", NEAR[1], NEAR[2]])]);
    await sleep(80);
    assert.deepEqual([draft.isPending, draft.trial, draft.elsewhere], [false, null, "shown"]);
    draft.setText(draft.nodes[0].steps[0], "add within 8");
    await draft.tryOut();
    assert.equal(draft.trial.losses, 2);
    await draft.apply();
    assert.equal(draft.trial, null);
  },
  async "a change by others during a request is shown and not undone"() {
    const [near, far] = [named("near", NEAR), named("far", ["add within 200"])];
    const wider = named("far", ["add within 300"]);
    for (const text of ["add within 7", "add bad"]) {
      const { channel, draft, texts } = await begin(near, far);
      channel.delay = 40;
      draft.setText(draft.nodes[0].steps[0], text);
      const applied = draft.apply();
      void draft.apply();
      channel.set([near, wider]);
      await applied;
      await sleep(100);
      assert.deepEqual([draft.elsewhere, draft.running.revision, texts()[0][0]], ["waiting", 2, text]);
      assert.equal(draft.error?.column, text === "add bad" ? 5 : undefined);
      draft.slide(draft.nodes[0].steps[0], "add within 8");
      await sleep(300);
      assert.deepEqual(channel.nodes, [near, wider]);
      draft.takeRunning();
      assert.deepEqual(texts(), [NEAR, wider.steps]);
    }
    // The same directly after a change of this page, before its reply is read.
    const { channel, draft, texts } = await begin(near, far);
    draft.slide(draft.nodes[1].steps[0], "add within 250");
    const { ask } = channel;
    channel.ask = async (request) => {
      const answer = structuredClone(await ask.call(channel, request));
      if (request.op === "set_rules") channel.set([near, wider]);
      return answer;
    };
    await sleep(50);
    assert.deepEqual([draft.elsewhere, texts(), draft.canRevert], ["shown", [NEAR, wider.steps], false]);
  },
  async "revert without own changes keeps the changes of others"() {
    const [near, far] = [named("near", NEAR), named("far", ["add within 200"])];
    const wider = named("far", ["add within 300"]);
    for (const end of ["takeRunning", "revert"]) {
      const { channel, draft, texts } = await begin(near, far);
      draft.setText(draft.nodes[0].steps[0], "add within 7");
      channel.set([near, wider]);
      assert.equal(draft.canRevert, true);
      await draft[end]();
      assert.deepEqual([texts(), draft.canRevert, channel.count("set_rules")], [[NEAR, wider.steps], false, 0]);
    }
    // A later change of this page replaces theirs. Revert restores theirs.
    const { channel, draft } = await begin(near, far);
    draft.setText(draft.nodes[0].steps[0], "add within 7");
    channel.set([near, wider]);
    await draft.apply();
    await draft.revert();
    assert.deepEqual([channel.nodes, draft.canRevert], [[near, wider], false]);
  },
  async "revert keeps changes that others made after the own change"() {
    const [near, far] = [named("near", NEAR), named("far", ["add within 200"])];
    const [mine, wider] = [named("near", ["add within 7", NEAR[1], NEAR[2]]), named("far", ["add within 300"])];
    for (const isTyped of [false, true]) {
      const { channel, draft, texts } = await begin(near, far);
      draft.slide(draft.nodes[0].steps[0], "add within 7");
      await sleep(20);
      assert.equal(draft.canRevert, true);
      if (isTyped) draft.setText(draft.nodes[0].steps[0], "add within 8");
      channel.set([mine, wider]);
      assert.deepEqual([draft.elsewhere, draft.canRevert], isTyped ? ["waiting", true] : ["shown", false]);
      await draft.revert();
      assert.deepEqual([channel.nodes, channel.count("set_rules")], [[mine, wider], 1]);
      assert.deepEqual([texts(), draft.canRevert], [[mine.steps, wider.steps], false]);
    }
  },
  async "there is nothing to revert after the rules return to their start"() {
    const { channel, draft } = await begin(named("near", NEAR));
    for (const meters of [80, 60]) {
      draft.slide(draft.nodes[0].steps[0], `add within ${meters} leave 66`);
      await sleep(300);
    }
    assert.equal(draft.canRevert, false);
    channel.set([named("near", ["add within 5"])]);
    assert.equal(draft.canRevert, false);
  },
  async "a text typed after a slider moved is not sent with the slider"() {
    const { channel, draft } = await begin(named("near", NEAR));
    const [first, , last] = draft.nodes[0].steps;
    for (const delay of [0, 60]) {
      // The second slider value waits for the send interval, or for the reply to the first.
      channel.delay = delay;
      draft.slide(first, `add within ${50 + delay}`);
      await sleep(20);
      draft.slide(first, `add within ${40 + delay}`);
      draft.setText(last, "");
      await sleep(400);
      assert.deepEqual(channel.nodes[0].steps, [`add within ${50 + delay}`, NEAR[1], NEAR[2]]);
      draft.setText(last, NEAR[2]);
      await draft.apply();
      assert.deepEqual(channel.nodes[0].steps, [`add within ${40 + delay}`, NEAR[1], NEAR[2]]);
      await sleep(300);
    }
  },
  async "apply() during the request of a slider is sent after it"() {
    const { channel, draft } = await begin(named("near", NEAR));
    channel.delay = 40;
    draft.slide(draft.nodes[0].steps[0], "add within 50");
    await sleep(20);
    draft.setText(draft.nodes[0].steps[1], "add owner");
    await draft.apply();
    await sleep(100);
    assert.deepEqual([channel.nodes[0].steps, draft.isPending], [["add within 50", "add owner", NEAR[2]], false]);
  },
  async "rules that are in force are not sent again"() {
    const { channel, draft } = await begin(named("near", NEAR));
    const [first] = draft.nodes[0].steps;
    draft.restoreText(first);
    draft.setText(first, `${NEAR[0]}0`);
    draft.setText(first, NEAR[0]);
    draft.slide(first, "add within 50");
    draft.slide(first, NEAR[0]);
    await sleep(300);
    assert.equal(channel.count("set_rules"), 0);
  },
  async "without live all edits wait"() {
    const { channel, draft } = await begin(named("near", NEAR));
    draft.live = false;
    draft.slide(draft.nodes[0].steps[0], "add within 6");
    draft.switchNode(draft.nodes[0], false);
    await sleep(450);
    assert.equal(channel.count("set_rules"), 0);
    assert.equal(channel.count("try_rules"), 1);
    await draft.apply();
    assert.deepEqual(channel.nodes, [named("near", ["add within 6", NEAR[1], NEAR[2]], { enabled: false })]);
  },
  async "unknown keys of a node are sent back unchanged"() {
    const { channel, draft } = await begin(named("near", NEAR, { refresh: "every 5", widen_m: 3, leave: "freeze" }));
    draft.slide(draft.nodes[0].steps[0], "add within 6");
    await sleep(20);
    assert.deepEqual(channel.nodes, [named("near", ["add within 6", NEAR[1], NEAR[2]], { refresh: "every 5", widen_m: 3, leave: "freeze" })]);
  },
  async "a read-only server receives dry runs only"() {
    const { channel, draft, texts } = await begin(named("near", NEAR));
    channel.isEditable = false;
    channel.set(channel.nodes);
    draft.slide(draft.nodes[0].steps[0], "add within 6");
    await sleep(450);
    assert.equal(channel.count("set_rules"), 0);
    assert.equal(draft.trial.losses, 2);
    await draft.revert();
    assert.deepEqual(texts(), [NEAR]);
    assert.equal(channel.count("set_rules"), 0);
  },
  async "a missing reply is not reported as a refusal"() {
    const begun = async () => {
      const all = await begin(named("near", NEAR));
      all.draft.setText(all.draft.nodes[0].steps[0], "add within 7");
      all.channel.ask = async () => {
        await sleep(20);
        throw new Error("no reply");
      };
      return all;
    };
    const { draft } = await begun();
    await draft.apply();
    assert.deepEqual([draft.error.isAnswer, draft.error.text], [false, "no reply: the rules may or may not be in force"]);
    await draft.tryOut();
    assert.deepEqual([draft.error.isAnswer, draft.error.text], [false, "no reply"]);
    // The channel closes before the reply and reopens with the rules of this page. The page shows no error.
    const lost = await begun();
    const sent = [lost.draft.apply(), lost.draft.tryOut()];
    lost.channel.emit("closed");
    await Promise.all(sent);
    assert.deepEqual([lost.draft.error, lost.draft.isSending], [null, false]);
    lost.channel.set([named("near", ["add within 7", NEAR[1], NEAR[2]])]);
    assert.deepEqual([lost.draft.error, lost.draft.isPending, lost.draft.elsewhere], [null, false, ""]);
  },
  async "after a lost message the rules are requested, and pending edits wait"() {
    // Either their change is not received here, or the change of this page runs and its reply is lost.
    for (const isOurs of [false, true]) {
      const { channel, draft, texts } = await begin(named("near", NEAR), named("far", ["add within 200"]));
      const { ask, emit } = channel;
      channel.emit = () => {};
      if (isOurs) {
        channel.ask = async (request) => {
          const answer = await ask.call(channel, request);
          Object.assign(channel, { ask, emit });
          await sleep(20);
          throw new Error(`no reply: ${answer.op}`);
        };
        draft.slide(draft.nodes[0].steps[0], "add within 50");
        await sleep(10);
      } else {
        channel.set([named("near", NEAR), named("far", ["add within 300"])]);
        channel.emit = emit;
      }
      draft.slide(draft.nodes[0].steps[0], "add within 40");
      await sleep(300);
      assert.deepEqual([draft.running.revision, draft.elsewhere, texts()[0][0]], [2, "waiting", "add within 40"]);
      assert.deepEqual([channel.count("set_rules"), channel.count("rules"), channel.revision], [1, 2, 2]);
      await draft.apply();
      assert.deepEqual(channel.nodes, [named("near", ["add within 40", NEAR[1], NEAR[2]]), named("far", ["add within 200"])]);
      assert.deepEqual([draft.elsewhere, draft.error, draft.isPending], ["", null, false]);
    }
  },
  async "a listener added during dispatch starts with the next change, a removed one gets none"() {
    const { draft } = await begin(named("near", NEAR));
    const texts = [];
    let end = () => {};
    const again = () => {
      end();
      end = draft.onChange(() => {
        texts.push(draft.nodes[0].steps[0].text);
        assert.ok(texts.length < 9, "one change is dispatched endlessly");
        again();
      });
    };
    again();
    const endFirst = draft.onChange(() => { endOther(); endFirst(); });
    const endOther = draft.onChange(() => { texts.push("other"); });
    for (const text of ["add within 6", "add within 7"]) draft.setText(draft.nodes[0].steps[0], text);
    end();
    assert.deepEqual(texts, ["add within 6", "add within 7"]);
  },
  async "the draft is cleared when the channel closes, and restored when it opens"() {
    const { channel, draft, texts } = await begin(named("near", NEAR));
    draft.slide(draft.nodes[0].steps[0], "add within 6");
    channel.emit("closed");
    assert.equal(draft.running, null);
    assert.equal(draft.canRevert, false);
    draft.slide(draft.nodes[0].steps[0], "add within 7");
    channel.nodes = [named("near", NEAR)];
    channel.emit("open");
    await sleep(300);
    assert.deepEqual(texts(), [NEAR]);
    assert.equal(channel.count("set_rules"), 0);
  },
};

for (const [name, test] of Object.entries(tests)) {
  try {
    await test();
  } catch (problem) {
    console.log(`FAILED: ${name}`);
    throw problem;
  }
}
console.log(`rule draft: ${Object.keys(tests).length} passed`);
