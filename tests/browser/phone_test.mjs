// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// Tests the page on a phone of 390 x 844 pixels. Every control is reachable and has at least 44 x 44 pixels. Text in
// rule cards has at least 15 pixels. The buttons on the map work like their keys. Also tests the message of the page
// when its server stops.
//   node phone_test.mjs PURVIEW_BINARY ARTIFACTS_DIRECTORY
import assert from "node:assert/strict";
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { enterWorld, newPage, openBrowser, sleep, startServer, stopServer, until } from "./browser.mjs";

const [binary, artifacts] = process.argv.slice(2);
mkdirSync(artifacts, { recursive: true });
const server = await startServer(binary);
const browser = await openBrowser({ width: 390, height: 844, touch: true });
let isStopped = false;

/** Scrolls to an element and returns its bounds. `shown`: inside the viewport, and not covered at its center. */
const seen = (page, selector) => page.evaluate((its) => {
  const element = document.querySelector(its);
  element.scrollIntoView({ block: "center" });
  const { left, top, right, bottom } = element.getBoundingClientRect();
  const at = (x, y) => {
    const found = document.elementFromPoint(x, y);
    return found !== null && (element.contains(found) || found.contains(element));
  };
  const inside = left >= 0 && top >= 0 && right <= innerWidth && bottom <= innerHeight;
  return { left, top, right, bottom, inside, shown: inside && at((left + right) / 2, (top + bottom) / 2), height: bottom - top, width: right - left };
}, selector);

try {
  const { page, pageErrors } = await newPage(browser);
  await enterWorld(page, server.address);
  const open = async (name) => {
    await page.click(`#tab-${name}`);
    await page.evaluate(() => document.querySelector("aside").scrollTo(0, 0));
    await sleep(300);
    await page.screenshot({ path: join(artifacts, `phone-${name}.png`) });
  };
  /** Returns the height of the part of an element that is visible without scrolling, in CSS pixels. */
  const visibleOf = (selector) => page.evaluate((its) => {
    const side = document.querySelector("aside").getBoundingClientRect();
    const { top, bottom } = document.querySelector(its).getBoundingClientRect();
    return Math.max(0, Math.min(bottom, side.bottom) - Math.max(top, side.top));
  }, selector);

  await open("drive");
  for (const selector of ["#line-delay", "#line-loss", "#drive-rtt", "#shots-fired", "#shots-present"]) {
    const it = await seen(page, selector);
    assert.ok(it.shown, `drive: ${selector} can be scrolled to: ${JSON.stringify(it)}`);
  }
  // The mouse wheel must also reach the end, not only a script.
  await page.evaluate(() => document.querySelector("aside").scrollTo(0, 0));
  await page.mouse.move(195, 800);
  await page.mouse.wheel(0, 3000);
  await until("the panel scrolls to its end", () => page.evaluate(() => {
    const { top, bottom } = document.querySelector("#shots-fired").getBoundingClientRect();
    return top > 380 && bottom < innerHeight;
  }), 3000);
  await page.screenshot({ path: join(artifacts, "phone-drive-end.png") });

  await open("rules");
  await until("there are cards", () => page.evaluate(() => document.querySelectorAll("#rules-cards .card").length > 0));
  await page.evaluate(() => document.querySelector("#rules-cards").scrollIntoView({ block: "start" }));
  await page.screenshot({ path: join(artifacts, "phone-rules-cards.png") });
  assert.ok(await visibleOf("#rules-cards") > 150, `rules: ${await visibleOf("#rules-cards")} px of the cards`);
  const steps = await page.evaluate(() => document.querySelectorAll("#rules-cards .step input.text, #rules-cards .step .text").length);
  assert.ok(steps > 0);
  for (const selector of ["#rules-cards .card:first-child .step .text", "#rules-cards .card:last-child", "#rules-cards input[type=range]"]) {
    const it = await seen(page, selector);
    assert.ok(it.inside || it.height > 300, `rules: ${selector} can be scrolled to: ${JSON.stringify(it)}`);
  }
  // The buttons that set rules stay visible at every scroll position.
  for (const at of [0, 10_000]) {
    await page.evaluate((y) => document.querySelector("aside").scrollTo(0, y), at);
    await sleep(100);
    for (const id of ["rules-try", "rules-apply", "rules-revert"]) {
      const { top, bottom, right } = await page.evaluate((its) => document.getElementById(its).getBoundingClientRect().toJSON(), id);
      assert.ok(top > 0 && bottom <= 844 && right <= 390, `rules: ${id} is visible at scroll position ${at}`);
    }
    const tab = await page.evaluate(() => document.querySelector(".tabs").getBoundingClientRect().toJSON());
    assert.ok(tab.top >= 0 && tab.bottom <= 844, "the tabs are visible");
  }
  // A click on a slider changes its value.
  const slider = await page.evaluate(() => {
    const input = document.querySelector("#rules-cards input[type=range]");
    input.scrollIntoView({ block: "center" });
    const { left, top, width, height } = input.getBoundingClientRect();
    return { x: left + width * 0.5, y: top + height / 2, before: input.value };
  });
  await page.mouse.click(slider.x, slider.y);
  assert.notEqual(await page.evaluate(() => document.querySelector("#rules-cards input[type=range]").value), slider.before);

  for (const name of ["why", "world"]) {
    await open(name);
    await page.evaluate((its) => {
      [...document.getElementById(its).children].filter((child) => child.offsetHeight > 0).at(-1).dataset.last = its;
    }, `panel-${name}`);
    const last = await seen(page, `[data-last="panel-${name}"]`);
    assert.ok(last.inside || last.height > 300, `${name}: its end can be scrolled to: ${JSON.stringify(last)}`);
  }
  // All targets are large enough, and the text of cards can be read.
  for (const name of ["world", "drive", "rules", "why"]) {
    await open(name);
    const small = await page.evaluate(() => [...document.querySelectorAll("button, select, input, [role=tab], label.tick, label.switch")]
      .filter((element) => element.offsetWidth > 0 && !(element.type === "checkbox" && element.closest("label")))
      .map((element) => ({ what: element.id || element.ariaLabel || element.textContent || element.className, ...(({ width, height }) => ({ width, height }))(element.getBoundingClientRect()) }))
      .filter(({ width, height }) => width < 44 || height < 44));
    assert.deepEqual(small, [], `${name}: targets smaller than 44 pixels`);
    const tiny = await page.evaluate(() => [...document.querySelectorAll(".card, .card *")].filter((element) => element.offsetWidth > 0 && element.tagName !== "INPUT")
      .concat([...document.querySelectorAll(".card input[type=text]")])
      .map((element) => ({ what: element.className || element.tagName, px: parseFloat(getComputedStyle(element).fontSize) })).filter(({ px }) => px < 15));
    assert.deepEqual(tiny, [], `${name}: text of cards below 15 pixels`);
  }
  await open("rules");
  // A whole step text is visible in its field.
  const field = await page.evaluate(() => {
    const input = document.querySelector("#rules-cards .step .text");
    return { value: input.value, needs: input.scrollWidth, has: input.clientWidth };
  });
  assert.ok(field.needs <= field.has, JSON.stringify(field));

  // The map buttons are visible and overlap neither each other nor the legend. They respond to taps.
  const boxes = await page.evaluate(() => ["#key", "#map-buttons", "#touch"].map((its) => document.querySelector(its).getBoundingClientRect().toJSON()));
  const map = await page.evaluate(() => document.querySelector("#map").getBoundingClientRect().toJSON());
  boxes.forEach((a, i) => {
    assert.ok(a.width > 0 && a.left >= map.left && a.right <= map.right && a.top >= map.top && a.bottom <= map.bottom, JSON.stringify(a));
    for (const b of boxes.slice(i + 1)) assert.ok(a.right <= b.left || b.right <= a.left || a.bottom <= b.top || b.bottom <= a.top, `${JSON.stringify(a)} ${JSON.stringify(b)}`);
  });
  const tap = async (selector) => {
    const { left, top, right, bottom, shown } = await seen(page, selector);
    assert.ok(shown, `${selector} is visible`);
    await page.tap((left + right) / 2, (top + bottom) / 2);
  };
  const view = () => page.evaluate(() => globalThis.purview.view.halfHeight);
  const first = await view();
  await tap("#zoom-in");
  await until("the map is nearer", async () => await view() < first * 0.8);
  await tap("#zoom-out");
  await tap("#zoom-out");
  await until("the map is further", async () => await view() > first * 1.2);
  // Two fingers that come closer zoom out, and the player does not walk.
  const fingers = await page.touch({ x: 150, y: 200 }, { x: 250, y: 200 });
  await fingers.move({ x: 175, y: 200 }, { x: 225, y: 200 });
  await fingers.end();
  assert.ok(await view() > first * 1.4 * 1.8, `${await view()} after ${first}`);
  await page.evaluate((meters) => { globalThis.purview.view.halfHeight = meters; }, first);
  await tap("#touch-cloak");
  await until("the cloak is on", () => page.evaluate(() => globalThis.purview.drawn.own.cloaked));
  await until("the button shows it", async () => await page.getAttribute("#touch-cloak", "aria-pressed") === "true");
  await tap("#touch-cloak");
  await until("the cloak is off", () => page.evaluate(() => !globalThis.purview.drawn.own.cloaked));
  assert.equal(await page.isVisible("#pad"), false);
  assert.ok(await page.locator("#touch-fire").isDisabled(), "on foot there is nothing to fire");
  // A tap on the map makes the player walk.
  const own = () => page.evaluate(() => globalThis.purview.drawn.own);
  const from = await own();
  for (let turn = 0; turn < 8 && Math.hypot((await own()).x - from.x, (await own()).y - from.y) < 3; ++turn) {
    await page.tap(195 + 90 * Math.cos(turn), 190 + 60 * Math.sin(turn));
    await sleep(1500);
  }
  assert.ok(Math.hypot((await own()).x - from.x, (await own()).y - from.y) >= 3, "a tap walks");
  // Walks to a cart and boards it with the button. Then the pad drives, and the fire button fires.
  let tries = 0;
  while (!(await page.evaluate(() => globalThis.purview.pilot.isDriving))) {
    assert.ok(++tries < 60, "a cart is found within a minute");
    const isNear = await page.evaluate((turn) => {
      const { drawn, walk } = globalThis.purview;
      const away = (ghost) => Math.hypot(ghost.x - drawn.own.x, ghost.y - drawn.own.y);
      const isTaken = (cart) => drawn.ghosts.some((ghost) => ghost.kind === "player" && ghost.parent === cart.id);
      const [cart] = drawn.ghosts.filter((ghost) => ghost.kind === "cart" && !isTaken(ghost)).sort((a, b) => away(a) - away(b));
      walk.to(cart === undefined || turn % 12 > 8 ? { x: drawn.own.x + 50 * Math.cos(turn), y: drawn.own.y + 50 * Math.sin(turn) } : cart);
      return cart !== undefined && away(cart) < 3;
    }, tries);
    if (isNear) await tap("#touch-board");
    await sleep(1000);
  }
  await until("the pad", () => page.isVisible("#pad"));
  for (const id of ["pad-up", "pad-left", "pad-right", "pad-down"]) {
    const it = await seen(page, `#${id}`);
    assert.ok(it.shown && it.width >= 44 && it.height >= 44, `${id}: ${JSON.stringify(it)}`);
  }
  const up = await seen(page, "#pad-up");
  const start = await own();
  const thumb = await page.touch({ x: (up.left + up.right) / 2, y: (up.top + up.bottom) / 2 });
  await until("the cart moves", async () => Math.hypot((await own()).x - start.x, (await own()).y - start.y) > 1, 10_000);
  await page.screenshot({ path: join(artifacts, "phone-pad.png") });
  await thumb.end();
  const fire = await seen(page, "#touch-fire");
  const trigger = await page.touch({ x: (fire.left + fire.right) / 2, y: (fire.top + fire.bottom) / 2 });
  await until("a shot", () => page.evaluate(() => globalThis.purview.shots.counts.shots > 0), 10_000);
  await trigger.end();
  assert.equal(await page.evaluate(() => globalThis.purview.pilot.controls.fires), false);
  await tap("#touch-board");
  await until("on foot again", () => page.evaluate(() => !globalThis.purview.pilot.isDriving));

  // Nothing is wider than the phone.
  assert.ok(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth && document.querySelector("aside").scrollWidth <= innerWidth));
  // The page reported no error, such as a violation of its content security policy.
  assert.deepEqual(pageErrors, []);

  // A server reports that it stops. The page shows this until it has a connection again.
  await stopServer(server);
  isStopped = true;
  const banner = () => page.evaluate(() => document.querySelector("#banner").textContent);
  await until("the page shows that the server stops", async () => (await banner()) !== "");
  assert.equal(await banner(), "The server has stopped; trying again …");
  await sleep(4000);
  assert.equal(await banner(), "The server has stopped; trying again …");
  await page.screenshot({ path: join(artifacts, "phone-stopped.png") });
  console.log("phone: ok");
} finally {
  await browser.close();
  if (!isStopped) await stopServer(server);
}
