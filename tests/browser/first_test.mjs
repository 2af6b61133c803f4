// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// Checks what a first visitor sees, in a real browser, on a real server with 150 bots:
//   node first_test.mjs PURVIEW_BINARY ARTIFACTS_DIRECTORY
// The page shows the truth (the server's complete world), and the map has labels. No player starts cloaked. The colors
// follow day and night. After the server is lost, the first reason stays visible.
import assert from "node:assert/strict";
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { enterWorld, newPage, openBrowser, sleep, startServer, stopServer, until } from "./browser.mjs";

const [binary, artifacts] = process.argv.slice(2);
mkdirSync(artifacts, { recursive: true });
const log = (text) => console.log(`first view test: ${text}`);

const server = await startServer(binary);
const browser = await openBrowser({ width: 1360, height: 800 });

/** Returns the visible labels of the map: {text: {x, y} of its center in the window}. */
const namesOn = (page) => page.evaluate(() => Object.fromEntries([...document.querySelectorAll("#names .name")].filter((name) => name.offsetWidth > 0)
  .map((name) => {
    const { left, top, right, bottom } = name.getBoundingClientRect();
    return [name.textContent, { x: (left + right) / 2, y: (top + bottom) / 2 }];
  })));

try {
  const { page, pageErrors } = await newPage(browser);
  await page.emulateMedia({ "prefers-color-scheme": "light" });
  await enterWorld(page, server.address);

  // The truth is on without a click. It has more entities than this client.
  await until("the truth is drawn", () => page.evaluate(() => globalThis.purview.drawn.withheld > 50));
  assert.equal(await page.locator("#truth").isChecked(), true);
  await until("the legend with its numbers", async () => /^you sent to you [1-9][\d,]* in view withheld [1-9][\d,]* in view/.test((await page.innerText("#key")).replace(/\s+/g, " ")));

  // The view shows the whole circles, with space around them.
  const circle = await page.evaluate(() => {
    const { view, radii } = globalThis.purview;
    return { leave: radii()[0].leave / view.pixel, height: view.canvas.clientHeight };
  });
  assert.ok(circle.leave * 2 < circle.height * 0.6 && circle.leave > 100, JSON.stringify(circle));

  // Each label is at its place on the map.
  const names = await namesOn(page);
  assert.deepEqual(Object.keys(names).sort(), ["enter radius 60 m", "leave radius 66 m", "sent to you", "withheld from you", "you"]);
  const distances = await page.evaluate((given) => {
    const { view, drawn } = globalThis.purview;
    const own = view.pointOf(drawn.own);
    const { left, top } = view.canvas.getBoundingClientRect();
    return Object.fromEntries(Object.entries(given).map(([text, { x, y }]) => [text, Math.hypot(x - left - own.x, y - top - own.y) * view.pixel]));
  }, names);
  assert.ok(distances.you < 15, JSON.stringify(distances));
  assert.ok(distances["sent to you"] < 60 && distances["enter radius 60 m"] < 60, JSON.stringify(distances));
  assert.ok(distances["withheld from you"] > 66 && distances["leave radius 66 m"] > 66, JSON.stringify(distances));
  await page.screenshot({ path: join(artifacts, "first.png") });

  // Without the truth, there is no label for withheld entities.
  await page.uncheck("#truth");
  await until("the truth is gone", async () => (await page.evaluate(() => globalThis.purview.drawn.withheld)) === null && !("withheld from you" in await namesOn(page)));
  await page.check("#truth");

  // The labels of the radii follow the rule.
  const setRules = (steps) => page.evaluate((given) => globalThis.purview.operator.ask({ op: "set_rules", nodes: [{ name: "near or same team, not cloaked", steps: given }] }), steps);
  await setRules(["add within 40 leave 44"]);
  await until("the labels follow the rule", async () => "enter radius 40 m" in await namesOn(page));
  await setRules(["add within 60 leave 66", "add same team", "subtract flag cloaked"]);
  await until("the labels follow the first rule again", async () => "enter radius 60 m" in await namesOn(page));

  // No player is cloaked, neither the own one nor a bot.
  await page.uncheck("#truth");  // from here on, only this test requests truth frames
  const cloaks = { players: 0, cloaked: 0 };
  for (const [x, y] of [[0, 0], [1200, 0], [0, 1200], [1200, 1200]]) {  // a frame has at most 20,000 entities
    const flags = await page.evaluate(([left, top]) => new Promise((resolve) => {
      const { operator, client } = globalThis.purview;
      const player = client.schema.kinds.indexOf("player");
      let frames = 0;
      const stop = operator.on("truth", ({ count, words }) => {
        if (++frames < 3) return;  // the first may be of the previous rectangle
        stop();
        resolve(Array.from({ length: count }, (_, i) => [words[i * 6 + 4], words[i * 6 + 5]]).filter(([kind]) => kind === player).map(([, flag]) => flag & 1));
      });
      operator.tell({ op: "truth", on: true, rect: [left, top, left + 1200, top + 1200] });
    }), [x, y]);
    cloaks.players += flags.length;
    cloaks.cloaked += flags.filter(Boolean).length;
  }
  await page.check("#truth");
  assert.ok(cloaks.players > 140, JSON.stringify(cloaks));
  assert.equal(cloaks.cloaked, 0, JSON.stringify(cloaks));
  assert.equal(await page.evaluate(() => globalThis.purview.drawn.own.cloaked), false);
  await page.keyboard.press("c");
  await until("the own player is cloaked", async () => "you, cloaked" in await namesOn(page));
  log(`no cloak at the start: ${JSON.stringify(cloaks)}`);

  // The page follows the system's choice of day or night until the visitor chooses.
  const ink = () => page.evaluate(() => getComputedStyle(document.body).color);
  const day = await ink();
  await page.emulateMedia({ "prefers-color-scheme": "dark" });
  await until("the night follows the system", async () => (await ink()) !== day);
  const night = await ink();
  await page.screenshot({ path: join(artifacts, "night.png") });
  await page.click("#light");
  await until("the day is chosen", async () => (await ink()) === day);
  await enterWorld(page, server.address);
  assert.equal(await ink(), day, "the choice is remembered");
  await page.click("#light");
  assert.equal(await ink(), night);

  // Without operator access, one line shows why the truth is missing. The other labels stay.
  const guest = await newPage(browser);
  await enterWorld(guest.page, `http://127.0.0.1:${server.port}/`);
  await until("labels without the truth", async () => (await guest.page.evaluate(() => Object.keys(globalThis.purview.drawn).length > 0)) && "you" in await namesOn(guest.page));
  assert.deepEqual(Object.keys(await namesOn(guest.page)).sort(), ["sent to you", "you"]);
  const lines = await guest.page.evaluate(() => {
    const range = document.createRange();
    range.selectNodeContents(document.getElementById("truth-missing"));
    return { text: range.toString(), lines: new Set([...range.getClientRects()].map(({ top }) => top)).size };
  });
  assert.deepEqual(lines, { text: "Needs operator access: the server printed the address.", lines: 1 });
  assert.equal(await guest.page.locator("#truth").isDisabled(), true);
  // The same with a token that the server refuses.
  const wrong = await newPage(browser);
  await wrong.page.goto(`http://127.0.0.1:${server.port}/?operator=guess`);
  await until("the refused channel", async () => (await wrong.page.textContent("#truth-missing")) === "The operator channel cannot be opened: check the token.");
  await until("labels with a refused channel", async () => "sent to you" in await namesOn(wrong.page));
  assert.deepEqual([...pageErrors, ...guest.pageErrors], [], "the page reported errors");
  await guest.page.goto("about:blank");
  await wrong.page.goto("about:blank");

  // The server ends without a message. The first reason stays on the page.
  server.child.kill("SIGKILL");
  const banner = () => page.evaluate(() => document.querySelector("#banner").textContent);
  await until("the page shows that the connection is lost", async () => (await banner()) !== "");
  const reason = await banner();
  assert.match(reason, /^Connection lost \(.*\); trying again …$/);
  for (let second = 0; second < 6; ++second) {
    await sleep(1000);
    assert.equal(await banner(), reason);
  }
  log(`the server is gone: ${reason}`);
} finally {
  await browser.close();
  await stopServer(server);
}
log("passed");
