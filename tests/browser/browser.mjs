// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// Shared by the page tests: a server for each test, a browser, and polling.
import { spawn } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { launch } from "./chromium.mjs";
import { chromium } from "./packages.mjs";

export const sleep = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

/** Polls until `probe()` is truthy, or throws after `ms`. The default is long because the machine may be busy. */
export async function until(what, probe, ms = 60000) {
  const end = Date.now() + ms;
  for (;;) {
    const value = await probe();
    if (value) return value;
    if (Date.now() > end) throw new Error(`timed out: ${what}`);
    await sleep(50);
  }
}

/** Starts a demo server for one test. It exits after three minutes at the latest. */
export async function startServer(binary, port = 0, ...more) {
  const child = spawn(binary, ["demo", "--bots", "150", "--port", String(port), "--seconds", "180", ...more], { stdio: ["ignore", "ignore", "pipe"] });
  process.once("exit", () => child.kill());
  let output = "";
  child.stderr.on("data", (data) => { output += data; });
  const address = await until("the server prints its address", () => {
    if (child.exitCode !== null) throw new Error(`the server ended: ${output}`);
    return /http:\/\/127\.0\.0\.1:\d+\/\?operator=[0-9a-f]+/.exec(output)?.[0];
  });
  return { child, address, port: Number(new URL(address).port) };
}

export async function stopServer(server) {
  if (server.child.exitCode !== null || server.child.signalCode !== null) return;
  const ended = new Promise((resolve) => server.child.once("exit", resolve));
  server.child.kill("SIGTERM");
  await ended;
}

/** Opens a browser with a temporary profile, which close() deletes: {context, close()}. */
export async function openBrowser(viewport = { width: 1360, height: 820 }) {
  const profile = mkdtempSync(join(tmpdir(), "purview-browser-"));
  const context = await launch(chromium(), profile, viewport);
  return {
    context,
    async close() {
      await context.close();
      rmSync(profile, { recursive: true, force: true, maxRetries: 10 });
    },
  };
}

/** Runs in a page before its own scripts. Marks the page as visited, so it does not offer the tour. */
function skipTour() {
  try {
    localStorage.setItem("purview.tour", "seen");
  } catch {
    // A blank page has no storage.
  }
}

/** Opens a page and collects its errors: {page, pageErrors}. `tour`: the page offers its tour, as at a first visit. */
export async function newPage(browser, { tour = false } = {}) {
  const page = await browser.context.newPage();
  if (!tour) await page.addInitScript(skipTour);
  const pageErrors = [];
  page.on("pageerror", (error) => pageErrors.push(String(error)));
  page.on("console", (message) => { if (message.type() === "error") pageErrors.push(message.text()); });
  return { page, pageErrors };
}

/** Opens the page and waits until its client has joined and its observer is known. */
export async function enterWorld(page, address) {
  await page.goto(address);
  await until("the page joins", () => page.evaluate(() => {
    const { client, drawn, why } = globalThis.purview ?? {};
    return client?.state === "joined" && client.ghostCount > 20 && drawn.own && (why === null || why.first?.observer > 0);
  }));
}
