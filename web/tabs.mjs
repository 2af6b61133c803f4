// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// The side panels: one visible at a time, selected by click, arrow keys or #name in the address.

export class Tabs {
  #list;
  #listeners = new Set();

  /** `list`: an element with role "tablist"; its buttons refer to panels by aria-controls. */
  constructor(list) {
    this.#list = [...list.querySelectorAll('[role="tab"]')];
    for (const tab of this.#list) tab.addEventListener("click", () => this.open(tab.dataset.name));
    list.addEventListener("keydown", (event) => this.#step(event));
    addEventListener("hashchange", () => this.#openAddressed());
    this.#show(this.#list[0]);
    this.#openAddressed();
  }

  get current() { return this.#list.find((tab) => tab.ariaSelected === "true").dataset.name; }

  /** Calls `listener(name)` when another panel opens. */
  onChange(listener) { this.#listeners.add(listener); }

  open(name) {
    const tab = this.#list.find((candidate) => candidate.dataset.name === name);
    if (tab === undefined || name === this.current) return;
    this.#show(tab);
    history.replaceState(null, "", tab === this.#list[0] ? location.pathname + location.search : `#${name}`);
    for (const listener of this.#listeners) listener(name);
  }

  #openAddressed() { this.open(location.hash.slice(1)); }

  #show(tab) {
    for (const other of this.#list) {
      const isIt = other === tab;
      other.ariaSelected = String(isIt);
      other.tabIndex = isIt ? 0 : -1;
      document.getElementById(other.getAttribute("aria-controls")).hidden = !isIt;
    }
  }

  #step(event) {
    const by = { ArrowRight: 1, ArrowLeft: -1 }[event.code];
    if (by === undefined) return;
    event.preventDefault();
    const next = this.#list[(this.#list.findIndex((tab) => tab.ariaSelected === "true") + by + this.#list.length) % this.#list.length];
    this.open(next.dataset.name);
    next.focus();
  }
}
