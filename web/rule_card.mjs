// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// Shows one node of the rules as a card. Each step has a switch, a text, a slider per number, and buttons to move and
// remove it. Elements persist while values change, so dragging and typing are not interrupted.
import { make, put } from "./dom.mjs";
import { numbersOf, opOf, rangeFor, written } from "./step_text.mjs";

/** A number of a step: label, slider, value. */
class NumberRow {
  #range = null;
  #slider = make("input", { type: "range" });
  #value = make("output");

  constructor(step, index, number, draft) {
    this.element = make("label", { className: "number" }, make("span", {}, number.label), this.#slider, this.#value);
    this.#slider.ariaLabel = `${number.label}${number.unit === "m" ? " in meters" : ""}`;
    this.#slider.addEventListener("input", () => {
      const fresh = numbersOf(step.text)[index];
      if (fresh !== undefined) draft.slide(step, fresh.textWith(Number(this.#slider.value)));
    });
  }

  sync(number, disabled) {
    const { value } = number;
    if (this.#range === null || value > this.#range.max || value < this.#range.min) {
      this.#range = rangeFor(number);
      Object.assign(this.#slider, { min: this.#range.min, max: this.#range.max, step: this.#range.step });
    }
    this.#range.min = Math.min(this.#range.min, value);
    const digits = Math.max(0, -Math.floor(Math.log10(this.#range.step)));
    if (Math.abs(Number(this.#slider.value) - value) > this.#range.step / 2) this.#slider.value = value;
    put(this.#slider, "disabled", disabled);
    put(this.#value, "textContent", `${written(value, Math.max(digits, 2))}${number.unit && ` ${number.unit}`}`);
  }
}

class StepRow {
  #step;
  #draft;
  #parts = {};
  #numbers = [];
  #shape = "";

  constructor(node, step, draft) {
    this.#step = step;
    this.#draft = draft;
    const button = (text, label, onclick) => make("button", { type: "button", className: "icon", textContent: text, ariaLabel: label, title: label, onclick });
    const on = make("input", { type: "checkbox", ariaLabel: "step enabled", title: "Enable or disable the step" });
    on.addEventListener("change", () => draft.switchStep(step, on.checked));
    const text = make("input", { type: "text", className: "text", spellcheck: false, autocomplete: "off",
                                 ariaLabel: "text of the step", placeholder: "add within 60 leave 66" });
    text.setAttribute("list", "step-texts");
    text.addEventListener("input", () => draft.setText(step, text.value));
    text.addEventListener("keydown", (event) => {
      if (event.key === "Enter") void draft.apply();
      if (event.key === "Escape") draft.restoreText(step);
      const by = { ArrowUp: -1, ArrowDown: 1 }[event.key];
      if (event.altKey && by !== undefined) {
        event.preventDefault();
        this.#move(node, by, text);
      }
    });
    const up = button("↑", "earlier (Alt+↑ in the text)", () => this.#move(node, -1, up));
    const down = button("↓", "later (Alt+↓ in the text)", () => this.#move(node, 1, down));
    const away = button("×", "remove the step", () => draft.removeStep(node, step));
    const caret = make("pre", { className: "caret", ariaHidden: "true" });
    const words = make("span");
    const problem = make("div", { className: "problem", hidden: true }, caret, words);
    problem.setAttribute("role", "alert");
    const numbers = make("div", { className: "step-numbers" });
    this.#parts = { on, text, up, down, away, caret, words, problem, numbers };
    this.element = make("li", { className: "step" },
                        make("div", { className: "line" }, make("label", { className: "tick" }, on), text, up, down, away), problem, numbers);
  }

  focusText() { this.#parts.text.focus(); }

  sync(index, count, isNodeOn, disabled) {
    const { on, text, up, down, away, caret, words, problem, numbers } = this.#parts;
    const step = this.#step;
    put(on, "checked", step.on);
    put(text, "value", step.text);
    put(up, "disabled", disabled || index === 0);
    put(down, "disabled", disabled || index === count - 1);
    for (const part of [on, text, away]) put(part, "disabled", disabled);
    put(this.element, "className", `step ${opOf(step.text)}${step.on && isNodeOn ? "" : " off"}`);
    const error = this.#draft.error?.step === step ? this.#draft.error : null;
    put(problem, "hidden", error === null);
    text.setAttribute("aria-invalid", String(error !== null));
    if (error !== null) {
      put(caret, "textContent", error.column > 0 ? `${" ".repeat(error.column - 1)}▲` : "");
      put(words, "textContent", error.column > 0 ? `column ${error.column}: ${error.text}` : error.text);
    }
    const found = numbersOf(step.text);
    const shape = found.map((number) => number.label).join();
    if (shape !== this.#shape) {
      this.#shape = shape;
      this.#numbers = found.map((number, i) => new NumberRow(step, i, number, this.#draft));
      numbers.replaceChildren(...this.#numbers.map((row) => row.element));
    }
    found.forEach((number, i) => this.#numbers[i].sync(number, disabled));
  }

  /** A moved element loses the focus, so this sets it again. */
  #move(node, by, control) {
    if (!this.#draft.moveStep(node, this.#step, by)) return;
    (control.disabled ? this.#parts.text : control).focus();
  }
}

export class NodeCard {
  #node;
  #draft;
  #rows = new Map();
  #parts;

  constructor(node, draft) {
    this.#node = node;
    this.#draft = draft;
    const on = make("input", { type: "checkbox" });
    on.addEventListener("change", () => draft.switchNode(node, on.checked));
    const name = make("b");
    const chips = make("span", { className: "chips" });
    const steps = make("ol");
    const problem = make("p", { className: "problem", hidden: true });
    problem.setAttribute("role", "alert");
    const hint = make("p", { className: "note" });
    const add = make("button", { type: "button", className: "quiet", textContent: "+ step", onclick: () => {
      const step = draft.addStep(node);
      this.#rows.get(step)?.focusText();
    } });
    this.#parts = { on, name, chips, steps, problem, hint, add };
    this.element = make("section", { className: "card" },
                        make("div", { className: "node-title" }, make("label", { className: "switch" }, on, name), chips), steps, problem, hint, add);
  }

  sync(disabled) {
    const { on, name, chips, steps, problem, hint, add } = this.#parts;
    const node = this.#node;
    put(on, "checked", node.enabled);
    put(name, "textContent", node.name || "(no name)");
    put(on, "title", "Enable or disable the node");
    for (const part of [on, add]) put(part, "disabled", disabled);
    put(chips, "textContent", [
      node.type, node.members && node.members !== "all" ? `${node.members} entities` : "",
      node.combine && node.combine !== "add" ? `${node.combine}s` : "", node.refresh && node.refresh !== "exact" ? node.refresh : "",
    ].filter(Boolean).join(" · "));
    put(this.element, "className", node.enabled ? "card" : "card off");
    for (const [step, row] of this.#rows) {
      if (node.steps.includes(step)) continue;
      row.element.remove();
      this.#rows.delete(step);
    }
    node.steps.forEach((step, i) => {
      if (!this.#rows.has(step)) this.#rows.set(step, new StepRow(node, step, this.#draft));
      const { element } = this.#rows.get(step);
      if (steps.children[i] !== element) steps.insertBefore(element, steps.children[i] ?? null);
      this.#rows.get(step).sync(i, node.steps.length, node.enabled, disabled);
    });
    const error = this.#draft.error?.step === null && this.#draft.error.node === node ? this.#draft.error : null;
    put(problem, "hidden", error === null);
    put(problem, "textContent", error?.text ?? "");
    const isSilent = node.steps.length > 0 && node.steps.every((step) => !step.on);
    put(hint, "textContent", node.steps.length === 0 ? "No steps: the node matches all its entities."
      : isSilent ? "All steps are off, so the node is off, too: without steps it would match everything." : "");
    put(hint, "hidden", hint.textContent === "");
  }
}
