// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// Displays the result of a WhyQuestion: the verdict, the stages that were evaluated, each node with its steps and
// numbers, and the changes that would reverse the result.
import { byId, make, put, renew } from "./dom.mjs";
import { pickable } from "./pick.mjs";
import { decidingNode, decidingStep, distanceIn } from "./why_question.mjs";

/** The stages before the rules, in order, then the nodes. `passed`: the result that leads to the next stage. */
const STAGES = [
  { name: "observer not ready", words: "ready", passed: "yes" }, { name: "denied", passed: "no" }, { name: "owned", passed: "no" },
  { name: "force hidden", passed: "no" }, { name: "shown to all", passed: "no" }, { name: "allowed", passed: "no" },
  { name: "sees everything", passed: "no" }, { name: "explicit only", passed: "no" },
  { name: "no node matches", also: ["a node matches", "promoted"], words: "nodes" },
];
const stageOf = (answer) => STAGES.findIndex(({ name, also = [] }) => name === answer.stage || also.includes(answer.stage));
const LISTED = 12;

export class WhyPanel {
  #question;
  #scene;
  #slot = "second";
  #missed = "";

  /**
   * `scene`: {channel, me(slot) -> promise of an end, endOf(entity) -> end, ghosts(), truth(), middle() -> {x, y},
   * reach() in meters}.
   */
  constructor(question, scene) {
    this.#question = question;
    this.#scene = scene;
    for (const slot of ["first", "second"]) {
      byId(`why-${slot}`).addEventListener("click", () => this.#activate(slot));
    }
    byId("why-me").addEventListener("click", () => this.#takeMe());
    byId("why-again").addEventListener("click", () => {
      question.choose("first", null);
      question.choose("second", null);
      this.#openList(false);
      this.#activate("first");
    });
    byId("why-near").addEventListener("click", () => this.#openList(byId("why-list").hidden));
    byId("why-off").hidden = true;
    for (const name of ["first", "second", "me", "near", "again"]) byId(`why-${name}`).disabled = false;
    question.onChange(() => this.#show());
    this.#activate("second");
  }

  /** Uses a clicked entity for the active slot. */
  take(end) {
    this.#missed = "";
    this.#question.choose(this.#slot, end);
    // The observer is usually chosen once, the entity repeatedly.
    if (this.#slot === "first" && end.observer !== null) this.#activate("second");
    else this.#show();
  }

  async #takeMe() {
    try {
      this.take(await this.#scene.me(this.#slot));
    } catch (problem) {
      this.missed(problem.message);
    }
  }

  /** Shows why a click selected nothing. */
  missed(why = "") {
    this.#missed = why !== "" ? why : this.#scene.truth() ? "There is no entity here."
      : "This client has no entity here. Show the server's complete world to select other entities.";
    this.#show();
  }

  #activate(slot) {
    this.#slot = slot;
    this.#missed = "";
    this.#show();
  }

  #openList(open) {
    byId("why-list").hidden = !open;
    byId("why-near").ariaExpanded = String(open);
    if (open) void this.#list();
  }

  async #list() {
    const scene = this.#scene;
    const list = byId("why-list");
    try {
      const found = await pickable(scene.channel, scene.middle(), scene.reach(), scene.ghosts(), scene.truth(), LISTED);
      list.replaceChildren(...found.map((entity) => make("li", {}, make("button", {
        type: "button", className: "quiet", textContent: scene.endOf(entity).name, onclick: () => this.take(scene.endOf(entity)),
      }))));
      if (found.length === 0) this.missed();
    } catch (problem) {
      this.missed(problem.message);
    }
  }

  #show() {
    const { first, second, answer, problem } = this.#question;
    for (const [slot, end, empty] of [["first", first, "click an observer"], ["second", second, "click an entity"]]) {
      const button = byId(`why-${slot}`);
      const isActive = slot === this.#slot;
      put(byId(`why-${slot}-name`), "textContent", end?.name ?? empty);
      put(byId(`why-${slot}-note`), "textContent", isActive ? "the next click on the map" : slot === "first" && end && end.observer !== null ? `observer ${end.observer}` : "");
      put(button, "ariaPressed", String(isActive));
    }
    const note = this.#missed || problem;
    put(byId("why-problem"), "textContent", note);
    put(byId("why-problem"), "hidden", note === "");
    put(byId("why-help"), "hidden", first !== null && second !== null);
    put(byId("why-answer"), "hidden", answer === null);
    if (answer === null) return;
    put(byId("why-verdict"), "className", answer.relevant ? "verdict yes" : "verdict no");
    // The decision contains changing numbers. Screen readers read it with the verdict, not after every change.
    const verdict = make("p", {}, make("b", {}, second.name), answer.relevant ? " is relevant to " : " is not relevant to ", make("b", {}, first.name),
                         make("small", { ariaLive: "off" }, decision(answer)));
    renew(byId("why-verdict"), [...verdict.childNodes]);
    renew(byId("why-stages"), stages(answer));
    renew(byId("why-nodes"), answer.nodes.map((node) => nodeOf(node, isDecidedByNodes(answer))));
    put(byId("why-changes-title"), "textContent", answer.relevant ? "What would hide it" : "What would show it");
    renew(byId("why-changes"), changes(answer));
  }
}

const isDecidedByNodes = (answer) => stageOf(answer) === STAGES.length - 1;

function stages(answer) {
  const decided = stageOf(answer);
  return STAGES.map(({ name, words, passed }, i) => {
    if (i < decided) return make("li", {}, words ?? name, make("b", {}, passed));
    const item = make("li", { className: i === decided ? "decides" : "skipped", title: i === decided ? "this decides" : "not evaluated" },
                      i === decided ? answer.stage : words ?? name);
    if (i === decided) item.setAttribute("aria-current", "step");
    return item;
  });
}

/** The deciding reason in one line. */
export function decision(answer) {
  if (answer.hidden_member !== null) return `entity ${answer.hidden_member} of its group is hidden with all its descendants: ${answer.stage}`;
  if (!isDecidedByNodes(answer)) return `decided before the rules: ${answer.stage}`;
  if (answer.promoted_by !== null) return `no node matches it, but a node matches its descendant, entity ${answer.promoted_by}`;
  if (answer.held) return "no node matches it any more, but its minimum relevance time is not over";
  const evaluated = answer.nodes.filter((node) => node.member);
  const node = answer.nodes[decidingNode(answer.nodes)] ?? evaluated.find((node) => node.combine === "add" && decidingStep(node) >= 0);
  if (node === undefined) return evaluated.length > 0 ? "no step adds it" : answer.nodes.length > 0 ? "no node applies to it" : "there are no nodes";
  const owner = answer.nodes.length > 1 ? ` “${node.name}”` : "";
  if (node.combine !== "add") return `node${owner} ${node.combine === "subtract" ? "subtracts it" : "is required and does not match"}`;
  const step = decidingStep(node);
  if (step < 0) return `${owner === "" ? "a node" : `node${owner}`} ${node.steps.length === 0 ? "without steps matches" : "matched at its last evaluation"}`;
  return `step ${step + 1}${owner === "" ? "" : ` of${owner}`} decides: ${node.steps[step].op} ${node.steps[step].what.replace(/, leave (radius|margin).*/, "")}`;
}

function nodeOf(node, counts) {
  const decided = decidingStep(node);
  const steps = node.steps.map((step, i) => {
    const does = step.answer === null ? "unknown" : step.answer ? "applies" : "does not apply";
    const item = make("li", { className: `${step.op}${i === decided ? " decides" : ""}${step.answer === false ? " idle" : ""}` },
                      make("div", { className: "line" }, make("em", {}, step.op), make("span", {}, step.what)),
                      meterOf(step), make("small", {}, `${does} · so far ${step.so_far ? "yes" : "no"}${i === decided ? " · decides" : ""}`));
    return item;
  });
  const none = !node.member ? "the node does not apply to this entity" : node.steps.length === 0 ? "no steps: matches all its entities" : decided < 0 ? "no step adds it" : "";
  const joins = { add: "", subtract: ", subtracted", require: ", required" }[node.combine];
  return make("section", { className: `card${counts && node.member ? "" : " off"}` },
              make("div", { className: "node-title" }, make("span", {}, make("b", {}, node.name), joins),
                   make("span", { className: node.result ? "tag yes" : "tag no" }, node.member ? (node.result ? "yes" : "no") : "not applicable")),
              make("ol", { className: "explained" }, ...steps), none === "" ? null : make("p", { className: "note" }, none));
}

/** A bar with the distance and the radii. */
function meterOf(step) {
  const measured = distanceIn(step.what);
  if (measured === null) return null;
  const full = Math.max(measured.leave * 1.5, Math.min(measured.distance, measured.leave * 4) * 1.05);
  const share = (meters) => `${Math.min(100, meters / full * 100)}%`;
  const meter = make("div", { className: step.answer ? "meter in" : "meter", ariaHidden: "true" },
                     make("i"), make("u", { title: "radius" }), measured.leave > measured.enter ? make("u", { className: "leave", title: "leave radius" }) : null);
  meter.children[0].style.width = share(measured.distance);
  meter.children[1].style.left = share(measured.enter);
  if (meter.children[2]) meter.children[2].style.left = share(measured.leave);
  return meter;
}

function changes({ single, pair, are_changes_known: isKnown, changes_by_itself: isDue }) {
  if (isDue) return [make("li", { className: "none" }, "no change is needed: a node evaluation is due, or a minimum relevance time or an area ends")];
  if (single.length > 0) return single.map((text) => make("li", {}, text));
  if (pair.length > 0) return [make("li", {}, `no single change, but these two together: ${pair.join(", and ")}`)];
  return [make("li", { className: "none" }, isKnown ? "no single change and no pair of changes" : "unknown")];
}
