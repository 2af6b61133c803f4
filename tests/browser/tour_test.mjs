// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// Tests the tour in a real browser, on a real server with 150 bots:  node tour_test.mjs PURVIEW_BINARY ARTIFACTS_DIRECTORY
// Runs with mouse and keyboard, and on a phone with touch. drive_test.mjs tests the last step, driving.
import assert from "node:assert/strict";
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { enterWorld, newPage, openBrowser, sleep, startServer, stopServer, until } from "./browser.mjs";

const [binary, artifacts] = process.argv.slice(2);
mkdirSync(artifacts, { recursive: true });
const log = (text) => console.log(`tour test: ${text}`);

const state = (page) => page.evaluate(() => {
  const { tour } = globalThis.purview;
  return { state: tour.state, title: tour.step?.title ?? null, done: tour.done };
});
const isAt = (page, title, what = "step") => until(`${title}: ${what}`, async () => {
  const now = await state(page);
  return now.state === what && now.title === title;
});

/** Checks that the tour is inside the window and covers neither the map nor the panels. */
async function checkLayout(page, step) {
  const boxes = await page.evaluate(() => ["#tour", "#map", "aside"].map((its) => document.querySelector(its).getBoundingClientRect().toJSON()));
  const [tour, map, aside] = boxes;
  const apart = (a, b) => a.right <= b.left || b.right <= a.left || a.bottom <= b.top || b.bottom <= a.top;
  assert.ok(apart(tour, map) && apart(tour, aside), `${step}: ${JSON.stringify(boxes)}`);
  const { width, height } = await page.evaluate(() => ({ width: innerWidth, height: innerHeight }));
  assert.ok(tour.left >= 0 && tour.top >= 0 && tour.right <= width && tour.bottom <= height && tour.height > 30, `${step}: ${JSON.stringify(tour)}`);
  for (const id of ["tour-next", "tour-end"]) {
    const its = await page.evaluate((it) => document.getElementById(it).getBoundingClientRect().toJSON(), id);
    assert.ok(its.right <= width && its.bottom <= height, `${step}: ${id} ${JSON.stringify(its)}`);
  }
}

/** Returns the center of an element in the window, its size, and `free`: whether nothing covers the center. */
const centerOf = (page, selector) => page.evaluate((its) => {
  const element = document.querySelector(its);
  const { left, top, width, height } = element.getBoundingClientRect();
  const [x, y] = [left + width / 2, top + height / 2];
  const hit = document.elementFromPoint(x, y);
  return { x, y, width, height, free: hit !== null && (element.contains(hit) || hit.contains(element)) };
}, selector);

/** Returns the position in the window that the tour points to on the map, or null. */
const ringed = (page) => page.evaluate(() => {
  const { tour, view } = globalThis.purview;
  const place = tour.step?.place();
  if (!place) return null;
  const point = view.pointOf(place);
  const { left, top } = view.canvas.getBoundingClientRect();
  return { name: place.name, x: left + point.x, y: top + point.y, free: document.elementFromPoint(left + point.x, top + point.y) === view.canvas };
});

async function take(server, size, by) {
  const browser = await openBrowser(size);
  const label = size.touch ? "phone" : "desk";
  try {
    const { page, pageErrors } = await newPage(browser, { tour: true });
    await enterWorld(page, server.address);
    const shoot = (name) => page.screenshot({ path: join(artifacts, `tour-${label}-${name}.png`) });

    // The first visit starts the tour of four steps. The first step waits for the visitor.
    await isAt(page, "Walk");
    assert.equal(await page.locator("#tour-steps li").count(), 4);
    assert.equal(await page.getAttribute("#tour-text", "aria-live"), "polite");
    await sleep(1500);
    await isAt(page, "Walk");
    await checkLayout(page, "walk");
    assert.match(await page.innerText("#tour-words"), size.touch ? /^Tap the map/ : /^Press W A S D/);
    await shoot("walk");
    await by.walk(page);
    await isAt(page, "Walk", "done");
    assert.match(await page.innerText("#tour-words"), /^While you walked, [\d,]+ entit(y|ies) entered and \d+ left/);

    // The next step starts by itself. Its slider is visible and has a frame.
    await isAt(page, "Change a rule");
    await checkLayout(page, "rule");
    await sleep(300);
    await shoot("rule");
    const slider = await centerOf(page, ".pointed input[type=range]");
    assert.ok(slider.free, JSON.stringify(slider));
    await by.drag(page, slider);
    await isAt(page, "Change a rule", "done");
    assert.match(await page.innerText("#tour-words"), /^You now have [\d,]+ entit(y|ies); before the change it was [\d,]+/);

    // "Next" starts the third step without waiting. The ringed entity can be clicked.
    await by.press(page, "#tour-next");
    await isAt(page, "Explain an entity");
    assert.equal(await page.locator(".pointed").count(), 0);
    await checkLayout(page, "why");
    await shoot("why");
    await until("the ringed entity is explained", async () => {
      const ring = await ringed(page);
      if (ring === null) return (await state(page)).state === "done";
      assert.ok(ring.free, `covered: ${JSON.stringify(ring)}`);
      await by.touch(page, ring);
      await sleep(1500);
      return (await state(page)).state === "done";
    });
    await isAt(page, "Drive");
    await checkLayout(page, "drive");
    await until("the text about a cart", async () => /cart/.test(await page.innerText("#tour-words")));
    await shoot("drive");

    // A step can be skipped. After the last one, the tour can be closed.
    await by.press(page, "#tour-next");
    await until("the end", async () => (await state(page)).state === "end");
    assert.deepEqual((await state(page)).done, [true, true, true, false]);
    assert.match(await page.innerText("#tour-text"), /^That was the tour/);
    await by.press(page, "#tour-next");
    assert.equal(await page.isVisible("#tour"), false);

    // The next visit does not show the tour. The button shows it again.
    await enterWorld(page, server.address);
    await sleep(1000);
    assert.equal(await page.isVisible("#tour"), false);
    await by.press(page, "#tour-start");
    await isAt(page, "Walk");
    await by.press(page, "#tour-end");
    assert.equal(await page.isVisible("#tour"), false);
    assert.deepEqual(pageErrors, [], "the page reported errors");

    // Without operator access, the tour has two steps.
    const guest = await newPage(browser, { tour: true });
    await guest.page.addInitScript(() => { if (location.protocol === "http:") localStorage.clear(); });
    await enterWorld(guest.page, `http://127.0.0.1:${server.port}/`);
    await until("the tour of a guest", async () => (await state(guest.page)).state === "step");
    assert.equal(await guest.page.locator("#tour-steps li").count(), 2);
    await guest.page.goto("about:blank");

    // In a browser that stores nothing, the page works and offers the tour.
    const blank = await newPage(browser, { tour: true });
    await blank.page.addInitScript(() => Object.defineProperty(globalThis, "localStorage", { get() { throw new Error("storage is off"); } }));
    await enterWorld(blank.page, server.address);
    await isAt(blank.page, "Walk");
    await blank.page.click("#tour-end");
    assert.equal(await blank.page.isVisible("#tour"), false);
    assert.deepEqual([...guest.pageErrors, ...blank.pageErrors], []);
    log(`${label}: all steps`);
  } catch (problem) {
    await browser.context.pages().at(-1)?.screenshot({ path: join(artifacts, `tour-${label}-failed.png`) }).catch(() => {});
    throw problem;
  } finally {
    await browser.close();
  }
}

/** Walks in different directions until the step is done, because water may block the way. */
async function wander(page, go) {
  for (let turn = 0; (await state(page)).state === "step"; ++turn) {
    assert.ok(turn < 40, "the player walks");
    await go(turn);
  }
}

const server = await startServer(binary);
try {
  await take(server, { width: 1360, height: 800 }, {
    walk: (page) => wander(page, async (turn) => {
      const key = "dsaw"[turn % 4];
      await page.keyboard.down(key);
      await sleep(1200);
      await page.keyboard.up(key);
    }),
    async drag(page) {
      await page.focus(".pointed input[type=range]");
      for (let i = 0; i < 4; ++i) await page.keyboard.press("ArrowRight");
    },
    async press(page, selector) {
      await page.focus(selector);
      await page.keyboard.press("Enter");
    },
    touch: (page, { x, y }) => page.mouse.click(x, y),
  });
  await take(server, { width: 390, height: 844, touch: true }, {
    walk: (page) => wander(page, async (turn) => {
      const { x, y } = await centerOf(page, "#view");
      await page.tap(x + 100 * Math.cos(turn * 2), y + 60 * Math.sin(turn * 2));
      await sleep(1500);
    }),
    async drag(page, { x, y, width }) {
      const finger = await page.touch({ x: x - width * 0.1, y });
      for (let i = 0; i < 5; ++i) await finger.move({ x: x + width * 0.06 * i, y });
      await finger.end();
    },
    async press(page, selector) {
      const { x, y, height, free } = await centerOf(page, selector);
      assert.ok(free && height >= 44, `${selector}: ${height} px`);
      await page.tap(x, y);
      await sleep(100);
    },
    touch: (page, { x, y }) => page.tap(x, y),
  });
} finally {
  await stopServer(server);
}
log("passed");
