// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// The draft of the rules against an operator channel that is told when to answer, and against other
// operators:  node rule_draft_test.mjs WEB_DIRECTORY
import assert from "node:assert/strict";
import { join } from "node:path";
import { pathToFileURL } from "node:url";

const { RuleDraft } = await import(pathToFileURL(join(process.argv[2], "rule_draft.mjs")));
const sleep = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

const NEAR = ["add within 60 leave 66", "add same team", "subtract flag cloaked"];
const named = (name, steps, rest = {}) => ({ name, type: "grid", refresh: "exact", enabled: true, ...rest, steps });

/** Rules that run, and everybody who set them; refuses steps with "bad" in them. */
class Channel {
  listeners = { rules: [], open: [], closed: [] };
  revision = 1;
  asked = [];
  delay = 0;
  isEditable = true;
  constructor(...nodes) { this.nodes = nodes; }
  on(name, listener) { this.listeners[name].push(listener); }
  emit(name, detail) { for (const listener of this.listeners[name]) listener(structuredClone(detail)); }
  get rules() { return { op: "rules", revision: this.revision, editable: this.isEditable, nodes: this.nodes, warnings: [], names: { flags: ["cloaked"], keys: ["team"], values: [] } }; }
  /** Somebody sets rules; the server writes them in its own way. */
  set(nodes) {
    this.nodes = nodes.map((node) => ({ ...node, steps: node.steps.map((text) => text.trim().replace(/\s+/g, " ").replace(/\.0\b/g, "")) }));
    ++this.revision;
    this.emit("rules", this.rules);
  }
  async ask(request) {
    this.asked.push(request);
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
  count(op) { return this.asked.filter((request) => request.op === op).length; }
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
  async "a slider goes to the server as it moves, four times a second, and its last value for certain"() {
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
  async "a late answer does not move a slider back"() {
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
  async "a step that is off stays here, and goes back to its place"() {
    const { channel, draft, texts } = await begin(named("near", NEAR));
    draft.switchStep(draft.nodes[0].steps[1], false);
    await sleep(20);
    assert.deepEqual(channel.nodes[0].steps, [NEAR[0], NEAR[2]]);
    assert.deepEqual(texts(), [NEAR]);
    draft.switchStep(draft.nodes[0].steps[1], true);
    await sleep(400);
    assert.deepEqual(channel.nodes[0].steps, NEAR);
  },
  async "a node whose steps are all off says nothing, instead of yes to everything"() {
    const { channel, draft } = await begin(named("near", NEAR));
    for (const step of draft.nodes[0].steps) draft.switchStep(step, false);
    await sleep(400);
    assert.equal(channel.nodes[0].enabled, false);
    assert.deepEqual(draft.nodes[0].steps.map((step) => step.on), [false, false, false]);
    draft.switchStep(draft.nodes[0].steps[0], true);
    await sleep(400);
    assert.deepEqual(channel.nodes, [named("near", [NEAR[0]])]);
  },
  async "a text waits for apply; what is wrong is found at its step, and nothing is set"() {
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
  async "a slider waits while a text does"() {
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
  async "steps change places, and not beyond the ends"() {
    const { channel, draft } = await begin(named("near", NEAR));
    const [first, , last] = draft.nodes[0].steps;
    assert.equal(draft.moveStep(draft.nodes[0], first, -1), false);
    assert.equal(draft.moveStep(draft.nodes[0], last, 1), false);
    assert.equal(draft.moveStep(draft.nodes[0], last, -1), true);
    await sleep(20);
    assert.deepEqual(channel.nodes[0].steps, [NEAR[0], NEAR[2], NEAR[1]]);
  },
  async "what others set is shown, beside a step that is off here"() {
    const { channel, draft, texts } = await begin(named("near", NEAR));
    draft.switchStep(draft.nodes[0].steps[1], false);
    await sleep(20);
    channel.set([named("far", ["add within 300"]), named("near", ["add within 5", NEAR[2], "require flag cloaked"])]);
    assert.equal(draft.elsewhere, "shown");
    assert.equal(draft.isPending, false);
    assert.deepEqual(texts(), [["add within 300"], ["add within 5", NEAR[1], NEAR[2], "require flag cloaked"]]);
    assert.equal(draft.nodes[1].steps[1].on, false);
  },
  async "what was set here once and others set again is theirs"() {
    const { channel, draft, texts } = await begin(named("near", NEAR));
    draft.slide(draft.nodes[0].steps[0], "add within 80");
    await sleep(20);
    channel.set([named("near", ["add within 100", NEAR[1], NEAR[2]])]);
    channel.set([named("near", ["add within 80", NEAR[1], NEAR[2]])]);
    assert.deepEqual(texts(), [["add within 80", NEAR[1], NEAR[2]]]);
    assert.equal(draft.elsewhere, "shown");
  },
  async "what others set beside the steps is not undone by the next slider"() {
    const { channel, draft } = await begin(named("near", NEAR, { every_ticks: 1 }));
    draft.slide(draft.nodes[0].steps[0], "add within 80");
    await sleep(20);
    channel.set([named("near", ["add within 80", NEAR[1], NEAR[2]], { every_ticks: 10 })]);
    assert.equal(draft.elsewhere, "shown");
    draft.slide(draft.nodes[0].steps[0], "add within 70");
    await sleep(300);
    assert.deepEqual(channel.nodes, [named("near", ["add within 70", NEAR[1], NEAR[2]], { every_ticks: 10 })]);
  },
  async "what others set does not take a text away; one may take theirs"() {
    const { channel, draft, texts } = await begin(named("near", NEAR));
    draft.setText(draft.nodes[0].steps[0], "add within 7");
    channel.set([named("near", ["add within 5"])]);
    assert.equal(draft.elsewhere, "waiting");
    assert.equal(texts()[0][0], "add within 7");
    draft.takeRunning();
    assert.deepEqual(texts(), [["add within 5"]]);
    assert.equal(draft.isPending, false);
  },
  async "rules of others that were never edited here are nothing to revert"() {
    const { channel, draft } = await begin(named("near", NEAR));
    channel.set([named("near", ["add within 5"])]);
    assert.equal(draft.canRevert, false);
    draft.slide(draft.nodes[0].steps[0], "add within 6");
    await sleep(20);
    await draft.revert();
    assert.deepEqual(channel.nodes, [named("near", ["add within 5"])]);
  },
  async "nor does it take away what waits without live, what a server takes not at all, and where a slider is"() {
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
  async "a dry run says nothing of rules that run"() {
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
  async "what others set while ours is on its way is seen, and not undone"() {
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
    // And behind ours, before its answer has been read.
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
  async "who has set nothing undoes nothing of others"() {
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
    // What is set after theirs replaces theirs, and goes back to theirs.
    const { channel, draft } = await begin(near, far);
    draft.setText(draft.nodes[0].steps[0], "add within 7");
    channel.set([near, wider]);
    await draft.apply();
    await draft.revert();
    assert.deepEqual([channel.nodes, draft.canRevert], [[near, wider], false]);
  },
  async "what others set after ours is not undone with ours"() {
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
  async "rules that go back to where they were are nothing to revert"() {
    const { channel, draft } = await begin(named("near", NEAR));
    for (const metres of [80, 60]) {
      draft.slide(draft.nodes[0].steps[0], `add within ${metres} leave 66`);
      await sleep(300);
    }
    assert.equal(draft.canRevert, false);
    channel.set([named("near", ["add within 5"])]);
    assert.equal(draft.canRevert, false);
  },
  async "a text that is typed after a slider has moved does not go with it"() {
    const { channel, draft } = await begin(named("near", NEAR));
    const [first, , last] = draft.nodes[0].steps;
    for (const delay of [0, 60]) {
      // The second value of the slider waits for its time, or for the answer to the first.
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
  async "what is applied while a slider is on its way goes behind it"() {
    const { channel, draft } = await begin(named("near", NEAR));
    channel.delay = 40;
    draft.slide(draft.nodes[0].steps[0], "add within 50");
    await sleep(20);
    draft.setText(draft.nodes[0].steps[1], "add owner");
    await draft.apply();
    await sleep(100);
    assert.deepEqual([channel.nodes[0].steps, draft.isPending], [["add within 50", "add owner", NEAR[2]], false]);
  },
  async "rules that run are not set again"() {
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
  async "without live everything waits"() {
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
  async "keys of a node that the page knows nothing about go back as they came"() {
    const { channel, draft } = await begin(named("near", NEAR, { refresh: "every 5", widen_m: 3, leave: "freeze" }));
    draft.slide(draft.nodes[0].steps[0], "add within 6");
    await sleep(20);
    assert.deepEqual(channel.nodes, [named("near", ["add within 6", NEAR[1], NEAR[2]], { refresh: "every 5", widen_m: 3, leave: "freeze" })]);
  },
  async "a server that takes no rules is asked for dry runs only"() {
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
  async "what was not answered is not called refused"() {
    const begun = async () => {
      const all = await begin(named("near", NEAR));
      all.draft.setText(all.draft.nodes[0].steps[0], "add within 7");
      all.channel.ask = async () => {
        await sleep(20);
        throw new Error("no answer");
      };
      return all;
    };
    const { draft } = await begun();
    await draft.apply();
    assert.deepEqual([draft.error.isAnswer, draft.error.text], [false, "no answer: these rules may run or not"]);
    await draft.tryOut();
    assert.deepEqual([draft.error.isAnswer, draft.error.text], [false, "no answer"]);
    // The channel goes with the answer, and comes back with our rules: there is nothing to complain of.
    const lost = await begun();
    const sent = [lost.draft.apply(), lost.draft.tryOut()];
    lost.channel.emit("closed");
    await Promise.all(sent);
    assert.deepEqual([lost.draft.error, lost.draft.isSending], [null, false]);
    lost.channel.set([named("near", ["add within 7", NEAR[1], NEAR[2]])]);
    assert.deepEqual([lost.draft.error, lost.draft.isPending, lost.draft.elsewhere], [null, false, ""]);
  },
  async "rules whose telling is lost are asked for, and those that were sent wait"() {
    // Theirs is not told here; or ours runs, and its answer does not come.
    for (const isOurs of [false, true]) {
      const { channel, draft, texts } = await begin(named("near", NEAR), named("far", ["add within 200"]));
      const { ask, emit } = channel;
      channel.emit = () => {};
      if (isOurs) {
        channel.ask = async (request) => {
          const answer = await ask.call(channel, request);
          Object.assign(channel, { ask, emit });
          await sleep(20);
          throw new Error(`no answer: ${answer.op}`);
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
  async "a listener that begins anew hears the next change, and one that another has ended none any more"() {
    const { draft } = await begin(named("near", NEAR));
    const heard = [];
    let end = () => {};
    const again = () => {
      end();
      end = draft.onChange(() => {
        heard.push(draft.nodes[0].steps[0].text);
        assert.ok(heard.length < 9, "one change is told without end");
        again();
      });
    };
    again();
    const endFirst = draft.onChange(() => { endOther(); endFirst(); });
    const endOther = draft.onChange(() => { heard.push("other"); });
    for (const text of ["add within 6", "add within 7"]) draft.setText(draft.nodes[0].steps[0], text);
    end();
    assert.deepEqual(heard, ["add within 6", "add within 7"]);
  },
  async "with the channel the draft goes, and comes back with it"() {
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
