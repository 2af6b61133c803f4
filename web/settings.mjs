// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// Settings that the browser keeps between visits. A browser may refuse to store anything; then they last as long as
// the page.

const PREFIX = "purview.";
const here = new Map();

/** @returns {string | null} */
export function setting(name) {
  try {
    return globalThis.localStorage.getItem(PREFIX + name);
  } catch {
    return here.get(name) ?? null;
  }
}

/** `value` null: removes it. */
export function store(name, value) {
  if (value === null) here.delete(name);
  else here.set(name, value);
  try {
    if (value === null) globalThis.localStorage.removeItem(PREFIX + name);
    else globalThis.localStorage.setItem(PREFIX + name, value);
  } catch {
    // It is in `here`.
  }
}
