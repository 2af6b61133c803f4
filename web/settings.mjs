// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// Settings that the browser keeps between visits. If the browser stores nothing, they last as long as the
// page.

const PREFIX = "purview.";
const unstored = new Map();

/** @returns {string | null} */
export function setting(name) {
  try {
    return globalThis.localStorage.getItem(PREFIX + name);
  } catch {
    return unstored.get(name) ?? null;
  }
}

/** `value` null: removes it. */
export function store(name, value) {
  if (value === null) unstored.delete(name);
  else unstored.set(name, value);
  try {
    if (value === null) globalThis.localStorage.removeItem(PREFIX + name);
    else globalThis.localStorage.setItem(PREFIX + name, value);
  } catch {
    // The map has it.
  }
}
