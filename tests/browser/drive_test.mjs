// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// Driving on the page, in a real browser, over a bad connection:
//   node drive_test.mjs PURVIEW_BINARY ARTIFACTS_DIRECTORY
// The own cart moves immediately and is rarely corrected visibly. Shots are reported and listed. (For their hits,
// see tests/server/rewind_test.cpp.)
import assert from "node:assert/strict";
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { enterWorld, newPage, openBrowser, sleep, startServer, stopServer, until } from "./browser.mjs";

const [binary, artifacts] = process.argv.slice(2);
mkdirSync(artifacts, { recursive: true });
const log = (text) => console.log(`drive test: ${text}`);

const server = await startServer(binary);
const browser = await openBrowser();
try {
  const { page, pageErrors } = await newPage(browser);
  const begin = async () => {
    await enterWorld(page, server.address);
    await page.click("#tab-drive");
    await until("a pilot", () => page.evaluate(() => globalThis.purview.pilot.isReady));
  };
  await begin();
  const readState = () => page.evaluate(() => ({ ...globalThis.purview.pilot.state, isDriving: globalThis.purview.pilot.isDriving,
                                            own: globalThis.purview.drawn.own, counts: globalThis.purview.shots.counts }));

  // Walks to the nearest free cart and mounts it. At the start one is in sight, but bots may take it. If the
  // distance stops shrinking, a wall is in the way: the player makes a detour. It also does so if no cart is in
  // sight. After 40 tries of one second, the page is opened again, with another start point.
  // Starts the last step of the tour, which ends when the player drives.
  await page.evaluate(() => {
    const { tour } = globalThis.purview;
    tour.start();
    while (tour.step.title !== "Drive") tour.next();
  });
  assert.match(await page.innerText("#tour-words"), /cart/);
  let tries = 0;
  let away = Infinity;
  let roundUntil = 0;
  while (!(await readState()).isDriving) {
    assert.ok(++tries < 100, "a cart is found within a hundred seconds");
    if (tries % 40 === 0) {
      await begin();
      away = Infinity;
      roundUntil = 0;
    }
    const before = away;
    const angle = roundUntil * 2.4;  // radians; each detour has another direction
    away = await page.evaluate(([angle, isGoingRound]) => {
      const { drawn, walk } = globalThis.purview;
      const at = (ghost) => Math.hypot(ghost.x - drawn.own.x, ghost.y - drawn.own.y);
      const isTaken = (cart) => drawn.ghosts.some((g) => g.kind === "player" && g.parent === cart.id);
      const cart = drawn.ghosts.filter((g) => g.kind === "cart" && !isTaken(g)).sort((a, b) => at(a) - at(b))[0];
      const round = { x: drawn.own.x + 50 * Math.cos(angle), y: drawn.own.y + 50 * Math.sin(angle) };
      walk.to(cart === undefined || isGoingRound ? round : cart);
      if (cart === undefined) return Infinity;
      if (at(cart) < 3) walk.board();
      return at(cart);
    }, [angle, tries < roundUntil]);
    if (tries > roundUntil && away > 3 && !(away < before - 1)) roundUntil = tries + 4;
    await sleep(1000);
  }
  log(`on a cart after ${tries} s`);
  if (tries < 40) {  // the page was not opened again
    await until("the tour shows how to drive", async () => /^Drive with W A S D/.test(await page.innerText("#tour-words")));
    await page.keyboard.down("w");
    await until("the last step of the tour is done", () => page.evaluate(() => globalThis.purview.tour.done.at(-1)));
    await page.keyboard.up("w");
    await page.evaluate(() => globalThis.purview.tour.end());
  }

  // Adds 150 ms delay, 20 ms jitter, and 5 % loss each way.
  for (const [id, value] of [["line-delay", 150], ["line-jitter", 20], ["line-loss", 5]]) {
    await page.locator(`#${id}`).fill(String(value));
  }
  await sleep(2500);  // the client clock adapts its input lead
  const before = await readState();
  await page.keyboard.down("w");
  const start = performance.now();
  await until("the cart moves on the page", async () => {
    const { own } = await readState();
    return Math.hypot(own.x - before.own.x, own.y - before.own.y) > 0.1;
  });
  const answer = performance.now() - start;
  let way = 0;
  let last = (await readState()).own;
  for (let turn = 0; turn < 8; ++turn) {
    await page.keyboard[turn % 2 === 0 ? "down" : "up"](turn % 4 < 2 ? "d" : "a");
    await page.mouse.move(450 + 40 * turn, 250 + 30 * turn);
    await page.mouse[turn % 3 === 0 ? "up" : "down"]();
    await sleep(700);
    const { own } = await readState();
    way += Math.hypot(own.x - last.x, own.y - last.y);
    last = own;
  }
  await page.screenshot({ path: join(artifacts, "drive.png") });
  await page.mouse.up();
  for (const key of ["w", "a", "d"]) await page.keyboard.up(key);
  const after = await readState();
  const commands = after.newestCommand - before.newestCommand;
  const visible = (after.corrections - after.invisible) - (before.corrections - before.invisible);
  log(`moved after ${answer.toFixed(0)} ms, drove ${way.toFixed(0)} m with ${commands} commands, ${visible} visible corrections, ` +
      `largest error ${(after.largestErrorM * 100).toFixed(0)} cm; ${JSON.stringify(after.counts)}`);
  assert.ok(way > 20, `drove ${way.toFixed(1)} m`);
  assert.ok(visible <= commands * 0.05, `${visible} visible corrections in ${commands} commands`);
  assert.ok(after.counts.shots > 0, "shots were reported");
  const lines = await page.evaluate(() => [document.querySelectorAll("#shots li").length, globalThis.purview.shots.counts.shots]);
  assert.equal(lines[0], Math.min(8, lines[1]));

  // Without prediction, the server state is drawn and there are no corrections.
  await page.uncheck("#predicts");
  await until("a pilot without prediction", async () => (await readState()).newestCommand > 0);
  assert.equal((await readState()).corrections, 0);
  await page.keyboard.press("e");
  await until("the player is on foot again", async () => !(await readState()).isDriving);
  assert.deepEqual(pageErrors, [], "the page reported errors");
} finally {
  await browser.close();
  await stopServer(server);
}
log("passed");
