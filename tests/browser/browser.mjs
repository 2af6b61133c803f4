// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// What the tests of the page share: a server of their own, a browser, and patience.
import { spawn } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { launch } from "./chromium.mjs";
import { chromium } from "./packages.mjs";

export const sleep = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

/** Polls until `probe()` is truthy, or fails after `ms`: long, since the machine may be busy. */
export async function until(what, probe, ms = 60000) {
  const end = Date.now() + ms;
  for (;;) {
    const value = await probe();
    if (value) return value;
    if (Date.now() > end) throw new Error(`timed out: ${what}`);
    await sleep(50);
  }
}

/** A demo server of our own; ends by itself after three minutes whatever happens. */
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
  const ended = new Promise((resolve) => server.child.once("exit", resolve));
  server.child.kill("SIGTERM");
  await ended;
}

/** A browser with a profile that goes with it: {context, close()}. */
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

/** A page that collects what it complains about. */
export async function newPage(browser) {
  const page = await browser.context.newPage();
  const complaints = [];
  page.on("pageerror", (error) => complaints.push(String(error)));
  page.on("console", (message) => { if (message.type() === "error") complaints.push(message.text()); });
  return { page, complaints };
}

/** Opens the page and waits until it is in the world and knows which observer it is. */
export async function enterWorld(page, address) {
  await page.goto(address);
  await until("the page joins", () => page.evaluate(() => {
    const { client, drawn, why } = globalThis.purview ?? {};
    return client?.state === "joined" && client.ghostCount > 20 && drawn.own && (why === null || why.first?.observer > 0);
  }));
}
