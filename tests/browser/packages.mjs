// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// Packages that tests need besides Node. A test without one is skipped and prints what is missing
// (packaging/packages.txt).
import { execFileSync } from "node:child_process";
import { createRequire } from "node:module";

function skip(what) {
  console.log(`SKIPPED: ${what} is missing: see packaging/packages.txt`);
  process.exit(0);
}

/** Loads a Node package, from NODE_PATH or the system directory. */
export function packageOf(name) {
  const require = createRequire(import.meta.url);
  for (const place of [name, `/usr/share/nodejs/${name}`]) {
    try {
      return require(place);
    } catch (error) {
      if (error.code !== "MODULE_NOT_FOUND") throw error;
    }
  }
  return skip(`Node's package ${name}`);
}

/** Returns the path of a Chromium. */
export function chromium() {
  for (const name of ["chromium", "chromium-browser", "google-chrome"]) {
    try {
      return execFileSync("sh", ["-c", `command -v ${name}`]).toString().trim();
    } catch {
      // Try the next name.
    }
  }
  return skip("a browser (chromium)");
}
